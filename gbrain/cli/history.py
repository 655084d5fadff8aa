"""`history`, `diff` and `undo`: the versions of a page, what changed, and going back."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from gbrain.brain import today
from gbrain.cli.commands import (
    Db,
    Json,
    Module,
    NoPager,
    Quiet,
    Slug,
    examples,
    number_option,
    refuse_together,
    report_file,
)
from gbrain.cli.open_brain import open_brain
from gbrain.output import screen
from gbrain.output.json import history_document, undone_document

if TYPE_CHECKING:
    from gbrain.store.history import Version
    from gbrain.store.undo import UndoResult

command = Module()


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
        screen.write_json(history_document(name, known))
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
    refuse_together({"--from": from_ is not None, "--since": since is not None})
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
    from gbrain.output.diff import difference_document, show_diff, version_diff

    lines = version_diff(slug, old, new, known)
    if as_json:
        screen.write_json(difference_document(slug, old, new, known))
    elif screen.on_terminal():
        texts = (old[1], new[1])
        ends = any(t.count("\n") != t.count("\r\n") for t in texts)
        show_diff(lines, line_ends=ends, pager=pager)
    else:
        # With the line ends of the page, for patch; other control characters are only in --json.
        for line in lines:
            end = "\r\n" if line.endswith("\r\n") else "\n"
            screen.write(line.removesuffix(end), end=end)


@command.command(
    "undo",
    epilog=examples(
        "gbrain undo",
        "gbrain undo people/alice-chen",
        "gbrain undo people/alice-chen --redo",
    ),
)
def undo(
    slug: Annotated[
        str | None,
        typer.Argument(metavar="[SLUG]", help="Page (default: the one that changed last)."),
    ] = None,
    redo: Annotated[bool, typer.Option("--redo", help="Take back the last undo.")] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Take back the last change of a page.

    The change may be an edit, a rename or a deletion. The earlier text becomes a new version, so
    nothing is lost. Undoing again goes one change further back. Undoing the creation of a page
    that has no file deletes it; undo again to bring it back.
    """
    with open_brain(db) as brain:
        done = brain.undo(slug, redo=redo)
        without_file = done.outcome == "undeleted" and not done.file and brain.folder_roots()
    if json:
        screen.write_json(undone_document(done))
    elif not quiet:
        screen.say(_sentence(done))
        if done.outcome == "updated":
            screen.say(f"gbrain diff {done.slug} shows what changed.")
        if without_file:
            screen.say("It has no file now; gbrain export FOLDER writes one.")
    report_file(done.file, quiet=quiet, json=json)


def _sentence(done: UndoResult) -> str:
    slug, version = done.slug, done.version
    if done.outcome == "deleted":
        return f"Deleted {slug}, which was new. gbrain undo {slug} brings it back."
    if done.outcome == "undeleted":
        return f"{slug}: undeleted, version {version}"
    if done.outcome == "renamed":
        return f"Renamed {done.before.slug} back to {slug}, version {version}."
    return f"{slug}: the text of version {done.restored.version} is back, as version {version}"
