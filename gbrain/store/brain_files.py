"""Give a finished brain file its name, and open one so that no other program has it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

from gbrain.errors import BadBrain
from gbrain.store.atomic_files import SQLITE_SUFFIXES
from gbrain.store.connection import connection_uri

# How long whoever has the file that is to be replaced may keep it.
_PATIENCE = 2.0


def place_brain(building: Path, path: Path) -> None:
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


def replace_brain(building: Path, path: Path) -> None:
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


def open_exclusive(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """A connection that is the only one until it is closed; sqlite3's errors pass through."""
    if not os.access(path, os.W_OK):
        raise BadBrain(f"{path} is read-only", hint="Make it writable.", code="read_only")
    deadline = monotonic() + busy_seconds
    while True:
        connection = sqlite3.connect(
            connection_uri(path), uri=True, timeout=0.1, isolation_level=None
        )
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
                raise in_use_error(path) from None
            sleep(0.05)
        except BaseException:
            connection.close()
            raise
        else:
            return connection


def in_use_error(path: Path) -> BadBrain:
    """The error of a file that another program has open."""
    return BadBrain(
        f"Another program has {path} open",
        hint="End it first: gbrain serve, gbrain sync --watch or an editor of databases.",
        code="in_use",
    )


def _settle(path: Path) -> None:
    """Lets SQLite take a file's log into it, so that none is left for the file that comes next."""
    try:
        open_exclusive(path, _PATIENCE).close()
    except sqlite3.OperationalError as error:
        raise BadBrain(
            f"{path} cannot be replaced: {error}", hint="Name another file.", code="cannot_write"
        ) from None
    except sqlite3.DatabaseError:
        # What is no sound database nobody can have open; without it, its log means nothing.
        path.unlink()


def _clear_beside(path: Path) -> None:
    """Removes the log of a file that is not there any more: it would be read into the new one."""
    for ending in SQLITE_SUFFIXES:
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
