"""The overlap reranker, on the sample pages."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.search.rerank.overlap import rarity, scale_similarity, sentences, weighted_coverage

OFFLINE = "sync when the network is gone"


def opinions(found: object) -> dict[str, float]:
    return {
        page.slug: page.lanes["rerank"].score for page in found.ranked if "rerank" in page.lanes
    }


def test_only_words_count_without_the_vector_lane(ask: Callable) -> None:
    fused = ask(OFFLINE, mode="bm25")
    no_model = fused._replace(resources=fused.resources._replace(embedder=None))
    found = opinions(no_model.reranked(rerank="overlap"))
    assert found
    assert all(0 < opinion <= 1 for opinion in found.values())


def test_similar_sentences_count_with_the_vector_lane(ask: Callable) -> None:
    words = opinions(ask(OFFLINE, mode="bm25").reranked(rerank="overlap", rerank_head="3"))
    both = opinions(ask(OFFLINE).reranked(rerank="overlap", rerank_head="3"))
    assert both
    assert all(0 <= opinion <= 1 for opinion in both.values())
    assert any(both[slug] != words[slug] for slug in both.keys() & words.keys())


def test_a_query_without_words_is_scored_by_sentences(ask: Callable) -> None:
    found = ask("?!", mode="semantic").reranked(rerank="overlap", rerank_head="3")
    assert found.notice is None
    assert opinions(found)
    assert all(0 <= opinion <= 0.5 for opinion in opinions(found).values())


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "The heron stands still. Does it move at all? “Hardly ever, I think.” Ok.",
            ["The heron stands still.", "Does it move at all?", "“Hardly ever, I think."],
        ),
        ("- the first item\n\n- the second one", ["- the first item", "- the second one"]),
        ("苍鹭一动不动地站在那里很久很久了。它会动吗?", ["苍鹭一动不动地站在那里很久很久了。"]),
        ("Yes. No.", ["Yes. No."]),
        ("", [""]),
    ],
)  # fmt: skip
def test_a_chunk_is_split_into_sentences(text: str, parts: list[str]) -> None:
    assert sentences(text, "") == parts


def test_sentences_with_words_of_the_question_are_chosen() -> None:
    text = "This is about bread. " * 9 + "The Heron stands still. Herons eat fish, mostly."
    assert sentences(text, "Where does the heron stand?")[:2] == [
        "The Heron stands still.",
        "This is about bread.",
    ]
    assert len(sentences(text, "heron")) == 4


@given(st.text(), st.text())
def test_any_text_has_a_few_sentences(text: str, question: str) -> None:
    assert 1 <= len(sentences(text, question)) <= 4


def test_a_rare_term_weighs_more_and_none_weighs_nothing() -> None:
    worth = [rarity(holding, 1000) for holding in (0, 1, 10, 500, 1000, 2000)]
    assert worth == sorted(worth, reverse=True)
    assert worth[-1] > 0
    assert rarity(10, 1000) == pytest.approx(math.log(1 + 990.5 / 10.5))


def test_terms_are_weighted_by_rarity() -> None:
    assert weighted_coverage([3.0, 1.0], [True, False]) == 0.75
    assert weighted_coverage([3.0, 1.0], [True, True]) == 1
    assert weighted_coverage([], []) == 0


def test_cosines_are_scaled_from_unrelated_to_same() -> None:
    assert [scale_similarity(one) for one in (-1, 0.5, 0.7, 0.9, 1)] == pytest.approx(
        [0, 0, 0.5, 1, 1]
    )
