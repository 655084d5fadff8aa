"""What Obsidian adds to Markdown: comments, and files that are attached but are no pages."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from gbrain.text.markdown import Structure, is_within

_CODE_OR_MARK = re.compile(r"`[^`\n]*`|%%")
_FIRST_ON_LINE = re.compile(r"[ \t]*+%%")
# The formats that Obsidian shows in place, and its own that hold no Markdown.
_ATTACHMENT = re.compile(
    r"\.(?:avif|bmp|gif|jpe?g|png|svg|webp|flac|m4a|mp3|ogg|wav|3gp|mkv|mov|mp4|ogv|webm|pdf"
    r"|canvas|base)$",
    re.IGNORECASE,
)


def find_comments(text: str, structure: Structure) -> Iterator[tuple[int, int]]:
    """Where `%%comments%%` stand in a body, as (start, stop), in order.

    One that begins a line runs to the next mark, over any number of lines; one inside a line ends
    on it. Code is not read, and a mark without a second one is two percent signs.
    """
    at, line, margin_end = 0, -1, -1
    while mark := _CODE_OR_MARK.search(text, at):
        start, at = mark.span()
        if mark[0] != "%%":
            continue
        found = bisect_right(structure.starts, start) - 1
        if is_within(structure.code, found):
            continue
        stop = text.find("%%", at) + 2
        if stop < at:
            return
        if found != line:
            line = found
            first = _FIRST_ON_LINE.match(text, structure.starts[line])
            margin_end = first.end() - 2 if first else -1
        if start == margin_end or stop <= structure.starts[line + 1]:
            yield start, stop
            at = stop


def is_attachment(target: str) -> bool:
    """Whether a link leads to a picture, a recording or the like, which no page can be."""
    return _ATTACHMENT.search(target) is not None
