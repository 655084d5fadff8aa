"""The person's own editor on a text of theirs."""

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
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from gbrain.errors import GbrainError
from gbrain.output.foreground import run_in_front
from gbrain.store.jobs import is_alive

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
            ended = run_in_front(command)
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
        if not maker.isdecimal() or is_alive(int(maker)) or not _is_mine(folder):
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
