"""How alike two words look."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text.similarity import (
    MIN_WORDS,
    dice,
    distinctive_phrases,
    edit_distance,
    have_different_dates,
    is_likely_typo,
    is_other_form,
    jaccard,
    shingle_overlap,
    trigrams,
    word_shingles,
)


def test_trigrams_include_the_ends_of_a_word() -> None:
    assert trigrams("cat") == {"$ca", "cat", "at$"}
    assert trigrams("a") == {"$a$"}
    assert trigrams("") == set()


def test_jaccard_is_the_share_of_common_trigrams() -> None:
    assert jaccard(trigrams("kuberntes"), trigrams("kubernetes")) == 7 / 12
    assert jaccard(trigrams("cat"), trigrams("dog")) == 0
    assert jaccard(frozenset(), frozenset()) == 0


def test_dice_counts_common_trigrams_twice() -> None:
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
def test_edit_distance_counts_typos_up_to_a_limit(a: str, b: str, distance: int | None) -> None:
    assert edit_distance(a, b, 2) == distance


@given(st.text("ab", max_size=6), st.text("ab", max_size=6))
def test_similarity_is_symmetric(a: str, b: str) -> None:
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
def test_a_likely_typo_resembles_only_one_word(word: str, meant: str, sure: bool) -> None:
    assert is_likely_typo(word, meant) is sure


TWELVE = "The quick brown fox jumps over the lazy dog by the river"


def test_case_punctuation_and_line_ends_do_not_count():
    other = "the QUICK, brown fox —\r\njumps over the *lazy* dog: by the river!"
    assert shingle_overlap(word_shingles(TWELVE), word_shingles(other)) == 1


def test_one_changed_word_changes_three_shingles():
    other = TWELVE.replace("jumps", "leaps")
    assert len(word_shingles(TWELVE)) == 10
    assert shingle_overlap(word_shingles(TWELVE), word_shingles(other)) == pytest.approx(7 / 10)


def test_a_part_of_a_text_is_not_a_duplicate():
    double = TWELVE + " " + " ".join(f"word{number}" for number in range(12))
    assert shingle_overlap(word_shingles(TWELVE), word_shingles(double)) == pytest.approx(10 / 22)


def test_a_short_text_is_similar_to_nothing():
    few = " ".join(TWELVE.split()[: MIN_WORDS - 1])
    assert word_shingles(few) == frozenset()
    assert shingle_overlap(word_shingles(few), word_shingles(few)) == 0


@given(st.text(max_size=80), st.text(max_size=80))
def test_shingle_overlap_is_symmetric_and_from_0_to_1(one, other):
    a, b = word_shingles(one), word_shingles(other)
    assert shingle_overlap(a, b) == shingle_overlap(b, a)
    assert 0 <= shingle_overlap(a, b) <= 1


@pytest.mark.parametrize(
    ("one", "other", "different"),
    [
        ("journal/2026-04-03", "journal/2026-04-04", True),
        ("journal/2026-04-03", "archive/2026-04-03", False),
        ("journal/2026-04", "journal/2026-05", True),
        ("meetings/2026-04-09-review", "meetings/2026-04-16-review", True),
        ("journal/2026-04-03", "notes/plan", False),
        ("2026-04-03/a", "2026-04-04/b", False),
    ],
)
def test_notes_of_different_days_have_different_dates(one, other, different):
    assert have_different_dates(one, other) is different


def test_phrases_are_spread_and_made_of_long_words():
    text = "a an of remarkable knowledge gardens it is so. we do patient evergreen writing to us"
    assert distinctive_phrases(text, 2) == [
        "remarkable knowledge gardens",
        "patient evergreen writing",
    ]


@given(st.text(max_size=200), st.integers(1, 9))
def test_phrases_are_in_the_text(text, count):
    phrases = distinctive_phrases(text, count)
    assert len(phrases) <= count
    words = " ".join(phrases).split()
    assert all(word in text for word in words)


@pytest.mark.parametrize(
    ("word", "other", "same"),
    [
        ("bringt", "bringe", True),
        ("compra", "compro", True),
        ("wohnungen", "wohnunges", True),
        ("zahnarz", "zahnarzt", False),
        ("sourdogh", "sourdough", False),
        ("hase", "hast", False),
    ],
)
def test_forms_of_a_word_differ_in_their_endings(word: str, other: str, same: bool) -> None:
    assert is_other_form(word, other) is same
