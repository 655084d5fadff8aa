"""The brain's own settings, kept in the file."""

from __future__ import annotations

import sqlite3


def stored(connection: sqlite3.Connection) -> dict[str, str]:
    """What was set, as written."""
    return dict(connection.execute("SELECT key, value FROM config").fetchall())


def keep(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute(
        "INSERT INTO config (key, value) VALUES (?, ?) "
        "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (name, value),
    )


def forget(connection: sqlite3.Connection, name: str | None) -> int:
    """Back to the default: one setting, or all of them; says how many were set."""
    if name is None:
        return connection.execute("DELETE FROM config").rowcount
    return connection.execute("DELETE FROM config WHERE key = ?", (name,)).rowcount
