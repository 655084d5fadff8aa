"""Citations of a page's lines, as they are written into an answer and read back from one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

# Digits of a hash that a person can stand to read; two texts of a brain never share so many.
SHORT_HASH_DIGITS = 12

_LINE_END = re.compile(r"\r\n|\r|\n")
# Begins at the sign in the middle: a slug before it is looked for only where there is one.
_PLACE = re.compile(r"#L(\d{1,9})(?:[-\u2013]L?(\d{1,9}))?[\s:@,]{1,3}([0-9a-fA-F]{8,64})(?!\w)")
_HASH = re.compile(r"[0-9a-fA-F]{8,64}")
_BEFORE_SLUG = re.compile(r"[\s\[\]()<>{}\"'`*|,;:]")
_LONGEST_SLUG = 400


class Citation(NamedTuple):
    """Lines of a page (from 1, both ends inclusive) with the beginning of their hash.

    `text` is what was quoted, where that is known: a part of those lines or all of them.
    """

    slug: str
    lines: tuple[int, int]
    hash: str
    text: str | None = None

    def __str__(self) -> str:
        """The form that is pasted into an answer: `[people/alice#L12-18 ab12cd34ef56]`."""
        first, last = self.lines
        place = f"L{first}" if first == last else f"L{first}-{last}"
        return f"[{self.slug}#{place} {self.hash[:SHORT_HASH_DIGITS]}]"


def split_lines(text: str) -> list[str]:
    """A page's lines as they are numbered, each without the blanks at its end."""
    return [line.rstrip() for line in _LINE_END.split(text)]


def lines_hash(lines: Sequence[str]) -> str:
    """The hash of some lines, hexadecimal; how they end makes no difference to it."""
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def hash_enclosing_lines(page: bytes, start: int, stop: int) -> str:
    """The hash of the whole lines that hold the bytes of a page from `start` to `stop`."""
    first = max(page.rfind(b"\n", 0, start), page.rfind(b"\r", 0, start)) + 1
    ends = (page.find(b"\n", stop), page.find(b"\r", stop))
    last = min((end for end in ends if end >= 0), default=len(page))
    return lines_hash(split_lines(page[first:last].decode()))


def find_citations(text: str) -> Iterator[Citation]:
    """The citations that stand in any text, in order."""
    for place in _PLACE.finditer(text):
        before = text[max(0, place.start() - _LONGEST_SLUG) : place.start()]
        slug = _BEFORE_SLUG.split(before)[-1]
        first = int(place[1])
        last = int(place[2]) if place[2] else first
        if slug and 1 <= first <= last:
            yield Citation(slug, (first, last), place[3].lower())


def parse_citations(text: str) -> list[Citation]:
    """The citations of a JSON document, of JSON lines or of any other text, each once, in order.

    In JSON, an object with `slug`, `lines` and `hash` is one, as a context's pieces are.
    """
    values = _json_values(text)
    found = find_citations(text) if values is None else _cited_in(values)
    return list({(c.slug, c.lines, c.hash): c for c in found}.values())


def _json_values(text: str) -> list[Any] | None:
    if not text.lstrip().startswith(("{", "[")):
        return None
    for documents in ([text], [line for line in text.split("\n") if line.strip()]):
        try:
            return [json.loads(document) for document in documents]
        except (ValueError, RecursionError):
            continue
    return None


def _cited_in(values: Sequence[Any]) -> Iterator[Citation]:
    pending = list(reversed(values))
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield from find_citations(value)
        elif isinstance(value, list):
            pending += reversed(value)
        elif isinstance(value, dict):
            citation = _piece_citation(value)
            if citation:
                yield citation
            else:
                pending += reversed(value.values())


def _piece_citation(piece: Mapping[str, Any]) -> Citation | None:
    slug, lines, digest = piece.get("slug"), piece.get("lines"), piece.get("hash")
    text = piece.get("text")
    if not (isinstance(slug, str) and isinstance(digest, str) and _HASH.fullmatch(digest)):
        return None
    match lines:
        case [int(first), int(last)] if 1 <= first <= last:
            quoted = text if isinstance(text, str) and text.strip() else None
            return Citation(slug, (first, last), digest.lower(), quoted)
    return None


def find_lines_with_hash(hash_prefix: str, lines: Sequence[str], count: int) -> Iterator[int]:
    """The first lines (from 1) of every stretch of `count` lines that has the hash."""
    for start in range(len(lines) - count + 1):
        # What is cited neither begins nor ends with a blank line.
        if (
            lines[start]
            and lines[start + count - 1]
            and lines_hash(lines[start : start + count]).startswith(hash_prefix)
        ):
            yield start + 1
