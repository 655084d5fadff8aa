"""Find the chunks and pages that are dated inside periods, for questions about a time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from gbrain.store.scope import chunk_inside_condition, inside_condition, page_condition
from gbrain.types import Scope

Spans = tuple[tuple[str, str], ...]


class DatedChunk(NamedTuple):
    """A chunk with its days, or those of its page if `own` is 0."""

    page_id: int
    chunk_id: int
    first_day: str
    last_day: str
    own: int


def chunks_inside(
    connection: sqlite3.Connection, page_ids: Iterable[int], periods: Spans
) -> list[DatedChunk]:
    """Return the chunks of these pages dated inside the periods, in page order."""
    inside = chunk_inside_condition(periods)
    rows = connection.execute(
        "SELECT page_id, chunks.id, coalesce(chunks.first_day, pages.first_day), "
        "coalesce(chunks.last_day, pages.last_day), chunks.first_day IS NOT NULL "
        "FROM chunks JOIN pages ON pages.id = page_id "
        f"WHERE page_id IN (SELECT value FROM json_each(?)) AND {inside.sql} "
        "ORDER BY page_id, section, part",
        (json.dumps(list(page_ids)), *inside.values),
    )
    return [DatedChunk(*row) for row in rows]


def latest_pages_inside(
    connection: sqlite3.Connection, scope: Scope, limit: int
) -> list[tuple[int, str, str]]:
    """Return (id, slug, latest day) of the pages in `scope.periods`, the latest first.

    Of one day, pages that are dated themselves come before pages with an entry.
    """
    dated, own = inside_condition("c", scope.periods), inside_condition("p", scope.periods)
    within = page_condition(scope)
    rows = connection.execute(
        "WITH found AS ("
        f"SELECT c.page_id AS page_id, c.first_day AS day, 0 AS own FROM chunks AS c "
        f"WHERE {dated.sql} "
        f"UNION ALL SELECT p.id, p.first_day, 1 FROM pages AS p WHERE {own.sql} "
        "AND NOT EXISTS (SELECT 1 FROM chunks AS e WHERE e.page_id = p.id AND e.date = p.date)) "
        "SELECT pages.id, pages.slug, max(found.day) AS latest, max(found.own) AS dated "
        f"FROM found JOIN pages ON pages.id = found.page_id WHERE {within.sql} "
        "GROUP BY pages.id ORDER BY latest DESC, dated DESC, slug LIMIT ?",
        (*dated.values, *own.values, *within.values, limit),
    )
    return [row[:3] for row in rows]
