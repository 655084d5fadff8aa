"""The recency factor, by hand."""

from __future__ import annotations

import math
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.config import Settings
from gbrain.search.boost_factors import age_days, recency_factor, tau_days
from gbrain.types import BoostData

TODAY = date(2026, 11, 16)
NOTE = BoostData("A note", "general", "note", last_day="2026-11-09", changed_day="2026-11-15")


def test_after_tau_days_the_factor_is_one_over_e() -> None:
    assert recency_factor(NOTE, TODAY, Settings(recency_tau_days=7.0)) == pytest.approx(
        math.exp(-1)
    )


def test_after_the_half_life_the_factor_is_a_half() -> None:
    assert recency_factor(NOTE, TODAY, Settings(recency_half_life_days=7.0)) == pytest.approx(0.5)


@given(st.floats(0.01, 10_000))
def test_tau_and_half_life_agree(tau: float) -> None:
    by_half_life = Settings(recency_half_life_days=tau * math.log(2))
    assert tau_days(by_half_life) == pytest.approx(tau_days(Settings(recency_tau_days=tau)))


def test_tau_takes_precedence_over_the_half_life() -> None:
    assert tau_days(Settings(recency_tau_days=3.0, recency_half_life_days=9.0)) == 3.0


def test_recency_is_off_by_default() -> None:
    assert recency_factor(NOTE, TODAY, Settings()) == 1.0


def test_the_date_of_the_best_chunk_counts_first() -> None:
    entry = NOTE._replace(chunk_last_day="2026-11-02")
    assert recency_factor(entry, TODAY, Settings(recency_tau_days=7.0)) == pytest.approx(
        math.exp(-2)
    )


def test_undated_pages_keep_their_score_unless_all_fade() -> None:
    undated = NOTE._replace(last_day=None)
    assert recency_factor(undated, TODAY, Settings(recency_tau_days=1.0)) == 1.0
    everything = Settings(recency_tau_days=1.0, recency_of="all")
    assert recency_factor(undated, TODAY, everything) == pytest.approx(math.exp(-1))
    assert recency_factor(undated._replace(changed_day=""), TODAY, everything) is None


def test_the_factor_is_never_below_the_floor() -> None:
    assert recency_factor(NOTE, TODAY, Settings(recency_tau_days=0.001, recency_floor=0.2)) == 0.2


@pytest.mark.parametrize(
    ("day", "age"), [("2026-11-15", 1), ("2026-11-16", 0), ("2027-01-01", 0), ("long ago", 0)]
)
def test_future_days_have_no_age(day: str, age: int) -> None:
    assert age_days(day, TODAY) == age
