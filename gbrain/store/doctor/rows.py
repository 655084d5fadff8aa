"""Checks and repairs of single rows: values of a wrong type, rows without a parent, settings."""

from __future__ import annotations

import sqlite3
from collections import Counter
from itertools import groupby
from typing import NamedTuple

from gbrain.config import all_settings, parse_value
from gbrain.errors import BadSetting
from gbrain.store import settings
from gbrain.store.doctor.findings import RESTORE, Examination, Finding
from gbrain.store.schema import DERIVED_TABLES, own_objects

_VALID_TYPE = {
    "TEXT": "typeof({0}) = 'text'",
    # No count, measure or time in microseconds comes near these bounds.
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


class _Column(NamedTuple):
    name: str
    type: str
    required: bool
    place_in_key: int


class _WrongRow(NamedTuple):
    """A row with an invalid value, by its primary key as bytes."""

    table: str
    key: tuple[bytes | None, ...]


def is_timestamp(column: str) -> str:
    """Return SQL that is true when a column starts with a date, as gbrain writes times."""
    return f"{column} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"


def wrong_values(examination: Examination) -> Counter[str] | Finding:
    counts = Counter(row.table for row in _wrong_rows(examination.connection))
    if set(counts) == {"versions"}:
        count = counts["versions"]
        details = (f"versions: {count}",)
        return Finding("problem", f"rows with wrong values: {count:,}", RESTORE, count, details)
    return counts


def delete_wrong_rows(connection: sqlite3.Connection) -> None:
    """Delete rows with wrong values that are neither of pages nor derived from them."""
    for table, rows in groupby(_wrong_rows(connection), lambda row: row.table):
        if table not in _NOT_DELETED:
            key = _key_columns(_columns(connection, table))
            condition = " AND ".join(f"CAST({name} AS BLOB) IS ?" for name in key)
            connection.executemany(
                f"DELETE FROM {table} WHERE {condition}", [row.key for row in rows]
            )


def _wrong_rows(connection: sqlite3.Connection) -> list[_WrongRow]:
    """Return the rows of gbrain's tables that have a value gbrain never writes."""
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    tables = [name for (name,) in rows]
    own = own_objects(tables)
    return [
        _WrongRow(table, key)
        for table in tables
        if own.get(table, "").startswith("CREATE TABLE")
        for key in _wrong_keys(connection, table)
    ]


def _columns(connection: sqlite3.Connection, table: str) -> list[_Column]:
    rows = connection.execute(f"PRAGMA table_info({table})")
    return [_Column(name, kind, bool(needed or key), key) for _, name, kind, needed, _, key in rows]


def _key_columns(columns: list[_Column]) -> list[str]:
    ordered = sorted(columns, key=lambda column: column.place_in_key)
    return [column.name for column in ordered if column.place_in_key]


def _wrong_keys(connection: sqlite3.Connection, table: str) -> dict[tuple[bytes | None, ...], None]:
    columns = _columns(connection, table)
    key_columns = _key_columns(columns)
    key = ", ".join(f"CAST({name} AS BLOB)" for name in key_columns)
    valid = " AND ".join(f"({_is_valid(table, column)})" for column in columns)
    wrong = connection.execute(f"SELECT {key} FROM {table} WHERE NOT ({valid})").fetchall()
    texts = [column.name for column in columns if column.type == "TEXT"]
    if texts and not _all_utf8(connection, f"SELECT {', '.join(texts)} FROM {table}"):
        as_bytes = ", ".join(f"CAST({name} AS BLOB)" for name in texts)
        width = len(key_columns)
        for row in connection.execute(f"SELECT {key}, {as_bytes} FROM {table}"):
            if not all(value is None or _is_utf8(value) for value in row[width:]):
                wrong.append(row[:width])
    return dict.fromkeys(wrong)


def _is_valid(table: str, column: _Column) -> str:
    """Return SQL that is true when a column has a value that gbrain could have written."""
    condition = _VALID_TYPE[column.type].format(column.name)
    if column.name.endswith("_at") and column.type == "TEXT":
        condition += f" AND {is_timestamp(column.name)}"
    if (table, column.name) == ("versions", "ending"):
        condition += " AND ending IN ('replaced', 'deleted', 'renamed')"
    json_type = _JSON_TYPES.get((table, column.name))
    if json_type:
        actual = f"CASE WHEN json_valid({column.name}) THEN json_type({column.name}) END"
        condition += f" AND {actual} IS '{json_type}'"
    return condition if column.required else f"{column.name} IS NULL OR {condition}"


def _all_utf8(connection: sqlite3.Connection, query: str) -> bool:
    """Return whether all texts are UTF-8; letting Python decode them is the fastest way."""
    lenient, connection.text_factory = connection.text_factory, str
    try:
        for _ in connection.execute(query):
            pass
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
        return False
    finally:
        connection.text_factory = lenient
    return True


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
        key = "model_id" if parent == "embedding_models" else "page_id"
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
