"""How a reranker's scores and the merged scores become one order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from gbrain.search.fusion import min_max
from gbrain.types import Candidate, Ranked

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
