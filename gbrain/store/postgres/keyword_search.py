"""Score the pages and chunks of a shared store by BM25, in plain SQL over their tsvectors.

The formula, its constants and the weights of columns are those of FTS5's bm25().
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from gbrain.store.postgres.scope import SharedCondition
from gbrain.store.postgres.tsqueries import Phrase, TextQuery, phrase_tsquery

if TYPE_CHECKING:
    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row

Index = Literal["pages", "chunks", "questions"]

# Candidates that the condition alone chooses, such as the chunks of some pages.
ANY_ROW = ""

_K1, _B = 1.2, 0.75
_MIN_IDF = 1e-6
# Words that a prefix is expanded to; a shorter prefix than that is no word to look for.
_MAX_PREFIXED = 1000
# The places of a longer phrase are not counted: it occurs once.
_MAX_COUNTED_WORDS = 8


class Totals(NamedTuple):
    """How many rows and words an index has."""

    rows: int
    words: int


class _Table(NamedTuple):
    """Where an index is: its rows, their key, the column of words and the length in words."""

    rows: str
    key: str
    words: str
    length: str
    bounds: str


_TABLES: dict[Index, _Table] = {
    "pages": _Table("gbrain.search_pages p", "p.id, 0", "p.words", "p.length", "p.bounds"),
    "chunks": _Table(
        "gbrain.search_chunks c JOIN gbrain.search_pages p ON p.id = c.page", "p.id, c.position",
        "c.words", "c.length", "c.bounds",
    ),
    "questions": _Table(
        "gbrain.search_pages p", "p.id, 0", "p.questions", "p.question_length", "'{}'::int[]"
    ),
}  # fmt: skip


def read_totals(cursor: Cursor[Row]) -> dict[Index, Totals]:
    """Return how large each index is."""
    row = (
        cursor.execute(
            "SELECT pages, page_words, chunks, chunk_words, question_pages, question_words "
            "FROM gbrain.search_totals"
        ).fetchone()
        or (0,) * 6
    )
    return {"pages": Totals(*row[:2]), "chunks": Totals(*row[2:4]), "questions": Totals(*row[4:])}


def count_rows(
    cursor: Cursor[Row],
    index: Index,
    query: TextQuery,
    most: int | None = None,
    within: SharedCondition = SharedCondition("true", ()),
) -> int:
    """Return how many rows of an index match, counting at most `most`."""
    if query.tsquery is None:
        return 0
    single = query.phrases[0] if len(query.phrases) == 1 else None
    if single and _is_word(single) and index != "questions" and within.sql == "true":
        return min(
            _word_counts(cursor, index, single.words).get(single.words[0], 0), most or 1 << 62
        )
    table = _TABLES[index]
    limited = "" if most is None else f" LIMIT {int(most)}"
    row = _execute(
        cursor,
        f"SELECT count(*) FROM (SELECT 1 FROM {table.rows} WHERE {table.words} @@ %s::tsquery "
        f"AND {within.sql}{limited}) AS found",
        (query.tsquery, *within.values),
    )[0]
    return int(row[0])


def score_rows(
    cursor: Cursor[Row],
    index: Index,
    query: TextQuery,
    weights: Sequence[float],
    limit: int,
    *,
    totals: Totals,
    candidates: str | None = None,
    within: SharedCondition = SharedCondition("true", ()),
) -> list[tuple[int, int, float]]:
    """Return (page id, position, score) of the rows that match best, best first.

    `weights` are those of the columns. The rows that are scored match the tsquery `candidates`, if
    it is given, instead of the query: rare words choose. With ANY_ROW, `within` alone chooses.
    """
    if query.tsquery is None or not totals.rows:
        return []
    sets = [_word_sets(cursor, phrase) for phrase in query.phrases]
    rarity = _idf(cursor, index, query.phrases, totals)
    table = _TABLES[index]
    words: list[tuple[str, float]] = []
    branches: list[str] = []
    values: list[object] = []
    for phrase, found, idf in zip(query.phrases, sets, rarity, strict=True):
        if _is_word(phrase):
            words.append((phrase.words[0], idf))
        else:
            branch = _phrase_branch(phrase, found, idf)
            branches.append(branch.sql)
            values += branch.values
    branches.append(
        "SELECT f.page, f.place, f.length, f.bounds, asked.idf, h.positions FROM found f, "
        "unnest(f.hits) AS h (lexeme, positions, letters) "
        "JOIN unnest(%s::text[], %s::float8[]) AS asked (lexeme, idf) USING (lexeme)"
    )
    # A word on most pages is worth nothing, and reading its places takes long.
    if candidates:
        words = [(word, idf) for word, idf in words if idf > _MIN_IDF] or words
    values += [[word for word, _ in words], [idf for _, idf in words]]
    lexemes = sorted({word for found in sets for some in found for word in some})
    # Looking up common words as well would read most of the index; rows without any score nothing.
    matched = [candidates or query.tsquery] if candidates != ANY_ROW else []
    average = totals.words / totals.rows
    sql = (
        f"WITH found (page, place, length, bounds, hits) AS MATERIALIZED (SELECT {table.key}, "
        f"{table.length}::float8, {table.bounds}, ts_filter(setweight({table.words}, 'C', "
        f"%s::text[]), '{{c}}') FROM {table.rows} WHERE "
        + "".join(f"{table.words} @@ %s::tsquery AND " for _ in matched)
        + f"{within.sql}), counted (page, place, length, bounds, idf, positions) AS "
        f"({' UNION ALL '.join(branches)}) "
        "SELECT page, place, sum(idf * tf * %s / (tf + %s + %s * length)) AS score FROM counted, "
        "LATERAL (SELECT sum((%s::float8[])[1 + width_bucket(one::int, bounds)]) AS tf "
        "FROM unnest(positions) AS one) AS weighed WHERE tf > 0 "
        "GROUP BY page, place ORDER BY score DESC, page, place LIMIT %s"
    )
    return _execute(
        cursor,
        sql,
        (lexemes, *matched, *within.values, *values, _K1 + 1, _K1 * (1 - _B),
         _K1 * _B / (average or 1), [float(weight) for weight in weights], limit),
    )  # fmt: skip


def _is_word(phrase: Phrase) -> bool:
    return len(phrase.words) == 1 and not phrase.prefix and not phrase.letters


def _idf(
    cursor: Cursor[Row], index: Index, phrases: Sequence[Phrase], totals: Totals
) -> list[float]:
    """Return how rare each phrase is."""
    words = [phrase.words[0] for phrase in phrases if _is_word(phrase)]
    known = {} if index == "questions" else _word_counts(cursor, index, words)

    def count(phrase: Phrase) -> int:
        if _is_word(phrase) and index != "questions":
            return known.get(phrase.words[0], 0)
        return count_rows(cursor, index, TextQuery(phrase_tsquery(phrase), (phrase,)))

    counts = [count(phrase) for phrase in phrases]
    return [
        max(math.log((totals.rows - n + 0.5) / (n + 0.5)), _MIN_IDF) if n < totals.rows
        else _MIN_IDF
        for n in counts
    ]  # fmt: skip


def _word_counts(cursor: Cursor[Row], index: Index, words: Sequence[str]) -> dict[str, int]:
    column = "pages" if index == "pages" else "chunks"
    rows = _execute(
        cursor, f"SELECT term, {column} FROM gbrain.search_terms WHERE term = ANY(%s)",
        (list(words),),
    )  # fmt: skip
    return dict(rows)


def _word_sets(cursor: Cursor[Row], phrase: Phrase) -> list[list[str]]:
    """Return the words that may stand at each place of a phrase; several only for a prefix."""
    sets = [[word] for word in phrase.words]
    if phrase.prefix:
        start = phrase.words[-1]
        rows = cursor.execute(
            "SELECT term FROM gbrain.search_terms WHERE term >= %s AND term < %s LIMIT %s",
            (start, start + "\U0010ffff", _MAX_PREFIXED),
        )
        sets[-1] = [row[0] for row in rows] or [start]
    return sets


def _phrase_branch(phrase: Phrase, sets: list[list[str]], idf: float) -> SharedCondition:
    """Return the statement that finds the places of a phrase in the rows of `found`."""
    columns = "f.page, f.place, f.length, f.bounds, %s::float8"
    if len(sets) > _MAX_COUNTED_WORDS:
        return SharedCondition(
            f"SELECT {columns}, '{{{16383}}}'::smallint[] FROM found f WHERE f.hits @@ %s::tsquery",
            (idf, phrase_tsquery(phrase)),
        )
    follows = "".join(
        " AND EXISTS (SELECT 1 FROM unnest(f.hits) AS n (lexeme, positions, letters) "
        f"WHERE n.lexeme = ANY(%s::text[]) AND at + {place} = ANY(n.positions))"
        for place in range(1, len(sets))
    )
    return SharedCondition(
        f"SELECT {columns}, places.positions FROM found f, LATERAL (SELECT array_agg(at) AS "
        "positions FROM unnest(f.hits) AS h (lexeme, positions, letters), "
        "unnest(h.positions) AS at "
        f"WHERE h.lexeme = ANY(%s::text[]){follows}) AS places WHERE places.positions IS NOT NULL",
        (idf, *sets),
    )


def _execute(cursor: Cursor[Row], sql: str, values: Sequence[object]) -> list[Row]:
    # The statement has no text of a user: that is in the values.
    return cursor.execute(sql.encode(), values).fetchall()
