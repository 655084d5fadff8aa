"""Where a configuration lost: what was expected, and what came instead."""

from __future__ import annotations

from gbrain.evaluate.datasets import DatasetQuestion, Grades
from gbrain.evaluate.evaluation import ExpectedPage, QueryLoss, find_worst_queries
from gbrain.evaluate.metrics import score_ranking
from gbrain.evaluate.runs import DEFAULT_CONFIGURATION, QuestionResult, Run
from gbrain.types import Scope

RELEVANT: dict[str, Grades] = {"q": {"a": 1}, "r": {"b": 1, "c": 2}, "s": {"d": 1}}


def run_of(**rankings: str) -> Run:
    return Run(
        DEFAULT_CONFIGURATION,
        tuple(
            QuestionResult(
                DatasetQuestion(name, f"{name}?", Scope()),
                tuple(ranking),
                score_ranking(ranking, ranking, RELEVANT[name]),
                None,
                False,
            )
            for name, ranking in rankings.items()
        ),
    )


def test_the_greatest_loss_comes_first() -> None:
    baseline = run_of(q="a", r="cb", s="xd")
    worse = run_of(q="xyza", r="wxyz", s="d")
    first, second = find_worst_queries(worse, baseline, RELEVANT, 5)
    assert (first.question.id, second.question.id) == ("r", "q")
    assert first == QueryLoss(
        DatasetQuestion("r", "r?", Scope()),
        0.0,
        1.0,
        (ExpectedPage("c", 2, None, 1), ExpectedPage("b", 1, None, 2)),
        ("w", "x", "y"),
    )
    assert second.expected == (ExpectedPage("a", 1, 4, 1),)
    assert find_worst_queries(worse, baseline, RELEVANT, 1) == [first]


def test_no_lost_queries_give_no_losses() -> None:
    run = run_of(q="a", r="b")
    assert find_worst_queries(run, run, RELEVANT, 5) == []


def test_a_single_run_is_compared_with_a_perfect_one() -> None:
    (loss,) = find_worst_queries(run_of(q="a", s=""), None, RELEVANT, 5)
    assert loss == QueryLoss(
        DatasetQuestion("s", "s?", Scope()), 0.0, 1.0, (ExpectedPage("d", 1, None, None),), ()
    )
