"""Indexes that are created when their table is filled: over vectors (HNSW) and over words (GIN).

Filling a table without them takes a tenth of the time. Searches without them are slow, not wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gbrain.errors import GbrainError
from gbrain.store.postgres.connection import SharedStore, explain_error

if TYPE_CHECKING:
    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row

# With fewer vectors an exact search is as fast, and an index would only slow writes.
MIN_INDEXED_VECTORS = 10_000
# With pgvector's default of 64, recall@10 was .956 where it is .996 now (162,204 chunks, 270
# questions, ef_search 200): for one question in thirty the graph did not lead to the nearest ones.
# The index takes about twice as long to build.
_SEARCHED_WHILE_BUILDING = 200
# The indexes over words, by name. The tables are created with them.
WORD_INDEXES = {
    "search_pages_words": "ON gbrain.search_pages USING gin (words) WITH (fastupdate = off)",
    "search_chunks_words": "ON gbrain.search_chunks USING gin (words) WITH (fastupdate = off)",
}


# What HNSW keeps in memory of a vector besides its numbers. Without room for all of them it goes on
# on disk, with almost three times the CPU time (162,000 vectors, pgvector's ef_construction of 64).
_GRAPH_BYTES = 900


class MissingIndex(NamedTuple):
    """An index to create: its name, the rest of its definition, the memory in MB that it needs.

    `memory` is 0 for what the server gives. `is_building` if somebody creates an index of that
    table now.
    """

    name: str
    definition: str
    memory: int
    is_building: bool


def index_name(model: int) -> str:
    """Return the name of the index over the vectors of a model."""
    return f"vectors_nearest_{model}"


def missing_indexes(cursor: Cursor[Row]) -> list[MissingIndex]:
    """Return the indexes over words and over the vectors of models with many that are missing."""
    complete = _complete_indexes(cursor)
    wanted = [(name, sql, 0) for name, sql in WORD_INDEXES.items() if name not in complete]
    row = cursor.execute(
        "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
        "WHERE extname = 'vector' AND to_regclass('gbrain.vectors') IS NOT NULL"
    ).fetchone()
    if row:
        models = cursor.execute("SELECT id, dimension FROM gbrain.models ORDER BY id").fetchall()
        for model, dimension in models:
            if index_name(model) in complete or not _has_many_vectors(cursor, model):
                continue
            definition = (
                f"ON gbrain.vectors USING hnsw ((vector::{row[0]}.halfvec({dimension})) "
                f"{row[0]}.halfvec_ip_ops) WITH (ef_construction = {_SEARCHED_WHILE_BUILDING}) "
                f"WHERE model = {model}"
            )
            wanted.append((index_name(model), definition, _needed_memory(cursor, model, dimension)))
    if not wanted:
        return []
    # Who may not see what another role builds sees at least that it builds something.
    rows = cursor.execute(
        "SELECT relid::regclass::text FROM pg_stat_progress_create_index "
        "WHERE datname = current_database()"
    )
    tables = {table if table is None else table.rpartition(".")[2] for (table,) in rows}
    return [
        MissingIndex(
            name, sql, memory, not tables.isdisjoint((None, sql.split()[1].partition(".")[2]))
        )
        for name, sql, memory in wanted
    ]


def create_indexes(store: SharedStore, before: Callable[[], None] = lambda: None) -> list[str]:
    """Create the missing indexes and return their names; call `before` first if there are any.

    Pages and vectors can be written meanwhile. Needs the owner of the tables. What a killed run
    left behind is built again; what another machine builds now is left to it.
    """
    with store.transaction() as cursor:
        wanted = [each for each in missing_indexes(cursor) if not each.is_building]
    if wanted:
        before()
    for each in wanted:
        if each.memory:
            # A pooler may refuse the setting, and a container may have too little shared memory.
            with suppress(GbrainError), SharedStore(store.url, memory=each.memory) as large:
                _create_index(large, each)
                continue
        _create_index(store, each)
    return [each.name for each in wanted]


def _create_index(store: SharedStore, missing: MissingIndex) -> None:
    import psycopg

    # Outside of a transaction: an index over a million vectors takes many minutes, in which a
    # transaction would stop every writer.
    try:
        for sql in (
            f"DROP INDEX CONCURRENTLY IF EXISTS gbrain.{missing.name}",
            f"CREATE INDEX CONCURRENTLY {missing.name} {missing.definition}",
        ):
            store.connection.execute(sql.encode())
    except psycopg.Error as error:
        raise explain_error(error, store.url) from error


def drop_word_indexes(cursor: Cursor[Row]) -> None:
    """Drop the indexes over words before many rows are written, if this user owns them."""
    import psycopg

    # In use by a long search: then they stay.
    refusals = (psycopg.errors.InsufficientPrivilege, psycopg.errors.LockNotAvailable)
    with suppress(*refusals), cursor.connection.transaction():
        for name in WORD_INDEXES:
            cursor.execute(f"DROP INDEX IF EXISTS gbrain.{name}".encode())


def _complete_indexes(cursor: Cursor[Row]) -> set[str]:
    rows = cursor.execute(
        "SELECT relname FROM pg_index JOIN pg_class c ON c.oid = indexrelid "
        "WHERE relnamespace = to_regnamespace('gbrain') AND indisvalid"
    )
    return {row[0] for row in rows}


def _needed_memory(cursor: Cursor[Row], model: int, dimension: int) -> int:
    """Return the MB that an index over all vectors of a model is built in, or 0 for the default.

    At most a quarter of what the server assumes to have for caching.
    """
    row = cursor.execute(
        "SELECT (SELECT count(*) FROM gbrain.vectors WHERE model = %s), "
        "pg_size_bytes(current_setting('effective_cache_size')), "
        "pg_size_bytes(current_setting('maintenance_work_mem'))",
        (model,),
    ).fetchone()
    assert row is not None
    count, cache, default = row
    needed = min(count * (2 * dimension + _GRAPH_BYTES), cache // 4)
    return needed // 2**20 if needed > default else 0


def _has_many_vectors(cursor: Cursor[Row], model: int) -> bool:
    row = cursor.execute(
        "SELECT 1 FROM gbrain.vectors WHERE model = %s OFFSET %s LIMIT 1",
        (model, MIN_INDEXED_VECTORS - 1),
    ).fetchone()
    return row is not None
