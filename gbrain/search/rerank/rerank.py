"""Asks the chosen reranker about an answer's head; whatever goes wrong, the order it had stands."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import NamedTuple

from gbrain.config import Settings
from gbrain.errors import GbrainError
from gbrain.search.expand import chunk_values
from gbrain.search.fusion import lanes_agree, min_max
from gbrain.search.rerank.head import RerankRequest, RerankResources, RerankScores
from gbrain.store.chunks import StoredChunk, read_chunks
from gbrain.types import Candidate, LaneResult, Query, Ranked

# The module of each kind, loaded when it is asked.
KINDS = {
    "cross-encoder": "cross_encoder",
    "overlap": "overlap",
    "command": "command",
    "learned": "learned",
}


class RerankResult(NamedTuple):
    """The pages, best first, and by which reranker; `skipped` says why nobody was asked.

    `pages` and `passages` were looked at. `notice` says what went wrong, in a sentence. `weight`
    is what the opinions were worth against the scores they met, from 0 to 1.
    """

    ranked: list[Ranked]
    how: str
    pages: int = 0
    passages: int = 0
    skipped: str | None = None
    notice: str | None = None
    weight: float = 0.0


def rerank(
    connection: sqlite3.Connection,
    query: Query,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, LaneResult],
    settings: Settings,
    helpers: RerankResources,
) -> RerankResult:
    """The answer with its first `rerank_head` pages in the order that the reranker prefers."""
    how = settings.rerank
    if len(ranked) < 2:
        return RerankResult(list(ranked), how, skipped="fewer than two pages")
    if settings.unanimity and lanes_agree(lanes):
        return RerankResult(list(ranked), how, skipped="the lanes agree")
    head = _head(connection, query, ranked, lanes, settings, helpers)
    try:
        given: RerankScores = import_module(f"gbrain.search.rerank.{KINDS[how]}").score_pages(head)
    except GbrainError as error:
        return RerankResult(list(ranked), how, notice=f"Not reranked: {error.full_message}")
    return RerankResult(
        mix_scores(ranked, given.by_page, settings.rerank_head, given.weight),
        how,
        pages=len(given.by_page),
        passages=given.passages,
        weight=given.weight,
    )


def _head(
    connection: sqlite3.Connection,
    query: Query,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, LaneResult],
    settings: Settings,
    helpers: RerankResources,
) -> RerankRequest:
    """The pages to ask about; one whose passages are gone has none."""
    pages = ranked[: settings.rerank_head]
    chosen = best_chunks(pages, lanes, settings)
    known = read_chunks(connection, [chunk for chunks in chosen.values() for chunk in chunks])
    found: dict[int, list[StoredChunk]] = {
        page_id: [known[chunk] for chunk in chunks if chunk in known]
        for page_id, chunks in chosen.items()
    }
    return RerankRequest(connection, query, pages, found, settings, helpers)


def best_chunks(
    head: Sequence[Ranked], lanes: Mapping[str, LaneResult], settings: Settings
) -> dict[int, list[int]]:
    """The passages that speak for each page, at most `rerank_chunks`, best first, by page."""
    values = chunk_values(lanes, head, settings)
    found: dict[int, dict[int, float]] = {page.page_id: {} for page in head}
    for lane in lanes.values():
        for chunk in lane.chunks:
            if chunk.page_id in found:
                found[chunk.page_id][chunk.chunk_id] = values[chunk.chunk_id]
    for page in head:
        if page.chunk_id is not None:
            found[page.page_id].setdefault(page.chunk_id, 0.0)
    return {
        page_id: sorted(chunks, key=lambda chunk: (-chunks[chunk], chunk))[: settings.rerank_chunks]
        for page_id, chunks in found.items()
    }


def movable_pages(ranked: Sequence[Ranked], head: int, mix: float) -> set[int]:
    """Those of the first `head` pages, best first, that opinions of that weight can move at all."""
    scores = min_max([page.score for page in ranked[:head]])
    # Opinions differ by 1 at most; a little over it for the rounding of both sides.
    near = [(1 - mix) * (above - below) <= mix + 1e-9 for above, below in pairwise(scores)]
    return {
        page.page_id
        for page, above, below in zip(ranked, [False, *near], [*near, False], strict=False)
        if above or below
    }


def mix_scores(
    ranked: Sequence[Ranked], opinions: Mapping[int, float], head: int, mix: float
) -> list[Ranked]:
    """`ranked` with its first `head` pages in the order of (1 - mix) x fused + mix x opinion.

    Opinions are from 0 to 1, by page; fused scores of the head are brought to the same scale.
    A page without an opinion keeps its place, and so do all pages behind the head. Scores stay
    on the scale of fusion and fall from page to page. An opinion shows as a lane of its own.
    """
    first, tail = ranked[:head], ranked[head:]
    judged = [place for place, page in enumerate(first) if page.page_id in opinions]
    if not judged:
        return list(ranked)
    scores = [page.score for page in first]
    low, high = min(scores), max(scores)
    mixed = {
        place: (1 - mix) * fused + mix * opinions[first[place].page_id]
        for place, fused in enumerate(min_max(scores))
        if first[place].page_id in opinions
    }
    places = {place: rank for rank, place in enumerate(_best_first(judged, opinions, first), 1)}
    order = iter(sorted(judged, key=lambda place: (-mixed[place], place)))
    renewed: list[Ranked] = []
    ceiling = high
    for place, page in enumerate(first):
        score = page.score
        if place in mixed:
            source = next(order)
            page, score = first[source], low + (high - low) * mixed[source]
            opinion = Candidate(
                page.page_id, page.slug, None, places[source], opinions[page.page_id]
            )
            page = page._replace(lanes={**page.lanes, "rerank": opinion})
        ceiling = min(ceiling, score)
        renewed.append(page._replace(score=ceiling))
    return [*renewed, *tail]


def _best_first(
    judged: Sequence[int], opinions: Mapping[int, float], first: Sequence[Ranked]
) -> list[int]:
    """Places in the head by the reranker's opinion alone."""
    return sorted(judged, key=lambda place: (-opinions[first[place].page_id], place))
