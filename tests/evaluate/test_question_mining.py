"""Questions mined from pages: fair, the same every time, and known when they no longer hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.evaluate.question_mining import (
    QUESTION_KINDS,
    MinedQuestion,
    is_still_valid,
    mine_questions,
    refresh_questions,
)
from gbrain.search.name_match import match_name
from gbrain.text.query_terms import parse_terms
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


def test_a_first_sentence_becomes_a_question_without_the_title(birds: Brain) -> None:
    (text,) = asked(birds, "title", "wading-birds")
    assert text == "heron stands motionless shallow water"


def test_a_heading_and_its_rarest_word_become_a_question(birds: Brain) -> None:
    (text,) = asked(birds, "heading", "wading-birds")
    assert text == "Nesting colonies Heronries"


def test_timeline_entries_become_questions_with_dates(birds: Brain) -> None:
    assert sorted(asked(birds, "timeline", "wading-birds")) == [
        "what happened in 2025: First winter without",
        "what happened on 3 April 2026: Counted eleven nests",
    ]


def test_the_text_around_a_link_becomes_a_question(birds: Brain) -> None:
    (question,) = [q for q in mined(birds) if q.kind == "link"]
    assert (question.slug, question.exclude) == ("wading-birds", "diary")
    assert "alders" in question.text
    assert "bird" not in question.text


def test_misspelt_and_reworded_questions_have_a_plain_source(birds: Brain) -> None:
    strip_markup = [
        *asked(birds, "title", "wading-birds"),
        *asked(birds, "heading", "wading-birds"),
    ]
    for kind in ("typo", "paraphrase"):
        variants = asked(birds, kind, "wading-birds")
        assert len(variants) == len(strip_markup)
        assert not set(variants) & set(strip_markup)


def test_an_identifier_of_one_page_is_asked_for_before_words(birds: Brain) -> None:
    birds.put("camera", b"# Camera\n\nAnn's heron hide streams with `parseFrames` over water.\n")
    birds.put("ann", b"# Friends\n\nAnn's heron water grey.\n\nAnn counted.\n")
    assert asked(birds, "rare", "camera") == ["parseFrames"]
    assert asked(birds, "rare", "ann") == []
    (word,) = asked(birds, "rare", "wading-birds")
    assert word == "Heronries"
    question = next(q for q in mined(birds) if q.text == "parseFrames")
    birds.put("other", b"# Other\n\nCalls parseFrames, too.\n")
    with birds.database.read_transaction() as connection:
        assert not is_still_valid(connection, question)


def test_a_month_of_a_timeline_is_asked_with_the_title(birds: Brain) -> None:
    (question,) = [q for q in mined(birds) if q.kind == "month"]
    assert question.text in (
        "what happened in April with Wading birds?",
        "what happened in April 2026 with Wading birds?",
    )
    assert (question.slug, question.expects) == ("wading-birds", "2026-04")


def test_a_missing_word_is_asked_of_each_page_until_it_is_known(birds: Brain) -> None:
    (question,) = [q for q in mined(birds) if (q.kind, q.slug) == ("unanswerable", "wading-birds")]
    assert question.expects
    assert question.expects in question.text
    assert "Wading birds" in question.text
    birds.put("other", f"# Other\n\nA {question.expects} at last.\n".encode())
    with birds.database.read_transaction() as connection:
        assert not is_still_valid(connection, question)
    assert question not in mined(birds)


def test_the_same_pages_give_the_same_questions(birds: Brain, tmp_path: Path) -> None:
    with Brain.open(tmp_path / "other.db", make=True) as other:
        for slug in ("water", "diary", "wading-birds"):
            other.put(slug, birds.text(slug).encode())
        assert sorted(mined(other)) == sorted(mined(birds))


def test_one_more_page_keeps_most_questions(sample: Path) -> None:
    with Brain.open(sample) as brain:
        before = {question.id for question in mined(brain, 10)}
        brain.put("one-more", b"# One more\n\nA page about lighthouses and their keepers.\n")
        after = {question.id for question in mined(brain, 10)}
    assert len(before & after) > 0.8 * len(before)


def test_every_kind_has_questions_up_to_the_limit(sample: Path) -> None:
    with Brain.open(sample) as brain:
        questions = mined(brain, 5)
    # The sample has no vectors, so no note can be found by its meaning.
    assert [question.kind for question in questions] == [
        kind for kind in QUESTION_KINDS if kind != "fresh" for _ in range(5)
    ]
    assert len({question.id for question in questions}) == len(questions)


def test_no_question_is_the_name_of_a_page(sample: Path) -> None:
    with Brain.open(sample) as brain, brain.database.read_transaction() as connection:
        questions = list(mine_questions(connection))
        assert {"typo", "paraphrase"} < {question.kind for question in questions}
        for question in questions:
            if question.kind not in ("typo", "paraphrase"):
                query = Query(question.text, parse_terms(question.text), Scope(), 10)
                assert match_name(connection, query).answer is None, question


def test_a_question_is_kept_while_its_words_are_in_the_page(birds: Brain) -> None:
    questions = [question for question in mined(birds) if question.slug == "wading-birds"]
    assert questions
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


def test_known_questions_stay_and_new_pages_add_some(birds: Brain) -> None:
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
def test_an_empty_page_gives_no_question(brain: Brain, text: str) -> None:
    brain.put("page", text.encode())
    assert mined(brain) == []


def test_pages_in_any_script_give_questions(brain: Brain) -> None:
    brain.put(
        "雨", "# 雨\n\n春天的第一场雨来得很早，我们在山上看见云海。桥边的茶馆开门了。\n".encode()
    )
    brain.put("лес", "# Лес\n\nСтарые сосны растут возле тихого озера.\n".encode())
    assert {question.slug for question in mined(brain)} == {"雨", "лес"}
