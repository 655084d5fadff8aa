"""Where rows hold what gbrain never writes: values of another kind, numbers out of bounds, texts
that are not UTF-8 or not JSON."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from gbrain.store.schema import own_parts

_KINDS = {
    "TEXT": "typeof({0}) = 'text'",
    # No number that gbrain counts or measures comes near these.
    "INTEGER": "typeof({0}) = 'integer' AND {0} BETWEEN -1000000000000000 AND 1000000000000000",
    "BLOB": "typeof({0}) = 'blob'",
    "REAL": "typeof({0}) IN ('real', 'integer')",
}
_JSON = {
    ("pages", "meta"): "object",
    ("chunks", "heading_path"): "array",
    ("question_hits", "features"): "array",
}


def is_time(column: str) -> str:
    """SQL that tells whether a column holds a time as gbrain writes it, as far as one needs it."""
    return f"{column} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"


class WrongRow(NamedTuple):
    """A row by its primary key, each part as bytes."""

    table: str
    key: tuple[bytes | None, ...]


class _Column(NamedTuple):
    name: str
    kind: str
    required: bool
    place_in_key: int


def wrong_rows(connection: sqlite3.Connection) -> list[WrongRow]:
    """The rows of gbrain's tables that hold what they should not."""
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    there = [name for (name,) in rows]
    own = own_parts(there)
    return [
        WrongRow(table, key)
        for table in there
        if own.get(table, "").startswith("CREATE TABLE")
        for key in _wrong_keys(connection, table)
    ]


def _columns(connection: sqlite3.Connection, table: str) -> list[_Column]:
    rows = connection.execute(f"PRAGMA table_info({table})")
    return [_Column(name, kind, bool(needed or key), key) for _, name, kind, needed, _, key in rows]


def key_condition(connection: sqlite3.Connection, table: str) -> str:
    """What finds a row by its key: SQL with a place for each part of it."""
    return " AND ".join(f"CAST({name} AS BLOB) IS ?" for name in _key(connection, table))


def _key(connection: sqlite3.Connection, table: str) -> list[str]:
    columns = sorted(_columns(connection, table), key=lambda column: column.place_in_key)
    return [column.name for column in columns if column.place_in_key]


def _wrong_keys(connection: sqlite3.Connection, table: str) -> dict[tuple[bytes | None, ...], None]:
    columns = _columns(connection, table)
    key = ", ".join(f"CAST({name} AS BLOB)" for name in _key(connection, table))
    right = " AND ".join(f"({_right(table, column)})" for column in columns)
    wrong = connection.execute(f"SELECT {key} FROM {table} WHERE NOT ({right})").fetchall()
    texts = [column.name for column in columns if column.kind == "TEXT"]
    if texts and not _readable(connection, f"SELECT {', '.join(texts)} FROM {table}"):
        as_bytes = ", ".join(f"CAST({name} AS BLOB)" for name in texts)
        parts = key.count("CAST")
        for row in connection.execute(f"SELECT {key}, {as_bytes} FROM {table}"):
            if not all(value is None or _is_text(value) for value in row[parts:]):
                wrong.append(row[:parts])
    return dict.fromkeys(wrong)


def _right(table: str, column: _Column) -> str:
    condition = _KINDS[column.kind].format(column.name)
    if column.name.endswith("_at") and column.kind == "TEXT":
        condition += f" AND {is_time(column.name)}"
    if (table, column.name) == ("versions", "ending"):
        condition += " AND ending IN ('replaced', 'deleted', 'renamed')"
    shape = _JSON.get((table, column.name))
    if shape:
        json = f"CASE WHEN json_valid({column.name}) THEN json_type({column.name}) END"
        condition += f" AND {json} IS '{shape}'"
    return condition if column.required else f"{column.name} IS NULL OR {condition}"


def _readable(connection: sqlite3.Connection, question: str) -> bool:
    """Whether all texts are UTF-8; Python tells that fastest by reading them."""
    lenient, connection.text_factory = connection.text_factory, str
    try:
        for _ in connection.execute(question):
            pass
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
        return False
    finally:
        connection.text_factory = lenient
    return True


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
