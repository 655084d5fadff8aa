"""`dedupe`: find near-duplicate pages and mark the older ones as superseded."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gbrain.brain import Brain
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, ExitCode, Given, Json, Quiet, open_brain, today, with_options
from gbrain.errors import Conflict, UsageError
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.duplicates import duplicates_document, pair_rows, show_pair
from gbrain.output.screen import show_progress
from gbrain.query_options import parse_scope
from gbrain.store.duplicates import DuplicatePair, DuplicateResult
from gbrain.types import Scope

command = Module()

# Slugs of a superseded page and of the page that supersedes it.
SupersededPair = tuple[str, str]


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
        typer.Option(
            "--threshold",
            metavar="X",
            min=0.5,
            max=1,
            help="Minimum similarity, up to 1 (default 0.95).",
        ),
    ] = 0.95,
    yes: Annotated[
        bool, typer.Option("--yes", help="Mark the older page of each pair without asking.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the pairs, change nothing.")
    ] = False,
    exit_code: ExitCode = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Find pages that are nearly the same; mark the older as superseded if you confirm."""
    if yes and dry_run:
        raise UsageError("--yes and --dry-run cannot be combined", hint="Use one of them.")
    with open_brain(db) as brain:
        compared = _compare(brain, threshold, parse_scope(given, today()), quiet)
        asking = not (yes or dry_run or json) and screen.on_terminal() and sys.stdin.isatty()
        marked: list[SupersededPair] = []
        if yes:
            for pair in compared.pairs:
                _mark(brain, pair.older.slug, pair.newer.slug, marked)
        if json:
            screen.write_json(duplicates_document(compared, marked))
        elif screen.on_terminal():
            _review_pairs(brain, compared.pairs, marked, asking=asking)
        else:
            screen.write_table((), pair_rows(compared.pairs), "")
    if not quiet and not json:
        _print_summary(compared, marked, threshold)
    if exit_code and not compared.pairs:
        raise typer.Exit(3)


def _compare(brain: Brain, threshold: float, scope: Scope, quiet: bool) -> DuplicateResult:
    with show_progress("Comparing", quiet=quiet) as show:
        return brain.duplicates(threshold, scope, show)


def _mark(brain: Brain, older: str, newer: str, marked: list[SupersededPair]) -> None:
    """Mark the page `older` as superseded, unless another pair already did."""
    if older in {slug for slug, _ in marked}:
        return
    try:
        brain.supersede(older, newer)
    except Conflict as conflict:
        screen.say(conflict.full_message)
        return
    marked.append((older, newer))


def _review_pairs(
    brain: Brain, pairs: tuple[DuplicatePair, ...], marked: list[SupersededPair], *, asking: bool
) -> None:
    """Show the pairs, most similar first; with `asking` ask about each."""
    for number, pair in enumerate(pairs, 1):
        gone = {slug for slug, _ in marked}
        if asking and gone & {pair.older.slug, pair.newer.slug}:
            continue
        show_pair(
            number, len(pairs), pair, brain.body(pair.older.slug), brain.body(pair.newer.slug)
        )
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
    question = f"Mark {pair.older.slug} as superseded? (y)es, (n)o, the (o)ther page, (q)uit"
    while True:
        try:
            answer: str = typer.prompt(question, default="n", err=True).strip().lower()[:1]
        except typer.Abort:
            raise KeyboardInterrupt from None
        if answer in ("y", "n", "o", "q"):
            return answer


def _print_summary(
    compared: DuplicateResult, marked: list[SupersededPair], threshold: float
) -> None:
    found = f"{counted(len(compared.pairs), 'pair')} of {counted(compared.pages, 'page')}"
    done = f", {len(marked)} marked as superseded" if marked else ""
    screen.say(f"{found} with a similarity of at least {threshold:g}{done}.")
    missing = compared.without_vectors
    if missing:
        screen.say(f"Not compared: {counted(missing, 'page')} without vectors; run gbrain embed.")
