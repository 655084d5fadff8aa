"""Estimate how relevant chunks, and the lines inside them, are to a query."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from gbrain.config import Settings
from gbrain.search.fusion import min_max
from gbrain.store.chunk_context import ChunkSpan
from gbrain.types import LaneResult, Ranked

# Weights in log-odds that a line contains evidence: a logistic regression over the lines of LoCoMo
# chats (997 questions, five conversations). Features are from 0 to 1 and relative to the query's
# own lane results, so that no scale of cosines or BM25 is built in.
PRIOR = -10.7
PAGE_SCORE = 3.6
TERMS = 2.6


class LaneWeights(NamedTuple):
    """Weights of a chunk's score and of its rank in a lane."""

    lane: str
    score: float
    rank: float


LANES = (
    LaneWeights("fts", 1.1, 1.3),
    LaneWeights("vector", 1.5, 0.7),
    LaneWeights("associative", 1.5, 0.7),
)

# Adjacent text has at least this share of a line's relevance. Measured on LoCoMo: .05 to .3 are
# equally good, and better than none.
NEIGHBOUR_SHARE = 0.1

# Lines up to this length are not divided.
MAX_LINE_BYTES = 600

_LINE_END = re.compile(rb"\n(?:[ \t\r]*\n)*")
_SENTENCE_END = re.compile(
    rb"(?:[.!?:;)\"'*_]|\xe2\x80[\x9d\xa6]|\xe3\x80\x82|\xef\xbc[\x81\x9f]|\xd8\x9f)\Z"
)
_NEW_BLOCK = re.compile(rb"[ \t]*(?:[-*+>#]|\d{1,4}[.)]|---)")
_FENCE = re.compile(rb"[ \t]*(?:```|~~~)")
_QUESTION = re.compile(rb"(?:\?(?!\w)|\xef\xbc\x9f|\xd8\x9f)")


class Line(NamedTuple):
    """A line, paragraph, table or code block in bytes; `answers`: it follows a question."""

    start: int
    stop: int
    answers: bool


class RelevantText(NamedTuple):
    """A span of a page in bytes with its relevance, the probability that it holds the answer.

    `inherited`: the relevance comes from the text before or after it.
    """

    page_id: int
    start: int
    stop: int
    relevance: float
    inherited: bool


def chunk_log_odds(
    lanes: Mapping[str, LaneResult], ranked: Sequence[Ranked], settings: Settings
) -> dict[int, float]:
    """Return the log-odds that each chunk the lanes scored is relevant, by chunk id."""
    pages = page_log_odds(ranked)
    odds: dict[int, float] = {}
    for weights in LANES:
        chunks = lanes[weights.lane].chunks if weights.lane in lanes else ()
        best_first = sorted(chunks, key=lambda chunk: (-chunk.score, chunk.chunk_id))
        if not best_first:
            continue
        # Half of the chunks in a lane's pool are background; BM25 is 0 for all others.
        low = 0.0 if weights.lane == "fts" else median(chunk.score for chunk in best_first)
        height = best_first[0].score - low
        for place, chunk in enumerate(best_first):
            if chunk.page_id not in pages:
                continue
            share = (chunk.score - low) / height if height > 0 else 1.0
            by_rank = settings.chunk_k / (settings.chunk_k + place)
            before = odds.get(chunk.chunk_id, pages[chunk.page_id])
            odds[chunk.chunk_id] = before + weights.score * share + weights.rank * by_rank
    return odds


def page_log_odds(ranked: Sequence[Ranked]) -> dict[int, float]:
    """Return the log-odds of text that no lane scored, by page id."""
    scaled = min_max([page.score for page in ranked])
    return {
        page.page_id: PRIOR + PAGE_SCORE * score for page, score in zip(ranked, scaled, strict=True)
    }


