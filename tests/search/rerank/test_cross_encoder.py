"""The cross-encoder, with the real model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.search.rerank.cross_encoder import (
    READ_ON,
    combine_logits,
    distinctive_titles,
    query_trust,
    relevance,
)
from gbrain.store.chunks import page_chunks
from gbrain.store.pages import require_page


def test_the_answer_comes_before_a_page_that_sounds_similar(ask: Callable) -> None:
    fused = ask("how do I copy a database that is being written to?")
    found = fused.reranked(rerank="cross-encoder", rerank_head="8")
    assert found.ranked[0].slug == "resources/back-up-a-sqlite-database"
    opinions = [page.lanes["rerank"].score for page in found.ranked[:8]]
    assert max(opinions) == opinions[0]
    assert len(opinions) == 8
    assert all(0 <= opinion <= 1 for opinion in opinions)


def test_without_vectors_it_reads_keyword_matches(ask: Callable) -> None:
    fused = ask("how is a database copied while writing?", mode="bm25")
    found = fused.reranked(rerank="cross-encoder")
    assert found.notice is None
    assert found.pages == min(len(fused.ranked), 20)


def test_a_page_that_cannot_move_is_not_read(ask: Callable) -> None:
    fused = ask("which database copy while writing", mode="bm25")
    found = fused.reranked(rerank="cross-encoder", rerank_mix="0.1")
    assert 0 < found.pages < len(fused.ranked)
    judged = [page.score for page in found.ranked if "rerank" in page.lanes]
    assert len(judged) == found.pages


def test_only_the_best_chunk_of_a_low_page_is_read(ask: Callable) -> None:
    fused = ask("how do I copy a database that is being written to?")
    one = fused.reranked(rerank="cross-encoder", rerank_chunks="1")
    assert one.chunks == one.pages > READ_ON
    more = fused.reranked(rerank="cross-encoder", rerank_chunks="3")
    assert more.pages == one.pages
    assert one.chunks < more.chunks <= one.chunks + 2 * READ_ON


def test_the_chunk_after_the_matching_one_is_read_too(brain: Brain) -> None:
    chatter = "\n".join(f"Kim: Number {n} of what I want to ask of you." for n in range(9))
    for slug, said in {"asked": "I must ask.", "told": "At noon, not on Sundays."}.items():
        brain.put(slug, f"Kim: When does the ferry leave?\n{chatter}\nLee: {said}".encode())
    with brain.database.read_transaction() as connection:
        first, _ = page_chunks(connection, require_page(connection, "told").id)
    assert "noon" not in first.text
    alone = {"rerank": "cross-encoder", "rerank_mix": "1"}
    answer, _ = brain.query_with_trace("when does the ferry leave?", changes=alone)
    assert [hit.slug for hit in answer.hits] == ["told", "asked"]
    answer, _ = brain.query_with_trace("when does the ferry leave?", mode="bm25")
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


def test_logits_are_scaled_from_0_to_1() -> None:
    assert [relevance(logit) for logit in (-1e6, -11.5, -1, 9.5, 1e6)] == [0, 0, 0.5, 1, 1]


@given(st.floats(-20, 20), st.floats(-20, 20))
def test_a_higher_logit_is_never_less_relevant(one: float, other: float) -> None:
    assert (relevance(one) - relevance(other)) * (one - other) >= 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("When did Caroline paint a sunrise?", 1),
        ("who likes bread", 1),
        ("“Is it true”", 1),
        ("¿Dónde está la llave?", 1),
        ("鍵はどこですか？", 1),
        ("Sunlight makes vitamin D.", 0.1),
        ("backup restore", 0.1),
        ("how " + "very " * 23, 0.25),
        ("Draft a memo " + "on all of this " * 5 + "now", 0.025),
        ("", 0.1),
    ],
)
def test_short_questions_are_trusted_most(text: str, expected: float) -> None:
    assert query_trust(text) == pytest.approx(expected)


@given(st.text())
def test_any_query_is_trusted_a_little(text: str) -> None:
    assert 0 < query_trust(text) <= 1


def test_titles_of_a_series_are_left_out() -> None:
    titles = {1: "Weekly call 11", 2: "Weekly Call 12", 3: "Sourdough", 4: "Bread"}
    assert distinctive_titles(titles) == {1: "", 2: "", 3: "Sourdough", 4: "Bread"}
    assert distinctive_titles({**titles, 5: "Rye"})[1] == "Weekly call 11"
    assert distinctive_titles({3: "Sourdough", 4: "Bread"}) == {3: "Sourdough", 4: "Bread"}
    assert distinctive_titles({}) == {}


def test_other_chunks_add_a_little_to_the_best() -> None:
    assert combine_logits([3.0]) == 3.0
    assert combine_logits([3.0, 3.0]) == pytest.approx(3.0 + 0.693, abs=1e-3)
    assert combine_logits([3.0, -9.0]) == pytest.approx(3.0, abs=1e-3)
    assert combine_logits([1e9, -1e9]) == 1e9
