"""`put`, `get`, `list`, `delete`, `rename`, `history` and `diff`: pages and their versions."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gbrain.cli.commands import (  # fmt: skip
    Db,
    ExitCode,
    Expected,
    Given,
    Json,
    Module,
    NoPager,
    Quiet,
    Slug,
    UpdateLinks,
    examples,
    number_option,
    open_brain,
    read_input,
    report_file,
    today,
    with_options,
)
from gbrain.errors import BadPage, UsageError
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.json import (
    duplicate_document,
    file_document,
    page_document,
    pages_document,
    version_document,
    written_document,
)
from gbrain.query_options import FILTERS, parse_scope
from gbrain.text.slug import path_from_name

if TYPE_CHECKING:
    from gbrain.store.history import Version

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
    slug: Annotated[
        str, typer.Argument(metavar="SLUG", help="Slug of the page, also of a new one.")
    ],
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
    it does not exist. Any other name, such as "Alice Chen", is the title or an alias of a page.
    """
    if file is None and sys.stdin.isatty() and not quiet:
        screen.say("Type the page, then press Ctrl-D.")
    data = read_input(file)
    with open_brain(db, make=True) as brain:
        name = brain.slug_to_put(slug)
        known = None if data or str(file or "-") != "-" else brain.find(path_from_name(name))
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
        screen.write_json(pages_document(pages, total))
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
    """Delete a page and its file; its history stays.

    With config set use_trash on, the file goes to the trash of your system.
    """
    with open_brain(db) as brain:
        gone = brain.delete(slug, expected_version=expected_version)
    if json:
        document = {"slug": gone.slug, "version": gone.version, "deleted": True}
        screen.write_json({**document, "file": file_document(gone.file)})
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


@command.command(
    "history",
    epilog=examples(
        "gbrain history people/alice-chen",
        "gbrain history people/alice-chen --json | jq '.versions[-1].written_at'",
    ),
)
def history(slug: Slug, no_pager: NoPager = False, json: Json = False, db: Db = None) -> None:
    """List the versions of a page, oldest first.

    This works for deleted pages too.
    """
    with open_brain(db) as brain:
        name = brain.resolve(slug, past=True)
        known = brain.history(name)
    if json:
        screen.write_json({"slug": name, "versions": [version_document(v) for v in known]})
        return
    rows = [(v.version, v.written_at, v.size, v.ending or "current", v.slug) for v in known]
    headers = ("Version", "Written", "Bytes", "State", "Slug")
    screen.write_table(headers, rows, "No versions.", pager=not no_pager)


@command.command(
    "diff",
    epilog=examples(
        "gbrain diff people/alice-chen",
        "gbrain diff people/alice-chen --from 2 --to 5",
        "gbrain diff people/alice-chen --since 'last monday'",
    ),
)
def diff(
    slug: Slug,
    from_: Annotated[
        int | None,
        number_option("--from", help="Old version (default: the one before --to)."),
    ] = None,
    to: Annotated[
        int | None,
        number_option("--to", help="New version (default: the latest)."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DATE", help="Compare with the version before DATE."),
    ] = None,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Show what changed between two versions of a page."""
    if from_ is not None and since is not None:
        raise UsageError("--from and --since cannot be combined", hint="Use one of them.")
    moment = _moment(since) if since is not None else None
    with open_brain(db) as brain:
        name = brain.resolve(slug, past=True)
        known = brain.history(name)
        last = known[-1].version if to is None else to
        if moment is not None:
            first = _version_before(known, moment)
        elif from_ is None:
            first = max((v.version for v in known if v.version < last), default=None)
        else:
            first = from_
        new = brain.text(name, last)
        old = brain.text(name, first) if first is not None else ""
    if moment is not None and first is None and not (json or quiet):
        then = moment.isoformat(" ").removesuffix(" 00:00:00")
        screen.say(f"{name} did not exist before {then}: all of its text is new.")
    if json or old != new:
        _print_diff(name, (first, old), (last, new), known, as_json=json, pager=not no_pager)
    elif not quiet:
        screen.say(f"{name} has not changed.")


def _moment(since: str) -> datetime:
    """Return the start of a date in local time, or the exact time if one is given."""
    from gbrain.text.dates import parse_bound

    period = parse_bound(since, today())
    return datetime.fromisoformat(period.text if "T" in period.text else period.first)


def _version_before(known: list[Version], moment: datetime) -> int | None:
    """Return the version just before a moment; None if the page did not exist then."""
    for version in reversed(known):
        if _is_before(version.written_at, moment):
            gone = version.ending == "deleted" and _is_before(version.ended_at, moment)
            return None if gone else version.version
    return None


def _is_before(written: str | None, moment: datetime) -> bool:
    """Return whether a stored time is before a moment, which is local if it has no zone."""
    if written is None:
        return False
    time = datetime.fromisoformat(written)
    return (time.astimezone().replace(tzinfo=None) if moment.tzinfo is None else time) < moment


def _print_diff(
    slug: str,
    old: tuple[int | None, str],
    new: tuple[int, str],
    known: list[Version],
    *,
    as_json: bool,
    pager: bool,
) -> None:
    from gbrain.output.diff import show_diff, unified_diff

    written = {v.version: v.written_at for v in known}
    names = [
        "/dev/null" if number is None else f"{slug}@{number}\t{written[number]}"
        for number in (old[0], new[0])
    ]
    lines = unified_diff(old[1], new[1], *names)
    if as_json:
        screen.write_json({"slug": slug, "from": old[0], "to": new[0], "diff": "".join(lines)})
    elif screen.on_terminal():
        texts = (old[1], new[1])
        ends = any(t.count("\n") != t.count("\r\n") for t in texts)
        show_diff(lines, line_ends=ends, pager=pager)
    else:
        sys.stdout.buffer.writelines(line.encode() for line in lines)
