"""Estimate how relevant chunks, and the lines inside them, are to a query."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from gbrain.search.fusion import min_max
from gbrain.store.chunk_context import ChunkSpan
from gbrain.types import LaneResult, Ranked

# Weights in log-odds. Softmax regressions over the lines of half of the LoCoMo conversations, of
# which share of a question's evidence a line has, were averaged and rounded. Then the weights of
# pages and lanes were raised, because a brain has more pages than a conversation: with the weights
# as fitted, a context from everyday notes has 60 % more tokens and no more answers. The
# present ones were rounded from what the best of 281 random changes had in common, with all sets
# in view: .003 more of LoCoMo's evidence than before in 1,950 tokens, and 12 % fewer tokens from
# everyday notes. Fits with more features (places in the lanes, words of similar meaning, terms of
# the whole page) are no better on conversations that they were not fitted on. Features of
# chunks are relative to the query's own lane results, so that no scale of cosines or BM25 is built
# in.
PAGE_SCORE = 5.5
LANES = {"fts": 2.5, "vector": 1.9, "associative": 1.9}
TERMS = 2.6
LABEL = 1.0
LENGTH = 0.45
QUESTION = -0.5

# A term in one of the two lines before counts this share of a term in the line itself: a reply
# does not repeat what it replies to.
TERM_BEFORE = 0.75
LINES_BEFORE = 2

# Weight of log(1 + lines of the page that are more relevant): a question that needs several pages
# is answered by the best lines of each.
RANK_IN_PAGE = -0.8

# Questions that ask for several things or for a judgement (English only) have their evidence in
# more places: the least relevance of text is this share of that for other questions.
BROAD_QUESTION = re.compile(
    r"(?i)\b(?:has|have|and|both|would|might|likely|could|should)\b"
    r"|\b(?:what|which)(?: (?!(?:does|did|is|was|has|are|do)\b)[\w'-]+){0,2}"
    r" (?!(?:does|is|was|has|his|this)\b)[\w-]{2,}[^\Ws]s\b"
)
BROAD_SHARE = 0.2

# Of fewer pages than these, the last one is not necessarily irrelevant.
_PAGES_OF_FULL_SCALE = 10

# Adjacent text has at least this share of a line's relevance. Measured on LoCoMo in 1,950 tokens:
# .1 has .003 less of the evidence.
NEIGHBOUR_SHARE = 0.01

# Lines up to this length are not divided.
MAX_LINE_BYTES = 600


class AnswerType(NamedTuple):
    """Questions that ask for a time or a number, text that has one, and its log-odds."""

    question: re.Pattern[str]
    text: re.Pattern[bytes]
    weight: float


# English only, except for digits.
ANSWER_TYPES = (
    AnswerType(
        re.compile(
            r"(?i)\b(?:when|how long ago|(?:what|which) (?:date|day|week|month|year|time))\b"
        ),
        re.compile(
            rb"(?i)\d{4}|\d:\d\d|\b(?:yesterday|today|tonight|tomorrow|ago|last|next|just|recently"
            rb"|(?:day|night|week|month|year)s?|weekend|morning|evening"
            rb"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june"
            rb"|july|august|september|october|november|december)\b"
        ),
        1.5,
    ),
    AnswerType(
        re.compile(
            r"(?i)\bhow (?:many|much|long|old|often|far|big|tall|high|large)\b"
            r"|\b(?:cost|price|number)\b"
        ),
        re.compile(
            rb"(?i)\d|\b(?:once|twice|one|two|three|four|five|six|seven|eight|nine|ten|dozen"
            rb"|hundred|thousand|several|few|couple)\b"
        ),
        1.2,
    ),
)

_LINE_END = re.compile(rb"\n(?:[ \t\r]*\n)*")
_SENTENCE_END = re.compile(
    rb"(?:[.!?:;)\"'*_]|\xe2\x80[\x9d\xa6]|\xe3\x80\x82|\xef\xbc[\x81\x9f]|\xd8\x9f)\Z"
)
_NEW_BLOCK = re.compile(rb"[ \t]*(?:[-*+>#]|\d{1,4}[.)]|---)")
_LABEL = re.compile(rb"[-*+># \t]*+\w[^:|\n]{0,40}:\*{0,2}(?=\s)")
_FENCE = re.compile(rb"[ \t]*(?:```|~~~)")
_LONG_WORD = re.compile(rb"[!-~]{200,}")
_QUESTION_MARKS = (b"?", "？".encode(), "؟".encode())
_QUESTION = re.compile(rb"(?:\?(?!\w)|\xef\xbc\x9f|\xd8\x9f)")


class Line(NamedTuple):
    """A line, paragraph, table or code block in bytes; `answers`: it follows a question."""

    start: int
    stop: int
    answers: bool


class TermOffsets(NamedTuple):
    """The byte offsets of a term on a page, ascending, and its share of all terms' weight."""

    share: float
    offsets: list[int]

    def is_in(self, start: int, stop: int) -> bool:
        """Tell whether the term is between two offsets."""
        following = bisect_left(self.offsets, start)
        return following < len(self.offsets) and self.offsets[following] < stop

    def weight(self, before: int, start: int, stop: int) -> float:
        """Return the term's share for a line; less if it is only in the text `before` the line."""
        following = bisect_left(self.offsets, start)
        if following < len(self.offsets) and self.offsets[following] < stop:
            return self.share
        is_before = following and self.offsets[following - 1] >= before
        return TERM_BEFORE * self.share if is_before else 0.0


