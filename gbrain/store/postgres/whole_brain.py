"""Answer for all pages of a shared store, and bring those that it names into a brain in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, LiteralString, NamedTuple, cast

from gbrain.config import Settings
from gbrain.errors import BadPage
from gbrain.store.chunks import CHUNK_ID_BITS, first_chunk_id
from gbrain.store.keyword_index import pages_with_text
from gbrain.store.page_writer import write_page
from gbrain.store.pages import NamedPage
from gbrain.store.postgres.keyword_search import (
    ANY_ROW,
    Index,
    WordCounts,
    count_rows,
    read_totals,
    score_rows,
)
from gbrain.store.postgres.scope import (
    SharedCondition,
    chunk_days_condition,
    inside_condition,
    page_condition,
)
from gbrain.store.postgres.search_index import QUESTION, keyword_tokenizer
from gbrain.store.postgres.tsqueries import TextQuery, any_of, read_expression
from gbrain.store.postgres.vector_search import nearest_chunks, read_vectors
from gbrain.store.postgres.word_vectors import cut_word, quote_lexeme
from gbrain.store.whole_brain import read_partial
from gbrain.text.query_terms import MAX_SCORED_PAGES, fts_expression, rare_terms_expression
from gbrain.text.similarity import edit_distance
from gbrain.text.slug import fold_name
from gbrain.types import Query, Scope, ScoredChunk, Term

if TYPE_CHECKING:
    import sqlite3

    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row
    from gbrain.store.vector_space import Floats, VectorSpace
    from gbrain.types import Page

# As the keyword lane of a brain file reads: pages and chunks for each page of the pool.
_SCORED_PER_PAGE, _CHUNKS_PER_PAGE = 4, 8
# As its vector lane reads. Under a filter a longer list takes as long as an exact search, and one
# of half the length had recall@10 .977 instead of .993 under a prefix of 14 %.
_NEAREST_PER_PAGE, _NEAREST_PER_PAGE_FILTERED = 10, 4
# Pages brought into memory for each page of the pool: words and dates can still reorder them.
_KEPT_PER_PAGE = 1.5
# Counts of several words at once stop here.
_MAX_COUNTED = 5_000
_MAX_NAMED_PAGES = 300
_MAX_SIMILAR_NAMES = 200
_MAX_PARSED_PAGES = 2_000

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


class ParsedPages:
    """Pages of a shared store that were parsed for an earlier query, by id, with their hash."""

    def __init__(self) -> None:
        self._pages: dict[int, tuple[bytes, Page]] = {}

    def find(self, ids: Iterable[int]) -> dict[int, tuple[bytes, Page]]:
        """Return those of the pages that are known, each with the hash of its text."""
        return {page_id: self._pages[page_id] for page_id in ids if page_id in self._pages}

    def add(self, page_id: int, digest: bytes, page: Page) -> None:
        if len(self._pages) >= _MAX_PARSED_PAGES:
            del self._pages[next(iter(self._pages))]
        self._pages[page_id] = (digest, page)


class _StoredRow(NamedTuple):
    """A page as it is read from the shared store; `content` is None if its text is known here."""

    id: int
    slug: str
    path: str
    sha256: bytes
    version: int
    written_at: str
    content: str | None
    hashes: list[bytes]


class SharedWholeBrain:
    """A `WholeBrain` in a shared store, for one query: `cursor` is in its transaction.

    Page ids are those of the search tables. A chunk's id follows from its page's and its position.
    """

    def __init__(
        self,
        cursor: Cursor[Row],
        memory: sqlite3.Connection,
        parsed: ParsedPages,
        model: int | None,
    ) -> None:
        self._cursor, self._memory, self._parsed = cursor, memory, parsed
        self._tokenize = keyword_tokenizer().words
        cursor.execute(
            "SELECT set_config('plan_cache_mode', 'force_custom_plan', true), "
            "set_config('jit', 'off', true)"
        )
        self._totals, self._counts = read_totals(cursor), WordCounts(cursor)
        self._model = model
        self._loaded: set[int] = set()
        self._asked: set[int] = set()
        # Positions of chunks that the program which pushed a page counted differently.
        self._positions: dict[int, dict[int, int]] = {}

    # --- pages in memory ---------------------------------------------------------------------

    def load(self, page_ids: Iterable[int]) -> set[int]:
        """Bring pages into memory; return those that are there. One that cannot be read is not."""
        wanted = set(page_ids)
        missing = sorted(wanted - self._asked)
        if missing:
            self._asked.update(missing)
            known = self._parsed.find(missing)
            rows = self._cursor.execute(
                "SELECT s.id, s.slug, p.path, p.sha256, p.version, "
                "to_char(p.written_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), "
                "CASE WHEN p.sha256 IS DISTINCT FROM known.sha256 THEN p.content END, "
                "ARRAY(SELECT c.hash FROM gbrain.search_chunks c WHERE c.page = s.id "
                "ORDER BY c.position) FROM gbrain.search_pages s "
                "JOIN gbrain.pages p ON p.slug = s.slug AND NOT p.deleted "
                "LEFT JOIN unnest(%s::bigint[], %s::bytea[]) AS known (id, sha256) "
                "ON known.id = s.id WHERE s.id = ANY(%s)",
                (list(known), [digest for digest, _ in known.values()], missing),
                binary=True,
            ).fetchall()
            for row in map(_StoredRow._make, rows):
                self._load_page(row, known[row.id][1] if row.content is None else None)
        return wanted & self._loaded

    def _load_page(self, row: _StoredRow, page: Page | None) -> None:
        from gbrain.text.page import parse_page

        if page is None:
            # What others wrote is not trusted: a page that no parser accepts is left out.
            try:
                page = parse_page(row.path, (row.content or "").encode())
            except BadPage:
                return
            self._parsed.add(row.id, row.sha256, page)
        if page.slug != row.slug or len(page.chunks) >> CHUNK_ID_BITS:
            return
        write_page(self._memory, page, row.written_at, enqueue=False, new_id=row.id)
        self._memory.execute("UPDATE pages SET version = ? WHERE id = ?", (row.version, row.id))
        own = [chunk.hash for chunk in page.chunks]
        if own != row.hashes:
            places = {digest: place for place, digest in reversed(list(enumerate(own)))}
            self._positions[row.id] = {
                position: places[digest]
                for position, digest in enumerate(row.hashes)
                if digest in places
            }
        self._loaded.add(row.id)

    def load_named(self, name: str) -> None:
        """Bring the pages that a name may mean into memory."""
        self.find_by_names({fold_name(name), fold_name(name.removesuffix(".md"))})

    def _chunk_id(self, page_id: int, position: int) -> int | None:
        moved = self._positions.get(page_id)
        if moved is not None and position not in moved:
            return None
        return first_chunk_id(page_id) + (position if moved is None else moved[position])

    def _scored_chunks(self, rows: Iterable[tuple[int, int, float]]) -> list[ScoredChunk]:
        return [
            ScoredChunk(chunk_id, page_id, score)
            for page_id, position, score in rows
            if (chunk_id := self._chunk_id(page_id, position)) is not None
        ]

    def fetch_pages(self, page_ids: Iterable[int]) -> set[int]:
        return self.load(page_ids)

    def slugs_by_id(self, page_ids: Iterable[int]) -> dict[int, str]:
        wanted = set(page_ids)
        here = self._memory.execute(
            "SELECT id, slug FROM pages WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(wanted)),),
        )
        slugs: dict[int, str] = dict(here.fetchall())
        others = wanted - self._asked
        if others:
            rows = self._cursor.execute(
                "SELECT id, slug FROM gbrain.search_pages WHERE id = ANY(%s)", (list(others),)
            )
            slugs |= dict(rows.fetchall())
        return slugs

    # --- counts ------------------------------------------------------------------------------

    def approximate_page_count(self) -> int:
        return self._totals["pages"].rows

    def count_chunks(self) -> int:
        return self._totals["chunks"].rows

    def count_matches(self, index: str, match: str, most: int | None = None) -> int:
        query = self._read(match)
        if most is None and len(query.phrases) > 1:
            estimate = self._estimate_union(cast(Index, index), query)
            if estimate >= _MAX_COUNTED:
                return estimate
            most = _MAX_COUNTED
        return count_rows(self._cursor, cast(Index, index), query, most, counts=self._counts)

    def count_pages_with(self, terms: Iterable[Term]) -> list[int]:
        matches = [fts_expression((term,)) for term in terms]
        self._counts.read(phrase for match in matches for phrase in self._read(match).phrases)
        return [self.count_matches("pages", match) for match in matches]

    def _estimate_union(self, index: Index, query: TextQuery) -> int:
        """Return about how many rows have one of the words, as if these were independent.

        0 unless one of the words is in many rows, and for queries that are no such list.
        """
        rows = self._totals[index].rows
        if index == "questions" or query.tsquery != any_of(query.phrases):
            return 0
        self._counts.read(query.phrases)
        words = [phrase for phrase in query.phrases if len(phrase.words) == 1]
        found = [self._counts.count(index, phrase) for phrase in words]
        if max(found, default=0) < _MAX_COUNTED:
            return 0
        return round(rows * (1 - prod(1 - min(count, rows) / rows for count in found)))

    def filter_values(self, kind: str) -> dict[str, int]:
        return dict(self._cursor.execute(_FILTER_VALUES[kind]).fetchall())

    # --- keyword lane ------------------------------------------------------------------------

    def score_pages_and_chunks(
        self, query: Query, counts: Sequence[int], settings: Settings
    ) -> tuple[dict[int, float], list[ScoredChunk]]:
        scope, pool = query.scope, settings.lane_pool("fts", query.limit)
        asked = self._read(fts_expression(query.terms))
        narrower = query.fts_expression
        if sum(counts) > MAX_SCORED_PAGES and not narrower:
            pages = self.approximate_page_count()
            narrower = rare_terms_expression(query.terms, counts, pages)
        within = page_condition(scope, self._tokenize)
        weights = (settings.title_weight, settings.aliases_weight, settings.slug_weight,
                   settings.tags_weight, settings.truth_weight,
                   settings.timeline_weight)  # fmt: skip

        def score(candidates: str | None) -> dict[int, float]:
            rows = score_rows(
                self._cursor, "pages", asked, weights, _SCORED_PER_PAGE * pool,
                totals=self._totals["pages"], counts=self._counts, within=within,
                candidates=self._read(candidates).tsquery if candidates else None,
            )  # fmt: skip
            return {page_id: value for page_id, _, value in rows}

        scores = score(narrower)
        enough = 1 if scope.unlimited else min(query.limit, pool)
        if narrower and not query.fts_expression and len(scores) < enough:
            narrower = None
            scores = score(None)
        days = chunk_days_condition(scope)
        inside = SharedCondition(f"{within.sql} AND {days.sql}", (*within.values, *days.values))
        if narrower:
            inside = SharedCondition(
                f"c.page = ANY(%s) AND {days.sql}", (list(scores), *days.values)
            )
        rows = score_rows(
            self._cursor, "chunks", asked, (settings.title_weight, 1.0, 1.0),
            _CHUNKS_PER_PAGE * pool, totals=self._totals["chunks"], counts=self._counts,
            within=inside, candidates=ANY_ROW if narrower else None,
        )  # fmt: skip
        combined = dict(scores)
        seen: set[int] = set()
        for page_id, _, value in rows:
            if page_id not in seen:
                seen.add(page_id)
                combined[page_id] = combined.get(page_id, 0.0) + settings.chunk_weight * value
        self.load(_best_pages(combined, int(_KEPT_PER_PAGE * pool)))
        return scores, self._scored_chunks(rows)

    def score_questions(self, match: str, scope: Scope, limit: int) -> dict[int, float]:
        rows = score_rows(
            self._cursor, "questions", self._read(match), (1.0,), limit,
            totals=self._totals["questions"], within=page_condition(scope, self._tokenize),
        )  # fmt: skip
        here = self.load(row[0] for row in rows)
        return {page_id: score for page_id, _, score in rows if page_id in here}

    def has_questions(self) -> bool:
        return self._totals["questions"].rows > 0

    def pages_asked(self, text: str) -> dict[int, str]:
        rows = self._cursor.execute(
            "SELECT p.id, p.slug FROM gbrain.search_names n JOIN gbrain.search_pages p "
            "ON p.id = n.page WHERE n.key = %s AND n.kind = %s ORDER BY p.slug",
            (fold_name(text), QUESTION),
        ).fetchall()
        here = self.load(row[0] for row in rows)
        return {page_id: slug for page_id, slug in rows if page_id in here}

    def pages_with_text(self, text: str, scope: Scope) -> dict[int, float]:
        within = page_condition(scope, self._tokenize)
        rows = self._cursor.execute(
            "SELECT p.id FROM gbrain.search_pages p JOIN gbrain.pages b ON b.slug = p.slug "
            f"WHERE {within.sql} AND position(%s IN b.content) > 0 "
            f"LIMIT {_MAX_NAMED_PAGES}".encode(),
            (*within.values, text.encode(errors="replace").decode()),
        ).fetchall()
        here = self.load(row[0] for row in rows)
        found = read_partial(pages_with_text)(self._memory, text, Scope())
        return {page_id: count for page_id, count in found.items() if page_id in here}

    def any_page_matches(self, match: str, scope: Scope) -> bool:
        within = page_condition(scope, self._tokenize)
        return count_rows(self._cursor, "pages", self._read(match), 1, within) > 0

    def _read(self, match: str) -> TextQuery:
        return read_expression(match, self._tokenize)

    # --- vector lane -------------------------------------------------------------------------

    def has_vectors(self, space: VectorSpace) -> bool:
        return self._model is not None

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
        scope, within = query.scope, None
        limits = (_NEAREST_PER_PAGE * pool, _NEAREST_PER_PAGE_FILTERED * pool)
        if not scope.unlimited:
            within = (page_condition(scope, self._tokenize), chunk_days_condition(scope))
        while True:
            rows = nearest_chunks(self._cursor, self._model, embedded, limits, within)
            best: dict[int, float] = {}
            for page_id, _, cosine in rows:
                best.setdefault(page_id, cosine)
            if len(best) >= pool or len(rows) < min(limits):
                break
            # One long page can fill the list: go on until the pool is full.
            limits = (4 * limits[0], 4 * limits[1])
        self.load(_best_pages(best, pool))
        return self._scored_chunks(rows)

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

    # --- pages by name, link and date --------------------------------------------------------

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
        found: list[Row] = []
        for column, start in (("n.key", key[:letters]), ("reverse(n.key)", key[::-1][:letters])):
            rows = self._cursor.execute(
                "SELECT p.id, p.slug, n.kind, n.key FROM gbrain.search_names n "
                f"JOIN gbrain.search_pages p ON p.id = n.page WHERE {column} COLLATE \"C\" >= %s "
                f'AND {column} COLLATE "C" < %s AND length(n.key) BETWEEN %s AND %s '
                "AND n.kind <> %s LIMIT %s",
                (start, start + "\U0010ffff", len(key) - 2, len(key) + 2, QUESTION,
                 _MAX_SIMILAR_NAMES + 1),
            ).fetchall()  # fmt: skip
            if len(rows) <= _MAX_SIMILAR_NAMES:
                found += [row for row in rows if edit_distance(key, row[3], 2) is not None]
        return self._named(found)

    def _named(self, rows: Iterable[Row]) -> list[NamedPage]:
        named = [NamedPage(*row) for row in rows]
        here = self.load(page.page_id for page in named)
        return [page for page in named if page.page_id in here]

    def linked_pages(self, page_id: int) -> list[int]:
        rows = self._cursor.execute(
            f"SELECT target FROM gbrain.search_links l, {_RESOLVED} WHERE l.page = %s "
            "ORDER BY l.position LIMIT %s",
            (page_id, _MAX_NAMED_PAGES),
        ).fetchall()
        here = self.load(row[0] for row in rows)
        return list(dict.fromkeys(row[0] for row in rows if row[0] in here))

    def links_between(self, page_ids: Iterable[int], most: int) -> list[tuple[int, int]]:
        ids = list(page_ids)
        away = self._cursor.execute(
            f"SELECT l.page, target FROM gbrain.search_links l, {_RESOLVED} "
            "WHERE l.page = ANY(%s) AND target <> l.page LIMIT %s",
            (ids, most),
        ).fetchall()
        back = self._cursor.execute(
            f"SELECT target, l.page FROM gbrain.search_links l, {_RESOLVED} WHERE l.key IN "
            "(SELECT key FROM gbrain.search_names WHERE page = ANY(%s)) "
            "AND target = ANY(%s) AND target <> l.page LIMIT %s",
            (ids, ids, most),
        ).fetchall()
        pairs = [(int(page), int(other)) for page, other in (*away, *back)]
        here = self.load(list(dict.fromkeys(other for _, other in pairs))[:_MAX_NAMED_PAGES])
        return [pair for pair in pairs if pair[1] in here]

    def latest_pages(self, scope: Scope, limit: int) -> list[int]:
        within = page_condition(scope, self._tokenize)
        rows = self._cursor.execute(
            f"SELECT p.id FROM gbrain.search_pages p WHERE {within.sql} "
            "ORDER BY p.last_day DESC NULLS LAST, p.slug LIMIT %s".encode(),
            (*within.values, limit),
        ).fetchall()
        here = self.load(row[0] for row in rows)
        return [row[0] for row in rows if row[0] in here]

    def latest_pages_inside(self, scope: Scope, limit: int) -> list[tuple[int, str, str]]:
        dated, own = inside_condition("d", scope.periods), inside_condition("o", scope.periods)
        within = page_condition(scope, self._tokenize)
        rows = self._cursor.execute(
            "WITH found AS (SELECT d.page, d.first_day AS day, 0 AS own "
            f"FROM gbrain.search_chunks d WHERE {dated.sql} UNION ALL SELECT o.id, o.first_day, 1 "
            f"FROM gbrain.search_pages o WHERE {own.sql} AND NOT EXISTS (SELECT 1 "
            "FROM gbrain.search_chunks e WHERE e.page = o.id AND e.date = o.date)) "
            "SELECT p.id, p.slug, max(found.day) AS latest FROM found "
            f"JOIN gbrain.search_pages p ON p.id = found.page WHERE {within.sql} "
            "GROUP BY p.id, p.slug ORDER BY latest DESC, max(found.own) DESC, p.slug "
            "LIMIT %s".encode(),
            (*dated.values, *own.values, *within.values, limit),
        ).fetchall()
        here = self.load(row[0] for row in rows)
        return [(page_id, slug, day) for page_id, slug, day in rows if page_id in here]

    # --- words -------------------------------------------------------------------------------

    def stems_from(self, starts: Sequence[str]) -> list[tuple[str, int]]:
        rows = self._cursor.execute(
            "SELECT term, pages FROM unnest(%s::text[]) AS start JOIN gbrain.search_terms "
            "ON term >= start AND term < start || %s WHERE pages > 0",
            (list(starts), "\U0010ffff"),
        )
        return [(term, pages) for term, pages in rows]

    def texts_with_stem(self, term: str, most: int) -> list[str]:
        rows = self._cursor.execute(
            "SELECT id FROM gbrain.search_pages WHERE words @@ %s::tsquery ORDER BY id LIMIT %s",
            (quote_lexeme(cut_word(term)), most),
        ).fetchall()
        texts = [
            text
            for page_id in sorted(self.load(row[0] for row in rows))
            for text in self._memory.execute(
                "SELECT title, slug, compiled_truth, timeline, tags, aliases FROM pages "
                "WHERE id = ?",
                (page_id,),
            ).fetchone()
        ]
        having = zip(texts, self._tokenize(texts), strict=True)
        return [text for text, words in having if term in words][:most]

    def in_front_matter(self, word: str) -> bool:
        pattern = "%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        row = self._cursor.execute(
            "SELECT 1 FROM gbrain.search_pages WHERE meta::text ILIKE %s LIMIT 1", (pattern,)
        ).fetchone()
        return row is not None


def _best_pages(scores: Mapping[int, float], count: int) -> list[int]:
    return sorted(scores, key=lambda page_id: (-scores[page_id], page_id))[:count]
