"""How much of the text that answers a question an assembled context holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from gbrain.evaluate.datasets import Dataset, DatasetDocument, load_dataset
from gbrain.evaluate.runs import (
    DEFAULT_CONFIGURATION,
    STANDARD_CONFIGURATIONS,
    measure_context_recall,
    relevant_texts,
    share_contained,
)

LINES = Path(__file__).parents[2] / "fixtures" / "eval" / "allotments" / "lines"


def test_evidence_is_the_text_of_relevant_documents() -> None:
    evidence = relevant_texts(load_dataset(LINES))
    assert evidence["r3"] == ("Ines: We planted lavender so that they come back.",)
    assert len(evidence["r1"]) == 2
    assert "r5" not in evidence


def test_evidence_is_one_line_and_never_empty(tmp_path: Path) -> None:
    documents = (
        DatasetDocument("a", "a.md", b"one\n  two\t three\n", 0, ""),
        DatasetDocument("b", "b.md", b" ", 0, ""),
    )
    finer = Dataset(
        tmp_path, tmp_path, documents, (), {"q": {"a": 1, "b": 1, "(c)": 1}, "r": {"b": 1}}, ()
    )
    assert relevant_texts(finer) == {"q": ("one two three",)}


def test_recall_counts_complete_texts_only() -> None:
    assert share_contained(["a b", "c d", "e"], "x a b y e") == pytest.approx(2 / 3)


def test_a_larger_budget_contains_more_evidence(set_brain, allotments) -> None:
    evidence = relevant_texts(load_dataset(LINES))
    fts = STANDARD_CONFIGURATIONS[0]
    seen: list[tuple[int, int]] = []
    default, keywords = measure_context_recall(
        set_brain, allotments.questions, evidence, [DEFAULT_CONFIGURATION, fts], [20, 60, 500],
        lambda *done: seen.append(done),
    )  # fmt: skip
    assert default.budgets == (20, 60, 500)
    assert default.means[0] < default.means[1] < default.means[2] == 1.0
    assert keywords.means[2] < 1.0
    assert set(default.by_question) == set(evidence)
    assert seen[-1] == (8, 8)


def test_questions_without_evidence_do_not_count(set_brain, allotments) -> None:
    evidence = {"r3": relevant_texts(load_dataset(LINES))["r3"]}
    (shares,) = measure_context_recall(
        set_brain, allotments.questions, evidence, [DEFAULT_CONFIGURATION], [500]
    )
    assert shares.by_question == {"r3": (1.0,)}
    assert shares.means == (1.0,)
