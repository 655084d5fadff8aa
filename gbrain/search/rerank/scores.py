"""The request and scores of a reranker, and how its scores are mixed with the merged ones.

Each kind of reranker is a module of this folder with `score_pages(request)`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gbrain.config import Settings
from gbrain.store.chunks import StoredChunk
from gbrain.types import Query, Ranked

if TYPE_CHECKING:
    from gbrain.models.catalog import Embedder
    from gbrain.models.reranker import CrossEncoder
from itertools import pairwise

from gbrain.search.fusion import min_max
from gbrain.types import Candidate


class RerankScores(NamedTuple):
    """A reranker's score for each page, from 0 to 1; a page without one keeps its place.

    `weight` is the weight of these scores against the merged ones, from 0 to 1. `chunks` is the
    number of chunks that were read. `skipped` says why nothing was read.
    """

    by_page: dict[int, float]
    weight: float
    chunks: int
    skipped: str | None = None


class RerankResources(NamedTuple):
    """What a reranker may use; a model is loaded when its callable is called.

    `command` is the brain's own `rerank_command`, never that of a single query: only the brain's
    was approved by the user. `today` is an ISO day.
    """

    cross_encoder: Callable[[], CrossEncoder]
    embedder: Callable[[], Embedder]
    command: str
    today: str


class RerankRequest(NamedTuple):
    """The pages to score, best first, and the best chunks of each, best first."""

    connection: sqlite3.Connection
    query: Query
    pages: Sequence[Ranked]
    chunks: Mapping[int, Sequence[StoredChunk]]
    settings: Settings
    resources: RerankResources

    @property
    def chunk_count(self) -> int:
        return sum(map(len, self.chunks.values()))

    @property
    def question(self) -> str:
        """The query without operators and fields, or the whole text if nothing else is left."""
        return self.query.semantic_text or self.query.text


# A page can move if the weighted gap is at most the mix; this absorbs the rounding of both sides.
_ROUNDING = 1e-9


def movable_pages(ranked: Sequence[Ranked], head: int, mix: float) -> set[int]:
    """Return those of the first `head` pages that scores of weight `mix` can move at all."""
    scores = min_max([page.score for page in ranked[:head]])
    close = [(1 - mix) * (above - below) <= mix + _ROUNDING for above, below in pairwise(scores)]
    return {
        page.page_id
        for page, above, below in zip(ranked, [False, *close], [*close, False], strict=False)
        if above or below
    }


def mix_scores(
    ranked: Sequence[Ranked], scores: Mapping[int, float], head: int, mix: float
) -> list[Ranked]:
    """Return `ranked` with its first `head` pages ordered by (1 - mix) x merged + mix x score.

    `scores` are from 0 to 1, by page; the head's merged scores are scaled to the same range. A
    page without a score keeps its place, and so do the pages behind the head. The results stay on
    the scale of the merge and fall from page to page. A score is shown as a lane named "rerank".
    """
    first, tail = ranked[:head], ranked[head:]
    scored = [place for place, page in enumerate(first) if page.page_id in scores]
    if not scored:
        return list(ranked)
    merged = [page.score for page in first]
    low, high = min(merged), max(merged)
    mixed = {
        place: (1 - mix) * share + mix * scores[first[place].page_id]
        for place, share in enumerate(min_max(merged))
        if first[place].page_id in scores
    }
    by_score = sorted(scored, key=lambda place: (-scores[first[place].page_id], place))
    rerank_ranks = {place: rank for rank, place in enumerate(by_score, 1)}
    order = iter(sorted(scored, key=lambda place: (-mixed[place], place)))
    reordered: list[Ranked] = []
    ceiling = high
    for place, page in enumerate(first):
        score = page.score
        if place in mixed:
            source = next(order)
            page, score = first[source], low + (high - low) * mixed[source]
            candidate = Candidate(
                page.page_id, page.slug, None, rerank_ranks[source], scores[page.page_id]
            )
            page = page._replace(lanes={**page.lanes, "rerank": candidate})
        ceiling = min(ceiling, score)
        reordered.append(page._replace(score=ceiling))
    return [*reordered, *tail]
