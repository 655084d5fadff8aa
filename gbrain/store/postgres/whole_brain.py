"""Answer for all pages of a shared store: counts, the keyword lane and the vector lane."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, LiteralString, cast

from gbrain.config import Settings
from gbrain.store.chunks import CHUNK_ID_BITS, first_chunk_id
from gbrain.store.keyword_index import KeywordMatches, chunks_with_text
from gbrain.store.postgres.keyword_search import ANY_ROW, score_rows
from gbrain.store.postgres.page_loader import SUPERSEDED
from gbrain.store.postgres.page_lookups import PageLookups
from gbrain.store.postgres.scope import (
    PagesInScope,
    SharedCondition,
    chunk_days_condition,
    find_pages,
    page_condition,
)
from gbrain.store.postgres.tsqueries import TextQuery, any_of, read_expression
from gbrain.store.postgres.vector_search import nearest_chunks, read_vectors
from gbrain.store.postgres.word_indexes import Index, MatchCounts, count_rows, is_word, read_state
from gbrain.store.whole_brain import BrainTotals
from gbrain.text.query_terms import MAX_SCORED_PAGES, fts_expression, rare_terms_expression
from gbrain.types import Query, Scope, ScoredChunk

if TYPE_CHECKING:
    import sqlite3

    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row
    from gbrain.store.postgres.page_loader import ParsedPages
    from gbrain.store.vector_space import Floats, VectorSpace

# As the keyword lane of a brain file reads: pages and chunks for each page of the pool.
_SCORED_PER_PAGE, _CHUNKS_PER_PAGE = 4, 8
# As its vector lane reads. Under a filter a longer list takes as long as an exact search: under one
# of 14 % of the pages, 2 had recall@10 .998 in 17 ms of processor time, and 4 had 1.000 in 32 ms.
_NEAREST_PER_PAGE, _NEAREST_PER_PAGE_OF_MANY, _NEAREST_PER_PAGE_FILTERED = 10, 4, 2
# Pages with a word in another alphabet than the Latin one, which a model may not be able to read. A
# single letter is a symbol: a tenth of the abstracts of SciFact have a Greek one.
OTHER_ALPHABET: LiteralString = (
    "b.content ~ '[\\u0250-\\u1fff\\u2070-\\u218f\\u2460-\\u24ff\\u2c00-\\ufdff\\ufe70-\\uffef"
    "\\U00010000-\\U0001efff\\U00020000-\\U0003ffff]{2}'"
)
# Of so many pages the lanes read the text as well: most hits are among them.
_LIKELY_HITS = 10
# Counts of several words at once stop here.
_MAX_COUNTED = 5_000


class SharedWholeBrain(PageLookups):
    """A `WholeBrain` in a shared store, for one query: `cursor` is in its transaction.

    `model` is the number of the active model in the store; None if it has no vectors. `counts` and
    `parsed` are what earlier queries have read.
    """

    def __init__(
        self,
        cursor: Cursor[Row],
        memory: sqlite3.Connection,
        parsed: ParsedPages,
        counts: MatchCounts,
        model: int | None,
    ) -> None:
        super().__init__(cursor, memory, parsed)
        self._model, self._counts = model, counts
        state = read_state(cursor, model)
        self._sizes, self.unindexed = state.totals, state.unindexed
        self.totals = BrainTotals(
            pages=self._sizes["pages"].rows,
            chunks=self._sizes["chunks"].rows,
            has_questions=self._sizes["questions"].rows > 0,
            has_vectors=model is not None,
        )
        self._has_vector_index = state.has_vector_index
        counts.forget_older(state.stamp)
        self._scopes: dict[Scope, PagesInScope] = {}

    # --- counts ------------------------------------------------------------------------------

    def count_matches(
        self, index: str, matches: Sequence[str], most: int | None = None
    ) -> list[int]:
        queries = [self._read(match) for match in matches]
        if len(queries) > 1:
            phrases = [phrase for query in queries for phrase in query.phrases]
            self._counts.read_words(self._cursor, phrases)
        return [self._count(cast(Index, index), query, most) for query in queries]

    def _count(self, index: Index, query: TextQuery, most: int | None) -> int:
        if most is None and len(query.phrases) > 1:
            estimate = self._estimate_union(index, query)
            if estimate >= _MAX_COUNTED:
                return estimate
            most = _MAX_COUNTED
        return self._counts.count(self._cursor, index, query, most)

    def _estimate_union(self, index: Index, query: TextQuery) -> int:
        """Return about how many rows have one of the words, as if these were independent.

        0 unless one of the words is in many rows, and for queries that are no such list.
        """
        rows = self._sizes[index].rows
        if index == "questions" or query.tsquery != any_of(query.phrases):
            return 0
        self._counts.read_words(self._cursor, query.phrases)
        words = [TextQuery(any_of([word]), (word,)) for word in query.phrases if is_word(word)]
        found = [self._counts.count(self._cursor, index, word) for word in words]
        if max(found, default=0) < _MAX_COUNTED:
            return 0
        return round(rows * (1 - prod(1 - min(count, rows) / rows for count in found)))

    def any_page(self, scope: Scope, match: str | None = None) -> bool:
        if match is None:
            return self._pages_in(scope).ids != [] and self.totals.pages > 0
        # Listing the pages in scope would be a statement more.
        listed = self._scopes.get(scope)
        within = listed.condition if listed else page_condition(scope, self._tokenize)
        return count_rows(self._cursor, "pages", self._read(match), 1, within) > 0

    # --- keyword lane ------------------------------------------------------------------------

    def find_matches(
        self, query: Query, counts: Sequence[int], settings: Settings
    ) -> KeywordMatches:
        if not query.terms:
            pages = self.pages_with_text(query.text, query.scope)
            chunks = chunks_with_text(self._memory, query.text, pages)
            return KeywordMatches(pages, chunks, {})
        scope, pool = query.scope, settings.lane_pool("fts", query.limit)
        asked = self._read(fts_expression(query.terms))
        within = self._pages_in(scope)
        narrower = query.fts_expression
        if sum(counts) > MAX_SCORED_PAGES and not narrower and within.ids is None:
            narrower = rare_terms_expression(query.terms, counts, self.totals.pages)
        weights = (settings.title_weight, settings.aliases_weight, settings.slug_weight,
                   settings.tags_weight, settings.truth_weight,
                   settings.timeline_weight)  # fmt: skip

        def score(candidates: str | None) -> dict[int, float]:
            chosen = self._read(candidates).tsquery if candidates else None
            if not candidates and within.ids is not None and sum(counts) > len(within.ids):
                chosen = ANY_ROW
            rows = score_rows(
                self._cursor, "pages", asked, weights, _SCORED_PER_PAGE * pool,
                totals=self._sizes["pages"], counts=self._counts, within=within.condition,
                candidates=chosen,
            )  # fmt: skip
            return {page_id: value for page_id, _, value in rows}

        scores = score(narrower)
        enough = 1 if scope.unlimited else min(query.limit, pool)
        if narrower and not query.fts_expression and len(scores) < enough:
            narrower = None
            scores = score(None)
        inside = within.condition
        listed = list(scores) if narrower else within.ids
        if listed is not None:
            inside = SharedCondition("c.page = ANY(%s)", (listed,))
        days = chunk_days_condition(scope)
        rows = score_rows(
            self._cursor, "chunks", asked, (settings.title_weight, 1.0, 1.0),
            _CHUNKS_PER_PAGE * pool, totals=self._sizes["chunks"], counts=self._counts,
            within=SharedCondition(f"{inside.sql} AND {days.sql}", (*inside.values, *days.values)),
            candidates=ANY_ROW if narrower else None,
        )  # fmt: skip
        questions: dict[int, float] = {}
        on = settings.hypothetical_questions != "off" and settings.questions_weight
        if on and self.totals.has_questions:
            match = self._read(query.fts_expression) if query.fts_expression else asked
            found = score_rows(
                self._cursor, "questions", match, (1.0,), _SCORED_PER_PAGE * pool,
                totals=self._sizes["questions"], within=within.condition,
            )  # fmt: skip
            questions = {page_id: score for page_id, _, score in found}
        return KeywordMatches(scores, _scored_chunks(rows), questions)

    def pages_matching(
        self, matches: Sequence[str], page_ids: Collection[int], counts: Sequence[int]
    ) -> list[set[int]]:
        asked = [
            SharedCondition("s.words @@ %s::tsquery", (self._read(match).tsquery,))
            for match in matches
        ]
        first = list(islice(page_ids, _LIKELY_HITS))
        rows = self._read_pages(
            page_ids, SharedCondition(f"{SUPERSEDED} OR s.id = ANY(%s)", (first,)), asked
        )
        return [{row[0] for row in rows if row[place]} for place in range(1, len(asked) + 1)]

    def _pages_in(self, scope: Scope) -> PagesInScope:
        if scope not in self._scopes:
            self._scopes[scope] = find_pages(self._cursor, scope, self._tokenize)
        return self._scopes[scope]

    def _read(self, match: str) -> TextQuery:
        return read_expression(match, self._tokenize)

    # --- vector lane -------------------------------------------------------------------------

    def find_nearest(
        self,
        space: VectorSpace,
        embedded: Floats,
        query: Query,
        pool: int,
        scan: Callable[[], Floats],
    ) -> list[ScoredChunk]:
        if self._model is None:
            return []
        by_index = max(_NEAREST_PER_PAGE_OF_MANY * pool, _NEAREST_PER_PAGE * query.limit)
        within = None
        if not query.scope.unlimited:
            by_index = _NEAREST_PER_PAGE_FILTERED * pool
            within = (self._pages_in(query.scope), chunk_days_condition(query.scope))
        limits = (_NEAREST_PER_PAGE * pool, by_index)
        while True:
            rows = nearest_chunks(
                self._cursor, self._model, embedded, limits, within, indexed=self._has_vector_index
            )
            best: dict[int, float] = {}
            for page_id, _, cosine in rows:
                best.setdefault(page_id, cosine)
            if len(best) >= pool or len(rows) < min(limits):
                break
            # One long page can fill the list: go on until the pool is full.
            limits = (4 * limits[0], 4 * limits[1])
        first = sorted(best, key=lambda page_id: -best[page_id])[:_LIKELY_HITS]
        needed = f"{SUPERSEDED} OR {OTHER_ALPHABET} OR s.id = ANY(%s)"
        self._read_pages(best, SharedCondition(needed, (first,)))
        return _scored_chunks(rows)

    def chunk_vectors(self, space: VectorSpace, chunk_ids: Iterable[int]) -> dict[int, Floats]:
        import numpy as np

        if self._model is None:
            return {}
        mask = (1 << CHUNK_ID_BITS) - 1
        wanted = [(chunk_id >> CHUNK_ID_BITS, chunk_id & mask) for chunk_id in chunk_ids]
        rows = read_vectors(self._cursor, self._model, wanted)
        return {
            first_chunk_id(page_id) + position: np.array(json.loads(vector), np.float32)
            for page_id, position, vector in rows
        }


def _scored_chunks(rows: Iterable[tuple[int, int, float]]) -> list[ScoredChunk]:
    return [
        ScoredChunk(first_chunk_id(page_id) + position, page_id, score)
        for page_id, position, score in rows
    ]
