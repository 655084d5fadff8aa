"""Giving a finished brain file its name, whatever SQLite left or keeps beside that name."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import BinaryIO

from gbrain.errors import BadBrain, GbrainError
from gbrain.store.connection import locator
from gbrain.store.jobs import is_alive

# How long whoever has the file that is to be replaced may keep it.
_PATIENCE = 2.0


def place(building: Path, path: Path) -> None:
    """Gives a finished file its name; raises FileExistsError if another has it."""
    with _one_at_a_time(path.parent):
        if os.path.lexists(path):
            raise FileExistsError(path)
        _clear_beside(path)
        try:
            os.link(building, path)
        except FileExistsError:
            raise
        except OSError:
            # A file system without hard links.
            building.rename(path)


def take_over(building: Path, path: Path) -> None:
    """Puts a finished file in the place of another, if there is one and nobody has it open."""
    with _one_at_a_time(path.parent):
        if path.exists():
            if not path.is_file():
                raise BadBrain(
                    f"{path} is no file", hint="Name another place.", code="cannot_write"
                )
            _settle(path)
        _clear_beside(path)
        building.replace(path)


def alone(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """A connection that is the only one until it is closed; sqlite3's errors pass through."""
    if not os.access(path, os.W_OK):
        raise BadBrain(f"{path} is read-only", hint="Make it writable.", code="read_only")
    deadline = monotonic() + busy_seconds
    while True:
        connection = sqlite3.connect(locator(path), uri=True, timeout=0.1, isolation_level=None)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
            # Without the write-ahead log, pages of any size can be written.
            connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            connection.close()
            if "locked" not in str(error):
                raise
            if monotonic() >= deadline:
                raise in_use(path) from None
            sleep(0.05)
        except BaseException:
            connection.close()
            raise
        else:
            return connection


def in_use(path: Path) -> BadBrain:
    """The error of a file that another program has open."""
    return BadBrain(
        f"Another program has {path} open",
        hint="End it first: gbrain serve, gbrain sync --watch or an editor of databases.",
        code="in_use",
    )


def _settle(path: Path) -> None:
    """Lets SQLite take a file's log into it, so that none is left for the file that comes next."""
    try:
        alone(path, _PATIENCE).close()
    except sqlite3.OperationalError as error:
        raise BadBrain(
            f"{path} cannot be replaced: {error}", hint="Name another file.", code="cannot_write"
        ) from None
    except sqlite3.DatabaseError:
        # What is no sound database nobody can have open; without it, its log means nothing.
        path.unlink()


def _clear_beside(path: Path) -> None:
    """Removes the log of a file that is not there any more: it would be read into the new one."""
    for ending in BESIDE:
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{ending}")


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Others who give a name in that folder wait: else one could clear the log of a new file."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        # Not every file system knows locks of folders.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


# What SQLite keeps beside a database of its.
BESIDE = ("-journal", "-wal", "-shm")

_UNFINISHED = ".gbrain-new"


def unfinished(target: Path) -> Path:
    """Where this process makes what becomes `target`; what others left of theirs is removed."""
    clear(target.parent)
    return being_made(target)


def being_made(target: Path) -> Path:
    """Where this process makes what becomes `target`."""
    return target.with_name(f".{target.name}.{os.getpid()}{_UNFINISHED}")


def clear(folder: Path) -> None:
    """Removes what nobody is making any more, where that can be done."""
    with suppress(OSError):
        for left in abandoned(folder):
            remove(left)


def abandoned(folder: Path) -> list[Path]:
    """What nobody is making any more: its maker was killed, or is this process, earlier on."""
    return [
        left
        for left in folder.glob(f".*{_UNFINISHED}")
        if (maker := left.name.removesuffix(_UNFINISHED).rpartition(".")[2]).isdecimal()
        and (int(maker) == os.getpid() or not is_alive(int(maker)))
    ]


def remove(building: Path) -> None:
    """Removes an unfinished brain and what SQLite keeps beside it."""
    # Itself last: what is left of it would not be found without it.
    for ending in (*BESIDE, ""):
        with suppress(OSError):
            os.unlink(f"{building}{ending}")


_BOM = b"\xef\xbb\xbf"


@contextmanager
def whole_file(target: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """A file that takes the target's place once all is written; who may use that stays as it is.

    Unless it is `durable`, a loss of power soon after can leave it empty. A new file is as readable
    to others as the user's umask has it, and never theirs to write. Raises FileExistsError for a
    target that is no file: a link, a pipe, a device. What others left unfinished in the folder is
    the caller's to clear.
    """
    mode = _mode_of(target)
    # Not named after the target: its name may be as long as a name can be.
    building = being_made(target.with_name("file"))
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


def write_drawing(target: Path, text: str) -> None:
    """Writes a page for a browser or a picture; raises GbrainError where that cannot be."""
    refuse_others(target)
    clear(target.parent)
    try:
        with whole_file(target) as file:
            file.write(text.encode())
    except OSError as error:
        raise _cannot_write(target, error.strerror) from None


def refuse_others(target: Path) -> None:
    """Raises GbrainError unless what is there is such a file too: a brain is worth more."""
    if target.name.endswith(BESIDE):
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
