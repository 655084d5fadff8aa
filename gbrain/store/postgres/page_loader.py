"""Bring pages of a shared store into a brain in memory, under the ids of the search tables."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, LiteralString, NamedTuple

from gbrain.errors import BadPage
from gbrain.store.chunks import CHUNK_ID_BITS
from gbrain.store.page_writer import write_page
from gbrain.store.postgres.scope import SharedCondition

if TYPE_CHECKING:
    import sqlite3

    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row
    from gbrain.types import Chunk, Page

_MAX_PARSED_PAGES = 2_000


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


# Pages that are fetched as soon as they are named: `drop_superseded` must know of them.
SUPERSEDED: LiteralString = "s.meta ? 'superseded_by'"


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

    def fetch_pages(self, page_ids: Iterable[int]) -> set[int]:
        """Bring pages into memory; return those that are there. One that cannot be read is not."""
        wanted = set(page_ids)
        self._read_pages(wanted - self._asked, SharedCondition("true", ()))
        self._asked |= wanted
        return wanted & self._loaded

    def _read_pages(
        self, page_ids: Iterable[int], needed: SharedCondition, more: Sequence[SharedCondition] = ()
    ) -> list[Row]:
        """Read the slugs of pages, and bring those of which more is needed into memory.

        Return a row for each page: its id, and whether it meets the other conditions. In conditions
        `s` is the page's row in the search tables, and `b` that with its text.
        """
        wanted = list(page_ids)
        if not wanted:
            return []
        known = self._parsed.find(wanted)
        columns = "".join(f", {condition.sql}" for condition in more)
        rows = self._cursor.execute(
            "SELECT s.id, s.slug, b.path, b.sha256, b.version, "
            "to_char(b.written_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), "
            "CASE WHEN b.sha256 IS DISTINCT FROM known.sha256 THEN b.content END, "
            "CASE WHEN b.path IS NOT NULL THEN ARRAY(SELECT c.hash FROM gbrain.search_chunks c "
            f"WHERE c.page = s.id ORDER BY c.position) END{columns} FROM gbrain.search_pages s "
            "LEFT JOIN gbrain.pages b ON b.slug = s.slug AND NOT b.deleted "
            f"AND s.id <> ALL(%s) AND ({needed.sql}) "
            "LEFT JOIN unnest(%s::bigint[], %s::bytea[]) AS known (id, sha256) "
            "ON known.id = s.id WHERE s.id = ANY(%s) ORDER BY s.id".encode(),
            (*(value for condition in more for value in condition.values),
             list(self._asked), *needed.values,
             list(known), [digest for digest, _ in known.values()], wanted),
            binary=True,
        ).fetchall()  # fmt: skip
        for row in rows:
            page = _StoredRow._make(row[: len(_StoredRow._fields)])
            self._slugs[page.id] = page.slug
            if page.path is not None:
                self._asked.add(page.id)
                self._load_page(page, known[page.id][1] if page.content is None else None)
        return [(row[0], *row[len(_StoredRow._fields) :]) for row in rows]

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
        page = page._replace(chunks=as_numbered(page.chunks, row.hashes))
        write_page(self._memory, page, row.written_at, enqueue=False, new_id=row.id)
        self._memory.execute("UPDATE pages SET version = ? WHERE id = ?", (row.version, row.id))
        self._loaded.add(row.id)

    def slugs_by_id(self, page_ids: Iterable[int]) -> dict[int, str]:
        wanted = set(page_ids)
        others = wanted.difference(self._asked, self._slugs)
        if others:
            self._read_pages(others, SharedCondition(SUPERSEDED, ()))
        # A page that was asked for but cannot be read is none.
        gone = self._asked - self._loaded
        return {
            page_id: self._slugs[page_id]
            for page_id in wanted
            if page_id in self._slugs and page_id not in gone
        }


def as_numbered(chunks: tuple[Chunk, ...], hashes: Sequence[bytes]) -> tuple[Chunk, ...]:
    """Return the chunks in the order of these hashes, by which the store numbers them.

    Where the program that pushed the page cut it differently, other chunks fill the gaps; if there
    are too few of them, a chunk is repeated, so that the next one has the right number.
    """
    if not chunks or [chunk.hash for chunk in chunks] == hashes:
        return chunks
    places: dict[bytes, deque[int]] = {}
    for place, chunk in enumerate(chunks):
        places.setdefault(chunk.hash, deque()).append(place)
    found = [
        same.popleft() if (same := places.get(digest)) else None
        for digest in hashes[: 1 << CHUNK_ID_BITS]
    ]
    left = deque(sorted(place for same in places.values() for place in same))
    order: list[int] = []
    for known in found:
        if known is not None:
            order.append(known)
        else:
            order.append(left.popleft() if left else order[-1] if order else 0)
    return tuple(chunks[place] for place in (*order, *left)[: 1 << CHUNK_ID_BITS])
