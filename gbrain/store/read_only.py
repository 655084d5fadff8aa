"""A brain file opened so that SQLite refuses every write through this connection."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from gbrain.errors import BadBrain
from gbrain.store.brain_files import file_uri
from gbrain.store.connection import Database
from gbrain.store.schema import SCHEMA_VERSION


class ReadOnlyDatabase(Database):
    """A file that other programs may write while it is read here."""

    def __init__(self, path: Path, *, busy_seconds: float = 10.0) -> None:
        self._others_may_write = os.access(path, os.W_OK)
        super().__init__(path, busy_seconds=busy_seconds)

    def _connect(self) -> sqlite3.Connection:
        self.read_only = True
        return super()._connect()

    def _locator(self) -> str:
        # A file that this user cannot write is opened as immutable. With one that can be written,
        # SQLite would then not see what other programs write.
        return f"{file_uri(self.path)}?mode=ro" if self._others_may_write else super()._locator()

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
                hint="Run gbrain stats once to bring it up to date.",
                code="brain_too_old",
            )
