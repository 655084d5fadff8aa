"""`open edit capture`: pages in one's own editor, and a thought kept in passing."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from gbrain.brain import Brain, timestamp
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain, read_input, today
from gbrain.cli.timeline import FILE_IS_BEHIND, check_text, tell_added
from gbrain.errors import BadPage, GbrainError, NotFound, UsageError
from gbrain.importing.scan import refuse_skipped_path
from gbrain.output import screen
from gbrain.output.foreground import run_in_foreground
from gbrain.store import pages, usage_log
from gbrain.store.atomic_files import process_is_alive
from gbrain.store.page_writer import WriteResult, write_page
from gbrain.store.timeline import add_timeline_entry
from gbrain.text.slug import slug_from_path

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
        with brain.database.read_transaction() as connection:
            place = usage_log.find_last_hit(connection, number)
            if place is None:
                raise _no_such_hit(number, usage_log.find_last_hit(connection, 1) is not None)
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
    name = slug_from_path(slug)
    with open_brain(db, make=True) as brain:
        with brain.database.read_transaction() as connection:
            page = pages.find_page(connection, name)
            near = [] if page else pages.nearest_slugs(connection, name)
        if page is None:
            refuse_skipped_path(f"{name}.md")
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
    page: pages.StoredPage | None,
    *,
    start: str | None = None,
    line: int | None = None,
    quiet: bool,
    json: bool,
) -> None:
    """Edits a page, or one that begins with `start`, and puts it back if nobody else has."""
    slug = page.slug if page else slug_from_path(name)
    text = brain.text(slug) if page else start or ""
    if page:
        brain.record_open(page.id)
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
        if page and page.folder_id is not None and outcome == "updated":
            screen.say(FILE_IS_BEHIND)


def _put_edited(
    brain: Brain,
    name: str,
    page: pages.StoredPage | None,
    draft: Draft,
    text: str,
    line: int | None,
) -> WriteResult | None:
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
        inbox = slug_from_path(brain.settings.capture_page)
        slug = slug_from_path(to) if to else inbox
        with brain.database.write_transaction() as connection:
            if slug == inbox and pages.find_page(connection, slug) is None:
                refuse_skipped_path(f"{slug}.md")
                page = add_entry(_start(slug, None), day, words, source)
                written = write_page(connection, parse_page(f"{slug}.md", page.encode()), now)
            else:
                written = add_timeline_entry(connection, slug, day, words, source, now)
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


_DEFAULTS = ("vi", "nano")
_TAKES_LINE = ("vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "mg")
_RETURNS_AT_ONCE = ("code", "code-insiders", "codium", "cursor", "subl", "zed")


def editor_command(environment: Mapping[str, str], *, at_terminal: bool) -> list[str]:
    """The words that start the editor: $VISUAL, else $EDITOR, else a usual one at a terminal.

    Raises GbrainError when there is none.
    """
    for name in ("VISUAL", "EDITOR"):
        written = environment.get(name, "").strip()
        if written:
            try:
                return shlex.split(written)
            except ValueError as error:
                raise GbrainError(
                    f"${name} cannot be read: {error}", hint=f"For example: export {name}=nano",
                    code="no_editor",
                ) from None  # fmt: skip
    usual = [name for name in _DEFAULTS if shutil.which(name)] if at_terminal else []
    if not usual:
        raise GbrainError("No editor is set", hint="Name one: export EDITOR=nano", code="no_editor")
    return usual[:1]


def with_place(command: list[str], file: Path, line: int | None) -> list[str]:
    """The whole call: waits until the person is done, and begins on `line` where that is known."""
    name = Path(command[0]).name
    words = list(command)
    if name in _RETURNS_AT_ONCE and not {"-w", "--wait"} & set(words):
        words.append("--wait")
    if line and name in _TAKES_LINE:
        words.append(f"+{line}")
    return [*words, str(file)]


class Draft:
    """A text in a file that only its owner can read, while it is being edited."""

    def __init__(self, name: str, text: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_prefix(name)}{os.getpid()}-"))
        self.file = self._folder / f"{_file_name(name)}.md"
        try:
            handle = os.open(self.file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with open(handle, "wb") as file:
                file.write(text.encode())
        except OSError:
            self.discard()
            raise

    def edit(self, line: int | None = None) -> bytes:
        """Runs the editor and gives what the file holds then; raises when it cannot or fails."""
        at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        command = with_place(editor_command(os.environ, at_terminal=at_terminal), self.file, line)
        try:
            ended = run_in_foreground(command)
        except OSError as error:
            raise GbrainError(
                f"Cannot start {command[0]}: {error.strerror}",
                hint="$VISUAL and $EDITOR name the editor: export EDITOR=nano",
                code="no_editor",
            ) from None
        if ended:
            raise GbrainError(
                f"{command[0]} ended with code {ended}; nothing was written", code="editor_failed",
                hint="Leave the editor in its usual way to write the page.",
            )  # fmt: skip
        try:
            return self.file.read_bytes()
        except OSError as error:
            raise GbrainError(
                f"The edited text cannot be read: {error.strerror}",
                hint="Save to the same file.",
                code="editor_failed",
            ) from None

    def changed_from(self, text: str) -> bool:
        """Whether the file holds words that `text` does not."""
        try:
            data = self.file.read_bytes()
        except OSError:
            return False
        return bool(data.strip()) and data != text.encode()

    def discard(self) -> None:
        """Removes the file; one that is worth keeping is simply not discarded."""
        shutil.rmtree(self._folder, ignore_errors=True)


class HungUp(SystemExit):
    """The terminal was closed or the program told to end while an editor was open."""


@contextmanager
def heard() -> Iterator[None]:
    """Within it, being told to end raises HungUp: there is time to say where a text is."""

    def end(number: int, frame: object) -> NoReturn:
        raise HungUp(128 + number)

    names = [name for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), end) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def earlier_drafts(name: str, text: str) -> list[Path]:
    """Texts of the page that nobody edits any more and that were never put back."""
    found = []
    for folder in Path(tempfile.gettempdir()).glob(f"{_prefix(name)}*-*"):
        maker = folder.name.removeprefix(_prefix(name)).partition("-")[0]
        if not maker.isdecimal() or process_is_alive(int(maker)) or not _is_mine(folder):
            continue
        files = [file for file in folder.iterdir() if not file.is_symlink() and file.is_file()]
        if all(
            file.stat().st_size == len(text.encode()) and file.read_bytes() == text.encode()
            for file in files
        ):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            found += files
    return sorted(found)


def _is_mine(folder: Path) -> bool:
    """Whether nobody else can have put something there: the folder above is everybody's."""
    status = folder.lstat()
    own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return own and stat.S_ISDIR(status.st_mode)


def _prefix(name: str) -> str:
    return f"gbrain-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}-"


def _file_name(slug: str) -> str:
    # The slug of a crafted brain may hold anything, and some editors read more than a name in it.
    name = re.sub(r"[^\w.-]", "-", slug.rpartition("/")[2]).lstrip(".-")
    return name.encode()[:100].decode(errors="ignore") or "page"
