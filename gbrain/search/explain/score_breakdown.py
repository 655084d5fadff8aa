"""Break scores down into their parts, so that each can be recomputed by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gbrain.config import Settings
from gbrain.search.fusion import lane_shares, min_max, page_floor
from gbrain.search.pipeline import StageResults
from gbrain.types import Candidate, LaneResult, Ranked


class ScoreScale(NamedTuple):
    """The scores that count as 0 and as 1; if they are the same, all count as 1."""

    low: float
    high: float


class SharedChunk(NamedTuple):
    """The best chunk of a page in both lanes: its mean scaled score, and its scores there."""

    worth: float
    scores: Mapping[str, float]


class LaneShare(NamedTuple):
    """A lane's share of a page's score: weight x (own x (1 + literal) + bonus x shared)."""

    lane: str
    rank: int
    weight: float
    own: float
    bonus: float = 0.0
    shared: SharedChunk | None = None
    literal: float = 0.0

    @property
    def total(self) -> float:
        shared = self.bonus * self.shared.worth if self.shared else 0.0
        return self.weight * (self.own * (1 + self.literal) + shared)


class RerankMixing(NamedTuple):
    """How a reranker's scores were mixed with the scores of the first `head` pages.

    `scale` is that of the scores before. `trust` is the share of `rerank_mix` that the reranker
    got; None if it decides alone.
    """

    weight: float
    mix: float
    trust: float | None
    head: int
    scale: ScoreScale


def active_lanes(work: StageResults) -> dict[str, LaneResult]:
    """Return the lanes with a weight above 0, by name."""
    found = work.lanes.by_name
    return {lane: found[lane] for lane in sorted(found) if work.weights.get(lane, 1.0) > 0}


def page_scale(found: LaneResult) -> ScoreScale | None:
    """Return the scale of a lane's page scores; None if it found no pages."""
    scores = [page.score for page in (*found.pages, *found.overflow)]
    floor = page_floor(found)
    scores += [] if floor is None or not scores else [floor]
    return ScoreScale(min(scores), max(scores)) if scores else None


def chunk_scale(found: LaneResult) -> ScoreScale | None:
    """Return the scale of a lane's chunk scores; None if it found no chunks."""
    scores = [chunk.score for chunk in found.chunks]
    return ScoreScale(min(scores), max(scores)) if scores else None


def pages_beyond_pool(work: StageResults) -> dict[str, list[Candidate]]:
    """Return, by lane, the pages beyond its pool that it scores because another lane found them."""
    pools = {lane: len(found.pages) for lane, found in work.lanes.by_name.items()}
    return {
        lane: sorted(
            (
                page.lanes[lane]
                for page in work.fused
                if lane in page.lanes and page.lanes[lane].rank > pool
            ),
            key=lambda candidate: candidate.rank,
        )
        for lane, pool in pools.items()
    }


def shares_by_page(work: StageResults) -> Iterator[tuple[Ranked, list[LaneShare]]]:
    """Yield each fused page with the shares of its lanes, the greatest first."""
    lanes, settings = active_lanes(work), work.plan.settings
    plain = {lane: found._replace(word_factors={}) for lane, found in lanes.items()}
    own = lane_shares(plain, {}, work.plan.merge, _without_bonus(settings))
    shared: Mapping[int, SharedChunk] = {}
    if work.plan.merge == "set-union" and {"fts", "vector"} <= set(lanes):
        shared = _shared_chunks(lanes["fts"], lanes["vector"])
    for page in work.fused:
        parts = [
            LaneShare(lane, page.lanes[lane].rank, work.weights.get(lane, 1.0), value)
            for lane, value in own.get(page.page_id, {}).items()
        ]
        parts = [
            part._replace(bonus=settings.chunk_bonus, shared=shared[page.page_id])
            if part.lane == "vector" and "fts" in own[page.page_id] and page.page_id in shared
            else part
            for part in parts
        ]
        if work.plan.merge == "set-union" and len(lanes) > 1 and "fts" in lanes:
            literal = lanes["fts"].word_factors.get(page.page_id, 1.0) - 1
            parts = [
                part._replace(literal=literal) if part.lane == "fts" else part for part in parts
            ]
        yield page, sorted(parts, key=lambda part: (-part.total, part.lane))


def _without_bonus(settings: Settings) -> Settings:
    return Settings(**{**vars(settings), "chunk_bonus": 0.0})


def _shared_chunks(by_keyword: LaneResult, by_vector: LaneResult) -> dict[int, SharedChunk]:
    """Return by page the chunk with the best mean score in both lanes."""
    lanes = {"fts": by_keyword.chunks, "vector": by_vector.chunks}
    scores = {lane: {c.chunk_id: c.score for c in chunks} for lane, chunks in lanes.items()}
    scaled = [
        dict(zip(known, min_max(list(known.values())), strict=True)) for known in scores.values()
    ]
    chunks_by_page: dict[int, dict[int, float]] = {}
    for chunk in (*by_keyword.chunks, *by_vector.chunks):
        mean = sum(parts.get(chunk.chunk_id, 0.0) for parts in scaled) / len(scaled)
        chunks_by_page.setdefault(chunk.page_id, {})[chunk.chunk_id] = mean
    best = {page_id: max(known, key=known.__getitem__) for page_id, known in chunks_by_page.items()}
    return {
        page_id: SharedChunk(
            chunks_by_page[page_id][chunk_id],
            {lane: known[chunk_id] for lane, known in scores.items() if chunk_id in known},
        )
        for page_id, chunk_id in best.items()
    }


def intent_factors(work: StageResults) -> dict[str, float]:
    """Return the intent's factor for each lane's weight; empty if it changes nothing."""
    if not (work.plan.settings.intent_weights and work.intent and work.intent.english):
        return {}
    from gbrain.search.intent import lane_weights

    even = Settings(
        semantic_weight=1.0, keyword_weight=1.0, graph_weight=1.0, associative_weight=1.0,
        intent_weights=True,
    )  # fmt: skip
    return lane_weights(work.intent, even)


def scores_by_page(ranked: Sequence[Ranked]) -> dict[int, float]:
    """Return scores by page id."""
    return {page.page_id: page.score for page in ranked}


def rerank_mixing(work: StageResults) -> RerankMixing | None:
    """Return how the reranker's scores were mixed in; None if there were none."""
    reranked, settings = work.reranked, work.plan.settings
    head = [page.score for page in work.boosted.ranked[: settings.rerank_head]]
    if reranked is None or not reranked.weight or not head:
        return None
    # A learned reranker was evaluated by its own order: its scores are not mixed.
    alone = "learned" in reranked.how and reranked.weight == 1
    is_mixed = not alone and settings.rerank_mix > 0
    trust = reranked.weight / settings.rerank_mix if is_mixed else None
    scale = ScoreScale(min(head), max(head))
    return RerankMixing(reranked.weight, settings.rerank_mix, trust, len(head), scale)


def position_on_scale(score: float, scale: ScoreScale) -> float:
    """Return the score on the scale, from 0 to 1."""
    return (score - scale.low) / (scale.high - scale.low) if scale.high > scale.low else 1.0
