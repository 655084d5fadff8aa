"""The keyword lane: a page's own BM25 plus that of its best passage."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Container
from itertools import combinations

from gbrain.config import Settings
from gbrain.store.names import slugs_of
from gbrain.store.scope import chunk_condition, page_condition
from gbrain.text.query import match_expression, unspaced
from gbrain.types import Candidate, Found, Query, Scope, ScoredChunk, Term

# In the queries below, the plus before rowid keeps SQLite from matching anew for each row in scope.

# Passages looked at for each page that may be returned: a long page has many.
_CHUNKS_PER_PAGE = 8

# Pages scored beyond the pool: a page's best passage can lift it into the pool.
_HEADROOM = 4

# Scoring a row costs some thirty times more than passing it by. Where the query's words stand in
# more pages than this, only pages with a rare word or two of the others are scored, by all its
# words, and only their passages.
_SCORED_ROWS = 2000
_PAIRED_TERMS = 8


def search(connection: sqlite3.Connection, query: Query, settings: Settings) -> Found:
    """Pages that hold the query's words, best first; scores are positive, higher is better."""
    scores: dict[int, float] = {}
    best: dict[int, int] = {}
    chunks: list[ScoredChunk] = []
    if query.terms:
        anyone = match_expression(query.terms)
        telling = _telling(connection, query.terms)
        scores = _page_scores(connection, anyone, telling, query.scope, settings)
        pages = list(scores) if telling else None
        chunks = _chunk_scores(connection, anyone, pages, query.scope, settings)
        for chunk in chunks:
            if chunk.page_id not in best:
                best[chunk.page_id] = chunk.chunk_id
                score = scores.get(chunk.page_id, 0.0)
                scores[chunk.page_id] = score + settings.chunk_weight * chunk.score
        if len(query.terms) > 1 and settings.all_words_bonus:
            for page_id in _holding_all(connection, query.terms, scores):
                scores[page_id] *= 1 + settings.all_words_bonus
    for page_id, score in _substring_scores(connection, query, settings.candidate_pool).items():
        scores[page_id] = scores.get(page_id, 0.0) + score
    slugs = slugs_of(connection, scores)
    ranked = sorted(scores, key=lambda page_id: (-scores[page_id], slugs[page_id]))
    return Found(
        tuple(
            Candidate(page_id, slugs[page_id], best.get(page_id), rank, scores[page_id])
            for rank, page_id in enumerate(ranked[: settings.candidate_pool], 1)
        ),
        tuple(chunks),
        min(scores.values(), default=None),
    )


def _telling(connection: sqlite3.Connection, terms: tuple[Term, ...]) -> str | None:
    """An expression that few enough pages match to be scored: the rarest terms alone and the
    others two by two. None when all pages with any of the terms are few enough."""
    matching = "SELECT count(*) FROM pages_fts WHERE pages_fts MATCH ?"
    counts = [
        (connection.execute(matching, (match_expression((term,)),)).fetchone()[0], (term,))
        for term in terms
    ]
    if sum(count for count, _ in counts) <= _SCORED_ROWS:
        return None
    pages = connection.execute("SELECT max(id) FROM pages").fetchone()[0]
    rarest = sorted(counts, key=lambda counted: counted[0])[:_PAIRED_TERMS]
    # As many as if words fell together by chance, and again as many because they do not.
    pairs = [
        (2 * first * second / pages, one + other)
        for (first, one), (second, other) in combinations(rarest, 2)
    ]
    chosen: list[tuple[Term, ...]] = []
    total = 0.0
    for count, group in sorted([*counts, *pairs], key=lambda counted: counted[0]):
        total += count
        if chosen and total > _SCORED_ROWS:
            break
        chosen.append(group)
    return " OR ".join(f"({match_expression(group, 'AND')})" for group in chosen)


def _page_scores(
    connection: sqlite3.Connection,
    match: str,
    telling: str | None,
    scope: Scope,
    settings: Settings,
) -> dict[int, float]:
    """The best pages by their own words; scores are positive."""
    clauses, values = ["pages_fts MATCH ?"], [match]
    if telling:
        clauses.append("+rowid IN (SELECT rowid FROM pages_fts WHERE pages_fts MATCH ?)")
        values.append(telling)
    if not scope.unlimited:
        within = page_condition(scope)
        clauses.append(f"+rowid IN (SELECT id FROM pages WHERE {within.sql})")
        values += within.values
    weights = (settings.title_weight, settings.slug_weight, settings.truth_weight,
               settings.timeline_weight, settings.tags_weight, settings.aliases_weight)  # fmt: skip
    rows = connection.execute(
        "SELECT rowid, -bm25(pages_fts, ?, ?, ?, ?, ?, ?) AS score FROM pages_fts "
        f"WHERE {' AND '.join(clauses)} ORDER BY score DESC LIMIT ?",
        (*weights, *values, _HEADROOM * settings.candidate_pool),
    )
    return dict(rows.fetchall())


def _chunk_scores(
    connection: sqlite3.Connection,
    match: str,
    page_ids: list[int] | None,
    scope: Scope,
    settings: Settings,
) -> list[ScoredChunk]:
    """The best passages, best first, of all pages or of these."""
    clauses, values = ["chunks_fts MATCH ?"], [match]
    if page_ids is not None:
        clauses.append(
            "+rowid IN (SELECT id FROM chunks WHERE page_id IN (SELECT value FROM json_each(?)))"
        )
        values.append(json.dumps(page_ids))
    if not scope.unlimited:
        within = chunk_condition(scope)
        clauses.append(f"+rowid IN (SELECT id FROM chunks WHERE {within.sql})")
        values += within.values
    rows = connection.execute(
        "SELECT found.id, chunks.page_id, found.score FROM ("
        "SELECT rowid AS id, -bm25(chunks_fts, ?, 1.0, 1.0) AS score FROM chunks_fts "
        f"WHERE {' AND '.join(clauses)} ORDER BY score DESC LIMIT ?"
        ") AS found JOIN chunks ON chunks.id = found.id ORDER BY found.score DESC, found.id",
        (settings.title_weight, *values, _CHUNKS_PER_PAGE * settings.candidate_pool),
    )
    return [ScoredChunk(*row) for row in rows]


def _holding_all(
    connection: sqlite3.Connection, terms: tuple[Term, ...], page_ids: Container[int]
) -> list[int]:
    """Which of the pages hold every term."""
    rows = connection.execute(
        "SELECT rowid FROM pages_fts WHERE pages_fts MATCH ?",
        (match_expression(terms, "AND"),),
    )
    return [row[0] for row in rows if row[0] in page_ids]


def _substring_scores(connection: sqlite3.Connection, query: Query, limit: int) -> dict[int, float]:
    """Pages that hold parts of the query letter for letter, by how many and where.

    For words of scripts without spaces, and for a query of nothing but symbols.
    """
    words = [word for term in query.terms for word in term.words if unspaced(word)]
    if not query.terms and query.text:
        words = [query.text]
    if not words:
        return {}
    within = page_condition(query.scope)
    one = "(instr(title, ?) > 0) + (instr(compiled_truth, ?) > 0 OR instr(timeline, ?) > 0)"
    rows = connection.execute(
        f"SELECT id, CAST({' + '.join([one] * len(words))} AS REAL) AS score FROM pages "
        f"WHERE {within.sql} AND score > 0 ORDER BY score DESC, id LIMIT ?",
        (*[word for word in words for _ in range(3)], *within.values, limit),
    )
    return dict(rows.fetchall())