def split_lines(page: bytes, start: int, stop: int) -> list[Line]:
    """Divide a span of a page into lines that can be read alone, in page order.

    A heading stays with the text below it; tables, code and wrapped paragraphs stay whole.
    """
    lines: list[Line] = []
    first, line_start, fenced, asked = start, start, False, False
    for end in _LINE_END.finditer(page, start, stop):
        line = page[line_start : end.start()].rstrip()
        line_start = end.end()
        if _FENCE.match(line):
            fenced = not fenced
        if not fenced and _ends_block(line, end, page):
            lines.append(Line(first, end.end(), asked))
            asked = bool(_QUESTION.search(line))
            first = end.end()
    if first < stop:
        lines.append(Line(first, stop, asked))
    return lines


def _ends_block(line: bytes, end: re.Match[bytes], page: bytes) -> bool:
    if line.startswith(b"#") or not line.strip():
        return False
    below = page[end.end() : end.end() + 80]
    if line.lstrip().startswith(b"|") and below.lstrip().startswith(b"|"):
        return False
    blank_line = end.group().count(b"\n") > 1
    return blank_line or bool(_SENTENCE_END.search(line) or _NEW_BLOCK.match(below))


def relevant_texts(
    page: bytes,
    chunks: Sequence[ChunkSpan],
    log_odds: Mapping[int, float],
    other_log_odds: float,
    term_weights: Mapping[int, Sequence[tuple[int, float]]],
    answer_bonus: float,
) -> list[RelevantText]:
    """Return the lines of a page's chunks with their relevance, in page order.

    A line has the mean log-odds of the chunks it is in, weighted by the bytes that they share.
    `term_weights` are (byte offset, share of the query's term weight) of the query's terms, by
    term; `other_log_odds` is for chunks that no lane scored.
    """
    found: list[RelevantText] = []
    for start, stop in _merge(chunks):
        for line in _cut_long(split_lines(page, start, stop), chunks):
            shared = [
                (min(line.stop, chunk.stop) - max(line.start, chunk.start), chunk.id)
                for chunk in chunks
                if chunk.start < line.stop and line.start < chunk.stop
            ]
            total = sum(size for size, _ in shared)
            odds = sum(size * log_odds.get(i, other_log_odds) for size, i in shared) / total
            matched = sum(
                next((w for at, w in places if line.start <= at < line.stop), 0.0)
                for places in term_weights.values()
            )
            odds += TERMS * matched + answer_bonus * line.answers
            relevance = 1 / (1 + math.exp(-odds))
            found.append(RelevantText(chunks[0].page_id, line.start, line.stop, relevance, False))
    return _inherit(found)


def _merge(chunks: Iterable[ChunkSpan]) -> list[tuple[int, int]]:
    """Return the spans that chunks cover together, in page order."""
    merged: list[tuple[int, int]] = []
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        if merged and chunk.start <= merged[-1][1]:
            start, stop = merged.pop()
            merged.append((start, max(stop, chunk.stop)))
        else:
            merged.append((chunk.start, chunk.stop))
    return merged


def _cut_long(lines: Iterable[Line], chunks: Sequence[ChunkSpan]) -> list[Line]:
    """Divide long lines where chunks start or end."""
    edges = sorted({edge for chunk in chunks for edge in (chunk.start, chunk.stop)})
    cut: list[Line] = []
    for line in lines:
        inside = [edge for edge in edges if line.start < edge < line.stop]
        if line.stop - line.start <= MAX_LINE_BYTES or not inside:
            cut.append(line)
            continue
        parts = pairwise([line.start, *inside, line.stop])
        cut += [Line(start, stop, line.answers) for start, stop in parts]
    return cut


def _inherit(texts: list[RelevantText]) -> list[RelevantText]:
    """Raise the relevance of text that adjoins more relevant text."""
    raised = []
    for number, text in enumerate(texts):
        around = (
            other.relevance
            for other in (*texts[max(0, number - 1) : number], *texts[number + 1 : number + 2])
            if other.stop == text.start or other.start == text.stop
        )
        inherited = NEIGHBOUR_SHARE * max(around, default=0.0)
        if inherited > text.relevance:
            text = text._replace(relevance=inherited, inherited=True)
        raised.append(text)
    return raised
