"""A brain that cannot be written through this program: SQLite itself refuses."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from gbrain.brain import Brain, default_path
from gbrain.errors import BadBrain
from gbrain.store.connection import Database
from gbrain.store.schema import SCHEMA_VERSION


def open_unwritable(path: Path | None) -> Brain:
    """The brain at `path` (else the default place), which sees what others write meanwhile."""
    return Brain(UnwritableDatabase(path.expanduser() if path else default_path()))


class UnwritableDatabase(Database):
    """A file that others may write while it is read here; nothing in it changes by reading."""

    def __init__(self, path: Path, *, busy_seconds: float = 10.0) -> None:
        self._others_may_write = os.access(path, os.W_OK)
        super().__init__(path, busy_seconds=busy_seconds)

    def _connect(self) -> sqlite3.Connection:
        if not self._others_may_write:
            return super()._connect()
        self.read_only = True
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=ro",
            uri=True,
            timeout=self.busy_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            self._check_version(connection)
            self._check_up_to_date(connection)
            connection.execute("PRAGMA cache_size = -32000")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_up_to_date(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version < SCHEMA_VERSION:
            raise BadBrain(
                f"{self.path} was written by an older gbrain (schema {version}, "
                f"this program needs {SCHEMA_VERSION})",
                hint="gbrain stats, run once, brings it up to date.",
                code="brain_too_old",
            )
