"""Two rerankers in a row: the cross-encoder, then the learned one on the order that it leaves."""

from __future__ import annotations

from gbrain.errors import GbrainError
from gbrain.search.fusion import min_max
from gbrain.search.rerank import cross_encoder, learned
from gbrain.search.rerank.interface import RerankRequest, RerankScores
from gbrain.search.rerank.mixing import mix_scores

# Both count alike: the learned one was trained on orders that no cross-encoder had changed.
_LEARNED_SHARE = 0.5


def score_pages(request: RerankRequest) -> RerankScores:
    """Return scores that need no more mixing; before training, those of the cross-encoder."""
    read = cross_encoder.score_pages(request)
    ranked = mix_scores(request.pages, read.by_page, len(request.pages), read.weight)
    try:
        opinion = learned.score_pages(request._replace(pages=ranked)).by_page
    except GbrainError as error:
        if error.code == learned.UNTRAINED:
            return read
        raise
    scaled = min_max([page.score for page in ranked])
    by_page = {
        page.page_id: (1 - _LEARNED_SHARE) * share + _LEARNED_SHARE * opinion[page.page_id]
        for page, share in zip(ranked, scaled, strict=True)
    }
    return RerankScores(by_page, 1.0, read.chunks)
