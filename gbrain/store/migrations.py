"""Numbered schema migrations; each is applied completely or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

from gbrain.store.chunk_slots import rebuild_chunk_slots
from gbrain.store.schema import (
    APPLICATION_ID,
    INDEXES_8,
    INDEXES_10,
    INDEXES_11,
    INDEXES_13,
    RENAMED_SETTINGS_3,
    SCHEMA_VERSION,
    TABLES_1,
    TABLES_2,
    TABLES_6,
    TABLES_7,
    TABLES_9,
    TABLES_15,
    TABLES_16,
    VECTOR_TABLE_13,
    VECTOR_TABLES,
)
from gbrain.store.vector_bits import rebuild_bits
from gbrain.store.vectors import all_spaces, create_vector_tables


def migrate(connection: sqlite3.Connection) -> None:
    """Upgrade the file to SCHEMA_VERSION; a failed migration leaves it unchanged."""
    from sqlite_utils import Database, Migrations

    steps = Migrations("gbrain")
    # Work on the rows of an older brain: it uses the tables of today, so it follows all steps.
    work: list[Callable[[sqlite3.Connection], None]] = []

    @steps(name="0001_first")
    def first(db: Database) -> None:
        _run(db, TABLES_1 + VECTOR_TABLES.format(dim=384))
        db.conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.conn.execute("PRAGMA user_version = 1")

    @steps(name="0002_use")
    def second(db: Database) -> None:
        _run(db, TABLES_2)
        db.conn.execute("PRAGMA user_version = 2")

    @steps(name="0003_setting_names")
    def third(db: Database) -> None:
        _run(db, RENAMED_SETTINGS_3)
        db.conn.execute("PRAGMA user_version = 3")

    @steps(name="0004_dates")
    def fourth(db: Database) -> None:
        if db.conn.execute("SELECT 1 FROM pages").fetchone():
            from gbrain.store import reparse

            work.append(reparse.reparse_dates)
        db.conn.execute("PRAGMA user_version = 4")

    @steps(name="0005_authored_questions")
    def fifth(db: Database) -> None:
        if db.conn.execute("SELECT 1 FROM pages").fetchone():
            from gbrain.store import page_writer

            work.append(page_writer.add_questions)
        db.conn.execute("PRAGMA user_version = 5")

    @steps(name="0006_files")
    def sixth(db: Database) -> None:
        _run(db, TABLES_6)
        db.conn.execute("PRAGMA user_version = 6")

    @steps(name="0007_remotes")
    def seventh(db: Database) -> None:
        _run(db, TABLES_7)
        db.conn.execute("PRAGMA user_version = 7")

    @steps(name="0008_days_and_bits")
    def eighth(db: Database) -> None:
        _run(db, INDEXES_8)
        for space in all_spaces(db.conn):
            create_vector_tables(db.conn, space.dimension)
            rebuild_bits(db.conn, space)
        db.conn.execute("PRAGMA user_version = 8")

    @steps(name="0009_scripts_without_spaces")
    def ninth(db: Database) -> None:
        _run(db, TABLES_9)
        if db.conn.execute("SELECT 1 FROM pages").fetchone():
            from gbrain.store import indexed_text, reparse

            indexed_text.index_older_brain(db.conn)
            # Chinese and Japanese dates begin timeline entries.
            if reparse.reparse_dates not in work:
                work.append(reparse.reparse_cjk_dates)
        db.conn.execute("PRAGMA user_version = 9")

    @steps(name="0010_tasks")
    def tenth(db: Database) -> None:
        _run(db, INDEXES_10)
        db.conn.execute("PRAGMA user_version = 10")

    @steps(name="0011_last_days")
    def eleventh(db: Database) -> None:
        _run(db, INDEXES_11)
        db.conn.execute("PRAGMA user_version = 11")

    @steps(name="0012_slots_by_hash")
    def twelfth(db: Database) -> None:
        # Its index is not used since version 13.
        db.conn.execute("PRAGMA user_version = 12")

    @steps(name="0013_slots_by_chunk")
    def thirteenth(db: Database) -> None:
        _run(db, INDEXES_13)
        for space in all_spaces(db.conn):
            _run(db, VECTOR_TABLE_13.format(dim=space.dimension))
            db.conn.execute(f"DROP INDEX IF EXISTS page_embeddings_hash_{space.dimension}")
            rebuild_chunk_slots(db.conn, space)
        db.conn.execute("PRAGMA user_version = 13")

    @steps(name="0014_long_words")
    def fourteenth(db: Database) -> None:
        if db.conn.execute("SELECT 1 FROM pages").fetchone():
            from gbrain.store import reparse

            work.append(reparse.reparse_long_words)
        db.conn.execute("PRAGMA user_version = 14")

    @steps(name="0015_last_change_of_remotes")
    def fifteenth(db: Database) -> None:
        _run(db, TABLES_15)
        db.conn.execute("PRAGMA user_version = 15")

    @steps(name="0016_order_of_changes_and_files_seen")
    def sixteenth(db: Database) -> None:
        _run(db, TABLES_16)
        db.conn.execute("PRAGMA user_version = 16")

    # The lock makes other processes wait, which then find nothing to apply.
    connection.execute("BEGIN IMMEDIATE")
    try:
        steps.apply(Database(connection))
        for change_rows in dict.fromkeys(work):
            change_rows(connection)
        # A damaged header can have any number; applied migrations are recorded in a table.
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _run(db: object, script: str) -> None:
    """Run the statements one by one: executescript would commit the open transaction."""
    for statement in script.split(";\n"):
        if statement.strip():
            db.conn.execute(statement)  # type: ignore[attr-defined]


def missing_objects(connection: sqlite3.Connection) -> dict[str, str | None]:
    """Return the tables, columns, indexes and views that the brain lacks, with their SQL by name.

    The order is that in which they can be created. A column, named `table.column`, has no SQL: it
    cannot be added again.
    """
    rows = connection.execute("SELECT name, type FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*'")
    present = dict(rows.fetchall())
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as complete:
        migrate(complete)
        for space in all_spaces(connection) if "embedding_models" in present else ():
            create_vector_tables(complete, space.dimension)
        wanted = complete.execute(
            "SELECT name, sql FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*' ORDER BY rowid"
        ).fetchall()
        missing = {name: sql for name, sql in wanted if name not in present}
        for name, _ in wanted:
            # Listing the columns of an FTS5 table opens it, which fails when it is incomplete.
            if present.get(name) == "table" and "_fts" not in name:
                columns = _columns(complete, name) - _columns(connection, name)
                missing |= {f"{name}.{column}": None for column in sorted(columns)}
    return missing


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return {row[0] for row in rows}
