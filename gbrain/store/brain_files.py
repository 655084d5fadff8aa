"""The brain as a file: check it, build its URI, open it exclusively, and give it its final name."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from errno import EACCES, EINVAL
from pathlib import Path
from stat import S_ISREG
from time import monotonic, sleep
from typing import NamedTuple

from gbrain.errors import BadBrain, NotFound
from gbrain.store.atomic_files import (
    SQLITE_SUFFIXES,
    TemporaryFile,
    flush_folder,
    is_open_here,
    make_durable_folder,
    remove_second_names,
)
from gbrain.store.schema import APPLICATION_ID, SCHEMA_VERSION
from gbrain.store.sqlite_errors import error_name

# How long to wait for a program that has the file open that is to be replaced.
_LOCK_TIMEOUT_SECONDS = 2.0
_ORPHANED = ".orphaned-"
# UNIX_SHM_DMS in SQLite's os_unix.c.
_SHARED_MEMORY_LOCK_BYTE = 128


class FileStamp(NamedTuple):
    """Device, inode, size and times of a brain file; `logs` are those of its -wal and -journal."""

    file: tuple[int, ...] | None
    logs: tuple[tuple[int, ...] | None, tuple[int, ...] | None]


def place_brain(temporary: TemporaryFile, path: Path) -> None:
    """Give a finished temporary file the name `path`; raise FileExistsError if that exists."""
    with _lock_folder(path.parent):
        if os.path.lexists(path):
            raise FileExistsError(path)
        _set_logs_aside(path)
        temporary.place(path)


def needs_upgrade(path: Path) -> bool:
    """Return whether the file is a brain of an older version; False if it cannot be read."""
    # Opening a named pipe would wait for its other end.
    header = _read_header(path) if os.path.isfile(path) else None
    return header is not None and header[0] == APPLICATION_ID and header[1] < SCHEMA_VERSION


def rename_brain(old: Path, path: Path) -> None:
    """Give a brain that no program has open the name `path`; raise FileExistsError if that exists.

    Its log is written into the file first.
    """
    open_exclusive(old, _LOCK_TIMEOUT_SECONDS).close()
    with _lock_folder(path.parent):
        if os.path.lexists(path):
            raise FileExistsError(path)
        _set_logs_aside(path)
        os.rename(old, path)
    flush_folder(path.parent)


def replace_brain(temporary: TemporaryFile, path: Path) -> None:
    """Give a finished temporary file the name `path`, replacing a file that no program has open."""
    held: sqlite3.Connection | None = None
    with _lock_folder(path.parent), ExitStack() as stack:
        if path.exists():
            if not path.is_file():
                raise BadBrain(
                    f"{path} is not a file", hint="Choose another path.", code="cannot_write"
                )
            # Held until the file is replaced, so that no program opens it meanwhile.
            held = _checkpoint(path)
            if held and os.name != "nt":
                stack.enter_context(closing(held))
            elif held:
                held.close()
        if held:
            # Its log is in the file, and the journal of a lock that is held contains nothing.
            for ending in SQLITE_SUFFIXES:
                with suppress(FileNotFoundError):
                    os.unlink(f"{path}{ending}")
        else:
            _set_logs_aside(path)
        temporary.replace(path)


def open_exclusive(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Open the brain so that no other program can use it until the connection is closed.

    Waits up to `busy_seconds`, then raises BadBrain. Other sqlite3 errors are not translated.
    """
    if not os.access(path, os.W_OK):
        raise BadBrain(f"{path} is read-only", hint="Make it writable.", code="read_only")
    deadline = monotonic() + busy_seconds
    while True:
        connection = sqlite3.connect(writing_uri(path), uri=True, timeout=0.1, isolation_level=None)
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


