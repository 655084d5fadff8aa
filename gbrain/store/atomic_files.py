"""Giving a finished brain file its name, whatever SQLite left or keeps beside that name."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from gbrain.errors import GbrainError

# What SQLite keeps beside a database of its.
SQLITE_SUFFIXES = ("-journal", "-wal", "-shm")

_UNFINISHED = ".gbrain-new"


def new_temporary_path(target: Path) -> Path:
    """Where this process makes what becomes `target`; what others left of theirs is removed."""
    remove_leftovers(target.parent)
    return temporary_path(target)


def temporary_path(target: Path) -> Path:
    """Where this process makes what becomes `target`."""
    return target.with_name(f".{target.name}.{os.getpid()}{_UNFINISHED}")


def remove_leftovers(folder: Path) -> None:
    """Removes what nobody is making any more, where that can be done."""
    with suppress(OSError):
        for left in find_leftovers(folder):
            remove_temporary(left)


def find_leftovers(folder: Path) -> list[Path]:
    """What nobody is making any more: its maker was killed, or is this process, earlier on."""
    return [
        left
        for left in folder.glob(f".*{_UNFINISHED}")
        if (maker := left.name.removesuffix(_UNFINISHED).rpartition(".")[2]).isdecimal()
        and (int(maker) == os.getpid() or not process_is_alive(int(maker)))
    ]


def remove_temporary(building: Path) -> None:
    """Removes an unfinished brain and what SQLite keeps beside it."""
    # Itself last: what is left of it would not be found without it.
    for ending in (*SQLITE_SUFFIXES, ""):
        with suppress(OSError):
            os.unlink(f"{building}{ending}")


_BOM = b"\xef\xbb\xbf"


@contextmanager
def atomic_write(target: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """A file that takes the target's place once all is written; who may use that stays as it is.

    Unless it is `durable`, a loss of power soon after can leave it empty. A new file is as readable
    to others as the user's umask has it, and never theirs to write. Raises FileExistsError for a
    target that is no file: a link, a pipe, a device. What others left unfinished in the folder is
    the caller's to clear.
    """
    mode = _mode_of(target)
    # Not named after the target: its name may be as long as a name can be.
    building = temporary_path(target.with_name("file"))
    try:
        # Exclusively: what somebody else puts there, a link above all, is never written to.
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
    """Who may use the file that is there; None if none is."""
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise FileExistsError(0, "something that is no file has this name", str(target))
    return mode & 0o777


def write_markup(target: Path, text: str) -> None:
    """Writes a page for a browser or a picture; raises GbrainError where that cannot be."""
    check_markup_target(target)
    remove_leftovers(target.parent)
    try:
        with atomic_write(target) as file:
            file.write(text.encode())
    except OSError as error:
        raise _cannot_write(target, error.strerror) from None


def check_markup_target(target: Path) -> None:
    """Raises GbrainError unless what is there is such a file too: a brain is worth more."""
    if target.name.endswith(SQLITE_SUFFIXES):
        raise _cannot_write(target, "this is a name for a part of a brain")
    try:
        if _mode_of(target) is None:
            return
        with target.open("rb") as file:
            start = file.read(1000).removeprefix(_BOM).lstrip()
    except OSError as error:
        raise _cannot_write(target, error.strerror) from None
    if start and not start.startswith(b"<"):
        raise _cannot_write(target, "a file with something else in it is there")


def _cannot_write(target: Path, reason: str | None) -> GbrainError:
    return GbrainError(
        f"Cannot write {target}: {reason}", hint="Name another file.", code="cannot_write"
    )


def process_is_alive(pid: int) -> bool:
    """Whether there is a process with this number, on this machine."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
