"""`timeline` and `timeline-add`: dated entries of one page or of all pages."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gbrain.brain import today
from gbrain.cli.commands import (
    Db,
    ExitCode,
    Expected,
    Given,
    Json,
    Module,
    NoPager,
    PageOrAll,
    Quiet,
    Slug,
    Source,
    examples,
    exit_if_nothing,
    number_option,
    report_file,
    say_filter_hints,
    with_options,
)
from gbrain.cli.open_brain import open_brain
from gbrain.errors import UsageError
from gbrain.output import screen
from gbrain.output.json import written_document
from gbrain.output.timeline import entry_rows, show_all_timelines, show_timeline, timeline_document
from gbrain.query_options import FILTERS, parse_scope
from gbrain.store.page_writer import WriteResult

command = Module()

CHRONICLE_LENGTH = 50


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
    slug: PageOrAll = None,
    limit: Annotated[
        int | None,
        number_option(
            "--limit",
            "-n",
            help=f"Maximum entries (default {CHRONICLE_LENGTH}; all with SLUG).",
        ),
    ] = None,
    exit_code: ExitCode = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """List dated entries of one page or of all pages.

    The entries of one page are listed oldest first, those of all pages latest first. Dated items of
    other lists, sections below a dated heading, and pages with a date in their front matter, name
    or title are listed too.
    """
    scope = parse_scope(given, today())
    most = CHRONICLE_LENGTH if slug is None and limit is None else limit
    with open_brain(db) as brain:
        entries, total = brain.timeline(slug, scope=scope, limit=most)
        if not (entries or quiet):
            say_filter_hints(brain, scope)
    if json:
        screen.write_json(timeline_document(entries, total))
    elif entries and screen.on_terminal():
        show = show_all_timelines if slug is None else show_timeline
        show(entries, pager=not no_pager)
    else:
        headers = ("Date", "Slug", "Source", "Text")
        screen.write_table(headers, entry_rows(entries), "No timeline entries.", quiet=quiet)
    if len(entries) < total and not (json or quiet):
        screen.say(f"The latest {len(entries)} of {total} entries.")
    exit_if_nothing(entries, exit_code)


@command.command(
    "timeline-add",
    epilog=examples(
        'gbrain timeline-add people/alice-chen "Joined RiverAI as CTO"',
        'gbrain timeline-add people/alice-chen "Moved to Lisbon" --date yesterday',
    ),
)
def timeline_add(
    slug: Slug,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What happened.")],
    date: Annotated[
        str | None,
        typer.Option("--date", metavar="DATE", help="When it happened (default: today)."),
    ] = None,
    source: Source = None,
    expected_version: Expected = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Add a dated entry to a page's timeline.

    Adding the same entry twice changes nothing.
    """
    from gbrain.cli.drafts import keep_text

    with keep_text(slug, os.fsencode(text)):
        day = _written_date(date)
        require_utf8(f"{text} {source}")
        with open_brain(db) as brain:
            written = brain.add_to_timeline(
                slug, text, date=day, source=source, expected_version=expected_version
            )
    print_added(written, day, json=json, quiet=quiet)


def print_added(written: WriteResult, day: str, *, json: bool, quiet: bool) -> None:
    """Print what was written for an entry of `day`; exit with 1 if its file was not."""
    if json:
        screen.write_json(written_document(written, date=day))
    elif not quiet:
        done = "already there" if written.outcome == "unchanged" else "added"
        screen.say(f"{written.slug}: entry of {day} {done} (version {written.version})")
    report_file(written.file, quiet=quiet, json=json)


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
