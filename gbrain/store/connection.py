"""Opening a brain file, reading and writing it in transactions, and saying what went wrong."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from errno import EACCES, EINVAL
from pathlib import Path
from stat import S_ISREG

from gbrain import paths
from gbrain.errors import BadBrain, NotFound
from gbrain.store.schema import APPLICATION_ID, SCHEMA_VERSION, SELECT_SCHEMA, find_foreign_objects

# Bytes in one value or row: several times what gbrain writes, and no more than one can bear.
_LONGEST_VALUE = 1 << 26
# What SQLite says where it cannot make the files that it keeps beside a brain in use.
_NO_PLACE_BESIDE = ("SQLITE_CANTOPEN", "SQLITE_IOERR_SHM", "SQLITE_FULL", "SQLITE_READONLY")
_MAP = f"PRAGMA mmap_size = {1 << 31}"


class Database:
    """One open brain file. Reads see a snapshot; writes are all or nothing and durable."""

    def __init__(
        self, path: Path, *, busy_seconds: float = 10.0, allow_foreign_objects: bool = False
    ) -> None:
        """Opens the brain at `path`; one with foreign parts only if that is allowed."""
        self.path = path
        self.read_only = check_brain_file(path)
        self.busy_seconds = busy_seconds
        self._allow_foreign_objects = allow_foreign_objects
        self._refusal = _read_only(path)
        self._file = _identity(path)
        with explain_errors(path):
            try:
                self.connection = self._connect()
            except sqlite3.OperationalError as error:
                if self.read_only or not _error_name(error).startswith(_NO_PLACE_BESIDE):
                    raise
                # What can still be done on a full disk, or in a folder of somebody else's: read.
                self.read_only, self._refusal = True, _explanation(error, path)
                try:
                    self.connection = self._connect()
                except sqlite3.Error:
                    raise self._refusal from error

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._locator(),
            uri=True,
            timeout=self.busy_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA foreign_keys = ON")
            self._check_version(connection)
            if not self.read_only:
                connection.execute("PRAGMA journal_mode = WAL")
                # What is acknowledged stays through a loss of power; some builds promise less.
                connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA cache_size = -32000")
        except BaseException:
            connection.close()
            raise
        return connection

    def _locator(self) -> str:
        return connection_uri(self.path, write=not self.read_only)

    def _check_version(self, connection: sqlite3.Connection) -> None:
        """Comes before anything that writes: a newer program's file must stay as it is."""
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise BadBrain(
                f"{self.path} was written by a newer gbrain (schema {version}, "
                f"this program knows {SCHEMA_VERSION})",
                hint="Upgrade gbrain; the file has not been touched.",
                code="brain_too_new",
            )
        if version < SCHEMA_VERSION or not self._allow_foreign_objects:
            self._refuse_foreign_parts(connection, version)
        if version < SCHEMA_VERSION and not self.read_only:
            from gbrain.store.backup import backup_before_migration
            from gbrain.store.migrations import migrate

            if version:
                backup_before_migration(connection, self.path, version)
            migrate(connection)

    def _refuse_foreign_parts(self, connection: sqlite3.Connection, version: int) -> None:
        """A trigger, or a view in a table's place, would run what somebody else wrote."""
        found = find_foreign_objects(connection.execute(SELECT_SCHEMA))
        if found:
            named = ", ".join(f"{kind} {name}" for kind, name in found[:3])
            raise BadBrain(
                f"{self.path} holds what gbrain did not make: {named}",
                hint="gbrain doctor names it all; gbrain doctor --repair takes it out."
                if version == SCHEMA_VERSION
                else "It is of an older gbrain, too: restore a backup, or drop that with sqlite3.",
                code="foreign_parts",
            )

    @contextmanager
    def _explained_age(self) -> Iterator[None]:
        """Says so when a table is missing only because the file could not be brought up to date."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if not self.read_only or not str(error).startswith("no such table"):
                raise
            version = self.connection.execute("PRAGMA user_version").fetchone()[0]
            if version == SCHEMA_VERSION:
                raise
            raise BadBrain(
                f"{self.path} is of an older gbrain (schema {version}) and cannot be written",
                hint="Make the file and its folder writable: then it is brought up to date.",
                code="read_only",
            ) from error

    def open_second_connection(self) -> sqlite3.Connection:
        """A second connection to the same file, for a lane that runs in a thread of its own."""
        with explain_errors(self.path):
            connection = self._connect()
            connection.execute(_MAP)
            return connection

    def enable_mmap(self) -> None:
        """Lets queries read the file without copying it; long writes would only swell by it."""
        self.connection.execute(_MAP)

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def read_transaction(self) -> Iterator[sqlite3.Connection]:
        """All reads in the block see the brain as it stood at the first of them."""
        with explain_errors(self.path), self._explained_age():
            if self.connection.in_transaction:
                yield self.connection
                return
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            finally:
                # After some failures SQLite has ended it by itself.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")

    @contextmanager
    def write_transaction(self) -> Iterator[sqlite3.Connection]:
        """The block's writes happen together when it ends, or not at all."""
        if self.read_only:
            raise self._refusal
        if _identity(self.path) != self._file:
            # SQLite would write on into a file that has no name any more.
            raise BadBrain(
                f"{self.path} was moved, replaced or removed while it was open",
                hint="Nothing was written. Put it back, or start the command again.",
                code="gone",
            )
        with explain_errors(self.path):
            # A write during a read goes through a connection of its own: the read keeps its view.
            nested = self.connection.in_transaction
            connection = self._connect() if nested else self.connection
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            finally:
                if nested:
                    connection.close()


