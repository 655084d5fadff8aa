"""Variety among hits, by the vectors of the passages that speak for them, else by their words."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from gbrain.config import Settings
from gbrain.ranking.mmr import by_vectors, by_words, diversify
from gbrain.store.chunks import passages
from gbrain.store.vectors import active_space, chunk_vectors
from gbrain.types import Ranked


def varied(
    connection: sqlite3.Connection, ranked: Sequence[Ranked], settings: Settings
) -> list[Ranked]:
    """The pages in the order that `mmr_lambda` asks for."""
    speaking = [page.chunk_id for page in ranked if page.chunk_id is not None]
    space = active_space(connection)
    vectors = chunk_vectors(connection, space, speaking) if space else {}
    if vectors:
        return diversify(ranked, by_vectors(vectors), settings.mmr_lambda)
    known = passages(connection, speaking)
    texts = {passage.page_id: passage.text for passage in known.values()}
    return diversify(ranked, by_words(texts), settings.mmr_lambda)
