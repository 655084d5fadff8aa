"""The keyword lane: a page's own BM25 plus that of its best passage."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Container

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
# more pages than this, only rows that hold one of its rarest words are scored, by all its words.
_SCORED_ROWS = 5000


def search(connection: sqlite3.Connection, query: Query, settings: Settings) -> Found:
    """Pages that hold the query's words, best first; scores are positive, higher is better."""
    scores: dict[int, float] = {}
    best: dict[int, int] = {}
    chunks: list[ScoredChunk] = []
    if query.terms:
        anyone = match_expression(query.terms)
        telling = _telling(connection, query.terms)
        scores = _page_scores(connection, anyone, telling, query.scope, settings)
        chunks = _chunk_scores(connection, anyone, telling, list(scores), query.scope, settings)
        for chunk in chunks:
            if chunk.page_id not in best:
                best[chunk.page_id] = chunk.chunk_id
                score = scores.get(chunk.page_id, 0.0)
                scores[chunk.page_id] = score + settings.chunk_weight * chunk.score
        if len(query.terms) > 1 and settings.all_words_bonus:
            for page_id in _holding_all(connection, query.terms, scores):
                scores[page_id] *= 1 + settings.all_words_bonus
    if not scores and (unspaced(query.text) or not query.terms):
        scores = _substring_scores(connection, query, settings.candidate_pool)
    slugs = slugs_of(connection, scores)
    ranked = sorted(scores, key=lambda page_id: (-scores[page_id], slugs[page_id]))
    return Found(
        tuple(
            Candidate(page_id, slugs[page_id], best.get(page_id), rank, scores[page_id])
            for rank, page_id in enumerate(ranked[: settings.candidate_pool], 1)
        ),
        tuple(chunks),
    )


def _telling(connection: sqlite3.Connection, terms: tuple[Term, ...]) -> str | None:
    """The rarest terms that together match few enough pages; None when all terms do."""
    pages = "SELECT count(*) FROM pages_fts WHERE pages_fts MATCH ?"
    counted = sorted(
        (connection.execute(pages, (match_expression((term,)),)).fetchone()[0], number)
        for number, term in enumerate(terms)
    )
    total = 0
    rare: list[int] = []
    for count, number in counted:
        total += count
        if rare and total > _SCORED_ROWS:
            return match_expression(tuple(terms[number] for number in rare))
        rare.append(number)
    return None


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
    telling: str | None,
    page_ids: list[int],
    scope: Scope,
    settings: Settings,
) -> list[ScoredChunk]:
    """The best passages, best first: of the pages found, and any that hold a telling word."""
    clauses, values = ["chunks_fts MATCH ?"], [match]
    if telling:
        clauses.append(
            "(+rowid IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?) OR +rowid IN "
            "(SELECT id FROM chunks WHERE page_id IN (SELECT value FROM json_each(?))))"
        )
        values += (telling, json.dumps(page_ids))
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
    """Pages that hold the query letter for letter: for scripts without spaces, and for symbols."""
    if not query.text:
        return {}
    within = page_condition(query.scope)
    found = "instr(title, ?) OR instr(compiled_truth, ?) OR instr(timeline, ?)"
    rows = connection.execute(
        f"SELECT id, 1.0 + (instr(title, ?) > 0) FROM pages WHERE ({found}) AND {within.sql} "
        "ORDER BY 2 DESC, id LIMIT ?",
        (*[query.text] * 4, *within.values, limit),
    )
    return dict(rows.fetchall())
