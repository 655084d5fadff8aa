"""Bring pages of a shared store into a brain in memory, under the ids of the search tables."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from gbrain.errors import BadPage
from gbrain.store.chunks import CHUNK_ID_BITS, first_chunk_id
from gbrain.store.page_writer import write_page
from gbrain.types import ScoredChunk

if TYPE_CHECKING:
    import sqlite3

    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row
    from gbrain.types import Page

_MAX_PARSED_PAGES = 2_000
# Of a page that very many pages link to, the others are left out.
_MAX_FETCHED_PAGES = 300


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
    """A page as it is read from the shared store; `content` is None if its text is known here.

    Of a page that is only named, `path` and all that follows are None.
    """

    id: int
    slug: str
    path: str
    sha256: bytes
    version: int
    written_at: str
    content: str | None
    hashes: list[bytes]


class PageLoader:
    """The pages in memory, for one query: `cursor` is in its transaction.

    A chunk's id follows from its page's and its position.
    """

    def __init__(
        self, cursor: Cursor[Row], memory: sqlite3.Connection, parsed: ParsedPages
    ) -> None:
        self._cursor, self._memory, self._parsed = cursor, memory, parsed
        self._loaded: set[int] = set()
        self._asked: set[int] = set()
        self._slugs: dict[int, str] = {}
        # Positions of chunks that the program which pushed a page counted differently.
        self._positions: dict[int, dict[int, int]] = {}

    def load(self, page_ids: Iterable[int], others: Iterable[int] = ()) -> set[int]:
        """Bring pages into memory; return those that are there. One that cannot be read is not.

        Of the others the slugs are read, in the same round trip.
        """
        wanted = set(page_ids)
        missing = sorted(wanted - self._asked)
        named = set(others).difference(self._asked, self._slugs)
        if missing:
            self._asked.update(missing)
            known = self._parsed.find(missing)
            rows = self._cursor.execute(
                "SELECT s.id, s.slug, p.path, p.sha256, p.version, "
                "to_char(p.written_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), "
                "CASE WHEN p.sha256 IS DISTINCT FROM known.sha256 THEN p.content END, "
                "CASE WHEN p.path IS NOT NULL THEN ARRAY(SELECT c.hash FROM gbrain.search_chunks c "
                "WHERE c.page = s.id ORDER BY c.position) END FROM gbrain.search_pages s "
                "LEFT JOIN gbrain.pages p ON p.slug = s.slug AND NOT p.deleted AND s.id = ANY(%s) "
                "LEFT JOIN unnest(%s::bigint[], %s::bytea[]) AS known (id, sha256) "
                "ON known.id = s.id WHERE s.id = ANY(%s)",
                (missing, list(known), [digest for digest, _ in known.values()],
                 [*missing, *named.difference(missing)]),
                binary=True,
            ).fetchall()  # fmt: skip
            for row in map(_StoredRow._make, rows):
                self._slugs[row.id] = row.slug
                if row.path is not None:
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
        return self.load(islice(page_ids, _MAX_FETCHED_PAGES))

    def slugs_by_id(self, page_ids: Iterable[int]) -> dict[int, str]:
        wanted = set(page_ids)
        others = wanted.difference(self._asked, self._slugs)
        if others:
            rows = self._cursor.execute(
                "SELECT id, slug FROM gbrain.search_pages WHERE id = ANY(%s)", (list(others),)
            )
            self._slugs |= dict(rows.fetchall())
        # A page that was asked for but cannot be read is none.
        gone = self._asked - self._loaded
        return {
            page_id: self._slugs[page_id]
            for page_id in wanted
            if page_id in self._slugs and page_id not in gone
        }
