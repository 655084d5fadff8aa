"""`dedupe`: pages that say nearly the same, and marking the older ones as superseded."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gbrain.brain import Brain, timestamp
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, ExitCode, Given, Json, Quiet, open_brain, today, with_options
from gbrain.errors import Conflict, GbrainError, UsageError
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.duplicates import compared_document, pair_rows, show_pair
from gbrain.output.progress import show_progress
from gbrain.query_options import parse_scope
from gbrain.store import supersede
from gbrain.store.duplicates import DuplicatePair, DuplicateResult, find_duplicate_pairs
from gbrain.store.pages import page_body
from gbrain.store.vectors import active_space, has_vectors
from gbrain.types import Scope

command = Module()

# Older and newer slug of a pair that was marked.
Marked = tuple[str, str]


@command.command(
    "dedupe",
    epilog=examples(
        "gbrain dedupe",
        "gbrain dedupe --threshold 0.98 --yes",
        "gbrain dedupe --json | jq -r '.pairs[] | [.older.slug, .newer.slug] | @tsv'",
    ),
)
@with_options("wing", "slug_prefix")
def dedupe(
    given: Given,
    threshold: Annotated[
        float,
        typer.Option("--threshold", metavar="COSINE", min=0.5, max=1, help="How near at least."),
    ] = 0.95,
    yes: Annotated[
        bool, typer.Option("--yes", help="Mark the older of each pair at once.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show them.")] = False,
    exit_code: ExitCode = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Find pages that say nearly the same; on your word the older is superseded by the newer."""
    if yes and dry_run:
        raise UsageError("--yes and --dry-run exclude each other", hint="Leave one of them out.")
    with open_brain(db) as brain:
        compared = _compare(brain, threshold, parse_scope(given, today()), quiet)
        asking = not (yes or dry_run or json) and screen.on_terminal() and sys.stdin.isatty()
        marked: list[Marked] = []
        if yes:
            for pair in compared.pairs:
                _mark(brain, pair.older.slug, pair.newer.slug, marked)
        if json:
            screen.write_json(compared_document(compared, marked))
        elif screen.on_terminal():
            _go_through(brain, compared.pairs, marked, asking=asking)
        else:
            screen.write_table((), pair_rows(compared.pairs), "")
    if not quiet and not json:
        _say_what_was_done(compared, marked, threshold)
    if exit_code and not compared.pairs:
        raise typer.Exit(3)


def _compare(brain: Brain, threshold: float, scope: Scope, quiet: bool) -> DuplicateResult:
    with (
        brain.database.read_transaction() as connection,
        show_progress("Comparing", quiet=quiet) as show,
    ):
        space = active_space(connection)
        if space is None or not has_vectors(connection, space):
            raise GbrainError(
                "No page has vectors yet, and they tell which pages are near",
                hint="gbrain embed makes them.",
                code="no_vectors",
            )
        return find_duplicate_pairs(connection, space, threshold, scope, show)


def _mark(brain: Brain, older: str, newer: str, marked: list[Marked]) -> None:
    """Marks a page once; of three alike the second pair has nothing left to do."""
    if older in {slug for slug, _ in marked}:
        return
    try:
        with brain.database.write_transaction() as connection:
            supersede.supersede_page(connection, older, newer, timestamp())
    except Conflict as conflict:
        screen.say(conflict.full_message)
        return
    marked.append((older, newer))


def _go_through(
    brain: Brain, pairs: tuple[DuplicatePair, ...], marked: list[Marked], *, asking: bool
) -> None:
    """Shows the pairs, the nearest first, and asks about each if `asking`."""
    for number, pair in enumerate(pairs, 1):
        gone = {slug for slug, _ in marked}
        if asking and gone & {pair.older.slug, pair.newer.slug}:
            continue
        with brain.database.read_transaction() as connection:
            texts = [page_body(connection, page.id) for page in (pair.older, pair.newer)]
        show_pair(number, len(pairs), pair, *texts)
        if not asking:
            continue
        answer = _ask(pair)
        if answer == "q":
            return
        if answer == "y":
            _mark(brain, pair.older.slug, pair.newer.slug, marked)
        elif answer == "o":
            _mark(brain, pair.newer.slug, pair.older.slug, marked)


def _ask(pair: DuplicatePair) -> str:
    question = f"Is {pair.older.slug} superseded? (y)es, (n)o, the (o)ther one is, (q)uit"
    while True:
        try:
            answer: str = typer.prompt(question, default="n", err=True).strip().lower()[:1]
        except typer.Abort:
            raise KeyboardInterrupt from None
        if answer in ("y", "n", "o", "q"):
            return answer


def _say_what_was_done(compared: DuplicateResult, marked: list[Marked], threshold: float) -> None:
    found = f"{counted(len(compared.pairs), 'pair')} of {counted(compared.pages, 'page')}"
    done = f", {len(marked)} marked as superseded" if marked else ""
    screen.say(f"{found} at a cosine of {threshold:g} or more{done}.")
    missing = compared.without_vectors
    if missing:
        lack = (
            "1 page has no vectors yet and was"
            if missing == 1
            else (f"{missing} pages have no vectors yet and were")
        )
        screen.say(f"{lack} not compared: gbrain embed makes them.")
