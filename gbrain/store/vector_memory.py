"""The bits and codes of vectors in memory, for a process that answers many queries.

Reading them from the file takes longer than comparing them with a query. A process reads them after
a few queries, so that a command that answers one query does not.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from gbrain.store.vector_bits import read_bits, read_centre, read_stamp
from gbrain.store.vector_space import SEGMENT_SLOTS, VectorSpace, check_size

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gbrain.store.vector_bits import Words
    from gbrain.store.vector_space import Floats

    Codes = NDArray[np.uint8]

# The codes of 160,000 vectors have 63 MB. Those of a larger brain are read from the file.
_MAX_CODE_BYTES = 1 << 28
# Scans of one state of the vectors that use the file. One query makes up to five.
_SCANS_BEFORE_LOADING = 5
# A brain and an earlier state of it, or that of a limited token.
_MAX_STATES = 2


class VectorMemory(NamedTuple):
    """The bits by word and slot, their centre, and the codes by slot, None if they are many."""

    bits: Words
    centre: Floats
    codes: Codes | None


_lock = Lock()
# By their stamp, the last used one last; a number counts the scans before they are loaded.
_states: OrderedDict[bytes, VectorMemory | int] = OrderedDict()


def find_memory(
    connection: sqlite3.Connection, space: VectorSpace, *, at_once: bool = False
) -> VectorMemory | None:
    """Return the vectors as the connection sees them; None if they are not in memory.

    They are loaded after a few calls, or `at_once`.
    """
    stamp = read_stamp(connection, space)
    if stamp is None:
        return None
    with _lock:
        state = _states.get(stamp, 0)
        if isinstance(state, int):
            state += 1
            if at_once or state > _SCANS_BEFORE_LOADING:
                state = _load(connection, space) or 0
            _states[stamp] = state
        _states.move_to_end(stamp)
        while len(_states) > _MAX_STATES:
            _states.popitem(last=False)
    return state if isinstance(state, VectorMemory) else None


def read_bits_and_centre(connection: sqlite3.Connection, space: VectorSpace) -> VectorMemory | None:
    """Return the bits and their centre from the file; None if they are not complete."""
    bits = read_bits(connection, space)
    centre = None if bits is None else read_centre(connection, space)
    return None if bits is None or centre is None else VectorMemory(bits, centre, None)


def _load(connection: sqlite3.Connection, space: VectorSpace) -> VectorMemory | None:
    import numpy as np

    memory = read_bits_and_centre(connection, space)
    if memory is None:
        return None
    width, slots = 4 + space.dimension, memory.bits.shape[1]
    if slots * width > _MAX_CODE_BYTES:
        return memory
    codes = np.zeros((slots, width), np.uint8)
    rows = connection.execute(
        f"SELECT segment, codes FROM {space.codes} WHERE model_id = ? AND segment BETWEEN 0 AND ?",
        (space.model_id, slots // SEGMENT_SLOTS - 1),
    )
    for segment, packed in rows:
        check_size(packed, SEGMENT_SLOTS * width)
        first = segment * SEGMENT_SLOTS
        codes[first : first + SEGMENT_SLOTS].reshape(-1)[:] = np.frombuffer(packed, np.uint8)
    return memory._replace(codes=codes)
