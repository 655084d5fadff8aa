"""Text written from right to left: set apart on a terminal, so that what is around keeps its place.

A terminal that knows Unicode's bidirectional algorithm orders a line by its first strong letter:
without isolates, the number and the score next to an Arabic title would change places with it.
"""

from __future__ import annotations

import re

FIRST_STRONG_ISOLATE, POP_ISOLATE = "\u2068", "\u2069"

_RTL = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"


def has_rtl(text: str) -> bool:
    """Tell whether a text has letters that are written from right to left."""
    return not text.isascii() and re.search(_RTL, text) is not None
