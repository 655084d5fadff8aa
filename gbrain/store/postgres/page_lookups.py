"""Find pages of a shared store by name, link, date and text, and its words and filter values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, LiteralString

from gbrain.store.keyword_index import pages_with_text
from gbrain.store.pages import NamedPage
from gbrain.store.postgres.page_loader import PageLoader, ParsedPages
from gbrain.store.postgres.scope import inside_condition, page_condition
from gbrain.store.postgres.search_index import QUESTION, keyword_tokenizer
from gbrain.store.postgres.word_vectors import cut_word, quote_lexeme
from gbrain.store.vocabulary import texts_with_stems
from gbrain.store.whole_brain import read_partial
from gbrain.text.similarity import edit_distance
from gbrain.text.slug import fold_name
from gbrain.types import Scope

if TYPE_CHECKING:
    import sqlite3

    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row
    from gbrain.store.scope import Spans

_MAX_NAMED_PAGES = 300
_MAX_SIMILAR_NAMES = 200

_KIND_ORDER: LiteralString = (
    "CASE n.kind WHEN 'slug' THEN 0 WHEN 'title' THEN 1 WHEN 'name' THEN 2 ELSE 3 END"
)
# The page a link means, as in a brain file: the surest kind of name, then the first slug.
_RESOLVED: LiteralString = (
    "LATERAL (SELECT n.page AS target FROM gbrain.search_names n JOIN gbrain.search_pages t "
    f"ON t.id = n.page WHERE n.key = l.key AND n.kind <> '{QUESTION}' "
    f"ORDER BY {_KIND_ORDER}, t.slug LIMIT 1) AS resolved"
)
_FILTER_VALUES: dict[str, LiteralString] = {
    "wing": "SELECT wing, count(*) FROM gbrain.search_pages GROUP BY 1",
    "room": "SELECT room, count(*) FROM gbrain.search_pages GROUP BY 1",
    "type": "SELECT min(type), count(*) FROM gbrain.search_pages WHERE type IS NOT NULL "
    "GROUP BY lower(type)",
    "tag": "SELECT min(tag), count(*) FROM gbrain.search_pages, unnest(tags) AS tag "
    "GROUP BY lower(tag)",
}


class PageLookups(PageLoader):
    """Finds pages and brings them into memory; see `WholeBrain` for its methods."""

    def __init__(
        self, cursor: Cursor[Row], memory: sqlite3.Connection, parsed: ParsedPages
    ) -> None:
        super().__init__(cursor, memory, parsed)
        self._tokenize = keyword_tokenizer().words

    # --- names and texts ---------------------------------------------------------------------

    def load_named(self, name: str) -> None:
        """Bring the pages that a name may mean into memory."""
        self.find_by_names({fold_name(name), fold_name(name.removesuffix(".md"))})

    def find_by_names(self, keys: Iterable[str]) -> list[NamedPage]:
        return self._named(
            self._cursor.execute(
                "SELECT p.id, p.slug, n.kind, n.key FROM gbrain.search_names n "
                "JOIN gbrain.search_pages p ON p.id = n.page WHERE n.key = ANY(%s) "
                "AND n.kind <> %s ORDER BY p.slug, n.key LIMIT %s",
                (list(keys), QUESTION, _MAX_NAMED_PAGES),
            ).fetchall()
        )

    def find_similar_names(self, key: str, letters: int) -> list[NamedPage]:
        ways = [
            f"(SELECT {place}, p.id, p.slug, n.kind, n.key FROM gbrain.search_names n "
            f'JOIN gbrain.search_pages p ON p.id = n.page WHERE {column} COLLATE "C" >= %s '
            f'AND {column} COLLATE "C" < %s AND length(n.key) BETWEEN %s AND %s '
            "AND n.kind <> %s LIMIT %s)"
            for place, column in enumerate(("n.key", "reverse(n.key)"))
        ]
        values = [
            value
            for start in (key[:letters], key[::-1][:letters])
            for value in (start, start + "\U0010ffff", len(key) - 2, len(key) + 2, QUESTION,
                          _MAX_SIMILAR_NAMES + 1)
        ]  # fmt: skip
        rows = self._cursor.execute(" UNION ALL ".join(ways).encode(), values).fetchall()
        crowded = [place for place in (0, 1)
                   if [row[0] for row in rows].count(place) > _MAX_SIMILAR_NAMES]  # fmt: skip
        return self._named(
            row[1:]
            for row in rows
            if row[0] not in crowded and edit_distance(key, row[4], 2) is not None
        )

    def _named(self, rows: Iterable[Row]) -> list[NamedPage]:
        named = [NamedPage(*row) for row in rows]
        here = self.fetch_pages(page.page_id for page in named)
        return [page for page in named if page.page_id in here]

    def pages_asked(self, text: str) -> dict[int, str]:
        rows = self._cursor.execute(
            "SELECT p.id, p.slug FROM gbrain.search_names n JOIN gbrain.search_pages p "
            "ON p.id = n.page WHERE n.key = %s AND n.kind = %s ORDER BY p.slug",
            (fold_name(text), QUESTION),
        ).fetchall()
        here = self.fetch_pages(row[0] for row in rows)
        return {page_id: slug for page_id, slug in rows if page_id in here}

    def pages_with_text(self, text: str, scope: Scope) -> dict[int, float]:
        within = page_condition(scope, self._tokenize)
        rows = self._cursor.execute(
            "SELECT p.id FROM gbrain.search_pages p JOIN gbrain.pages b ON b.slug = p.slug "
            f"WHERE {within.sql} AND position(%s IN b.content) > 0 "
            f"LIMIT {_MAX_NAMED_PAGES}".encode(),
            (*within.values, text.encode(errors="replace").decode()),
        ).fetchall()
        here = self.fetch_pages(row[0] for row in rows)
        found = pages_with_text(self._memory, text, Scope())
        return {page_id: count for page_id, count in found.items() if page_id in here}

    # --- links and dates ---------------------------------------------------------------------

    def pages_linked_from(self, page_ids: Iterable[int], most: int) -> list[tuple[int, int]]:
        return self._cursor.execute(
            f"SELECT l.page, target FROM gbrain.search_links l, {_RESOLVED} "
            "WHERE l.page = ANY(%s) AND target <> l.page ORDER BY l.page, l.position LIMIT %s",
            (list(page_ids), most),
        ).fetchall()

    def pages_linking_to(self, page_ids: Iterable[int], most: int) -> list[tuple[int, int]]:
        ids = list(page_ids)
        return self._cursor.execute(
            f"SELECT target, l.page FROM gbrain.search_links l, {_RESOLVED} WHERE l.key IN "
            "(SELECT key FROM gbrain.search_names WHERE page = ANY(%s)) "
            "AND target = ANY(%s) AND target <> l.page LIMIT %s",
            (ids, ids, most),
        ).fetchall()

    def latest_pages(self, scope: Scope, limit: int, inside: Spans = ()) -> list[int]:
        within = page_condition(scope, self._tokenize)
        values = within.values
        if inside:
            dated, own = inside_condition("d", inside), inside_condition("o", inside)
            values = (*dated.values, *own.values, *values)
            sql = (
                "WITH found AS (SELECT d.page, d.first_day AS day, 0 AS own "
                f"FROM gbrain.search_chunks d WHERE {dated.sql} "
                f"UNION ALL SELECT o.id, o.first_day, 1 FROM gbrain.search_pages o WHERE {own.sql} "
                "AND NOT EXISTS (SELECT 1 FROM gbrain.search_chunks e "
                "WHERE e.page = o.id AND e.date = o.date)) SELECT p.id FROM found "
                f"JOIN gbrain.search_pages p ON p.id = found.page WHERE {within.sql} "
                "GROUP BY p.id, p.slug ORDER BY max(found.day) DESC, max(found.own) DESC, p.slug"
            )
        else:
            sql = (
                f"SELECT p.id FROM gbrain.search_pages p WHERE {within.sql} "
                "ORDER BY p.last_day DESC NULLS LAST, p.slug"
            )
        rows = self._cursor.execute(f"{sql} LIMIT %s".encode(), (*values, limit)).fetchall()
        return [row[0] for row in rows]

    # --- words and values --------------------------------------------------------------------

    def stems_from(self, starts: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
        rows = self._cursor.execute(
            "SELECT start, term, pages FROM unnest(%s::text[]) AS start JOIN gbrain.search_terms "
            "ON term >= start AND term < start || %s WHERE pages > 0",
            (list(starts), "\U0010ffff"),
        )
        found: dict[str, list[tuple[str, int]]] = {start: [] for start in starts}
        for start, term, pages in rows:
            found[start].append((term, pages))
        return found

    def texts_with_stems(self, terms: Sequence[str], most: int) -> dict[str, list[str]]:
        rows = self._cursor.execute(
            "SELECT p.id FROM unnest(%s::text[]) AS stem, LATERAL (SELECT id "
            "FROM gbrain.search_pages WHERE words @@ stem::tsquery ORDER BY id LIMIT %s) AS p",
            ([quote_lexeme(cut_word(term)) for term in terms], most),
        ).fetchall()
        self.fetch_pages(row[0] for row in rows)
        return read_partial(texts_with_stems)(self._memory, terms, most)

    def filter_values(self, kind: str) -> dict[str, int]:
        return dict(self._cursor.execute(_FILTER_VALUES[kind]).fetchall())
