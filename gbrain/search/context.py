"""A page list into context: the best passages, what stands around them, and what they link to."""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice

from gbrain.config import Settings
from gbrain.search.expand import (
    ContextAssembly,
    ContextCandidate,
    ContextSpan,
    ValuedSpan,
    answer_offsets,
    best_excerpt,
    split_chunk,
)
from gbrain.search.fusion import chunk_values
from gbrain.store.chunk_context import missing_terms_by_chunk, overlapping_chunks, related_chunks
from gbrain.store.chunks import StoredChunk, chunk_at, first_chunk, page_chunks, read_chunks
from gbrain.store.pages import page_text
from gbrain.text.citations import hash_enclosing_lines
from gbrain.types import Budget, ContextChunk, DroppedChunk, LaneResult, Query, Ranked, StopReason

# Parts that did not fit before the assembly stops trying smaller ones.
_MISSES = 20

# Passages weighed against each other at a time: at some hundred tokens each, twice the budget.
_FEWEST_WEIGHED = 16
_TOKENS_PER_WEIGHED = 50

# Bytes from which a text below its headings says something by itself: a copy of it in another
# page says nothing more.
_TELLING = 40

# A linked page is one hop further away than a neighbour.
_HOP = 0.5
_MOST_NEARBY = 256
_MOST_TERMS = 32

_HEADINGS = re.compile(rb"(?:\s*#[^\n]*\n)*")
_LINE_END = re.compile(rb"\r\n?|\n")


def assemble_context(
    connection: sqlite3.Connection,
    query: Query,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, LaneResult],
    settings: Settings,
    limit: int,
    count: Callable[[str], int],
) -> tuple[tuple[ContextChunk, ...], Budget]:
    """The context for a query in at most `limit` tokens, and the receipt of what it took."""
    count = cache(count)
    pages = _Pages(connection)
    assembly = ContextAssembly(limit, count)
    dropped: list[DroppedChunk] = []
    values = chunk_values(lanes, ranked, settings)
    order = _order(connection, ranked, lanes, values, settings)
    told: dict[bytes, int] = {}
    for candidate in _best_parts(connection, pages, order, values, settings, limit):
        page = pages.bytes_of(candidate.page_id)
        body = _below_headings(page[candidate.start : candidate.stop])
        teller = told.setdefault(body, candidate.page_id)
        if teller != candidate.page_id and len(body) >= _TELLING:
            continue
        if assembly.take(candidate, page) is not None:
            continue
        cut_off = assembly.used == 0
        if cut_off:
            first = read_chunks(connection, order[:1])[order[0]]
            assembly.take(_best_part(first, page, query, limit, count), page)
        dropped.append(pages.dropped(candidate, assembly))
        if cut_off or len(dropped) == _MISSES:
            break
    stopped: StopReason = "budget"
    if not dropped:
        stopped = _around(connection, assembly, pages, order, query, dropped)
    pieces = _pieces(connection, assembly, pages, count)
    while sum(piece.tokens for piece in pieces) > limit:
        # A word cut twice can have more tokens than could be foreseen at its cuts.
        assembly.give_back()
        pieces = _pieces(connection, assembly, pages, count)
    used = sum(piece.tokens for piece in pieces)
    return pieces, Budget(limit, used, tuple(dropped), stopped)


def _below_headings(text: bytes) -> bytes:
    headings = _HEADINGS.match(text)
    return text[headings.end() if headings else 0 :].strip()


def _order(
    connection: sqlite3.Connection,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, LaneResult],
    values: Mapping[int, float],
    settings: Settings,
) -> list[int]:
    """Passages that speak for the ranked pages, best first; of pages named outright, all.

    The first of them is always one of the best page.
    """
    if not values:
        return [p.id for page in ranked for p in page_chunks(connection, page.page_id)]
    floor = settings.context_floor * max(values.values())
    order = sorted(
        (chunk_id for chunk_id, value in values.items() if value >= floor),
        key=lambda chunk_id: (-values[chunk_id], chunk_id),
    )
    foremost = _foremost(connection, ranked[0], lanes, values)
    if foremost is None:
        return order
    return [foremost, *(chunk_id for chunk_id in order if chunk_id != foremost)]


def _foremost(
    connection: sqlite3.Connection,
    page: Ranked,
    lanes: Mapping[str, LaneResult],
    values: Mapping[int, float],
) -> int | None:
    """The passage of a page that is worth the most, its first if no lane names one."""
    own = {
        chunk.chunk_id
        for found in lanes.values()
        for chunk in found.chunks
        if chunk.page_id == page.page_id
    }
    best = max(own, key=lambda chunk_id: (values[chunk_id], -chunk_id), default=None)
    if best is not None and read_chunks(connection, [best]):
        return best
    first = first_chunk(connection, page.page_id)
    return first.id if first else None


