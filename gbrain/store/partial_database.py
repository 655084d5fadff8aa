"""A brain in memory that has some pages of a larger one, each only while a query runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gbrain.store.connection import Database
from gbrain.store.sqlite_errors import explain_errors
from gbrain.store.whole_brain import PartialConnection

if TYPE_CHECKING:
    from gbrain.store.whole_brain import WholeBrain


class PartialDatabase(Database):
    """An ordinary brain in memory for some pages of another one.

    It has one connection. Inside `some_pages`, pages come and stay; at its end all are gone.
    """

    def __init__(self, path: Path) -> None:
        from gbrain.store.migrations import migrate

        self.path, self.read_only, self.busy_seconds = path, False, 0.0
        self._stamp = None
        self._spare_connections = {}
        self.connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, factory=PartialConnection
        )
        self.connection.execute("PRAGMA foreign_keys = ON")
        migrate(self.connection)

    @contextmanager
    def some_pages(self, whole: WholeBrain) -> Iterator[PartialConnection]:
        """Run the block with no pages in memory but those that `whole` brings."""
        connection = self.connection
        assert isinstance(connection, PartialConnection)
        connection.whole = whole
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            del connection.whole

    @contextmanager
    def second_connection(self, lane: str = "vector") -> Iterator[sqlite3.Connection]:
        yield self.connection

    def data_version(self) -> int:
        return 0

    @contextmanager
    def read_transaction(self) -> Iterator[sqlite3.Connection]:
        with explain_errors(self.path):
            yield self.connection

    @contextmanager
    def write_transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block in a transaction, or in the one of `some_pages`."""
        with explain_errors(self.path):
            if self.connection.in_transaction:
                yield self.connection
                return
            self.connection.execute("BEGIN")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
