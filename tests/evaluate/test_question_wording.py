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


def test_a_seed_always_picks_the_same() -> None:
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
def test_markup_leaves_what_a_reader_sees(written: str, read: str) -> None:
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


def test_telling_words_are_no_stop_words_no_numbers_and_stand_once() -> None:
    text = "The heron and the Heron stood in 1999 at 2026-04-03, by a marsh"
    assert content_words(text) == ["heron", "stood", "marsh"]


def test_words_held_out_take_their_other_forms_with_them() -> None:
    assert content_words("river banks and rivers", ["Rivers"]) == ["banks"]
    assert content_words("She writes, having written", ["write"]) == ["written"]


def test_a_clause_without_spaces_is_asked_by_its_beginning() -> None:
    assert content_words("春天的第一场雨来得很早") == ["春天的第一场"]


@pytest.mark.parametrize(
    ("one", "other"), [("rivers", "river"), ("studies", "study"), ("walked", "walking")]
)
def test_forms_of_a_word_share_their_stem(one: str, other: str) -> None:
    assert rough_stem(one) == rough_stem(other)


@given(WORDS, st.text())
def test_one_slip_in_the_longest_word_and_nowhere_else(words: list[str], seed: str) -> None:
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
def test_another_form_of_a_word(word: str, other: str) -> None:
    assert reword(word) == other


def test_a_paraphrase_turns_the_words_around_inside_a_question() -> None:
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
