"""`put`, `get`, `list`, `delete` and `rename`: write, read and list pages."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    NoReplica,
    Quiet,
    Slug,
    UpdateLinks,
    examples,
    exit_if_nothing,
    is_stream,
    number_option,
    read_input,
    report_file,
    say_filter_hints,
    with_options,
)
from gbrain.cli.open_brain import open_brain
from gbrain.errors import BadPage
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.json import (
    deleted_document,
    duplicate_document,
    file_document,
    page_document,
    pages_document,
    written_document,
)
from gbrain.query_options import FILTERS, parse_scope
from gbrain.text.slug import path_from_name

if TYPE_CHECKING:
    from gbrain.brain import Brain
    from gbrain.store.page_writer import WriteResult

command = Module()


@command.command(
    "put",
    epilog=examples(
        "gbrain put people/alice-chen alice.md",
        "echo '# Idea' | gbrain put ideas/first",
        "gbrain put ideas/first draft.md --expected-version 1",
    ),
)
def put(
    slug: Annotated[str, typer.Argument(metavar="SLUG", help="Slug of the page, existing or new.")],
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="File with the text (default: standard input)."),
    ] = None,
    expected_version: Expected = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Write a page from a file or standard input.

    The old text stays in its history. A slug or a path means exactly this page, which is created if
    it does not exist. Any other name, such as "Alice Chen", is the title or an alias of a page. If
    the page cannot be written, text from standard input is kept in a file that the error names.
    """
    if file is None and sys.stdin.isatty() and not quiet:
        screen.say("Type the page, then press Ctrl-D.")
    from gbrain.cli.drafts import keep_text

    data = read_input(file)
    with ExitStack() as opened:
        with keep_text(slug, data if is_stream(file) else b""):
            brain = opened.enter_context(open_brain(db, make=True))
            written = _put(brain, slug, file, data, expected_version)
        compare = written.outcome != "unchanged" and (json or not quiet)
        twin = brain.near_duplicate(written.slug) if compare else None
    if json:
        screen.write_json(written_document(written, nearly_the_same=duplicate_document(twin)))
    elif not quiet:
        screen.say(f"{written.slug}: {written.outcome}, version {written.version}")
        renamed = written.outcome == "created" and written.slug != slug
        if renamed and written.file and written.file.path:
            screen.say(f"Its file is {written.file.path}.")
    if twin and not quiet:
        screen.say(
            f"It shares {twin.words:.0%} of its wording with {twin.slug}. If it supersedes that "
            f"page: gbrain supersede {twin.slug} {written.slug}"
        )
    report_file(written.file, quiet=quiet, json=json)


def _put(
    brain: Brain, slug: str, file: Path | None, data: bytes, expected_version: int | None
) -> WriteResult:
    name = brain.slug_to_put(slug)
    known = None if data or str(file or "-") != "-" else brain.find(path_from_name(name))
    if known and known.size:
        # The command before the pipe may have failed.
        raise BadPage(
            f"Standard input is empty, so {known.slug} was not changed",
            hint=f"To empty the page: gbrain put {known.slug} {os.devnull}",
            code="empty_input",
        )
    return brain.put(slug, data, expected_version=expected_version)


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
        int | None, number_option("--version", help="Show version N (default: the latest).")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Print the text unformatted, also on a terminal.")
    ] = False,
    no_pager: NoPager = False,
    json: Json = False,
    db: Db = None,
    no_replica: NoReplica = False,
) -> None:
    """Show a page: formatted on a terminal, unchanged in a pipe."""
    with open_brain(db, no_replica=no_replica) as brain:
        page, meta, text = brain.page(slug, version)
        # In a pipe, a preview or a script nobody reads the page.
        if version is None and not json and sys.stdout.isatty():
            brain.record_open(page.id)
    if json:
        screen.write_json(page_document(page, meta, text))
        return
    if not sys.stdout.isatty():
        screen.write_exact([text])
        return
    if raw or not screen.on_terminal():
        screen.write(text.replace("\r\n", "\n"))
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
        if not (pages or quiet):
            say_filter_hints(brain, scope)
    if json:
        screen.write_json(pages_document(pages, total))
    else:
        rows = [(p.slug, p.title, f"{p.wing}/{p.room}", p.date) for p in pages]
        headers = ("Slug", "Title", "Wing/room", "Date")
        screen.write_table(headers, rows, "No pages.", quiet=quiet, pager=not no_pager)
        if len(pages) < total and not quiet:
            screen.say(f"{len(pages)} of {total} pages.")
    exit_if_nothing(pages, exit_code)


@command.command("delete", epilog=examples("gbrain delete ideas/first"))
def delete(
    slug: Slug,
    expected_version: Expected = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Delete a page and its file; its history is kept.

    With config set use_trash on, the file goes to the trash of your system.
    """
    with open_brain(db) as brain:
        gone = brain.delete(slug, expected_version=expected_version)
    if json:
        screen.write_json(deleted_document(gone))
    elif not quiet:
        screen.say(f"Deleted {gone.slug}. gbrain undo {gone.slug} brings it back.")
    report_file(gone.file, quiet=quiet, json=json)


@command.command(
    "rename",
    epilog=examples(
        "gbrain rename ideas/first projects/first",
        "gbrain rename 'Alice Chen' people/alice-wu --update-links",
    ),
)
def rename(
    slug: Slug,
    new_slug: Annotated[str, typer.Argument(metavar="NEW", help="New slug.")],
    update_links: UpdateLinks = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Change a page's slug and move its file; its history is kept."""
    with open_brain(db) as brain:
        page = brain.get(slug)
        before = brain.count_old_links()
        written = brain.rename(page.slug, new_slug)
        updated = brain.update_links() if update_links else 0
        left = brain.count_old_links() - before
        # Without a folder there is nothing to sync.
        name = written.slug
        remedy = "sync" if brain.folder_roots() else f"rename {name} {name}"
    if json:
        document = {"from": page.slug, "to": written.slug, "version": written.version}
        links = {"links_to_old_name": left.total(), "links_updated": updated}
        screen.write_json({**document, **links, "file": file_document(written.file)})
    elif not quiet:
        screen.say(f"Renamed {page.slug} to {written.slug}, version {written.version}.")
        if updated:
            screen.say(f"{counted(updated, 'link')} updated.")
        if left:
            screen.say(
                f"{counted(left.total(), 'link')} to the old name left, on {', '.join(left)}. "
                f"gbrain {remedy} --update-links changes them."
            )
    report_file(written.file, quiet=quiet, json=json)
