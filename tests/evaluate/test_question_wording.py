"""Words for mined questions: markup is stripped, typos and paraphrases are repeatable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.evaluate.question_wording import (
    add_typo,
    content_words,
    paraphrase,
    prose_sentences,
    reword,
    rough_stem,
    split_sentences,
    stable_choice,
    strip_markup,
)
from gbrain.text.similarity import edit_distance

WORDS = st.lists(st.text("abcdefghijklmnopqrstuvwxyzäß", min_size=1, max_size=12), min_size=1)


def test_a_seed_always_picks_the_same_choice() -> None:
    assert [stable_choice(seed, 100) for seed in ("one", "two", "three")] == [89, 71, 10]


@given(st.text(), st.integers(1, 1000))
def test_a_pick_is_one_of_the_choices(seed: str, choices: int) -> None:
    assert 0 <= stable_choice(seed, choices) < choices


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("see [the plan](../plan.md) now", "see the plan now"),
        ("with [[people/alice-chen]] and [[x|her team]]", "with alice chen and her team"),
        ("run `gbrain embed` on <b>bold</b> https://example.org/x", "run on bold"),
        ("![a photo](x.png) of it", "of it"),
    ],
)
def test_markup_is_removed(written: str, read: str) -> None:
    assert " ".join(strip_markup(written).split()) == read


def test_sentences_end_with_signs_paragraphs_and_list_items() -> None:
    text = "One here. Two there!\n\nThree\n- four\n- five 1.5 litres"
    assert split_sentences(text) == [
        "One here.",
        "Two there!",
        "Three",
        "- four",
        "- five 1.5 litres",
    ]


def test_prose_is_neither_code_nor_table_nor_heading() -> None:
    text = "# Title\n\nSaid first.\n\n```py\nx = 1. \n```\n\n| a | b |\n\nSaid last."
    assert prose_sentences(text) == ["Said first.", "Said last."]


def test_content_words_are_unique_without_stop_words() -> None:
    text = "The heron and the Heron stood in 1999 at 2026-04-03, by a marsh"
    assert content_words(text) == ["heron", "stood", "marsh"]


def test_excluded_words_exclude_their_other_forms() -> None:
    assert content_words("river banks and rivers", ["Rivers"]) == ["banks"]
    assert content_words("She writes, having written", ["write"]) == ["written"]


def test_a_clause_without_spaces_is_cut_to_its_start() -> None:
    assert content_words("春天的第一场雨来得很早") == ["春天的第一场"]


@pytest.mark.parametrize(
    ("one", "other"), [("rivers", "river"), ("studies", "study"), ("walked", "walking")]
)
def test_forms_of_a_word_share_their_stem(one: str, other: str) -> None:
    assert rough_stem(one) == rough_stem(other)


@given(WORDS, st.text())
def test_one_typo_in_the_longest_word_only(words: list[str], seed: str) -> None:
    wrong = add_typo(words, seed)
    assert len(wrong) == len(words)
    changed = [(a, b) for a, b in zip(words, wrong, strict=True) if a != b]
    longest = max(map(len, words))
    assert len(changed) == (longest >= 4)
    for right, slip in changed:
        assert len(right) == longest
        assert edit_distance(right, slip, 1) == 1
        assert right[0] == slip[0]


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("libraries", "library"),
        ("boats", "boat"),
        ("question", "questions"),
        ("fix", "repair"),
        ("Berlin", "Berlin"),
        ("glass", "glass"),
        ("雨", "雨"),
    ],
)
def test_a_word_is_changed_to_another_form(word: str, other: str) -> None:
    assert reword(word) == other


def test_a_paraphrase_depends_on_its_seed() -> None:
    assert paraphrase(["fix", "bicycle", "brakes"], "a") != paraphrase(
        ["fix", "bicycle", "brakes"], "b"
    )
    assert "bicycle" in paraphrase(["fix", "bicycle", "brakes"], "a")


@given(WORDS, st.text())
def test_a_paraphrase_keeps_every_word_in_some_form(words: list[str], seed: str) -> None:
    said = paraphrase(words, seed)
    assert len(said.split()) >= len(words)
    assert said == paraphrase(words, seed)


@given(st.text())
def test_any_text_has_words(text: str) -> None:
    for sentence in (*prose_sentences(text), *split_sentences(text)):
        assert sentence in text
    assert all(content_words(text))
