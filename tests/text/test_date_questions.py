"""The periods that questions ask about, asked on a Monday, and the words that are left."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text.date_questions import split_question

TODAY = date(2026, 11, 16)


@pytest.mark.parametrize(
    ("question", "first", "last", "rest"),
    [
        ("what did Alice do in April?", "2026-04-01", "2026-04-30", "what did Alice do?"),
        ("Alice in December", "2025-12-01", "2025-12-31", "Alice"),
        ("Luc March", "2026-03-01", "2026-03-31", "Luc"),
        ("rent, May 2025", "2025-05-01", "2025-05-31", "rent,"),
        ("3-7 May 2026 trip", "2026-05-03", "2026-05-07", "trip"),
        ("call on 14/03/2026", "2026-03-14", "2026-03-14", "call"),
        ("was war am 12.10.2025?", "2025-10-12", "2025-10-12", "was war?"),
        ("Zahnarzt im Mai 2024", "2024-05-01", "2024-05-31", "Zahnarzt"),
        ("Marisol en noviembre de 2024", "2024-11-01", "2024-11-30", "Marisol"),
        ("Arzt letzte Woche", "2026-11-09", "2026-11-15", "Arzt"),
        ("Jan in the first week of June 2026", "2026-06-01", "2026-06-07", "Jan"),
        ("Jan, week of 12 October 2026", "2026-10-12", "2026-10-18", "Jan,"),
        ("the race in the last week of March 2026", "2026-03-23", "2026-03-31", "the race"),
        ("the weekend of 3 May 2026", "2026-05-02", "2026-05-03", ""),
        ("KW 23", "2026-06-01", "2026-06-07", ""),
        ("the week before last", "2026-11-02", "2026-11-08", ""),
        ("planted two weeks ago on Monday?", "2026-11-02", "2026-11-02", "planted?"),
        ("kitchen in the second quarter of 2026", "2026-04-01", "2026-06-30", "kitchen"),
        ("first half of 2025", "2025-01-01", "2025-06-30", ""),
        ("H2 2025 goals", "2025-07-01", "2025-12-31", "goals"),
        ("climbing last summer", "2026-06-01", "2026-08-31", "climbing"),
        ("Luc last winter", "2025-12-01", "2026-02-28", "Luc"),
        ("winter 2025/26", "2025-12-01", "2026-02-28", ""),
        ("Oskar since June", "2026-06-01", "2026-11-16", "Oskar"),
        ("Jan since the summer began", "2026-06-01", "2026-11-16", "Jan"),
        ("Luc between January and June 2025", "2025-01-01", "2025-06-30", "Luc"),
        ("between March and May", "2026-03-01", "2026-05-31", ""),
        ("from November 2025 to February", "2025-11-01", "2026-02-28", ""),
        ("in March and April 2025", "2025-03-01", "2025-03-31", "and"),
        ("before June 2025", "2025-02-28", "2025-05-31", ""),
        ("two weeks before 3 May 2026", "2026-04-19", "2026-05-03", ""),
        ("early May 2025", "2025-05-01", "2025-05-13", ""),
        ("Priya a year ago", "2025-11-01", "2025-11-30", "Priya"),
        ("in 2024", "2024-01-01", "2024-12-31", ""),
        ("Alice last week", "2026-11-09", "2026-11-15", "Alice"),
        ("Alice three months ago", "2026-08-01", "2026-08-31", "Alice"),
        ("Alice since May", "2026-05-01", "2026-11-16", "Alice"),
        ("Alice between March and June", "2026-03-01", "2026-06-30", "Alice"),
        ("Alice between 3 and 9 April 2026", "2026-04-03", "2026-04-09", "Alice"),
        ("Alice in Q2", "2026-04-01", "2026-06-30", "Alice"),
        ("Alice in the third quarter", "2026-07-01", "2026-09-30", "Alice"),
        ("Alice in spring", "2026-03-01", "2026-05-31", "Alice"),
        ("Alice earlier this year", "2026-01-01", "2026-12-31", "Alice"),
    ],
)  # fmt: skip
def test_a_question_is_split_into_its_time_and_the_rest(
    question: str, first: str, last: str, rest: str
) -> None:
    found = split_question(question, TODAY)
    assert (found.levels[0][0].first, found.levels[0][0].last) == (first, last)
    assert found.rest == rest


def test_a_month_without_a_year_may_be_of_an_earlier_one() -> None:
    levels = split_question("in April", TODAY).levels
    assert [level[0].first for level in levels[:3]] == ["2026-04-01", "2025-04-01", "2024-04-01"]
    assert len(split_question("in April 2026", TODAY).levels) == 1


def test_a_leap_day_recurs_only_in_leap_years() -> None:
    levels = split_question("on 29 February", TODAY).levels
    assert [level[0].first for level in levels] == ["2024-02-29", "2020-02-29", "2016-02-29"]


@pytest.mark.parametrize(
    "question",
    ["summer tyres", "what did Theresa May say", "I may march", "Tax return 2025", "error 404",
     "v1.2.3", "open tasks", "room 2025", "the second half of the novel", "week 3 of training"],
)  # fmt: skip
def test_a_question_without_a_time_stays_as_it_is(question: str) -> None:
    assert split_question(question, TODAY) == ((), question)


WORDS = """between and from to since before after until first last second week weekend half quarter
of in on March May 3 12.10.2025 2026-04 2026 Q2 summer winter early late ago two years the Alice KW
60 31 February - yesterday Monday 9999 1/1/0001 im Mai""".split()


@given(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join))
def test_any_question_can_be_split(text: str) -> None:
    for level in split_question(text, TODAY).levels:
        assert all(period.first <= period.last for period in level)


def test_a_text_longer_than_a_question_has_no_period() -> None:
    text = "im april " * 9_000
    assert split_question(text, TODAY) == ((), text)
