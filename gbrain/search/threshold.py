"""The cut: which of the ranked pages are good enough to be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gbrain.config import Settings
from gbrain.types import Ranked


class ThresholdResult(NamedTuple):
    """The pages kept, in their order, and the slugs of those cut, by what cut them."""

    kept: list[Ranked]
    below_floor: tuple[str, ...] = ()
    below_threshold: tuple[str, ...] = ()


def apply_threshold(ranked: Sequence[Ranked], settings: Settings) -> ThresholdResult:
    """Each page once, without those below `relevance_floor` and then those below `threshold`.

    The floor is a cosine, and asked only of pages that the vector lane alone found. The threshold
    is a share of the best remaining score, so that it holds for every merge and after reranking;
    where the best score is not positive, nothing is cut by it.
    """
    once: dict[int, Ranked] = {}
    for page in ranked:
        once.setdefault(page.page_id, page)
    near = [page for page in once.values() if not _too_far(page, settings.relevance_floor)]
    least = minimum_score(near, settings)
    kept = [page for page in near if least is None or page.score >= least]
    return ThresholdResult(
        kept,
        tuple(page.slug for page in once.values() if _too_far(page, settings.relevance_floor)),
        tuple(page.slug for page in near if least is not None and page.score < least),
    )


def minimum_score(ranked: Sequence[Ranked], settings: Settings) -> float | None:
    """The score that `threshold` asks of these pages; None if nothing is cut by it."""
    best = max((page.score for page in ranked), default=0.0)
    return settings.threshold * best if best > 0 else None


def _too_far(page: Ranked, floor: float) -> bool:
    found_by = page.lanes.keys() - {"rerank"}
    return found_by == {"vector"} and page.lanes["vector"].score < floor
