"""Find the vectors most similar to a query: all or some of the codes, then the exact vectors."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gbrain.store.scope import chunk_row_condition
from gbrain.store.vector_bits import MIN_LIKELY_SLOTS, likely_slots
from gbrain.store.vector_memory import VectorMemory, find_memory, read_bits_and_centre
from gbrain.store.vector_space import SEGMENT_SLOTS, VectorSpace, check_size, damaged_vectors
from gbrain.threads import BackgroundCall
from gbrain.types import Scope, ScoredChunk

if TYPE_CHECKING:
    from gbrain.store.vector_memory import Codes
    from gbrain.store.vector_space import Floats, Slots

# Codes turned into float32 at once: the copy fits into the cache of a processor core.
_CODES_AT_ONCE = 512


def approximate_cosines(
    connections: tuple[sqlite3.Connection, sqlite3.Connection], space: VectorSpace, query: Floats
) -> Floats:
    """Return the approximate cosine of each slot's vector with `query`; 0 for a free slot.

    Each connection scans every other segment, in a separate thread.
    """
    import numpy as np

    memory = find_memory(connections[0], space)
    if memory and memory.codes is not None:
        return _score_codes(memory.codes, query)
    last = (
        connections[0]
        .execute(
            f"SELECT coalesce(max(segment), -1) FROM {space.codes} WHERE model_id = ?",
            (space.model_id,),
        )
        .fetchone()[0]
    )
    scores = np.zeros((last + 1) * SEGMENT_SLOTS, np.float32)

    def scan(connection: sqlite3.Connection, turn: int) -> None:
        for segment, codes in connection.execute(
            f"SELECT segment, codes FROM {space.codes} "
            "WHERE model_id = ? AND segment % 2 = ? AND segment <= ?",
            (space.model_id, turn, last),
        ):
            check_size(codes, SEGMENT_SLOTS * (4 + space.dimension))
            first = segment * SEGMENT_SLOTS
            scores[first : first + SEGMENT_SLOTS] = _score_packed(codes, query)

    other = BackgroundCall(lambda: scan(connections[1], 1)) if last > 0 else None
    scan(connections[0], 0)
    if other:
        other.result()
    return scores


def code_cosines(
    connection: sqlite3.Connection, space: VectorSpace, query: Floats, slots: Slots
) -> Floats:
    """Return the approximate cosines of the vectors in ascending `slots`; 0 without a code."""
    return _code_cosines(connection, space, query, slots, find_memory(connection, space))


def _code_cosines(
    connection: sqlite3.Connection,
    space: VectorSpace,
    query: Floats,
    slots: Slots,
    memory: VectorMemory | None,
) -> Floats:
    import numpy as np

    if memory and memory.codes is not None and (not len(slots) or slots[-1] < len(memory.codes)):
        return _score_codes(memory.codes[slots], query)
    width = 4 + space.dimension
    rowids = dict(
        connection.execute(
            f"SELECT segment, rowid FROM {space.codes} WHERE model_id = ?", (space.model_id,)
        ).fetchall()
    )
    codes: list[bytes] = []
    segments, firsts = np.unique(slots // SEGMENT_SLOTS, return_index=True)
    starts = (slots % SEGMENT_SLOTS * width).tolist()
    for segment, first, last in zip(
        segments.tolist(), firsts.tolist(), [*firsts[1:].tolist(), len(slots)], strict=True
    ):
        if segment not in rowids:
            codes += [bytes(width)] * (last - first)
            continue
        with connection.blobopen(space.codes, "codes", rowids[segment], readonly=True) as blob:
            if len(blob) != SEGMENT_SLOTS * width:
                raise damaged_vectors()
            # Typeshed knows only single bytes.
            codes += [blob[start : start + width] for start in starts[first:last]]  # type: ignore[misc]
    return _score_packed(b"".join(codes), query) if codes else np.zeros(0, np.float32)


def nearest_slots(
    connection: sqlite3.Connection,
    space: VectorSpace,
    query: Floats,
    count: int,
    among: Slots | None = None,
) -> Iterator[Slots]:
    """Yield `count` slots with the highest approximate cosines, best first, by their bits first.

    Then yield many of the next ones. Nothing if there are too few vectors for that, or no bits.
    """
    import numpy as np

    if among is not None and len(among) < MIN_LIKELY_SLOTS:
        return
    memory = find_memory(connection, space)
    source = memory or read_bits_and_centre(connection, space)
    if source is None:
        return
    slots, cosines = np.zeros(0, np.int64), np.zeros(0, np.float32)
    taken: int | None = count
    for likely in likely_slots(source.bits, source.centre, query, count, among):
        slots = np.append(slots, likely)
        cosines = np.append(cosines, _code_cosines(connection, space, query, likely, memory))
        order = np.argsort(-cosines)
        yield slots[order[:taken]]
        slots, cosines, taken = slots[order[taken:]], cosines[order[taken:]], None


def _score_packed(codes: bytes, query: Floats) -> Floats:
    import numpy as np

    return _score_codes(np.frombuffer(codes, np.uint8).reshape(-1, 4 + len(query)), query)


def _score_codes(rows: Codes, query: Floats) -> Floats:
    """Return the cosines of packed codes with `query`."""
    import numpy as np

    scores = np.empty(len(rows), np.float32)
    work = np.empty((min(len(rows), _CODES_AT_ONCE), len(query)), np.float32)
    for start in range(0, len(rows), _CODES_AT_ONCE):
        some = rows[start : start + _CODES_AT_ONCE]
        steps = work[: len(some)]
        np.copyto(steps, some[:, 4:].view(np.int8), casting="unsafe")
        np.dot(steps, query, out=scores[start : start + len(some)])
    scores *= rows[:, :4].copy().view(np.float32).ravel()
    return scores


def exact_cosines(
    connection: sqlite3.Connection,
    space: VectorSpace,
    query: Floats,
    slots: Iterable[int],
    scope: Scope,
) -> list[ScoredChunk]:
    """Return the chunks in `scope` stored in `slots`, by cosine with `query`, best first."""
    import numpy as np

    within = chunk_row_condition(scope)
    rows = connection.execute(
        f"SELECT chunks.id, chunks.page_id, v.vector FROM {space.vectors} AS v "
        "CROSS JOIN chunks ON chunks.hash = v.hash WHERE v.model_id = ? "
        f"AND v.slot IN (SELECT value FROM json_each(?)) AND {within.sql}",
        (space.model_id, json.dumps([int(slot) for slot in slots]), *within.values),
    ).fetchall()
    if not rows:
        return []
    chunk_ids, page_ids, vectors = zip(*rows, strict=True)
    if {*map(type, vectors)} != {bytes} or {*map(len, vectors)} != {2 * space.dimension}:
        raise damaged_vectors()
    packed = np.frombuffer(b"".join(vectors), np.float16)
    cosines = packed.reshape(-1, space.dimension).astype(np.float32) @ query
    order = np.lexsort((chunk_ids, -cosines))
    return [
        ScoredChunk(chunk_ids[n], page_ids[n], cosine)
        for n, cosine in zip(order.tolist(), cosines[order].tolist(), strict=True)
    ]
