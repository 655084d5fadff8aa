"""A page list into context: the best passages, what stands around them, and what they link to."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from gbrain.config import Settings
from gbrain.ranking.expand import Assembly, Candidate, Stretch, best_part, passage_values
from gbrain.store.links import linked_pages
from gbrain.store.pages import page_text
from gbrain.store.passages import (
    Passage,
    first_passage,
    neighbours,
    page_passages,
    passage_at,
    passages,
)
from gbrain.store.scope import page_condition
from gbrain.text.chunking import content_hash
from gbrain.types import Budget, Dropped, Found, Piece, Query, Ranked, Role, Scope, Stopped

# Passages that did not fit before the assembly stops trying smaller ones.
_MISSES = 20
_BLOCK = 64


def assemble(
    connection: sqlite3.Connection,
    query: Query,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, Found],
    settings: Settings,
    limit: int,
    count: Callable[[str], int],
) -> tuple[tuple[Piece, ...], Budget]:
    """The context for a query in at most `limit` tokens, and the receipt of what it took."""
    count = cache(count)
    pages = _Pages(connection)
    assembly = Assembly(limit, count)
    taken: list[Passage] = []
    dropped: list[Dropped] = []
    stopped: Stopped = "exhausted"
    for passage in _by_worth(connection, ranked, lanes, settings):
        candidate = _candidate(passage, "hit")
        page = pages.bytes_of(passage.page_id)
        if assembly.take(candidate, page) is not None:
            taken.append(passage)
        elif not taken:
            part = _best_part(passage, page, query, limit, count)
            assembly.take(part, page)
            dropped.append(pages.dropped(candidate, assembly))
            stopped = "budget"
            break
        else:
            dropped.append(pages.dropped(candidate, assembly))
            stopped = "budget"
            if len(dropped) == _MISSES:
                break
    if stopped == "exhausted":
        stopped = _around(connection, assembly, pages, taken, query, dropped)
    pieces = tuple(_piece(connection, stretch, pages, count) for stretch in assembly.joined())
    used = sum(piece.tokens for piece in pieces)
    return pieces, Budget(limit, used, tuple(dropped), stopped)


def _by_worth(
    connection: sqlite3.Connection,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, Found],
    settings: Settings,
) -> Iterator[Passage]:
    """Passages that speak for the ranked pages, best first; of a page named outright, all.

    The first of them is always one of the best page.
    """
    values = passage_values(lanes, ranked, settings)
    if not values:
        for page in ranked:
            yield from page_passages(connection, page.page_id)
        return
    floor = settings.context_floor * max(values.values())
    order = sorted(
        (chunk_id for chunk_id, value in values.items() if value >= floor),
        key=lambda chunk_id: (-values[chunk_id], chunk_id),
    )
    foremost = _foremost(connection, ranked[0], lanes, values)
    if foremost:
        yield foremost
        order = [chunk_id for chunk_id in order if chunk_id != foremost.id]
    for start in range(0, len(order), _BLOCK):
        known = passages(connection, order[start : start + _BLOCK])
        yield from (
            known[chunk_id] for chunk_id in order[start : start + _BLOCK] if chunk_id in known
        )


def _foremost(
    connection: sqlite3.Connection,
    page: Ranked,
    lanes: Mapping[str, Found],
    values: Mapping[int, float],
) -> Passage | None:
    """The passage of a page that is worth the most, its first if no lane names one."""
    own = {
        chunk.chunk_id
        for found in lanes.values()
        for chunk in found.chunks
        if chunk.page_id == page.page_id
    }
    best = max(own, key=lambda chunk_id: (values[chunk_id], -chunk_id), default=None)
    known = passages(connection, [] if best is None else [best])
    return next(iter(known.values()), None) or first_passage(connection, page.page_id)


def _candidate(passage: Passage, role: Role) -> Candidate:
    return Candidate(passage.page_id, passage.byte_start, passage.byte_stop, role)


def _best_part(
    passage: Passage, page: bytes, query: Query, limit: int, count: Callable[[str], int]
) -> Candidate:
    text = page[passage.byte_start : passage.byte_stop].decode()
    words = [word for term in query.terms for word in term.words]
    start, stop = best_part(text, words, limit, count)
    first = passage.byte_start + len(text[:start].encode())
    return Candidate(passage.page_id, first, first + len(text[start:stop].encode()), "hit")


def _around(
    connection: sqlite3.Connection,
    assembly: Assembly,
    pages: _Pages,
    taken: Sequence[Passage],
    query: Query,
    dropped: list[Dropped],
) -> Stopped:
    """Neighbours of what was taken, then linked pages, while they add words of the query."""
    missing = {word.casefold() for term in query.terms for word in term.words}
    for passage in taken:
        missing -= {word for word in missing if word in passage.text.casefold()}
    stopped: Stopped = "exhausted"
    for passage, role in _nearby(connection, taken, query.scope):
        new = {word for word in missing if word in passage.text.casefold()}
        candidate = _candidate(passage, role)
        if not assembly.uncovered(candidate):
            continue
        if not new:
            stopped = "coverage"
            continue
        page = pages.bytes_of(passage.page_id)
        if assembly.take(candidate, page) is None:
            dropped.append(pages.dropped(candidate, assembly))
            return "budget"
        missing -= new
    return stopped


def _nearby(
    connection: sqlite3.Connection, taken: Sequence[Passage], scope: Scope
) -> Iterator[tuple[Passage, Role]]:
    for passage in taken:
        for other in neighbours(connection, passage, 1):
            yield other, "neighbour"
    seen = dict.fromkeys(passage.page_id for passage in taken)
    for page_id in seen:
        for linked in linked_pages(connection, page_id):
            if linked in seen or not _within(connection, linked, scope):
                continue
            first = first_passage(connection, linked)
            if first:
                yield first, "linked"


def _within(connection: sqlite3.Connection, page_id: int, scope: Scope) -> bool:
    condition = page_condition(scope)
    found = connection.execute(
        f"SELECT 1 FROM pages WHERE id = ? AND {condition.sql}", (page_id, *condition.values)
    )
    return found.fetchone() is not None


class _Pages:
    """Texts and names of the pages in play, each read once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._texts: dict[int, bytes] = {}
        self._names: dict[int, tuple[str, str]] = {}

    def bytes_of(self, page_id: int) -> bytes:
        if page_id not in self._texts:
            self._texts[page_id] = page_text(self._connection, page_id).encode()
        return self._texts[page_id]

    def name_of(self, page_id: int) -> tuple[str, str]:
        """Slug and title."""
        if page_id not in self._names:
            row = self._connection.execute(
                "SELECT slug, title FROM pages WHERE id = ?", (page_id,)
            ).fetchone()
            self._names[page_id] = (row[0], row[1])
        return self._names[page_id]

    def dropped(self, candidate: Candidate, assembly: Assembly) -> Dropped:
        tokens = assembly.needs(candidate, self.bytes_of(candidate.page_id))
        return Dropped(self.name_of(candidate.page_id)[0], tokens)


def _piece(
    connection: sqlite3.Connection, stretch: Stretch, pages: _Pages, count: Callable[[str], int]
) -> Piece:
    page = pages.bytes_of(stretch.page_id)
    text = page[stretch.start : stretch.stop].decode()
    slug, title = pages.name_of(stretch.page_id)
    about = passage_at(connection, stretch.page_id, stretch.start)
    blank = text[: len(text) - len(text.lstrip())]
    first = _line_of(page, stretch.start + len(blank.encode()))
    last = _line_of(page, max(stretch.start, stretch.start + len(text.rstrip().encode()) - 1))
    return Piece(
        slug=slug,
        title=title,
        heading_path=about.heading_path if about else (),
        date=about.date if about else None,
        lines=(first, max(first, last)),
        hash=content_hash(text).hex(),
        tokens=count(text),
        text=text,
        role=stretch.role,
    )


def _line_of(page: bytes, at: int) -> int:
    """The line, from 1, that holds the byte `at`."""
    return 1 + page.count(b"\n", 0, at) + page.count(b"\r", 0, at) - page.count(b"\r\n", 0, at)
