"""Assemble context for a query from the best pages, within a token budget (`--depth auto`)."""

from __future__ import annotations

import math
import re
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, groupby, islice

from gbrain.config import Settings
from gbrain.search.context_relevance import (
    BROAD_QUESTION,
    BROAD_SHARE,
    RelevantText,
    TermOffsets,
    chunk_log_odds,
    page_log_odds,
    relevant_texts,
)
from gbrain.search.context_selection import (
    ContextCandidate,
    ContextSelection,
    ContextSpan,
    TokenCounts,
    best_excerpt,
)
from gbrain.store.chunk_context import (
    ChunkSpan,
    missing_terms_by_chunk,
    related_chunks,
    term_offsets,
    with_adjacent_chunks,
)
from gbrain.store.chunks import chunk_at, first_chunk, page_chunks
from gbrain.store.keyword_index import count_chunks, count_chunks_with
from gbrain.store.pages import named_texts
from gbrain.text.citations import hash_enclosing_lines
from gbrain.types import (
    Budget,
    ContextChunk,
    DroppedChunk,
    LaneResult,
    Query,
    Ranked,
    StopReason,
    Verdict,
)

# Candidates that do not fit before the selection stops trying shorter ones.
_MAX_MISSES = 20

# Chunks considered: about 70 new tokens each, so several times the budget.
_MIN_CHUNKS = 200
_TOKENS_PER_CHUNK = 20

# The setting context_floor counts per 1,000 tokens of English text.
_BYTES_OF_FLOOR = 4000

# Text below its headings from this length is left out if another page has the same text.
_MIN_REPEATED_BYTES = 40

# Tokens of context when the verdict is that no page answers the query: a few lines to see that it
# is right. Of 250 everyday questions 8 are graded so wrongly; 200 tokens have the answers of 3, 250
# those of 5, 300 of 6 and 500 of 7. The best line of each page alone has those of 4.
_MAX_TOKENS_WITHOUT_ANSWER = 300

# If the first page has less than this share of the question's words, the others have little to add:
# of 71 such questions with an answer, none loses it with four times the floor, in half the tokens.
_FEW_WORDS_COVERED, _FLOOR_WITHOUT_WORDS = 0.3, 4.0

# More than in most text; it decides only how many texts are counted together.
_CHARACTERS_PER_TOKEN = 6

# A linked page is one hop further away than a neighbour.
_HOP = 0.5
_MAX_RELATED_CHUNKS = 256
_MAX_TERMS = 32

_HEADINGS = re.compile(rb"(?:\s*#[^\n]*\n)*")


def assemble_context(
    connection: sqlite3.Connection,
    query: Query,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, LaneResult],
    settings: Settings,
    limit: int,
    count_tokens: Callable[[Sequence[str]], list[int]],
    *,
    max_pages: int | None = None,
    verdict: Verdict | None = None,
) -> tuple[tuple[ContextChunk, ...], Budget]:
    """Return the context in at most `limit` tokens, and the budget with the reason it stopped.

    Text comes from the first `max_pages` pages (None: from all), and from pages they link to. The
    less they answer the query by its `verdict`, the shorter it is.
    """
    count = TokenCounts(count_tokens)
    pages = _PageCache(connection)
    unanswered = verdict is not None and verdict.grade == "nothing"
    tokens = min(limit, _MAX_TOKENS_WITHOUT_ANSWER) if unanswered else limit
    selection = ContextSelection(tokens, count)
    dropped: list[DroppedChunk] = []
    odds = chunk_log_odds(lanes, ranked)
    texts = _texts_best_first(
        connection, pages, query, ranked[:max_pages], lanes, odds, tokens, settings
    )
    total = sum(text.relevance for text in texts)
    floor = settings.context_floor * total / _BYTES_OF_FLOOR if odds else 0.0
    if BROAD_QUESTION.search(query.text):
        floor *= BROAD_SHARE
    if verdict and verdict.grade == "partial" and verdict.covered < _FEW_WORDS_COVERED:
        floor *= _FLOOR_WITHOUT_WORDS
    relevant = [text for text in texts if text.density >= floor or text is texts[0]]
    count.add(_likely_to_fit(relevant, pages, tokens))
    seen_on: dict[bytes, int] = {}
    for text in relevant:
        page = pages.text(text.page_id)
        body = _without_headings(page[text.start : text.stop])
        first_page = seen_on.setdefault(body, text.page_id)
        if first_page != text.page_id and len(body) >= _MIN_REPEATED_BYTES:
            continue
        candidate = ContextCandidate(
            text.page_id, text.start, text.stop, "neighbour" if text.inherited else "hit"
        )
        if selection.take(candidate, page) is not None:
            continue
        is_first = selection.used == 0
        if is_first:
            selection.take(_excerpt(candidate, page, query, tokens, count), page)
        dropped.append(pages.dropped_chunk(candidate, selection))
        if is_first or len(dropped) == _MAX_MISSES:
            break
    stopped: StopReason = "budget"
    if not dropped:
        taken = list(dict.fromkeys(text.chunk_id for text in relevant))
        stopped = _add_related(connection, selection, pages, taken, query, dropped)
        if not dropped and len(relevant) < len(texts):
            stopped = "relevance"
    if unanswered and texts:
        stopped = "verdict"
    chunks = _context_chunks(connection, selection, pages, count)
    while sum(chunk.tokens for chunk in chunks) > limit:
        # A word that was divided twice can have more tokens than its parts.
        selection.remove_last()
        chunks = _context_chunks(connection, selection, pages, count)
    used = sum(chunk.tokens for chunk in chunks)
    return chunks, Budget(limit, used, tuple(dropped), stopped)


