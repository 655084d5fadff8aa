"""Answer questions about a time: search the other words, and add pages dated inside the period."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from gbrain.config import Settings
from gbrain.store.chunks import DatedChunk, chunks_inside
from gbrain.store.keyword_index import pages_with_all
from gbrain.store.pages import fetch_pages, slugs_by_id
from gbrain.store.scope import any_page, latest_pages
from gbrain.text.date_questions import split_question
from gbrain.text.query_terms import fts_expression, is_stop_term, parse_terms
from gbrain.types import Candidate, LaneResult, Query, Scope, ScoredChunk, Term

if TYPE_CHECKING:
    from collections.abc import Callable

    from gbrain.search.run_lanes import LaneResults
    from gbrain.text.periods import Period

# A question with no other words asks for everything of its time.
_GENERAL_WORDS = frozenset(
    """happen happens happened happening go going goes went gone new news anything something
    everything thing things stuff event events entry entries recap summary make made get got
    everyone anyone someone else also day time list ever
    was war waren ist sind ich wir habe hatte haben gemacht passiert passierte los gab es
    qué que qué pasó paso hice hizo hicimos qu'est-ce j'ai fait c'est passé s'est
    cosa successo fatto ho é foi aconteceu fiz wat heb ik gedaan gebeurd gebeurde er
    der die das und mit im am den le la les el los""".split()
)

# These ask for everything of their time too, unless something of that time contains them.
_NOTE_WORDS = frozenset(
    """write writes wrote written note notes noted record records recorded log logged entry entries
    diary journal page pages
    schreibe schrieb geschrieben notiert notizen tagebuch écrit noté notes journal
    escribí escrito anotado apuntes notas diario scritto appunti""".split()
)


class TimeAsked(NamedTuple):
    """The periods that a query asks about, the likeliest level first, and its other words.

    `has_pages` if something is dated inside them, `only_time` if there are no other words.
    `words` are the terms that say the time and nothing else.
    `literal_terms` are all terms of a query that is only words, such as "Buttondown March": the
    pages in `literal_slugs` contain them, the date included.
    """

    query: Query
    levels: tuple[tuple[Period, ...], ...]
    has_pages: bool = False
    only_time: bool = False
    words: tuple[Term, ...] = ()
    literal_terms: tuple[Term, ...] = ()
    literal_slugs: frozenset[str] = frozenset()

    @property
    def spans(self) -> tuple[tuple[str, str], ...]:
        """The first and last day of every period, the likeliest first."""
        return tuple((period.first, period.last) for level in self.levels for period in level)


def read_time(connection: sqlite3.Connection, query: Query, today: date) -> TimeAsked | None:
    """Return the time that a query asks about and the query without it; None if there is none.

    The words of a query stay as they are if nothing is dated inside the time, and if it has
    operators or quotes.
    """
    question = split_question(query.semantic_text, today)
    if not question.levels:
        return None
    kept = {term.words for term in parse_terms(question.rest)}
    words = tuple(term for term in query.terms if not term.quoted and term.words not in kept)
    asked = TimeAsked(query, question.levels, words=words)
    scope = query.scope._replace(periods=asked.spans)
    asked = asked._replace(has_pages=any_page(connection, scope))
    if query.tree is not None or '"' in query.text:
        return asked
    terms = tuple(term for term in query.terms if term.words in kept and not is_stop_term(term))
    specific = tuple(
        term
        for term in terms
        if len(term.words) > 1 or term.words[0].casefold() not in _GENERAL_WORDS
    )
    only_time = not specific or _names_only_notes(connection, specific, scope)
    if not asked.has_pages:
        return asked._replace(only_time=only_time)
    if only_time:
        listed = query._replace(terms=(), scope=scope, filter_only=True)
        return asked._replace(query=listed, only_time=True)
    rest = query._replace(terms=specific, semantic_text=question.rest or query.semantic_text)
    # Of a question about a time, what is dated inside it is asked for, and not its words.
    literal = query.terms if len(query.text.split()) <= len(query.terms) else ()
    return asked._replace(query=rest, literal_terms=literal)


def _names_only_notes(
    connection: sqlite3.Connection, terms: tuple[Term, ...], scope: Scope
) -> bool:
    """Tell whether the terms only say that something was written, and no page in scope has them."""
    if not all(len(t.words) == 1 and t.words[0].casefold() in _NOTE_WORDS for t in terms):
        return False
    return not any_page(connection, scope, fts_expression(terms))


def is_dated_inside(connection: sqlite3.Connection, asked: TimeAsked, page_id: int) -> bool:
    """Return whether a page or one of its entries is dated in the time asked about."""
    return asked.has_pages and bool(chunks_inside(connection, (page_id,), asked.spans))


def list_period(connection: sqlite3.Connection, asked: TimeAsked, settings: Settings) -> LaneResult:
    """Return the pages of the time, the latest first, as the result of a lane.

    Pages of a likelier period come before all others.
    """
    found: dict[int, Candidate] = {}
    for level in asked.levels:
        spans = tuple((period.first, period.last) for period in level)
        scope = asked.query.scope._replace(periods=())
        pages = latest_pages(connection, scope, settings.candidate_pool, spans)
        fetch_pages(connection, pages)
        chunk_of = _best_chunks(chunks_inside(connection, pages, spans), (level,))
        slugs = slugs_by_id(connection, pages)
        for page_id in pages:
            rank = len(found) + 1
            candidate = Candidate(page_id, slugs[page_id], chunk_of.get(page_id), rank, 1 / rank)
            found.setdefault(page_id, candidate)
        if len(found) >= settings.candidate_pool:
            break
    return LaneResult(tuple(found.values())[: settings.candidate_pool])


def find_literal(connection: sqlite3.Connection, asked: TimeAsked) -> TimeAsked:
    """Return the time asked about with its `literal_slugs`, among the candidates at least."""
    if not asked.literal_terms:
        return asked
    found = pages_with_all(connection, asked.literal_terms)
    return asked._replace(literal_slugs=frozenset(slugs_by_id(connection, found).values()))


def add_period_candidates(
    connection: sqlite3.Connection,
    asked: TimeAsked,
    lanes: LaneResults,
    run_inside: Callable[[Query], LaneResults],
) -> tuple[LaneResults, int]:
    """Return the lanes with the pages of the time added, and how many pages of it there are.

    `run_inside` runs the lanes for a query; here its scope is the time alone. Pages of the time
    are shown by the chunk of it that fits the other words best.
    """
    scope = asked.query.scope._replace(periods=asked.spans)
    inside = run_inside(asked.query._replace(scope=scope))
    pages = {
        candidate.page_id
        for found in (*inside.by_name.values(), *lanes.by_name.values())
        for candidate in found.pages
    }
    fetch_pages(connection, pages)
    scores: dict[int, float] = {}
    for found in inside.by_name.values():
        top = max((chunk.score for chunk in found.chunks), default=0) or 1
        for chunk in found.chunks:
            scores[chunk.chunk_id] = scores.get(chunk.chunk_id, 0) + chunk.score / top
    chunk_of = _best_chunks(chunks_inside(connection, pages, asked.spans), asked.levels, scores)
    merged = {
        name: _merge(found, inside.by_name[name], chunk_of) if name in inside.by_name else found
        for name, found in lanes.by_name.items()
    }
    return lanes._replace(by_name=merged), len(chunk_of)


def _best_chunks(
    dated: Iterable[DatedChunk],
    levels: tuple[tuple[Period, ...], ...],
    scores: Mapping[int, float] | None = None,
) -> dict[int, int]:
    """Return the chunk to show of each page: of its likeliest period, then the best.

    A chunk that has a date itself comes before the others of a dated page, the exact date before
    the vague one, the latest before the earlier.
    """

    @cache
    def place(first_day: str, last_day: str) -> tuple[int, bool]:
        """Return the negative level of the days, and whether they are all inside its period."""
        level = next(
            number
            for number, periods in enumerate(levels)
            if any(p.first <= last_day and first_day <= p.last for p in periods)
        )
        return -level, any(p.first <= first_day and last_day <= p.last for p in levels[level])

    best: dict[int, tuple[tuple[float | str, ...], int]] = {}
    for chunk in dated:
        level, contained = place(chunk.first_day, chunk.last_day)
        score = (scores or {}).get(chunk.chunk_id, 0.0)
        key = (level, chunk.own, contained, score, chunk.last_day)
        if chunk.page_id not in best or key > best[chunk.page_id][0]:
            best[chunk.page_id] = (key, chunk.chunk_id)
    return {page_id: chunk_id for page_id, (_, chunk_id) in best.items()}


def _merge(found: LaneResult, inside: LaneResult, chunk_of: Mapping[int, int]) -> LaneResult:
    """Return a lane's result with the pages and chunks that it finds inside the time."""
    pool = {candidate.page_id for candidate in (*found.pages, *inside.pages)}
    best: dict[int, Candidate] = {}
    for one in (*found.pages, *found.overflow, *inside.pages, *inside.overflow):
        # What a page says of another time must not carry it into this one.
        best[one.page_id] = one
    ranked = [
        one._replace(rank=rank, chunk_id=chunk_of.get(one.page_id, one.chunk_id))
        for rank, one in enumerate(sorted(best.values(), key=lambda c: (-c.score, c.slug)), 1)
    ]
    chunks: dict[int, ScoredChunk] = {}
    for chunk in (*inside.chunks, *found.chunks):
        chunks.setdefault(chunk.chunk_id, chunk)
    lowest = [score for score in (found.lowest_score, inside.lowest_score) if score is not None]
    return found._replace(
        pages=tuple(one for one in ranked if one.page_id in pool),
        overflow=tuple(one for one in ranked if one.page_id not in pool),
        chunks=tuple(sorted(chunks.values(), key=lambda c: (-c.score, c.chunk_id))),
        lowest_score=min(lowest, default=None),
        combined_chunk_scores={**inside.combined_chunk_scores, **found.combined_chunk_scores},
        word_factors={**inside.word_factors, **found.word_factors},
    )
