"""Texts compared word for word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text.wording import (
    FEWEST_WORDS,
    of_different_days,
    shared_wording,
    telling_phrases,
    word_runs,
)

TWELVE = "The quick brown fox jumps over the lazy dog by the river"


def test_case_punctuation_and_line_ends_do_not_count():
    other = "the QUICK, brown fox —\r\njumps over the *lazy* dog: by the river!"
    assert shared_wording(word_runs(TWELVE), word_runs(other)) == 1


def test_one_word_changed_costs_its_three_runs():
    other = TWELVE.replace("jumps", "leaps")
    assert len(word_runs(TWELVE)) == 10
    assert shared_wording(word_runs(TWELVE), word_runs(other)) == pytest.approx(7 / 10)


def test_a_part_is_not_the_whole():
    double = TWELVE + " " + " ".join(f"word{number}" for number in range(12))
    assert shared_wording(word_runs(TWELVE), word_runs(double)) == pytest.approx(10 / 22)


def test_few_words_are_like_nothing():
    few = " ".join(TWELVE.split()[: FEWEST_WORDS - 1])
    assert word_runs(few) == frozenset()
    assert shared_wording(word_runs(few), word_runs(few)) == 0


@given(st.text(max_size=80), st.text(max_size=80))
def test_it_is_a_share_and_works_both_ways(one, other):
    a, b = word_runs(one), word_runs(other)
    assert shared_wording(a, b) == shared_wording(b, a)
    assert 0 <= shared_wording(a, b) <= 1


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
def test_notes_of_different_days(one, other, different):
    assert of_different_days(one, other) is different


def test_phrases_are_spread_and_made_of_long_words():
    text = "a an of remarkable knowledge gardens it is so. we do patient evergreen writing to us"
    assert telling_phrases(text, 2) == ["remarkable knowledge gardens", "patient evergreen writing"]


@given(st.text(max_size=200), st.integers(1, 9))
def test_phrases_stand_in_the_text(text, count):
    phrases = telling_phrases(text, count)
    assert len(phrases) <= count
    words = " ".join(phrases).split()
    assert all(word in text for word in words)
