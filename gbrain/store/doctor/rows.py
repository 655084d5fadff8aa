"""Checks of rows (wrong values, missing parents, settings), and the rebuild of derived rows."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import suppress

from gbrain.config import all_settings, parse_value
from gbrain.errors import BadSetting
from gbrain.store import chunks, indexed_text, page_writer, settings
from gbrain.store.doctor.findings import RESTORE, Examination, Finding
from gbrain.store.reparse import parse_stored
from gbrain.store.schema import DERIVED_TABLES, KEYWORD_INDEXES, TABLES_1, TABLES_2, own_objects
from gbrain.text.slug import fold_name
from gbrain.types import Page

_VALID_TYPE = {
    "TEXT": "typeof({0}) = 'text' AND is_utf8(CAST({0} AS BLOB))",
    # No count, measure or time in microseconds is close to these bounds.
    "INTEGER": "typeof({0}) = 'integer' AND {0} BETWEEN -1e16 AND 1e16",
    "BLOB": "typeof({0}) = 'blob'",
    "REAL": "typeof({0}) IN ('real', 'integer')",
}
_JSON_TYPES = {
    ("pages", "meta"): "object",
    ("chunks", "heading_path"): "array",
    ("question_hits", "features"): "array",
}
# Rows that are rebuilt or, as nothing else has their text, kept.
_NOT_DELETED = {"pages", "versions", *DERIVED_TABLES}


def is_timestamp(column: str) -> str:
    """Return SQL that is true when a column starts with a date, as gbrain writes times."""
    return f"{column} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"


def wrong_values(examination: Examination) -> Counter[str] | Finding:
    connection = examination.connection
    counts: Counter[str] = Counter()
    for table, wrong in _wrong_row_conditions(connection).items():
        rows = connection.execute(f"SELECT count(*) FROM {table} WHERE {wrong}")
        counts[table] = rows.fetchone()[0]
    counts = +counts
    if set(counts) == {"versions"}:
        count = counts["versions"]
        details = (f"versions: {count}",)
        return Finding("problem", f"rows with wrong values: {count:,}", RESTORE, count, details)
    return counts


def delete_wrong_rows(connection: sqlite3.Connection) -> None:
    """Delete rows with wrong values that are neither of pages nor derived from them."""
    for table, wrong in _wrong_row_conditions(connection).items():
        if table not in _NOT_DELETED:
            connection.execute(f"DELETE FROM {table} WHERE {wrong}")


def _wrong_row_conditions(connection: sqlite3.Connection) -> dict[str, str]:
    """Return SQL that is true for rows with a value gbrain never writes, by table of gbrain."""
    connection.create_function("is_utf8", 1, _is_utf8, deterministic=True)
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    tables = [name for (name,) in rows]
    own = own_objects(tables)
    conditions = {}
    for table in tables:
        if own.get(table, "").startswith("CREATE TABLE"):
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            valid = (
                _is_valid(table, name, kind, required=bool(not_null or key))
                for _, name, kind, not_null, _, key in columns
            )
            conditions[table] = f"NOT (({') AND ('.join(valid)}))"
    return conditions


def _is_valid(table: str, name: str, kind: str, *, required: bool) -> str:
    """Return SQL that is true when a column has a value that gbrain could have written."""
    condition = _VALID_TYPE[kind].format(name)
    if name.endswith("_at") and kind == "TEXT":
        condition += f" AND {is_timestamp(name)}"
    if (table, name) == ("versions", "ending"):
        condition += " AND ending IN ('replaced', 'deleted', 'renamed', 'guessed', 'undone')"
    json_type = _JSON_TYPES.get((table, name))
    if json_type:
        actual = f"CASE WHEN json_valid({name}) THEN json_type({name}) END"
        condition += f" AND {actual} IS '{json_type}'"
    return condition if required else f"{name} IS NULL OR {condition}"


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _count_stray_rows(connection: sqlite3.Connection) -> Counter[tuple[str, str]]:
    """Return the number of rows without a parent, by (table, parent table)."""
    rows = connection.execute("PRAGMA foreign_key_check")
    return Counter((table, parent) for table, _, parent, _ in rows)


def stray_rows(examination: Examination) -> Counter[str]:
    counts = sorted(_count_stray_rows(examination.connection).items())
    return Counter({f"{t} without {parent}": n for (t, parent), n in counts if t != "chunks"})


def stray_chunks(examination: Examination) -> int:
    return _count_stray_rows(examination.connection)["chunks", "pages"]


def delete_stray_rows(connection: sqlite3.Connection) -> None:
    """Delete rows without a parent; a page of an unknown folder becomes one of no folder."""
    for table, parent in _count_stray_rows(connection):
        if table == "pages":
            connection.execute(
                "UPDATE pages SET vault_id = NULL, source_sha256 = NULL "
                "WHERE vault_id NOT IN (SELECT id FROM vaults)"
            )
            continue
        key = {"embedding_models": "model_id", "vaults": "vault_id"}.get(parent, "page_id")
        name = table.replace('"', '""')
        connection.execute(f'DELETE FROM "{name}" WHERE {key} NOT IN (SELECT id FROM "{parent}")')


def _sort_settings(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
    """Return the stored settings with a value they cannot have, and those that are unknown."""
    bad: list[str] = []
    unknown: list[str] = []
    for name, value in sorted(settings.read_settings(connection).items()):
        if name not in all_settings():
            unknown.append(name)
            continue
        try:
            parse_value(name, value)
        except BadSetting:
            bad.append(name)
    return bad, unknown


def bad_settings(examination: Examination) -> list[str] | Finding:
    bad, unknown = _sort_settings(examination.connection)
    if bad or not unknown:
        return bad
    fix = "A newer gbrain may know them; gbrain config reset NAME removes one."
    message = f"unknown settings: {len(unknown)}"
    return Finding("note", message, fix, len(unknown), tuple(unknown))


def reset_bad_settings(examination: Examination) -> None:
    """Set invalid settings to their default; unknown ones stay."""
    for name in _sort_settings(examination.connection)[0]:
        settings.remove_setting(examination.connection, name)


# --- rows that are derived from the texts of pages -------------------------------------------

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
    indexed_text.rebuild_indexes(connection)


def create_empty_index(connection: sqlite3.Connection, table: str) -> None:
    """Replace a keyword index, of which some tables may be missing, by an empty one."""
    # DROP TABLE opens the index first, which fails when it is damaged.
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("DELETE FROM sqlite_schema WHERE name = ?", (table,))
    connection.execute("PRAGMA writable_schema = RESET")
    for suffix in ("data", "idx", "content", "docsize", "config"):
        connection.execute(f"DROP TABLE IF EXISTS {table}_{suffix}")
    connection.execute(own_objects()[table])
    for statement in (TABLES_1 + TABLES_2).split(";\n"):
        if statement.strip().startswith(f"INSERT INTO {table} "):
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
