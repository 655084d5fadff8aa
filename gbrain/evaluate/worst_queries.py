"""Questions that a configuration answers worst, with what was expected and what came instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gbrain.evaluate.datasets import Grades, Question
from gbrain.evaluate.runs import Run

_INSTEAD = 3
_LEAST = 1e-9


class Expected(NamedTuple):
    """A relevant page with the rank it got, from 1, and the baseline's; None is not shown."""

    slug: str
    grade: int
    rank: int | None
    baseline_rank: int | None


class Loss(NamedTuple):
    """A question by nDCG@10; `instead` are the first pages that are not relevant."""

    question: Question
    score: float
    baseline_score: float
    expected: tuple[Expected, ...]
    instead: tuple[str, ...]


def lost_most(
    run: Run, baseline: Run | None, relevant: Mapping[str, Grades], most: int
) -> list[Loss]:
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
            Expected(
                slug,
                grades[slug],
                _rank(slug, asked.ranking),
                _rank(slug, other.ranking) if other else None,
            )
            for slug in sorted(grades, key=lambda slug: (-grades[slug], slug))
        )
        instead = [slug for slug in asked.ranking if slug not in grades][:_INSTEAD]
        losses.append(
            Loss(asked.question, asked.scores.ndcg_at_10, before, expected, tuple(instead))
        )
    return sorted(losses, key=lambda loss: loss.score - loss.baseline_score)[:most]


def _rank(slug: str, ranking: tuple[str, ...]) -> int | None:
    return ranking.index(slug) + 1 if slug in ranking else None
