"""How alike two words look."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text.likeness import dice, edit_distance, jaccard, surely_a_slip, trigrams


def test_a_word_is_cut_into_threes_with_its_ends_marked() -> None:
    assert trigrams("cat") == {"$ca", "cat", "at$"}
    assert trigrams("a") == {"$a$"}
    assert trigrams("") == set()


def test_jaccard_is_the_share_of_pieces_in_common() -> None:
    assert jaccard(trigrams("kuberntes"), trigrams("kubernetes")) == 7 / 12
    assert jaccard(trigrams("cat"), trigrams("dog")) == 0
    assert jaccard(frozenset(), frozenset()) == 0


def test_dice_counts_what_is_common_twice() -> None:
    assert dice(frozenset("abc"), frozenset("bcd")) == 4 / 6
    assert dice(frozenset(), frozenset()) == 0


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ("", "", 0),
        ("ab", "ab", 0),
        ("ab", "ba", 1),
        ("abc", "ac", 1),
        ("abc", "axc", 1),
        ("a", "bcd", None),
    ],
)
def test_edit_distance(a: str, b: str, distance: int | None) -> None:
    assert edit_distance(a, b, 2) == distance


@given(st.text("ab", max_size=6), st.text("ab", max_size=6))
def test_likeness_is_the_same_both_ways(a: str, b: str) -> None:
    assert edit_distance(a, b, 3) == edit_distance(b, a, 3)
    assert (edit_distance(a, b, 3) == 0) is (a == b)
    assert jaccard(trigrams(a), trigrams(b)) == jaccard(trigrams(b), trigrams(a))
    assert 0 <= jaccard(trigrams(a), trigrams(b)) <= 1


@pytest.mark.parametrize(
    ("word", "meant", "sure"),
    [
        ("kuberntes", "kubernetes", True),
        ("ubernetes", "kubernetes", True),
        ("kuberntess", "kubernetes", False),
        ("univeristties", "universities", True),
        ("zough", "dough", False),
        ("spaceship", "space", False),
    ],
)
def test_a_slip_is_one_that_can_be_nothing_else(word: str, meant: str, sure: bool) -> None:
    assert surely_a_slip(word, meant) is sure
