"""Chunks of pages: read them, store them and queue them for embedding."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from gbrain.store import chunk_slots, indexed_text
from gbrain.store.scope import Spans, chunk_inside_condition
from gbrain.store.vectors import active_space, all_spaces
from gbrain.types import Chunk, ChunkKind

_SET_POSITION = (
    "section = ?, part = ?, byte_start = ?, byte_stop = ?, first_line = ?, last_line = ?"
)


_COLUMNS = (
    "id, page_id, section, part, kind, heading_path, date, byte_start, byte_stop, first_line, "
    "last_line, hash, text"
)


# Bits of a chunk's id that count the chunks of one page, where ids follow from those of pages.
CHUNK_ID_BITS = 16


class StoredChunk(NamedTuple):
    """A stored chunk; `text` is without the heading line."""

    id: int
    page_id: int
    section: int
    part: int
    kind: ChunkKind
    heading_path: tuple[str, ...]
    date: str | None
    byte_start: int
    byte_stop: int
    first_line: int
    last_line: int
    hash: bytes
    text: str


def read_chunks(connection: sqlite3.Connection, chunk_ids: Iterable[int]) -> dict[int, StoredChunk]:
    """Return the chunks with these ids, by id."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(chunk_ids)),),
    )
    return {row[0]: _from_row(row) for row in rows}


def read_non_ascii_texts(
    connection: sqlite3.Connection, chunk_ids: Iterable[int]
) -> dict[int, str]:
    """Return the texts of those of the chunks that are not ASCII alone, by id."""
    return dict(
        connection.execute(
            "SELECT id, text FROM chunks WHERE id IN (SELECT value FROM json_each(?)) "
            "AND length(text) <> length(CAST(text AS BLOB))",
            (json.dumps(list(chunk_ids)),),
        ).fetchall()
    )


def first_chunk(connection: sqlite3.Connection, page_id: int) -> StoredChunk | None:
    """Return the page's first chunk; None if it has none."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM chunks WHERE page_id = ? ORDER BY section, part LIMIT 1",
        (page_id,),
    ).fetchone()
    return _from_row(row) if row else None


def chunk_at(connection: sqlite3.Connection, page_id: int, byte: int) -> StoredChunk | None:
    """Return the page's last chunk that starts at or before `byte`; None if there is none."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM chunks WHERE page_id = ? AND byte_start <= ? "
        "ORDER BY section DESC, part DESC LIMIT 1",
        (page_id, byte),
    ).fetchone()
    return _from_row(row) if row else None


def page_chunks(connection: sqlite3.Connection, page_id: int) -> list[StoredChunk]:
    """Return all chunks of a page in page order."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM chunks WHERE page_id = ? ORDER BY section, part", (page_id,)
    )
    return [_from_row(row) for row in rows]


def neighbouring_chunks(
    connection: sqlite3.Connection, chunk: StoredChunk, reach: int
) -> list[StoredChunk]:
    """Return up to `reach` chunks before and after one on its page, in page order."""
    rows = connection.execute(
        f"SELECT * FROM (SELECT {_COLUMNS} FROM chunks WHERE page_id = ?1 "
        "AND (section, part) < (?2, ?3) ORDER BY section DESC, part DESC LIMIT ?4) "
        f"UNION ALL SELECT * FROM (SELECT {_COLUMNS} FROM chunks WHERE page_id = ?1 "
        "AND (section, part) > (?2, ?3) ORDER BY section, part LIMIT ?4)",
        (chunk.page_id, chunk.section, chunk.part, reach),
    )
    found = [_from_row(row) for row in rows]
    return sorted(found, key=lambda other: (other.section, other.part))


def last_chunk_id(connection: sqlite3.Connection) -> int:
    """Return the highest chunk id, 0 if there are none."""
    number: int = connection.execute("SELECT coalesce(max(id), 0) FROM chunks").fetchone()[0]
    return number


def first_chunk_id(page_id: int) -> int:
    """Return the first of the ids that follow from that of a page, for a page of another brain."""
    return page_id << CHUNK_ID_BITS


def replace_chunks(
    connection: sqlite3.Connection,
    page_id: int,
    title: str,
    chunks: Iterable[Chunk],
    *,
    fresh: bool,
    first_id: int | None = None,
) -> None:
    """Store the page's chunks; unchanged ones keep their id.

    `fresh` says that the page has no chunks yet. New chunks get ids from `first_id` on, by default
    those after the last one.
    """
    stored = {} if fresh else _stored_by_content(connection, page_id)
    added, moved = [], []
    for chunk in chunks:
        position = (chunk.section, chunk.part, chunk.byte_start, chunk.byte_stop, chunk.first_line,
                 chunk.last_line)  # fmt: skip
        heading_path = _heading_path_json(chunk.heading_path)
        same = stored.get((chunk.hash, chunk.kind, heading_path))
        if not same:
            added.append((page_id, *position, chunk.kind, chunk.date, chunk.first_day,
                          chunk.last_day, chunk.hash, heading_path, chunk.text))  # fmt: skip
            continue
        chunk_id, old_position = same.pop()
        if old_position != position:
            moved.append((*position, chunk_id))
    spaces = all_spaces(connection)
    gone = [chunk_id for same in stored.values() for chunk_id, _ in same]
    if not fresh:
        indexed_text.remove_chunks(connection, gone)
        connection.executemany("DELETE FROM chunks WHERE id = ?", [(number,) for number in gone])
        chunk_slots.remove_chunks(connection, spaces, gone)
        connection.executemany(f"UPDATE chunks SET {_SET_POSITION} WHERE id = ?", moved)
    first_id = last_chunk_id(connection) + 1 if first_id is None else first_id
    numbered = [(number, *row) for number, row in enumerate(added, first_id)]
    connection.executemany(
        "INSERT INTO chunks (id, page_id, section, part, byte_start, byte_stop, first_line, "
        "last_line, kind, date, first_day, last_day, hash, heading_path, text) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        numbered,
    )
    indexed_text.add_chunks(connection, [(row[0], title, row[-2], row[-1]) for row in numbered])
    chunk_slots.add_chunks(connection, spaces, first_id, first_id + len(numbered) - 1)


def remove_chunks(connection: sqlite3.Connection, page_id: int) -> None:
    """Remove all chunks of a page; call this before the page's title changes."""
    rows = connection.execute("SELECT id FROM chunks WHERE page_id = ?", (page_id,))
    ids = [row[0] for row in rows]
    indexed_text.remove_chunks(connection, ids)
    connection.execute("DELETE FROM chunks WHERE page_id = ?", (page_id,))
    chunk_slots.remove_chunks(connection, all_spaces(connection), ids)


