"""Run the user's editor on a temporary file, and find drafts that were never written back."""

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
from gbrain.output.screen import run_in_foreground

_DEFAULT_EDITORS = ("vi", "nano")
_EDITORS_WITH_LINE_OPTION = (
    "vi",
    "vim",
    "nvim",
    "nano",
    "emacs",
    "emacsclient",
    "micro",
    "kak",
    "joe",
    "mg",
)
_EDITORS_THAT_NEED_WAIT = ("code", "code-insiders", "codium", "cursor", "subl", "zed")


def editor_command(environment: Mapping[str, str], *, at_terminal: bool) -> list[str]:
    """Return the command of the editor: $VISUAL, else $EDITOR, else vi or nano at a terminal.

    Raises GbrainError if there is none.
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
    usual = [name for name in _DEFAULT_EDITORS if shutil.which(name)] if at_terminal else []
    if not usual:
        raise GbrainError("No editor is set", hint="Set one: export EDITOR=nano", code="no_editor")
    return usual[:1]


def editor_arguments(command: list[str], file: Path, line: int | None) -> list[str]:
    """Return the command with the file, the line and the option to wait where they apply."""
    name = Path(command[0]).name
    words = list(command)
    if name in _EDITORS_THAT_NEED_WAIT and not {"-w", "--wait"} & set(words):
        words.append("--wait")
    if line and name in _EDITORS_WITH_LINE_OPTION:
        words.append(f"+{line}")
    return [*words, str(file)]


class Draft:
    """A page's text in a temporary file that only its owner can read, while it is edited."""

    def __init__(self, name: str, text: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=_prefix(name)))
        self._lock = _lock_folder(self._folder)
        self.file = self._folder / f"{_file_name(name)}.md"
        try:
            handle = os.open(self.file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with open(handle, "wb") as file:
                file.write(text.encode())
        except OSError:
            self.discard()
            raise

    def edit(self, line: int | None = None) -> bytes:
        """Run the editor and return the content of the file; raise GbrainError if that fails."""
        at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        command = editor_arguments(
            editor_command(os.environ, at_terminal=at_terminal), self.file, line
        )
        try:
            exit_code = run_in_foreground(command)
        except OSError as error:
            raise GbrainError(
                f"Cannot start {command[0]}: {error.strerror}",
                hint="Set another editor: export EDITOR=nano",
                code="no_editor",
            ) from None
        if exit_code:
            raise GbrainError(
                f"{command[0]} ended with code {exit_code}; nothing was written",
                code="editor_failed",
                hint="Save and quit the editor normally to write the page.",
            )  # fmt: skip
        try:
            return self.file.read_bytes()
        except OSError as error:
            raise GbrainError(
                f"The edited text cannot be read: {error.strerror}",
                hint="Save the text to the same file.",
                code="editor_failed",
            ) from None

    def changed_from(self, text: str) -> bool:
        """Return whether the file has text, and other text than `text`."""
        try:
            data = self.file.read_bytes()
        except OSError:
            return False
        return bool(data.strip()) and data != text.encode()

    def discard(self) -> None:
        """Delete the file."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self.close()

    def close(self) -> None:
        """Leave the file to `abandoned_drafts`."""
        if self._lock is not None:
            os.close(self._lock)
        self._lock = None


class EditorHangup(SystemExit):
    """SIGHUP or SIGTERM arrived while an editor was open."""


@contextmanager
def raise_on_hangup() -> Iterator[None]:
    """Raise EditorHangup in the block on SIGHUP or SIGTERM."""

    def end(number: int, frame: object) -> NoReturn:
        raise EditorHangup(128 + number)

    names = [name for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), end) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def abandoned_drafts(name: str, text: str) -> list[Path]:
    """Return drafts of the page that no running program edits; delete those equal to `text`."""
    found = []
    for folder in Path(tempfile.gettempdir()).glob(f"{_prefix(name)}*"):
        if not _is_mine(folder):
            continue
        lock = _lock_folder(folder)
        if lock is None:
            continue
        os.close(lock)
        files = [file for file in folder.iterdir() if not file.is_symlink() and file.is_file()]
        if all(
            file.stat().st_size == len(text.encode()) and file.read_bytes() == text.encode()
            for file in files
        ):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            found += files
    return sorted(found)


def _lock_folder(folder: Path) -> int | None:
    """Lock a draft's folder until the returned handle is closed; None if it is locked already.

    Process ids would not do: two containers that share a folder for temporary files have the same.
    """
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _is_mine(folder: Path) -> bool:
    """Return whether this user owns the folder: anybody can write to its parent."""
    status = folder.lstat()
    own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return own and stat.S_ISDIR(status.st_mode)


def _prefix(name: str) -> str:
    return f"gbrain-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}-"


def _file_name(slug: str) -> str:
    # A crafted brain may contain any slug, and some editors interpret special characters in names.
    name = re.sub(r"[^\w.-]", "-", slug.rpartition("/")[2]).lstrip(".-")
    return name.encode()[:100].decode(errors="ignore") or "page"