class RelevantText(NamedTuple):
    """A span of a page in bytes with its relevance, the odds that it answers the query.

    `chunk_id` is the chunk that shares most with it. `inherited`: the relevance comes from the
    text before or after it.
    """

    page_id: int
    start: int
    stop: int
    chunk_id: int
    relevance: float
    inherited: bool = False

    @property
    def density(self) -> float:
        """The relevance of a byte."""
        return self.relevance / (self.stop - self.start)


def chunk_log_odds(lanes: Mapping[str, LaneResult], ranked: Sequence[Ranked]) -> dict[int, float]:
    """Return the log-odds that each chunk the lanes scored is relevant, by chunk id."""
    pages = page_log_odds(ranked)
    odds: dict[int, float] = {}
    for lane, weight in LANES.items():
        chunks = lanes[lane].chunks if lane in lanes else ()
        if not chunks:
            continue
        # Half of the chunks in a lane's pool are background; BM25 is 0 for all others.
        low = 0.0 if lane == "fts" else median(chunk.score for chunk in chunks)
        height = max(chunk.score for chunk in chunks) - low
        for chunk in chunks:
            if chunk.page_id in pages:
                share = (chunk.score - low) / height if height > 0 else 1.0
                before = odds.get(chunk.chunk_id, pages[chunk.page_id])
                odds[chunk.chunk_id] = before + weight * share
    return odds


def page_log_odds(ranked: Sequence[Ranked]) -> dict[int, float]:
    """Return the log-odds of text that no lane scored, by page id."""
    scaled = min_max([page.score for page in ranked])
    weight = PAGE_SCORE * min(1.0, len(ranked) / _PAGES_OF_FULL_SCALE)
    return {page.page_id: weight * score for page, score in zip(ranked, scaled, strict=True)}


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
        if not fenced and _ends_block(line, end, page, first):
            lines.append(Line(first, end.end(), asked))
            asked = bool(_QUESTION.search(line))
            first = end.end()
    if first < stop:
        lines.append(Line(first, stop, asked))
    return lines


def _ends_block(line: bytes, end: re.Match[bytes], page: bytes, first: int) -> bool:
    """Return whether a block that starts at the byte `first` ends with this line."""
    if line.startswith(b"#") or not line.strip():
        return False
    below = page[end.end() : end.end() + 80]
    if line.lstrip().startswith(b"|") and below.lstrip().startswith(b"|"):
        return False
    if end.group().count(b"\n") > 1 or _NEW_BLOCK.match(below):
        return True
    # What follows "Ann: ..." up to the next label is still what Ann says.
    return bool(_LABEL.match(below) if _LABEL.match(page, first) else _SENTENCE_END.search(line))


