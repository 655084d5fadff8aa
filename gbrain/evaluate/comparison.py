"""Two rankings of the same questions against each other: who won where, and whether by chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

PERMUTATIONS = 10_000
# Permutations times questions that are worked on at once: bounds memory.
_BLOCK = 4_000_000
# Sums of the same numbers in another order differ by less.
_ROUNDING = 1e-9


class Comparison(NamedTuple):
    """`difference` is the mean gain; `p_value` how likely chance alone would give as large a one,
    either way."""

    difference: float
    p_value: float
    wins: int
    losses: int
    ties: int


def compare(scores: Sequence[float], baseline: Sequence[float], seed: int = 1) -> Comparison:
    """`scores` against `baseline`, question by question, of at least one question."""
    gains = [score - before for score, before in zip(scores, baseline, strict=True)]
    wins = sum(gain > _ROUNDING for gain in gains)
    losses = sum(gain < -_ROUNDING for gain in gains)
    return Comparison(
        difference=sum(gains) / len(gains),
        p_value=randomisation_test(gains, seed),
        wins=wins,
        losses=losses,
        ties=len(gains) - wins - losses,
    )


def randomisation_test(gains: Sequence[float], seed: int = 1) -> float:
    """Two-sided p-value of paired gains: each may as well have had the other sign.

    The same seed gives the same value. The order observed counts as one of the permutations, so
    that no value is 0.
    """
    import numpy as np

    changed = np.array([gain for gain in gains if abs(gain) > _ROUNDING])
    if not len(changed):
        return 1.0
    observed = abs(changed.sum()) - _ROUNDING
    generator = np.random.default_rng(seed)
    as_large, left = 0, PERMUTATIONS
    while left:
        count = min(left, max(_BLOCK // len(changed), 1))
        signs = 2 * generator.integers(0, 2, (count, len(changed)), dtype=np.int8) - 1
        as_large += int((np.abs(signs @ changed) >= observed).sum())
        left -= count
    return (as_large + 1) / (PERMUTATIONS + 1)
