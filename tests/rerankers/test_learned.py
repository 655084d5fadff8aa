"""The reranker this brain learned, in an answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from gbrain.ranking.learned import FEATURES, Network, written
from gbrain.store.connection import Database
from gbrain.store.reranker_weights import RERANKER, keep

NOON = "2026-11-16T12:00:00.000Z"


def loves(feature: str) -> str:
    """A network that goes by one feature alone."""
    column = FEATURES.index(feature)
    weights = tuple(float(place == column) for place in range(len(FEATURES)))
    zeros, ones = (0.0,) * len(FEATURES), (1.0,) * len(FEATURES)
    return written(Network(zeros, ones, (weights,), (0.0,), (1.0,)))


@pytest.fixture
def own(embedded_sample: Path, brain_path: Path) -> Database:
    """The sample pages, to be written to."""
    shutil.copy(embedded_sample, brain_path)
    with closing(Database(brain_path)) as database:
        yield database


def test_nothing_learned_leaves_the_order(ask: Callable, own: Database) -> None:
    fused = ask("cloud notes")._replace(connection=own.connection)
    found = fused.reranked(rerank="learned")
    assert found.ranked == fused.ranked
    assert found.notice == (
        "Not reranked: nothing is learned yet. gbrain train-reranker learns from what was opened."
    )


def test_the_network_decides(ask: Callable, own: Database) -> None:
    fused = ask("who shares notes?")._replace(connection=own.connection)
    last = fused.ranked[9]
    with own.writing() as connection:
        keep(connection, RERANKER, loves("opens"), NOON)
        connection.execute("INSERT INTO page_use VALUES (?, 7, ?)", (last.page_id, NOON))
    found = fused.reranked(rerank="learned", rerank_head="10", rerank_mix="0")
    assert found.ranked[0].slug == last.slug
    assert [page.slug for page in found.ranked[1:10]] == [page.slug for page in fused.ranked[:9]]


def test_what_cannot_be_read_counts_as_nothing(ask: Callable, own: Database) -> None:
    with own.writing() as connection:
        keep(connection, RERANKER, '{"features": ["sine"]}', NOON)
    fused = ask("cloud notes")._replace(connection=own.connection)
    assert "nothing is learned" in (fused.reranked(rerank="learned").notice or "")
