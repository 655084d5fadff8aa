"""Train the learned reranker on opened hits, and measure whether it helps on unseen questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from gbrain.search.rerank.learned import FEATURES, RerankNetwork, Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]

FOLDS = 5
HIDDEN_UNITS = 8
STEPS = 150
LEARNING_RATE = 0.02
# Keeps weights small, so that a few dozen questions are not overfitted.
WEIGHT_DECAY = 0.1
RESAMPLES = 2000


class TrainingQuestion(NamedTuple):
    """A recorded question: its hits' features, best first, and which of them were opened."""

    rows: tuple[Row, ...]
    opened: tuple[bool, ...]


class TrainingResult(NamedTuple):
    """The network, and the MRR of the first opened hit on questions that it had not seen.

    `low` and `high` are the bounds of the gain's 95 % interval.
    """

    network: RerankNetwork
    questions: int
    opened: int
    mrr_before: float
    mrr_after: float
    low: float
    high: float

    @property
    def helps(self) -> bool:
        return self.low > 0


def train(questions: Sequence[TrainingQuestion]) -> TrainingResult:
    """Train a network on all questions and measure it by five-fold cross-validation.

    Questions without an opened hit, or with one hit, are left out. The same questions give the
    same network.
    """
    import numpy as np

    useful = [question for question in questions if any(question.opened) and len(question.rows) > 1]
    before = np.array([_reciprocal_rank(range(len(q.rows)), q.opened) for q in useful])
    after = np.zeros(len(useful))
    for fold in range(FOLDS):
        unseen = range(fold, len(useful), FOLDS)
        seen = [question for number, question in enumerate(useful) if number % FOLDS != fold]
        if unseen and seen:
            network = fit(seen)
            for number in unseen:
                scores = [network.score(row) for row in useful[number].rows]
                order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
                after[number] = _reciprocal_rank(order, useful[number].opened)
    low, high = _interval(after - before)
    return TrainingResult(
        fit(useful),
        len(useful),
        sum(sum(question.opened) for question in useful),
        float(before.mean()),
        float(after.mean()),
        low,
        high,
    )


def fit(questions: Sequence[TrainingQuestion]) -> RerankNetwork:
    """Return the network that minimises the cross-entropy of opened hits, by Adam."""
    import numpy as np

    table = np.array([row for question in questions for row in question.rows], dtype=np.float64)
    starts = np.cumsum([0, *(len(question.rows) for question in questions[:-1])])
    sizes = np.array([len(question.rows) for question in questions])
    wanted = np.concatenate([np.array(q.opened, np.float64) / sum(q.opened) for q in questions])
    mean, spread = table.mean(axis=0), table.std(axis=0)
    scale = np.where(spread > 1e-9, spread, 1.0)
    inputs = (table - mean) / scale
    generator = np.random.default_rng(0)
    weights = [
        generator.normal(0, 1 / np.sqrt(len(FEATURES)), (len(FEATURES), HIDDEN_UNITS)),
        np.zeros(HIDDEN_UNITS),
        generator.normal(0, 1 / np.sqrt(HIDDEN_UNITS), HIDDEN_UNITS),
    ]
    first = [np.zeros_like(weight) for weight in weights]
    second = [np.zeros_like(weight) for weight in weights]
    for step in range(1, STEPS + 1):
        gradients = _gradients(weights, inputs, wanted, starts, sizes)
        for index, gradient in enumerate(gradients):
            first[index] = 0.9 * first[index] + 0.1 * gradient
            second[index] = 0.999 * second[index] + 0.001 * gradient**2
            change = first[index] / (1 - 0.9**step)
            size = np.sqrt(second[index] / (1 - 0.999**step)) + 1e-8
            weights[index] = weights[index] - LEARNING_RATE * (change / size)
    hidden, bias, out = weights
    return RerankNetwork(
        tuple(mean.tolist()),
        tuple(scale.tolist()),
        tuple(map(tuple, hidden.T.tolist())),
        tuple(bias.tolist()),
        tuple(out.tolist()),
    )


def _gradients(
    weights: Sequence[Floats], inputs: Floats, wanted: Floats, starts: Whole, sizes: Whole
) -> tuple[Floats, Floats, Floats]:
    """Return the gradient of the cross-entropy between each question's softmax and its opens."""
    import numpy as np

    hidden, bias, out = weights
    activation = np.tanh(inputs @ hidden + bias)
    scores = activation @ out
    scores = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
    shares = scores / np.repeat(np.add.reduceat(scores, starts), sizes)
    error = (shares - wanted) / len(starts)
    behind = np.outer(error, out) * (1 - activation**2)
    return (
        inputs.T @ behind + WEIGHT_DECAY * hidden,
        behind.sum(axis=0),
        activation.T @ error + WEIGHT_DECAY * out,
    )


def _reciprocal_rank(order: Sequence[int], opened: Sequence[bool]) -> float:
    """Return 1 / rank of the first opened hit in that order; 0 if there is none."""
    return next((1 / rank for rank, place in enumerate(order, 1) if opened[place]), 0.0)


def _interval(gains: Floats) -> tuple[float, float]:
    """Return the bounds of the mean gain's 95 % interval, by resampling questions."""
    import numpy as np

    generator = np.random.default_rng(0)
    means = [gains[generator.integers(0, len(gains), len(gains))].mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)
