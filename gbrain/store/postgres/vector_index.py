"""The HNSW indexes over the vectors of a shared store, one for each model: find, create."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row, SharedStore

# With fewer vectors an exact search is as fast, and an index would only slow writes.
MIN_INDEXED_VECTORS = 10_000


class MissingIndex(NamedTuple):
    """A model with many vectors and no index over them; `building` if somebody creates it now."""

    model: int
    dimension: int
    building: bool


def index_name(model: int) -> str:
    """Return the name of the index over the vectors of a model."""
    return f"vectors_nearest_{model}"


def has_index(cursor: Cursor[Row], model: int) -> bool:
    """Return whether the vectors of a model have an index that is complete."""
    row = cursor.execute(
        "SELECT EXISTS (SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(%s) AND indisvalid)",
        (f"gbrain.{index_name(model)}",),
    ).fetchone()
    return bool(row and row[0])


def missing_indexes(cursor: Cursor[Row]) -> list[MissingIndex]:
    """Return the models with many vectors and no index over them."""
    if cursor.execute("SELECT to_regclass('gbrain.vectors')").fetchone() == (None,):
        return []
    # Who may not see what another role builds sees at least that it builds something.
    row = cursor.execute(
        "SELECT EXISTS (SELECT 1 FROM pg_stat_progress_create_index "
        "WHERE datname = current_database() "
        "AND coalesce(relid, 'gbrain.vectors'::regclass) = 'gbrain.vectors'::regclass)"
    ).fetchone()
    building = bool(row and row[0])
    models = cursor.execute("SELECT id, dimension FROM gbrain.models ORDER BY id").fetchall()
    return [
        MissingIndex(int(model), int(dimension), building)
        for model, dimension in models
        if not has_index(cursor, model) and _has_many_vectors(cursor, model)
    ]


def create_vector_indexes(store: SharedStore) -> list[str]:
    """Create the missing index of every model with many vectors; return their names.

    Pages and vectors can be written meanwhile. Needs the owner of the tables. What a killed run
    left behind is built again; what another machine builds now is left to it.
    """
    import psycopg

    with store.transaction() as cursor:
        wanted = [each for each in missing_indexes(cursor) if not each.building]
    for model, dimension, _ in wanted:
        name = index_name(model)
        # Outside of a transaction: an index over a million vectors takes many minutes, in which a
        # transaction would stop every writer. The schema of pgvector is looked up in the catalog.
        try:
            row = store.connection.execute(
                "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n "
                "ON n.oid = extnamespace WHERE extname = 'vector'"
            ).fetchone()
            place = row[0] if row else "public"
            for sql in (
                f"DROP INDEX CONCURRENTLY IF EXISTS gbrain.{name}",
                f"CREATE INDEX CONCURRENTLY {name} ON gbrain.vectors USING hnsw "
                f"((vector::{place}.halfvec({dimension})) {place}.halfvec_ip_ops) "
                f"WHERE model = {model}",
            ):
                store.connection.execute(sql.encode())
        except psycopg.Error as error:
            from gbrain.store.postgres.connection import explain_error

            raise explain_error(error, store.url) from error
    return [index_name(each.model) for each in wanted]


def _has_many_vectors(cursor: Cursor[Row], model: int) -> bool:
    row = cursor.execute(
        "SELECT 1 FROM gbrain.vectors WHERE model = %s OFFSET %s LIMIT 1",
        (model, MIN_INDEXED_VECTORS - 1),
    ).fetchone()
    return row is not None
