"""The vector lane: a page scores the cosine of its most similar chunk with the query."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from gbrain.config import Settings
from gbrain.store.page_names import slugs_by_id
from gbrain.store.vectors import VectorSpace, approximate_cosines, exact_cosines, slots_in_scope
from gbrain.types import Candidate, LaneResult, Query, ScoredChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from gbrain.store.vectors import Floats

    Slots = NDArray[np.int64]
    Scan = Callable[[], Floats]

# Vectors scored exactly for each page of the pool. With ten, the first ten pages were those of an
# exact search.
_EXACT_PER_PAGE = 10


def search(
    connections: tuple[sqlite3.Connection, sqlite3.Connection],
    space: VectorSpace,
    embedded: Floats,
    query: Query,
    settings: Settings,
    scan: Scan | None = None,
) -> LaneResult:
    """Return the pages by the cosine of their best chunk with the query, best first.

    The second connection scans half of the vectors on another thread, unless a `scan` is given
    that another lane uses too.
    """
    connection = connections[0]
    scores = scan() if scan else approximate_cosines(connections, space, embedded)
    slots = slots_seen(connection, space, query, len(scores))
    chunks: list[ScoredChunk] = []
    best: dict[int, ScoredChunk] = {}
    # One long page can fill the first batch: go on until the pool is full.
    for batch in _best_first(scores, slots, _EXACT_PER_PAGE * settings.candidate_pool):
        found = exact_cosines(connection, space, embedded, batch, query.scope)
        chunks += found
        for chunk in found:
            best.setdefault(chunk.page_id, chunk)
        if len(best) >= settings.candidate_pool:
            break
    slugs = slugs_by_id(connection, best)
    ranked = sorted(best.values(), key=lambda chunk: (-chunk.score, slugs[chunk.page_id]))
    pages = tuple(
        Candidate(chunk.page_id, slugs[chunk.page_id], chunk.chunk_id, rank, chunk.score)
        for rank, chunk in enumerate(ranked, 1)
    )
    return LaneResult(
        pages[: settings.candidate_pool],
        tuple(chunks),
        min((chunk.score for chunk in best.values()), default=None),
        overflow=pages[settings.candidate_pool :],
    )


def slots_seen(
    connection: sqlite3.Connection, space: VectorSpace, query: Query, count: int
) -> Slots:
    """Return which of the first `count` slots are in scope."""
    import numpy as np

    if query.scope.unlimited:
        return np.arange(count)
    slots = np.unique(np.array(slots_in_scope(connection, space, query.scope), np.int64))
    return slots[slots < count]


def _best_first(scores: Floats, slots: Slots, stride: int) -> Iterator[Slots]:
    """Yield the slots in batches of `stride`, best first; only later batches are sorted."""
    import numpy as np

    if len(slots) > stride:
        first = np.argpartition(-scores[slots], stride)[:stride]
        yield slots[first]
        slots = np.delete(slots, first)
    order = slots[np.argsort(-scores[slots], kind="stable")]
    for start in range(0, len(order), stride):
        yield order[start : start + stride]
