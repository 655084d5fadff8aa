"""Ten features of a page and the network that reads them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.ranking.learned import FEATURES, Network, features, read, written
from gbrain.types import Candidate, Facts, Ranked

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
        1: Facts("One", "people", "", last_day="2026-11-06", importance=0.9, opens=2),
        2: Facts("Two", "people", ""),
    }
    rows = features(ranked, facts, "2026-11-16", half_life_days=10)
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


def test_what_is_not_known_is_middling_and_new() -> None:
    (row,) = features([page(1, 0.0)], {}, "2026-11-16", 30).values()
    assert row == (0, 0, 0, 0, 0, 0.5, 0, 0, 1, 0)
    future = {1: Facts("One", "people", "", last_day="2030-01-01")}
    assert features([page(1, 0.0)], future, "2026-11-16", 30)[1] == row
    assert features([], {}, "2026-11-16", 30) == {}


def test_the_network_can_be_computed_by_hand() -> None:
    first_only = (1.0, *ZEROS[1:])
    network = Network(
        (0.5, *ZEROS[1:]), (2.0, *ONES[1:]), (first_only, ZEROS), (0.1, 0.3), (2.0, 1.0)
    )
    expected = 2 * math.tanh((0.9 - 0.5) / 2 + 0.1) + math.tanh(0.3)
    assert network.score((0.9, *ONES[1:])) == pytest.approx(expected)


@given(st.lists(st.floats(-9, 9), min_size=12, max_size=12))
def test_what_is_written_is_read_back(numbers: list[float]) -> None:
    row = tuple(numbers[:10])
    network = Network(row, ONES, (row, ZEROS), (numbers[10], 0.0), (numbers[11], 1.0))
    assert read(written(network)) == network


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"features": 3}',
        "[" * 100_000,
        written(Network(ZEROS, ONES, (ZEROS[1:],), (0.0,), (0.0,))),
        written(Network(ZEROS, ONES, (ZEROS,), (0.0, 1.0), (0.0,))),
        written(Network(ZEROS, (math.nan, *ONES[1:]), (ZEROS,), (0.0,), (0.0,))),
        written(Network(ZEROS, ONES, (ZEROS,), (0.0,), (0.0,))).replace("cosine", "sine"),
    ],
    ids=range(10),
)
def test_anything_else_is_no_network(text: str) -> None:
    assert read(text) is None
