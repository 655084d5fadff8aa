"""The associative lane: one step of a modern Hopfield network, then a vector search."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from gbrain.config import Settings
from gbrain.models.catalog import Calibration
from gbrain.search.calibration import active_calibration
from gbrain.search.lanes import vector
from gbrain.store.vector_scan import approximate_cosines
from gbrain.store.vector_space import VectorSpace
from gbrain.store.vectors import slots_in_scope, vectors_at
from gbrain.types import LaneResult, Query

if TYPE_CHECKING:
    from gbrain.store.vector_space import Floats

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
    import numpy as np

    scores = scan() if scan else approximate_cosines(connections, space, embedded)
    slots = np.arange(len(scores))
    if not query.scope.unlimited:
        slots = np.unique(np.array(slots_in_scope(connections[0], space, query.scope), np.int64))
        slots = slots[slots < len(scores)]
    if len(slots) > _MEMORY_VECTORS:
        slots = slots[np.argpartition(-scores[slots], _MEMORY_VECTORS)[:_MEMORY_VECTORS]]
    _, memory = vectors_at(connections[0], space, slots)
    if not len(memory):
        return LaneResult(())
    calibration = active_calibration(connections[0]) or Calibration()
    recalled = recall(memory, embedded, settings.hopfield_beta * calibration.slope)
    return vector.search(connections, space, recalled, query, settings, lane="associative")


def recall(memory: Floats, state: Floats, beta: float) -> Floats:
    """Return the next state, X^T softmax(beta X state) for memory rows X, as a unit vector."""
    import numpy as np

    energy = beta * (memory @ state)
    weights = np.exp(energy - energy.max())
    recalled = memory.T @ (weights / weights.sum())
    length = np.linalg.norm(recalled)
    unit: Floats = (recalled / (length or 1)).astype(np.float32)
    return unit
