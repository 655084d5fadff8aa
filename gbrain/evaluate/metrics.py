"""Score rankings by the conventions of trec_eval, and test whether two runs differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gbrain.evaluate.datasets import Grades


class Scores(NamedTuple):
    """The metrics of one question, or their means over many; all from 0 to 1, higher is better."""

    ndcg_at_10: float
    recall_at_5: float
    recall_at_10: float
    recall_at_100: float
    mrr_at_10: float
    success_at_5: float
    answered: float


def score_ranking(ranking: Sequence[str], deep_ranking: Sequence[str], grades: Grades) -> Scores:
    """Return the metrics of a ranking, best page first; R@100 comes from `deep_ranking`."""
    return Scores(
        ndcg_at_10=ndcg(ranking, grades, 10),
        recall_at_5=recall(ranking, grades, 5),
        recall_at_10=recall(ranking, grades, 10),
        recall_at_100=recall(deep_ranking, grades, 100),
        mrr_at_10=reciprocal_rank(ranking, grades, 10),
        success_at_5=float(recall(ranking, grades, 5) > 0),
        answered=float(len(ranking) > 0),
    )


def ndcg(ranking: Sequence[str], grades: Grades, k: int) -> float:
    """Return the gain by grade, discounted by log2(rank + 1), as a share of the ideal order's."""
    gain = _gain([grades.get(slug, 0) for slug in ranking[:k]])
    ideal = _gain(sorted(grades.values(), reverse=True)[:k])
    return gain / ideal if ideal else 0.0


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1) if grade > 0)


def recall(ranking: Sequence[str], grades: Grades, k: int) -> float:
    """Return the share of all relevant pages that is among the first `k`."""
    relevant = {slug for slug, grade in grades.items() if grade > 0}
    return len(relevant.intersection(ranking[:k])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[str], grades: Grades, k: int) -> float:
    """Return 1 / rank of the first relevant page, or 0 if it is not among the first `k`."""
    for rank, slug in enumerate(ranking[:k], 1):
        if grades.get(slug, 0) > 0:
            return 1 / rank
    return 0.0


def mean_scores(all_scores: Iterable[Scores]) -> Scores:
    """Return the mean of each metric over at least one question."""
    columns = list(zip(*all_scores, strict=True))
    return Scores(*(math.fsum(column) / len(column) for column in columns))


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that at least `share` (0 to 1) of the values do not exceed."""
    if not values:
        return None
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


PERMUTATIONS = 10_000
# Permutations times questions that are computed at once, to bound memory.
_BLOCK_CELLS = 4_000_000
# Sums of the same numbers in another order differ by less than this.
ROUNDING_ERROR = 1e-9


class Comparison(NamedTuple):
    """The mean gain over a baseline, and the probability of one as large by chance, either way."""

    difference: float
    p_value: float
    wins: int
    losses: int
    ties: int


def compare(scores: Sequence[float], baseline: Sequence[float], seed: int = 1) -> Comparison:
    """Compare `scores` with `baseline` question by question; there must be at least one."""
    gains = [score - old for score, old in zip(scores, baseline, strict=True)]
    wins = sum(gain > ROUNDING_ERROR for gain in gains)
    losses = sum(gain < -ROUNDING_ERROR for gain in gains)
    return Comparison(
        difference=sum(gains) / len(gains),
        p_value=randomisation_test(gains, seed),
        wins=wins,
        losses=losses,
        ties=len(gains) - wins - losses,
    )


def randomisation_test(gains: Sequence[float], seed: int = 1) -> float:
    """Return the two-sided p-value of paired gains, from random flips of their signs.

    The same seed gives the same value. The observed signs count as one of the permutations, so
    the value is never 0.
    """
    import numpy as np

    changed = np.array([gain for gain in gains if abs(gain) > ROUNDING_ERROR])
    if not len(changed):
        return 1.0
    observed = abs(changed.sum()) - ROUNDING_ERROR
    generator = np.random.default_rng(seed)
    as_large, remaining = 0, PERMUTATIONS
    while remaining:
        count = min(remaining, max(_BLOCK_CELLS // len(changed), 1))
        signs = 2 * generator.integers(0, 2, (count, len(changed)), dtype=np.int8) - 1
        as_large += int((np.abs(signs @ changed) >= observed).sum())
        remaining -= count
    return (as_large + 1) / (PERMUTATIONS + 1)
