"""Score the pages and chunks of a shared store by BM25, in plain SQL over their tsvectors.

The formula, its constants and the weights of columns are those of FTS5's bm25().
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gbrain.store.postgres.scope import SharedCondition
from gbrain.store.postgres.tsqueries import Phrase, TextQuery, any_of, phrase_tsquery
from gbrain.store.postgres.word_indexes import INDEX_TABLES, Index, MatchCounts, Totals, is_word

if TYPE_CHECKING:
    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row

# Candidates that the condition alone chooses, such as the chunks of some pages.
ANY_ROW = ""

_K1, _B = 1.2, 0.75
_MIN_IDF = 1e-6
# Words that a prefix is expanded to; a shorter prefix than that is no word to look for.
_MAX_PREFIXED = 1000
# The places of a longer phrase are not counted: it occurs once.
_MAX_COUNTED_WORDS = 8
# Of a longer query the rarest words and phrases are scored: a statement has its limits.
_MAX_SCORED_PHRASES = 300

# ts_rank of a word with n positions of weight 1 is (1 + 1/4 + ... + 1/n^2) / 1.64493406685, so it
# tells n, and needs a fifth of the time of unnest and count. The rest of that sum is nearly
# 1 / (n + 1/2): up to the 256 positions that a tsvector keeps, this is n within .11.
_POSITIONS = "round(0.607927101854 / (1 - ts_rank('{{{0}}}', words, %s::tsquery)::float8) - 0.5)"


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
    counts: MatchCounts | None = None,
) -> list[tuple[int, int, float]]:
    """Return (page id, position, score) of the rows that match best, best first.

    `weights` are those of the columns. The rows that are scored match the tsquery `candidates`, if
    it is given, instead of the query: rare words choose. With ANY_ROW, `within` alone chooses.
    """
    if query.tsquery is None or not totals.rows:
        return []
    counts = counts or MatchCounts()
    table = INDEX_TABLES[index]
    rarity = _idf(cursor, index, query.phrases, totals, counts)
    scored = sorted(zip(rarity, query.phrases, strict=True), key=lambda pair: -pair[0])
    # A word on most pages is worth nothing, and reading its places takes long.
    if candidates:
        scored = [pair for pair in scored if pair[0] > _MIN_IDF] or scored
    parts: list[str] = []
    values: list[object] = []
    scored = scored[:_MAX_SCORED_PHRASES]
    for idf, phrase in scored:
        frequency = (
            _word_frequency(phrase, weights, table.letters)
            if is_word(phrase) and len({*weights[len(table.letters) :]}) == 1
            else _phrase_frequency(phrase, _word_sets(cursor, phrase), weights)
        )
        # The same as tf * (k1 + 1) / (tf + damping), with tf once.
        parts.append(f"%s * (1 - damping / (damping + {frequency.sql}))")
        values += (idf * (_K1 + 1), *frequency.values)
    lettered = any_of([phrase._replace(letters=table.letters) for _, phrase in scored])
    # Looking up common words as well would read most of the index; rows without any score nothing.
    matched = [candidates or query.tsquery] if candidates != ANY_ROW else []
    average = totals.words / totals.rows
    # OFFSET 0 keeps the planner from writing what is used twice twice.
    sql = (
        f"SELECT page, place, score FROM (SELECT page, place, {' + '.join(parts)} AS score "
        f"FROM (SELECT {table.key}, {table.words} AS words, {table.bounds} AS bounds, "
        f"%s::float8 + %s::float8 * {table.length} AS damping, "
        f"{table.words} @@ %s::tsquery AS lettered FROM {table.rows_for(within)} WHERE "
        + "".join(f"{table.words} @@ %s::tsquery AND " for _ in matched)
        + f"{within.sql} OFFSET 0) AS found OFFSET 0) AS scored WHERE score > 0 "
        "ORDER BY score DESC, page, place LIMIT %s"
    )
    return _execute(
        cursor, sql,
        (*values, _K1 * (1 - _B), _K1 * _B / (average or 1), lettered,
         *matched, *within.values, limit),
    )  # fmt: skip


def _idf(
    cursor: Cursor[Row],
    index: Index,
    phrases: Sequence[Phrase],
    totals: Totals,
    counts: MatchCounts,
) -> list[float]:
    """Return how rare each phrase is."""
    counts.read_words(cursor, phrases)

    def rarity(phrase: Phrase) -> float:
        query = TextQuery(phrase_tsquery(phrase), (phrase,))
        count = counts.count(cursor, index, query)
        if count >= totals.rows:
            return _MIN_IDF
        return max(math.log((totals.rows - count + 0.5) / (count + 0.5)), _MIN_IDF)

    return [rarity(phrase) for phrase in phrases]


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


def _word_frequency(phrase: Phrase, weights: Sequence[float], letters: str) -> SharedCondition:
    """Return how often a word is in a row of `found`, as an expression of SQL.

    The columns with letters have weights of their own, all others the same one.
    """
    tsquery, rest = phrase_tsquery(phrase), weights[-1]

    def count(weight: float, counted: str) -> SharedCondition:
        chosen = ",".join("1" if letter in counted else "0" for letter in "DCBA")
        return SharedCondition(f"%s * {_POSITIONS.format(chosen)}", (weight, tsquery))

    # Columns with letters come first, and ts_rank tells the number only of first positions.
    steps = [*(float(weight) for weight in weights[: len(letters)]), rest]
    parts = [
        count(steps[place] - steps[place + 1], letters[: place + 1])
        for place in range(len(letters))
        if steps[place] != steps[place + 1]
    ]
    anywhere = count(rest, "ABCD")
    more = " + ".join(part.sql for part in parts) or "0"
    return SharedCondition(
        f"({anywhere.sql} + CASE WHEN lettered THEN {more} ELSE 0 END)",
        tuple(value for part in (anywhere, *parts) for value in part.values),
    )


def _phrase_frequency(
    phrase: Phrase, sets: list[list[str]], weights: Sequence[float]
) -> SharedCondition:
    """Return how often a phrase is in a row of `found`, as an expression of SQL."""
    tsquery = phrase_tsquery(phrase)
    if len(sets) > _MAX_COUNTED_WORDS:
        return SharedCondition(
            "CASE WHEN words @@ %s::tsquery THEN %s::float8 ELSE 0 END", (tsquery, weights[-1])
        )
    lexemes = sorted({word for found in sets for word in found})
    hits = "unnest(ts_filter(setweight(words, 'C', %s::text[]), '{c}'))"
    follows = "".join(
        f" AND EXISTS (SELECT 1 FROM {hits} AS n (lexeme, positions, letters) "
        f"WHERE n.lexeme = ANY(%s::text[]) AND at + {place} = ANY(n.positions))"
        for place in range(1, len(sets))
    )
    return SharedCondition(
        "CASE WHEN words @@ %s::tsquery THEN (SELECT coalesce(sum((%s::float8[])"
        "[1 + width_bucket(at::int, bounds)]), 0) "
        f"FROM {hits} AS h (lexeme, positions, letters), unnest(h.positions) AS at "
        f"WHERE h.lexeme = ANY(%s::text[]){follows}) ELSE 0 END",
        (tsquery, [float(weight) for weight in weights], lexemes, sets[0],
         *(value for found in sets[1:] for value in (lexemes, found))),
    )  # fmt: skip


def _execute(cursor: Cursor[Row], sql: str, values: Sequence[object]) -> list[Row]:
    # The statement has no text of a user: that is in the values.
    return cursor.execute(sql.encode(), values).fetchall()
