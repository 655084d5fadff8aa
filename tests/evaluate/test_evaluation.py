"""Runs gathered into one evaluation."""

from __future__ import annotations

from pathlib import Path

from gbrain.evaluate.configurations import Configuration
from gbrain.evaluate.datasets import Grades, LabelledSet, Question
from gbrain.evaluate.evaluation import gather
from gbrain.evaluate.metrics import scores
from gbrain.evaluate.runs import Asked, Run
from gbrain.types import Scope

RELEVANT: dict[str, Grades] = {"q": {"a": 1}, "r": {"b": 1}}
SET = LabelledSet(Path("set"), Path("set/qrels.tsv"), (), (), RELEVANT, ("A note.",))


def run_of(name: str, *, fell_back: bool = False, **rankings: str) -> Run:
    asked = (
        Asked(Question(key, f"{key}?", Scope()), tuple(ranking),
              scores(ranking, ranking, RELEVANT[key]), None, fell_back)
        for key, ranking in rankings.items()
    )  # fmt: skip
    return Run(Configuration(name, {}), tuple(asked))


def test_the_first_is_what_the_others_are_compared_with() -> None:
    runs = [run_of("one", q="a", r="b"), run_of("two", q="a", r="xb"), run_of("three", q="", r="")]
    found = gather(SET, "brain.db", runs, (), 1, seed=1)
    assert list(found.comparisons) == ["two", "three"]
    assert found.comparisons["two"][2:] == (0, 1, 1)
    assert found.comparisons["three"].difference == -1
    assert found.losses is not None
    assert {name: len(lost) for name, lost in found.losses.items()} == {"two": 1, "three": 1}
    assert found.notes == ["A note."]


def test_one_alone_is_compared_with_nobody() -> None:
    found = gather(SET, "brain.db", [run_of("one", q="a", r="xb")], (), 5, seed=1)
    assert found.comparisons == {}
    assert found.losses is not None
    assert [loss.question.id for loss in found.losses["one"]] == ["r"]
    assert gather(SET, "brain.db", [run_of("one", q="a")], (), None, seed=1).losses is None


def test_who_had_no_vectors_is_noted() -> None:
    runs = [run_of("rrf", q="a", r="b", fell_back=True)]
    notes = gather(SET, "brain.db", runs, (), None, seed=1).notes
    assert notes == ["A note.", "rrf: 2 answered by keywords alone."]
