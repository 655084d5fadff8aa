"""The packaged cross-encoder: reads the question and a passage together."""

from __future__ import annotations

from gbrain.ranking.confidence import probability, trust
from gbrain.rerankers.head import Head, Opinions
from gbrain.store.facts import facts
from gbrain.text.chunking import embedding_text


def opinions(head: Head) -> Opinions:
    """How likely the best of a page's passages answers, weighed by the kind of question."""
    known = facts(head.connection, dict.fromkeys(head.passages))
    texts = {
        passage.hash: embedding_text(
            known[page_id].title, passage.heading_path, passage.date, passage.text
        )
        for page_id, passages in head.passages.items()
        for passage in passages
    }
    logits = head.helpers.cross_encoder().scores(head.question, texts)
    by_page = {
        page_id: probability(max(logits[passage.hash] for passage in passages))
        for page_id, passages in head.passages.items()
        if passages
    }
    return Opinions(by_page, head.settings.rerank_mix * trust(head.question))
