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
    _follow(connection, name)


def forget(connection: sqlite3.Connection, name: str | None) -> int:
    """Back to the default: one setting, or all of them; says how many were set."""
    if name is None:
        forgotten = connection.execute("DELETE FROM config").rowcount
    else:
        forgotten = connection.execute("DELETE FROM config WHERE key = ?", (name,)).rowcount
    if forgotten:
        _follow(connection, name)
    return forgotten


def _follow(connection: sqlite3.Connection, changed: str | None) -> None:
    """What is kept for a setting follows it; None stands for all of them."""
    if changed in (None, "hypothetical_questions"):
        from gbrain.store.questions import rebuild

        rebuild(connection)
