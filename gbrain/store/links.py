"""Read links between pages; targets are resolved by name at read time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from gbrain.store.page_names import KIND_ORDER

if TYPE_CHECKING:
    from gbrain.store.pages import StoredPage


class LinkRow(NamedTuple):
    """A link on a page; `slug` and `title` are those of its target, None if that does not exist."""

    line: int
    kind: str
    target: str
    heading: str | None
    label: str | None
    slug: str | None
    title: str | None


class Backlink(NamedTuple):
    """A link on another page that points to this one."""

    slug: str
    title: str
    line: int
    kind: str
    label: str | None


# The page a link means: the surest kind of name, then the first slug.
_RESOLVED = (
    "(SELECT names.page_id FROM names JOIN pages AS p ON p.id = names.page_id "
    f"WHERE names.key = links.key ORDER BY {KIND_ORDER}, p.slug LIMIT 1)"
)


def links_from(connection: sqlite3.Connection, page: StoredPage) -> list[LinkRow]:
    """Return the page's links in page order."""
    rows = connection.execute(
        "SELECT line, kind, target, heading, label, pages.slug, pages.title "
        f"FROM links LEFT JOIN pages ON pages.id = {_RESOLVED} "
        "WHERE links.page_id = ? ORDER BY position",
        (page.id,),
    )
    return [LinkRow(*row) for row in rows]


def links_to(connection: sqlite3.Connection, page: StoredPage) -> list[Backlink]:
    """Return links on other pages that point to this one, by slug and line."""
    rows = connection.execute(
        "SELECT pages.slug, pages.title, line, links.kind, label "
        "FROM links JOIN pages ON pages.id = links.page_id "
        "WHERE links.key IN (SELECT key FROM names WHERE page_id = ?1) "
        f"AND {_RESOLVED} = ?1 AND links.page_id <> ?1 ORDER BY pages.slug, line",
        (page.id,),
    )
    return [Backlink(*row) for row in rows]


def list_dangling_links(connection: sqlite3.Connection) -> list[tuple[str, int, str]]:
    """Return (slug, line, target) of links whose target does not exist."""
    rows = connection.execute(
        "SELECT pages.slug, line, target FROM links JOIN pages ON pages.id = links.page_id "
        "WHERE NOT EXISTS (SELECT 1 FROM names WHERE names.key = links.key) "
        "ORDER BY pages.slug, line"
    )
    return rows.fetchall()


def linked_pages(connection: sqlite3.Connection, page_id: int) -> list[int]:
    """Return the ids of pages that a page links to, in page order."""
    rows = connection.execute(
        f"SELECT {_RESOLVED} FROM links WHERE page_id = ? ORDER BY position", (page_id,)
    )
    return list(dict.fromkeys(row[0] for row in rows if row[0] is not None))


def links_between(
    connection: sqlite3.Connection, page_ids: Iterable[int], most: int
) -> list[tuple[int, int]]:
    """Return (page id, other page id) of links from or to the pages, at most `most` each way."""
    pages = json.dumps(list(page_ids))
    away = connection.execute(
        f"SELECT page_id, {_RESOLVED} AS other FROM links WHERE page_id IN "
        "(SELECT value FROM json_each(?)) AND other IS NOT NULL AND other <> page_id LIMIT ?",
        (pages, most),
    ).fetchall()
    back = connection.execute(
        f"SELECT {_RESOLVED} AS page, page_id FROM links WHERE key IN "
        "(SELECT key FROM names WHERE page_id IN (SELECT value FROM json_each(?1))) "
        "AND page IN (SELECT value FROM json_each(?1)) AND page <> page_id LIMIT ?2",
        (pages, most),
    ).fetchall()
    return away + back
