"""Query the FTS5 indexes of pages, chunks and questions; `match` is an FTS5 expression."""

from __future__ import annotations

import json
import re
import sqlite3
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from gbrain.store.remembered import remember
from gbrain.store.scope import Condition, chunk_days_condition, page_condition
from gbrain.store.whole_brain import asks_whole_brain, known_totals
from gbrain.text.query_terms import fts_expression, fts_whole_term
from gbrain.text.slug import fold_name, normalise_unicode
from gbrain.text.unspaced import plain_text
from gbrain.types import Scope, ScoredChunk, Term

# The plus before rowid keeps SQLite from running the match once for each of the rows.
_ROW_IN_JSON = "+rowid IN (SELECT value FROM json_each(?))"
_JSON_IDS = "SELECT value AS id FROM json_each(?)"
_PASSED_PER_LOOKUP = 80
# Pages with a word that are remembered; they have 800 kilobytes.
_MAX_LISTED_ROWS = 100_000


class KeywordMatches(NamedTuple):
    """Scores of pages and of their stored questions by page id, and the best chunks, best first."""

    pages: dict[int, float]
    chunks: list[ScoredChunk]
    questions: dict[int, float]


def count_pages_with(connection: sqlite3.Connection, terms: Iterable[Term]) -> list[int]:
    """Return the number of pages that contain each term, in the order of the terms."""
    return count_matches(connection, "pages", [fts_expression((term,)) for term in terms])


@asks_whole_brain
def count_matches(
    connection: sqlite3.Connection, index: str, matches: Sequence[str], most: int | None = None
) -> list[int]:
    """Return how many rows of an index match each expression, counting at most `most`.

    The indexes are `pages`, `chunks` and `questions`, which has a row for each page with some.
    """
    table = {"pages": "pages_fts", "chunks": "chunks_fts", "questions": "questions_fts"}[index]
    matching = f"FROM {table} WHERE {table} MATCH ?"

    def count(sql: str, *values: object) -> int:
        found: int = connection.execute(sql, values).fetchone()[0]
        return found

    if most is not None:
        limited = f"SELECT count(*) FROM (SELECT 1 {matching} LIMIT ?)"
        return [count(limited, match, most) for match in matches]
    return [
        remember(connection, (table, match), partial(count, f"SELECT count(*) {matching}", match))
        for match in matches
    ]


def any_page_contains(connection: sqlite3.Connection, terms: tuple[Term, ...]) -> bool:
    """Return whether some page contains one of the terms."""
    return count_matches(connection, "pages", (fts_expression(terms),), 1) == [1]


def page_contains(connection: sqlite3.Connection, page_id: int, term: Term) -> bool:
    """Return whether a page contains a term."""
    found = connection.execute(
        "SELECT 1 FROM pages_fts WHERE pages_fts MATCH ? AND rowid = ?",
        (fts_expression((term,)), page_id),
    )
    return found.fetchone() is not None


def pages_with_all(connection: sqlite3.Connection, terms: tuple[Term, ...]) -> list[int]:
    """Return the ids of the pages that contain every term."""
    return list(_rows_with(connection, fts_expression(terms, "AND")))


def pages_with_exact_words(
    connection: sqlite3.Connection, terms: Iterable[Term], chunk_ids: Iterable[int]
) -> set[int]:
    """Return the pages whose names or given chunks contain each term in this form, in any case.

    The index stems words and drops accents: to it, "watched" is "watch" and "changé" is "change".
    """
    rows = connection.execute(
        "SELECT page_id, title || ' ' || slug || ' ' || heading_path || ' ' || text FROM chunks "
        "JOIN pages ON pages.id = page_id WHERE chunks.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(chunk_ids)),),
    )
    texts: dict[int, list[str]] = {}
    for page_id, text in rows:
        texts.setdefault(page_id, []).append(normalise_unicode("NFC", text).casefold())
    words = [re.escape(" ".join(term.words).casefold()) for term in terms]
    patterns = [re.compile(rf"(?<!\w){word}(?!\w)") for word in words]
    return {
        page_id
        for page_id, parts in texts.items()
        if all(any(map(pattern.search, parts)) for pattern in patterns)
    }


def _row_condition(scope: Scope) -> Condition:
    """Return the condition for a row of `pages_fts`, checked for each on its own."""
    within = page_condition(scope, by_row=True)
    if not within.values:
        return within
    page = f"SELECT 1 FROM pages WHERE pages.id = pages_fts.rowid AND {within.sql}"
    return Condition(f"EXISTS ({page})", within.values)


def _list_pages(connection: sqlite3.Connection, scope: Scope) -> str:
    """Return the ids of the pages in scope as a JSON array."""

    def read() -> str:
        within = page_condition(scope)
        rows = connection.execute(f"SELECT id FROM pages WHERE {within.sql}", within.values)
        return json.dumps([row[0] for row in rows])

    return remember(connection, ("pages_in_scope", scope), read)


