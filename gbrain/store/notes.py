"""What a brain notes of its own use: written only when nobody has to wait for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from gbrain.store.connection import Database


def take_note(database: Database, write: Callable[[sqlite3.Connection], None]) -> bool:
    """Lets `write` write all or nothing; False when the file is busy, full or read-only.

    A note may be lost when the machine fails, so that its writer need not wait for the disk.
    """
    connection = database.connection
    if database.read_only or connection.in_transaction:
        return False
    patience = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    safety = connection.execute("PRAGMA synchronous").fetchone()[0]
    connection.execute("PRAGMA busy_timeout = 0")
    connection.execute("PRAGMA synchronous = NORMAL")
    try:
        connection.execute("BEGIN IMMEDIATE")
        write(connection)
        connection.execute("COMMIT")
    except sqlite3.OperationalError:
        return False
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute(f"PRAGMA busy_timeout = {patience}")
        connection.execute(f"PRAGMA synchronous = {safety}")
    return True
