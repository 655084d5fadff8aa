"""Find the chunks of a shared store whose vectors are nearest to a query's, by HNSW or exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString, NamedTuple

from gbrain.store.postgres.indexes import has_index
from gbrain.store.postgres.scope import SharedCondition

if TYPE_CHECKING:
    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row
    from gbrain.store.vector_space import Floats

# Measured on 162,204 chunks with 270 questions: recall@10 .992 with 100, .996 with 200 and with
# 400, .997 with 1,000; 10, 10, 12 and 14 ms of processor time. A larger store needs more than 200.
_SEARCHED = 400
_MAX_SCANNED = 100_000
# An exact search of so many chunks takes a few milliseconds, and finds every one.
_MAX_EXACT_CHUNKS = 5_000
_MAX_EXACT_PAGES = 2_000
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
    scope: tuple[SharedCondition, SharedCondition] | None,
) -> Nearest:
    """Return (page id, position, cosine) of the first of `limits` chunks in scope, best first.

    If the index is searched with a filter, the second of `limits` applies. Fewer are returned only
    if no more are in scope. `scope` has the conditions for pages and for chunks of
    these; it is None without a filter.
    """
    vector = "[" + ",".join(f"{number:.7g}" for number in query.tolist()) + "]"
    exact = not has_index(cursor, model) or (scope is not None and _is_small(cursor, scope[0]))
    within, limit = None, limits[0]
    if scope:
        pages, chunks = scope
        within = SharedCondition(f"{pages.sql} AND {chunks.sql}", (*pages.values, *chunks.values))
    rows: list[Row] = []
    if not exact:
        limit = limits[1] if scope else limit
        rows = _search_index(cursor, model, vector, limit, within)
    if len(rows) < limit:
        rows = _search_exactly(cursor, model, vector, limit, within)
    found = [(page, position, float(cosine)) for page, position, cosine in rows]
    return sorted(found, key=lambda row: (-row[2], row[:2]))


def _is_small(cursor: Cursor[Row], within: SharedCondition) -> bool:
    """Return whether few chunks are on pages in scope."""
    row = _execute(
        cursor,
        "SELECT count(*), coalesce(sum(chunks), 0) FROM (SELECT chunks FROM gbrain.search_pages p "
        f"WHERE {within.sql} LIMIT {_MAX_EXACT_PAGES + 1}) AS inside",
        within.values,
    )[0]
    return bool(row[0] <= _MAX_EXACT_PAGES and row[1] <= _MAX_EXACT_CHUNKS)


def _search_index(
    cursor: Cursor[Row], model: int, vector: str, limit: int, within: SharedCondition | None
) -> list[Row]:
    """Return chunks by way of the index; the order is not exact, and some may be missing."""
    distance = f"v.vector::halfvec({_count_numbers(vector)}) <#> %s::halfvec"
    pages = "JOIN gbrain.search_pages p ON p.id = c.page " if within else ""
    inside = within or SharedCondition("true", ())
    # The limit is that of chunks: texts that were changed have left vectors without one.
    sql = (
        "SELECT c.page, c.position, -(v.vector::vector <#> %s::vector) FROM gbrain.vectors v "
        f"JOIN gbrain.search_chunks c ON c.hash = v.hash {pages}"
        f"WHERE v.model = {model} AND {inside.sql} ORDER BY {distance} LIMIT {limit}"
    )
    return _execute(cursor, sql, (vector, *inside.values, vector), planned=True)


def _search_exactly(
    cursor: Cursor[Row], model: int, vector: str, limit: int, within: SharedCondition | None
) -> list[Row]:
    inside = within or SharedCondition("true", ())
    # The query in half precision orders the chunks, and the score of the best is computed in full.
    return _execute(
        cursor,
        "SELECT page, position, -(vector::vector <#> %s::vector) FROM (WITH inside "
        "AS MATERIALIZED (SELECT c.page, c.position, c.hash "
        "FROM gbrain.search_chunks c JOIN gbrain.search_pages p ON p.id = c.page "
        f"WHERE {inside.sql}) SELECT page, position, v.vector "
        f"FROM inside JOIN gbrain.vectors v ON v.model = {model} AND v.hash = inside.hash "
        f"ORDER BY v.vector <#> %s::halfvec, page, position LIMIT {limit}) AS best",
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


def _execute(
    cursor: Cursor[Row], sql: str, values: tuple[object, ...], *, planned: bool = False
) -> list[Row]:
    """Run a statement; `planned` makes the index its start."""
    if planned:
        cursor.execute(_SETTINGS, {"other": "off"})
    # The statement has no text of a user: that is in the values.
    rows = cursor.execute(sql.encode(), values).fetchall()
    if planned:
        cursor.execute(_SETTINGS, {"other": "on"})
    return rows
