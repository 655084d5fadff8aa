"""`open`, `edit` and `capture`: edit pages in your editor, and add quick notes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gbrain.brain import Brain, today
from gbrain.brain.pages import title_from_slug
from gbrain.cli.commands import (
    Db,
    Json,
    Module,
    Quiet,
    Slug,
    Source,
    examples,
    read_input,
    report_file,
)
from gbrain.cli.drafts import (
    Draft,
    Hangup,
    abandoned_drafts,
    add_note,
    keep_text,
    raise_on_hangup,
)
from gbrain.cli.editor import edit_file
from gbrain.cli.open_brain import open_brain
from gbrain.cli.timeline import print_added, require_utf8
from gbrain.errors import BadPage, NotFound, UsageError
from gbrain.importing.scan import refuse_skipped_path
from gbrain.output import screen
from gbrain.output.json import file_document
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
    """Open result N of your last search in your editor.

    What you save is written to the page. Only results that were printed on a terminal count, not
    those of a pipe or of --as-of.
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
    """Edit a page in your editor, or create a new one.

    SLUG may be the title, an alias or the file name of a page. If another page already has the name
    of a new one, give the new page's path: gbrain edit ideas/marta, or gbrain edit marta.md.
    """
    with open_brain(db, make=True) as brain:
        page = brain.find(slug)
        if page:
            _edit(brain, page.slug, page, quiet=quiet, json=json)
            return
        name = slug_from_path(slug)
        refuse_skipped_path(f"{name}.md")
        start = _new_page_text(name, template)
        if not quiet:
            similar = brain.similar_slugs(name)
            others = f" Similar pages: {', '.join(similar)}." if similar else ""
            screen.say(f"New page {name}.{others}")
        _edit(brain, slug, None, start=start, quiet=quiet, json=json)


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
    if page and brain.import_file(page.slug):
        page = brain.get(page.slug)
    slug = page.slug if page else slug_from_path(name)
    text = brain.text(slug) if page else start or ""
    if page:
        brain.record_open(page.id)

    def write(data: bytes) -> WriteResult | None:
        if data == text.encode():
            return None
        if not data.strip():
            raise UsageError(
                "The text is empty; nothing was written",
                hint=f"gbrain delete {slug} deletes the page." if page else "Write some text.",
            )
        return brain.put(name, data, expected_version=page.version if page else 0)

    written = edit_text(slug, text, write, line=line, quiet=quiet or json)
    version, outcome = (written.version, written.outcome) if written else (0, "unchanged")
    if written is None and page:
        version = page.version
    print_edited(slug, version or None, outcome, written, quiet=quiet, json=json)


def print_edited(
    slug: str,
    version: int | None,
    outcome: str,
    written: WriteResult | None,
    *,
    quiet: bool,
    json: bool,
) -> None:
    """Print what came out of the editor; exit with 1 if the page's file was not written."""
    file = written.file if written else None
    if json:
        document = {"slug": slug, "version": version, "outcome": outcome}
        screen.write_json({**document, "file": file_document(file)})
    elif not quiet:
        done = f"{outcome}, version {version}" if version else "nothing was written"
        screen.say(f"{slug}: {done}")
    report_file(file, quiet=quiet, json=json)


def edit_text(
    slug: str,
    text: str,
    write: Callable[[bytes], WriteResult | None],
    *,
    line: int | None = None,
    quiet: bool,
) -> WriteResult | None:
    """Edit the text of a page and return the result of `write`; the draft is kept if that fails."""
    for left in [] if quiet else abandoned_drafts(slug, text):
        screen.say(f"An earlier edit of {slug} was never saved to the brain; it is in {left}.")
    draft = Draft(slug, text.encode(), edited=True)
    try:
        with raise_on_hangup():
            written = _edit_until_valid(draft, write, line)
    except Hangup:
        # Kept even if it is empty: the editor may still be saving to it.
        with suppress(OSError):
            screen.say(f"Interrupted: your text of {slug} is kept in {draft.file}.")
        raise
    except BaseException as error:
        if not draft.changed_from(text):
            draft.discard()
        else:
            add_note(error, f"Your text is kept in {draft.file}.")
        raise
    finally:
        draft.close()
    draft.discard()
    return written


def _edit_until_valid(
    draft: Draft, write: Callable[[bytes], WriteResult | None], line: int | None
) -> WriteResult | None:
    """Edit until the text is a valid page, and write it."""
    while True:
        data = edit_file(draft.file, line)
        try:
            return write(data)
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
        'gbrain capture "[ ] Call Alice by 2026-11-20"  # a task',
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
        typer.Option(
            "--to", metavar="SLUG", help="Page to add to (default: setting capture_page)."
        ),
    ] = None,
    source: Source = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Add a note with today's date to the inbox or a page.

    A page that does not exist is created. If the note cannot be added, its text is kept in a file
    that the error names.
    """
    data = _note_bytes(text)
    with keep_text(to or "capture", data):
        note = _note_text(data)
        require_utf8(source or "")
        with open_brain(db, make=True) as brain:
            written = brain.capture(note, name=to, source=source)
            created = to is not None and written.outcome == "created"
            similar = brain.similar_slugs(written.slug) if created else []
    if created and not (quiet or json):
        similar = [slug for slug in similar if slug != written.slug]
        others = f" Similar pages: {', '.join(similar)}." if similar else ""
        screen.say(f"There was no page {to}, so {written.slug} is new.{others}")
    print_added(written, today().isoformat(), json=json, quiet=quiet)


def _note_bytes(text: list[str] | None) -> bytes:
    """Return the text of the command line or of standard input."""
    given = " ".join(text or ())
    if given.strip() and text != ["-"]:
        return os.fsencode(given)
    return b"" if not given.strip() and (text or sys.stdin.isatty()) else read_input(None)


def _note_text(data: bytes) -> str:
    try:
        note = data.decode()
    except UnicodeDecodeError:
        raise UsageError(
            "The text is not UTF-8", hint="Convert it, for example with iconv."
        ) from None
    if not note.strip():
        raise UsageError(
            "There is no text to capture", hint="For example: gbrain capture 'Call Alice'"
        )
    return note
