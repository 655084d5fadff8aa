"""The cross-encoder's opinion of pages, with the real model."""

from __future__ import annotations

from collections.abc import Callable

from gbrain.brain import Brain
from gbrain.rerankers.cross_encoder import READ_ON
from gbrain.store.chunks import page_passages
from gbrain.store.pages import require_page


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


def test_of_a_page_that_does_not_get_ahead_one_passage_is_read(ask: Callable) -> None:
    fused = ask("how do I copy a database that is being written to?")
    one = fused.reranked(rerank="cross-encoder", rerank_chunks="1")
    assert one.passages == one.pages > READ_ON
    more = fused.reranked(rerank="cross-encoder", rerank_chunks="3")
    assert more.pages == one.pages
    assert one.passages < more.passages <= one.passages + 2 * READ_ON


def test_the_answer_may_follow_the_passage_that_matches(brain: Brain) -> None:
    chatter = "\n".join(f"Kim: Number {n} of what I want to ask of you." for n in range(9))
    for slug, said in {"asked": "I must ask.", "told": "At noon, not on Sundays."}.items():
        brain.put(slug, f"Kim: When does the ferry leave?\n{chatter}\nLee: {said}".encode())
    with brain.database.reading() as connection:
        first, _ = page_passages(connection, require_page(connection, "told").id)
    assert "noon" not in first.text
    alone = {"rerank": "cross-encoder", "rerank_mix": "1"}
    answer, _ = brain.ask("when does the ferry leave?", changes=alone)
    assert [hit.slug for hit in answer.hits] == ["told", "asked"]
    answer, _ = brain.ask("when does the ferry leave?")
    assert [hit.slug for hit in answer.hits] == ["asked", "told"]


def test_a_statement_moves_less_than_a_question(ask: Callable) -> None:
    def moved(text: str) -> float:
        fused = ask(text)
        before = {page.page_id: page.score for page in fused.ranked}
        after = fused.reranked(rerank="cross-encoder", rerank_head="5").ranked[:5]
        return sum(abs(page.score - before[page.page_id]) for page in after)

    assert moved("A database is copied while it is in use") < moved(
        "Is a database copied while it is in use?"
    )
