"""Lanes into one list: set-union by score or by rank, reciprocal rank fusion, or a blend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gbrain.config import Settings
from gbrain.types import Candidate, Found, Merge, Ranked


def fuse(
    lanes: Mapping[str, Found], weights: Mapping[str, float], merge: Merge, settings: Settings
) -> list[Ranked]:
    """Each page once, best first, ties by slug; the order of the lanes does not matter.

    A lane of weight 0 lets nobody in.
    """
    seen: dict[int, dict[str, Candidate]] = {}
    parts: dict[int, list[float]] = {}
    for lane, weighted in contributions(lanes, weights, merge, settings).items():
        for candidate, part in zip(lanes[lane].pages, weighted, strict=True):
            seen.setdefault(candidate.page_id, {})[lane] = candidate
            parts.setdefault(candidate.page_id, []).append(part)
    fused = [
        Ranked(
            page_id,
            next(iter(by_lane.values())).slug,
            _combined(parts[page_id], merge, settings),
            by_lane,
        )
        for page_id, by_lane in seen.items()
    ]
    return sorted(fused, key=lambda ranked: (-ranked.score, ranked.slug))


def contributions(
    lanes: Mapping[str, Found], weights: Mapping[str, float], merge: Merge, settings: Settings
) -> dict[str, list[float]]:
    """What each lane adds for each of its pages, weighted, in the lane's order; lanes by name."""
    return {
        lane: [weights.get(lane, 1.0) * part for part in _parts(lanes[lane], merge, settings)]
        for lane in sorted(lanes)
        if weights.get(lane, 1.0) > 0
    }


def _parts(found: Found, merge: Merge, settings: Settings) -> list[float]:
    """What the lane says of each candidate, on the scale that `merge` adds up."""
    candidates = found.pages
    if merge == "rrf":
        return [1 / (settings.rrf_k + candidate.rank) for candidate in candidates]
    if merge == "set-union-rank":
        return [1 / candidate.rank for candidate in candidates]
    return min_max([candidate.score for candidate in candidates], found.floor)


def _combined(parts: Sequence[float], merge: Merge, settings: Settings) -> float:
    if merge == "set-union":
        return max(parts) + settings.both_bonus * (sum(parts) - max(parts))
    if merge == "set-union-rank":
        return max(parts) + settings.rank_bonus * (len(parts) > 1)
    return sum(parts)


def min_max(scores: Sequence[float], floor: float | None = None) -> list[float]:
    """Scores on a scale from 0 (`floor`, else the lowest) to 1 (the highest); all 1 if equal."""
    if not scores:
        return []
    low, high = min([*scores] if floor is None else [floor, *scores]), max(scores)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]
