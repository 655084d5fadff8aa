"""Paired comparisons: wins, losses, and how likely chance alone would do it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.evaluate.comparison import Comparison, compare, randomisation_test


def exact(gains: list[float]) -> float:
    """The p-value over all the signs there are."""
    observed = abs(sum(gains)) - 1e-9
    sums = [
        sum(gain * sign for gain, sign in zip(gains, signs, strict=True))
        for signs in itertools.product((1, -1), repeat=len(gains))
    ]
    return sum(abs(total) >= observed for total in sums) / len(sums)


@pytest.mark.parametrize(
    "gains",
    [[0.5], [0.1, 0.2, 0.3, 0.4], [0.3, -0.1, 0.2, 0.25, -0.05, 0.6], [0.5, -0.5, 0.1] * 4],
)
def test_it_comes_near_the_exact_test(gains: list[float]) -> None:
    assert randomisation_test(gains) == pytest.approx(exact(gains), abs=0.02)


def test_questions_that_did_not_change_say_nothing() -> None:
    assert randomisation_test([0.0] * 20) == 1.0
    gains = [0.2, 0.1, 0.4, 0.3, 0.2]
    assert randomisation_test(gains + [0.0] * 30) == randomisation_test(gains)


def test_a_clear_gain_is_no_chance_and_never_zero() -> None:
    assert randomisation_test([0.1] * 50) == pytest.approx(1 / 10_001)


def test_wins_losses_and_ties() -> None:
    found = compare([1.0, 0.5, 0.0, 0.3], [0.5, 0.5, 1.0, 0.3 + 1e-15])
    assert found == Comparison(pytest.approx(-0.125), found.p_value, 1, 1, 2)


def test_many_questions_are_worked_off_in_blocks() -> None:
    gains = [(-1) ** number * 0.01 for number in range(2_000)]
    assert randomisation_test(gains) == 1.0


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=8), st.integers(0, 99))
def test_the_seed_decides_and_sides_do_not_matter(gains: list[float], seed: int) -> None:
    p_value = randomisation_test(gains, seed)
    assert 0 < p_value <= 1
    assert p_value == randomisation_test(gains, seed)
    assert p_value == randomisation_test([-gain for gain in gains], seed)
