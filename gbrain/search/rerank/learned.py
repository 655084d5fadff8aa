"""The reranker learned from opened hits: its features, its network and its training."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from gbrain.errors import GbrainError
from gbrain.search.fusion import min_max
from gbrain.search.rerank.scores import RerankRequest, RerankScores
from gbrain.store.ranking_data import BoostDataRequest, read_boost_data
from gbrain.store.usage_log import RERANKER, read_weights
from gbrain.types import BoostData, Ranked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]


# The order of the numbers in a `Row`.
FEATURES = (
    "cosine", "bm25", "fts_place", "vector_place", "fused",
    "importance", "opens", "age", "retention", "lanes",
)  # fmt: skip
DEFAULT_IMPORTANCE = 0.5
# Used if the brain has no recency half-life.
DEFAULT_HALF_LIFE_DAYS = 30.0
LN_2 = 0.693
# The code of the error that there is no trained reranker.
UNTRAINED = "nothing_learned"

Row = tuple[float, ...]


class RerankNetwork(NamedTuple):
    """Weights of the two layers; `mean` and `scale` normalise each feature before them."""

    mean: Row
    scale: Row
    hidden: tuple[Row, ...]
    hidden_bias: Row
    out: Row

    def score(self, row: Sequence[float]) -> float:
        """Return how well a page answers; comparable only within one question."""
        inputs = [(x - m) / s for x, m, s in zip(row, self.mean, self.scale, strict=True)]
        total = 0.0
        for weights, bias, out in zip(self.hidden, self.hidden_bias, self.out, strict=True):
            total += out * math.tanh(
                bias + sum(w * x for w, x in zip(weights, inputs, strict=True))
            )
        return total


def compute_features(
    ranked: Sequence[Ranked], facts: Mapping[int, BoostData], today: str, half_life_days: float
) -> dict[int, Row]:
    """Return the ten features of each page, in the order of FEATURES, by page.

    Scores are shares of the best page's, places are 1 / rank, 0 for what a lane did not find;
    opens and age (in days) are ln(1 + n). Undated pages count as new. `ranked` must be the whole
    answer. `today` is an ISO day.
    """
    best_bm25 = max((page.lanes["fts"].score for page in ranked if "fts" in page.lanes), default=0)
    best = max((page.score for page in ranked), default=0)
    lanes = len({lane for page in ranked for lane in page.lanes})
    return {
        page.page_id: _row(page, facts.get(page.page_id), (best_bm25, best, lanes), today,
                           half_life_days)
        for page in ranked
    }  # fmt: skip


def _row(
    page: Ranked,
    facts: BoostData | None,
    whole: tuple[float, float, int],
    today: str,
    half_life_days: float,
) -> Row:
    best_bm25, best, lanes = whole
    fts, vector = page.lanes.get("fts"), page.lanes.get("vector")
    importance = facts.importance if facts else None
    age = _days_since(facts.last_day, today) if facts else 0
    return (
        vector.score if vector else 0.0,
        fts.score / best_bm25 if fts and best_bm25 > 0 else 0.0,
        1 / fts.rank if fts else 0.0,
        1 / vector.rank if vector else 0.0,
        page.score / best if best > 0 else 0.0,
        DEFAULT_IMPORTANCE if importance is None else importance,
        math.log1p(facts.opens) if facts else 0.0,
        math.log1p(age),
        math.exp(-LN_2 * age / half_life_days),
        len(page.lanes) / lanes if lanes else 0.0,
    )


def _days_since(day: str | None, today: str) -> int:
    """Return the whole days since a day; 0 for a future or malformed one."""
    try:
        return max((date.fromisoformat(today[:10]) - date.fromisoformat((day or "")[:10])).days, 0)
    except ValueError:
        return 0


def dump_network(network: RerankNetwork) -> str:
    """Return the network as JSON for the brain."""
    return json.dumps({"features": FEATURES, **network._asdict()})


def load_network(text: str) -> RerankNetwork | None:
    """Return the network from its JSON; None if it is malformed or has other features."""
    try:
        kept = json.loads(text)
        if tuple(kept["features"]) != FEATURES:
            return None
        hidden = tuple(_numbers(row, len(FEATURES)) for row in kept["hidden"])
        return RerankNetwork(
            _numbers(kept["mean"], len(FEATURES)),
            _numbers(kept["scale"], len(FEATURES)),
            hidden,
            _numbers(kept["hidden_bias"], len(hidden)),
            _numbers(kept["out"], len(hidden)),
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _numbers(values: Sequence[float], count: int) -> Row:
    row = tuple(float(value) for value in values)
    if len(row) != count or not all(map(math.isfinite, row)):
        raise ValueError(row)
    return row


def score_pages(request: RerankRequest) -> RerankScores:
    """Return the scores of the network, scaled to 0 to 1; they have weight 1, as in training."""
    network = load_network(read_weights(request.connection, RERANKER) or "")
    if network is None:
        raise GbrainError(
            "the learned reranker is not trained yet",
            hint="gbrain train-reranker trains it from the pages you opened.",
            code=UNTRAINED,
        )
    chosen = {page.page_id: page.chunk_id for page in request.pages}
    known = read_boost_data(request.connection, chosen, BoostDataRequest(opens=True))
    half_life = request.settings.recency_half_life_days or DEFAULT_HALF_LIFE_DAYS
    rows = compute_features(request.pages, known, request.resources.today, half_life)
    scaled = min_max([network.score(row) for row in rows.values()])
    return RerankScores(dict(zip(rows, scaled, strict=True)), weight=1.0, chunks=0)


# --- training -----------------------------------------------------------------------------------

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