def refuse_hard_links(path: Path) -> None:
    """Raise BadBrain if the file has a second name: SQLite keeps a separate log for each.

    A new brain has two names for an instant, which a power loss may make longer: the temporary one
    is removed.
    """
    if not _has_hard_links(path):
        return
    remove_second_names(path)
    if not _has_hard_links(path):
        return
    raise BadBrain(
        f"{path} has several names (hard links), and writing to one would corrupt the others",
        hint="Make a copy with gbrain backup FILE and use that, or delete the other names.",
        code="hard_link",
    )


def _has_hard_links(path: Path) -> bool:
    try:
        return os.stat(path).st_nlink > 1
    except OSError:
        return False


def _checkpoint(path: Path) -> sqlite3.Connection | None:
    """Write a file's log into the file and return it open; None if it is not a database."""
    try:
        return open_exclusive(path, _LOCK_TIMEOUT_SECONDS)
    except sqlite3.OperationalError as error:
        raise BadBrain(
            f"{path} cannot be replaced: {error}",
            hint="Choose another file name.",
            code="cannot_write",
        ) from None
    except sqlite3.DatabaseError:
        return None


def find_orphaned_logs(path: Path) -> list[Path]:
    """Return the logs that were found at the name of a new brain and set aside."""
    folder = path.parent.iterdir() if path.parent.is_dir() else ()
    return sorted(file for file in folder if file.name.startswith(path.name + _ORPHANED))


def _set_logs_aside(path: Path) -> None:
    """Rename the logs of a brain that was moved or deleted: a new brain would use them.

    They may be the only copy of what was written last. Raises BadBrain if a program has them open.
    """
    logs = [log for log in (f"{path}-wal", f"{path}-journal") if os.path.lexists(log)]
    shared = f"{path}-shm"
    if os.path.lexists(shared) and _is_open_anywhere(shared):
        raise BadBrain(
            f"Another program still uses the brain that was moved away from {path}",
            hint="Stop that program first, for example gbrain serve, then move the brain back.",
            code="in_use",
        )
    for log in logs:
        if os.lstat(log).st_size:
            os.rename(log, _orphaned_name(path, log))
        else:
            os.unlink(log)
    with suppress(FileNotFoundError):
        os.unlink(shared)


def _orphaned_name(path: Path, log: str) -> Path:
    ending = log.rpartition("-")[2]
    names = (f"{path.name}{_ORPHANED}{ending}{number}" for number in ("", *range(2, 1000)))
    return next(path.with_name(name) for name in names if not os.path.lexists(path.parent / name))


