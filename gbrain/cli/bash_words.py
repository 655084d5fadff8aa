"""A command line as bash reads it up to the cursor, and words as bash takes them."""

from __future__ import annotations

import re
from typing import NamedTuple

_BLANK = " \t\n"
# Everything else is written with a backslash; what is not ASCII is no syntax.
_PLAIN = re.compile(r"[\w./@%+=:,^-]")
_IN_DOUBLE_QUOTES = '"\\$`'


class Cursor(NamedTuple):
    """What the shell will replace: what follows `kept` of the last word, inside `quote` if any."""

    kept: str
    quote: str


def read_line(line: str, breaks: str) -> tuple[list[str], Cursor]:
    """The words of a command without the first, the last one perhaps unfinished or empty.

    `breaks` are the characters behind which readline begins a word of its own, $COMP_WORDBREAKS.
    """
    words: list[str] = []
    word, quote, kept = "", "", 0
    between, escaped = True, False
    for char in line:
        if escaped:
            word, escaped, between = word + char, False, False
        elif char == "\\" and quote != "'":
            escaped = True
        elif quote:
            if char == quote:
                quote = ""
            else:
                word += char
        elif char in _BLANK:
            if not between:
                words.append(word)
            word, kept, between = "", 0, True
        else:
            between = False
            if char in "'\"":
                quote, kept = char, len(word)
                continue
            word += char
            if char in breaks:
                kept = len(word)
    words.append(word)
    return words[1:] or [""], Cursor(word[:kept], quote)


def typed(value: str, cursor: Cursor) -> str | None:
    """`value` as it has to be typed at the cursor; None if it cannot be."""
    if not value.startswith(cursor.kept):
        return None
    rest = value[len(cursor.kept) :]
    if not cursor.quote:
        return "".join(char if _PLAIN.match(char) else f"\\{char}" for char in rest)
    if cursor.quote == "'":
        written = rest.replace("'", "'\\''")
    elif "!" in rest:
        # It calls the history inside double quotes, and no backslash stops it.
        return None
    else:
        written = "".join(f"\\{char}" if char in _IN_DOUBLE_QUOTES else char for char in rest)
    # Readline closes the quote, unless it takes the last character for the end of it.
    return written + cursor.quote if written.endswith(cursor.quote) else written