def relevant_texts(
    page: bytes,
    chunks: Sequence[ChunkSpan],
    log_odds: Mapping[int, float],
    other_log_odds: float,
    terms: Collection[TermOffsets],
    question: str,
    answer_bonus: float,
) -> list[RelevantText]:
    """Return the lines of a page's chunks with their relevance, in page order.

    A line has the mean log-odds of the chunks it is in, weighted by the bytes that they share.
    `other_log_odds` is for chunks that no lane scored.
    """
    types = _answer_types(question)
    found: list[RelevantText] = []
    for first, last in _merge(chunks):
        lines = _cut_long(page, split_lines(page, first, last), chunks)
        for number, (start, stop, answers) in enumerate(lines):
            if _is_encoded(page, start, stop) and not any(t.is_in(start, stop) for t in terms):
                continue
            before = lines[max(0, number - LINES_BEFORE)].start
            shared = [
                (min(stop, chunk.stop) - max(start, chunk.start), chunk.id)
                for chunk in chunks
                if chunk.start < stop and start < chunk.stop
            ]
            total = sum([size for size, _ in shared])
            odds = sum([size * log_odds.get(i, other_log_odds) for size, i in shared]) / total
            label = _LABEL.match(page, start, stop) if terms else None
            odds += (
                TERMS * sum([term.weight(before, start, stop) for term in terms])
                + LABEL * (label is not None and any(t.is_in(start, label.end()) for t in terms))
                + LENGTH * math.log(stop - start)
                + sum([a.weight for a in types if a.text.search(page, start, stop)])
                + QUESTION * page[start:stop].rstrip().endswith(_QUESTION_MARKS)
                + answer_bonus * answers
            )
            found.append(RelevantText(chunks[0].page_id, start, stop, max(shared)[1], odds))
    return _inherit(_rank_lines(found))


@lru_cache(maxsize=1)
def _answer_types(question: str) -> tuple[AnswerType, ...]:
    return tuple(answer for answer in ANSWER_TYPES if answer.question.search(question))


def _rank_lines(texts: Sequence[RelevantText]) -> list[RelevantText]:
    """Return a page's lines with odds instead of log-odds, lower for each more relevant line."""
    ascending = sorted(text.relevance for text in texts)
    better = [len(texts) - bisect_right(ascending, text.relevance) for text in texts]
    return [
        RelevantText(*text[:4], math.exp(text.relevance + RANK_IN_PAGE * math.log(1 + lines)))
        for text, lines in zip(texts, better, strict=True)
    ]


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


def _cut_long(page: bytes, lines: Iterable[Line], chunks: Sequence[ChunkSpan]) -> list[Line]:
    """Divide long lines where chunks start or end, and around long URLs and encoded data."""
    cut: list[Line] = []
    for line in lines:
        if line.stop - line.start <= MAX_LINE_BYTES:
            cut.append(line)
            continue
        edges = {edge for chunk in chunks for edge in (chunk.start, chunk.stop)}
        for word in _LONG_WORD.finditer(page, line.start, line.stop):
            edges.update(word.span())
        inside = sorted(edge for edge in edges if line.start < edge < line.stop)
        parts = pairwise([line.start, *inside, line.stop])
        cut += [
            Line(start, stop, line.answers) for start, stop in parts if page[start:stop].strip()
        ]
    return cut


def _is_encoded(page: bytes, start: int, stop: int) -> bool:
    """Tell whether a line is encoded data, such as an image; a URL may be what is asked for."""
    return _LONG_WORD.fullmatch(page, start, stop) is not None and b"://" not in page[start:stop]


def _inherit(texts: list[RelevantText]) -> list[RelevantText]:
    """Raise the relevance of text that adjoins more relevant text."""
    raised = []
    for before, text, after in zip([None, *texts], texts, [*texts[1:], None], strict=False):
        highest = before.relevance if before and before.stop == text.start else 0.0
        if after and after.start == text.stop:
            highest = max(highest, after.relevance)
        if NEIGHBOUR_SHARE * highest > text.relevance:
            text = text._replace(relevance=NEIGHBOUR_SHARE * highest, inherited=True)
        raised.append(text)
    return raised
