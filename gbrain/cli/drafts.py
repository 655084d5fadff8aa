"""Keep text that is not in the brain yet: while it is edited, and when a command fails."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, NoReturn

from gbrain.errors import GbrainError
from gbrain.paths import make_folder, state_folder

# Of a stream that never ends.
_MAX_KEPT_BYTES = 1_000_000_000
_READ_BYTES = 1 << 20
# Commands that a shared brain may fail before they have read their text.
_WITH_TEXT = ("put", "capture", "timeline-add", "import", "resolve")


class Draft:
    """A text in a separate file that only its owner can read.

    While it is edited it is with other temporary files; otherwise where no restart deletes it.
    """

    def __init__(self, name: str, data: bytes, *, edited: bool = False) -> None:
        reason: Exception = FileNotFoundError("there is no folder for drafts")
        for parent in _draft_folders(edited=edited):
            try:
                self._create(parent, name, data)
                return
            except (OSError, GbrainError) as error:
                # It cannot be created, or its file system is read-only or full.
                reason = error
        raise reason

    def _create(self, parent: str, name: str, data: bytes) -> None:
        make_folder(Path(parent))
        self._folder = Path(tempfile.mkdtemp(prefix=_prefix(name), dir=parent))
        self._lock = _lock_folder(self._folder)
        self.file = self._folder / f"{_file_name(name)}.md"
        try:
            handle = os.open(self.file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with open(handle, "wb") as file:
                file.write(data)
        except OSError:
            self.discard()
            raise

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


class Hangup(SystemExit):
    """SIGHUP or SIGTERM arrived while there was text that was not in the brain yet."""


@contextmanager
def raise_on_hangup() -> Iterator[None]:
    """Raise Hangup in the block on SIGHUP or SIGTERM."""

    def end(number: int, frame: object) -> NoReturn:
        raise Hangup(128 + number)

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
    for parent in {*_draft_folders(edited=True)}:
        for folder in Path(parent).glob(f"{_prefix(name)}*"):
            found += _abandoned_files(folder, text.encode())
    return sorted(found)


def _abandoned_files(folder: Path, text: bytes) -> list[Path]:
    lock = _lock_folder(folder) if _is_mine(folder) else None
    if lock is None:
        return []
    os.close(lock)
    files = [file for file in folder.iterdir() if not file.is_symlink() and file.is_file()]
    if all(file.stat().st_size == len(text) and file.read_bytes() == text for file in files):
        shutil.rmtree(folder, ignore_errors=True)
        return []
    return files


# --- commands that fail ----------------------------------------------------------------------


class KeptText(str):
    """A note of an exception that says where the text of a command is."""


def add_note(error: BaseException, note: str) -> None:
    """Let the message of an error say where the text is; say it at once if there is none."""
    if isinstance(error, Exception):
        error.add_note(KeptText(note))
    else:
        from gbrain.output.screen import say

        say(note)


@contextmanager
def keep_text(name: str, data: bytes) -> Iterator[None]:
    """Write `data` to a draft if the block fails; the error names its file."""
    try:
        with raise_on_hangup():
            yield
    except BaseException as error:
        if data.strip():
            add_note(error, _keep(name, data))
        raise


def _keep(name: str, data: bytes) -> str:
    """Return what to say about the text, which is in a file or, as a last resort, in the note."""
    try:
        draft = Draft(name, data)
    except (OSError, GbrainError):
        return f"Your text could not be kept in a file; it is: {data.decode(errors='replace')}"
    draft.close()
    return f"Your text is kept in {draft.file}."


def keep_rest(error: Exception, read: bytes, source: BinaryIO) -> None:
    """Write what was read of a stream and its rest to a draft; the error names its file."""
    try:
        draft = Draft("standard input", read)
        with draft.file.open("ab") as file:
            while file.tell() < _MAX_KEPT_BYTES and (data := source.read(_READ_BYTES)):
                file.write(data)
            full = file.tell() >= _MAX_KEPT_BYTES
    except (OSError, GbrainError):
        add_note(error, "Your text could not be kept in a file: there is no space for it.")
        return
    draft.close()
    first = f"The first {_MAX_KEPT_BYTES:,} bytes of your text are" if full else "Your text is"
    add_note(error, f"{first} kept in {draft.file}.")


class KeptStream:
    """A stream of lines that are written to a draft as they are read."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._draft: Draft | None = None
        self._file: BinaryIO | None = None
        with suppress(OSError, GbrainError):
            draft = Draft("standard input", b"")
            self._draft, self._file = draft, draft.file.open("ab", buffering=0)

    def readline(self, limit: int = -1) -> bytes:
        """Return the next line of at most `limit` bytes."""
        line = self._source.readline(limit)
        self._write(line)
        return line

    def keep(self) -> str:
        """Keep what was read and the rest of the stream; return what to say about it."""
        while self._file and (data := self._source.read(_READ_BYTES)):
            self._write(data)
        if self._file is None or self._draft is None:
            return "Your text could not be kept in a file: there is no space for it."
        self._file.close()
        self._draft.close()
        self._file = None
        return f"Your text is kept in {self._draft.file}."

    def discard(self) -> None:
        """Delete the draft, unless it is kept."""
        if self._file and self._draft:
            self._file.close()
            self._draft.discard()
        self._file = None

    def _write(self, data: bytes) -> None:
        try:
            if self._file:
                self._file.write(data)
        except OSError:
            # The import needs no copy.
            self.discard()


@contextmanager
def keep_stream(source: BinaryIO) -> Iterator[KeptStream]:
    """Write what is read of a stream to a draft that stays if the block fails."""
    stream = KeptStream(source)
    try:
        with raise_on_hangup():
            yield stream
    except BaseException as error:
        add_note(error, stream.keep())
        raise
    stream.discard()


def keep_unread(error: Exception, words: Sequence[str]) -> None:
    """Keep the text of a command with words that it does not understand."""
    command = next((word for word in words if not word.startswith("-")), "")
    keep_command(error, words, command, wait=False)


def keep_command(
    error: Exception, words: Sequence[str], command: str, *, wait: bool = True
) -> None:
    """Keep the text of a command that fails before it reads its arguments or standard input.

    Without `wait` only input that is there already is kept: its words are in the shell's history.
    """
    if command not in _WITH_TEXT or sys.stdin is None:
        return
    reads = not sys.stdin.isatty() and (wait or _has_input())
    if reads and (data := sys.stdin.buffer.read(_READ_BYTES)):
        keep_rest(error, data, sys.stdin.buffer)
    elif wait and command in ("capture", "timeline-add"):
        import shlex

        line = shlex.join(["gbrain", *_without_brain(words)])
        add_note(error, _keep(command, f"{line}\n".encode()))


def _has_input() -> bool:
    """Tell whether standard input can be read without waiting, or is at its end."""
    from select import select

    try:
        return bool(select([sys.stdin], [], [], 0)[0])
    except (OSError, ValueError):
        return False


def _without_brain(words: Sequence[str]) -> list[str]:
    """Return a command line without --db, whose URL may contain a password."""
    return [
        word
        for before, word in zip(("", *words), words, strict=False)
        if before != "--db" and word != "--db" and not word.startswith("--db=")
    ]


# --- folders ---------------------------------------------------------------------------------


def _draft_folders(*, edited: bool) -> list[str]:
    """Return where a draft may be, best first.

    Not the folder of the command: it may be shared, or under version control.
    """
    found = []
    with suppress(GbrainError):
        found.append(str(state_folder() / "drafts"))
    with suppress(OSError):
        found.insert(0 if edited else len(found), tempfile.gettempdir())
    return found


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
