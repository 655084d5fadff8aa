"""Texts of notes whose lines name the note they were written for, so that none can get lost."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

# Ends with a semicolon: half a marker in a file that is being saved is none.
_MARKER = re.compile(r"\bn(\d+)x(\d+);")
_TEMPLATES = (
    "# Day\n\n## Mood\n\nCalm and curious, as on most days of this month.\n\n"
    "## Plan\n\n- [ ] Water the plants\n- [ ] Read one chapter\n\n"
    "What went well, and what shall change tomorrow?\n\n"
    "## Timeline\n- 2026-01-02 — The day began\n",
    "# Meeting\n\nWho was there, and what was decided?\n\n- [ ] Send the minutes\n\n"
    "## Timeline\n- 2026-01-03 — The agenda was sent\n",
)
_START = "# Note\n\nThe first words.\n\n- [ ] Call back\n\n## Timeline\n- 2026-01-02 — Began\n"
WAYS_TO_CHANGE = ("line", "entry", "task", "tick", "reword")


class Marker(NamedTuple):
    """The number of a note, and that of a line or addition in it."""

    note: int
    number: int

    def __str__(self) -> str:
        return f"n{self.note}x{self.number};"


@lru_cache(maxsize=10_000)
def markers(text: str) -> frozenset[Marker]:
    """Return all markers in a text."""
    return frozenset(Marker(int(note), int(number)) for note, number in _MARKER.findall(text))


def repeated_markers(text: str) -> list[Marker]:
    """Return the markers that are in more than one line of a text."""
    counts = Counter(_MARKER.findall(text))
    return [Marker(int(note), int(number)) for (note, number), n in counts.items() if n > 1]


def template(number: int) -> str:
    """Return a text that many notes may start with."""
    return _TEMPLATES[number % len(_TEMPLATES)]


def change_text(text: str | None, way: str, place: int, marker: Marker) -> str:
    """Return the text with one more line, or one that is ticked or reworded, that has the marker.

    None stands for a note that does not exist yet.
    """
    lines = (_START if text is None else text).split("\n")
    if way in ("tick", "reword"):
        wanted = "- [ ]" if way == "tick" else ""
        found = [n for n, line in enumerate(lines) if _MARKER.search(line) and wanted in line]
        if found:
            at = found[place % len(found)]
            lines[at] = f"{lines[at].replace('- [ ]', '- [x]')} and {marker}"
            return "\n".join(lines)
        way = "line"
    if way == "entry":
        at = len(lines) - 1 if not lines[-1] else len(lines)
        lines.insert(at, f"- 2026-01-{place % 28 + 1:02} — Met {marker}")
        return "\n".join(lines)
    ends = [n for n, line in enumerate(lines) if line == "## Timeline"]
    last = max(ends[0] - 1 if ends else len(lines) - 1, 0)
    blank = [n for n, line in enumerate(lines[:last]) if not line.strip()] or [last]
    at = blank[place % len(blank)]
    added = f"- [ ] Do {marker}" if way == "task" else f"Words {marker}"
    lines[at:at] = ["", added] if way == "line" else [added]
    return "\n".join(lines)
