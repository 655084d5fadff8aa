"""The questions that a page answers: those its front matter lists, and those its parts suggest."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

MAX_QUESTIONS = 200
_LONGEST = 500
_ENTRY_WORDS = 20
_MONTHS = (
    "January February March April May June July August September October November December"
).split()


class QuestionSource(NamedTuple):
    """A passage as far as questions go; `date` is as a chunk has it, and only entries have one."""

    heading_path: tuple[str, ...]
    date: str | None
    text: str


def authored_questions(meta: str) -> list[str]:
    """The questions in a page's front matter (as JSON): a list, or one on each line."""
    written = json.loads(meta).get("questions") if '"questions"' in meta else None
    if isinstance(written, str):
        written = written.splitlines()
    if not isinstance(written, list):
        return []
    tidied = (" ".join(text.split())[:_LONGEST] for text in written if isinstance(text, str))
    return list(islice(filter(None, tidied), MAX_QUESTIONS))


def derive_questions(title: str, wing: str, parts: Iterable[QuestionSource]) -> list[str]:
    """The questions that a page's title, headings and dated entries suggest, without doubles."""
    asked = {f"{'Who' if wing == 'people' else 'What'} is {title}?": None}
    for part in parts:
        if part.date:
            asked[_what_happened(part.date, part.text)] = None
        elif part.heading_path and part.heading_path[-1] != title:
            heading = part.heading_path[-1]
            asked[heading if heading.endswith("?") else f"What is {heading} of {title}?"] = None
        if len(asked) >= MAX_QUESTIONS:
            break
    return [question[:_LONGEST] for question in asked]


def _what_happened(written: str, entry: str) -> str:
    from gbrain.text.timeline import parse_entry

    words = parse_entry(entry).words.split()[:_ENTRY_WORDS]
    return f"When, and what happened in {spell_out_date(written)}: {' '.join(words)}?"


def spell_out_date(written: str) -> str:
    """A date as a question would name it: `2026-04-03` is 3 April 2026."""
    year, _, rest = written[:10].partition("-")
    month, _, day = rest.partition("-")
    if month.startswith("Q"):
        return f"{month} {year}"
    if not (month.isdecimal() and 1 <= int(month) <= 12):
        return year
    named = f"{_MONTHS[int(month) - 1]} {year}"
    return f"{int(day)} {named}" if day.isdecimal() else named
