"""The page and the slot of each embedded chunk, packed: a filter lists its slots by these.

They follow from the chunks and the vectors. Looking up the slots of 6,500 chunks by their hashes
takes 13 ms; reading these pairs for all of 162,000 takes 0.3. A row has the pairs of 1,024 chunk
ids: the lower 32 bits of the page's id, and a word with the slot plus one, times two, plus one if
the chunk has a date of its own. The word is 0 if the chunk has no vector.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from gbrain.store.remembered import remember
from gbrain.store.scope import (
    Condition,
    dated_chunk_condition,
    dated_page_condition,
    select_pages,
)
from gbrain.store.vector_space import VectorSpace, check_size, open_segment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gbrain.store.vector_space import Slots
    from gbrain.types import Scope

    Numbers = NDArray[np.uint32]

_SEGMENT_CHUNKS = 1024
_PAIR_BYTES = 8
# Slots are used again, so that only a crafted brain has such numbers.
_MAX_MARKED_SLOT = 1 << 26
_LOWER_BITS = (1 << 32) - 1
_WORD = "2 * (v.slot + 1) + (chunks.first_day IS NOT NULL)"
_SEGMENT_BYTES = _SEGMENT_CHUNKS * _PAIR_BYTES


class _ChunkSlots(NamedTuple):
    """Pages and words of the chunks of each segment, one segment after the other."""

    segments: Slots
    pages: Numbers
    words: Numbers


def add_chunks(
    connection: sqlite3.Connection, spaces: Iterable[VectorSpace], first_id: int, last_id: int
) -> None:
    """Record the slots of new chunks whose text has a vector already."""
    for space in spaces:
        found = _select_pairs(space, "chunks.id BETWEEN ? AND ?")
        _write(connection, space, connection.execute(found, (space.model_id, first_id, last_id)))


def remove_chunks(
    connection: sqlite3.Connection, spaces: Iterable[VectorSpace], chunk_ids: Iterable[int]
) -> None:
    """Record that there are no such chunks any more."""
    gone = [(chunk_id, 0, 0) for chunk_id in sorted(chunk_ids)]
    for space in spaces:
        _write(connection, space, gone)


def add_vectors(
    connection: sqlite3.Connection, space: VectorSpace, slots: Mapping[bytes, int]
) -> None:
    """Record the slots of new vectors, by hash, for the chunks that have these texts."""
    pairs = [
        row
        for digest, slot in slots.items()
        for row in connection.execute(
            f"SELECT id, page_id, {_WORD} FROM chunks, (SELECT ? AS slot) AS v WHERE hash = ?",
            (slot, digest),
        )
    ]
    _write(connection, space, sorted(pairs))


def _write(
    connection: sqlite3.Connection, space: VectorSpace, rows: Iterable[tuple[int, int, int]]
) -> None:
    """Write (chunk, page, word), in the order of the chunks."""
    for segment, inside in groupby(rows, key=lambda row: row[0] // _SEGMENT_CHUNKS):
        key = (space.model_id, segment)
        with open_segment(connection, space.chunk_slots, "pairs", key, _SEGMENT_BYTES) as blob:
            for chunk_id, page_id, word in inside:
                blob.seek(chunk_id % _SEGMENT_CHUNKS * _PAIR_BYTES)
                blob.write(_pack(page_id, word))


def _pack(*numbers: int) -> bytes:
    return b"".join((number & _LOWER_BITS).to_bytes(4, "little") for number in numbers)


def rebuild_chunk_slots(connection: sqlite3.Connection, space: VectorSpace) -> None:
    """Write all pairs of a model again."""
    remove_chunk_slots(connection, space)
    connection.executemany(
        f"INSERT INTO {space.chunk_slots} (model_id, segment, pairs) VALUES (?, ?, ?)",
        ((space.model_id, segment, pairs) for segment, pairs in _segments(connection, space)),
    )


def remove_chunk_slots(connection: sqlite3.Connection, space: VectorSpace) -> None:
    """Delete the pairs of a model."""
    connection.execute(f"DELETE FROM {space.chunk_slots} WHERE model_id = ?", (space.model_id,))


def count_wrong_segments(connection: sqlite3.Connection, space: VectorSpace) -> int:
    """Return how many rows do not have the pairs of their chunks."""
    stored = dict(
        connection.execute(
            f"SELECT segment, pairs FROM {space.chunk_slots} WHERE model_id = ?", (space.model_id,)
        ).fetchall()
    )
    expected = dict(_segments(connection, space))
    # Where all chunks are gone, a row of zeros is left.
    nothing = bytes(_SEGMENT_BYTES)
    return sum(
        stored.get(segment, nothing) != expected.get(segment, nothing)
        for segment in stored.keys() | expected.keys()
    )


def _segments(connection: sqlite3.Connection, space: VectorSpace) -> Iterator[tuple[int, bytes]]:
    """Yield each segment with its pairs, as the chunks and vectors have them."""
    rows = connection.execute(f"{_select_pairs(space)} ORDER BY chunks.id", (space.model_id,))
    for segment, inside in groupby(rows, key=lambda row: row[0] // _SEGMENT_CHUNKS):
        packed = bytearray(_SEGMENT_BYTES)
        for chunk_id, page_id, word in inside:
            start = chunk_id % _SEGMENT_CHUNKS * _PAIR_BYTES
            packed[start : start + _PAIR_BYTES] = _pack(page_id, word)
        yield segment, bytes(packed)


def _select_pairs(space: VectorSpace, condition: str = "1") -> str:
    return (
        f"SELECT chunks.id, page_id, {_WORD} FROM chunks CROSS JOIN {space.vectors} AS v "
        f"ON v.model_id = ? AND v.hash = chunks.hash WHERE {condition}"
    )


def _read(connection: sqlite3.Connection, space: VectorSpace) -> _ChunkSlots:
    import numpy as np

    rows: Iterable[tuple[int, bytes]] = ()
    # A brain that cannot be upgraded, because it is read-only, may have no table.
    table = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (space.chunk_slots,))
    if table.fetchone():
        rows = connection.execute(
            f"SELECT segment, pairs FROM {space.chunk_slots} WHERE model_id = ? ORDER BY segment",
            (space.model_id,),
        ).fetchall()
    rows = rows or list(_segments(connection, space))
    for _, pairs in rows:
        check_size(pairs, _SEGMENT_BYTES)
    packed = np.frombuffer(b"".join(pairs for _, pairs in rows), np.dtype("<u4"))
    segments = np.array([row[0] for row in rows], np.int64)
    return _ChunkSlots(segments, packed[::2].copy(), packed[1::2].copy())


def slots_in_scope(connection: sqlite3.Connection, space: VectorSpace, scope: Scope) -> Slots:
    """Return the slots of all chunks in scope, in order."""
    import numpy as np

    def read() -> Slots:
        stored = remember(connection, ("chunk_slots", space), lambda: _read(connection, space))
        if scope.since or scope.until or scope.periods:
            pages, chunks = dated_page_condition(scope), dated_chunk_condition(scope)
            own = _words_of_pages(connection, stored, _select("pages AS p", "p.id", pages))
            dated = _read_ids(connection, _select("chunks", "chunks.id", chunks))
            words = np.append(own[own % 2 == 0], _find_words(stored, dated))
        else:
            words = _words_of_pages(connection, stored, select_pages(scope))
        return _sort_distinct((words[words > 0] >> 1).astype(np.int64) - 1)

    return remember(connection, ("slots_in_scope", space, scope), read)


def _select(table: str, column: str, within: Condition) -> Condition:
    return within._replace(sql=f"SELECT {column} AS id FROM {table} WHERE {within.sql}")


def _words_of_pages(
    connection: sqlite3.Connection, stored: _ChunkSlots, select: Condition
) -> Numbers:
    """Return the words of all chunks of the pages."""
    import numpy as np

    pages = _read_ids(connection, select) & _LOWER_BITS
    return stored.words[np.isin(stored.pages, pages.astype(np.uint32))]


def _read_ids(connection: sqlite3.Connection, select: Condition) -> Slots:
    import numpy as np

    # One text of all ids: a row for each would take longer.
    listed = connection.execute(
        f"SELECT group_concat(id) FROM ({select.sql})", select.values
    ).fetchone()[0]
    return np.fromstring(listed or "", np.int64, sep=",")


def _find_words(stored: _ChunkSlots, chunk_ids: Slots) -> Numbers:
    """Return the words of those of the chunks that have a row."""
    import numpy as np

    segments, places = np.divmod(chunk_ids, _SEGMENT_CHUNKS)
    rows = np.searchsorted(stored.segments, segments)
    known = rows < len(stored.segments)
    known[known] = stored.segments[rows[known]] == segments[known]
    return stored.words[rows[known] * _SEGMENT_CHUNKS + places[known]]


def _sort_distinct(slots: Slots) -> Slots:
    """Return the slots in order, each once; ten times faster than numpy, which sorts them."""
    import numpy as np

    last = int(slots.max(initial=0))
    if last > _MAX_MARKED_SLOT:
        return np.unique(slots)
    marked = np.zeros(last + 1, np.bool_)
    marked[slots] = True
    return np.flatnonzero(marked)
