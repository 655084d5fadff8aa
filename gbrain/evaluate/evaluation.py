"""An evaluation as one value: what was asked, what was found, and how configurations compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gbrain.evaluate.context_recall import ContextRecall
from gbrain.evaluate.datasets import Dataset, DatasetQuestion, Grades
from gbrain.evaluate.metrics import Comparison, compare
from gbrain.evaluate.runs import Run


class Evaluation(NamedTuple):
    """Runs with the baseline first; the others' comparisons with it by name.

    `brain` is the file that was asked. `losses` by name only if they were wanted: without others
    the baseline's own. `contexts` has an entry for each run, or none at all.
    """

    labelled: Dataset
    brain: str
    runs: Sequence[Run]
    comparisons: Mapping[str, Comparison]
    losses: Mapping[str, Sequence[QueryLoss]] | None
    contexts: Sequence[ContextRecall]
    notes: Sequence[str]


def build_evaluation(
    labelled: Dataset,
    brain: str,
    runs: Sequence[Run],
    contexts: Sequence[ContextRecall],
    losses: int | None,
    seed: int,
) -> Evaluation:
    """The evaluation of at least one run, with up to `losses` losses of each."""
    baseline, *others = runs
    comparisons = {
        run.configuration.name: compare(_qualities(run), _qualities(baseline), seed)
        for run in others
    }
    lost = None
    if losses:
        against = baseline if others else None
        lost = {
            run.configuration.name: find_worst_queries(run, against, labelled.relevant, losses)
            for run in others or runs
        }
    notes = [*labelled.notes, *filter(None, map(_fell_back, runs))]
    return Evaluation(labelled, brain, runs, comparisons, lost, contexts, notes)


def _qualities(run: Run) -> list[float]:
    return [asked.scores.ndcg_at_10 for asked in run.asked]


def _fell_back(run: Run) -> str:
    count = sum(asked.fell_back for asked in run.asked)
    return f"{run.configuration.name}: {count} answered by keywords alone." if count else ""


_INSTEAD = 3
_LEAST = 1e-9


class ExpectedPage(NamedTuple):
    """A relevant page with the rank it got, from 1, and the baseline's; None is not shown."""

    slug: str
    grade: int
    rank: int | None
    baseline_rank: int | None


class QueryLoss(NamedTuple):
    """A question by nDCG@10; `instead` are the first pages that are not relevant."""

    question: DatasetQuestion
    score: float
    baseline_score: float
    expected: tuple[ExpectedPage, ...]
    instead: tuple[str, ...]


def find_worst_queries(
    run: Run, baseline: Run | None, relevant: Mapping[str, Grades], most: int
) -> list[QueryLoss]:
    """Up to `most` questions that lost against `baseline`, the greatest loss first.

    Without a baseline it is the perfect answer that they lost against.
    """
    losses = []
    for number, asked in enumerate(run.asked):
        other = baseline.asked[number] if baseline else None
        before = other.scores.ndcg_at_10 if other else 1.0
        if before - asked.scores.ndcg_at_10 <= _LEAST:
            continue
        grades = relevant[asked.question.id]
        expected = tuple(
            ExpectedPage(
                slug,
                grades[slug],
                _rank(slug, asked.ranking),
                _rank(slug, other.ranking) if other else None,
            )
            for slug in sorted(grades, key=lambda slug: (-grades[slug], slug))
        )
        instead = [slug for slug in asked.ranking if slug not in grades][:_INSTEAD]
        losses.append(
            QueryLoss(asked.question, asked.scores.ndcg_at_10, before, expected, tuple(instead))
        )
    return sorted(losses, key=lambda loss: loss.score - loss.baseline_score)[:most]


def _rank(slug: str, ranking: tuple[str, ...]) -> int | None:
    return ranking.index(slug) + 1 if slug in ranking else None
