"""The questions that a page answers, as written and as its parts suggest them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text.page import (
    MAX_QUESTIONS,
    QuestionSource,
    authored_questions,
    derive_questions,
    parse_page,
    spell_out_date,
)

PAGE = b"""---
title: Alice Chen
wing: people
questions:
  - Who founded  RiverAI?
  - What does she think of cloud RAG?
---
# Alice Chen

Founder.

## Role

Chief of all.

## What is next?

Nobody knows.

---
## Timeline
- 2026-04-03 \xe2\x80\x94 Joined RiverAI as CTO
- **2026-03** | podcast \xe2\x80\x94 Spoke of boats
- 2025: rested
"""


def test_front_matter_lists_questions() -> None:
    page = parse_page("alice.md", PAGE)
    assert authored_questions(page.meta) == [
        "Who founded RiverAI?",
        "What does she think of cloud RAG?",
    ]


@pytest.mark.parametrize(
    ("value", "questions"),
    [
        ("Who?", ["Who?"]),
        ("Who?\n\nWhy?\n", ["Who?", "Why?"]),
        (["Who?", 3, None, " ", ["x"]], ["Who?"]),
        ({"a": "b"}, []),
        (None, []),
        (7, []),
    ],
)
def test_questions_may_be_a_list_or_lines(value: object, questions: list[str]) -> None:
    assert authored_questions(json.dumps({"questions": value})) == questions


def test_without_front_matter_there_are_no_questions() -> None:
    assert authored_questions("{}") == []
    assert authored_questions('{"title": "\\"questions\\""}') == []


def test_title_headings_and_dated_entries_suggest_questions() -> None:
    page = parse_page("alice.md", PAGE)
    parts = [QuestionSource(chunk.heading_path, chunk.date, chunk.text) for chunk in page.chunks]
    assert derive_questions(page.title, page.wing, parts) == [
        "Who is Alice Chen?",
        "What is Role of Alice Chen?",
        "What is next?",
        "When, and what happened in 3 April 2026: Joined RiverAI as CTO?",
        "When, and what happened in March 2026: Spoke of boats?",
        "When, and what happened in 2025: rested?",
    ]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("2026", "2026"),
        ("2026-04", "April 2026"),
        ("2026-04-03", "3 April 2026"),
        ("2026-04-03T10:30", "3 April 2026"),
        ("2026-Q2", "Q2 2026"),
        ("2026-04-06/2026-04-12", "6 April 2026"),
    ],
)
def test_a_date_is_named_in_words(written: str, words: str) -> None:
    assert spell_out_date(written) == words


def test_the_number_of_questions_is_limited() -> None:
    many = [QuestionSource((f"Heading {n}",), None, "") for n in range(2 * MAX_QUESTIONS)]
    assert len(derive_questions("T", "general", many)) == MAX_QUESTIONS
    assert (
        len(authored_questions(json.dumps({"questions": ["Why?"] * 2 * MAX_QUESTIONS})))
        == MAX_QUESTIONS
    )


@given(st.text(), st.lists(st.tuples(st.lists(st.text()), st.text())))
def test_questions_can_be_derived_from_any_page(
    title: str, parts: list[tuple[list[str], str]]
) -> None:
    asked = derive_questions(
        title, "", [QuestionSource(tuple(path), "2026-04-03", text) for path, text in parts]
    )
    assert len(asked) <= len(parts) + 1
