"""What the keyword lane scores beside words in an index, and only when a query asks for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from gbrain.store.scope import page_condition
from gbrain.text.query import match_expression
from gbrain.types import Query, Scope


def question_scores(connection: sqlite3.Connection, query: Query, limit: int) -> dict[int, float]:
    """The best pages in scope by the questions they answer; scores are positive."""
    within = page_condition(query.scope)
    rows = connection.execute(
        "SELECT rowid, -bm25(questions_fts) AS score FROM questions_fts "
        "WHERE questions_fts MATCH ? AND EXISTS (SELECT 1 FROM pages "
        f"WHERE pages.id = questions_fts.rowid AND {within.sql}) ORDER BY score DESC LIMIT ?",
        (query.expression or match_expression(query.terms), *within.values, limit),
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
