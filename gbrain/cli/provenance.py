"""`supersede`, `dedupe` and `why`: which page supersedes another, and the sources of a page."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gbrain.brain import Brain, today
from gbrain.cli.commands import (
    Db,
    ExitCode,
    Given,
    Json,
    Module,
    NoPager,
    Quiet,
    Slug,
    examples,
    exit_if_nothing,
    number_option,
    refuse_together,
    report_file,
    with_options,
)
from gbrain.cli.open_brain import open_brain
from gbrain.errors import Conflict, UsageError
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.json import written_document
from gbrain.output.provenance import duplicates_document, pair_rows, show_pair
from gbrain.output.screen import show_progress
from gbrain.query_options import parse_scope
from gbrain.store.duplicates import DuplicatePair, DuplicateResult
from gbrain.types import Scope

command = Module()


@command.command(
    "supersede",
    epilog=examples(
        "gbrain supersede notes/plan-2025 notes/plan-2026",
        "gbrain supersede --undo notes/plan-2025",
        "gbrain supersede --list",
    ),
)
def supersede(
    old: Annotated[
        str | None, typer.Argument(metavar="OLD", help="Page that is out of date.")
    ] = None,
    new: Annotated[
        str | None, typer.Argument(metavar="NEW", help="Page that supersedes OLD.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the mark from OLD.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List all superseded pages.")] = False,
    exit_code: ExitCode = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Mark a page as superseded by a newer one.

    Queries then leave it out. The mark is stored in its front matter as superseded_by.
    """
    if list_ and old is None and not undo:
        _list_superseded(db, exit_code, quiet, json)
        return
    if list_ or old is None or (new is None) != undo:
        raise UsageError(
            "supersede takes OLD and NEW, or --undo OLD, or --list",
            hint="gbrain supersede notes/plan-2025 notes/plan-2026",
        )
    by: str | None = None
    with open_brain(db) as brain:
        if new is None:
            written = brain.undo_supersede(old)
        else:
            written, by = brain.supersede(old, new)
    if json:
        screen.write_json(written_document(written, superseded_by=by))
    elif not quiet:
        state = f"superseded by {by}" if by else "no longer superseded"
        screen.say(f"{written.slug}: {state}, version {written.version} ({written.outcome})")
    report_file(written.file, quiet=quiet, json=json)


def _list_superseded(db: Db, exit_code: bool, quiet: bool, json: bool) -> None:
    with open_brain(db) as brain:
        found = brain.superseded()
    if json:
        documents = [
            {
                "slug": page.slug,
                "title": page.title,
                "superseded_by": page.by,
                "replacement": page.successor,
                "pinned": page.pinned,
            }
            for page in found
        ]
        screen.write_json({"superseded": documents, "total": len(found)})
    else:
        nowhere = "✗ no such page" if screen.on_terminal() else None
        rows = [
            (page.slug, page.by, page.successor or nowhere, "pinned" if page.pinned else None)
            for page in found
        ]
        headers = ("Slug", "Superseded by", "Page", "Pinned")
        screen.write_table(headers, rows, "No page is superseded.", quiet=quiet)
    exit_if_nothing(found, exit_code)


@command.command(
    "why",
    epilog=examples(
        "gbrain why notes/plan-2026",
        "gbrain why notes/plan-2026 --depth 4",
        "gbrain why notes/plan-2026 --json | jq -r '.causes[].name'",
    ),
)
def why(
    slug: Slug,
    depth: Annotated[
        int,
        number_option("--depth", help="Number of steps to go back (default 2).", high=50),
    ] = 2,
    limit: Annotated[
        int,
        number_option("--limit", "-n", help="Maximum sources per page (default 10).", high=10**6),
    ] = 10,
    exit_code: ExitCode = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Show the sources of a page, and the sources of those.

    Sources are the pages and texts that its front matter names under derived_from, source, calls,
    imports and supersedes, pages that name it under causes, and pages that link to it.
    """
    from gbrain.output.provenance import origin_document, origin_lines, show_origin

    with open_brain(db) as brain:
        origin = brain.provenance(slug, depth=depth, limit=limit)
    if json:
        screen.write_json(origin_document(origin))
    elif screen.on_terminal():
        show_origin(origin, pager=not no_pager)
    else:
        screen.write("\n".join(origin_lines(origin)))
    if not origin.causes:
        if not (json or quiet):
            screen.say("It names no source, and no page links to it.")
        if exit_code:
            raise typer.Exit(3)


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
    """Find pages that are nearly the same.

    On a terminal it asks for each pair whether to mark the older page as superseded.
    """
    refuse_together({"--yes": yes, "--dry-run": dry_run})
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
    exit_if_nothing(compared.pairs, exit_code)


def _compare(brain: Brain, threshold: float, scope: Scope, quiet: bool) -> DuplicateResult:
    with show_progress("Comparing", quiet=quiet) as show:
        return brain.duplicates(threshold, scope, show)


def _mark(brain: Brain, older: str, newer: str, marked: list[SupersededPair]) -> None:
    """Mark the page `older` as superseded, unless another pair already did."""
    if older in {slug for slug, _ in marked}:
        return
    try:
        file = brain.supersede(older, newer)[0].file
    except Conflict as conflict:
        screen.say(conflict.full_message)
        return
    if file and file.needs_user:
        screen.say(file.message or "")
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
