"""Embedding models registered in the brain; at most one is active."""

from __future__ import annotations

import sqlite3
from time import time_ns
from typing import Any, Literal, NamedTuple

from gbrain.errors import Conflict, NotFound
from gbrain.store.vector_space import VectorSpace
from gbrain.store.vectors import create_vector_tables, has_all_vectors, remove_all_vectors

# `next` is embedding and becomes active when it has all vectors, `previous` was active before.
Role = Literal["next", "previous"]


class ModelRow(NamedTuple):
    """A registered model; `folder` is None for a packaged one.

    `description` is the JSON from which the model is opened; `files_stamp` is the stamp of its
    files when they were last verified.
    """

    id: int
    name: str
    identity: str
    sha256: str
    pooling: str
    query_prefix: str
    passage_prefix: str
    dimension: int
    max_tokens: int
    description: str
    folder: str | None
    files_stamp: str | None
    active: bool

    @property
    def space(self) -> VectorSpace:
        return VectorSpace(self.id, self.dimension)


_COLUMNS = (
    "id, name, identity, sha256, pooling, query_prefix, passage_prefix, dimension, max_tokens, "
    "description, folder, files_stamp, active"
)


def _from_row(row: tuple[Any, ...]) -> ModelRow:
    values = [*row[:-1], bool(row[-1])]
    return ModelRow(*values)


def list_models(connection: sqlite3.Connection) -> list[ModelRow]:
    """Return all registered models in the order they were added."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM embedding_models ORDER BY id")
    return [_from_row(row) for row in rows]


def active_model(connection: sqlite3.Connection) -> ModelRow | None:
    """Return the active model; None if there is none."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM embedding_models WHERE active").fetchone()
    return _from_row(row) if row else None


def require_model(connection: sqlite3.Connection, name: str) -> ModelRow:
    """Return the model with this name; raise NotFound if there is none."""
    for model in list_models(connection):
        if model.name == name:
            return model
    raise NotFound(
        f"There is no model {name!r}", hint="gbrain model list shows the models.", code="no_model"
    )


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
    description: str,
    folder: str | None,
    now: str,
) -> None:
    """Register a model and create its vector tables; a known model takes the new name."""
    taken = connection.execute(
        "SELECT 1 FROM embedding_models WHERE name = ? AND identity <> ?", (name, identity)
    ).fetchone()
    if taken:
        raise Conflict(
            f"Another model is already called {name}",
            hint="Choose another name with --name.",
            code="name_taken",
        )
    create_vector_tables(connection, dimension)
    # Never the id of a removed model: a worker may still be embedding with that.
    last = connection.execute("SELECT max(id) FROM embedding_models").fetchone()[0]
    model_id = max((last or 0) + 1, time_ns() // 1000)
    connection.execute(
        "INSERT INTO embedding_models (id, name, identity, sha256, pooling, query_prefix, "
        "passage_prefix, dimension, max_tokens, description, folder, added_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (identity) DO UPDATE SET name = excluded.name, folder = excluded.folder, "
        "description = excluded.description",
        (model_id, name, identity, sha256, pooling, query_prefix, passage_prefix, dimension,
         max_tokens, description, folder, now),
    )  # fmt: skip


def rename_earlier_version(connection: sqlite3.Connection, name: str, identity: str) -> None:
    """Add the start of its identity to the name of a packaged model with another identity."""
    connection.execute(
        "UPDATE embedding_models SET name = name || '-' || substr(identity, 1, 8) "
        "WHERE name = ? AND identity <> ? AND folder IS NULL",
        (name, identity),
    )


def save_files_stamp(connection: sqlite3.Connection, model: ModelRow, stamp: str) -> None:
    """Record the stamp of a model's files, which were verified just now."""
    connection.execute(
        "UPDATE embedding_models SET files_stamp = ? WHERE id = ?", (stamp, model.id)
    )


def activate_model(
    connection: sqlite3.Connection, model: ModelRow, now: str, *, trial: bool = False
) -> None:
    """Make this the active model, and clear the embedding queue.

    Unless it is a `trial`, this ends a switch to another one and remembers the one before.
    """
    before = active_model(connection)
    if not trial:
        if before and before.id != model.id:
            set_role(connection, "previous", before, now)
        set_role(connection, "next", None, now)
    connection.execute("UPDATE embedding_models SET active = (id = ?)", (model.id,))
    connection.execute("DELETE FROM embedding_jobs")


def model_in_role(connection: sqlite3.Connection, role: Role) -> ModelRow | None:
    """Return the model that has a role in a switch of models; None if none has."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM embedding_models "
        "WHERE identity = (SELECT value FROM learned WHERE name = ?)",
        (f"{role} model",),
    ).fetchone()
    return _from_row(row) if row else None


def set_role(connection: sqlite3.Connection, role: Role, model: ModelRow | None, now: str) -> None:
    """Give a role in a switch of models to a model, or to none."""
    if model is None:
        connection.execute("DELETE FROM learned WHERE name = ?", (f"{role} model",))
    else:
        connection.execute(
            "INSERT OR REPLACE INTO learned (name, made_at, value) VALUES (?, ?, ?)",
            (f"{role} model", now, model.identity),
        )


def finish_switch(connection: sqlite3.Connection, now: str) -> ModelRow | None:
    """Make the next model active if it has all vectors; return it then, else None."""
    model = model_in_role(connection, "next")
    if model is None or not has_all_vectors(connection, model.space):
        return None
    activate_model(connection, model, now)
    return model


def remove_model(connection: sqlite3.Connection, model: ModelRow) -> int:
    """Remove a model and its vectors; return how many vectors were deleted."""
    deleted = remove_all_vectors(connection, model.space)
    connection.execute("DELETE FROM embedding_models WHERE id = ?", (model.id,))
    return deleted
