"""The rerank stage: ask the chosen reranker about the first pages; if it fails, keep the order."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import NamedTuple

from gbrain.config import Settings
from gbrain.errors import GbrainError
from gbrain.search.boosts import QUESTIONS
from gbrain.search.fusion import chunk_values, lanes_agree, min_max
from gbrain.search.rerank.scores import RerankRequest, RerankResources, RerankScores, mix_scores
from gbrain.store.chunks import read_chunks
from gbrain.store.pages import fetch_pages
from gbrain.text.language import detect_language, question_language
from gbrain.types import LaneResult, Query, Ranked

# The learned reranker counts as much as the cross-encoder that ran before it: it was trained on
# orders that no cross-encoder had changed.
_LEARNED_SHARE = 0.5
# The packaged cross-encoder orders text of other languages by chance.
_JUDGED_PAGES = 5
_NOT_ENGLISH = "not in English"
_NOT_RERANKED = (
    "Not reranked: the cross-encoder reads only English. "
    "gbrain config set rerank command uses a program of your own."
)


class RerankResult(NamedTuple):
    """The pages, best first, and the kind of reranker; `skipped` says why it was not asked.

    `pages` and `chunks` count what it scored and read. `notice` is the error of a reranker that
    failed. `weight` is the weight of its scores against the merged ones, from 0 to 1.
    """

    ranked: list[Ranked]
    how: str
    pages: int = 0
    chunks: int = 0
    skipped: str | None = None
    notice: str | None = None
    weight: float = 0.0


def rerank(
    connection: sqlite3.Connection,
    query: Query,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, LaneResult],
    settings: Settings,
    resources: RerankResources,
) -> RerankResult:
    """Return the pages with the first `rerank_head` of them reordered by the reranker."""
    how = settings.rerank
    if len(ranked) < 2:
        return RerankResult(list(ranked), how, skipped="fewer than two pages")
    if settings.unanimity and lanes_agree(lanes):
        return RerankResult(list(ranked), how, skipped="the lanes agree")
    pages = ranked[: settings.rerank_head]
    fetch_pages(connection, [page.page_id for page in pages])
    chosen = best_chunks(pages, lanes, settings)
    known = read_chunks(connection, [chunk for chunks in chosen.values() for chunk in chunks])
    chunks = {
        page_id: [known[chunk] for chunk in chunk_ids if chunk in known]
        for page_id, chunk_ids in chosen.items()
    }
    request = RerankRequest(connection, query, pages, chunks, settings, resources)
    if how.startswith("cross-encoder") and not _reads(request):
        return RerankResult(list(ranked), how, skipped=_NOT_ENGLISH, notice=_NOT_RERANKED)
    try:
        scores = _score_pages(how, request)
    except GbrainError as error:
        return RerankResult(list(ranked), how, notice=f"Not reranked: {error.full_message}")
    if scores.skipped:
        return RerankResult(list(ranked), how, skipped=scores.skipped)
    # The page that has the query as its own question stays where that put it.
    asked = {page.page_id for page in pages if QUESTIONS in page.lanes}
    by_page = {page: score for page, score in scores.by_page.items() if page not in asked}
    return RerankResult(
        mix_scores(ranked, by_page, settings.rerank_head, scores.weight),
        how,
        pages=len(scores.by_page),
        chunks=scores.chunks,
        weight=scores.weight,
    )


def _reads(request: RerankRequest) -> bool:
    """Return whether the packaged cross-encoder can read the query and most of the first pages."""
    if question_language(request.query.text) not in (None, "en"):
        return False
    first = [request.chunks.get(page.page_id, []) for page in request.pages[:_JUDGED_PAGES]]
    languages = [detect_language("\n".join(chunk.text for chunk in chunks)) for chunks in first]
    foreign = sum(language not in (None, "en") for language in languages)
    # Notes of one sentence show their language together.
    together = detect_language("\n".join(chunk.text for chunks in first for chunk in chunks))
    some_english = together in (None, "en") or "en" in languages
    return foreign <= len(languages) / 2 and some_english


def _score_pages(how: str, request: RerankRequest) -> RerankScores:
    """Return the scores of a kind of reranker; its module is imported only when it is used."""
    if how == "cross-encoder+learned":
        return _score_by_both(request)
    module = import_module(f"gbrain.search.rerank.{how.replace('-', '_')}")
    scores: RerankScores = module.score_pages(request)
    return scores


def _score_by_both(request: RerankRequest) -> RerankScores:
    """Return the cross-encoder's scores mixed with the learned ones for the order they make.

    They need no more mixing. Before training they are those of the cross-encoder alone.
    """
    from gbrain.search.rerank import cross_encoder, learned

    read = cross_encoder.score_pages(request)
    ranked = mix_scores(request.pages, read.by_page, len(request.pages), read.weight)
    try:
        opinion = learned.score_pages(request._replace(pages=ranked)).by_page
    except GbrainError as error:
        if error.code == learned.UNTRAINED:
            return read
        raise
    scaled = min_max([page.score for page in ranked])
    by_page = {
        page.page_id: (1 - _LEARNED_SHARE) * share + _LEARNED_SHARE * opinion[page.page_id]
        for page, share in zip(ranked, scaled, strict=True)
    }
    return RerankScores(by_page, 1.0, read.chunks)


def best_chunks(
    pages: Sequence[Ranked], lanes: Mapping[str, LaneResult], settings: Settings
) -> dict[int, list[int]]:
    """Return the ids of the best chunks of each page, at most `rerank_chunks`, best first."""
    values = chunk_values(lanes, pages, settings)
    found: dict[int, dict[int, float]] = {page.page_id: {} for page in pages}
    for lane in lanes.values():
        for chunk in lane.chunks:
            if chunk.page_id in found:
                found[chunk.page_id][chunk.chunk_id] = values[chunk.chunk_id]
    for page in pages:
        if page.chunk_id is not None:
            found[page.page_id].setdefault(page.chunk_id, 0.0)
    return {
        page_id: sorted(chunks, key=lambda chunk: (-chunks[chunk], chunk))[: settings.rerank_chunks]
        for page_id, chunks in found.items()
    }
