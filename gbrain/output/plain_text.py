"""Values as plain text: what a pipe gets, stable and without colour."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"


def printable(text: str) -> str:
    """`text` without control characters: what comes from a page must not drive the terminal."""
    return text if text.isprintable() else re.sub(CONTROL, "\ufffd", text)


def without_newlines(text: str) -> str:
    """`text` in one line, as it is otherwise: a name in a message begins no line of its own."""
    return printable(text).replace("\n", " ")


def one_line(text: object) -> str:
    return printable(" ".join(str(text).split()))


def tab_separated(rows: Iterable[Sequence[object]]) -> str:
    """Rows with tabs between the cells; an absent one is empty."""
    lines = ["\t".join("" if cell is None else one_line(cell) for cell in row) for row in rows]
    return "\n".join(lines)
