"""The cut: which of the ranked pages are good enough to be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gbrain.config import Settings
from gbrain.types import Ranked


class Cut(NamedTuple):
    """The pages kept, in their order, and the slugs of those cut, by what cut them."""

    kept: list[Ranked]
    below_floor: tuple[str, ...] = ()
    below_threshold: tuple[str, ...] = ()


def cut(ranked: Sequence[Ranked], settings: Settings) -> Cut:
    """Each page once, without those below `relevance_floor` and then those below `threshold`.

    The floor is a cosine, and asked only of pages that the vector lane alone found. The threshold
    is a share of the best remaining score, so that it holds for every merge and after reranking;
    where the best score is not positive, nothing is cut by it.
    """
    once: dict[int, Ranked] = {}
    for page in ranked:
        once.setdefault(page.page_id, page)
    near = [page for page in once.values() if not _too_far(page, settings.relevance_floor)]
    best = max((page.score for page in near), default=0.0)
    bar = settings.threshold * best if best > 0 else float("-inf")
    kept = [page for page in near if page.score >= bar]
    return Cut(
        kept,
        tuple(page.slug for page in once.values() if _too_far(page, settings.relevance_floor)),
        tuple(page.slug for page in near if page.score < bar),
    )


def _too_far(page: Ranked, floor: float) -> bool:
    return list(page.lanes) == ["vector"] and page.lanes["vector"].score < floor
