"""Graph of pages and links: around one page, or of the whole brain."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from gbrain.store.links import links_between, links_from
from gbrain.store.pages import StoredPage, find_page

_LINKS_READ = 100_000


class GraphPage(NamedTuple):
    """A page of the graph, `distance` links from the one it is about; None in a graph of all.

    One that links name but that is not written has neither wing nor date; its slug is the name.
    """

    slug: str
    title: str
    wing: str | None
    date: str | None
    distance: int | None
    missing: bool = False


class GraphLink(NamedTuple):
    """That the page `source` links to `target`, so many `times`."""

    source: str
    target: str
    times: int


class LinkGraph(NamedTuple):
    """Pages by distance and slug, links by their ends; `left_out` pages found no room."""

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
        pairs = links_between(connection, frontier, _LINKS_READ)
        reached = sorted({other for _, other in pairs} - set(distances))
        room = max(most - len(distances), 0)
        left_out += len(reached[room:])
        frontier = reached[:room]
        distances |= dict.fromkeys(frontier, distance)
        if not frontier:
            break
    return _graph(connection, distances, left_out)


def full_graph(connection: sqlite3.Connection, most: int) -> LinkGraph:
    """Return all pages, or the `most` pages with the most links."""
    rows = connection.execute(
        "SELECT id, (SELECT count(*) FROM links WHERE page_id = id) AS held FROM pages "
        "ORDER BY held DESC, id"
    ).fetchall()
    return _graph(connection, {row[0]: None for row in rows[:most]}, len(rows[most:]))


def _graph(
    connection: sqlite3.Connection, distances: dict[int, int] | dict[int, None], left_out: int
) -> LinkGraph:
    pages: list[GraphPage] = []
    unwritten: dict[str, GraphPage] = {}
    counts: Counter[tuple[str, str]] = Counter()
    slugs = _slugs(connection, distances)
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


def _slugs(connection: sqlite3.Connection, page_ids: Iterable[int]) -> dict[int, str]:
    rows = connection.execute(
        "SELECT id, slug FROM pages WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(page_ids)),),
    )
    return dict(rows.fetchall())