def enqueue_page(connection: sqlite3.Connection, page_id: int, now: str) -> None:
    """Queue the page's chunks that the active model has not embedded."""
    _enqueue(connection, "page_id = ?", page_id, now)


def enqueue_pages(connection: sqlite3.Connection, slugs: Iterable[str], now: str) -> None:
    """Queue the chunks of many pages that the active model has not embedded."""
    among = "SELECT pages.id FROM pages WHERE slug IN (SELECT value FROM json_each(?))"
    _enqueue(connection, f"page_id IN ({among})", json.dumps(list(slugs)), now)


def _from_row(row: tuple[Any, ...]) -> StoredChunk:
    values = [*row[:5], tuple(json.loads(row[5])), *row[6:]]
    return StoredChunk(*values)


def _stored_by_content(
    connection: sqlite3.Connection, page_id: int
) -> dict[tuple[bytes, str, str], list[tuple[int, tuple[int, ...]]]]:
    """Return (id, position) of the page's chunks by content, last on the page first."""
    stored = defaultdict(list)
    for chunk_id, content, kind, heading_path, *position in connection.execute(
        "SELECT id, hash, kind, heading_path, section, part, byte_start, byte_stop, first_line, "
        "last_line FROM chunks WHERE page_id = ? ORDER BY section DESC, part DESC",
        (page_id,),
    ):
        stored[content, kind, heading_path].append((chunk_id, tuple(position)))
    return stored


@lru_cache(256)
def _heading_path_json(heading_path: tuple[str, ...]) -> str:
    return json.dumps(heading_path, ensure_ascii=False)


def _enqueue(connection: sqlite3.Connection, which: str, value: int | str, now: str) -> None:
    space = active_space(connection)
    known = (
        f"SELECT 1 FROM {space.vectors} AS v WHERE v.model_id = {space.model_id} "
        "AND v.hash = chunks.hash"
        if space
        else "SELECT 1 WHERE 0"
    )
    connection.execute(
        "INSERT OR IGNORE INTO embedding_jobs (hash, enqueued_at) "
        f"SELECT hash, ? FROM chunks WHERE {which} AND NOT EXISTS ({known})",
        (now, value),
    )


class DatedChunk(NamedTuple):
    """A chunk with its days, or those of its page if `own` is 0."""

    page_id: int
    chunk_id: int
    first_day: str
    last_day: str
    own: int


def chunks_inside(
    connection: sqlite3.Connection, page_ids: Iterable[int], periods: Spans
) -> list[DatedChunk]:
    """Return the chunks of these pages dated inside the periods, in page order."""
    inside = chunk_inside_condition(periods)
    rows = connection.execute(
        "SELECT page_id, chunks.id, coalesce(chunks.first_day, pages.first_day), "
        "coalesce(chunks.last_day, pages.last_day), chunks.first_day IS NOT NULL "
        "FROM chunks JOIN pages ON pages.id = page_id "
        f"WHERE page_id IN (SELECT value FROM json_each(?)) AND {inside.sql} "
        "ORDER BY page_id, section, part",
        (json.dumps(list(page_ids)), *inside.values),
    )
    return [DatedChunk(*row) for row in rows]
