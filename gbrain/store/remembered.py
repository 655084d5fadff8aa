"""Remember what was read from a brain until somebody writes to it, in a process that stays."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")

# What the last words and filters needed: mostly numbers, some lists of up to 800 kilobytes.
_MAX_VALUES = 100


class RememberingConnection(sqlite3.Connection):
    """A connection with what was read through it, as long as it is still true.

    `small_indexes` are those of `SmallIndex` that wait empty for the next query.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._state: tuple[int, int] | None = None
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self.small_indexes: list[sqlite3.Connection] = []

    def close(self) -> None:
        """Close the connection and its small indexes."""
        while self.small_indexes:
            self.small_indexes.pop().close()
        super().close()

    def remember(self, key: Hashable, read: Callable[[], T]) -> T:
        """Return what `read` returns, or returned for the same key if nobody has written since."""
        # The first number changes with the writes of others, the second with those made here.
        state = (self.execute("PRAGMA data_version").fetchone()[0], self.total_changes)
        if state != self._state:
            self._values.clear()
            self._state = state
        if key not in self._values:
            self._values[key] = read()
            if len(self._values) > _MAX_VALUES:
                self._values.popitem(last=False)
        self._values.move_to_end(key)
        found: T = self._values[key]
        return found

    def forget(self) -> None:
        """Forget everything: a transaction was rolled back, which no number tells."""
        self._values.clear()


def remember(connection: sqlite3.Connection, key: Hashable, read: Callable[[], T]) -> T:
    """Return what `read` returns, remembered by the connection if it can."""
    if isinstance(connection, RememberingConnection):
        return connection.remember(key, read)
    return read()
