"""Numbered migrations, each applied together with its record or not at all."""

from __future__ import annotations

import sqlite3

from gbrain.store.schema import APPLICATION_ID, FIRST, SCHEMA_VERSION, SECOND, VECTORS


def migrate(connection: sqlite3.Connection) -> None:
    """Brings the file to SCHEMA_VERSION; a migration that fails leaves it as it was."""
    from sqlite_utils import Database, Migrations

    steps = Migrations("gbrain")

    @steps(name="0001_first")
    def first(db: Database) -> None:
        _run(db, FIRST + VECTORS.format(dim=384))
        db.conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.conn.execute("PRAGMA user_version = 1")

    @steps(name="0002_use")
    def second(db: Database) -> None:
        _run(db, SECOND)
        db.conn.execute("PRAGMA user_version = 2")

    steps.apply(Database(connection))
    # In a spoilt header it may be any; the migrations that were applied are recorded elsewhere.
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _run(db: object, script: str) -> None:
    """Statements one by one: executescript would commit the transaction they belong to."""
    for statement in script.split(";\n"):
        if statement.strip():
            db.conn.execute(statement)  # type: ignore[attr-defined]
