"""A brain that cannot be written through this program: SQLite itself refuses."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from gbrain.brain import Brain, default_path
from gbrain.errors import BadBrain
from gbrain.store.connection import Database, uri
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
        self.read_only = True
        return super()._connect()

    def _locator(self) -> str:
        # Not as a file that nobody writes: then what others write meanwhile would not be seen.
        return f"{uri(self.path)}?mode=ro" if self._others_may_write else super()._locator()

    def _check_version(self, connection: sqlite3.Connection) -> None:
        super()._check_version(connection)
        if self._others_may_write:
            self._check_up_to_date(connection)

    def _check_up_to_date(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version < SCHEMA_VERSION:
            raise BadBrain(
                f"{self.path} was written by an older gbrain (schema {version}, "
                f"this program needs {SCHEMA_VERSION})",
                hint="gbrain stats, run once, brings it up to date.",
                code="brain_too_old",
            )
