"""Find the chunks of a shared store whose vectors are nearest to a query's, by HNSW or exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString, NamedTuple

from gbrain.store.postgres.scope import PagesInScope, SharedCondition

if TYPE_CHECKING:
    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row
    from gbrain.store.vector_space import Floats

# Chunks that a search keeps in view (ef_search; at most 1,000). They must hold more than one group
# of similar chunks: in a brain of 1,600 texts with a hundred variants each, recall@10 of 300
# questions was .914 with 100, .959 with 200, .983 with 400 and .997 with 800. To find the 500
# chunks of a query, 400 take as long as 800 (14 ms), because the scan must go on.
_SEARCHED = 800
# With a filter, the scan ends here, and all chunks in scope are compared: a filter that leaves none
# of the chunks near a query would otherwise be checked for most of the store.
_MAX_SCANNED = 20_000
# An exact search of so many chunks takes a few milliseconds, and finds every one.
_MAX_EXACT_CHUNKS = 5_000
_SAMPLED_CHUNKS = 2_000

# pgvector goes on with a scan until a filter has left enough rows. A plan made for any filter would
# not fit most. The last three make the index the start of the plan, and the filter a check.
_SETTINGS: LiteralString = (
    "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), "
    f"set_config('hnsw.ef_search', '{_SEARCHED}', true), "
    f"set_config('hnsw.max_scan_tuples', '{_MAX_SCANNED}', true), "
    "set_config('hnsw.scan_mem_multiplier', '4', true), "
    "set_config('enable_sort', %(other)s, true), set_config('enable_hashjoin', %(other)s, true), "
    "set_config('enable_mergejoin', %(other)s, true)"
)

Nearest = list[tuple[int, int, float]]


class EmbeddedModel(NamedTuple):
    """A model of which the shared store has vectors."""

    id: int
    identity: str


def main_model(cursor: Cursor[Row]) -> EmbeddedModel | None:
    """Return the model with which most chunks are embedded, of equals the latest.

    None if no chunk is. Asks for a sample of the chunks.
    """
    if cursor.execute("SELECT to_regclass('gbrain.vectors')").fetchone() == (None,):
        return None
    row = cursor.execute("SELECT chunks FROM gbrain.search_totals").fetchone()
    percent = 100 * _SAMPLED_CHUNKS / max(row[0] if row else 0, _SAMPLED_CHUNKS)
    row = cursor.execute(
        "SELECT m.id, m.identity FROM gbrain.search_chunks c TABLESAMPLE SYSTEM (%s) "
        "REPEATABLE (1) JOIN gbrain.vectors v ON v.hash = c.hash "
        "AND v.model = ANY(ARRAY(SELECT id FROM gbrain.models)) "
        "JOIN gbrain.models m ON m.id = v.model "
        "GROUP BY m.id ORDER BY count(*) DESC, m.id DESC LIMIT 1",
        (percent,),
    ).fetchone()
    return EmbeddedModel(*row) if row else None


def nearest_chunks(
    cursor: Cursor[Row],
    model: int,
    query: Floats,
    limits: tuple[int, int],
    scope: tuple[PagesInScope, SharedCondition] | None,
    *,
    indexed: bool,
) -> Nearest:
    """Return (page id, position, cosine) of the first of `limits` chunks in scope, best first.

    If the vectors are `indexed`, and the pages in scope not few, the index is searched, and the
    second of `limits` applies. Fewer are returned only if no more are in scope. `scope` has the
    pages and the condition for chunks of these; it is None without a filter.
    """
    vector = "[" + ",".join(f"{number:.7g}" for number in query.tolist()) + "]"
    few = scope and scope[0].ids is not None and scope[0].chunks <= _MAX_EXACT_CHUNKS
    limit = limits[0]
    rows: list[Row] = []
    if indexed and not few:
        limit = limits[1]
        rows = _search_index(cursor, model, vector, limit, scope)
    if len(rows) < limit:
        rows = _search_exactly(cursor, model, vector, limit, scope)
    found = [(page, position, float(cosine)) for page, position, cosine in rows]
    return sorted(found, key=lambda row: (-row[2], row[:2]))


def _search_index(
    cursor: Cursor[Row],
    model: int,
    vector: str,
    limit: int,
    scope: tuple[PagesInScope, SharedCondition] | None,
) -> list[Row]:
    """Return chunks by way of the index; the order is not exact, and some may be missing."""
    distance = f"v.vector::halfvec({_count_numbers(vector)}) <#> %s::halfvec"
    pages, inside = "", SharedCondition("true", ())
    if scope:
        pages = "JOIN gbrain.search_pages p ON p.id = c.page "
        within, days = scope[0].condition, scope[1]
        inside = SharedCondition(f"{within.sql} AND {days.sql}", (*within.values, *days.values))
    # The limit is that of chunks: texts that were changed have left vectors without one.
    sql = (
        "SELECT c.page, c.position, -(v.vector::vector <#> %s::vector) FROM gbrain.vectors v "
        f"JOIN gbrain.search_chunks c ON c.hash = v.hash {pages}"
        f"WHERE v.model = {model} AND {inside.sql} ORDER BY {distance} LIMIT {limit}"
    )
    # One round trip for the search and the settings around it.
    with cursor.connection.pipeline():
        cursor.execute(_SETTINGS, {"other": "off"})
        found = cursor.connection.cursor().execute(sql.encode(), (vector, *inside.values, vector))
        cursor.connection.cursor().execute(_SETTINGS, {"other": "on"})
    return found.fetchall()


def _search_exactly(
    cursor: Cursor[Row],
    model: int,
    vector: str,
    limit: int,
    scope: tuple[PagesInScope, SharedCondition] | None,
) -> list[Row]:
    """Return the nearest of all chunks in scope."""
    inside = SharedCondition("true", ())
    if scope:
        (within, ids, _), days = scope
        if ids is None:
            sql = f"SELECT p.id FROM gbrain.search_pages p WHERE {within.sql}"
            ids = [row[0] for row in _execute(cursor, sql, within.values)]
        inside = SharedCondition(f"c.page = ANY(%s) AND {days.sql}", (ids, *days.values))
    # The query in half precision orders the chunks, and the score of the best is computed in full.
    return _execute(
        cursor,
        "SELECT page, position, -(vector::vector <#> %s::vector) FROM (SELECT c.page, c.position, "
        "v.vector FROM gbrain.search_chunks c JOIN gbrain.search_pages p ON p.id = c.page "
        f"JOIN gbrain.vectors v ON v.model = {model} AND v.hash = c.hash WHERE {inside.sql} "
        f"ORDER BY v.vector <#> %s::halfvec, c.page, c.position LIMIT {limit}) AS best",
        (vector, *inside.values, vector),
    )


def read_vectors(
    cursor: Cursor[Row], model: int, chunks: list[tuple[int, int]]
) -> list[tuple[int, int, str]]:
    """Return (page id, position, vector as text) of those of the chunks that have one."""
    return _execute(
        cursor,
        "SELECT c.page, c.position, v.vector::text FROM unnest(%s::bigint[], %s::int[]) AS "
        "wanted (page, position) JOIN gbrain.search_chunks c USING (page, position) "
        f"JOIN gbrain.vectors v ON v.model = {int(model)} AND v.hash = c.hash",
        ([page for page, _ in chunks], [position for _, position in chunks]),
    )


def _count_numbers(vector: str) -> int:
    return vector.count(",") + 1


def _execute(cursor: Cursor[Row], sql: str, values: tuple[object, ...]) -> list[Row]:
    # The statement has no text of a user: that is in the values.
    return cursor.execute(sql.encode(), values).fetchall()
