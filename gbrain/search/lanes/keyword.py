"""The keyword lane: a page's own BM25 plus that of its best passage."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Container, Mapping, Sequence
from itertools import combinations

from gbrain.config import Settings
from gbrain.store.page_names import slugs_by_id
from gbrain.store.scope import chunk_days_condition, page_condition
from gbrain.text.query_terms import fts_expression, has_unspaced_script
from gbrain.trace import Trace
from gbrain.types import Candidate, LaneResult, Query, Scope, ScoredChunk, Term

# In the queries below, the plus before rowid keeps SQLite from matching anew for each row in scope.
_AMONG = "+rowid IN (SELECT value FROM json_each(?))"

# Passages looked at for each page that may be returned: a long page has many.
_CHUNKS_PER_PAGE = 8

# Pages scored beyond the pool: a page's best passage can lift it into the pool.
_HEADROOM = 4

# Scoring a row costs some thirty times more than passing it by. Where the query's words stand in
# more pages than this, only pages with a rare word or two of the others are scored, by all its
# words, and only their passages.
_SCORED_ROWS = 2000
_PAIRED_TERMS = 8

# Shorter words that no page holds are as likely new as misspelt, and so are several in one query.
_SHORTEST_MISSPELT = 5
_MOST_MISSPELT = 2


def search_with_retries(
    connection: sqlite3.Connection, query: Query, settings: Settings, trace: Trace
) -> LaneResult:
    """What `search` finds; looser readings of a query that finds nothing, repaired words."""
    with trace.stage("fts") as detail:
        found = search(connection, query, settings)
        detail["pages"], detail["passages"] = len(found.pages), len(found.chunks)
    if not found.pages and query.terms and not query.filter_only and settings.retry_ladder:
        from gbrain.search.query_relaxation import retry_looser

        return retry_looser(connection, query, settings, trace)
    if settings.repair_words and found.pages and query.fts_expression is None:
        misspelt = tuple(filter(may_be_misspelt, found.unknown_terms))
        if 0 < len(misspelt) <= _MOST_MISSPELT:
            from gbrain.search.query_relaxation import repair_words

            return repair_words(connection, query, misspelt, settings, trace) or found
    return found


def may_be_misspelt(term: Term) -> bool:
    """Whether a term that no page holds is a word that can be compared with those of the brain."""
    word = term.words[0]
    plain = not (term.quoted or term.prefix or term.synonyms)
    return (
        plain
        and len(word) >= _SHORTEST_MISSPELT
        and word.isalpha()
        and not has_unspaced_script(word)
    )


def search(connection: sqlite3.Connection, query: Query, settings: Settings) -> LaneResult:
    """Pages that hold the query's words, best first; scores are positive, higher is better."""
    scores: dict[int, float] = {}
    best: dict[int, int] = {}
    counts = term_counts(connection, query.terms)
    chunks: list[ScoredChunk] = []
    if query.terms:
        scores, chunks = _scored(connection, query, counts, settings)
        for chunk in chunks:
            if chunk.page_id not in best:
                best[chunk.page_id] = chunk.chunk_id
                _add(scores, {chunk.page_id: chunk.score}, settings.chunk_weight)
        if settings.hypothetical_questions != "off" and settings.questions_weight:
            pass

            asked = question_scores(connection, query, _HEADROOM * settings.candidate_pool)
            _add(scores, asked, settings.questions_weight)
        if len(query.terms) > 1 and settings.all_words_bonus:
            for page_id in _holding_all(connection, query.terms, scores):
                scores[page_id] *= 1 + settings.all_words_bonus
    unindexed = _unindexed(query)
    if unindexed:
        pass

        pool = settings.candidate_pool
        _add(scores, substring_scores(connection, unindexed, query.scope, pool))
    if query.filter_only:
        pass

        scores |= listed_scores(connection, query.scope, scores, settings.candidate_pool)
    slugs = slugs_by_id(connection, scores)
    ranked = sorted(scores, key=lambda page_id: (-scores[page_id], slugs[page_id]))
    pages = tuple(
        Candidate(page_id, slugs[page_id], best.get(page_id), rank, scores[page_id])
        for rank, page_id in enumerate(ranked, 1)
    )
    return LaneResult(
        pages[: settings.candidate_pool],
        tuple(chunks),
        min(scores.values(), default=None),
        tuple(term for term, count in zip(query.terms, counts, strict=True) if not count),
        overflow=pages[settings.candidate_pool :],
    )


def _add(scores: dict[int, float], more: Mapping[int, float], weight: float = 1.0) -> None:
    for page_id, score in more.items():
        scores[page_id] = scores.get(page_id, 0.0) + weight * score


def _scored(
    connection: sqlite3.Connection, query: Query, counts: Sequence[int], settings: Settings
) -> tuple[dict[int, float], list[ScoredChunk]]:
    """The best pages and, best first, passages for the query's words."""
    anyone = fts_expression(query.terms)
    many = sum(counts) > _SCORED_ROWS
    narrow = many and _is_narrow(connection, query.scope)
    telling = query.fts_expression
    if many and not narrow and not telling:
        telling = _telling(connection, query.terms, counts)
    pages = _in_scope(connection, telling or anyone, query.scope, narrow)
    scores = _page_scores(connection, anyone, telling, pages, settings)
    # The scope may keep out the telling pages: then the others must be scored after all.
    enough = 1 if pages is None else min(query.limit, settings.candidate_pool)
    if telling and not query.fts_expression and len(scores) < enough:
        telling, pages = None, _in_scope(connection, anyone, query.scope, narrow)
        scores = _page_scores(connection, anyone, telling, pages, settings)
    best = list(scores) if telling else pages
    return scores, _chunk_scores(connection, anyone, best, query.scope, settings)


