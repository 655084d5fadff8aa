"""The reranker that this brain learned from what was opened."""

from __future__ import annotations

from gbrain.errors import GbrainError
from gbrain.ranking.fusion import min_max
from gbrain.ranking.learned import HALF_LIFE_DAYS, features, read
from gbrain.rerankers.head import Head, Opinions
from gbrain.store.boost_data import Wanted, facts
from gbrain.store.reranker_weights import RERANKER, find


def opinions(head: Head) -> Opinions:
    """The network's scores, brought to 0 to 1; they alone decide, for so they were judged."""
    network = read(find(head.connection, RERANKER) or "")
    if network is None:
        raise GbrainError(
            "nothing is learned yet",
            hint="gbrain train-reranker learns from what was opened.",
            code="nothing_learned",
        )
    chosen = {page.page_id: page.chunk_id for page in head.pages}
    known = facts(head.connection, chosen, Wanted(opens=True))
    half_life = head.settings.recency_half_life_days or HALF_LIFE_DAYS
    rows = features(head.pages, known, head.helpers.today, half_life)
    scaled = min_max([network.score(row) for row in rows.values()])
    return Opinions(dict(zip(rows, scaled, strict=True)), weight=1.0, passages=0)
