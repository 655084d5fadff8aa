"""Open a brain file and read and write it in transactions."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from gbrain.errors import BadBrain
from gbrain.paths import resolve_brain
from gbrain.store.brain_files import (
    FileStamp,
    changed_error,
    check_brain_file,
    file_stamp,
    file_uri,
    make_brain_folder,
    place_brain,
    reading_uri,
    refuse_hard_links,
    writing_uri,
)
from gbrain.store.remembered import RememberingConnection
from gbrain.store.schema import SCHEMA_VERSION, SELECT_SCHEMA, find_foreign_objects
from gbrain.store.sqlite_errors import error_name, explain_error, explain_errors, read_only_error

# Several times what gbrain writes into one value; a crafted file cannot make SQLite allocate more.
_MAX_VALUE_BYTES = 1 << 26
# Errors that SQLite raises when it cannot create or write the -wal and -shm files.
_CANNOT_CREATE_WAL = ("SQLITE_CANTOPEN", "SQLITE_IOERR_SHM", "SQLITE_FULL", "SQLITE_READONLY")
_ENABLE_MMAP = f"PRAGMA mmap_size = {1 << 31}"


class Database:
    """One open brain file with its SQLite connection.

    Read in `read_transaction`, write in `write_transaction`. Other functions of this package take
    the connection that those yield and never begin or end a transaction themselves.
    """

    def __init__(
        self, path: Path, *, busy_seconds: float = 10.0, allow_foreign_objects: bool = False
    ) -> None:
        """Open the brain at `path`, upgrading an older schema first.

        Raises NotFound if there is no file, BadBrain if it is not a brain, has a newer schema, or
        contains triggers, views or indexes that gbrain did not create (unless
        `allow_foreign_objects`). A file that cannot be written is opened read-only. A write waits
        up to `busy_seconds` for other programs.
        """
        path = self.path = resolve_brain(path)
        self.read_only = check_brain_file(path)
        self.busy_seconds = busy_seconds
        self._allow_foreign_objects = allow_foreign_objects
        self._write_error = read_only_error(path)
        self._identity = _file_identity(path)
        self._reopened = 0
        self._spare_connections: dict[str, list[sqlite3.Connection]] = {}
        if not self.read_only:
            try:
                refuse_hard_links(path)
            except BadBrain as error:
                self.read_only, self._write_error = True, error
        with explain_errors(path):
            try:
                self.connection, self._stamp = self._connect()
            except sqlite3.OperationalError as error:
                if self.read_only or not error_name(error).startswith(_CANNOT_CREATE_WAL):
                    raise
                # On a full disk, or in a folder that this user cannot write, reading still works.
                self.read_only, self._write_error = True, explain_error(error, path)
                try:
                    self.connection, self._stamp = self._connect()
                except sqlite3.Error:
                    raise self._write_error from error

    def set_busy_seconds(self, seconds: float) -> None:
        """Let writes wait up to `seconds` for other programs."""
        self.busy_seconds = seconds
        self.connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")

    def _connect(self) -> tuple[sqlite3.Connection, FileStamp | None]:
        """Open and configure another connection to the file; the caller closes it.

        The stamp is that of a file that is read without locks, None if SQLite's locks protect it.
        """
        uri, stamp = self._locator()
        connection = sqlite3.connect(
            uri,
            uri=True,
            timeout=self.busy_seconds,
            isolation_level=None,
            check_same_thread=False,
            factory=RememberingConnection,
        )
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA foreign_keys = ON")
            self._check_version(connection)
            if not self.read_only:
                connection.execute("PRAGMA journal_mode = WAL")
                # A committed write survives a power loss; some SQLite builds default to NORMAL.
                connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA cache_size = -32000")
        except BaseException:
            connection.close()
            raise
        return connection, stamp

    def _locator(self) -> tuple[str, FileStamp | None]:
        return reading_uri(self.path) if self.read_only else (writing_uri(self.path), None)

    def _check_version(self, connection: sqlite3.Connection) -> None:
        """Upgrade an older schema, and refuse a newer one before anything is written."""
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise BadBrain(
                f"{self.path} was written by a newer gbrain (schema {version}, "
                f"this program knows {SCHEMA_VERSION})",
                hint="Upgrade gbrain; the file has not been touched.",
                code="brain_too_new",
            )
        if version < SCHEMA_VERSION or not self._allow_foreign_objects:
            self._refuse_foreign_objects(connection, version)
        if version < SCHEMA_VERSION and not self.read_only:
            from gbrain.store.backup import backup_before_migration
            from gbrain.store.migrations import migrate

            if version:
                backup_before_migration(connection, self.path, version)
            migrate(connection)

    def _refuse_foreign_objects(self, connection: sqlite3.Connection, version: int) -> None:
        """Raise BadBrain for a trigger, view or index that would run code gbrain did not write."""
        found = find_foreign_objects(connection.execute(SELECT_SCHEMA))
        if found:
            named = ", ".join(f"{kind} {name}" for kind, name in found[:3])
            raise BadBrain(
                f"{self.path} contains objects that gbrain did not create: {named}",
                hint="gbrain doctor lists them; gbrain doctor --repair removes them."
                if version == SCHEMA_VERSION
                else "gbrain cannot remove them from a file of an older version: restore a backup.",
                code="foreign_parts",
            )

    @contextmanager
    def _explain_old_schema(self) -> Iterator[None]:
        """Raise BadBrain if a table is missing because a read-only file could not be upgraded."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if not self.read_only or not str(error).startswith("no such table"):
                raise
            version = self.connection.execute("PRAGMA user_version").fetchone()[0]
            if version == SCHEMA_VERSION:
                raise
            raise BadBrain(
                f"{self.path} needs an upgrade (from schema {version}), but it is read-only",
                hint="Make the file and its folder writable; the next command upgrades it.",
                code="read_only",
            ) from error

    def open_second_connection(self) -> sqlite3.Connection:
        """Open another connection to the file for another thread; the caller closes it."""
        with explain_errors(self.path):
            connection, stamp = self._connect()
            if stamp != self._stamp:
                connection.close()
                raise changed_error(self.path)
            if stamp is None:
                connection.execute(_ENABLE_MMAP)
            return connection

    @contextmanager
    def second_connection(self, lane: str = "vector") -> Iterator[sqlite3.Connection]:
        """Yield another connection to read with on another thread; the lane may get it again.

        Opening and closing one takes as long as a small query, and each remembers what was read
        through it.
        """
        spare = self._spare_connections.setdefault(lane, [])
        try:
            # Without locks, what a connection has in its cache may be of an older file.
            if self._stamp is not None:
                raise IndexError
            connection = spare.pop()
        except IndexError:
            connection = self.open_second_connection()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        if self._stamp is None:
            spare.append(connection)
        else:
            connection.close()

    @contextmanager
    def second_read_transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield a second connection inside a read transaction, for use on another thread."""
        with self.second_connection("fts") as connection:
            connection.execute("BEGIN")
            yield connection
            connection.execute("ROLLBACK")

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open on the main connection."""
        return self.connection.in_transaction

    def data_version(self) -> int:
        """Return a number that changes when another connection commits a write.

        Inside a transaction it stays the same, and reading it first fixes the snapshot.
        """
        version: int = self.connection.execute("PRAGMA data_version").fetchone()[0]
        return (self._reopened << 32) + version

    def enable_mmap(self) -> None:
        """Map the file into memory for faster queries; long writes would use more memory."""
        # Without locks another program may truncate the file, and reading its memory would crash.
        if self._stamp is None:
            self.connection.execute(_ENABLE_MMAP)

    def close(self) -> None:
        """Close the connection. An open transaction is rolled back."""
        for connection in (*chain(*self._spare_connections.values()), self.connection):
            connection.close()
        self._spare_connections.clear()

    @contextmanager
    def read_transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block in a read transaction: all reads see the same snapshot of the brain.

        Yields the connection. Inside another read transaction it joins that one. SQLite errors are
        raised as BadBrain with a hint.
        """
        with explain_errors(self.path), self._explain_old_schema():
            if self.connection.in_transaction:
                yield self.connection
                return
            self._reopen_if_changed()
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            except sqlite3.Error as error:
                if self._is_changed():
                    raise changed_error(self.path) from error
                raise
            finally:
                # SQLite ends the transaction itself after some errors.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
            if self._is_changed():
                raise changed_error(self.path)

    def _is_changed(self) -> bool:
        """Return whether a file that is read without locks was written by another program."""
        return self._stamp is not None and self._stamp != file_stamp(self.path)

    def _reopen_if_changed(self) -> None:
        """Connect again to a changed file: what was read without locks is still in the cache."""
        if self._is_changed():
            self.connection.close()
            self.connection, self._stamp = self._connect()
            self._reopened += 1

    @contextmanager
    def write_transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block in a write transaction: commit at its end, roll back if it raises.

        Yields the connection to write through. Raises BadBrain if the brain is read-only, if its
        file was replaced, or if another program holds the write lock for longer than
        `busy_seconds`.
        """
        if self.read_only:
            raise self._write_error
        if _file_identity(self.path) != self._identity:
            # SQLite would keep writing into the deleted file.
            raise BadBrain(
                f"{self.path} was moved, replaced or deleted while it was open",
                hint="Nothing was written. Put the file back, or run the command again.",
                code="gone",
            )
        with explain_errors(self.path):
            # During a read transaction, write on another connection: the read keeps its snapshot.
            nested = self.connection.in_transaction
            connection = self._connect()[0] if nested else self.connection
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if isinstance(connection, RememberingConnection):
                    connection.forget()
                raise
            finally:
                if nested:
                    connection.close()


