"""One bit for each number of a vector: a first scan that reads an eighth of what codes need.

A bit says whether a number is above the mean of that number in the brain (the centre, in row -1).
Bits exist only in a brain with many vectors, where the centre is known and a scan of codes is slow.
They follow from the codes. A row has the bits of one segment: for each 64 numbers, the words of all
its slots one after the other. Row -2 is a stamp: random bytes, new after each change.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from gbrain.store.vector_space import SEGMENT_SLOTS, VectorSpace, open_segment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gbrain.store.vector_space import Floats, Slots

    Words = NDArray[np.uint64]
    Integers = NDArray[np.int32]

# With fewer segments of codes, a scan of these takes a few milliseconds.
MIN_SEGMENTS = 16
_CENTRE = -1
_STAMP = -2
_STAMP_BYTES = 16

# The share of the slots that is kept by the bits of the query, and then by its numbers in 16 steps.
# Among 22,476 chunks of SciFact and with 100 of its claims, .999 of the exact first 50 are kept.
_SHARE_BY_BITS = 8
_SHARE_BY_STEPS = 40
_MIN_BY_BITS = 8_000
_MIN_BY_STEPS = 2_500
# How many times as many slots are looked up among them if a filter drops most.
_MORE_BY_STEPS = 2
# Candidates for each slot that is asked for.
_CANDIDATES_PER_SLOT = 5
# With fewer slots, half of them would be kept.
MIN_LIKELY_SLOTS = 2 * _MIN_BY_STEPS

_STEP_BITS = 4
# Numbers beyond this quantile count as the last step.
_STEP_QUANTILE = 0.98


def rebuild_bits(connection: sqlite3.Connection, space: VectorSpace) -> None:
    """Write all bits of a model again, around a new centre; none if it has few vectors."""
    import numpy as np

    remove_bits(connection, space)
    code_bytes = SEGMENT_SLOTS * (4 + space.dimension)
    rows = connection.execute(
        f"SELECT segment, codes FROM {space.codes} WHERE model_id = ? AND segment >= 0 "
        "AND typeof(codes) = 'blob' AND length(codes) = ?",
        (space.model_id, code_bytes),
    )
    total, used, segments = np.zeros(space.dimension), 0, []
    for segment, codes in rows:
        vectors = _decode(codes, space)
        total += vectors.sum(axis=0, dtype=np.float64)
        used += int(np.count_nonzero(vectors.any(axis=1)))
        segments.append(segment)
    if len(segments) < MIN_SEGMENTS or not used:
        return
    centre = (total / used).astype(np.float32)
    _insert(connection, space, _CENTRE, centre.tobytes())
    for segment in segments:
        row = connection.execute(
            f"SELECT codes FROM {space.codes} WHERE model_id = ? AND segment = ?",
            (space.model_id, segment),
        ).fetchone()
        _insert(connection, space, segment, _segment_bits(row[0], space, centre))
    write_stamp(connection, space)


def write_bits(
    connection: sqlite3.Connection, space: VectorSpace, codes: Mapping[int, bytes]
) -> None:
    """Write the bits of some codes by slot; the first time that there are enough, those of all."""
    centre = read_centre(connection, space)
    if centre is None:
        # In a damaged brain there may be a stamp, which must not outlive a change either.
        _remove_stamp(connection, space)
        if max(codes, default=0) >= (MIN_SEGMENTS - 1) * SEGMENT_SLOTS:
            rebuild_bits(connection, space)
        return
    words = _word_count(space)
    for segment, slots in groupby(sorted(codes), key=lambda slot: slot // SEGMENT_SLOTS):
        key, size = (space.model_id, segment), 8 * words * SEGMENT_SLOTS
        with open_segment(connection, space.bits, "bits", key, size) as blob:
            for slot in slots:
                for word, value in enumerate(_encode(codes[slot], space, centre)[0]):
                    blob.seek(8 * (word * SEGMENT_SLOTS + slot % SEGMENT_SLOTS))
                    blob.write(value.tobytes())
    write_stamp(connection, space)


def count_wrong_segments(connection: sqlite3.Connection, space: VectorSpace) -> int:
    """Return how many segments have other bits than those of their codes, or none."""
    centre = read_centre(connection, space)
    has_bits = connection.execute(
        f"SELECT 1 FROM {space.bits} WHERE model_id = ? LIMIT 1", (space.model_id,)
    ).fetchone()
    if centre is None:
        return 1 if has_bits else 0
    rows = connection.execute(
        f"SELECT codes, bits FROM {space.codes} AS c LEFT JOIN {space.bits} AS b "
        "ON b.model_id = c.model_id AND b.segment = c.segment "
        "WHERE c.model_id = ? AND typeof(codes) = 'blob' AND length(codes) = ?",
        (space.model_id, SEGMENT_SLOTS * (4 + space.dimension)),
    )
    return sum(_segment_bits(codes, space, centre) != bits for codes, bits in rows)


def remove_bits(connection: sqlite3.Connection, space: VectorSpace) -> None:
    """Delete the bits of a model."""
    connection.execute(f"DELETE FROM {space.bits} WHERE model_id = ?", (space.model_id,))


def likely_slots(
    bits: Words, centre: Floats, query: Floats, count: int, among: Slots | None = None
) -> Iterator[Slots]:
    """Yield the slots, in order, among which the `count` most similar vectors are.

    Then yield the next likely ones. Nothing if these would be most slots.
    """
    import numpy as np

    if among is not None:
        among = among[among < bits.shape[1]]
        bits = bits[:, among]
    slots = bits.shape[1]
    by_steps = max(slots // _SHARE_BY_STEPS, _MIN_BY_STEPS, _CANDIDATES_PER_SLOT * count)
    by_bits = max(slots // _SHARE_BY_BITS, _MIN_BY_BITS, 2 * by_steps)
    if by_steps > slots // 2:
        return
    residual = query - centre
    near = np.arange(slots)
    if by_bits <= slots // 2:
        distance, differing = np.zeros(slots, np.uint16), np.empty(slots, np.uint64)
        for row, word in zip(bits, _pack(residual[None] > 0)[0], strict=True):
            np.bitwise_xor(row, word, out=differing)
            distance += np.bitwise_count(differing)
        near = _lowest(distance, by_bits)
        bits = bits[:, near]
    distance_by_steps = -_score_words(bits, residual)
    likely = _lowest(distance_by_steps, by_steps)
    places = near if among is None else among[near]
    yield places[likely]
    more = np.zeros(len(near), np.bool_)
    more[_lowest(distance_by_steps, _MORE_BY_STEPS * by_steps)] = True
    more[likely] = False
    yield places[more]


def _score_words(words: Words, residual: Floats) -> Integers:
    """Return for each column of bits, read as -1 and 1, its product with the query in steps."""
    import numpy as np

    last = (1 << _STEP_BITS) - 1
    limit = np.quantile(np.abs(residual), _STEP_QUANTILE) or 1.0
    steps = np.rint((np.clip(residual / limit, -1, 1) + 1) / 2 * last).astype(np.uint8)
    planes = _pack((steps >> np.arange(_STEP_BITS, dtype=np.uint8)[:, None] & 1) > 0)
    scores = np.zeros(words.shape[1], np.int32)
    common, ones = np.empty(len(scores), np.uint64), np.empty(len(scores), np.uint8)
    for number, row in enumerate(words):
        # A word adds less than 2,000 to a score.
        part = np.bitwise_count(row, out=ones) * np.int16(-last)
        for plane in range(_STEP_BITS):
            np.bitwise_and(row, planes[plane, number], out=common)
            part += np.bitwise_count(common, out=ones).astype(np.int16) << (plane + 1)
        scores += part
    return scores


def _lowest(values: NDArray[np.uint16] | Integers, count: int) -> Slots:
    """Return the places of the `count` lowest values, with all that equal the last of them."""
    import numpy as np

    shifted = values - int(values.min()) if values.dtype.kind == "i" else values
    enough = int(np.searchsorted(np.bincount(shifted).cumsum(), count))
    return np.flatnonzero(shifted <= enough)


def read_bits(connection: sqlite3.Connection, space: VectorSpace) -> Words | None:
    """Return the bits by word and slot; None if those of a segment are missing."""
    import numpy as np

    if not _has_table(connection, space):
        return None
    rows = connection.execute(
        f"SELECT segment, bits FROM {space.bits} WHERE model_id = ? AND segment >= 0 "
        "ORDER BY segment",
        (space.model_id,),
    ).fetchall()
    last = connection.execute(
        f"SELECT max(segment) FROM {space.codes} WHERE model_id = ?", (space.model_id,)
    ).fetchone()[0]
    size = 8 * _word_count(space) * SEGMENT_SLOTS
    complete = [row[0] for row in rows] == list(range((last or 0) + 1)) and all(
        isinstance(bits, bytes) and len(bits) == size for _, bits in rows
    )
    if not complete:
        return None
    words = np.empty((_word_count(space), len(rows), SEGMENT_SLOTS), np.uint64)
    for segment, bits in rows:
        words[:, segment] = np.frombuffer(bits, np.uint64).reshape(-1, SEGMENT_SLOTS)
    return words.reshape(len(words), -1)


def read_centre(connection: sqlite3.Connection, space: VectorSpace) -> Floats | None:
    """Return the mean of all vectors; None if there are no bits."""
    import numpy as np

    value = _read_value(connection, space, _CENTRE)
    if not isinstance(value, bytes) or len(value) != 4 * space.dimension:
        return None
    return np.frombuffer(value, np.float32)


def read_stamp(connection: sqlite3.Connection, space: VectorSpace) -> bytes | None:
    """Return bytes that no other state of codes and bits has; None if they have no stamp."""
    if not _has_table(connection, space):
        return None
    value = _read_value(connection, space, _STAMP)
    return value if isinstance(value, bytes) and len(value) == _STAMP_BYTES else None


def write_stamp(connection: sqlite3.Connection, space: VectorSpace) -> None:
    """Give the bits another stamp."""
    connection.execute(
        f"INSERT OR REPLACE INTO {space.bits} (model_id, segment, bits) VALUES (?, ?, ?)",
        (space.model_id, _STAMP, os.urandom(_STAMP_BYTES)),
    )


def _remove_stamp(connection: sqlite3.Connection, space: VectorSpace) -> None:
    """Delete the stamp: nothing that is in memory is used any more."""
    connection.execute(
        f"DELETE FROM {space.bits} WHERE model_id = ? AND segment = ?", (space.model_id, _STAMP)
    )


def add_missing_stamp(connection: sqlite3.Connection, space: VectorSpace) -> None:
    """Give bits without a stamp one: those that an earlier gbrain wrote."""
    if read_stamp(connection, space) is None and read_centre(connection, space) is not None:
        write_stamp(connection, space)


def _has_table(connection: sqlite3.Connection, space: VectorSpace) -> bool:
    # A brain that cannot be upgraded, because it is read-only, may have none.
    table = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (space.bits,))
    return table.fetchone() is not None


def _read_value(connection: sqlite3.Connection, space: VectorSpace, segment: int) -> object:
    row = connection.execute(
        f"SELECT bits FROM {space.bits} WHERE model_id = ? AND segment = ?",
        (space.model_id, segment),
    ).fetchone()
    return row and row[0]


def _insert(connection: sqlite3.Connection, space: VectorSpace, segment: int, bits: bytes) -> None:
    connection.execute(
        f"INSERT INTO {space.bits} (model_id, segment, bits) VALUES (?, ?, ?)",
        (space.model_id, segment, bits),
    )


def _segment_bits(codes: bytes, space: VectorSpace, centre: Floats) -> bytes:
    packed: bytes = _encode(codes, space, centre).T.tobytes()
    return packed


def _encode(codes: bytes, space: VectorSpace, centre: Floats) -> Words:
    """Return the bits of packed codes, as rows of words; a free slot has only zeros."""
    vectors = _decode(codes, space)
    return _pack((vectors > centre) & vectors.any(axis=1, keepdims=True))


def _decode(codes: bytes, space: VectorSpace) -> Floats:
    """Return the vectors of packed codes, as rows."""
    import numpy as np

    rows = np.frombuffer(codes, np.uint8).reshape(-1, 4 + space.dimension)
    scales = rows[:, :4].copy().view(np.float32)
    return rows[:, 4:].view(np.int8).astype(np.float32) * scales


def _pack(flags: NDArray[np.bool_]) -> Words:
    """Return rows of flags as words of 64 bits; the last word is filled with zeros."""
    import numpy as np

    packed = np.packbits(flags, axis=1)
    if packed.shape[1] % 8:
        packed = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    return packed.view(np.uint64)


def _word_count(space: VectorSpace) -> int:
    return -(-space.dimension // 64)
