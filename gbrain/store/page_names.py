"""Pages by what they are called: slug, file name, title or alias."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

# A name that is the page's own comes before one it shares with others.
KIND_ORDER = "CASE names.kind WHEN 'slug' THEN 0 WHEN 'title' THEN 1 WHEN 'name' THEN 2 ELSE 3 END"

# Names looked at on each side of a possible slip; where more share so much, none is the one meant.
_NEIGHBOURS = 200


class NamedPage(NamedTuple):
    """A page found by name; `kind` says by which."""

    page_id: int
    slug: str
    kind: str
    key: str


def find_by_name(connection: sqlite3.Connection, key: str) -> list[NamedPage]:
    """The pages whose folded name is `key`, one entry a page, the surest kind first."""
    rows = connection.execute(
        f"SELECT page_id, slug, kind, key FROM names JOIN pages ON pages.id = page_id "
        f"WHERE key = ? ORDER BY {KIND_ORDER}, slug",
        (key,),
    )
    found: dict[int, NamedPage] = {}
    for row in rows:
        found.setdefault(row[0], NamedPage(*row))
    return list(found.values())


def find_by_names(connection: sqlite3.Connection, keys: Iterable[str]) -> list[NamedPage]:
    """The pages whose folded name is one of `keys`, an entry for each name they have among them."""
    rows = connection.execute(
        "SELECT page_id, slug, kind, key FROM names JOIN pages ON pages.id = page_id "
        "WHERE key IN (SELECT value FROM json_each(?)) ORDER BY slug, key",
        (json.dumps(list(keys)),),
    )
    return [NamedPage(*row) for row in rows]


def find_similar_names(connection: sqlite3.Connection, key: str, kept: int) -> list[NamedPage]:
    """Names that begin or end with `kept` letters of `key` and are about as long."""
    found: list[NamedPage] = []
    for column, start in (("key", key[:kept]), ("reversed", key[::-1][:kept])):
        rows = connection.execute(
            f"SELECT page_id, slug, kind, key FROM names JOIN pages ON pages.id = page_id "
            f"WHERE {column} >= ? AND {column} < ? AND length(key) BETWEEN ? AND ? LIMIT ?",
            (start, start + "\U0010ffff", len(key) - 2, len(key) + 2, _NEIGHBOURS + 1),
        ).fetchall()
        if len(rows) <= _NEIGHBOURS:
            found += [NamedPage(*row) for row in rows]
    return found


def slugs_by_id(connection: sqlite3.Connection, page_ids: Iterable[int]) -> dict[int, str]:
    """The slugs of pages by their number."""
    rows = connection.execute(
        "SELECT id, slug FROM pages WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(page_ids)),),
    )
    return dict(rows.fetchall())