def _likely_to_fit(texts: Iterable[RelevantText], pages: _PageCache, tokens: int) -> Iterator[str]:
    """Yield the first texts, about as many as fit into that many tokens."""
    left = tokens * _CHARACTERS_PER_TOKEN
    for text in texts:
        if left <= 0:
            return
        yield pages.text(text.page_id)[text.start : text.stop].decode()
        left -= text.stop - text.start


def _without_headings(text: bytes) -> bytes:
    headings = _HEADINGS.match(text)
    return text[headings.end() if headings else 0 :].strip()


def _best_chunks(
    connection: sqlite3.Connection,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, LaneResult],
    odds: Mapping[int, float],
    tokens: int,
) -> list[int]:
    """Return the ids of the pages' best chunks, with at least one of the first page."""
    page_of = {
        chunk.chunk_id: chunk.page_id for result in lanes.values() for chunk in result.chunks
    }
    slugs = {page.page_id: page.slug for page in ranked}
    order = sorted(
        (chunk_id for chunk_id in odds if page_of[chunk_id] in slugs),
        key=lambda chunk_id: (-odds[chunk_id], slugs[page_of[chunk_id]], chunk_id),
    )
    first_page = ranked[0].page_id
    best = next((i for i in order if page_of[i] == first_page), None)
    if best is None:
        first = first_chunk(connection, first_page)
        best = first.id if first else None
    order = order[: max(_MIN_CHUNKS, tokens // _TOKENS_PER_CHUNK)]
    return order if best is None or best in order else [best, *order]


def _texts_best_first(
    connection: sqlite3.Connection,
    pages: _PageCache,
    query: Query,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, LaneResult],
    odds: Mapping[int, float],
    tokens: int,
    settings: Settings,
) -> list[RelevantText]:
    """Return the lines of the best chunks, most relevant first, after one of the first page.

    Of pages that are the answer by name, all chunks in page order.
    """
    if not odds:
        return [
            RelevantText(page.page_id, chunk.byte_start, chunk.byte_stop, chunk.id, 1.0)
            for page in ranked
            for chunk in page_chunks(connection, page.page_id)
        ]
    chunk_ids = _best_chunks(connection, ranked, lanes, odds, tokens)
    spans = with_adjacent_chunks(connection, chunk_ids)
    pages.read({span.page_id for span in spans})
    terms = _term_offsets(connection, pages, query, {span.id: span for span in spans})
    by_page = page_log_odds(ranked)
    texts: list[RelevantText] = []
    # By slug, because the copies of a shared brain number their pages differently.
    spans.sort(key=lambda span: pages.name_of(span.page_id)[0])
    for page_id, group in groupby(spans, key=lambda span: span.page_id):
        texts += relevant_texts(
            pages.text(page_id),
            list(group),
            odds,
            by_page[page_id],
            terms.get(page_id, {}).values(),
            query.text,
            settings.answer_bonus,
        )
    first_page = ranked[0].page_id
    texts.sort(key=lambda text: -text.density)
    first = next((text for text in texts if text.page_id == first_page), None)
    return texts if first is None else [first, *(text for text in texts if text is not first)]


def _term_offsets(
    connection: sqlite3.Connection,
    pages: _PageCache,
    query: Query,
    spans: Mapping[int, ChunkSpan],
) -> dict[int, dict[int, TermOffsets]]:
    """Return where each term of the query is on each page, by page id and number of the term.

    Rare terms have more of the weight.
    """
    terms = query.terms[:_MAX_TERMS]
    chunks = count_chunks(connection)
    rarity = [math.log(1 + chunks / (count_chunks_with(connection, t) + 0.5)) for t in terms]
    found: dict[int, dict[int, TermOffsets]] = {}
    for number, term in enumerate(terms):
        nowhere = TermOffsets(rarity[number] / sum(rarity), [])
        for chunk_id, (text, offsets) in term_offsets(connection, term, spans).items():
            _, page_id, start, stop = spans[chunk_id]
            text_start = start + max(0, pages.text(page_id)[start:stop].rfind(text.encode()))
            here = found.setdefault(page_id, {}).setdefault(number, nowhere._replace(offsets=[]))
            here.offsets.extend(text_start + offset for offset in offsets)
    for by_number in found.values():
        for here in by_number.values():
            here.offsets.sort()
    return found


def _excerpt(
    candidate: ContextCandidate,
    page: bytes,
    query: Query,
    tokens: int,
    count: Callable[[str], int],
) -> ContextCandidate:
    """Return the part of a text with the most words of the query, in at most `tokens` tokens."""
    text = page[candidate.start : candidate.stop].decode()
    words = [word for term in query.terms for word in term.words]
    start, stop = best_excerpt(text, words, tokens, count)
    first = candidate.start + len(text[:start].encode())
    return candidate._replace(start=first, stop=first + len(text[start:stop].encode()))


def _add_related(
    connection: sqlite3.Connection,
    selection: ContextSelection,
    pages: _PageCache,
    taken: Sequence[int],
    query: Query,
    dropped: list[DroppedChunk],
) -> StopReason:
    """Take neighbours and linked pages that contain missing terms; return why it stopped.

    The next one is always the one with the most missing terms per token.
    """
    near = {
        chunk.id: ContextCandidate(chunk.page_id, chunk.byte_start, chunk.byte_stop, role)
        for chunk, role in islice(
            related_chunks(connection, taken, query.scope), _MAX_RELATED_CHUNKS
        )
    }
    brings = missing_terms_by_chunk(connection, query.terms[:_MAX_TERMS], taken, near)
    while brings:
        gains = {}
        for chunk_id, terms in brings.items():
            candidate = near[chunk_id]
            tokens = selection.needs(candidate, pages.text(candidate.page_id))
            hops = _HOP if candidate.role == "linked" else 1.0
            gains[chunk_id] = hops * len(terms) / max(tokens, 1)
        best = max(gains, key=gains.__getitem__)
        candidate, new = near.pop(best), brings[best]
        if selection.take(candidate, pages.text(candidate.page_id)) is None:
            dropped.append(pages.dropped_chunk(candidate, selection))
            return "budget"
        brings = {chunk_id: terms - new for chunk_id, terms in brings.items() if terms - new}
    left = any(selection.uncovered_spans(candidate) for candidate in near.values())
    return "coverage" if left else "exhausted"


class _PageCache:
    """Texts and names of pages, each read once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._texts: dict[int, bytes] = {}
        self._lines: dict[int, list[int]] = {}
        self._names: dict[int, tuple[str, str]] = {}

    def read(self, page_ids: Iterable[int]) -> None:
        """Read pages that will be asked for, all together."""
        for page_id, page in named_texts(self._connection, page_ids).items():
            self._texts[page_id] = page.text.encode()
            self._names[page_id] = page.slug, page.title

    def text(self, page_id: int) -> bytes:
        """Return the page's text in UTF-8."""
        if page_id not in self._texts:
            self.read([page_id])
        return self._texts[page_id]

    def line_starts(self, page_id: int) -> list[int]:
        """Return the byte offset of each line; \\r, \\n and both together end one."""
        if page_id not in self._lines:
            lines = self.text(page_id).splitlines(keepends=True)
            self._lines[page_id] = [0, *accumulate(map(len, lines))]
        return self._lines[page_id]

    def name_of(self, page_id: int) -> tuple[str, str]:
        """Return slug and title."""
        if page_id not in self._names:
            self.read([page_id])
        return self._names[page_id]

    def dropped_chunk(
        self, candidate: ContextCandidate, selection: ContextSelection
    ) -> DroppedChunk:
        """Describe a candidate that did not fit."""
        tokens = selection.needs(candidate, self.text(candidate.page_id))
        return DroppedChunk(self.name_of(candidate.page_id)[0], tokens)


def _context_chunks(
    connection: sqlite3.Connection,
    selection: ContextSelection,
    pages: _PageCache,
    count: TokenCounts,
) -> tuple[ContextChunk, ...]:
    spans = selection.joined_spans()
    count.add(pages.text(span.page_id)[span.start : span.stop].decode() for span in spans)
    return tuple(_context_chunk(connection, span, pages, count) for span in spans)


def _context_chunk(
    connection: sqlite3.Connection,
    span: ContextSpan,
    pages: _PageCache,
    count: Callable[[str], int],
) -> ContextChunk:
    page = pages.text(span.page_id)
    text = page[span.start : span.stop].decode()
    slug, title = pages.name_of(span.page_id)
    about = chunk_at(connection, span.page_id, span.start)
    blank = text[: len(text) - len(text.lstrip())]
    start = span.start + len(blank.encode())
    stop = max(start, span.start + len(text.rstrip().encode()))
    line_of = partial(bisect_right, pages.line_starts(span.page_id))
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
        role=span.role,
    )