def _best_parts(
    connection: sqlite3.Connection,
    pages: _Pages,
    order: Sequence[int],
    values: Mapping[int, float],
    settings: Settings,
    limit: int,
) -> Iterator[ContextCandidate]:
    """The passages' parts, best first, after the best one of the first passage's page."""
    weighed = max(_FEWEST_WEIGHED, limit // _TOKENS_PER_WEIGHED)
    bonus = settings.answer_bonus if values else 0.0
    for begin in range(0, len(order), weighed):
        cut: list[tuple[float, ContextCandidate]] = []
        for chunk_id, placed in overlapping_chunks(
            connection, order[begin : begin + weighed]
        ).items():
            worth = {p.id: ValuedSpan(p.start, p.stop, values.get(p.id, 0.0)) for p in placed}
            page_id = placed[0].page_id
            answers = pages.answers_on(page_id)
            cut += [
                (part.value, ContextCandidate(page_id, part.start, part.stop, "hit"))
                for part in split_chunk(worth[chunk_id], list(worth.values()), answers, bonus)
            ]
        best_first = [part for _, part in sorted(cut, key=lambda valued: -valued[0])]
        if cut and begin == 0:
            first_page = cut[0][1].page_id
            yield next(part for part in best_first if part.page_id == first_page)
        yield from best_first


def _best_part(
    passage: StoredChunk, page: bytes, query: Query, limit: int, count: Callable[[str], int]
) -> ContextCandidate:
    text = page[passage.byte_start : passage.byte_stop].decode()
    words = [word for term in query.terms for word in term.words]
    start, stop = best_excerpt(text, words, limit, count)
    first = passage.byte_start + len(text[:start].encode())
    return ContextCandidate(passage.page_id, first, first + len(text[start:stop].encode()), "hit")


def _around(
    connection: sqlite3.Connection,
    assembly: ContextAssembly,
    pages: _Pages,
    taken: Sequence[int],
    query: Query,
    dropped: list[DroppedChunk],
) -> StopReason:
    """Neighbours and linked pages of what was taken, while they bring terms that it lacks.

    The next is always the one that brings the most of them for its tokens.
    """
    near = {
        passage.id: ContextCandidate(passage.page_id, passage.byte_start, passage.byte_stop, role)
        for passage, role in islice(related_chunks(connection, taken, query.scope), _MOST_NEARBY)
    }
    brings = missing_terms_by_chunk(connection, query.terms[:_MOST_TERMS], taken, near)
    while brings:
        gains = {}
        for chunk_id, terms in brings.items():
            candidate = near[chunk_id]
            tokens = assembly.needs(candidate, pages.bytes_of(candidate.page_id))
            hops = _HOP if candidate.role == "linked" else 1.0
            gains[chunk_id] = hops * len(terms) / max(tokens, 1)
        best = max(gains, key=gains.__getitem__)
        candidate, new = near.pop(best), brings[best]
        if assembly.take(candidate, pages.bytes_of(candidate.page_id)) is None:
            dropped.append(pages.dropped(candidate, assembly))
            return "budget"
        brings = {chunk_id: terms - new for chunk_id, terms in brings.items() if terms - new}
    left = any(assembly.uncovered(candidate) for candidate in near.values())
    return "coverage" if left else "exhausted"


class _Pages:
    """Texts and names of the pages in play, each read once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._texts: dict[int, bytes] = {}
        self._answers: dict[int, list[int]] = {}
        self._lines: dict[int, list[int]] = {}
        self._names: dict[int, tuple[str, str]] = {}

    def bytes_of(self, page_id: int) -> bytes:
        if page_id not in self._texts:
            self._texts[page_id] = page_text(self._connection, page_id).encode()
        return self._texts[page_id]

    def answers_on(self, page_id: int) -> list[int]:
        """Where the page's questions end."""
        if page_id not in self._answers:
            self._answers[page_id] = answer_offsets(self.bytes_of(page_id))
        return self._answers[page_id]

    def line_starts(self, page_id: int) -> list[int]:
        """Where each line of the page begins; \\r, \\n and both together end one."""
        if page_id not in self._lines:
            ends = _LINE_END.finditer(self.bytes_of(page_id))
            self._lines[page_id] = [0, *(end.end() for end in ends)]
        return self._lines[page_id]

    def name_of(self, page_id: int) -> tuple[str, str]:
        """Slug and title."""
        if page_id not in self._names:
            row = self._connection.execute(
                "SELECT slug, title FROM pages WHERE id = ?", (page_id,)
            ).fetchone()
            self._names[page_id] = (row[0], row[1])
        return self._names[page_id]

    def dropped(self, candidate: ContextCandidate, assembly: ContextAssembly) -> DroppedChunk:
        tokens = assembly.needs(candidate, self.bytes_of(candidate.page_id))
        return DroppedChunk(self.name_of(candidate.page_id)[0], tokens)


def _pieces(
    connection: sqlite3.Connection,
    assembly: ContextAssembly,
    pages: _Pages,
    count: Callable[[str], int],
) -> tuple[ContextChunk, ...]:
    return tuple(_piece(connection, stretch, pages, count) for stretch in assembly.joined())


def _piece(
    connection: sqlite3.Connection, stretch: ContextSpan, pages: _Pages, count: Callable[[str], int]
) -> ContextChunk:
    page = pages.bytes_of(stretch.page_id)
    text = page[stretch.start : stretch.stop].decode()
    slug, title = pages.name_of(stretch.page_id)
    about = chunk_at(connection, stretch.page_id, stretch.start)
    blank = text[: len(text) - len(text.lstrip())]
    start = stretch.start + len(blank.encode())
    stop = max(start, stretch.start + len(text.rstrip().encode()))
    line_of = partial(bisect_right, pages.line_starts(stretch.page_id))
    first, last = line_of(start), line_of(max(start, stop - 1))
    return ContextChunk(
        slug=slug,
        title=title,
        heading_path=about.heading_path if about else (),
        date=about.date if about else None,
        lines=(first, max(first, last)),
        hash=hash_enclosing_lines(page, start, stop),
        tokens=count(text),
        text=text,
        role=stretch.role,
    )
