"""The indexes over words of a shared store: their tables and sizes, and how many rows match."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from gbrain.store.postgres.indexes import index_name
from gbrain.store.postgres.scope import SharedCondition
from gbrain.store.postgres.tsqueries import Phrase, TextQuery

if TYPE_CHECKING:
    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row

Index = Literal["pages", "chunks", "questions"]

# Counts that are remembered, for many queries of a process that stays.
_MAX_COUNTS = 20_000


class IndexTable(NamedTuple):
    """Where an index is: its rows, their key, the column of words and the length in words.

    `pages` joins the pages of the rows for a condition that names these, as `p`. The words of the
    first columns have letters in the tsvector.
    """

    rows: str
    pages: str
    key: str
    words: str
    length: str
    bounds: str
    letters: str

    def rows_for(self, within: SharedCondition) -> str:
        """Return the rows, with their pages if the condition names these."""
        return self.rows + (self.pages if "p." in within.sql else "")


INDEX_TABLES: dict[Index, IndexTable] = {
    "pages": IndexTable(
        "gbrain.search_pages p", "",
        "p.id AS page, 0 AS place", "p.words", "p.length", "p.bounds", "AB",
    ),
    "chunks": IndexTable(
        "gbrain.search_chunks c", " JOIN gbrain.search_pages p ON p.id = c.page",
        "c.page, c.position AS place", "c.words", "c.length", "c.bounds", "A",
    ),
    "questions": IndexTable(
        "gbrain.search_pages p", "",
        "p.id AS page, 0 AS place", "p.questions", "p.question_length", "'{}'::int[]", "",
    ),
}  # fmt: skip


class Totals(NamedTuple):
    """How many rows and words an index has."""

    rows: int
    words: int


class IndexState(NamedTuple):
    """How large the indexes are, and how many changes of pages are not in them yet.

    `unindexed` is 1 if only the words are not counted yet. `stamp` changes with every write.
    `has_vector_index` is about the vectors of one model.
    """

    totals: dict[Index, Totals]
    unindexed: int
    stamp: str
    has_vector_index: bool


def read_state(cursor: Cursor[Row], model: int | None = None) -> IndexState:
    """Return the state of the indexes, and prepare the transaction for searching them."""
    found = cursor.execute(
        "SELECT t.pages, t.page_words, t.chunks, t.chunk_words, t.question_pages, "
        "t.question_words, greatest(s.sequence - s.indexed_to, (NOT s.is_counted)::int), "
        "s.xmin::text, coalesce((SELECT indisvalid FROM pg_index "
        "WHERE indexrelid = to_regclass(%s)), false), "
        "set_config('plan_cache_mode', 'force_custom_plan', true), "
        "set_config('jit', 'off', true) "
        "FROM gbrain.state s LEFT JOIN gbrain.search_totals t ON true",
        (f"gbrain.{index_name(model)}" if model else None,),
    )
    row = found.fetchone() or (0,) * 9
    sizes = [number or 0 for number in row[:6]]
    totals: dict[Index, Totals] = {
        "pages": Totals(*sizes[:2]),
        "chunks": Totals(*sizes[2:4]),
        "questions": Totals(*sizes[4:]),
    }
    return IndexState(totals, int(row[6]), str(row[7]), bool(row[8]))


class MatchCounts:
    """How many rows contain words and phrases; the store is asked once, until somebody writes."""

    def __init__(self) -> None:
        self._stamp = ""
        self._words: dict[str, tuple[int, int]] = {}
        self._matches: dict[tuple[Index, str, int | None], int] = {}

    def forget_older(self, stamp: str) -> None:
        """Forget the counts of another state of the store, and all if they have become many."""
        if stamp != self._stamp or len(self._words) + len(self._matches) > _MAX_COUNTS:
            self._words.clear()
            self._matches.clear()
        self._stamp = stamp

    def read_words(self, cursor: Cursor[Row], phrases: Iterable[Phrase]) -> None:
        """Read the counts of all words that are not known yet, in one statement."""
        words = {word for phrase in phrases for word in phrase.words} - self._words.keys()
        if words:
            rows = cursor.execute(
                "SELECT term, pages, chunks FROM gbrain.search_terms WHERE term = ANY(%s)",
                (sorted(words),),
            )
            self._words |= dict.fromkeys(words, (0, 0)) | {row[0]: row[1:] for row in rows}

    def count(
        self, cursor: Cursor[Row], index: Index, query: TextQuery, most: int | None = None
    ) -> int:
        """Return how many rows of an index match, counting at most `most`."""
        if query.tsquery is None:
            return 0
        if len(query.phrases) == 1 and is_word(query.phrases[0]) and index != "questions":
            self.read_words(cursor, query.phrases)
            found = self._words[query.phrases[0].words[0]][0 if index == "pages" else 1]
            return found if most is None else min(found, most)
        key = (index, query.tsquery, most)
        if key not in self._matches:
            self._matches[key] = count_rows(cursor, index, query, most)
        return self._matches[key]


def is_word(phrase: Phrase) -> bool:
    """Return whether a phrase is one whole word, in any column."""
    return len(phrase.words) == 1 and not phrase.prefix and not phrase.letters


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
    table = INDEX_TABLES[index]
    limited = "" if most is None else f" LIMIT {int(most)}"
    # The statement has no text of a user: that is in the values.
    sql = (
        f"SELECT count(*) FROM (SELECT 1 FROM {table.rows_for(within)} "
        f"WHERE {table.words} @@ %s::tsquery AND {within.sql}{limited}) AS found"
    )
    row = cursor.execute(sql.encode(), (query.tsquery, *within.values)).fetchone()
    return int(row[0]) if row else 0
