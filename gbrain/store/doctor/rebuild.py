"""Rebuilds everything that is derived from the texts of pages: the repair of most problems."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress

from gbrain.store import chunks, page_writer
from gbrain.store.doctor.findings import Examination
from gbrain.store.doctor.rows import delete_stray_rows, delete_wrong_rows, is_timestamp
from gbrain.store.reparse import parse_stored
from gbrain.store.schema import DERIVED_TABLES, KEYWORD_INDEXES, TABLES_1, TABLES_2
from gbrain.text.slug import fold_name
from gbrain.types import Page

_COLUMNS = (
    "title, type, wing, wing_reason, room, room_reason, date, first_day, last_day, bytes, tags, "
    "aliases, meta, front_matter, compiled_truth, timeline"
)


def rebuild_derived(examination: Examination) -> None:
    """Re-parse every page from its stored text and write all derived rows and indexes again.

    Wrong rows of other tables are deleted, except versions. Pages that cannot be read or parsed
    keep their row. Hashes are kept, so that a changed text is still reported.
    """
    connection = examination.connection
    for table in KEYWORD_INDEXES:
        create_empty_index(connection, table)
    # First: reading these could fail where emptying them does not.
    for table in DERIVED_TABLES:
        connection.execute(f"DELETE FROM {table}")
    delete_wrong_rows(connection)
    delete_stray_rows(connection)
    for page_id, _ in list_pages(connection):
        page = None
        with suppress(sqlite3.DatabaseError):
            page = parse_stored(connection, page_id)
        if page is not None:
            _write_row(connection, page_id, page, examination.now)
            page_writer.write_names_tags_links(connection, page_id, page)
            chunks.replace_chunks(connection, page_id, page.title, page.chunks, fresh=True)
            page_writer.replace_questions(connection, page_id, page, fresh=True)
            chunks.enqueue_page(connection, page_id, examination.now)
    for table in KEYWORD_INDEXES:
        connection.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")


def create_empty_index(connection: sqlite3.Connection, table: str) -> None:
    """Replace a keyword index, of which some tables may be missing, by an empty one."""
    # DROP TABLE opens the index first, which fails when it is damaged.
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("DELETE FROM sqlite_schema WHERE name = ?", (table,))
    connection.execute("PRAGMA writable_schema = RESET")
    for suffix in ("data", "idx", "content", "docsize", "config"):
        connection.execute(f"DROP TABLE IF EXISTS {table}_{suffix}")
    for statement in (TABLES_1 + TABLES_2).split(";\n"):
        if statement.strip().startswith(
            (f"CREATE VIRTUAL TABLE {table} ", f"INSERT INTO {table} ")
        ):
            connection.execute(statement)


def list_pages(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    """Return (id, slug) of every page, by slug."""
    return connection.execute("SELECT id, slug FROM pages ORDER BY slug").fetchall()


def _column_values(page: Page) -> tuple[object, ...]:
    return (
        page.title, page.type, page.wing, page.wing_reason, page.room, page.room_reason, page.date,
        page.first_day, page.last_day, len(page.text.encode()), "\n".join(page.tags),
        "\n".join(page.aliases), page.meta, page.front_matter, page.compiled_truth, page.timeline,
    )  # fmt: skip


def _write_row(connection: sqlite3.Connection, page_id: int, page: Page, now: str) -> None:
    """Write the derived columns of a page's row, and others only where they are invalid."""
    derived = ", ".join(f"{name} = ?" for name in _COLUMNS.split(", "))
    connection.execute(
        f"UPDATE pages SET {derived}, path = ?, "
        "slug = CASE WHEN typeof(slug) = 'text' THEN slug ELSE ? END, "
        "sha256 = CASE WHEN typeof(sha256) = 'blob' THEN sha256 ELSE ? END, "
        "version = CASE WHEN typeof(version) = 'integer' AND version BETWEEN 1 AND 1000000000 "
        "THEN version ELSE 1 + (SELECT coalesce(max(version), 0) FROM versions "
        "WHERE page_id = pages.id) END, "
        f"created_at = CASE WHEN {is_timestamp('created_at')} THEN created_at ELSE ? END, "
        f"updated_at = CASE WHEN {is_timestamp('updated_at')} THEN updated_at ELSE ? END, "
        "vault_id = CASE WHEN typeof(vault_id) = 'integer' THEN vault_id END, "
        "source_sha256 = CASE WHEN typeof(source_sha256) = 'blob' THEN source_sha256 END "
        "WHERE id = ?",
        (*_column_values(page), page.path, page.slug, page.sha256, now, now, page_id),
    )


def expected_rows(page: Page) -> dict[str, object]:
    """Return the derived columns, chunks and references that a page must have."""
    return {
        "columns": _column_values(page),
        "chunks": [
            (c.section, c.part, c.kind, c.date, c.byte_start, c.byte_stop, c.first_line,
             c.last_line, c.hash, json.dumps(c.heading_path, ensure_ascii=False), c.text)
            for c in page.chunks
        ],
        "references": (
            [
                (x.line, x.kind, x.target, fold_name(x.target), x.heading, x.label)
                for x in page.links
            ],
            sorted((key, kind, key[::-1]) for key, kind in page_writer.name_keys(page)),
            sorted((tag,) for tag in dict.fromkeys(page.tags)),
        ),
    }  # fmt: skip


def stored_rows(connection: sqlite3.Connection, page_id: int) -> dict[str, object]:
    """Return the derived columns, chunks and references that a page has."""

    def select(columns: str, rest: str) -> list[tuple[object, ...]]:
        return connection.execute(f"SELECT {columns} FROM {rest}", (page_id,)).fetchall()

    return {
        "columns": select(_COLUMNS, "pages WHERE id = ?")[0],
        "chunks": select(
            "section, part, kind, date, byte_start, byte_stop, first_line, last_line, hash, "
            "heading_path, text",
            "chunks WHERE page_id = ? ORDER BY section, part",
        ),
        "references": (
            select("line, kind, target, key, heading, label",
                   "links WHERE page_id = ? ORDER BY position"),
            sorted(select("key, kind, reversed", "names WHERE page_id = ?")),
            sorted(select("tag", "tags WHERE page_id = ?")),
        ),
    }  # fmt: skip
