"""The associative lane: one step of a modern Hopfield network, then a vector search."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from gbrain.config import Settings
from gbrain.models.catalog import Calibration
from gbrain.search.calibration import active_calibration
from gbrain.search.lanes import vector
from gbrain.store.chunk_slots import slots_in_scope
from gbrain.store.scope import is_quickly_listed
from gbrain.store.vector_scan import approximate_cosines
from gbrain.store.vector_space import VectorSpace
from gbrain.store.vectors import vectors_at, which_in_scope
from gbrain.types import LaneResult, Query, Scope

if TYPE_CHECKING:
    from gbrain.store.vector_space import Floats, Slots

# Vectors to recall from. Softmax gives distant vectors little weight, and all vectors together
# would pull every query towards their mean.
_MEMORY_VECTORS = 1000


def search(
    connections: tuple[sqlite3.Connection, sqlite3.Connection],
    space: VectorSpace,
    embedded: Floats,
    query: Query,
    settings: Settings,
    scan: vector.Scan | None = None,
) -> LaneResult:
    """Return the pages whose best chunk is most similar to what the query recalls, best first.

    The memory is the 1,000 vectors in scope with the highest approximate cosine.
    """
    scores = scan() if scan else approximate_cosines(connections, space, embedded)
    slots = _best_in_scope(connections[0], space, query.scope, scores)
    _, memory = vectors_at(connections[0], space, slots)
    if not len(memory):
        return LaneResult(())
    calibration = active_calibration(connections[0]) or Calibration()
    recalled = recall(memory, embedded, settings.hopfield_beta * calibration.slope)
    return vector.search(connections, space, recalled, query, settings, lane="associative")


def _best_in_scope(
    connection: sqlite3.Connection, space: VectorSpace, scope: Scope, scores: Floats
) -> Slots:
    """Return the slots in scope with the highest scores, at most as many as the memory takes."""
    import numpy as np

    slots = np.arange(len(scores))
    if not scope.unlimited and not is_quickly_listed(connection, scope):
        # Looked up best first: listing a large scope would take longer than all else.
        inside, batch = np.zeros(0, np.int64), 2 * _MEMORY_VECTORS
        while len(inside) < _MEMORY_VECTORS and len(slots):
            best = _highest(scores, slots, batch)
            inside = np.append(inside, which_in_scope(connection, space, best, scope))
            slots, batch = np.setdiff1d(slots, best, assume_unique=True), 2 * batch
        slots = inside
    elif not scope.unlimited:
        slots = slots_in_scope(connection, space, scope)
        slots = slots[slots < len(scores)]
    return _highest(scores, slots, _MEMORY_VECTORS)


def _highest(scores: Floats, slots: Slots, count: int) -> Slots:
    import numpy as np

    if len(slots) <= count:
        return slots
    best: Slots = slots[np.argpartition(-scores[slots], count)[:count]]
    return best


def recall(memory: Floats, state: Floats, beta: float) -> Floats:
    """Return the next state, X^T softmax(beta X state) for memory rows X, as a unit vector."""
    import numpy as np

    energy = beta * (memory @ state)
    weights = np.exp(energy - energy.max())
    recalled = memory.T @ (weights / weights.sum())
    length = np.linalg.norm(recalled)
    unit: Floats = (recalled / (length or 1)).astype(np.float32)
    return unit
