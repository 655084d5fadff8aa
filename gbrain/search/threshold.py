"""The last steps of the ranking: noise, and dropping pages whose score is too low."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gbrain.config import Settings
from gbrain.types import Ranked


class ThresholdResult(NamedTuple):
    """The pages kept, best first, and the slugs of dropped pages by the setting that did it."""

    kept: list[Ranked]
    below_floor: tuple[str, ...] = ()
    below_threshold: tuple[str, ...] = ()


def apply_noise(ranked: Sequence[Ranked], text: str, settings: Settings) -> list[Ranked]:
    """Return the pages with their scores multiplied by noise around 1, best first, ties by slug.

    Each factor is drawn from seed, query and slug, so that other pages do not matter.
    """
    from random import Random

    def factor(slug: str) -> float:
        draw = Random(f"{settings.noise_seed}\0{text}\0{slug}")
        return max(0.0, 1 + draw.gauss(0, settings.noise_sigma))

    noisy = [
        page._replace(score=page.score * number, boosts={**page.boosts, "noise": number})
        for page, number in ((page, factor(page.slug)) for page in ranked)
    ]
    return sorted(noisy, key=lambda page: (-page.score, page.slug))


def apply_threshold(ranked: Sequence[Ranked], settings: Settings) -> ThresholdResult:
    """Return each page unique, without those below `relevance_floor` and then below `threshold`.

    The floor is a cosine and applies only to pages that the vector lane alone found. The threshold
    is a share of the best remaining score, so it works for every merge and after reranking; if the
    best score is not above 0, it drops nothing.
    """
    unique: dict[int, Ranked] = {}
    for page in ranked:
        unique.setdefault(page.page_id, page)
    above_floor = [
        page for page in unique.values() if not _is_below_floor(page, settings.relevance_floor)
    ]
    least = minimum_score(above_floor, settings)
    kept = [page for page in above_floor if least is None or page.score >= least]
    return ThresholdResult(
        kept,
        tuple(
            page.slug for page in unique.values() if _is_below_floor(page, settings.relevance_floor)
        ),
        tuple(page.slug for page in above_floor if least is not None and page.score < least),
    )


def minimum_score(ranked: Sequence[Ranked], settings: Settings) -> float | None:
    """Return the score that these pages must reach; None if `threshold` drops nothing."""
    best = max((page.score for page in ranked), default=0.0)
    return settings.threshold * best if best > 0 else None


def _is_below_floor(page: Ranked, floor: float) -> bool:
    found_by = page.lanes.keys() - {"rerank"}
    return found_by == {"vector"} and page.lanes["vector"].score < floor
