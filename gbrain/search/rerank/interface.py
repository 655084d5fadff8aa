"""What a reranker gets and returns; each kind is a module with `score_pages(request)`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gbrain.config import Settings
from gbrain.store.chunks import StoredChunk
from gbrain.types import Query, Ranked

if TYPE_CHECKING:
    from gbrain.models.catalog import Embedder
    from gbrain.models.reranker import CrossEncoder


class RerankScores(NamedTuple):
    """A reranker's score for each page, from 0 to 1; a page without one keeps its place.

    `weight` is the weight of these scores against the merged ones, from 0 to 1. `chunks` is the
    number of chunks that were read. `skipped` says why nothing was read.
    """

    by_page: dict[int, float]
    weight: float
    chunks: int
    skipped: str | None = None


class RerankResources(NamedTuple):
    """What a reranker may use; a model is loaded when its callable is called.

    `command` is the brain's own `rerank_command`, never that of a single query: only the brain's
    was approved by the user. `today` is an ISO day.
    """

    cross_encoder: Callable[[], CrossEncoder]
    embedder: Callable[[], Embedder]
    command: str
    today: str


class RerankRequest(NamedTuple):
    """The pages to score, best first, and the best chunks of each, best first."""

    connection: sqlite3.Connection
    query: Query
    pages: Sequence[Ranked]
    chunks: Mapping[int, Sequence[StoredChunk]]
    settings: Settings
    resources: RerankResources

    @property
    def chunk_count(self) -> int:
        return sum(map(len, self.chunks.values()))

    @property
    def question(self) -> str:
        """The query without operators and fields, or the whole text if nothing else is left."""
        return self.query.semantic_text or self.query.text
