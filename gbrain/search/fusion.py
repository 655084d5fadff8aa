"""Merge the lanes into one list: set-union by score or by rank, RRF, or a weighted blend."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gbrain.config import Settings
from gbrain.types import Candidate, LaneResult, MergeStrategy, Ranked

_PAGES_OF_FULL_SCALE = 10


def fuse(
    lanes: Mapping[str, LaneResult],
    weights: Mapping[str, float],
    merge: MergeStrategy,
    settings: Settings,
) -> list[Ranked]:
    """Return each page once, best first, ties by slug; the order of the lanes does not matter.

    A lane of weight 0 adds no pages.
    """
    seen: dict[int, dict[str, Candidate]] = {}
    parts = lane_shares(lanes, weights, merge, settings)
    for lane in sorted(lanes):
        for candidate in (*lanes[lane].pages, *lanes[lane].overflow):
            if lane in parts.get(candidate.page_id, ()):
                seen.setdefault(candidate.page_id, {})[lane] = candidate
    fused = [
        Ranked(
            page_id,
            next(iter(by_lane.values())).slug,
            _combine_parts(parts[page_id].values(), merge, settings),
            by_lane,
        )
        for page_id, by_lane in seen.items()
    ]
    return sorted(fused, key=lambda ranked: (-ranked.score, ranked.slug))


def weigh_agreement(
    lanes: Mapping[str, LaneResult],
    merge: MergeStrategy,
    settings: Settings,
    *,
    languages_differ: bool = False,
) -> Settings:
    """Return the settings with smaller bonuses for agreement if no page has much of the query.

    The vector lane holds nearly every page that has some word of the question. If the best one has
    only "like" or "move" of it, the keyword lane says nothing, and a page that it does not hold
    would lose to any of those. `languages_differ` says that the lanes found pages in different
    languages first: the keyword lane cannot find those of the other language at all.
    """
    if merge != "set-union" or not settings.full_coverage or not {"fts", "vector"} <= lanes.keys():
        return settings
    trust = min(1.0, lanes["fts"].coverage / settings.full_coverage) ** 2
    if languages_differ:
        trust = 0.0
    if trust == 1:
        return settings
    bonuses = {
        "both_bonus": trust * settings.both_bonus,
        "chunk_bonus": trust * settings.chunk_bonus,
    }
    return Settings(**{**vars(settings), **bonuses})


def lane_shares(
    lanes: Mapping[str, LaneResult],
    weights: Mapping[str, float],
    merge: MergeStrategy,
    settings: Settings,
) -> dict[int, dict[str, float]]:
    """Return what each lane adds to each page of some lane's pool, weighted, by page and lane.

    In set-union a page that both main lanes hold gains a share of its best common chunk. A page of
    the vector lane alone does not: otherwise it would outrank the only page that has a rare word.
    """
    used = [lane for lane in sorted(lanes) if weights.get(lane, 1.0) > 0]
    parts: dict[int, dict[str, float]] = {
        candidate.page_id: {} for lane in used for candidate in lanes[lane].pages
    }
    for lane in used:
        for page_id, part in _parts(lanes[lane], merge, settings).items():
            if page_id in parts:
                parts[page_id][lane] = weights.get(lane, 1.0) * part
    if merge == "set-union" and {"fts", "vector"} <= set(used):
        share = settings.chunk_bonus * weights.get("vector", 1.0)
        shared = lanes["vector"].combined_chunk_scores
        for page_id, by_lane in parts.items():
            if page_id in shared and "fts" in by_lane and "vector" in by_lane:
                by_lane["vector"] += share * shared[page_id]
    if merge == "set-union" and len(used) > 1 and "fts" in used:
        for page_id, factor in lanes["fts"].word_factors.items():
            if "fts" in parts.get(page_id, {}):
                parts[page_id]["fts"] *= factor
    return parts


def shared_chunk_scores(one: LaneResult, other: LaneResult) -> dict[int, float]:
    """Return for each page how well its best chunk does in two lanes together, from 0 to 1."""
    worth: dict[tuple[int, int], float] = {}
    for found in (one, other):
        scaled = min_max([chunk.score for chunk in found.chunks])
        for (chunk_id, page_id, _), part in zip(found.chunks, scaled, strict=True):
            key = page_id, chunk_id
            worth[key] = worth.get(key, 0.0) + part / 2
    best: dict[int, float] = {}
    for (page_id, _), together in worth.items():
        if together > best.get(page_id, -1.0):
            best[page_id] = together
    return best


def chunk_values(
    lanes: Mapping[str, LaneResult], ranked: Sequence[Ranked], settings: Settings
) -> dict[int, float]:
    """Return the value of each chunk: its place in each lane plus a share of its page's score.

    Places and not scores are added, so that the first chunks of either lane come before chunks
    that are average in both; a small token budget is filled with those.
    """
    scaled = min_max([page.score for page in ranked])
    page_scores = {page.page_id: score for page, score in zip(ranked, scaled, strict=True)}
    values: dict[int, float] = {}
    for result in lanes.values():
        best_first = sorted(result.chunks, key=lambda chunk: (-chunk.score, chunk.chunk_id))
        for place, chunk in enumerate(best_first):
            if chunk.page_id in page_scores:
                share = settings.page_standing * page_scores[chunk.page_id]
                by_place = settings.chunk_k / (settings.chunk_k + place)
                values[chunk.chunk_id] = values.get(chunk.chunk_id, share) + by_place
    return values


def page_floor(result: LaneResult) -> float | None:
    """Return the score that counts as 0 in a lane: the lowest one, or less if there are few pages.

    If there are only two pages, the second may still be relevant. With ten or more, the page with
    the lowest score is irrelevant to the query.
    """
    if result.lowest_score is None or result.lowest_score <= 0:
        return result.lowest_score
    pages = len(result.pages) + len(result.overflow)
    return result.lowest_score * min(1.0, pages / _PAGES_OF_FULL_SCALE)


def _parts(found: LaneResult, merge: MergeStrategy, settings: Settings) -> dict[int, float]:
    """Return the lane's score of each page on the scale that `merge` adds up.

    Ranks count within the pool only; scores also beyond it.
    """
    if merge == "rrf":
        return {page.page_id: 1 / (settings.rrf_k + page.rank) for page in found.pages}
    if merge == "set-union-rank":
        return {page.page_id: 1 / page.rank for page in found.pages}
    scored = (*found.pages, *found.overflow)
    scaled = min_max([page.score for page in scored], page_floor(found))
    return {page.page_id: part for page, part in zip(scored, scaled, strict=True)}


def _combine_parts(parts: Collection[float], merge: MergeStrategy, settings: Settings) -> float:
    if merge == "set-union":
        return max(parts) + settings.both_bonus * (sum(parts) - max(parts))
    if merge == "set-union-rank":
        return max(parts) + settings.rank_bonus * (len(parts) > 1)
    return sum(parts)


def min_max(scores: Sequence[float], floor: float | None = None) -> list[float]:
    """Scale scores from 0 (`floor`, else the lowest) to 1 (the highest); all 1 if equal."""
    if not scores:
        return []
    low, high = min([*scores] if floor is None else [floor, *scores]), max(scores)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


_COMPARED_PAGES, _SHARED_PAGES = 3, 2


def lanes_agree(lanes: Mapping[str, LaneResult]) -> bool:
    """Return whether the keyword and the vector lane share two of their first three pages."""
    if "fts" not in lanes or "vector" not in lanes:
        return False
    keyword, vector = (
        {page.page_id for page in lanes[lane].pages[:_COMPARED_PAGES]} for lane in ("fts", "vector")
    )
    return len(keyword & vector) >= _SHARED_PAGES
