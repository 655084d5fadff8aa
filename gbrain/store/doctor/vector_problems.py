"""Vectors that say something else than they did when they were written, as far as one sees."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from gbrain.store.doctor.file_problems import spaces
from gbrain.store.vectors import SEGMENT, VectorSpace

# How far from 1 a vector's length may be: sixteen bits round it by less than a thousandth.
_TOLERANCE = 0.01
# How many steps of its code a number may be off: it was rounded before the vector itself was.
_STEPS = 1.5


def spoilt_vectors(connection: sqlite3.Connection) -> Iterator[tuple[VectorSpace, int, str]]:
    """Slots whose vector is not of length one, or is not what its code says; and which of both.

    Vectors and codes of the wrong size are not looked at.
    """
    import numpy as np

    for space in spaces(connection):
        packs = connection.execute(
            f"SELECT segment, codes FROM {space.codes} WHERE model_id = ? AND length(codes) = ?",
            (space.model_id, SEGMENT * (4 + space.dimension)),
        )
        for segment, codes in packs:
            rows = np.frombuffer(codes, np.uint8).reshape(SEGMENT, 4 + space.dimension)
            scales = rows[:, :4].copy().view(np.float32)
            steps = rows[:, 4:].view(np.int8).astype(np.float32)
            held = connection.execute(
                f"SELECT slot, vector FROM {space.vectors} WHERE model_id = ? "
                "AND slot BETWEEN ? AND ? AND hash IS NOT NULL AND length(vector) = ?",
                (space.model_id, segment * SEGMENT, (segment + 1) * SEGMENT - 1,
                 2 * space.dimension),
            )  # fmt: skip
            for slot, packed in held:
                vector = np.frombuffer(packed, np.float16).astype(np.float32)
                place = slot % SEGMENT
                with np.errstate(all="ignore"):
                    off = np.abs(steps[place] * scales[place] - vector).max()
                    length = np.linalg.norm(vector)
                if not abs(length - 1) <= _TOLERANCE:
                    yield space, slot, "vectors of no direction"
                elif not off <= _STEPS * abs(scales[place, 0]):
                    yield space, slot, "vectors with the code of another"
