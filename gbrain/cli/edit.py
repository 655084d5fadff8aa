"""`open`, `edit` and `capture`: edit pages in your editor, and add quick notes."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gbrain.brain import Brain
from gbrain.brain.pages import title_from_slug
from gbrain.cli.commands import Module, examples
from gbrain.cli.editor import Draft, EditorHangup, abandoned_drafts, raise_on_hangup
from gbrain.cli.options import Db, Json, Quiet, Slug, open_brain, read_input, today
from gbrain.cli.timeline import FILE_IS_BEHIND, print_added, require_utf8
from gbrain.errors import BadPage, GbrainError, NotFound, UsageError
from gbrain.importing.scan import refuse_skipped_path
from gbrain.output import screen
from gbrain.text.slug import slug_from_path

if TYPE_CHECKING:
    from gbrain.store.page_writer import WriteResult
    from gbrain.store.pages import StoredPage

command = Module()


@command.command(
    "open",
    epilog=examples("gbrain open 1", "EDITOR='code --wait' gbrain open 3"),
)
def open_(
    number: Annotated[
        int, typer.Argument(metavar="N", min=1, max=1000, help="Number of the result.")
    ],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Open result N of your last search or query in your editor and write what you save.

    Only results that were printed on a terminal count, not those of a pipe or of --as-of.
    """
    with open_brain(db) as brain:
        place = brain.last_hit(number)
        if place is None:
            raise _no_such_hit(number, brain.last_hit(1) is not None)
        page = brain.get(place.slug)
        _edit(brain, page.slug, page, line=place.line, quiet=quiet, json=json)


def _no_such_hit(number: int, has_results: bool) -> NotFound:
    if has_results:
        return NotFound(
            f"Your last results have no number {number}",
            hint="Search again with a larger --limit, or name the page: gbrain edit SLUG",
        )
    return NotFound(
        "No recent results to open",
        hint="First search on a terminal, without --as-of: gbrain query 'your question'",
    )


@command.command(
    "edit",
    epilog=examples(
        "gbrain edit people/alice-chen",
        "gbrain edit journal/2026-04-03",
        "gbrain edit meetings/kick-off --template ~/templates/meeting.md",
    ),
)
def edit(
    slug: Slug,
    template: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Text of a new page; {{title}}, {{date}} and {{slug}} are replaced.",
        ),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Edit a page in your editor, or create a new one."""
    name = slug_from_path(slug)
    with open_brain(db, make=True) as brain:
        page = brain.find(name)
        similar = [] if page else brain.similar_slugs(name)
        if page is None:
            refuse_skipped_path(f"{name}.md")
        start = None if page else _new_page_text(name, template)
        if similar and not quiet:
            screen.say(f"{name} is a new page. Similar pages: {', '.join(similar)}.")
        _edit(brain, slug, page, start=start, quiet=quiet, json=json)


def _new_page_text(slug: str, template: Path | None) -> str:
    """Return the text a new page starts with."""
    title = title_from_slug(slug)
    if template is None:
        return f"# {title}\n\n"
    try:
        text = read_input(template).decode()
    except UnicodeDecodeError:
        raise UsageError(f"{template} is not UTF-8", hint="Save the file as UTF-8.") from None
    for word, value in (("title", title), ("date", today().isoformat()), ("slug", slug)):
        text = text.replace("{{" + word + "}}", value)
    return text


def _edit(
    brain: Brain,
    name: str,
    page: StoredPage | None,
    *,
    start: str | None = None,
    line: int | None = None,
    quiet: bool,
    json: bool,
) -> None:
    """Edit a page, or a new one with the text `start`; write it if nobody else changed it."""
    slug = page.slug if page else slug_from_path(name)
    text = brain.text(slug) if page else start or ""
    if page:
        brain.record_open(page.id)
    for file in [] if quiet else abandoned_drafts(slug, text):
        screen.say(f"An earlier edit of {slug} was never saved to the brain; it is in {file}.")
    draft = Draft(slug, text)
    try:
        with raise_on_hangup():
            written = _write_edited(brain, name, page, draft, text, line)
    except EditorHangup:
        # Kept even if it is empty: the editor may still be saving to it.
        with suppress(OSError):
            screen.say(f"Interrupted: your text of {slug} is kept in {draft.file}.")
        raise
    except BaseException as error:
        if not draft.changed_from(text):
            draft.discard()
        elif isinstance(error, GbrainError):
            kept = f"Your text is kept in {draft.file}."
            error.hint = f"{kept} {error.hint}"
        else:
            screen.say(f"Your text is kept in {draft.file}.")
        raise
    draft.discard()
    version, outcome = (written.version, written.outcome) if written else (0, "unchanged")
    if written is None and page:
        version = page.version
    if json:
        screen.write_json({"slug": slug, "version": version or None, "outcome": outcome})
    elif not quiet:
        done = f"{outcome}, version {version}" if version else "nothing was written"
        screen.say(f"{slug}: {done}")
        if page and page.folder_id is not None and outcome == "updated":
            screen.say(FILE_IS_BEHIND)


def _write_edited(
    brain: Brain, name: str, page: StoredPage | None, draft: Draft, text: str, line: int | None
) -> WriteResult | None:
    """Edit until the text is a valid page, and write it; return None if nothing changed."""
    while True:
        data = draft.edit(line)
        if data == text.encode():
            return None
        if not data.strip():
            raise UsageError(
                "The text is empty; nothing was written",
                hint=f"gbrain delete {page.slug} deletes the page." if page else "Write some text.",
            )
        try:
            return brain.put(name, data, expected_version=page.version if page else 0)
        except BadPage as error:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise
            screen.say(f"Error: {error.message}")
            if not typer.confirm("Edit again?", default=True, err=True):
                raise


@command.command(
    "capture",
    epilog=examples(
        'gbrain capture "Ask Alice about the lease"',
        'gbrain capture "Moved to Lisbon" --to people/alice-chen',
        "pbpaste | gbrain capture --source clipboard",
    ),
)
def capture(
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]", help="Text of the note; - reads standard input."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="SLUG", help="Page (default: the setting capture_page)."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="SOURCE", help="Where the information comes from."),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Add a note with today's date to the inbox or to a page's timeline."""
    note = _note_text(text)
    require_utf8(source or "")
    with open_brain(db, make=True) as brain:
        written = brain.capture(note, name=to, source=source)
        print_added(brain, written, today().isoformat(), json=json, quiet=quiet)


def _note_text(text: list[str] | None) -> str:
    """Return the text of the command line or of standard input."""
    if text and text != ["-"]:
        return require_utf8(" ".join(text))
    if not text and sys.stdin.isatty():
        raise UsageError(
            "There is no text to capture", hint="For example: gbrain capture 'Call Alice'"
        )
    try:
        return read_input(None).decode()
    except UnicodeDecodeError:
        raise UsageError(
            "The text is not UTF-8", hint="Convert it, for example with iconv."
        ) from None