def _is_open_anywhere(shared: str) -> bool:
    """Return whether SQLite has a -shm file open, in this process or another."""
    if is_open_here(Path(shared)):
        return True
    try:
        import fcntl
    except ImportError:
        return False
    # Each connection has a shared lock on this byte. Closing the file would release the locks of
    # this process, which has none here.
    try:
        with open(shared, "r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _SHARED_MEMORY_LOCK_BYTE)
    except OSError:
        return True
    return False


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


@contextmanager
def exclusive_lock(file: Path) -> Iterator[None]:
    """Wait until no other process holds the lock of this name; the file is removed afterwards."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    try:
        handle = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise BadBrain(
            f"Cannot create {file}: {error.strerror}",
            hint="Choose another path.",
            code="cannot_create",
        ) from None
    # Some file systems have no locks.
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX)
        # The previous holder of the lock may have removed the file: then this lock has no effect.
        while not _has_name(handle, file):
            newer = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)
            os.close(handle)
            handle = newer
            fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(file)
        os.close(handle)


def _has_name(handle: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(file))
    except FileNotFoundError:
        return False


def make_brain_folder(folder: Path) -> None:
    """Create the folder for a brain, and its parents, if missing."""
    try:
        make_durable_folder(folder)
    except OSError as error:
        raise BadBrain(
            f"Cannot create the folder {folder}: {error.strerror}",
            hint="Choose another path with --db or $GBRAIN_DB.",
            code="cannot_create",
        ) from None


def writing_uri(path: Path) -> str:
    """Return the URI to connect to a brain for writing."""
    return f"{file_uri(path)}?mode=rw"


def reading_uri(path: Path) -> tuple[str, FileStamp | None]:
    """Return the URI to read a brain that this user cannot write, and its stamp.

    Without a log nobody has the brain open, and SQLite could not create one: the file is opened as
    immutable, without locks. Then whoever reads must compare the stamp afterwards. If there is a
    log, SQLite's locks protect the reader and the stamp is None.
    """
    stamp = file_stamp(path)
    log, journal = stamp.logs
    # An empty log is in use only if a program has created the -shm file with it.
    if journal or (log and (log[2] or os.path.lexists(f"{path}-shm"))):
        return f"{file_uri(path)}?mode=ro", None
    return f"{file_uri(path)}?mode=ro&immutable=1", stamp


def file_stamp(path: Path) -> FileStamp:
    """Return sizes and times of the brain and its logs, which differ after most writes."""
    return FileStamp(_status(path), (_status(f"{path}-wal"), _status(f"{path}-journal")))


def _status(path: str | Path) -> tuple[int, ...] | None:
    try:
        known = os.stat(path)
    except OSError:
        return None
    return known.st_dev, known.st_ino, known.st_size, known.st_mtime_ns, known.st_ctime_ns


def changed_error(path: Path) -> BadBrain:
    """Return the error for a brain that was written while it was read without locks."""
    return BadBrain(
        f"{path} was changed by another program while it was read",
        hint="Run the command again.",
        code="locked",
    )


def file_uri(path: Path) -> str:
    """Return the `file:` URI of a path, without query parameters such as `?mode=ro`."""
    plain = str(path)
    for sign in "%?#":
        plain = plain.replace(sign, f"%{ord(sign):02x}")
    # In "//folder" SQLite would read the first folder as a host name.
    return f"file://{plain}" if plain.startswith("/") else f"file:{plain}"


def check_brain_file(path: Path) -> bool:
    """Return whether the file is read-only; raise NotFound or BadBrain if it is not a brain."""
    if path.name.endswith(SQLITE_SUFFIXES):
        # Not even opened: closing a -shm file releases the locks that this process has on it.
        raise BadBrain(
            f"{path} is a helper file that SQLite keeps next to a brain, not a brain",
            hint="Leave this file to SQLite. Choose another one with --db or $GBRAIN_DB.",
            code="not_a_brain",
        )
    try:
        known = path.stat()
        if not S_ISREG(known.st_mode):
            raise OSError(EINVAL, "it is not a file")
        if not os.access(path, os.R_OK):
            raise PermissionError(EACCES, os.strerror(EACCES))
    except FileNotFoundError:
        raise NotFound(
            f"There is no brain at {path}",
            hint="gbrain init creates one; gbrain import DIR creates one from a folder of notes.",
            code="no_brain",
        ) from None
    except OSError as error:
        raise BadBrain(
            f"Cannot read {path}: {error.strerror}",
            hint="Check the path and its permissions.",
            code="cannot_read",
        ) from None
    header = _read_header(path)
    if header is not None and header[0] != APPLICATION_ID:
        raise BadBrain(
            f"{path} is not a brain",
            hint="The file was not changed. Choose another one with --db or $GBRAIN_DB.",
            code="not_a_brain",
        )
    return not (known.st_mode & 0o222 and os.access(path, os.W_OK))


def _read_header(path: Path) -> tuple[int, int] | None:
    """Return application id and user version; None if unreadable now, zeros if not a database.

    Read through SQLite: closing a file that the process opened itself would release the POSIX locks
    of a brain that it has open.
    """
    try:
        with closing(sqlite3.connect(f"{file_uri(path)}?mode=ro&immutable=1", uri=True)) as file:
            application: int = file.execute("PRAGMA application_id").fetchone()[0]
            version: int = file.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.DatabaseError as error:
        return (0, 0) if error_name(error) == "SQLITE_NOTADB" else None
    return application, version
