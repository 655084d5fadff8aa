"""Split the sections of a page into chunks, and estimate how many tokens a text has."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING

from gbrain.types import Chunk, Section

if TYPE_CHECKING:
    from gbrain.text.markdown import Structure

# Filled to at most 120 tokens, chunks have about 100 on average.
MAX_UNSPLIT_TOKENS = 130
MAX_CHUNK_TOKENS = 120
MAX_OVERLAP_TOKENS = MAX_CHUNK_TOKENS // 2

# A longer URL or encoded image stays in one chunk, and only its start is embedded. All its tokens
# count towards the size of a chunk: if only those of its start do, sentences that it separates
# share a chunk, and of 119 questions about such sentences 68 find their page first, not 72.
MAX_WORD_CHARACTERS = 200

# A text of at most so many characters is not split, without counting its tokens.
_MAX_UNCOUNTED_CHARACTERS = 2 * MAX_UNSPLIT_TOKENS

# A section of nothing but these is a thematic break or empty.
_RULE_CHARACTERS = " \t\r\n-*_"

_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n\s*")
# Break after a line that ends with punctuation or comes before a list item: a hard-wrapped line
# continues on the next one.
_LINE_END = re.compile(r"[.!?:;…)\]\"'”’»|>*`}][ \t\r]*\n|\n(?=[ \t]*(?:[-*+]|\d+[.)])[ \t])")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]|\n")
_BREAKS = (_PARAGRAPH_END, _LINE_END, _SENTENCE_END)

# A URL, encoded data in several lines, or in one. Not text with commas or quotation marks, nor
# scripts without spaces.
_LONG_WORD = re.compile(
    rf"(?:https?://|data:)[^\s<>\"`\u0080-\U0010ffff]{{{MAX_WORD_CHARACTERS - 4},}}"
    r"|(?<![\w+/=%.~-])(?:[a-zA-Z0-9+/=]{60,}[ \t\r]{0,3}\n\s{0,8}){3,}[a-zA-Z0-9+/=]{21,}"
    rf"|(?<![\w+/=%.~-])[\w+/=%.~-]{{{MAX_WORD_CHARACTERS + 1},}}",
    re.ASCII,
)
# One of these is in every text with a long word, and both take half as long to search for.
_LONG_RUN = re.compile(rf"(?<!\S)\S{{{MAX_WORD_CHARACTERS + 1}}}", re.ASCII)
_ENCODED_LINE = re.compile(r"\n\s{0,8}[a-zA-Z0-9+/=]{60}", re.ASCII)

Span = tuple[int, int]


def find_long_words(text: str) -> list[Span]:
    """Return where URLs and encoded data of more than 200 characters are, in order."""
    return [word.span() for word in _LONG_WORD.finditer(text)] if _may_be_long(text) else []


def _may_be_long(text: str) -> bool:
    return bool(_LONG_RUN.search(text) or _ENCODED_LINE.search(text))


def _shorten_long_words(text: str) -> str:
    return _LONG_WORD.sub(lambda word: word[0][:MAX_WORD_CHARACTERS], text)


def split_section(text: str, section: Section, long_words: Sequence[Span]) -> tuple[Span, ...]:
    """Return the chunks of a section as spans of the body, in order; together they cover it.

    A section of up to about 130 tokens is one chunk. A longer one is split into chunks of about 100
    tokens at paragraphs, list items, lines or sentences, but not inside of `long_words`. Each chunk
    begins with the last unit of the chunk before it.
    """
    start, stop = section.text_start, section.stop
    if stop - start <= _MAX_UNCOUNTED_CHARACTERS:
        return ((section.start, stop),)
    tokens = estimate_tokens(text[start:stop])
    if tokens <= MAX_UNSPLIT_TOKENS:
        return ((section.start, stop),)
    spans = _pack_units(_split_units(text, start, stop, tokens, long_words))
    spans[0] = (section.start, spans[0][1])
    return tuple(spans)


def _split_units(
    text: str, start: int, stop: int, tokens: int, long_words: Sequence[Span]
) -> list[tuple[int, int, float]]:
    """Return the units from `start` to `stop` as (start, stop, tokens), in order, without gaps.

    A unit is a paragraph if that is short enough, else a line, else a sentence, else a slice. None
    ends inside of a long word.
    """
    ascii_only = text[start:stop].isascii()
    per_letter = tokens / (stop - start)
    units: list[tuple[int, int, float]] = []
    pending = [(start, stop, 0)]
    while pending:
        first, last, level = pending.pop()
        # ASCII text has about the same tokens per letter throughout; other text is counted again.
        size = (last - first) * per_letter if ascii_only else estimate_tokens(text[first:last])
        if units and text[first:last].isspace():
            units[-1] = (units[-1][0], last, units[-1][2])
        elif size <= MAX_CHUNK_TOKENS:
            units.append((first, last, size))
        elif level < len(_BREAKS):
            ends = [match.end() for match in _BREAKS[level].finditer(text, first, last)]
            if long_words:
                ends = [end for end in ends if _word_end(long_words, end) == end]
            edges = [first, *(end for end in ends if first < end < last), last]
            pending += [(a, b, level + 1) for a, b in pairwise(edges)][::-1]
        else:
            units += _slice_text(text, first, last, size, long_words)
    return units


def _slice_text(
    text: str, start: int, stop: int, tokens: float, long_words: Sequence[Span]
) -> list[tuple[int, int, float]]:
    """Split text without sentence ends into units, at spaces if there are any."""
    per_letter = tokens / (stop - start)
    letters = max(int(MAX_CHUNK_TOKENS / per_letter), 1)
    slices = []
    while start < stop:
        place = min(start + letters, stop)
        end = min(_word_end(long_words, place), stop)
        if end == place < stop:
            end = text.rfind(" ", start + 1, end) + 1 or end
        slices.append((start, end, (end - start) * per_letter))
        start = end
    return slices


def _word_end(long_words: Sequence[Span], place: int) -> int:
    """Return the end of the long word that the place is inside of, else the place."""
    here = bisect_left(long_words, (place,))
    return max(place, long_words[here - 1][1]) if here else place


def _pack_units(units: list[tuple[int, int, float]]) -> list[Span]:
    """Join units to spans of at most MAX_CHUNK_TOKENS; each starts with the last unit if short."""
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
    """Return the chunks of a page in order; the body starts on `first_line`, at `first_byte`.

    A section without text below its heading becomes no chunk, unless the page has nothing else.
    """
    chunks: list[Chunk] = []
    with_text = [s for s in sections if body[s.text_start : s.stop].strip().strip(_RULE_CHARACTERS)]
    byte_at = _byte_counter(body, first_byte)
    # If the body has no long word, its chunks have none: searching once takes half as long.
    may_be_long = _may_be_long(body)
    long_words = find_long_words(body) if may_be_long else []
    for number, section in enumerate(with_text or sections[:1]):
        for part, (start, stop) in enumerate(split_section(body, section, long_words)):
            text = body[max(start, section.text_start) : stop].strip()
            text_stop = start + len(body[start:stop].rstrip())
            read = _shorten_long_words(text) if may_be_long else text
            embedded = _with_header(title, section.heading_path, section.date, read)
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
                    last_line=first_line + bisect_left(structure.starts, text_stop) - 1,
                    text=text,
                    hash=content_hash(embedded),
                )
            )
    return tuple(chunks)


def _byte_counter(body: str, first_byte: int) -> Callable[[int], int]:
    """Return a function from character to byte offsets; fast if called with ascending offsets."""
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
    """Return the text to embed for a chunk: title, date and headings, then the chunk's text.

    Of URLs and encoded data only the first 200 characters are in it.
    """
    read = _shorten_long_words(text) if _may_be_long(text) else text
    return _with_header(title, heading_path, date, read)


def _with_header(title: str, heading_path: tuple[str, ...], date: str | None, text: str) -> str:
    names = heading_path[1:] if heading_path[:1] == (title,) else heading_path
    header = " · ".join(part for part in (title, date, " > ".join(names)) if part)
    return f"{header}\n{text}" if header else text


def content_hash(embedded: str) -> bytes:
    """Return the hash of an embedded text; equal texts share one vector."""
    return blake2b(embedded.encode(), digest_size=16).digest()


# Seven letters, three digits or one other character make about one token: within 10 % of the
# model's tokenizer on prose, chat, abstracts and code.
_ABOUT_ONE_TOKEN = re.compile(r"[A-Za-z\u00c0-\u024f]{1,7}|\d{1,3}|[^\sA-Za-z\d\u00c0-\u024f]")


def estimate_tokens(text: str) -> int:
    """Return about how many tokens the model makes of `text`, without special tokens."""
    return len(_ABOUT_ONE_TOKEN.findall(text))