def score_pages(
    connection: sqlite3.Connection,
    match: str,
    column_weights: Sequence[float],
    limit: int | None,
    *,
    also_match: str | None = None,
    scope: Scope = Scope(),
    small_scope: bool = False,
) -> dict[int, float]:
    """Return the BM25 scores of the best matching pages in scope by id, best first.

    If `also_match` is given, only pages that match it as well count. The pages of a small scope
    are listed first; in others each match is checked on its own. The weights are those of title,
    slug, compiled truth, timeline, tags and aliases.
    """
    inside, wanted = _row_condition(scope), None
    if small_scope:
        pages = (_list_pages(connection, scope),)
        inside, wanted = Condition(_ROW_IN_JSON, pages), Condition(_JSON_IDS, pages)
    if also_match:
        sql = f"SELECT rowid AS id FROM pages_fts WHERE pages_fts MATCH ? AND {inside.sql}"
        wanted = Condition(sql, (also_match, *inside.values))
    if wanted:
        inside = Condition("1", ())
    rows = connection.execute(
        _select_wanted("pages_fts", "rowid, -bm25(pages_fts, ?, ?, ?, ?, ?, ?) AS score", wanted)
        + f" WHERE pages_fts MATCH ? AND {inside.sql} ORDER BY score DESC, rowid LIMIT ?",
        (
            *(wanted.values if wanted else ()),
            *column_weights,
            match,
            *inside.values,
            -1 if limit is None else limit,
        ),
    )
    return dict(rows.fetchall())


def score_chunks(
    connection: sqlite3.Connection,
    match: str,
    title_weight: float,
    limit: int,
    *,
    page_ids: list[int] | None = None,
    scope: Scope = Scope(),
) -> list[ScoredChunk]:
    """Return the best matching chunks by BM25, best first.

    If `page_ids` is given, only chunks of these pages whose dates are in scope count.
    """
    score = "-bm25(chunks_fts, ?, 1.0, 1.0) AS score"
    if page_ids is None:
        rows = connection.execute(
            "SELECT found.id, chunks.page_id, found.score FROM ("
            f"SELECT rowid AS id, {score} FROM chunks_fts WHERE chunks_fts MATCH ? "
            "ORDER BY score DESC LIMIT ?"
            ") AS found JOIN chunks ON chunks.id = found.id ORDER BY found.score DESC, found.id",
            (title_weight, match, limit),
        )
    else:
        days = chunk_days_condition(scope)
        wanted = Condition(
            f"SELECT id, page_id FROM chunks WHERE page_id IN ({_JSON_IDS}) AND {days.sql}",
            (json.dumps(page_ids), *days.values),
        )
        rows = connection.execute(
            _select_wanted("chunks_fts", f"wanted.id, page_id, {score}", wanted)
            + " WHERE chunks_fts MATCH ? ORDER BY score DESC, wanted.id LIMIT ?",
            (*wanted.values, title_weight, match, limit),
        )
    return [ScoredChunk(*row) for row in rows]


def _select_wanted(index: str, columns: str, wanted: Condition | None) -> str:
    """Return the start of a statement on the rows of an index, or only on those with a wanted id.

    Before SQLite looks a match up among the wanted rows, it asks a Bloom filter of them. With
    17,000 matches and 645 wanted rows that takes three quarters of the time of `rowid IN`.
    """
    if wanted is None:
        return f"SELECT {columns} FROM {index}"
    return (
        f"WITH wanted AS MATERIALIZED ({wanted.sql}) SELECT {columns} FROM {index} "
        f"CROSS JOIN wanted ON wanted.id = +{index}.rowid"
    )


def score_questions(
    connection: sqlite3.Connection, match: str, scope: Scope, limit: int
) -> dict[int, float]:
    """Return the pages in scope whose stored questions match, by id with BM25, best first."""
    within = page_condition(scope, by_row=True)
    rows = connection.execute(
        "SELECT rowid, -bm25(questions_fts) AS score FROM questions_fts "
        "WHERE questions_fts MATCH ? AND EXISTS (SELECT 1 FROM pages "
        f"WHERE pages.id = questions_fts.rowid AND {within.sql}) ORDER BY score DESC LIMIT ?",
        (match, *within.values, limit),
    )
    return dict(rows.fetchall())


def has_questions(connection: sqlite3.Connection) -> bool:
    """Tell whether any page has questions; a read-only brain with schema 1 has no table of them."""
    if totals := known_totals(connection):
        return totals.has_questions
    table = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'page_questions'")
    return table.fetchone() is not None and bool(
        connection.execute("SELECT 1 FROM page_questions LIMIT 1").fetchone()
    )


