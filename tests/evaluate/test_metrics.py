"""Figures of rankings: by hand, and as a public library counts them."""

from __future__ import annotations

import math
import random

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, R, Success, nDCG

from gbrain.evaluate.metrics import (
    Scores,
    mean_scores,
    ndcg,
    percentile,
    recall,
    reciprocal_rank,
    scores,
)

PUBLIC = {
    nDCG @ 10: "ndcg_at_10",
    R @ 5: "recall_at_5",
    R @ 10: "recall_at_10",
    R @ 100: "recall_at_100",
    RR @ 10: "mrr_at_10",
    Success @ 5: "success_at_5",
}


def test_gain_by_hand() -> None:
    grades = {"good": 2, "fair": 1}
    best = 2 / math.log2(2) + 1 / math.log2(3)
    assert ndcg(["fair", "other", "good"], grades, 10) == pytest.approx((1 + 2 / 2) / best)
    assert ndcg(["good", "fair"], grades, 10) == 1.0
    assert ndcg(["other"], grades, 10) == ndcg([], grades, 10) == 0.0


def test_recall_and_rank_by_hand() -> None:
    grades = {"a": 1, "b": 3, "judged-irrelevant": 0}
    assert recall(["x", "a", "judged-irrelevant", "b"], grades, 3) == 0.5
    assert reciprocal_rank(["judged-irrelevant", "a"], grades, 10) == 0.5
    assert reciprocal_rank(["x"] * 10 + ["a"], grades, 10) == 0.0


def test_only_the_hundred_is_taken_from_the_deeper_ranking() -> None:
    found = scores(["x"], ["x", "a"], {"a": 1})
    assert found == Scores(0, 0, 0, 1, 0, 0, 1)
    assert scores([], [], {"a": 1}).answered == 0


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
def test_a_public_library_counts_the_same(seed: int) -> None:
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
        question: scores(order.get(question, []), order.get(question, []), grades)
        for question, grades in judged.items()
    }
    of_trec_eval = [measure for measure in PUBLIC if measure != RR @ 10]
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
def test_every_figure_is_a_share_and_more_room_never_finds_less(ranking, grades) -> None:
    found = scores(ranking, ranking, grades)
    assert all(0 <= figure <= 1 + 1e-12 for figure in found)
    assert found.recall_at_5 <= found.recall_at_10 <= found.recall_at_100
    assert (found.mrr_at_10 > 0) == (found.ndcg_at_10 > 0)


@given(GRADES)
def test_the_ideal_order_is_perfect(grades) -> None:
    ideal = sorted(grades, key=lambda slug: -grades[slug])
    assert ndcg(ideal, grades, 10) == pytest.approx(1)


def test_percentiles_are_values_that_were_seen() -> None:
    assert percentile([], 0.5) is None
    assert percentile([7.0], 0.95) == 7.0
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.0
    assert percentile([float(n) for n in range(1, 101)], 0.95) == 95.0
