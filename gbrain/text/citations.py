"""Write citations of a page's lines, and find them in texts and JSON documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

# Short enough to read, long enough to be unique among the texts of a brain.
SHORT_HASH_DIGITS = 12

_LINE_END = re.compile(r"\r\n|\r|\n")
# Starts at the `#L` in the middle, which is rare; the slug before it is found afterwards.
_LINES_HASH = re.compile(
    r"#L(\d{1,9})(?:[-\u2013]L?(\d{1,9}))?[\s:@,]{1,3}([0-9a-fA-F]{8,64})(?!\w)"
)
_HASH = re.compile(r"[0-9a-fA-F]{8,64}")
_BEFORE_SLUG = re.compile(r"[\s\[\]()<>{}\"'`*|,;:]")
_MAX_SLUG_CHARACTERS = 400


class Citation(NamedTuple):
    """A citation of lines of a page (from 1, both ends inclusive), with a prefix of their hash.

    `text` is the quoted text if it is known: all of those lines or a part.
    """

    slug: str
    lines: tuple[int, int]
    hash: str
    text: str | None = None

    def __str__(self) -> str:
        """Return the form for answers: `[people/alice#L12-18 ab12cd34ef56]`."""
        first, last = self.lines
        lines = f"L{first}" if first == last else f"L{first}-{last}"
        return f"[{self.slug}#{lines} {self.hash[:SHORT_HASH_DIGITS]}]"


def split_lines(text: str) -> list[str]:
    """Return the lines of a page, without trailing whitespace."""
    return [line.rstrip() for line in _LINE_END.split(text)]


def lines_hash(lines: Sequence[str]) -> str:
    """Return the hexadecimal hash of some lines; it does not depend on their line endings."""
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def hash_enclosing_lines(page: bytes, start: int, stop: int) -> str:
    """Return the hash of the whole lines that contain the bytes from `start` to `stop`."""
    first = max(page.rfind(b"\n", 0, start), page.rfind(b"\r", 0, start)) + 1
    ends = (page.find(b"\n", stop), page.find(b"\r", stop))
    last = min((end for end in ends if end >= 0), default=len(page))
    return lines_hash(split_lines(page[first:last].decode()))


def find_citations(text: str) -> Iterator[Citation]:
    """Yield the citations in a text, in order."""
    for match in _LINES_HASH.finditer(text):
        before = text[max(0, match.start() - _MAX_SLUG_CHARACTERS) : match.start()]
        slug = _BEFORE_SLUG.split(before)[-1]
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if slug and 1 <= first <= last:
            yield Citation(slug, (first, last), match[3].lower())


def parse_citations(text: str) -> list[Citation]:
    """Return the citations in a JSON document, JSON lines or any other text, in order, each once.

    In JSON, an object with `slug`, `lines` and `hash` is a citation, such as a chunk of a context.
    """
    values = _json_values(text)
    found = find_citations(text) if values is None else _citations_in(values)
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


def _citations_in(values: Sequence[Any]) -> Iterator[Citation]:
    pending = list(reversed(values))
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield from find_citations(value)
        elif isinstance(value, list):
            pending += reversed(value)
        elif isinstance(value, dict):
            citation = _citation_from_object(value)
            if citation:
                yield citation
            else:
                pending += reversed(value.values())


def _citation_from_object(value: Mapping[str, Any]) -> Citation | None:
    slug, lines, digest = value.get("slug"), value.get("lines"), value.get("hash")
    text = value.get("text")
    if not (isinstance(slug, str) and isinstance(digest, str) and _HASH.fullmatch(digest)):
        return None
    match lines:
        case [int(first), int(last)] if 1 <= first <= last:
            quoted = text if isinstance(text, str) and text.strip() else None
            return Citation(slug, (first, last), digest.lower(), quoted)
    return None


def find_lines_with_hash(hash_prefix: str, lines: Sequence[str], count: int) -> Iterator[int]:
    """Yield the first line (from 1) of each group of `count` lines that has the hash."""
    for start in range(len(lines) - count + 1):
        # Cited lines neither begin nor end with a blank line.
        if (
            lines[start]
            and lines[start + count - 1]
            and lines_hash(lines[start : start + count]).startswith(hash_prefix)
        ):
            yield start + 1