class ReadOnlyDatabase(Database):
    """A brain through which nothing is written, while other programs may still write the file."""

    def __init__(self, path: Path, *, busy_seconds: float = 10.0) -> None:
        self._others_may_write = os.access(path, os.W_OK)
        super().__init__(path, busy_seconds=busy_seconds)

    def _connect(self) -> tuple[sqlite3.Connection, FileStamp | None]:
        self.read_only = True
        return super()._connect()

    def _locator(self) -> tuple[str, FileStamp | None]:
        # A user who could write the file can create its log, too: SQLite's locks work.
        if self._others_may_write:
            return f"{file_uri(self.path)}?mode=ro", None
        return super()._locator()

    def _check_version(self, connection: sqlite3.Connection) -> None:
        """Refuse a newer schema, and an older one in a file that another command can upgrade."""
        super()._check_version(connection)
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if self._others_may_write and version < SCHEMA_VERSION:
            raise BadBrain(
                f"{self.path} was written by an older gbrain (schema {version}, "
                f"this program needs {SCHEMA_VERSION})",
                hint="Run gbrain stats once to upgrade it.",
                code="brain_too_old",
            )


def create_brain(path: Path) -> None:
    """Create an empty brain at `path`, readable only by its owner; do nothing if a file exists."""
    from gbrain.store.atomic_files import (
        flush_folder,
        refuse_part_of_brain,
        remove_leftovers,
        temporary_file,
    )
    from gbrain.store.migrations import migrate

    path = resolve_brain(path)
    refuse_part_of_brain(path)
    make_brain_folder(path.parent)
    remove_leftovers(path.parent)
    # Created under a temporary name and then linked: no other program sees half a brain.
    try:
        with temporary_file(path.parent) as temporary:
            with explain_errors(path):
                connection = sqlite3.connect(temporary.path, isolation_level=None)
                try:
                    migrate(connection)
                finally:
                    connection.close()
            place_brain(temporary, path)
        flush_folder(path.parent)
    except FileExistsError:
        pass
    except OSError as error:
        raise BadBrain(
            f"Cannot create {path}: {error.strerror}",
            hint="Choose another path with --db or $GBRAIN_DB.",
            code="cannot_create",
        ) from None


def _file_identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode, which differ for another file at this path; None if none."""
    try:
        known = os.stat(path)
    except OSError:
        return None
    return known.st_dev, known.st_ino
