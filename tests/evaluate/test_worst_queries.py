"""Where a configuration lost: what was expected, and what came instead."""

from __future__ import annotations

from gbrain.evaluate.configurations import DEFAULTS
from gbrain.evaluate.datasets import Grades, Question
from gbrain.evaluate.metrics import scores
from gbrain.evaluate.runs import Asked, Run
from gbrain.evaluate.worst_queries import Expected, Loss, lost_most
from gbrain.types import Scope

RELEVANT: dict[str, Grades] = {"q": {"a": 1}, "r": {"b": 1, "c": 2}, "s": {"d": 1}}


def run_of(**rankings: str) -> Run:
    return Run(
        DEFAULTS,
        tuple(
            Asked(
                Question(name, f"{name}?", Scope()),
                tuple(ranking),
                scores(ranking, ranking, RELEVANT[name]),
                None,
                False,
            )
            for name, ranking in rankings.items()
        ),
    )


def test_the_greatest_loss_comes_first() -> None:
    baseline = run_of(q="a", r="cb", s="xd")
    worse = run_of(q="xyza", r="wxyz", s="d")
    first, second = lost_most(worse, baseline, RELEVANT, 5)
    assert (first.question.id, second.question.id) == ("r", "q")
    assert first == Loss(
        Question("r", "r?", Scope()),
        0.0,
        1.0,
        (Expected("c", 2, None, 1), Expected("b", 1, None, 2)),
        ("w", "x", "y"),
    )
    assert second.expected == (Expected("a", 1, 4, 1),)
    assert lost_most(worse, baseline, RELEVANT, 1) == [first]


def test_who_lost_nothing_has_no_losses() -> None:
    run = run_of(q="a", r="b")
    assert lost_most(run, run, RELEVANT, 5) == []


def test_alone_it_is_measured_against_the_perfect_answer() -> None:
    (loss,) = lost_most(run_of(q="a", s=""), None, RELEVANT, 5)
    assert loss == Loss(Question("s", "s?", Scope()), 0.0, 1.0, (Expected("d", 1, None, None),), ())