@asks_whole_brain
def pages_asked(connection: sqlite3.Connection, text: str) -> dict[int, str]:
    """Return the slugs of the pages of which `text` is a question, by page id.

    Case, accents and punctuation do not count.
    """
    wanted = fold_name(text)
    if not wanted:
        return {}
    rows = connection.execute(
        "SELECT pages.id, slug, page_questions.questions FROM questions_fts "
        "JOIN page_questions ON page_id = questions_fts.rowid JOIN pages ON pages.id = page_id "
        "WHERE questions_fts MATCH ? ORDER BY slug",
        (fts_whole_term(Term((wanted,), quoted=True)),),
    )
    return {
        page_id: slug
        for page_id, slug, questions in rows
        if wanted in map(fold_name, plain_text(questions).splitlines())
    }


def any_question_contains(connection: sqlite3.Connection, term: Term) -> bool:
    """Return whether a stored question contains the term."""
    return count_matches(connection, "questions", (fts_expression((term,)),), 1) == [1]


def pages_with_text(connection: sqlite3.Connection, text: str, scope: Scope) -> dict[int, float]:
    """Return the pages in scope that contain a text, such as a symbol that FTS5 does not index.

    The value is 1 for a text in the title or in the body, 2 for both. Every page is read.
    """
    within = page_condition(scope)
    rows = connection.execute(
        "SELECT id, (instr(title, ?) > 0) + (instr(compiled_truth, ?) > 0 "
        f"OR instr(timeline, ?) > 0) AS places FROM pages WHERE places AND {within.sql}",
        (text, text, text, *within.values),
    )
    return dict(rows.fetchall())


def chunks_with_text(
    connection: sqlite3.Connection, text: str, page_ids: Iterable[int]
) -> list[ScoredChunk]:
    """Return the pages' chunks that contain a text, in the order of their ids; each scores 1."""
    rows = connection.execute(
        "SELECT id, page_id FROM chunks WHERE page_id IN (SELECT value FROM json_each(?)) "
        "AND instr(text, ?) > 0 ORDER BY id",
        (json.dumps(list(page_ids)), text),
    )
    return [ScoredChunk(chunk_id, page_id, 1.0) for chunk_id, page_id in rows]


def count_chunks(connection: sqlite3.Connection) -> int:
    """Return the number of chunks in the brain."""
    if totals := known_totals(connection):
        return totals.chunks

    def read() -> int:
        total: int = connection.execute("SELECT count(*) FROM chunks").fetchone()[0]
        return total

    return remember(connection, "chunks", read)


def count_chunks_with(connection: sqlite3.Connection, term: Term) -> int:
    """Return the number of chunks that contain a term."""
    return count_matches(connection, "chunks", (fts_expression((term,)),))[0]


@asks_whole_brain
def pages_matching(
    connection: sqlite3.Connection,
    matches: Sequence[str],
    page_ids: Collection[int],
    counts: Sequence[int],
) -> list[set[int]]:
    """Return for each expression, which at most so many pages match, those of the given pages."""
    return [
        _pages_matching(connection, match, page_ids, count)
        for match, count in zip(matches, counts, strict=True)
    ]


def _pages_matching(
    connection: sqlite3.Connection, match: str, page_ids: Collection[int], count: int
) -> set[int]:
    # Looking up one page takes as long as passing over so many that contain the term.
    one_by_one = count > _PASSED_PER_LOOKUP * len(page_ids)
    asked_before: list[bool] = remember(connection, ("asked_before", match), list)
    if asked_before and count <= _MAX_LISTED_ROWS:
        # Listing all pages with the term takes longer than this once, and much less from then on.
        found = remember(connection, ("rows_with", match), lambda: _rows_with(connection, match))
        return {page_id for page_id in page_ids if _is_in(found, page_id)}
    asked_before.append(True)
    within = _ROW_IN_JSON.removeprefix("+") if one_by_one else _ROW_IN_JSON
    rows = connection.execute(
        f"SELECT rowid FROM pages_fts WHERE pages_fts MATCH ? AND {within}",
        (match, json.dumps(list(page_ids))),
    )
    return {row[0] for row in rows}


def _rows_with(connection: sqlite3.Connection, match: str) -> array[int]:
    """Return the ids of the pages that match, in order."""
    # One text of all ids: a row for each would take three times as long.
    listed = connection.execute(
        "SELECT group_concat(rowid) FROM pages_fts WHERE pages_fts MATCH ?", (match,)
    ).fetchone()[0]
    return array("q", sorted(map(int, listed.split(",")))) if listed else array("q")


def _is_in(ordered: array[int], value: int) -> bool:
    place = bisect_left(ordered, value)
    return place < len(ordered) and ordered[place] == value


def chunks_with(connection: sqlite3.Connection, term: Term, chunk_ids: Iterable[int]) -> set[int]:
    """Return which of the chunks contain a term."""
    rows = connection.execute(
        f"SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? AND {_ROW_IN_JSON}",
        (fts_expression((term,)), json.dumps(list(chunk_ids))),
    )
    return {row[0] for row in rows}
