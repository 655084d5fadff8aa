"""Diversify hits: maximal marginal relevance (MMR) over the first pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from gbrain.config import Settings
from gbrain.models.catalog import Calibration
from gbrain.search.calibration import active_calibration
from gbrain.store.chunks import read_chunks
from gbrain.store.pages import fetch_pages
from gbrain.store.vectors import active_space, chunk_vectors
from gbrain.types import Ranked

if TYPE_CHECKING:
    from gbrain.store.vector_space import Floats

Similarity = Callable[[Ranked, Ranked], float]

_MAX_MOVED_PAGES = 50


def reorder_by_mmr(
    ranked: Sequence[Ranked], similarity: Similarity, lambda_: float
) -> list[Ranked]:
    """Return the pages by lambda x relevance - (1 - lambda) x similarity to a page before.

    Relevance is the share of the best score, similarity is from 0 to 1. Scores do not change, the
    first page stays first, and only the first 50 pages move. A lambda of 1 changes nothing.
    """
    if lambda_ >= 1 or len(ranked) < 3:
        return list(ranked)
    best = max(page.score for page in ranked[:_MAX_MOVED_PAGES])
    waiting = dict(enumerate(ranked[:_MAX_MOVED_PAGES]))
    closest = dict.fromkeys(waiting, 0.0)
    chosen: list[Ranked] = []
    place = 0
    while True:
        page = waiting.pop(place)
        chosen.append(page)
        if not waiting:
            return [*chosen, *ranked[_MAX_MOVED_PAGES:]]
        for other, candidate in waiting.items():
            closest[other] = max(closest[other], similarity(page, candidate))

        def worth(other: int) -> float:
            relevance = waiting[other].score / best if best > 0 else 1.0
            return lambda_ * relevance - (1 - lambda_) * closest[other]

        # Ties keep their order.
        place = max(waiting, key=lambda other: (worth(other), -other))


def vector_similarity(
    vectors: Mapping[int, Floats], calibration: Calibration = Calibration()
) -> Similarity:
    """Compare pages by the similarity of their best chunks; 0 if one has no vector."""

    def similarity(one: Ranked, other: Ranked) -> float:
        first, second = (vectors.get(page.chunk_id or 0) for page in (one, other))
        if first is None or second is None:
            return 0.0
        return max(0.0, calibration.similarity(float(first @ second)))

    return similarity


def word_similarity(texts: Mapping[int, str]) -> Similarity:
    """Compare pages by the share of words that their texts, given by page, have in common."""
    words = {page_id: frozenset(text.lower().split()) for page_id, text in texts.items()}

    def similarity(one: Ranked, other: Ranked) -> float:
        first, second = (words.get(page.page_id, frozenset()) for page in (one, other))
        both = len(first & second)
        return both / (len(first) + len(second) - both) if both else 0.0

    return similarity


def diversify(
    connection: sqlite3.Connection, ranked: Sequence[Ranked], settings: Settings
) -> list[Ranked]:
    """Return the pages reordered by MMR with `mmr_lambda`, by vectors if the brain has any."""
    chunk_ids = [page.chunk_id for page in ranked if page.chunk_id is not None]
    space = active_space(connection)
    vectors = chunk_vectors(connection, space, chunk_ids) if space else {}
    if vectors:
        calibration = active_calibration(connection) or Calibration()
        similarity = vector_similarity(vectors, calibration)
        return reorder_by_mmr(ranked, similarity, settings.mmr_lambda)
    fetch_pages(connection, [page.page_id for page in ranked])
    known = read_chunks(connection, chunk_ids)
    texts = {chunk.page_id: chunk.text for chunk in known.values()}
    return reorder_by_mmr(ranked, word_similarity(texts), settings.mmr_lambda)
