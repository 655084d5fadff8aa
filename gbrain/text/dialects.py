"""Parse what Logseq and Obsidian add to Markdown: properties, journals, comments, attachments."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from gbrain.text.markdown import Structure, is_within

BLOCK_UUID = r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"

_PROPERTY = re.compile(
    r"(?:- )?[ \t]*+([^\W\d_][\w./-]*+)::(?:[ \t]++([^\r\n]*+))?+(?:\r\n?|\n|\Z)"
)
_BLOCK_PROPERTY = re.compile(
    r"^[ \t]*+(?:[-*+][ \t]++)?+(id|tags)::[ \t]++([^\r\n]++)", re.MULTILINE
)
_LIST_KEYS = frozenset(("tags", "tag", "alias", "aliases"))
_NAME = re.compile(r"\[\[([^\[\]]++)\]\]|([^,\[\]]++)")
_ONE_LINK = re.compile(r"\[\[([^\[\]]+)\]\]")
_DAY = re.compile(r"(\d{4})_(\d{2})_(\d{2})")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def parse_page_properties(body: str) -> dict[str, str | list[str]]:
    """Return the `key:: value` lines at the start of a body; tags and aliases become lists."""
    values: dict[str, str | list[str]] = {}
    at = 0
    while at < len(body) and (line := _PROPERTY.match(body, at)):
        at = line.end()
        key, written = line[1].lower(), (line[2] or "").strip()
        if key in _LIST_KEYS:
            values[key] = _split_names(written)
        else:
            link = _ONE_LINK.fullmatch(written)
            values[key] = link[1].strip() if link else written
    return values


def parse_block_properties(body: str, structure: Structure) -> tuple[list[str], list[str]]:
    """Return the ids (`id::`) and the tags (`tags::`) of all blocks, in order."""
    ids: list[str] = []
    tags: list[str] = []
    for found in _BLOCK_PROPERTY.finditer(body):
        if is_within(structure.code, bisect_right(structure.starts, found.start()) - 1):
            continue
        if found[1] == "tags":
            tags += _split_names(found[2])
        elif re.fullmatch(BLOCK_UUID, found[2].strip()):
            ids.append(found[2].strip())
    return ids, tags


def _split_names(written: str) -> list[str]:
    """Split names at commas; each is plain, a #tag or a [[link]]."""
    names = ((found[1] or found[2]).strip().lstrip("#") for found in _NAME.finditer(written))
    return [name for name in names if name]


def journal_day(name: str) -> str | None:
    """Return the ISO date of a journal's file name without suffix: 2026-04-03 for 2026_04_03."""
    day = _DAY.fullmatch(name)
    return "-".join(day.groups()) if day else None


def journal_link_titles(day: str) -> Iterator[str]:
    """Yield the title that links use for a journal day by default: Apr 3rd, 2026."""
    year, month, number = (int(part) for part in day.split("-"))
    if 1 <= month <= 12:
        last = number % 10 if number not in (11, 12, 13) else 0
        ending = {1: "st", 2: "nd", 3: "rd"}.get(last, "th")
        yield f"{_MONTHS[month - 1]} {number}{ending}, {year:04}"


def decode_page_name(name: str) -> str:
    """Return the page name of a file name, in which Logseq encodes `/` and special characters."""
    plain = name.replace("___", "/")
    if _ESCAPE.search(plain):
        from urllib.parse import unquote

        plain = unquote(plain)
    return plain


_CODE_OR_MARK = re.compile(r"`[^`\n]*`|%%")
_FIRST_ON_LINE = re.compile(r"[ \t]*+%%")
# Media that Obsidian embeds, and its own formats that are not Markdown.
_ATTACHMENT = re.compile(
    r"\.(?:avif|bmp|gif|jpe?g|png|svg|webp|flac|m4a|mp3|ogg|wav|3gp|mkv|mov|mp4|ogv|webm|pdf"
    r"|canvas|base)$",
    re.IGNORECASE,
)


def find_comments(text: str, structure: Structure) -> Iterator[tuple[int, int]]:
    """Yield the `%%comments%%` of a body as (start, stop) offsets, in order.

    A comment at the start of a line may span several lines; one inside a line ends on that line.
    Code is skipped. A `%%` without a second one is not a comment.
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
    """Tell whether a link target is a media file or another file that is not a page."""
    return _ATTACHMENT.search(target) is not None
