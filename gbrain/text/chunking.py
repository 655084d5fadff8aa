"""Sections into passages: the pieces that are keyword-indexed, embedded and shown."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING

from gbrain.types import Chunk, Section

if TYPE_CHECKING:
    from gbrain.text.markdown import Structure


# Filled to at most 120 tokens, passages come out at about 100.
MAX_UNSPLIT_TOKENS = 130
MAX_CHUNK_TOKENS = 120
MAX_OVERLAP_TOKENS = MAX_CHUNK_TOKENS // 2

# A text of so few characters is whole without counting.
_SURELY_WHOLE = 2 * MAX_UNSPLIT_TOKENS

# What rules are made of.
_RULES = " \t\r\n-*_"

_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n\s*")
# A line that ends a thought ends a unit; a hard-wrapped line runs on into the next.
_LINE_END = re.compile(r"[.!?:;…)\]\"'”’»|>*`}][ \t\r]*\n|\n(?=[ \t]*(?:[-*+]|\d+[.)])[ \t])")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]|\n")
_LEVELS = (_PARAGRAPH_END, _LINE_END, _SENTENCE_END)

Span = tuple[int, int]


def split_section(text: str, section: Section) -> tuple[Span, ...]:
    """The passages of a section as spans of the body, in order, each within the section.

    A section of up to about 130 tokens is one passage. A longer one is cut into passages of about
    100 tokens: whole paragraphs, list items, lines or sentences, each passage beginning with the
    last unit of the one before. Together they cover the section.
    """
    start, stop = section.text_start, section.stop
    if stop - start <= _SURELY_WHOLE:
        return ((section.start, stop),)
    tokens = estimate_tokens(text[start:stop])
    if tokens <= MAX_UNSPLIT_TOKENS:
        return ((section.start, stop),)
    spans = _packed(_units(text, start, stop, tokens))
    spans[0] = (section.start, spans[0][1])
    return tuple(spans)


def _units(text: str, start: int, stop: int, tokens: int) -> list[tuple[int, int, float]]:
    """Units from `start` to `stop` without a gap, as (start, stop, tokens).

    Whole paragraphs where they are short, else lines, else sentences, else slices.
    """
    ascii_only = text[start:stop].isascii()
    per_letter = tokens / (stop - start)
    units: list[tuple[int, int, float]] = []
    pending = [(start, stop, 0)]
    while pending:
        first, last, level = pending.pop()
        # One script keeps about one measure throughout; a mixed text is counted piece by piece.
        size = (last - first) * per_letter if ascii_only else estimate_tokens(text[first:last])
        if units and text[first:last].isspace():
            units[-1] = (units[-1][0], last, units[-1][2])
        elif size <= MAX_CHUNK_TOKENS:
            units.append((first, last, size))
        elif level < len(_LEVELS):
            ends = [match.end() for match in _LEVELS[level].finditer(text, first, last)]
            edges = [first, *(end for end in ends if first < end < last), last]
            pending += [(a, b, level + 1) for a, b in pairwise(edges)][::-1]
        else:
            units += _slices(text, first, last, size)
    return units


def _slices(text: str, start: int, stop: int, tokens: float) -> list[tuple[int, int, float]]:
    """A stretch without sentences, cut at spaces where there are any."""
    per_letter = tokens / (stop - start)
    letters = max(int(MAX_CHUNK_TOKENS / per_letter), 1)
    slices = []
    while start < stop:
        end = min(start + letters, stop)
        if end < stop:
            end = text.rfind(" ", start + 1, end) + 1 or end
        slices.append((start, end, (end - start) * per_letter))
        start = end
    return slices


def _packed(units: list[tuple[int, int, float]]) -> list[Span]:
    """Runs of units of at most PASSAGE_TOKENS; a short last unit is repeated in the next run."""
    spans: list[Span] = []
    first, size = 0, 0.0
    for index, (start, _, tokens) in enumerate(units):
        if index > first and size + tokens > MAX_CHUNK_TOKENS:
            spans.append((units[first][0], start))
            overlap = units[index - 1][2]
            if index - 1 > first and overlap <= MAX_OVERLAP_TOKENS:
                first, size = index - 1, overlap
            else:
                first, size = index, 0.0
        size += tokens
    spans.append((units[first][0], units[-1][1]))
    return spans


def chunk_body(
    title: str,
    body: str,
    structure: Structure,
    sections: tuple[Section, ...],
    first_line: int,
    first_byte: int,
) -> tuple[Chunk, ...]:
    """A page's passages in order; the body begins on `first_line` at `first_byte` of the page.

    A heading or rule with nothing under it is no passage of its own, unless the page has nothing
    else.
    """
    chunks: list[Chunk] = []
    written = [s for s in sections if body[s.text_start : s.stop].strip().strip(_RULES)]
    byte_at = _byte_counter(body, first_byte)
    for number, section in enumerate(written or sections[:1]):
        for part, (start, stop) in enumerate(split_section(body, section)):
            words = body[max(start, section.text_start) : stop].strip()
            written_stop = start + len(body[start:stop].rstrip())
            embedded = embedding_text(title, section.heading_path, section.date, words)
            chunks.append(
                Chunk(
                    section=number,
                    part=part,
                    kind=section.kind,
                    heading_path=section.heading_path,
                    date=section.date,
                    first_day=section.first_day,
                    last_day=section.last_day,
                    byte_start=byte_at(start),
                    byte_stop=byte_at(stop),
                    first_line=first_line + bisect_right(structure.starts, start) - 1,
                    last_line=first_line + bisect_left(structure.starts, written_stop) - 1,
                    text=words,
                    hash=content_hash(embedded),
                )
            )
    return tuple(chunks)


def _byte_counter(body: str, first_byte: int) -> Callable[[int], int]:
    """A function from character to byte offsets, fast when called for places near each other."""
    if body.isascii():
        return lambda at: first_byte + at
    last, bytes_there = 0, first_byte

    def byte_at(at: int) -> int:
        nonlocal last, bytes_there
        if at >= last:
            bytes_there += len(body[last:at].encode())
        else:
            bytes_there -= len(body[at:last].encode())
        last = at
        return bytes_there

    return byte_at


def embedding_text(title: str, heading_path: tuple[str, ...], date: str | None, text: str) -> str:
    """What the model is given for a passage: where it stands, then what it says."""
    names = heading_path[1:] if heading_path[:1] == (title,) else heading_path
    header = " · ".join(part for part in (title, date, " > ".join(names)) if part)
    return f"{header}\n{text}" if header else text


def content_hash(embedded: str) -> bytes:
    """The name of an embedded text; the same text has one vector wherever it stands."""
    return blake2b(embedded.encode(), digest_size=16).digest()


# A word costs about one token per seven letters, digits one per three, any other sign one:
# within a tenth of the model's own tokenizer on prose, chat, abstracts and code.
_PIECE = re.compile(r"[A-Za-z\u00c0-\u024f]{1,7}|\d{1,3}|[^\sA-Za-z\d\u00c0-\u024f]")


def estimate_tokens(text: str) -> int:
    """About how many tokens the model makes of `text`, without its special ones."""
    return len(_PIECE.findall(text))
