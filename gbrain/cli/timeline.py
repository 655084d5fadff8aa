"""`timeline` and `timeline-add`: dated entries of one page or of all pages."""

from __future__ import annotations

from typing import Annotated

import typer

from gbrain.brain import Brain
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import (
    Db,
    ExitCode,
    Expected,
    Given,
    Json,
    NoPager,
    Quiet,
    Slug,
    number_option,
    open_brain,
    today,
    with_options,
)  # fmt: skip
from gbrain.errors import UsageError
from gbrain.output import screen
from gbrain.output.timeline import entry_document, entry_rows, show_all_timelines, show_timeline
from gbrain.query_options import FILTERS, parse_scope
from gbrain.store.page_writer import WriteResult

command = Module()

CHRONICLE_LENGTH = 50
FILE_IS_BEHIND = "The file still has the old text; gbrain export writes the new one."


@command.command(
    "timeline",
    epilog=examples(
        "gbrain timeline people/alice-chen",
        "gbrain timeline --since 'last month' --wing people",
        "gbrain timeline --limit 10 --json | jq -r '.entries[].text'",
    ),
)
@with_options(*FILTERS)
def timeline(
    given: Given,
    slug: Annotated[
        str | None, typer.Argument(metavar="[SLUG]", help="Page (default: all pages).")
    ] = None,
    limit: Annotated[
        int | None,
        number_option(
            "--limit", "-n", help=f"Only the latest N (default {CHRONICLE_LENGTH}, or all of SLUG)."
        ),
    ] = None,
    exit_code: ExitCode = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Show what is dated on a page, oldest first, or on all pages, latest first.

    Besides the entries of timelines these are dated items of other lists, sections below a dated
    heading, and pages with a date in their front matter, name or title.
    """
    scope = parse_scope(given, today())
    most = CHRONICLE_LENGTH if slug is None and limit is None else limit
    with open_brain(db) as brain:
        entries, total = brain.timeline(slug, scope=scope, limit=most)
    if json:
        screen.write_json({"entries": [entry_document(entry) for entry in entries], "total": total})
    elif entries and screen.on_terminal():
        show = show_all_timelines if slug is None else show_timeline
        show(entries, pager=not no_pager)
    else:
        headers = ("Date", "Slug", "Source", "Text")
        screen.write_table(headers, entry_rows(entries), "No timeline entries.", quiet=quiet)
    if len(entries) < total and not (json or quiet):
        screen.say(f"The latest {len(entries)} of {total} entries.")
    if exit_code and not entries:
        raise typer.Exit(3)


@command.command(
    "timeline-add",
    epilog=examples(
        'gbrain timeline-add people/alice-chen "Joined RiverAI as CTO"',
        'gbrain timeline-add people/alice-chen "Moved to Lisbon" --date yesterday --source phone',
    ),
)
def timeline_add(
    slug: Slug,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What happened.")],
    date: Annotated[
        str | None,
        typer.Option(
            "--date", metavar="DATE", help="2026-04-03, 2026-04, monday (default: today)."
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="SOURCE", help="Where the information comes from."),
    ] = None,
    expected_version: Expected = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Add an entry to a page's timeline; adding the same entry twice changes nothing."""
    day = _written_date(date)
    require_utf8(f"{text} {source}")
    with open_brain(db) as brain:
        written = brain.add_to_timeline(
            slug, text, date=day, source=source, expected_version=expected_version
        )
        print_added(brain, written, day, json=json, quiet=quiet)


def print_added(brain: Brain, written: WriteResult, day: str, *, json: bool, quiet: bool) -> None:
    """Print what was written for an entry of `day`."""
    if json:
        document = {"slug": written.slug, "version": written.version, "outcome": written.outcome}
        screen.write_json({**document, "date": day})
    elif not quiet:
        screen.say(f"{written.slug}: {day} {written.outcome}, version {written.version}")
        if written.outcome == "updated" and brain.get(written.slug).folder_id is not None:
            screen.say(FILE_IS_BEHIND)


def require_utf8(given: str) -> str:
    """Return `given`; raise UsageError if it is not valid UTF-8."""
    try:
        given.encode()
    except UnicodeEncodeError:
        raise UsageError(
            "The entry is not UTF-8", hint="Check the encoding of your terminal."
        ) from None
    return given


def _written_date(date: str | None) -> str:
    if date is None:
        return today().isoformat()
    from gbrain.text.dates import parse_bound

    return parse_bound(date, today()).text
