"""The last steps of the ranking: noise, dropping pages with low scores, marking weak ones."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import NamedTuple

from gbrain.config import Settings
from gbrain.types import Grade, Ranked

# Of the relevant pages among the first ten, these are weak: chats .8 %, abstracts 0 and 3.8 %,
# people's pages 0, everyday notes .2 %; of the other pages 15 to 31 %. With the keyword lane alone
# 0 to 4.2 % and 13 to 57 %. At .5, 9 % of the relevant abstracts would be weak.
_WEAK_SHARE = 0.4


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


def rejects_answer(grade: Grade, settings: Settings) -> bool:
    """Return whether an answer of this grade has no hits.

    A share of the best score cannot tell that the best page is unrelated; the verdict can.
    """
    return grade == "nothing" and settings.threshold > 0


def minimum_score(ranked: Sequence[Ranked], settings: Settings) -> float | None:
    """Return the score that these pages must reach; None if `threshold` drops nothing."""
    best = max((page.score for page in ranked), default=0.0)
    return settings.threshold * best if best > 0 else None


def find_weak_pages(ranked: Sequence[Ranked], with_every_term: Container[int]) -> set[int]:
    """Return the ids of the pages that terminals and plain text leave out.

    A page is weak if its score is below _WEAK_SHARE of the best score, unless it contains every
    term of the query or a boost raised it. Boosts above 1 do not count in the comparison: one page
    of the asked month would make every other page weak.
    """
    scores = {page.page_id: _score_without_raises(page) for page in ranked}
    least = _WEAK_SHARE * max(scores.values(), default=0.0)
    return {
        page.page_id
        for page in ranked
        if scores[page.page_id] < least
        and page.page_id not in with_every_term
        and not any(factor > 1 for factor in page.boosts.values())
    }


def _score_without_raises(page: Ranked) -> float:
    return page.score / math.prod(factor for factor in page.boosts.values() if factor > 1)


def _is_below_floor(page: Ranked, floor: float) -> bool:
    found_by = page.lanes.keys() - {"rerank"}
    return found_by == {"vector"} and page.lanes["vector"].score < floor
