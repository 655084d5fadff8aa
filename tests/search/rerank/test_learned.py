"""Ten features of a page and the network that reads them."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.search.rerank.learned import (
    FEATURES,
    RerankNetwork,
    compute_features,
    dump_network,
    load_network,
)
from gbrain.store.connection import Database
from gbrain.store.usage_log import RERANKER, save_weights
from gbrain.types import BoostData, Candidate, Ranked

ZEROS = (0.0,) * len(FEATURES)
ONES = (1.0,) * len(FEATURES)


def page(number: int, score: float, **lanes: tuple[int, float]) -> Ranked:
    found = {lane: Candidate(number, f"p{number}", None, *place) for lane, place in lanes.items()}
    return Ranked(number, f"p{number}", score, found)


def test_features_can_be_computed_by_hand() -> None:
    ranked = [
        page(1, 1.6, fts=(1, 8.0), vector=(2, 0.7)),
        page(2, 0.4, fts=(4, 2.0)),
    ]
    facts = {
        1: BoostData("One", "people", "", last_day="2026-11-06", importance=0.9, opens=2),
        2: BoostData("Two", "people", ""),
    }
    rows = compute_features(ranked, facts, "2026-11-16", half_life_days=10)
    assert dict(zip(FEATURES, rows[1], strict=True)) == pytest.approx(
        {
            "cosine": 0.7,
            "bm25": 1.0,
            "fts_place": 1.0,
            "vector_place": 0.5,
            "fused": 1.0,
            "importance": 0.9,
            "opens": math.log(3),
            "age": math.log(11),
            "retention": math.exp(-0.693),
            "lanes": 1.0,
        }
    )
    assert rows[2] == pytest.approx((0, 0.25, 0.25, 0, 0.25, 0.5, 0, 0, 1, 0.5))


def test_unknown_values_have_defaults() -> None:
    (row,) = compute_features([page(1, 0.0)], {}, "2026-11-16", 30).values()
    assert row == (0, 0, 0, 0, 0, 0.5, 0, 0, 1, 0)
    future = {1: BoostData("One", "people", "", last_day="2030-01-01")}
    assert compute_features([page(1, 0.0)], future, "2026-11-16", 30)[1] == row
    assert compute_features([], {}, "2026-11-16", 30) == {}


def test_the_network_can_be_computed_by_hand() -> None:
    first_only = (1.0, *ZEROS[1:])
    network = RerankNetwork(
        (0.5, *ZEROS[1:]), (2.0, *ONES[1:]), (first_only, ZEROS), (0.1, 0.3), (2.0, 1.0)
    )
    expected = 2 * math.tanh((0.9 - 0.5) / 2 + 0.1) + math.tanh(0.3)
    assert network.score((0.9, *ONES[1:])) == pytest.approx(expected)


@given(st.lists(st.floats(-9, 9), min_size=12, max_size=12))
def test_a_network_survives_a_round_trip(numbers: list[float]) -> None:
    row = tuple(numbers[:10])
    network = RerankNetwork(row, ONES, (row, ZEROS), (numbers[10], 0.0), (numbers[11], 1.0))
    assert load_network(dump_network(network)) == network


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"features": 3}',
        "[" * 100_000,
        dump_network(RerankNetwork(ZEROS, ONES, (ZEROS[1:],), (0.0,), (0.0,))),
        dump_network(RerankNetwork(ZEROS, ONES, (ZEROS,), (0.0, 1.0), (0.0,))),
        dump_network(RerankNetwork(ZEROS, (math.nan, *ONES[1:]), (ZEROS,), (0.0,), (0.0,))),
        dump_network(RerankNetwork(ZEROS, ONES, (ZEROS,), (0.0,), (0.0,))).replace(
            "cosine", "sine"
        ),
    ],
    ids=range(10),
)
def test_malformed_text_is_no_network(text: str) -> None:
    assert load_network(text) is None


NOON = "2026-11-16T12:00:00.000Z"


def loves(feature: str) -> str:
    """A network that goes by one feature alone."""
    column = FEATURES.index(feature)
    weights = tuple(float(place == column) for place in range(len(FEATURES)))
    zeros, ones = (0.0,) * len(FEATURES), (1.0,) * len(FEATURES)
    return dump_network(RerankNetwork(zeros, ones, (weights,), (0.0,), (1.0,)))


@pytest.fixture
def own(embedded_sample: Path, brain_path: Path) -> Database:
    """The sample pages, to be written to."""
    shutil.copy(embedded_sample, brain_path)
    with closing(Database(brain_path)) as database:
        yield database


def test_an_untrained_reranker_keeps_the_order(ask: Callable, own: Database) -> None:
    fused = ask("cloud notes")._replace(connection=own.connection)
    found = fused.reranked(rerank="learned")
    assert found.ranked == fused.ranked
    assert found.notice == (
        "Not reranked: the learned reranker is not trained yet. "
        "gbrain train-reranker trains it from the pages you opened."
    )


def test_the_network_decides_the_order(ask: Callable, own: Database) -> None:
    fused = ask("who shares notes?")._replace(connection=own.connection)
    last = fused.ranked[9]
    with own.write_transaction() as connection:
        save_weights(connection, RERANKER, loves("opens"), NOON)
        connection.execute("INSERT INTO page_use VALUES (?, 7, ?)", (last.page_id, NOON))
    found = fused.reranked(rerank="learned", rerank_head="10", rerank_mix="0")
    assert found.ranked[0].slug == last.slug
    assert [page.slug for page in found.ranked[1:10]] == [page.slug for page in fused.ranked[:9]]


def test_both_rerankers_together_decide_the_order(ask: Callable, own: Database) -> None:
    fused = ask("who shares notes?")._replace(connection=own.connection)
    read = fused.reranked(rerank="cross-encoder", rerank_head="10")
    untrained = fused.reranked(rerank="cross-encoder+learned", rerank_head="10")
    assert untrained == read._replace(how="cross-encoder+learned")
    with own.write_transaction() as connection:
        save_weights(connection, RERANKER, loves("opens"), NOON)
        connection.execute("INSERT INTO page_use VALUES (?, 7, ?)", (read.ranked[1].page_id, NOON))
    both = fused.reranked(rerank="cross-encoder+learned", rerank_head="10")
    order = [page.slug for page in read.ranked]
    assert [page.slug for page in both.ranked] == [order[1], order[0], *order[2:]]
    assert (both.weight, both.chunks, both.notice) == (1, read.chunks, None)


def test_weights_of_other_features_count_as_untrained(ask: Callable, own: Database) -> None:
    with own.write_transaction() as connection:
        save_weights(connection, RERANKER, '{"features": ["sine"]}', NOON)
    fused = ask("cloud notes")._replace(connection=own.connection)
    assert "not trained yet" in (fused.reranked(rerank="learned").notice or "")
