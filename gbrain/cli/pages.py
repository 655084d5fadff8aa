"""`put get list delete rename`: single pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    open_brain,
    read_input,
    today,
    with_options,
)  # fmt: skip
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.documents import duplicate_document, page_document, page_row_document
from gbrain.query_options import FILTERS, parse_scope
from gbrain.text.slug import slug_from_path

if TYPE_CHECKING:
    from gbrain.store.duplicates import SimilarPage
    from gbrain.store.page_writer import WriteResult

command = Module()

Slug = Annotated[str, typer.Argument(metavar="SLUG", help="The page, like people/alice-chen.")]


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
    file: Annotated[Path | None, typer.Argument(help="Its text; else standard input.")] = None,
    expected_version: Expected = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Write a page; its earlier text is kept."""
    if file is None and sys.stdin.isatty() and not quiet:
        screen.say("Reading the page from the terminal; end with Ctrl-D.")
    data = read_input(file)
    with open_brain(db, make=True) as brain:
        written = brain.put(slug, data, expected_version=expected_version)
        twin = None if quiet and not json else _twin(brain, written)
    if json:
        about = {"slug": written.slug, "version": written.version, "outcome": written.outcome}
        screen.write_json({**about, "nearly_the_same": duplicate_document(twin)})
    elif not quiet:
        screen.say(f"{written.slug}: {written.outcome}, version {written.version}")
    if twin and not quiet:
        screen.say(
            f"It says nearly the same as {twin.slug} ({twin.words:.0%} of the wording shared). "
            f"gbrain supersede {twin.slug} {written.slug} keeps the older one out of answers."
        )


def _twin(brain: Brain, written: WriteResult) -> SimilarPage | None:
    """Another page that says nearly the same as the one just written."""
    if written.outcome == "unchanged":
        return None
    from gbrain.store.duplicates import find_duplicate_of

    with brain.database.read_transaction() as connection:
        return find_duplicate_of(connection, written.slug)


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
        int | None, typer.Option(metavar="N", min=1, max=10**9, help="An earlier version's text.")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The page's bytes on a terminal too.")] = False,
    no_pager: NoPager = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Show a page: rendered on a terminal, its own bytes in a pipe."""
    with open_brain(db) as brain:
        page, meta, text = brain.page(slug, version)
        if version is None:
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
        int | None, typer.Option("--limit", "-n", metavar="N", min=1, max=10**9, help="How many.")
    ] = None,
    exit_code: ExitCode = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """List pages by slug."""
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
    """Remove a page; its text stays in its history."""
    with open_brain(db) as brain:
        gone = brain.delete(slug, expected_version=expected_version)
    if json:
        screen.write_json({"slug": gone.slug, "version": gone.version, "deleted": True})
    elif not quiet:
        screen.say(
            f"{gone.slug}: deleted. gbrain get {gone.slug} --version {gone.version} still shows it."
        )
        if gone.folder_id is not None:
            screen.say("Its file is still there: remove it too, or sync brings the page back.")


@command.command("rename", epilog=examples("gbrain rename ideas/first projects/first"))
def rename(
    slug: Slug,
    new_slug: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Give a page another slug; history and vectors go with it."""
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
    screen.say(f"{slug} is now {written.slug}, version {written.version}")
    if links:
        named_on = ", ".join(dict.fromkeys(link.slug for link in links))
        still = "still names" if len(links) == 1 else "still name"
        screen.say(f"{counted(len(links), 'link')} {still} {slug}, on {named_on}")
    if from_file:
        screen.say("Its file keeps the old name: rename it too, or sync brings the old page back.")
