"""The embedding models a brain knows, one of them active."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model's identity as the brain keeps it; `folder` is None for a packaged one."""

    id: int
    name: str
    identity: str
    sha256: str
    pooling: str
    query_prefix: str
    passage_prefix: str
    dimension: int
    max_tokens: int
    folder: str | None
    active: bool


_COLUMNS = (
    "id, name, identity, sha256, pooling, query_prefix, passage_prefix, dimension, max_tokens, "
    "folder, active"
)


def _model(row: tuple[Any, ...]) -> ModelRow:
    values = [*row[:-1], bool(row[-1])]
    return ModelRow(*values)


def all_models(connection: sqlite3.Connection) -> list[ModelRow]:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM embedding_models ORDER BY id")
    return [_model(row) for row in rows]


def active_model(connection: sqlite3.Connection) -> ModelRow | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM embedding_models WHERE active").fetchone()
    return _model(row) if row else None


def add_model(
    connection: sqlite3.Connection,
    *,
    name: str,
    identity: str,
    sha256: str,
    pooling: str,
    query_prefix: str,
    passage_prefix: str,
    dimension: int,
    max_tokens: int,
    folder: str | None,
    now: str,
) -> None:
    """Makes a model known; one of the same name is replaced only if it is the same model."""
    connection.execute(
        "INSERT INTO embedding_models (name, identity, sha256, pooling, query_prefix, "
        "passage_prefix, dimension, max_tokens, folder, added_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (identity) DO UPDATE SET folder = excluded.folder",
        (name, identity, sha256, pooling, query_prefix, passage_prefix, dimension, max_tokens,
         folder, now),
    )  # fmt: skip


def activate(connection: sqlite3.Connection, name: str) -> None:
    """Makes `name` the model that queries and embeds; exactly one is active."""
    connection.execute("UPDATE embedding_models SET active = (name = ?)", (name,))
