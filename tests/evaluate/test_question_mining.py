"""Questions mined from pages: fair, the same every time, and known when they no longer hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.evaluate.question_mining import (
    QUESTION_KINDS,
    MinedQuestion,
    add_typo,
    content_words,
    is_still_valid,
    mine_questions,
    paraphrase,
    prose_sentences,
    refresh_questions,
    reword,
    rough_stem,
    split_sentences,
    stable_choice,
    strip_markup,
)
from gbrain.search.name_match import match_name
from gbrain.text.query_terms import parse_terms
from gbrain.text.similarity import edit_distance
from gbrain.types import Query, Scope

HERON = b"""# Wading birds

The grey heron stands motionless in shallow water.

## Nesting colonies

Heronries fill tall alders near reservoirs.

---
## Timeline
- 2026-04-03 \xe2\x80\x94 Counted eleven nests behind the mill
- 2025 \xe2\x80\x94 First winter without ice
"""
DIARY = b"""# Diary

Yesterday we counted alders around reservoirs with [[wading-birds|the bird page]] open.
"""


def mined(brain: Brain, most: int = 100) -> list[MinedQuestion]:
    with brain.database.read_transaction() as connection:
        return mine_questions(connection, most)


@pytest.fixture
def birds(brain: Brain) -> Brain:
    brain.put("wading-birds", HERON)
    brain.put("diary", DIARY)
    brain.put("water", b"# Water\n\nA heron, shallow and motionless: standing water counted.\n")
    return brain


def asked(brain: Brain, kind: str, slug: str) -> list[str]:
    return [q.text for q in mined(brain) if (q.kind, q.slug) == (kind, slug)]


def test_a_page_is_asked_by_what_it_says_first_without_its_title(birds: Brain) -> None:
    (text,) = asked(birds, "title", "wading-birds")
    assert text == "heron stands motionless shallow water"


def test_a_page_is_asked_by_a_heading_and_the_rarest_word_below(birds: Brain) -> None:
    (text,) = asked(birds, "heading", "wading-birds")
    assert text == "Nesting colonies Heronries"


def test_entries_are_asked_by_their_dates(birds: Brain) -> None:
    assert sorted(asked(birds, "timeline", "wading-birds")) == [
        "what happened in 2025: First winter without",
        "what happened on 3 April 2026: Counted eleven nests",
    ]


def test_a_linked_page_is_asked_by_the_words_that_lead_to_it(birds: Brain) -> None:
    (question,) = [q for q in mined(birds) if q.kind == "link"]
    assert (question.slug, question.exclude) == ("wading-birds", "diary")
    assert "alders" in question.text
    assert "bird" not in question.text


def test_misspelt_and_reworded_questions_come_from_the_plain_ones(birds: Brain) -> None:
    strip_markup = [
        *asked(birds, "title", "wading-birds"),
        *asked(birds, "heading", "wading-birds"),
    ]
    for kind in ("typo", "paraphrase"):
        variants = asked(birds, kind, "wading-birds")
        assert len(variants) == len(strip_markup)
        assert not set(variants) & set(strip_markup)


def test_the_same_pages_give_the_same_questions(birds: Brain, tmp_path: Path) -> None:
    with Brain.open(tmp_path / "other.db", make=True) as other:
        for slug in ("water", "diary", "wading-birds"):
            other.put(slug, birds.text(slug).encode())
        assert sorted(mined(other)) == sorted(mined(birds))


def test_one_page_more_leaves_most_questions_as_they_were(sample: Path) -> None:
    with Brain.open(sample) as brain:
        before = {question.id for question in mined(brain, 10)}
        brain.put("one-more", b"# One more\n\nA page about lighthouses and their keepers.\n")
        after = {question.id for question in mined(brain, 10)}
    assert len(before & after) > 0.8 * len(before)


def test_every_kind_has_its_questions_and_no_more_than_asked_for(sample: Path) -> None:
    with Brain.open(sample) as brain:
        questions = mined(brain, 5)
    assert [question.kind for question in questions] == [
        kind for kind in QUESTION_KINDS for _ in range(5)
    ]
    assert len({question.id for question in questions}) == len(questions)


def test_no_question_is_a_name_that_answers_at_once(sample: Path) -> None:
    with Brain.open(sample) as brain, brain.database.read_transaction() as connection:
        for question in mine_questions(connection):
            if question.kind not in ("typo", "paraphrase"):
                query = Query(question.text, parse_terms(question.text), Scope(), 10)
                assert match_name(connection, query).answer is None, question


def test_a_question_holds_while_its_words_stand_in_the_page(birds: Brain) -> None:
    questions = [question for question in mined(birds) if question.slug == "wading-birds"]
    with birds.database.read_transaction() as connection:
        assert all(is_still_valid(connection, question) for question in questions)
    birds.put("wading-birds", HERON.replace(b"The grey heron", b"A white egret"))
    with birds.database.read_transaction() as connection:
        held = {question.kind for question in questions if is_still_valid(connection, question)}
    assert "title" not in held
    assert held >= {"heading", "timeline", "link"}
    birds.delete("wading-birds")
    with birds.database.read_transaction() as connection:
        assert not any(is_still_valid(connection, question) for question in questions)


def test_known_questions_stay_and_new_pages_bring_theirs(birds: Brain) -> None:
    known = mined(birds)
    birds.put("boats", b"# Boats\n\nTarred planks dry slowly under canvas awnings.\n")
    birds.delete("water")
    with birds.database.read_transaction() as connection:
        questions = refresh_questions(connection, known)
    assert {q for q in known if q.slug == "wading-birds"} <= set(questions)
    assert {q.slug for q in questions} - {q.slug for q in known} == {"boats"}
    assert not any(question.slug == "water" for question in questions)


@pytest.mark.parametrize(
    "text",
    ["", "# Only a title\n", "???\n\n!!!\n", "a b c d\n", "```\ncode only\n```\n", "| a | b |\n"],
)
def test_a_page_that_says_nothing_is_not_asked_for(brain: Brain, text: str) -> None:
    brain.put("page", text.encode())
    assert mined(brain) == []


def test_pages_in_any_script_are_asked_for(brain: Brain) -> None:
    brain.put(
        "雨", "# 雨\n\n春天的第一场雨来得很早，我们在山上看见云海。桥边的茶馆开门了。\n".encode()
    )
    brain.put("лес", "# Лес\n\nСтарые сосны растут возле тихого озера.\n".encode())
    assert {question.slug for question in mined(brain)} == {"雨", "лес"}


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
