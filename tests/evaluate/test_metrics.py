"""Figures of rankings: by hand, and as a public library counts them."""

from __future__ import annotations

import itertools
import math
import random

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, R, Success, nDCG

from gbrain.evaluate.metrics import (
    Comparison,
    Scores,
    compare,
    mean_scores,
    ndcg,
    percentile,
    randomisation_test,
    recall,
    reciprocal_rank,
    score_ranking,
)

PUBLIC = {
    nDCG @ 10: "ndcg_at_10",
    R @ 5: "recall_at_5",
    R @ 10: "recall_at_10",
    R @ 100: "recall_at_100",
    RR @ 10: "mrr_at_10",
    Success @ 5: "success_at_5",
}


def test_ndcg_equals_a_calculation_by_hand() -> None:
    grades = {"good": 2, "fair": 1}
    best = 2 / math.log2(2) + 1 / math.log2(3)
    assert ndcg(["fair", "other", "good"], grades, 10) == pytest.approx((1 + 2 / 2) / best)
    assert ndcg(["good", "fair"], grades, 10) == 1.0
    assert ndcg(["other"], grades, 10) == ndcg([], grades, 10) == 0.0


def test_recall_and_mrr_equal_a_calculation_by_hand() -> None:
    grades = {"a": 1, "b": 3, "judged-irrelevant": 0}
    assert recall(["x", "a", "judged-irrelevant", "b"], grades, 3) == 0.5
    assert reciprocal_rank(["judged-irrelevant", "a"], grades, 10) == 0.5
    assert reciprocal_rank(["x"] * 10 + ["a"], grades, 10) == 0.0


def test_only_recall_at_100_uses_the_deeper_ranking() -> None:
    found = score_ranking(["x"], ["x", "a"], {"a": 1})
    assert found == Scores(0, 0, 0, 1, 0, 0, 1)
    assert score_ranking([], [], {"a": 1}).answered == 0


def random_set(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Graded judgements and scored runs: scores tie, and some questions got no answer at all."""
    chance = random.Random(seed)
    documents = [f"d{number}" for number in range(chance.randint(3, 300))]
    judged, run = {}, {}
    for number in range(20):
        some = chance.sample(documents, chance.randint(1, len(documents)))
        judged[f"q{number}"] = {document: chance.choice([0, 0, 0, 1, 1, 2, 3]) for document in some}
        if not any(judged[f"q{number}"].values()):
            judged[f"q{number}"][some[0]] = 1
        if chance.random() < 0.8:
            found = chance.sample(documents, chance.randint(1, min(len(documents), 150)))
            run[f"q{number}"] = {document: float(chance.randint(0, 40)) for document in found}
    return judged, run


@pytest.mark.parametrize("seed", range(12))
def test_metrics_equal_those_of_a_public_library(seed: int) -> None:
    judged, run = random_set(seed)
    # Where scores tie, trec_eval has the later name first; RR@10, which it does not know, has not.
    order = {
        question: sorted(found, key=lambda name: (found[name], name), reverse=True)
        for question, found in run.items()
    }
    strict = {
        question: {name: float(-place) for place, name in enumerate(names)}
        for question, names in order.items()
    }
    ours = {
        question: score_ranking(order.get(question, []), order.get(question, []), grades)
        for question, grades in judged.items()
    }
    of_trec_eval = [measure for measure in PUBLIC if measure != RR @ 10]
    assert judged
    for measures, scored in ((of_trec_eval, run), (list(PUBLIC), strict)):
        for theirs in ir_measures.iter_calc(measures, judged, scored):
            own = getattr(ours[theirs.query_id], PUBLIC[theirs.measure])
            assert own == pytest.approx(theirs.value, abs=5e-5), theirs
    means = mean_scores(ours.values())
    for measure, value in ir_measures.calc_aggregate(list(PUBLIC), judged, strict).items():
        assert getattr(means, PUBLIC[measure]) == pytest.approx(value, abs=5e-5)


SLUGS = st.lists(st.sampled_from("abcdefghijklmnop"), unique=True)
GRADES = st.dictionaries(st.sampled_from("abcdefghijklmnop"), st.integers(1, 4), min_size=1)


@given(SLUGS, GRADES)
def test_metrics_are_0_to_1_and_grow_with_the_cutoff(ranking, grades) -> None:
    found = score_ranking(ranking, ranking, grades)
    assert all(0 <= figure <= 1 + 1e-12 for figure in found)
    assert found.recall_at_5 <= found.recall_at_10 <= found.recall_at_100
    assert (found.mrr_at_10 > 0) == (found.ndcg_at_10 > 0)


@given(GRADES)
def test_the_ideal_order_scores_1(grades) -> None:
    ideal = sorted(grades, key=lambda slug: -grades[slug])
    assert ndcg(ideal, grades, 10) == pytest.approx(1)


def test_percentiles_are_observed_values() -> None:
    assert percentile([], 0.5) is None
    assert percentile([7.0], 0.95) == 7.0
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.0
    assert percentile([float(n) for n in range(1, 101)], 0.95) == 95.0


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
def test_the_p_value_is_near_the_exact_one(gains: list[float]) -> None:
    assert randomisation_test(gains) == pytest.approx(exact(gains), abs=0.02)


def test_unchanged_questions_do_not_affect_the_p_value() -> None:
    assert randomisation_test([0.0] * 20) == 1.0
    gains = [0.2, 0.1, 0.4, 0.3, 0.2]
    assert randomisation_test(gains + [0.0] * 30) == randomisation_test(gains)


def test_a_clear_gain_has_a_small_p_value_above_0() -> None:
    assert randomisation_test([0.1] * 50) == pytest.approx(1 / 10_001)


def test_wins_losses_and_ties_are_counted() -> None:
    found = compare([1.0, 0.5, 0.0, 0.3], [0.5, 0.5, 1.0, 0.3 + 1e-15])
    assert found == Comparison(pytest.approx(-0.125), found.p_value, 1, 1, 2)


def test_many_questions_are_compared_in_blocks() -> None:
    gains = [(-1) ** number * 0.01 for number in range(2_000)]
    assert randomisation_test(gains) == 1.0


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=8), st.integers(0, 99))
def test_the_p_value_is_repeatable_and_symmetric(gains: list[float], seed: int) -> None:
    p_value = randomisation_test(gains, seed)
    assert 0 < p_value <= 1
    assert p_value == randomisation_test(gains, seed)
    assert p_value == randomisation_test([-gain for gain in gains], seed)
