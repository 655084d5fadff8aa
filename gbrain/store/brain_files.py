"""The brain as a file: check it, build its URI, open it exclusively, and give it its final name."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from errno import EACCES, EINVAL
from pathlib import Path
from stat import S_ISREG
from time import monotonic, sleep

from gbrain import paths
from gbrain.errors import BadBrain, NotFound
from gbrain.store.schema import APPLICATION_ID
from gbrain.store.sqlite_errors import error_name

# How long to wait for a program that has the file open that is to be replaced.
_LOCK_TIMEOUT_SECONDS = 2.0


def place_brain(temporary: Path, path: Path) -> None:
    """Rename a finished temporary file to `path`; raise FileExistsError if that exists."""
    with _lock_folder(path.parent):
        if os.path.lexists(path):
            raise FileExistsError(path)
        _remove_sqlite_files(path)
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:
            # The file system has no hard links.
            temporary.rename(path)


def replace_brain(temporary: Path, path: Path) -> None:
    """Rename a finished temporary file to `path`, replacing a file that no program has open."""
    with _lock_folder(path.parent):
        if path.exists():
            if not path.is_file():
                raise BadBrain(
                    f"{path} is not a file", hint="Choose another path.", code="cannot_write"
                )
            _checkpoint(path)
        _remove_sqlite_files(path)
        temporary.replace(path)


def open_exclusive(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Open the brain so that no other program can use it until the connection is closed.

    Waits up to `busy_seconds`, then raises BadBrain. Other sqlite3 errors are not translated.
    """
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
            # In WAL mode a backup with another page size could not be copied into this file.
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
    """Return the error for a brain that another program has open."""
    return BadBrain(
        f"{path} is open in another program",
        hint="Stop that program first, for example gbrain serve, gbrain sync --watch or sqlite3.",
        code="in_use",
    )


def _checkpoint(path: Path) -> None:
    """Write a file's log into the file, so that no log is left for the file that replaces it."""
    try:
        open_exclusive(path, _LOCK_TIMEOUT_SECONDS).close()
    except sqlite3.OperationalError as error:
        raise BadBrain(
            f"{path} cannot be replaced: {error}",
            hint="Choose another file name.",
            code="cannot_write",
        ) from None
    except sqlite3.DatabaseError:
        # Not a database: no program can have it open, and without it its log is useless.
        path.unlink()


def _remove_sqlite_files(path: Path) -> None:
    """Remove the -wal, -shm and -journal files of a deleted brain: the new one would use them."""
    from gbrain.store.atomic_files import SQLITE_SUFFIXES

    for ending in SQLITE_SUFFIXES:
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{ending}")


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder, so that no other process removes the log of a brain that was just placed."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        # Some file systems cannot lock folders.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def make_brain_folder(folder: Path) -> None:
    """Create the folder for a brain, and its parents, if missing."""
    try:
        paths.make_folder(folder)
    except OSError as error:
        raise BadBrain(
            f"Cannot create the folder {folder}: {error.strerror}",
            hint="Choose another path with --db or $GBRAIN_DB.",
            code="cannot_create",
        ) from None


def connection_uri(path: Path, *, write: bool = True) -> str:
    """Return the URI to connect to the file, for writing or only for reading."""
    if write:
        return f"{file_uri(path)}?mode=rw"
    # A read-only file has no write-ahead log, unless a crash left one.
    log = Path(f"{path}-wal")
    log_left = log.exists() and log.stat().st_size > 0
    return f"{file_uri(path)}?mode=ro" + ("" if log_left else "&immutable=1")


def file_uri(path: Path) -> str:
    """Return the `file:` URI of a path, without query parameters such as `?mode=ro`."""
    plain = str(path)
    for sign in "%?#":
        plain = plain.replace(sign, f"%{ord(sign):02x}")
    # In "//folder" SQLite would read the first folder as a host name.
    return f"file://{plain}" if plain.startswith("/") else f"file:{plain}"


def check_brain_file(path: Path) -> bool:
    """Return whether the file is read-only; raise NotFound or BadBrain if it is not a brain."""
    try:
        known = path.stat()
        if not S_ISREG(known.st_mode):
            raise OSError(EINVAL, "it is not a file")
        if not os.access(path, os.R_OK):
            raise PermissionError(EACCES, os.strerror(EACCES))
    except FileNotFoundError:
        raise NotFound(
            f"There is no brain at {path}",
            hint="gbrain init makes one; gbrain import DIR makes one from a folder of notes.",
            code="no_brain",
        ) from None
    except OSError as error:
        raise BadBrain(
            f"Cannot read {path}: {error.strerror}",
            hint="Check the path and its permissions.",
            code="cannot_read",
        ) from None
    if _application_id(path) not in (APPLICATION_ID, None):
        raise BadBrain(
            f"{path} is not a brain",
            hint="The file was not changed. Choose another one with --db or $GBRAIN_DB.",
            code="not_a_brain",
        )
    return not (known.st_mode & 0o222 and os.access(path, os.W_OK))


def _application_id(path: Path) -> int | None:
    """Return the header's application id; None if unreadable now, 0 if not a database.

    Read through SQLite: closing a file that the process opened itself would release the POSIX locks
    of a brain that it has open.
    """
    with closing(sqlite3.connect(f"{file_uri(path)}?mode=ro&immutable=1", uri=True)) as file:
        try:
            marked: int = file.execute("PRAGMA application_id").fetchone()[0]
        except sqlite3.DatabaseError as error:
            return 0 if error_name(error) == "SQLITE_NOTADB" else None
    return marked
