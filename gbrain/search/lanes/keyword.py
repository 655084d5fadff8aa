"""The keyword lane: a page scores its own BM25 plus that of its best chunk."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence, Set
from itertools import islice
from math import log

from gbrain.config import Settings
from gbrain.store import keyword_index
from gbrain.store.pages import fetch_pages, slugs_by_id
from gbrain.store.ranking_data import approximate_page_count
from gbrain.store.scope import latest_pages, scope_has_more_than
from gbrain.store.whole_brain import asks_whole_brain
from gbrain.text.query_terms import (
    MAX_SCORED_PAGES,
    fts_expression,
    may_begin_compound,
    rare_terms_expression,
)
from gbrain.types import Candidate, LaneResult, Query, ScoredChunk, Term

# Chunks read for each page that may be returned: a long page has many.
_CHUNKS_PER_PAGE = 8

# Pages scored for each page that may be returned: a page's best chunk can lift it into the pool.
_SCORED_PER_PAGE = 4


# Pages whose words are read for each page that may be returned.
_READ_PER_PAGE = 1.5


# Words of a query that may match longer ones: 134 of them took 8 seconds on a page of 60,000 words.
_MAX_LONGER_WORDS = 20

# Reading the rows of a term that so many pages contain takes more than a millisecond.
_MIN_COMMON_PAGES = 10_000

# Of a query with at most so many terms, a page with exactly these words comes before pages with
# other forms of them, which have at most this share of its score.
_MAX_EXACT_TERMS = 3
_OTHER_FORMS = 0.7

# A page with this many of a query's words covers it, however long it is: of ten words in a question
# most are not what it asks for. Counted in words that no page contains, the heaviest.
_ENOUGH_WORDS = 2.5


def search(
    connection: sqlite3.Connection, query: Query, settings: Settings, *, alone: bool = False
) -> LaneResult:
    """Return the pages that contain words of the query, best first; scores are above 0.

    If the lane runs `alone`, there is nothing to weigh its pages against: it does not look up how
    much of the query each of them covers.
    """
    scores: dict[int, float] = {}
    complete: Set[int] = frozenset()
    literal: Set[int] = frozenset()
    best: dict[int, int] = {}
    counts = keyword_index.count_pages_with(connection, query.terms)
    query, counts = _match_compounds(connection, query, counts)
    chunks: list[ScoredChunk] = []
    pool = settings.lane_pool("fts", query.limit)
    if query.terms or (query.text and query.tree is None):
        scores, chunks, answered = find_matches(connection, query, counts, settings)
        for chunk in chunks:
            if chunk.page_id not in best:
                best[chunk.page_id] = chunk.chunk_id
                if query.terms:
                    _add(scores, {chunk.page_id: chunk.score}, settings.chunk_weight)
        _add(scores, answered, settings.questions_weight)
    weighs_coverage = not alone and bool(settings.coverage_power or settings.full_coverage)
    containing: list[set[int]] = []
    if query.terms:
        likely = sorted(scores, key=lambda page_id: (-scores[page_id], page_id))
        if weighs_coverage and len(query.terms) > 1:
            containing = _pages_with_each(connection, query.terms, likely, counts)
            complete = set.intersection(*containing)
        else:
            complete = _pages_with_all(connection, query.terms, likely, counts)
        if len(query.terms) > 1:
            for page_id in complete:
                scores[page_id] *= 1 + settings.all_words_bonus
        likely = [page_id for page_id in likely if page_id in complete]
        literal = _pages_with_exact_words(connection, query, likely, chunks, pool)
        highest = max((scores[page_id] for page_id in literal), default=0.0)
        for page_id in complete - literal:
            scores[page_id] = min(scores[page_id], _OTHER_FORMS * highest)
    if query.filter_only:
        scores |= _score_by_date(connection, query, scores, pool)
        if containing:
            containing = _pages_with_each(connection, query.terms, scores, counts)
    coverage = dict.fromkeys(complete, 1.0)
    if containing:
        coverage = _coverage(connection, counts, containing) | coverage
    slugs = slugs_by_id(connection, scores)
    ranked = sorted(slugs, key=lambda page_id: (-scores[page_id], slugs[page_id]))
    pages = tuple(
        Candidate(page_id, slugs[page_id], best.get(page_id), rank, scores[page_id])
        for rank, page_id in enumerate(ranked, 1)
    )
    return LaneResult(
        pages[:pool],
        tuple(chunks),
        min(scores.values(), default=None),
        tuple(
            term
            for term, count in zip(query.terms, counts, strict=True)
            if not count
            and not (
                _uses_questions(connection, settings)
                and keyword_index.any_question_contains(connection, term)
            )
        ),
        overflow=pages[pool:],
        word_factors=_word_factors(connection, coverage, literal, query, settings),
        coverage=1.0 if alone else _best_coverage(connection, coverage, counts),
    )


def _uses_questions(connection: sqlite3.Connection, settings: Settings) -> bool:
    return settings.hypothetical_questions != "off" and keyword_index.has_questions(connection)


def _match_compounds(
    connection: sqlite3.Connection, query: Query, counts: list[int]
) -> tuple[Query, list[int]]:
    """Let a word that no page contains match longer words that start with it.

    Such words are German compounds and other languages' inflections: Treppenhausreinigung.
    """
    if query.fts_expression or all(counts):
        return query, counts
    unknown = [
        term
        for term, count in zip(query.terms, counts, strict=True)
        if not count and may_begin_compound(term)
    ][:_MAX_LONGER_WORDS]
    terms = [term._replace(prefix=True) if term in unknown else term for term in query.terms]
    longer = keyword_index.count_pages_with(connection, terms)
    kept = [new if more else old for new, old, more in zip(terms, query.terms, longer, strict=True)]
    return query._replace(terms=tuple(kept)), longer


def _pages_with_all(
    connection: sqlite3.Connection,
    terms: tuple[Term, ...],
    scored: Sequence[int],
    counts: Sequence[int],
) -> Set[int]:
    """Return the scored pages, best first, with every term; so many pages contain each."""
    if len(terms) == 1:
        return frozenset(scored)
    match = fts_expression(terms, "AND")
    return keyword_index.pages_matching(connection, [match], scored, [min(counts)])[0]


def _pages_with_exact_words(
    connection: sqlite3.Connection,
    query: Query,
    complete: Sequence[int],
    chunks: Sequence[ScoredChunk],
    pool: int,
) -> Set[int]:
    """Return those of the pages, best first, with every term of a short query with its very words.

    All pages are returned if none has, or if the query has synonyms, prefixes, phrases or stop
    words: a question does not choose its forms.
    """
    terms = query.terms
    plain = not any(term.prefix or term.quoted or term.synonyms for term in terms)
    words = len(query.text.split())
    if len(complete) < 2 or words > min(len(terms), _MAX_EXACT_TERMS) or not plain:
        return frozenset(complete)
    # The pool will be among these; of a shared brain, others are not read.
    fetch_pages(connection, complete[: int(_READ_PER_PAGE * pool)])
    pages = frozenset(complete)
    found = [chunk.chunk_id for chunk in chunks if chunk.page_id in pages]
    return keyword_index.pages_with_exact_words(connection, terms, found) or pages


def _pages_with_each(
    connection: sqlite3.Connection,
    terms: Sequence[Term],
    page_ids: Collection[int],
    counts: Sequence[int],
) -> list[set[int]]:
    """Return for each term, which so many pages contain, those of the given pages that do."""
    matches = [fts_expression((term,)) for term in terms]
    return keyword_index.pages_matching(connection, matches, page_ids, counts)


def _coverage(
    connection: sqlite3.Connection, counts: Sequence[int], containing: Sequence[set[int]]
) -> dict[int, float]:
    """Return by page which share of the query its words cover, rare words counting more.

    `containing` has the pages with each term.
    """
    weights = _term_weights(connection, counts)
    covered: dict[int, float] = {}
    for page_ids, weight in zip(containing, weights, strict=True):
        for page_id in page_ids:
            covered[page_id] = covered.get(page_id, 0.0) + weight
    return {page_id: weight / sum(weights) for page_id, weight in covered.items()}


def _best_coverage(
    connection: sqlite3.Connection, coverage: Mapping[int, float], counts: Sequence[int]
) -> float:
    """Return the greatest share of the query, or of enough words, that one page covers."""
    unknown, *weights = _term_weights(connection, (0, *counts))
    enough = min(sum(weights), _ENOUGH_WORDS * unknown)
    if not coverage or not enough:
        return 1.0
    return min(1.0, max(coverage.values()) * sum(weights) / enough)


def _term_weights(connection: sqlite3.Connection, counts: Sequence[int]) -> list[float]:
    """Return the weight of terms that so many pages contain; the fewer, the more."""
    pages = approximate_page_count(connection)
    return [log(1 + (max(pages, count) - count + 0.5) / (count + 0.5)) for count in counts]


def _word_factors(
    connection: sqlite3.Connection,
    coverage: Mapping[int, float],
    literal: Set[int],
    query: Query,
    settings: Settings,
) -> dict[int, float]:
    """Return by page a factor for its score, from how much of the query its words cover.

    The best page of this lane may contain one unimportant word of the question. Without the factor
    it would outrank a page of the vector lane that answers it. A page with every word of a short
    query counts more: the one page that has them is meant. That tells less the more pages have
    them all, and the longer the question is. If no page has every word of a query that is only
    words and no question, one page may still have more than all others: it has the rare word, and
    is meant rather than pages that have the common one in their title. That holds within one
    language: with a multilingual model, the page that is meant may have none of the words.
    """
    if not literal and coverage and len(query.text.split()) <= len(query.terms):
        most = max(coverage.values())
        best = {page_id for page_id, share in coverage.items() if share == most}
        # Loads the descriptions of models, which a search by keywords alone does without.
        from gbrain.search.calibration import reads_only_english

        if len(best) == 1 and (most == 1 or reads_only_english(connection)):
            literal = best
    factors = {page_id: share**settings.coverage_power for page_id, share in coverage.items()}
    if literal:
        bonus = settings.literal_bonus / (len(literal) * max(1, len(query.terms) - 1))
        factors |= dict.fromkeys(literal, 1 + bonus)
    return factors


def _add(scores: dict[int, float], more: Mapping[int, float], weight: float = 1.0) -> None:
    for page_id, score in more.items():
        scores[page_id] = scores.get(page_id, 0.0) + weight * score


@asks_whole_brain
def find_matches(
    connection: sqlite3.Connection, query: Query, counts: Sequence[int], settings: Settings
) -> keyword_index.KeywordMatches:
    """Return the best of the pages, chunks and stored questions that match the query."""
    if not query.terms:
        # Symbols alone, which FTS5 does not index.
        pages = keyword_index.pages_with_text(connection, query.text, query.scope)
        chunks = keyword_index.chunks_with_text(connection, query.text, pages)
        return keyword_index.KeywordMatches(pages, chunks, {})
    pages, chunks = _score_pages_and_chunks(connection, query, counts, settings)
    questions: dict[int, float] = {}
    if settings.questions_weight and _uses_questions(connection, settings):
        limit = _SCORED_PER_PAGE * settings.lane_pool("fts", query.limit)
        questions = keyword_index.score_questions(
            connection, query.fts_expression or fts_expression(query.terms), query.scope, limit
        )
    return keyword_index.KeywordMatches(pages, chunks, questions)


def _score_pages_and_chunks(
    connection: sqlite3.Connection, query: Query, counts: Sequence[int], settings: Settings
) -> tuple[dict[int, float], list[ScoredChunk]]:
    """Return the scores of the best pages by id, and the best chunks, best first."""
    scope, pool = query.scope, settings.lane_pool("fts", query.limit)
    any_term = fts_expression(query.terms)
    common = sum(counts) > MAX_SCORED_PAGES
    small_scope = (
        common
        and not scope.unlimited
        and not scope_has_more_than(connection, scope, MAX_SCORED_PAGES)
    )
    narrower = query.fts_expression
    scored_terms = any_term
    if common and not small_scope and not narrower:
        pages_of_brain = approximate_page_count(connection)
        narrower = rare_terms_expression(query.terms, counts, pages_of_brain)
        scored_terms = fts_expression(_without_common(connection, query.terms, counts))

    limit = _SCORED_PER_PAGE * pool

    def score(match: str, narrower: str | None, limit: int | None) -> dict[int, float]:
        weights = (settings.title_weight, settings.slug_weight, settings.truth_weight,
                   settings.timeline_weight, settings.tags_weight,
                   settings.aliases_weight)  # fmt: skip
        return keyword_index.score_pages(
            connection, match, weights, limit,
            also_match=narrower, scope=scope, small_scope=small_scope,
        )  # fmt: skip

    scores: dict[int, float] = {}
    if narrower:
        # Of a single term that occurs, the rare pages are all that match.
        same = not query.fts_expression and len([count for count in counts if count]) == 1
        scores = score(scored_terms, None if same else narrower, limit)
    pages: list[int] | None = list(scores)
    # The pages with rare words may be out of scope: then the others must be scored after all.
    enough = 1 if scope.unlimited else min(query.limit, pool)
    if not query.fts_expression and len(scores) < enough:
        scored_terms = any_term
        scores = score(any_term, None, limit if scope.unlimited else None)
        # A page beyond the limit may still have one of the best chunks.
        pages = None if scope.unlimited else list(scores)
        scores = dict(islice(scores.items(), limit))
    chunks = keyword_index.score_chunks(
        connection, scored_terms, settings.title_weight, _CHUNKS_PER_PAGE * pool,
        page_ids=pages, scope=scope,
    )  # fmt: skip
    return scores, chunks


def _without_common(
    connection: sqlite3.Connection, terms: tuple[Term, ...], page_counts: Sequence[int]
) -> tuple[Term, ...]:
    """Return the terms without those of half of the pages, if that saves time and two are left.

    To BM25 of pages a term of half of them is worth nothing, and little to that of chunks.
    """
    most = max(approximate_page_count(connection) / 2, _MIN_COMMON_PAGES)
    rare = tuple(term for term, count in zip(terms, page_counts, strict=True) if 0 < count < most)
    return rare if len(rare) > 1 else terms


def _score_by_date(
    connection: sqlite3.Connection, query: Query, scored: Mapping[int, float], limit: int
) -> dict[int, float]:
    """Return scores for the other pages in scope, the latest first, all below those `scored`."""
    pages = latest_pages(connection, query.scope, limit + len(scored))
    others = [page_id for page_id in pages if page_id not in scored]
    lowest = min(scored.values(), default=1.0)
    return {page_id: lowest / (place + 1) for place, page_id in enumerate(others, 1)}
