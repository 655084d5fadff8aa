"""The packaged cross-encoder reads English: other text keeps its order, and a note says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gbrain.brain import Brain

CHANGES = {"rerank": "cross-encoder"}
GERMAN = "Die Versicherung für das {} ist bis Mai bezahlt, und die Police ist in dem Ordner."
ENGLISH = "The insurance of the {} is paid until May, and this is where the policy is kept."


@pytest.fixture
def brain(tmp_path: Path) -> Iterator[Brain]:
    with Brain.open(tmp_path / "brain.db", make=True) as opened:
        for thing in ("Haus", "Auto", "Rad"):
            opened.put(f"de/{thing}", GERMAN.format(thing).encode())
        for thing in ("house", "car", "bike"):
            opened.put(f"en/{thing}", ENGLISH.format(thing).encode())
        yield opened


@pytest.mark.parametrize("question", ["Was ist mit der Versicherung?", "Versicherung Police"])
def test_a_german_question_is_not_reranked(brain: Brain, question: str) -> None:
    plain = brain.query(question, mode="bm25")
    answer, results = brain.query_with_trace(question, mode="bm25", changes=CHANGES)
    assert results.reranked is not None
    assert (results.reranked.skipped, results.reranked.pages) == ("not in English", 0)
    assert answer.notice is not None
    assert "reads only English" in answer.notice
    assert len(plain.hits) == 3
    assert [hit.slug for hit in answer.hits] == [hit.slug for hit in plain.hits]


def test_an_english_question_is_reranked(brain: Brain) -> None:
    answer, results = brain.query_with_trace(
        "where is the insurance policy of the car", mode="bm25", changes=CHANGES
    )
    assert results.reranked is not None
    assert (results.reranked.skipped, results.reranked.pages) == (None, 3)
    assert answer.notice is None


def test_notes_of_one_sentence_show_their_language_together(tmp_path: Path) -> None:
    with Brain.open(tmp_path / "short.db", make=True) as brain:
        for number, line in enumerate(
            ("Sport und der Beitrag im Verein.", "Sport ist nicht für die Oma.",
             "Wir haben auch Sport mit dem Hund.", "Sport ist aus, wenn es regnet.")
        ):  # fmt: skip
            brain.put(f"s{number}", f"# S{number}\n\n{line}\n".encode())
        answer = brain.query_with_trace("sport club", mode="bm25", changes=CHANGES)[0]
    assert answer.notice is not None
    assert answer.notice.startswith("Not reranked: the cross-encoder reads only English.")
