"""Answers of a bounded size: a part of a long text, and long lists cut with a note."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, NamedTuple

from gbrain.output.json import Document

MOST_ENTRIES = 100
LONGEST_VALUE = 10_000
_NAME = 100


class Part(NamedTuple):
    """A stretch of a text; offsets count characters of the whole."""

    text: str
    offset: int
    characters: int
    next_offset: int | None

    @property
    def note(self) -> str:
        """What is missing, for a reader; empty if nothing is."""
        if self.next_offset is None:
            return ""
        stop = self.offset + len(self.text)
        return (
            f"\n\n[characters {self.offset} to {stop} of {self.characters}; "
            f"offset {self.next_offset} gives the rest]"
        )


def part_of(
    text: str, offset: int, characters: int, first_line: int | None, last_line: int | None
) -> Part:
    """`characters` of a text from `offset` on, within the lines if they are named (from 1)."""
    start, stop = 0, len(text)
    if first_line is not None or last_line is not None:
        starts = [0, *(end.end() for end in re.finditer(r"\r\n|\r|\n", text)), len(text)]
        start = starts[min((first_line or 1) - 1, len(starts) - 1)]
        stop = starts[min(last_line or len(starts), len(starts) - 1)]
    start = min(max(start, offset), len(text))
    end = min(max(stop, start), start + characters)
    return Part(text[start:end], start, len(text), end if end < stop else None)


def shortened(document: Document, whole: tuple[str, ...] = ()) -> Document:
    """The document with long lists, maps and texts cut; `truncated` says which, if any were.

    Those named `whole` are bounded otherwise and stay as they are.
    """
    cut: list[str] = []
    short = {
        name: value if name in whole else _short(value, name, cut)
        for name, value in document.items()
    }
    return {**short, "truncated": cut[:MOST_ENTRIES]} if cut else short


def _short(value: Any, place: str, cut: list[str]) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        cut.append(f"{place}: {LONGEST_VALUE} of {len(value)} characters")
        return value[:LONGEST_VALUE]
    if not isinstance(value, list | dict):
        return value
    if len(value) > MOST_ENTRIES:
        cut.append(f"{place}: {MOST_ENTRIES} of {len(value)} entries")
    if isinstance(value, list):
        return [_short(one, f"{place}[]", cut) for one in value[:MOST_ENTRIES]]
    first = islice(value.items(), MOST_ENTRIES)
    return {name[:_NAME]: _short(one, f"{place}.{name[:_NAME]}", cut) for name, one in first}
