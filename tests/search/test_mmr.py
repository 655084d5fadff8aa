"""MMR: examples by hand, and properties of any list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.search.mmr import reorder_by_mmr, vector_similarity, word_similarity
from gbrain.types import Candidate, Ranked


def page(slug: str, score: float) -> Ranked:
    number = ord(slug)
    return Ranked(number, slug, score, {"vector": Candidate(number, slug, number, 1, score)})


PAGES = [page("a", 1.0), page("b", 0.9), page("c", 0.5)]
TEXTS = {ord("a"): "red apple pie", ord("b"): "red apple pie", ord("c"): "blue boat"}


def slugs(pages: list[Ranked]) -> str:
    return "".join(one.slug for one in pages)


def test_a_duplicate_moves_behind_a_new_page() -> None:
    # b: 0.5 x 0.9 - 0.5 x 1 is less than c: 0.5 x 0.5 - 0.
    assert slugs(reorder_by_mmr(PAGES, word_similarity(TEXTS), 0.5)) == "acb"


def test_relevance_can_outweigh_similarity() -> None:
    # b: 0.8 x 0.9 - 0.2 x 1 = 0.52 is more than c: 0.8 x 0.5 = 0.4.
    assert slugs(reorder_by_mmr(PAGES, word_similarity(TEXTS), 0.8)) == "abc"


def test_the_closest_page_before_counts_not_the_last() -> None:
    # b repeats a, the first page; c, the last one chosen, has nothing in common with b or d.
    pages = [page("a", 1.0), page("b", 0.9), page("c", 0.8), page("d", 0.7)]
    texts = {**TEXTS, ord("d"): "green hill"}
    assert slugs(reorder_by_mmr(pages, word_similarity(texts), 0.5)) == "acdb"


def test_lambda_one_changes_nothing() -> None:
    assert reorder_by_mmr(PAGES, word_similarity(TEXTS), 1.0) == PAGES
    assert sorted(reorder_by_mmr(PAGES, word_similarity(TEXTS), 0.1)) == sorted(PAGES)


def test_only_the_first_fifty_move() -> None:
    many = [Ranked(n, f"{n:02}", 1.0, {}) for n in range(60)]
    texts = {n: "same" if n < 49 else "other" for n in range(60)}
    found = reorder_by_mmr(many, word_similarity(texts), 0.5)
    assert [one.page_id for one in found[:2]] == [0, 49]
    assert found[50:] == many[50:]


def test_word_similarity_is_the_share_in_common() -> None:
    alike = word_similarity({ord("a"): "Red apple", ord("b"): "red pear"})
    assert alike(PAGES[0], PAGES[1]) == pytest.approx(1 / 3)
    assert alike(PAGES[0], PAGES[2]) == 0.0


def test_vector_similarity_is_the_cosine_of_best_chunks() -> None:
    vectors = {ord("a"): np.array([1, 0], np.float32), ord("b"): np.array([0.6, 0.8], np.float32)}
    alike = vector_similarity(vectors)
    assert alike(PAGES[0], PAGES[1]) == pytest.approx(0.6)
    assert alike(PAGES[0], PAGES[2]) == 0.0


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(0, 2)), unique_by=lambda p: p[0]),
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["x", "x y", "y z", "z"])),
    st.floats(0, 1),
)
def test_no_page_is_lost_and_the_first_stays_first(
    scored: list[tuple[str, float]], texts: dict[str, str], lambda_: float
) -> None:
    pages = [page(slug, score) for slug, score in scored]
    alike = word_similarity({ord(slug): text for slug, text in texts.items()})
    found = reorder_by_mmr(pages, alike, lambda_)
    assert sorted(found) == sorted(pages)
    assert found[:1] == pages[:1]
