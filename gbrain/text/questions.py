"""Find the questions that a page answers: from front matter, or derived from headings and dates."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

MAX_QUESTIONS = 200
_MAX_QUESTION_CHARACTERS = 500
_MAX_ENTRY_WORDS = 20
_MONTHS = (
    "January February March April May June July August September October November December"
).split()


class QuestionSource(NamedTuple):
    """The parts of a chunk that questions are derived from; only timeline entries have a date."""

    heading_path: tuple[str, ...]
    date: str | None
    text: str


def authored_questions(meta: str) -> list[str]:
    """Return the questions in front matter (as JSON): a list, or text with one on each line."""
    written = json.loads(meta).get("questions") if '"questions"' in meta else None
    if isinstance(written, str):
        written = written.splitlines()
    if not isinstance(written, list):
        return []
    tidied = (
        " ".join(text.split())[:_MAX_QUESTION_CHARACTERS]
        for text in written
        if isinstance(text, str)
    )
    return list(islice(filter(None, tidied), MAX_QUESTIONS))


def derive_questions(title: str, wing: str, chunks: Iterable[QuestionSource]) -> list[str]:
    """Return the questions that title, headings and dated entries suggest, without duplicates."""
    questions = {f"{'Who' if wing == 'people' else 'What'} is {title}?": None}
    for chunk in chunks:
        if chunk.date:
            questions[_entry_question(chunk.date, chunk.text)] = None
        elif chunk.heading_path and chunk.heading_path[-1] != title:
            heading = chunk.heading_path[-1]
            questions[heading if heading.endswith("?") else f"What is {heading} of {title}?"] = None
        if len(questions) >= MAX_QUESTIONS:
            break
    return [question[:_MAX_QUESTION_CHARACTERS] for question in questions]


def _entry_question(written: str, entry: str) -> str:
    from gbrain.text.timeline import parse_entry

    words = parse_entry(entry).words.split()[:_MAX_ENTRY_WORDS]
    return f"When, and what happened in {spell_out_date(written)}: {' '.join(words)}?"


def spell_out_date(written: str) -> str:
    """Return a date as a question would name it: `3 April 2026` for `2026-04-03`."""
    year, _, rest = written[:10].partition("-")
    month, _, day = rest.partition("-")
    if month.startswith("Q"):
        return f"{month} {year}"
    if not (month.isdecimal() and 1 <= int(month) <= 12):
        return year
    named = f"{_MONTHS[int(month) - 1]} {year}"
    return f"{int(day)} {named}" if day.isdecimal() else named
