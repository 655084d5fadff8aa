"""Write files atomically: under a temporary name that is renamed to the target at the end."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from gbrain.errors import GbrainError

# Files that SQLite keeps next to a database.
SQLITE_SUFFIXES = ("-journal", "-wal", "-shm")

_UNFINISHED = ".gbrain-new"


def new_temporary_path(target: Path) -> Path:
    """Return the temporary path for `target`, after removing leftovers of killed processes."""
    remove_leftovers(target.parent)
    return temporary_path(target)


def temporary_path(target: Path) -> Path:
    """Return the path under which this process writes `target`, in the same folder."""
    return target.with_name(f".{target.name}.{os.getpid()}{_UNFINISHED}")


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of ended processes; ignore those that cannot be removed."""
    with suppress(OSError):
        for left in find_leftovers(folder):
            remove_temporary(left)


def find_leftovers(folder: Path) -> list[Path]:
    """Return the temporary files in a folder that no running process is writing.

    Files of this process count too: they are from an earlier write that failed.
    """
    return [
        left
        for left in folder.glob(f".*{_UNFINISHED}")
        if (maker := left.name.removesuffix(_UNFINISHED).rpartition(".")[2]).isdecimal()
        and (int(maker) == os.getpid() or not process_is_alive(int(maker)))
    ]


def remove_temporary(building: Path) -> None:
    """Remove a temporary file and the files that SQLite keeps next to it."""
    # The database last: find_leftovers finds the other files only through it.
    for ending in (*SQLITE_SUFFIXES, ""):
        with suppress(OSError):
            os.unlink(f"{building}{ending}")


_BOM = b"\xef\xbb\xbf"


@contextmanager
def atomic_write(target: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Yield a file that replaces `target` when the block ends without an error.

    The target keeps its permissions; a new file gets those of the user's umask, never writable by
    others. Without `durable`, a power loss soon after may leave the file empty. Raises
    FileExistsError if the target is a link, pipe or device. The caller removes leftovers in the
    folder.
    """
    mode = _mode_of(target)
    # Not named after the target, whose name may already have the maximum length.
    building = temporary_path(target.with_name("file"))
    try:
        # Exclusive: never write through a link that somebody else put there.
        handle = os.open(
            building, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644 if mode is None else mode
        )
        with open(handle, "wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if mode is not None:
            os.chmod(building, mode)
        building.replace(target)
    finally:
        building.unlink(missing_ok=True)


def _mode_of(target: Path) -> int | None:
    """Return the permission bits of the target; None if it does not exist."""
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise FileExistsError(0, "it is not a regular file", str(target))
    return mode & 0o777


def write_markup(target: Path, text: str) -> None:
    """Write an HTML or SVG file atomically; raise GbrainError if that is not possible."""
    check_markup_target(target)
    remove_leftovers(target.parent)
    try:
        with atomic_write(target) as file:
            file.write(text.encode())
    except OSError as error:
        raise _cannot_write(target, error.strerror) from None


def check_markup_target(target: Path) -> None:
    """Raise GbrainError if the target exists and is not HTML or SVG: it might be a brain."""
    if target.name.endswith(SQLITE_SUFFIXES):
        raise _cannot_write(target, "SQLite uses this name for a part of a brain")
    try:
        if _mode_of(target) is None:
            return
        with target.open("rb") as file:
            start = file.read(1000).removeprefix(_BOM).lstrip()
    except OSError as error:
        raise _cannot_write(target, error.strerror) from None
    if start and not start.startswith(b"<"):
        raise _cannot_write(target, "the file exists and is not HTML or SVG")


def _cannot_write(target: Path, reason: str | None) -> GbrainError:
    return GbrainError(
        f"Cannot write {target}: {reason}", hint="Choose another file name.", code="cannot_write"
    )


def process_is_alive(pid: int) -> bool:
    """Return whether a process with this id runs on this machine."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