def term_counts(connection: sqlite3.Connection, terms: tuple[Term, ...]) -> list[int]:
    """How many pages of the brain hold each of the terms."""
    matching = "SELECT count(*) FROM pages_fts WHERE pages_fts MATCH ?"
    return [
        connection.execute(matching, (fts_expression((term,)),)).fetchone()[0] for term in terms
    ]


def _telling(
    connection: sqlite3.Connection, terms: tuple[Term, ...], held_by: Sequence[int]
) -> str:
    """An expression that few enough pages match to be scored: the rarest terms alone and the
    others two by two."""
    counts = [(count, (term,)) for count, term in zip(held_by, terms, strict=True) if count]
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
    return " OR ".join(f"({fts_expression(group, 'AND')})" for group in chosen)


def _is_narrow(connection: sqlite3.Connection, scope: Scope) -> bool:
    """Whether all pages in scope are few enough to be scored."""
    if scope.unlimited:
        return False
    within = page_condition(scope)
    beyond = connection.execute(
        f"SELECT 1 FROM pages WHERE {within.sql} LIMIT 1 OFFSET ?", (*within.values, _SCORED_ROWS)
    )
    return beyond.fetchone() is None


def _in_scope(
    connection: sqlite3.Connection, match: str, scope: Scope, narrow: bool
) -> list[int] | None:
    """The pages in scope that match; None when there is no scope."""
    if scope.unlimited:
        return None
    within = page_condition(scope)
    # Of a wide scope, only what matches is looked at.
    inside = (
        f"+rowid IN (SELECT id FROM pages WHERE {within.sql})"
        if narrow
        else f"EXISTS (SELECT 1 FROM pages WHERE pages.id = pages_fts.rowid AND {within.sql})"
    )
    rows = connection.execute(
        f"SELECT rowid FROM pages_fts WHERE pages_fts MATCH ? AND {inside}", (match, *within.values)
    )
    return [row[0] for row in rows]


def _page_scores(
    connection: sqlite3.Connection,
    match: str,
    telling: str | None,
    page_ids: list[int] | None,
    settings: Settings,
) -> dict[int, float]:
    """The best pages by their own words, of these or of all that are `telling`."""
    clauses, values = ["pages_fts MATCH ?"], [match]
    if page_ids is not None:
        clauses.append(_AMONG)
        values.append(json.dumps(page_ids))
    elif telling:
        clauses.append("+rowid IN (SELECT rowid FROM pages_fts WHERE pages_fts MATCH ?)")
        values.append(telling)
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
    """The best passages, best first, of these pages or of all."""
    clauses, values = ["chunks_fts MATCH ?"], [match]
    if page_ids is not None:
        days = chunk_days_condition(scope)
        clauses.append(
            "+rowid IN (SELECT id FROM chunks "
            f"WHERE page_id IN (SELECT value FROM json_each(?)) AND {days.sql})"
        )
        values += [json.dumps(page_ids), *days.values]
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
        (fts_expression(terms, "AND"),),
    )
    return [row[0] for row in rows if row[0] in page_ids]


def _unindexed(query: Query) -> list[str]:
    """What only a look into the texts can find: words of scripts without spaces, symbols alone."""
    if not query.terms and query.text and query.tree is None:
        return [query.text]
    return [word for term in query.terms for word in term.words if has_unspaced_script(word)]


def question_scores(connection: sqlite3.Connection, query: Query, limit: int) -> dict[int, float]:
    """The best pages in scope by the questions they answer; scores are positive."""
    within = page_condition(query.scope)
    rows = connection.execute(
        "SELECT rowid, -bm25(questions_fts) AS score FROM questions_fts "
        "WHERE questions_fts MATCH ? AND EXISTS (SELECT 1 FROM pages "
        f"WHERE pages.id = questions_fts.rowid AND {within.sql}) ORDER BY score DESC LIMIT ?",
        (query.fts_expression or fts_expression(query.terms), *within.values, limit),
    )
    return dict(rows.fetchall())


def substring_scores(
    connection: sqlite3.Connection, words: list[str], scope: Scope, limit: int
) -> dict[int, float]:
    """Pages that hold the words letter for letter, by how many of them and where."""
    within = page_condition(scope)
    one = "(instr(title, ?) > 0) + (instr(compiled_truth, ?) > 0 OR instr(timeline, ?) > 0)"
    rows = connection.execute(
        f"SELECT id, CAST({' + '.join([one] * len(words))} AS REAL) AS score FROM pages "
        f"WHERE {within.sql} AND score > 0 ORDER BY score DESC, id LIMIT ?",
        (*[word for word in words for _ in range(3)], *within.values, limit),
    )
    return dict(rows.fetchall())


def listed_scores(
    connection: sqlite3.Connection, scope: Scope, scored: Mapping[int, float], limit: int
) -> dict[int, float]:
    """The other pages in scope, the latest dates first, each a little below the last one."""
    within = page_condition(scope)
    rows = connection.execute(
        f"SELECT id FROM pages WHERE {within.sql} ORDER BY last_day DESC, slug LIMIT ?",
        (*within.values, limit + len(scored)),
    )
    others = [row[0] for row in rows if row[0] not in scored]
    lowest = min(scored.values(), default=1.0)
    return {page_id: lowest / (place + 1) for place, page_id in enumerate(others, 1)}
