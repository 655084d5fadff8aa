"""`put`, `get`, `list`, `delete` and `rename`: single pages."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

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
    read_input,
    today,
    with_options,
)  # fmt: skip
from gbrain.errors import BadPage
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.json import duplicate_document, page_document, page_row_document
from gbrain.query_options import FILTERS, parse_scope
from gbrain.text.slug import slug_from_path

command = Module()


@command.command(
    "put",
    epilog=examples(
        "gbrain put people/alice-chen alice.md",
        "echo '# Idea' | gbrain put ideas/first",
        "gbrain put ideas/first draft.md --expected-version 3",
    ),
)
def put(
    slug: Slug,
    file: Annotated[
        Path | None, typer.Argument(help="File with the text (default: standard input).")
    ] = None,
    expected_version: Expected = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Write a page from a file or standard input; the old text stays in its history."""
    if file is None and sys.stdin.isatty() and not quiet:
        screen.say("Type the page, then press Ctrl-D.")
    data = read_input(file)
    with open_brain(db, make=True) as brain:
        known = None if data or str(file or "-") != "-" else brain.find(slug_from_path(slug))
        if known and known.size:
            # The command before the pipe may have failed.
            raise BadPage(
                f"Standard input is empty, so {known.slug} was not changed",
                hint=f"To empty the page: gbrain put {known.slug} {os.devnull}",
                code="empty_input",
            )
        written = brain.put(slug, data, expected_version=expected_version)
        compare = written.outcome != "unchanged" and (json or not quiet)
        twin = brain.near_duplicate(written.slug) if compare else None
    if json:
        about = {"slug": written.slug, "version": written.version, "outcome": written.outcome}
        screen.write_json({**about, "nearly_the_same": duplicate_document(twin)})
    elif not quiet:
        screen.say(f"{written.slug}: {written.outcome}, version {written.version}")
    if twin and not quiet:
        screen.say(
            f"It shares {twin.words:.0%} of its wording with {twin.slug}. If it supersedes that "
            f"page: gbrain supersede {twin.slug} {written.slug}"
        )


@command.command(
    "get",
    epilog=examples(
        "gbrain get people/alice-chen",
        "gbrain get people/alice-chen --version 2 > old.md",
        "gbrain get people/alice-chen --json | jq .room_reason",
    ),
)
def get(
    slug: Slug,
    version: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=10**9, help="Show version N (default: the latest)."),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Print the text unformatted, also on a terminal.")
    ] = False,
    no_pager: NoPager = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Show a page: formatted on a terminal, unchanged in a pipe."""
    with open_brain(db) as brain:
        page, meta, text = brain.page(slug, version)
        # A pipe, a preview or a script is nobody who reads.
        if version is None and not json and sys.stdout.isatty():
            brain.record_open(page.id)
    if json:
        screen.write_json(page_document(page, meta, text))
        return
    if raw or not screen.on_terminal():
        sys.stdout.buffer.write(text.encode())
        return
    from gbrain.output.answer_terminal import show_page

    show_page(text, pager=not no_pager)


@command.command(
    "list",
    epilog=examples(
        "gbrain list --wing people",
        "gbrain list --tag urgent --since 'last week'",
        "gbrain list --where status=done --json | jq -r '.pages[].slug'",
    ),
)
@with_options(*FILTERS)
def list_(
    given: Given,
    limit: Annotated[
        int | None,
        number_option("--limit", "-n", help="Maximum number of pages (default: all)."),
    ] = None,
    exit_code: ExitCode = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """List pages, sorted by slug."""
    scope = parse_scope(given, today())
    with open_brain(db) as brain:
        pages, total = brain.list(scope, limit)
    if json:
        screen.write_json({"pages": [page_row_document(page) for page in pages], "total": total})
    else:
        rows = [(p.slug, p.title, f"{p.wing}/{p.room}", p.date) for p in pages]
        headers = ("Slug", "Title", "Wing/room", "Date")
        screen.write_table(headers, rows, "No pages.", quiet=quiet, pager=not no_pager)
        if len(pages) < total and not quiet:
            screen.say(f"{len(pages)} of {total} pages.")
    if exit_code and not pages:
        raise typer.Exit(3)


@command.command("delete", epilog=examples("gbrain delete ideas/first"))
def delete(
    slug: Slug,
    expected_version: Expected = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Delete a page; its text stays in its history."""
    with open_brain(db) as brain:
        gone = brain.delete(slug, expected_version=expected_version)
    if json:
        screen.write_json({"slug": gone.slug, "version": gone.version, "deleted": True})
    elif not quiet:
        screen.say(
            f"Deleted {gone.slug}. gbrain get {gone.slug} --version {gone.version} still shows it."
        )
        if gone.folder_id is not None:
            screen.say("Its file still exists: delete it too, or gbrain sync imports it again.")


@command.command("rename", epilog=examples("gbrain rename ideas/first projects/first"))
def rename(
    slug: Slug,
    new_slug: Annotated[str, typer.Argument(metavar="NEW", help="New slug.")],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Change a page's slug; its history and vectors are kept."""
    with open_brain(db) as brain:
        links = brain.backlinks(slug)
        from_file = brain.get(slug).folder_id is not None
        written = brain.rename(slug, new_slug)
    if json:
        document = {"from": slug_from_path(slug), "to": written.slug, "version": written.version}
        screen.write_json({**document, "links_to_old_name": len(links)})
        return
    if quiet:
        return
    screen.say(f"Renamed {slug} to {written.slug}, version {written.version}.")
    if links:
        linking = ", ".join(dict.fromkeys(link.slug for link in links))
        screen.say(f"{counted(len(links), 'link')} to the old slug left, on {linking}.")
    if from_file:
        screen.say(
            "Its file keeps the old name: rename it too, or gbrain sync imports the old page again."
        )
