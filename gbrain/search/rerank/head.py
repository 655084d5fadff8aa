"""What rerankers are asked about and may make use of."""

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
    """What a reranker thinks of each page, from 0 to 1; one that is left out keeps its place.

    `weight` is what that is worth against the fused score, from 0 to 1; so many `passages` were
    read for it.
    """

    by_page: dict[int, float]
    weight: float
    passages: int


class RerankResources(NamedTuple):
    """What rerankers may need; models are opened only by the one that calls for them.

    `command` is the brain's own `rerank_command`, never that of a single query. `today` is an ISO
    day.
    """

    cross_encoder: Callable[[], CrossEncoder]
    embedder: Callable[[], Embedder]
    command: str
    today: str


class RerankRequest(NamedTuple):
    """The pages in question, best first, and the passages that speak for each, best first."""

    connection: sqlite3.Connection
    query: Query
    pages: Sequence[Ranked]
    passages: Mapping[int, Sequence[StoredChunk]]
    settings: Settings
    helpers: RerankResources

    @property
    def passage_count(self) -> int:
        return sum(map(len, self.passages.values()))

    @property
    def question(self) -> str:
        """The query without its operators and fields, as written if nothing else is left."""
        return self.query.semantic_text or self.query.text
