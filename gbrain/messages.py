"""Wording that all layers share: counted nouns, "did you mean", and text safe to print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def plural(count: int, noun: str) -> str:
    """Return the noun in the form that fits the count: `page` or `pages`."""
    return noun if count == 1 else f"{noun}s"


def counted(count: int, noun: str) -> str:
    """Return `1 page`, `2 pages`, `1,500 pages`."""
    return f"{count:,} {plural(count, noun)}"


def similar_names(name: str, known: Iterable[str], limit: int = 1) -> list[str]:
    """Return up to `limit` of the known names that are spelt like `name`, best first."""
    # Loaded only for a mistyped name: it costs every start of the program otherwise.
    from difflib import get_close_matches

    return get_close_matches(name, list(known), n=limit)


def did_you_mean(names: Iterable[str], otherwise: str = "") -> str:
    """Return `Did you mean a or b?` for the hint of an error; `otherwise` if there are no names."""
    listed = " or ".join(names)
    return f"Did you mean {listed}?" if listed else otherwise


# Control characters but tab and newline, and those that reverse the direction of text.
CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"


def printable(text: str) -> str:
    """Replace control characters, so that a page's text cannot control the terminal."""
    return text if text.isprintable() else re.sub(CONTROL, "\ufffd", text)


def without_newlines(text: str) -> str:
    """Replace control characters and newlines; other whitespace stays as it is."""
    return printable(text).replace("\n", " ")


def one_line(text: object) -> str:
    """Replace control characters and collapse whitespace to single spaces."""
    return printable(" ".join(str(text).split()))


def tab_separated(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as lines with tabs between the cells; None becomes an empty cell."""
    lines = ["\t".join("" if cell is None else one_line(cell) for cell in row) for row in rows]
    return "\n".join(lines)
