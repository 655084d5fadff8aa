"""Fitted merge settings: found when they are there, and not when it is chance."""

from __future__ import annotations

import random

import pytest

from gbrain.config import Settings, parse_value
from gbrain.errors import GbrainError
from gbrain.evaluate.tune import (
    MergeSettings,
    current_merge_settings,
    merge_question,
    score_question,
    settings_to_try,
    tune,
)
from gbrain.evaluate.tune_questions import TuneQuestion
from gbrain.types import Candidate, LaneResult

DEFAULTS = Settings()
PRESENT = current_merge_settings(DEFAULTS)


def found(*slugs: str) -> LaneResult:
    """A lane that found these pages, best first, its scores falling evenly."""
    count = len(slugs)
    return LaneResult(
        tuple(
            Candidate(int(slug[4:]), slug, None, rank, 1 - rank / count)
            for rank, slug in enumerate(slugs, 1)
        )
    )


def case(number: int, *, keyword: list[int], meaning: list[int]) -> TuneQuestion:
    """A question that page 0 answers; a list says which pages a lane found."""
    lanes = {
        "fts": found(*(f"page{at}" for at in keyword)),
        "vector": found(*(f"page{at}" for at in meaning)),
    }
    return TuneQuestion(f"group{number}", {"page0": 1}, lanes, {"fts": 1.0, "vector": 1.0})


def one_lane_knows(lane: str, count: int = 60) -> list[TuneQuestion]:
    """One lane has the answer first; the other has something else on top and no answer."""
    right, wrong = [0, 1, 2, 3], [9, 8, 7, 6]
    keyword, meaning = (right, wrong) if lane == "fts" else (wrong, right)
    return [case(number, keyword=keyword, meaning=meaning) for number in range(count)]


def by_chance(count: int = 120) -> list[TuneQuestion]:
    """Any page may be the answer and stand anywhere in either lane."""
    dice = random.Random(7)
    pages = range(8)
    return [
        case(number, keyword=dice.sample(pages, 8), meaning=dice.sample(pages, 8))._replace(
            grades={f"page{dice.choice(pages)}": 1}
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(("lane", "weight"), [("fts", 2.5), ("vector", 0.4)])
def test_the_better_lane_gets_the_weight(lane: str, weight: float) -> None:
    tuned = tune(one_lane_knows(lane), Settings(semantic_weight=weight))
    assert (tuned.best.semantic_weight < weight) == (lane == "fts")
    assert tuned.best_score == 1
    assert tuned.gain == pytest.approx(1 - tuned.present_score)
    assert tuned.low > 0
    assert tuned.is_gain
    assert not tuned.is_balanced


def test_random_lanes_give_no_gain() -> None:
    tuned = tune(by_chance(), DEFAULTS)
    assert tuned.best_score >= tuned.present_score
    assert tuned.low <= tuned.gain <= tuned.high
    assert not tuned.is_gain
    assert tuned.is_balanced


def test_current_settings_stay_when_nothing_is_better() -> None:
    same = [0, 1, 2, 3]
    tuned = tune([case(n, keyword=same, meaning=same) for n in range(50)], DEFAULTS)
    assert tuned.best == PRESENT
    assert (tuned.gain, tuned.low, tuned.high, tuned.is_gain) == (0, 0, 0, False)


def test_the_same_questions_give_the_same_fit() -> None:
    assert tune(by_chance(), DEFAULTS) == tune(by_chance(), DEFAULTS)


def test_each_strategy_is_shown_at_its_best() -> None:
    tuned = tune(by_chance(), DEFAULTS)
    strategies = [fit.search_merge_strategy for fit, _ in tuned.best_of]
    assert sorted(strategies) == ["blend", "rrf", "set-union"]
    scores = [mean for _, mean in tuned.best_of]
    assert scores == sorted(scores, reverse=True)
    assert tuned.best_of[0] == (tuned.best, tuned.best_score)


def test_questions_of_one_group_are_held_out_together() -> None:
    """Sixty copies of one lucky question in one group must not vouch for each other."""
    lucky = [c._replace(group="one") for c in one_lane_knows("fts")]
    rest = [case(n, keyword=[0, 1], meaning=[0, 1]) for n in range(10)]
    assert not tune([*lucky, *rest], Settings(semantic_weight=2.5)).is_gain


def test_too_few_questions_fit_nothing() -> None:
    with pytest.raises(GbrainError, match="39 questions are too few") as raised:
        tune(by_chance(39), DEFAULTS)
    assert raised.value.code == "too_few_questions"


def test_every_tried_combination_can_be_set() -> None:
    custom = MergeSettings("set-union-rank", 0.3, 2.0, 0.1)
    for present in (PRESENT, custom):
        tried = settings_to_try(present)
        assert tried[0] == present
        assert len(set(tried)) == len(tried)
        for fit in tried:
            for name, value in fit.changes_from(present).items():
                assert parse_value(name, value) == getattr(fit, name)


def test_boosts_and_superseding_apply_after_the_merge() -> None:
    plain = case(0, keyword=[1, 0, 2], meaning=[1, 0, 2])
    assert merge_question(plain, PRESENT, DEFAULTS) == ["page1", "page0", "page2"]
    assert merge_question(plain._replace(boosts={0: 10.0}), PRESENT, DEFAULTS)[0] == "page0"
    replaced = plain._replace(superseded=frozenset({"page1"}))
    assert merge_question(replaced, PRESENT, DEFAULTS) == ["page0", "page2"]


def test_a_query_that_is_a_name_scores_1_with_any_settings() -> None:
    named = TuneQuestion("g", {"page0": 1}, {"sms": found("page0")})
    assert {score_question(named, fit, DEFAULTS) for fit in settings_to_try(PRESENT)} == {1.0}
