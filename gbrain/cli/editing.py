"""`open edit capture`: pages in one's own editor, and a thought kept in passing."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from gbrain.brain import Brain, timestamp
from gbrain.cli.commands import Module, examples
from gbrain.cli.editor import Draft, HungUp, earlier_drafts, heard
from gbrain.cli.options import Db, Json, Quiet, open_brain, read_input, today
from gbrain.cli.timeline import FILE_IS_BEHIND, check_text, tell_added
from gbrain.errors import BadPage, GbrainError, NotFound, UsageError
from gbrain.importing.scan import refuse_unread
from gbrain.output import screen
from gbrain.store import pages, usage_log
from gbrain.store.page_writer import Written, write_page
from gbrain.store.timeline import add_to_timeline
from gbrain.text.slug import slug_of

command = Module()


@command.command(
    "open",
    epilog=examples("gbrain open 1", "EDITOR='code --wait' gbrain open 3"),
)
def open_(
    number: Annotated[
        int, typer.Argument(metavar="N", min=1, max=1000, help="Its number on the screen.")
    ],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Open hit N of the last answer on a terminal in your editor; what you save becomes the page.

    Answers in a pipe or a script do not count: the numbers are those that you saw last.
    """
    with open_brain(db) as brain:
        with brain.database.reading() as connection:
            place = usage_log.recall(connection, number)
            if place is None:
                raise _no_such_hit(number, usage_log.recall(connection, 1) is not None)
            page = pages.require_page(connection, place.slug)
        _edit(brain, page.slug, page, line=place.line, quiet=quiet, json=json)


def _no_such_hit(number: int, answered: bool) -> NotFound:
    if answered:
        return NotFound(
            f"The last answer that a terminal showed has no hit {number}",
            hint="Ask again with a larger --limit, or name the page: gbrain edit SLUG.",
        )
    return NotFound(
        "No terminal has shown an answer to open a hit of",
        hint="Ask first, not in a pipe: gbrain query 'your question'.",
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
    slug: Annotated[str, typer.Argument(metavar="SLUG", help="The page, like people/alice-chen.")],
    template: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What a new page begins with; {{title}}, {{date}} are filled in.",
        ),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Write a page in your editor: one that is there, or a new one."""
    name = slug_of(slug)
    with open_brain(db, make=True) as brain:
        with brain.database.reading() as connection:
            page = pages.find_page(connection, name)
            near = [] if page else pages.nearest_slugs(connection, name)
        if page is None:
            refuse_unread(f"{name}.md")
        start = None if page else _start(name, template)
        if near and not quiet:
            screen.say(f"{name} will be a new page; there is {' and '.join(near)}.")
        _edit(brain, slug, page, start=start, quiet=quiet, json=json)


def _start(slug: str, template: Path | None) -> str:
    """What a new page begins with."""
    words = slug.rpartition("/")[2].replace("-", " ")
    title = words[:1].upper() + words[1:]
    if template is None:
        return f"# {title}\n\n"
    try:
        text = read_input(template).decode()
    except UnicodeDecodeError:
        raise UsageError(f"{template} is not UTF-8", hint="Save it as UTF-8.") from None
    for word, value in (("title", title), ("date", today().isoformat()), ("slug", slug)):
        text = text.replace("{{" + word + "}}", value)
    return text


def _edit(
    brain: Brain,
    name: str,
    page: pages.Stored | None,
    *,
    start: str | None = None,
    line: int | None = None,
    quiet: bool,
    json: bool,
) -> None:
    """Edits a page, or one that begins with `start`, and puts it back if nobody else has."""
    slug = page.slug if page else slug_of(name)
    text = brain.text(slug) if page else start or ""
    if page:
        brain.opened(page.id)
    for earlier in [] if quiet else earlier_drafts(slug, text):
        screen.say(f"An earlier text of {slug} was never put back; it is kept in {earlier}.")
    draft = Draft(slug, text)
    try:
        with heard():
            written = _put_edited(brain, name, page, draft, text, line)
    except HungUp:
        # Kept even if nothing is in it yet: the editor may still be saving, or keep its own there.
        with suppress(OSError):
            screen.say(f"Ended before the editor was: the text of {slug} is kept in {draft.file}.")
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
        if page and page.vault_id is not None and outcome == "updated":
            screen.say(FILE_IS_BEHIND)


def _put_edited(
    brain: Brain, name: str, page: pages.Stored | None, draft: Draft, text: str, line: int | None
) -> Written | None:
    """What the write did; None when nothing was changed. Asks again for a page that is none."""
    while True:
        data = draft.edit(line)
        if data == text.encode():
            return None
        if not data.strip():
            raise UsageError(
                "The text is empty; nothing was written",
                hint=f"gbrain delete {page.slug} removes the page." if page else "Write something.",
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
        list[str] | None, typer.Argument(metavar="[TEXT]", help="The thought; - reads it.")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="SLUG", help="The page; else capture_page.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", metavar="SOURCE", help="Where you know it from.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Keep a thought: a line with today's date in the inbox, or in a page's timeline."""
    from gbrain.text.page import parse_page
    from gbrain.text.timeline import add_entry

    words = _thought(text)
    check_text(source or "")
    day, now = today().isoformat(), timestamp()
    with open_brain(db, make=True) as brain:
        inbox = slug_of(brain.settings.capture_page)
        slug = slug_of(to) if to else inbox
        with brain.database.writing() as connection:
            if slug == inbox and pages.find_page(connection, slug) is None:
                refuse_unread(f"{slug}.md")
                page = add_entry(_start(slug, None), day, words, source)
                written = write_page(connection, parse_page(f"{slug}.md", page.encode()), now)
            else:
                written = add_to_timeline(connection, slug, day, words, source, now)
        tell_added(brain, written, day, json=json, quiet=quiet)


def _thought(text: list[str] | None) -> str:
    """The words on the command line, or those of standard input."""
    if text and text != ["-"]:
        return check_text(" ".join(text))
    if not text and sys.stdin.isatty():
        raise UsageError(
            "There is nothing to capture", hint="For example: gbrain capture 'Call Alice'"
        )
    try:
        return read_input(None).decode()
    except UnicodeDecodeError:
        raise UsageError("The text is not UTF-8", hint="Convert it, with iconv say.") from None
