"""Questions asked of the whole program under several configurations."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.evaluate.dataset_cache import DatasetBrain, open_dataset_brain
from gbrain.evaluate.datasets import Dataset, DatasetDocument, DatasetQuestion, Grades
from gbrain.evaluate.evaluation import build_evaluation
from gbrain.evaluate.metrics import score_ranking
from gbrain.evaluate.runs import (
    MAX_TIMED_QUESTIONS,
    STANDARD_CONFIGURATIONS,
    Configuration,
    QuestionResult,
    Run,
    evenly_spaced,
    run_configurations,
)
from gbrain.types import Scope

FTS, SEMANTIC, UNION = STANDARD_CONFIGURATIONS[:3]


@pytest.fixture
def runs(set_brain: DatasetBrain, allotments: Dataset) -> list[Run]:
    return run_configurations(
        set_brain, allotments.questions, allotments.relevant, [FTS, SEMANTIC, UNION]
    )


def test_a_run_returns_what_query_returns(
    runs, set_brain: DatasetBrain, allotments: Dataset
) -> None:
    assert [run.configuration for run in runs] == [FTS, SEMANTIC, UNION]
    assert allotments.questions
    for run, mode in zip(runs[:2], ("bm25", "semantic"), strict=True):
        for asked, question in zip(run.results, allotments.questions, strict=True):
            answer = set_brain.query(question.text, scope=question.scope, mode=mode)
            assert asked.question == question
            assert asked.ranking == tuple(hit.slug for hit in answer.hits)


def test_questions_stay_within_their_scope(runs: list[Run]) -> None:
    assert runs
    for run in runs:
        assert any(asked.ranking for asked in run.results)
        for asked in run.results:
            assert all(s.startswith(asked.question.scope.slug_prefix) for s in asked.ranking)


def test_vector_search_finds_reworded_questions(runs: list[Run]) -> None:
    fts, semantic, union = (run.means for run in runs)
    assert fts.answered < 1 == semantic.answered
    assert fts.ndcg_at_10 < union.ndcg_at_10
    assert union.recall_at_10 == 1


def test_every_question_of_a_small_set_is_timed(runs: list[Run]) -> None:
    assert runs
    for run in runs:
        assert len(run.times_ms) == 8
        assert 0 < run.p50_ms <= run.p95_ms


def test_progress_counts_questions(set_brain: DatasetBrain, allotments: Dataset) -> None:
    seen: list[tuple[int, int]] = []
    questions = allotments.questions[:2]
    run_configurations(
        set_brain, questions, allotments.relevant, [FTS], lambda *done: seen.append(done)
    )
    assert seen == [(1, 2), (2, 2)]


def test_a_run_without_vectors_reports_the_fallback(allotments, tmp_path) -> None:
    with open_dataset_brain(allotments, tmp_path) as brain:
        (run,) = run_configurations(brain, allotments.questions, allotments.relevant, [UNION])
    assert run.results
    assert all(asked.fell_back for asked in run.results)


def test_100_hits_are_searched_for_relevant_pages(tmp_path) -> None:
    """The page named last among a hundred alike is beyond the default pool of fifty."""
    documents = tuple(
        DatasetDocument(f"p{n:03}", f"p{n:03}.md", b"a heron" + b" in the reeds" * n, 0, "")
        for n in range(90)
    )
    question = DatasetQuestion("q", "where is the heron", Scope())
    relevant = {"q": {"p000": 1, "p070": 1}}
    labelled = Dataset(tmp_path, tmp_path, documents, (question,), relevant, ())
    small = Configuration("small", {"search_mode": "bm25", "candidate_pool": "20"})
    with open_dataset_brain(labelled, tmp_path) as brain:
        runs = run_configurations(brain, [question], relevant, [FTS, small])
        assert len(runs) == 2
        for run in runs:
            (asked,) = run.results
            assert len(asked.ranking) == 10
            assert (asked.scores.recall_at_10, asked.scores.recall_at_100) == (0.5, 1.0)


@given(st.integers(0, 5000))
def test_timed_questions_are_spread_over_the_set(count: int) -> None:
    numbers = evenly_spaced(count, MAX_TIMED_QUESTIONS)
    assert len(set(numbers)) == len(numbers) == min(count, MAX_TIMED_QUESTIONS)
    assert all(0 <= number < count for number in numbers)
    gaps = {later - sooner for sooner, later in pairwise(numbers)}
    assert not gaps or max(gaps) - min(gaps) <= 1


RELEVANT: dict[str, Grades] = {"q": {"a": 1}, "r": {"b": 1}}
SET = Dataset(Path("set"), Path("set/qrels.tsv"), (), (), RELEVANT, ("A note.",))


def run_of(name: str, *, fell_back: bool = False, **rankings: str) -> Run:
    asked = (
        QuestionResult(DatasetQuestion(key, f"{key}?", Scope()), tuple(ranking),
              score_ranking(ranking, ranking, RELEVANT[key]), None, fell_back)
        for key, ranking in rankings.items()
    )  # fmt: skip
    return Run(Configuration(name, {}), tuple(asked))


def test_other_configurations_are_compared_with_the_first() -> None:
    runs = [run_of("one", q="a", r="b"), run_of("two", q="a", r="xb"), run_of("three", q="", r="")]
    found = build_evaluation(SET, "brain.db", runs, (), 1, seed=1)
    assert list(found.comparisons) == ["two", "three"]
    assert found.comparisons["two"][2:] == (0, 1, 1)
    assert found.comparisons["three"].difference == -1
    assert found.losses is not None
    assert {name: len(lost) for name, lost in found.losses.items()} == {"two": 1, "three": 1}
    assert found.notes == ["A note."]


def test_a_single_configuration_has_no_comparison() -> None:
    found = build_evaluation(SET, "brain.db", [run_of("one", q="a", r="xb")], (), 5, seed=1)
    assert found.comparisons == {}
    assert found.losses is not None
    assert [loss.question.id for loss in found.losses["one"]] == ["r"]
    assert (
        build_evaluation(SET, "brain.db", [run_of("one", q="a")], (), None, seed=1).losses is None
    )


def test_configurations_without_vectors_are_noted() -> None:
    runs = [run_of("rrf", q="a", r="b", fell_back=True)]
    notes = build_evaluation(SET, "brain.db", runs, (), None, seed=1).notes
    assert notes == ["A note.", "rrf: 2 answered by the keyword lane only."]
