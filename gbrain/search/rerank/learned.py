"""The reranker learned from opened hits: ten features of a page, two layers, one score."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from gbrain.errors import GbrainError
from gbrain.search.fusion import min_max
from gbrain.search.rerank.interface import RerankRequest, RerankScores
from gbrain.store.boost_data import BoostDataRequest, read_boost_data
from gbrain.store.usage_log import RERANKER, read_weights
from gbrain.types import BoostData, Ranked

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
            hint="gbrain train-reranker trains it from the hits that were opened.",
            code=UNTRAINED,
        )
    chosen = {page.page_id: page.chunk_id for page in request.pages}
    known = read_boost_data(request.connection, chosen, BoostDataRequest(opens=True))
    half_life = request.settings.recency_half_life_days or DEFAULT_HALF_LIFE_DAYS
    rows = compute_features(request.pages, known, request.resources.today, half_life)
    scaled = min_max([network.score(row) for row in rows.values()])
    return RerankScores(dict(zip(rows, scaled, strict=True)), weight=1.0, chunks=0)
