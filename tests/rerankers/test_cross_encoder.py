"""The cross-encoder's opinion of pages, with the real model."""

from __future__ import annotations

from collections.abc import Callable


def test_it_knows_the_answer_from_what_only_sounds_like_it(ask: Callable) -> None:
    fused = ask("how do I copy a database that is being written to?")
    found = fused.reranked(rerank="cross-encoder", rerank_head="8")
    assert found.ranked[0].slug == "resources/back-up-a-sqlite-database"
    opinions = [page.lanes["rerank"].score for page in found.ranked[:8]]
    assert max(opinions) == opinions[0]
    assert all(0 <= opinion <= 1 for opinion in opinions)


def test_without_vectors_it_reads_what_the_words_found(ask: Callable) -> None:
    fused = ask("how is a database copied while writing?", mode="bm25")
    found = fused.reranked(rerank="cross-encoder")
    assert found.notice is None
    assert found.pages == min(len(fused.ranked), 20)


def test_what_a_light_opinion_could_not_move_is_not_read(ask: Callable) -> None:
    fused = ask("database copy while writing", mode="bm25")
    found = fused.reranked(rerank="cross-encoder")
    assert 0 < found.pages < len(fused.ranked)
    judged = [page.score for page in found.ranked if "rerank" in page.lanes]
    assert len(judged) == found.pages


def test_a_statement_moves_less_than_a_question(ask: Callable) -> None:
    def moved(text: str) -> float:
        fused = ask(text)
        before = {page.page_id: page.score for page in fused.ranked}
        after = fused.reranked(rerank="cross-encoder", rerank_head="5").ranked[:5]
        return sum(abs(page.score - before[page.page_id]) for page in after)

    assert moved("A database is copied while it is in use") < moved(
        "Is a database copied while it is in use?"
    )
