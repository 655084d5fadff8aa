"""Make text safe for a terminal or a pipe: one line, tab-separated, no control characters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

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
