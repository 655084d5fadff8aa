"""The reranker without a model of its own, on the sample pages."""

from __future__ import annotations

from collections.abc import Callable

OFFLINE = "sync when the network is gone"


def opinions(found: object) -> dict[str, float]:
    return {
        page.slug: page.lanes["rerank"].score for page in found.ranked if "rerank" in page.lanes
    }


def test_words_alone_count_when_no_vectors_were_asked(ask: Callable) -> None:
    fused = ask(OFFLINE, mode="bm25")
    no_model = fused._replace(helpers=fused.helpers._replace(embedder=None))
    found = opinions(no_model.reranked(rerank="overlap"))
    assert found
    assert all(0 < opinion <= 1 for opinion in found.values())


def test_sentences_near_in_meaning_count_with_vectors(ask: Callable) -> None:
    words = opinions(ask(OFFLINE, mode="bm25").reranked(rerank="overlap", rerank_head="3"))
    both = opinions(ask(OFFLINE).reranked(rerank="overlap", rerank_head="3"))
    assert all(0 <= opinion <= 1 for opinion in both.values())
    assert any(both[slug] != words[slug] for slug in both.keys() & words.keys())


def test_a_query_without_words_goes_by_meaning_alone(ask: Callable) -> None:
    found = ask("?!", mode="semantic").reranked(rerank="overlap", rerank_head="3")
    assert found.notice is None
    assert all(0 <= opinion <= 0.5 for opinion in opinions(found).values())
