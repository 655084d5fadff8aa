"""Find pages by name (slug, file name, title or alias), and read what identifies a page."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

# Slugs and titles identify a page better than file names and aliases.
KIND_ORDER = "CASE names.kind WHEN 'slug' THEN 0 WHEN 'title' THEN 1 WHEN 'name' THEN 2 ELSE 3 END"

# If more names than this share the letters, none of them is likely to be the one meant.
_MAX_SIMILAR_NAMES = 200


class NamedPage(NamedTuple):
    """A page found by name; `kind` says which kind of name matched."""

    page_id: int
    slug: str
    kind: str
    key: str


def find_by_name(connection: sqlite3.Connection, key: str) -> list[NamedPage]:
    """Return the pages with the folded name `key`, each once, the most specific kind first."""
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
    """Return the pages with one of the folded names `keys`, one entry for each match."""
    rows = connection.execute(
        "SELECT page_id, slug, kind, key FROM names JOIN pages ON pages.id = page_id "
        "WHERE key IN (SELECT value FROM json_each(?)) ORDER BY slug, key",
        (json.dumps(list(keys)),),
    )
    return [NamedPage(*row) for row in rows]


def find_similar_names(connection: sqlite3.Connection, key: str, letters: int) -> list[NamedPage]:
    """Return names of similar length that start or end with the same `letters` letters as `key`."""
    found: list[NamedPage] = []
    for column, start in (("key", key[:letters]), ("reversed", key[::-1][:letters])):
        rows = connection.execute(
            f"SELECT page_id, slug, kind, key FROM names JOIN pages ON pages.id = page_id "
            f"WHERE {column} >= ? AND {column} < ? AND length(key) BETWEEN ? AND ? LIMIT ?",
            (start, start + "\U0010ffff", len(key) - 2, len(key) + 2, _MAX_SIMILAR_NAMES + 1),
        ).fetchall()
        if len(rows) <= _MAX_SIMILAR_NAMES:
            found += [NamedPage(*row) for row in rows]
    return found


def slugs_by_id(connection: sqlite3.Connection, page_ids: Iterable[int]) -> dict[int, str]:
    """Return the slugs of pages by page id."""
    rows = connection.execute(
        "SELECT id, slug FROM pages WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(page_ids)),),
    )
    return dict(rows.fetchall())


class PageLabels(NamedTuple):
    """What a hit shows of its page besides text."""

    title: str
    wing: str
    room: str
    type: str | None
    date: str | None


def page_labels(connection: sqlite3.Connection, page_id: int) -> PageLabels | None:
    """Return a page's labels; None if it does not exist."""
    row = connection.execute(
        "SELECT title, wing, room, type, date FROM pages WHERE id = ?", (page_id,)
    ).fetchone()
    return PageLabels(*row) if row else None
