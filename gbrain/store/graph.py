"""Graph of pages and links: around one page, or of the whole brain."""

from __future__ import annotations

import sqlite3
from collections import Counter
from typing import NamedTuple

from gbrain.store.links import links_between, links_from
from gbrain.store.page_names import slugs_by_id
from gbrain.store.pages import StoredPage, find_page

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
