"""Summarise an evaluation: compare each run with the first one and find its worst queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gbrain.evaluate.datasets import Dataset, DatasetQuestion, Grades
from gbrain.evaluate.metrics import ROUNDING_ERROR, Comparison, compare
from gbrain.evaluate.runs import ContextRecall, Run

_MAX_WRONG_PAGES = 3


class ExpectedPage(NamedTuple):
    """A relevant page with its rank from 1, and the baseline's; None means not shown."""

    slug: str
    grade: int
    rank: int | None
    baseline_rank: int | None


class QueryLoss(NamedTuple):
    """A question by nDCG@10; `instead` are the first pages shown that are not relevant."""

    question: DatasetQuestion
    score: float
    baseline_score: float
    expected: tuple[ExpectedPage, ...]
    instead: tuple[str, ...]


class Evaluation(NamedTuple):
    """Runs with the baseline first, and by name the comparisons of the others with it.

    `brain` is the path of the database that was queried. `losses` is None unless they were asked
    for; with a single run they are that run's own. `contexts` has an entry per run, or none.
    """

    dataset: Dataset
    brain: str
    runs: Sequence[Run]
    comparisons: Mapping[str, Comparison]
    losses: Mapping[str, Sequence[QueryLoss]] | None
    contexts: Sequence[ContextRecall]
    notes: Sequence[str]


def build_evaluation(
    dataset: Dataset,
    brain: str,
    runs: Sequence[Run],
    contexts: Sequence[ContextRecall],
    max_losses: int | None,
    seed: int,
) -> Evaluation:
    """Return the evaluation of at least one run, with up to `max_losses` losses of each."""
    baseline, *others = runs
    comparisons = {
        run.configuration.name: compare(_ndcg_values(run), _ndcg_values(baseline), seed)
        for run in others
    }
    losses = None
    if max_losses:
        against = baseline if others else None
        losses = {
            run.configuration.name: find_worst_queries(run, against, dataset.relevant, max_losses)
            for run in others or runs
        }
    notes = [*dataset.notes, *filter(None, map(_fallback_note, runs))]
    return Evaluation(dataset, brain, runs, comparisons, losses, contexts, notes)


def _ndcg_values(run: Run) -> list[float]:
    return [result.scores.ndcg_at_10 for result in run.results]


def _fallback_note(run: Run) -> str:
    count = sum(result.fell_back for result in run.results)
    if not count:
        return ""
    return f"{run.configuration.name}: {count} answered by the keyword lane only."


def find_worst_queries(
    run: Run, baseline: Run | None, relevant: Mapping[str, Grades], limit: int
) -> list[QueryLoss]:
    """Return up to `limit` questions that lost nDCG@10 against `baseline`, greatest loss first.

    Without a baseline they are compared with a perfect ranking.
    """
    losses = []
    for number, result in enumerate(run.results):
        other = baseline.results[number] if baseline else None
        baseline_score = other.scores.ndcg_at_10 if other else 1.0
        score = result.scores.ndcg_at_10
        if baseline_score - score <= ROUNDING_ERROR:
            continue
        grades = relevant[result.question.id]
        expected = tuple(
            ExpectedPage(
                slug,
                grades[slug],
                _rank(slug, result.ranking),
                _rank(slug, other.ranking) if other else None,
            )
            for slug in sorted(grades, key=lambda slug: (-grades[slug], slug))
        )
        instead = [slug for slug in result.ranking if slug not in grades][:_MAX_WRONG_PAGES]
        losses.append(QueryLoss(result.question, score, baseline_score, expected, tuple(instead)))
    return sorted(losses, key=lambda loss: loss.score - loss.baseline_score)[:limit]


def _rank(slug: str, ranking: tuple[str, ...]) -> int | None:
    return ranking.index(slug) + 1 if slug in ranking else None