def create_brain(path: Path) -> None:
    """Makes an empty brain at `path`, readable by its owner only; leaves an existing file alone."""
    from gbrain.store.atomic_files import new_temporary_path, remove_temporary
    from gbrain.store.brain_files import place_brain
    from gbrain.store.migrations import migrate

    make_brain_folder(path.parent)
    # Built beside and then linked: a file under the final name is always a whole brain.
    building = new_temporary_path(path)
    try:
        os.close(os.open(building, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with explain_errors(path):
            connection = sqlite3.connect(building, isolation_level=None)
            try:
                migrate(connection)
            finally:
                connection.close()
        place_brain(building, path)
    except FileExistsError:
        pass
    except OSError as error:
        raise BadBrain(
            f"Cannot make {path}: {error.strerror}",
            hint="Name another place with --db or $GBRAIN_DB.",
            code="cannot_create",
        ) from None
    finally:
        remove_temporary(building)


def make_brain_folder(folder: Path) -> None:
    """Makes the folder that a brain is to be in, if it is not there."""
    try:
        paths.make_folder(folder)
    except OSError as error:
        raise BadBrain(
            f"Cannot make the folder {folder}: {error.strerror}",
            hint="Name another place with --db or $GBRAIN_DB.",
            code="cannot_create",
        ) from None


def connection_uri(path: Path, *, write: bool = True) -> str:
    """The file as SQLite takes it, to be written or only to be read."""
    if write:
        return f"{file_uri(path)}?mode=rw"
    # Immutable: a file that nobody may write has no write-ahead log, unless one was left.
    log = Path(f"{path}-wal")
    log_left = log.exists() and log.stat().st_size > 0
    return f"{file_uri(path)}?mode=ro" + ("" if log_left else "&immutable=1")


def file_uri(path: Path) -> str:
    """The file's address for SQLite, to which it can be told how to open it."""
    plain = str(path)
    for sign in "%?#":
        plain = plain.replace(sign, f"%{ord(sign):02x}")
    # Two slashes at its beginning would make a host of the first folder.
    return f"file://{plain}" if plain.startswith("/") else f"file:{plain}"


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells the file from one that takes its place; None when there is none to be seen."""
    try:
        known = os.stat(path)
    except OSError:
        return None
    return known.st_dev, known.st_ino


def check_brain_file(path: Path) -> bool:
    """Whether the file may only be read. Raises for what is not a brain, without touching it."""
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
    if _mark(path) not in (APPLICATION_ID, None):
        raise BadBrain(
            f"{path} is not a brain",
            hint="The file has not been touched. Name another one with --db or $GBRAIN_DB.",
            code="not_a_brain",
        )
    return not (known.st_mode & 0o222 and os.access(path, os.W_OK))


def _mark(path: Path) -> int | None:
    """Whose file it says it is; None if that cannot be told while it is written, or damaged.

    Read through SQLite, which keeps account of its locks: by closing a file that it has opened
    itself, a process loses those of a brain that it has open already.
    """
    with closing(sqlite3.connect(f"{file_uri(path)}?mode=ro&immutable=1", uri=True)) as file:
        try:
            marked: int = file.execute("PRAGMA application_id").fetchone()[0]
        except sqlite3.DatabaseError as error:
            return 0 if _error_name(error) == "SQLITE_NOTADB" else None
    return marked


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Turns SQLite's errors inside the block into ones that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explanation(error, path) from error
    except UnicodeDecodeError as error:
        # SQLite quotes a damaged schema in its message, and Python cannot read that.
        raise damaged_error(path, "its tables cannot be read") from error


def _error_name(error: sqlite3.Error) -> str:
    """SQLite's name of an error; Python's own, of a text that is not UTF-8 say, have none."""
    return getattr(error, "sqlite_errorname", "")


def _read_only(path: Path) -> BadBrain:
    return BadBrain(
        f"{path} is read-only",
        hint="Make the file and its folder writable, or copy it elsewhere.",
        code="read_only",
    )


def _explanation(error: sqlite3.Error, path: Path) -> BadBrain:
    text = str(error)
    kind = _error_name(error)
    if "decode" in text and not kind:
        # The message quotes the text itself, all of it.
        return damaged_error(path, "a text in it is not UTF-8")
    if kind.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return BadBrain(
            f"{path} is being written by another program",
            hint="Try again in a moment; busy_seconds sets how long gbrain waits.",
            code="locked",
        )
    if kind in ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"):
        return BadBrain(
            f"The disk that holds {path} is full",
            hint="Nothing was half written. Make room and run the command again.",
            code="disk_full",
        )
    if kind.startswith("SQLITE_READONLY"):
        return _read_only(path)
    if kind.startswith("SQLITE_CANTOPEN"):
        return BadBrain(
            f"{path} cannot be opened, or the files that SQLite keeps beside it",
            hint="Is its folder still there, and may you write in it?",
            code="cannot_open",
        )
    if kind.startswith("SQLITE_IOERR"):
        return BadBrain(
            f"The disk that holds {path} does not take or give what it should ({text})",
            hint="Nothing was half written. Check the disk, its room and your quota; try again.",
            code="disk_error",
        )
    signs = ("malformed", "no such", "fts5", "too big", "has no column", "cannot modify")
    if kind in ("SQLITE_CORRUPT", "SQLITE_NOTADB") or any(sign in text for sign in signs):
        return damaged_error(path, text)
    return BadBrain(f"{path}: {text}", hint="gbrain doctor checks the file.", code="sqlite")


def damaged_error(path: Path, what: str) -> BadBrain:
    """The error of a file that holds what it should not."""
    return BadBrain(
        f"{path} is damaged: {what}",
        hint="gbrain doctor --repair mends what it can; else restore a backup or import afresh.",
        code="damaged",
    )
