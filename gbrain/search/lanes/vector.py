"""The vector lane: a page scores the similarity of its most similar chunk with the query.

That is the cosine of their vectors, on the scale of `Calibration`.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from gbrain.config import Settings
from gbrain.models.catalog import Calibration
from gbrain.search.calibration import active_calibration
from gbrain.store.chunk_slots import slots_in_scope
from gbrain.store.chunks import read_non_ascii_texts
from gbrain.store.pages import slugs_by_id
from gbrain.store.scope import is_quickly_listed
from gbrain.store.vector_bits import read_stamp
from gbrain.store.vector_scan import (
    approximate_cosines,
    code_cosines,
    exact_cosines,
    nearest_slots,
)
from gbrain.store.vector_space import VectorSpace
from gbrain.store.whole_brain import asks_whole_brain
from gbrain.text.unspaced import is_mostly_latin
from gbrain.types import Candidate, LaneResult, Query, ScoredChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from gbrain.store.vector_space import Floats

    Slots = NDArray[np.int64]
    Scan = Callable[[], Floats]

# Vectors scored exactly for each page of the pool. With ten, the first ten pages were those of an
# exact search.
_EXACT_PER_PAGE = 10
# The same in a brain with many vectors, where the best ones are on many pages. On SciFact, nDCG@10
# is .7755 with four and .7738 with ten, R@5 .8342 and .8354; on 50,000 pages it takes 4 ms less.
_EXACT_PER_PAGE_OF_MANY = 4

# With fewer, what a statement takes by itself would be a good part of the time.
_MIN_BATCH = 50


def search(
    connections: tuple[sqlite3.Connection, sqlite3.Connection],
    space: VectorSpace,
    embedded: Floats,
    query: Query,
    settings: Settings,
    scan: Scan | None = None,
    lane: str = "vector",
) -> LaneResult:
    """Return the pages by the similarity of their best chunk with the query, best first.

    The second connection scans half of the vectors on another thread, unless a `scan` is given
    that another lane uses too. `lane` is the one that the pages are for.
    """
    connection = connections[0]
    pool = settings.lane_pool(lane, query.limit)
    calibration = active_calibration(connection) or Calibration()
    scan = scan or (lambda: approximate_cosines(connections, space, embedded))
    chunks = find_nearest(connection, space, embedded, query, pool, scan)
    if (calibration.slope, calibration.offset) != (1.0, 0.0):
        chunks = [
            ScoredChunk(chunk.chunk_id, chunk.page_id, calibration.similarity(chunk.score))
            for chunk in chunks
        ]
    best: dict[int, ScoredChunk] = {}
    for chunk in chunks:
        best.setdefault(chunk.page_id, chunk)
    if calibration.english_only and is_mostly_latin(query.semantic_text):
        chunks, best = _lower_unreadable(connection, chunks, best)
    slugs = slugs_by_id(connection, best)
    known = [chunk for chunk in best.values() if chunk.page_id in slugs]
    ranked = sorted(known, key=lambda chunk: (-chunk.score, slugs[chunk.page_id]))
    pages = tuple(
        Candidate(chunk.page_id, slugs[chunk.page_id], chunk.chunk_id, rank, chunk.score)
        for rank, chunk in enumerate(ranked, 1)
    )
    return LaneResult(
        pages[:pool],
        tuple(chunks),
        min((chunk.score for chunk in best.values()), default=None),
        overflow=pages[pool:],
    )


@asks_whole_brain
def find_nearest(
    connection: sqlite3.Connection,
    space: VectorSpace,
    embedded: Floats,
    query: Query,
    pool: int,
    scan: Scan,
) -> list[ScoredChunk]:
    """Return the chunks in scope that are most similar, of at least `pool` pages if there are any.

    A page's most similar chunk comes first of its chunks.
    """
    chunks: list[ScoredChunk] = []
    pages: set[int] = set()
    batch, scored = _EXACT_PER_PAGE * pool, 0
    if read_stamp(connection, space):
        batch = min(batch, max(_EXACT_PER_PAGE_OF_MANY * pool, _EXACT_PER_PAGE * query.limit))
    for slots in _likely_slots(connection, space, embedded, query, pool, scan):
        # One long page can fill a batch, and a filter drops many: go on until the pool is full.
        while len(slots) and len(pages) < pool:
            found = exact_cosines(connection, space, embedded, slots[:batch], query.scope)
            chunks += found
            pages.update(chunk.page_id for chunk in found)
            scored, slots = scored + len(slots[:batch]), slots[batch:]
            batch = _next_batch(scored, len(pages), pool)
        if len(pages) >= pool:
            break
    return sorted(chunks, key=lambda chunk: (-chunk.score, chunk.chunk_id))


def _next_batch(scored: int, pages: int, pool: int) -> int:
    """Return how many more slots to score for a full pool, after those that gave `pages` pages."""
    expected = scored * (pool - pages) // max(pages, 1)
    return max(_MIN_BATCH, min(2 * scored, expected * 5 // 4))


def _lower_unreadable(
    connection: sqlite3.Connection, chunks: list[ScoredChunk], best: dict[int, ScoredChunk]
) -> tuple[list[ScoredChunk], dict[int, ScoredChunk]]:
    """Give pages whose best chunk is in another alphabet the lowest cosine of the others.

    The packaged model knows English: to it, Chinese text is a row of unknown tokens, which is as
    similar to "todo" as to any other short query.
    """
    page_of = {chunk.chunk_id: page_id for page_id, chunk in best.items()}
    texts = read_non_ascii_texts(connection, page_of)
    unreadable = {
        page_of[chunk_id] for chunk_id, text in texts.items() if not is_mostly_latin(text)
    }
    if not unreadable:
        return chunks, best
    lowest = min(
        (chunk.score for page_id, chunk in best.items() if page_id not in unreadable), default=None
    )
    if lowest is None:
        return chunks, best

    def lower(chunk: ScoredChunk) -> ScoredChunk:
        if chunk.page_id not in unreadable:
            return chunk
        return chunk._replace(score=min(chunk.score, lowest))

    lowered = sorted(map(lower, chunks), key=lambda chunk: (-chunk.score, chunk.chunk_id))
    return lowered, {page_id: lower(chunk) for page_id, chunk in best.items()}


def _likely_slots(
    connection: sqlite3.Connection,
    space: VectorSpace,
    embedded: Floats,
    query: Query,
    pool: int,
    scan: Scan,
) -> Iterator[Slots]:
    """Yield slots in parts, best first; the first part is for `pool` pages.

    All slots of the scope are among them, and perhaps others.
    """
    import numpy as np

    scope, stride = query.scope, _EXACT_PER_PAGE * pool
    listed: Slots | None = None
    if not scope.unlimited and is_quickly_listed(connection, scope):
        listed = slots_in_scope(connection, space, scope)
        if len(listed) <= stride:
            yield listed
            return
    seen = np.zeros(0, np.int64)
    for slots in nearest_slots(connection, space, embedded, stride, listed):
        yield slots
        seen = np.append(seen, slots)
    if listed is None:
        scores = scan()
        yield from _best_first(scores, np.setdiff1d(np.arange(len(scores)), seen), stride)
    else:
        others = np.setdiff1d(listed, seen, assume_unique=True)
        yield others[np.argsort(-code_cosines(connection, space, embedded, others))]


def _best_first(scores: Floats, slots: Slots, stride: int) -> Iterator[Slots]:
    """Yield the slots in parts, best first; each part has twice the size of the one before."""
    import numpy as np

    while len(slots) > stride:
        first = np.argpartition(-scores[slots], stride)[:stride]
        best = slots[first]
        yield best[np.argsort(-scores[best])]
        slots, stride = np.delete(slots, first), 2 * stride
    yield slots[np.argsort(-scores[slots])]
