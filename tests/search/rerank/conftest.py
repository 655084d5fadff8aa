"""Queries on the sample pages, run up to the rerank stage."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import NamedTuple

import pytest

from gbrain.brain import Brain
from gbrain.config import Settings, override_settings
from gbrain.models.catalog import packaged_reranker
from gbrain.models.reranker import CrossEncoder
from gbrain.search.fusion import fuse
from gbrain.search.lanes import keyword, vector
from gbrain.search.rerank.rerank import RerankResult, rerank
from gbrain.search.rerank.scores import RerankResources
from gbrain.store.vectors import active_space
from gbrain.text.query import parse_query
from gbrain.types import LaneResult, Query, Ranked, Scope

TODAY = "2026-11-16"


class Fused(NamedTuple):
    """An answer before it is reranked."""

    connection: sqlite3.Connection
    query: Query
    ranked: list[Ranked]
    lanes: dict[str, LaneResult]
    resources: RerankResources

    def reranked(self, **changes: str) -> RerankResult:
        settings = override_settings(Settings(), changes)
        return rerank(
            self.connection, self.query, self.ranked, self.lanes, settings, self.resources
        )


Ask = Callable[..., Fused]


@pytest.fixture(scope="session")
def cross_encoder() -> Iterator[CrossEncoder]:
    opened = CrossEncoder(packaged_reranker())
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def answering(embedded_sample: Path) -> Iterator[Brain]:
    with Brain.open(embedded_sample) as brain:
        yield brain


@pytest.fixture
def ask(answering: Brain, cross_encoder: CrossEncoder) -> Ask:
    """`ask("who …?")` runs the lanes and fuses them."""

    def fused(text: str, mode: str = "hybrid", command: str = "") -> Fused:
        settings, connection = Settings(), answering.database.connection
        query = parse_query(text, {}, date(2026, 11, 16), Scope(), 10)
        lanes: dict[str, LaneResult] = {}
        if mode != "semantic":
            lanes["fts"] = keyword.search(connection, query, settings)
        if mode != "bm25":
            space = active_space(connection)
            assert space is not None
            embedded = answering.embedder.embed_query(query.semantic_text)
            with closing(answering.database.open_second_connection()) as second:
                both = (connection, second)
                lanes["vector"] = vector.search(both, space, embedded, query, settings)
        resources = RerankResources(
            lambda: cross_encoder, lambda: answering.embedder, command, TODAY
        )
        return Fused(connection, query, fuse(lanes, {}, "set-union", settings), lanes, resources)

    return fused
