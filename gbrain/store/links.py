"""Read links between pages, and the graph they form; targets are resolved by name when read."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from gbrain.store.pages import KIND_ORDER, StoredPage, find_page, slugs_by_id
from gbrain.store.whole_brain import asks_whole_brain


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


def links_between(
    connection: sqlite3.Connection, page_ids: Iterable[int], most: int
) -> list[tuple[int, int]]:
    """Return (page id, other page id) of links from or to the pages, at most `most` each way."""
    pages = list(page_ids)
    return pages_linked_from(connection, pages, most) + pages_linking_to(connection, pages, most)


@asks_whole_brain
def pages_linked_from(
    connection: sqlite3.Connection, page_ids: Iterable[int], most: int
) -> list[tuple[int, int]]:
    """Return (page id, other page id) of links on the pages to others, in page order."""
    return connection.execute(
        f"SELECT page_id, {_RESOLVED} AS other FROM links WHERE page_id IN "
        "(SELECT value FROM json_each(?)) AND other IS NOT NULL AND other <> page_id "
        "ORDER BY page_id, position LIMIT ?",
        (json.dumps(list(page_ids)), most),
    ).fetchall()


@asks_whole_brain
def pages_linking_to(
    connection: sqlite3.Connection, page_ids: Iterable[int], most: int
) -> list[tuple[int, int]]:
    """Return (page id, other page id) of links to the pages on others."""
    return connection.execute(
        f"SELECT {_RESOLVED} AS page, page_id FROM links WHERE key IN "
        "(SELECT key FROM names WHERE page_id IN (SELECT value FROM json_each(?1))) "
        "AND page IN (SELECT value FROM json_each(?1)) AND page <> page_id LIMIT ?2",
        (json.dumps(list(page_ids)), most),
    ).fetchall()


# --- graph -----------------------------------------------------------------------------------

_MAX_LINKS = 100_000


class GraphPage(NamedTuple):
    """A page, `distance` links from the start page; None in the graph of the whole brain.

    `missing` marks the target of a link that does not exist: its slug is the target as written, and
    it has neither wing nor date.
    """

    slug: str
    title: str
    wing: str | None
    date: str | None
    distance: int | None
    missing: bool = False


class GraphLink(NamedTuple):
    """The page `source` links to `target`, `times` times."""

    source: str
    target: str
    times: int


class LinkGraph(NamedTuple):
    """Pages by distance and slug, links by source and target; `left_out` counts omitted pages."""

    pages: tuple[GraphPage, ...]
    links: tuple[GraphLink, ...]
    left_out: int


def graph_around(
    connection: sqlite3.Connection, page: StoredPage, depth: int, most: int
) -> LinkGraph:
    """Return at most `most` pages up to `depth` links away in either direction."""
    distances = {page.id: 0}
    frontier, left_out = [page.id], 0
    for distance in range(1, depth + 1):
        pairs = links_between(connection, frontier, _MAX_LINKS)
        reached = sorted({other for _, other in pairs} - set(distances))
        room = max(most - len(distances), 0)
        left_out += len(reached[room:])
        frontier = reached[:room]
        distances |= dict.fromkeys(frontier, distance)
        if not frontier:
            break
    return _build_graph(connection, distances, left_out)


def full_graph(connection: sqlite3.Connection, most: int) -> LinkGraph:
    """Return all pages, or the `most` pages with the most links."""
    rows = connection.execute(
        "SELECT id, (SELECT count(*) FROM links WHERE page_id = id) AS link_count FROM pages "
        "ORDER BY link_count DESC, id"
    ).fetchall()
    return _build_graph(connection, {row[0]: None for row in rows[:most]}, len(rows[most:]))


def _build_graph(
    connection: sqlite3.Connection, distances: dict[int, int] | dict[int, None], left_out: int
) -> LinkGraph:
    pages: list[GraphPage] = []
    unwritten: dict[str, GraphPage] = {}
    counts: Counter[tuple[str, str]] = Counter()
    slugs = slugs_by_id(connection, distances)
    known = set(slugs.values())
    for page_id, slug in slugs.items():
        page, distance = find_page(connection, slug), distances[page_id]
        if page is None:
            continue
        pages.append(GraphPage(slug, page.title, page.wing, page.date, distance))
        for link in links_from(connection, page):
            target = link.slug or link.target
            if link.slug is None and target not in known:
                away = None if distance is None else distance + 1
                unwritten.setdefault(target, GraphPage(target, target, None, None, away, True))
            if target != slug and (link.slug is None or target in known):
                counts[slug, target] += 1
    nodes = sorted([*pages, *unwritten.values()], key=lambda node: (node.distance or 0, node.slug))
    links = tuple(GraphLink(*ends, times) for ends, times in sorted(counts.items()))
    return LinkGraph(tuple(nodes), links, left_out)
