"""Variety among hits: maximal marginal relevance over the head of the list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from gbrain.types import Ranked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
import sqlite3

from gbrain.config import Settings
from gbrain.store.chunks import read_chunks
from gbrain.store.vectors import active_space, chunk_vectors

Similarity = Callable[[Ranked, Ranked], float]

_HEAD = 50


def reorder_by_mmr(ranked: Sequence[Ranked], alike: Similarity, lambda_: float) -> list[Ranked]:
    """The pages in the order of lambda x relevance - (1 - lambda) x likeness to one before.

    Relevance is the share of the best score, likeness is from 0 to 1. Scores stay as they are, the
    first page stays first, and beyond the first fifty nothing moves. 1 changes nothing.
    """
    if lambda_ >= 1 or len(ranked) < 3:
        return list(ranked)
    best = max(page.score for page in ranked[:_HEAD])
    waiting = dict(enumerate(ranked[:_HEAD]))
    nearest = dict.fromkeys(waiting, 0.0)
    chosen: list[Ranked] = []
    place = 0
    while True:
        page = waiting.pop(place)
        chosen.append(page)
        if not waiting:
            return [*chosen, *ranked[_HEAD:]]
        for other, candidate in waiting.items():
            nearest[other] = max(nearest[other], alike(page, candidate))

        def worth(other: int) -> float:
            relevance = waiting[other].score / best if best > 0 else 1.0
            return lambda_ * relevance - (1 - lambda_) * nearest[other]

        # Of equals the one that stood first.
        place = max(waiting, key=lambda other: (worth(other), -other))


def vector_similarity(vectors: Mapping[int, Floats]) -> Similarity:
    """Likeness of pages by the cosine of the passages that speak for them; 0 if one is unknown."""

    def alike(one: Ranked, other: Ranked) -> float:
        first, second = (vectors.get(page.chunk_id or 0) for page in (one, other))
        return 0.0 if first is None or second is None else max(0.0, float(first @ second))

    return alike


def word_similarity(texts: Mapping[int, str]) -> Similarity:
    """Likeness of pages by the share of words that their texts, by page, have in common."""
    words = {page_id: frozenset(text.lower().split()) for page_id, text in texts.items()}

    def alike(one: Ranked, other: Ranked) -> float:
        first, second = (words.get(page.page_id, frozenset()) for page in (one, other))
        both = len(first & second)
        return both / (len(first) + len(second) - both) if both else 0.0

    return alike


def diversify(
    connection: sqlite3.Connection, ranked: Sequence[Ranked], settings: Settings
) -> list[Ranked]:
    """The pages in the order that `mmr_lambda` asks for."""
    speaking = [page.chunk_id for page in ranked if page.chunk_id is not None]
    space = active_space(connection)
    vectors = chunk_vectors(connection, space, speaking) if space else {}
    if vectors:
        return reorder_by_mmr(ranked, vector_similarity(vectors), settings.mmr_lambda)
    known = read_chunks(connection, speaking)
    texts = {passage.page_id: passage.text for passage in known.values()}
    return reorder_by_mmr(ranked, word_similarity(texts), settings.mmr_lambda)
