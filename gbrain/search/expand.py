"""Context under a token budget: which passages to take, and how they join into running text."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from gbrain.types import Role

CountTokens = Callable[[str], int]

_WORD = re.compile(r"\S+\s*")

# Bytes; of what is longer, models see an unknown word.
_LONGEST_WORD = 400

# A line that asks, to its end; a question mark inside an address asks nothing.
_ASKING = re.compile(rb"(?:\?(?!\w)|\xef\xbc\x9f|\xd8\x9f)[^\n]*(?:\n|\Z)")


class ContextCandidate(NamedTuple):
    """A stretch of a page that may enter the context; bytes count from the page's first."""

    page_id: int
    start: int
    stop: int
    role: Role


class ContextSpan(NamedTuple):
    """A joined stretch of a page that is in the context."""

    page_id: int
    start: int
    stop: int
    role: Role


class ValuedSpan(NamedTuple):
    """A span of a page in bytes, and what it is worth."""

    start: int
    stop: int
    value: float


def answer_offsets(page: bytes) -> list[int]:
    """Where the lines that ask end, in page order: what stands there is likely the answer."""
    return [match.end() for match in _ASKING.finditer(page)]


def split_chunk(
    passage: ValuedSpan, sharing: Sequence[ValuedSpan], answers: Sequence[int], bonus: float
) -> list[ValuedSpan]:
    """A passage cut where others begin or end and behind questions, in page order.

    A part is worth the mean of the passages that hold it (`sharing`, the passage among them): the
    end of a good passage counts for less where the next one is worth little. Behind a question it
    gains `bonus`; `answers` are the places behind the page's questions.
    """
    inside = answers[bisect_left(answers, passage.start) : bisect_right(answers, passage.stop)]
    edges = {edge for span in sharing for edge in (span.start, span.stop)}
    within = {edge for edge in edges if passage.start <= edge <= passage.stop}
    cut = []
    for start, stop in pairwise(sorted({*within, *inside})):
        held = [span.value for span in sharing if span.start <= start and stop <= span.stop]
        cut.append(ValuedSpan(start, stop, sum(held) / len(held) + bonus * (start in inside)))
    return cut


class ContextAssembly:
    """Stretches chosen so far, never twice the same text, never beyond the limit."""

    def __init__(self, limit: int, count: CountTokens) -> None:
        self.limit, self.count = limit, count
        self.used = 0
        self._taken: dict[int, list[ContextSpan]] = {}
        self._edges: dict[int, set[int]] = {}
        self._order: list[int] = []

    def uncovered(self, candidate: ContextCandidate) -> list[tuple[int, int]]:
        """The parts of a candidate that are not in the context yet."""
        spans = [(candidate.start, candidate.stop)]
        for taken in self._taken.get(candidate.page_id, ()):
            spans = [
                part
                for start, stop in spans
                for part in ((start, min(stop, taken.start)), (max(start, taken.stop), stop))
                if part[0] < part[1]
            ]
        return spans

    def take(self, candidate: ContextCandidate, page: bytes) -> int | None:
        """Adds what is new of a candidate if it fits; returns its tokens, None if it does not."""
        new = self.uncovered(candidate)
        tokens = self._needs(candidate.page_id, new, page)
        if self.used + tokens > self.limit:
            return None
        self.used += tokens
        stretches = self._taken.setdefault(candidate.page_id, [])
        stretches += [ContextSpan(candidate.page_id, *span, candidate.role) for span in new]
        self._order += [candidate.page_id] * len(new)
        edges = self._edges.setdefault(candidate.page_id, set())
        edges.update(edge for span in new for edge in span)
        return tokens

    def needs(self, candidate: ContextCandidate, page: bytes) -> int:
        """Tokens that a candidate would add."""
        return self._needs(candidate.page_id, self.uncovered(candidate), page)

    def _needs(self, page_id: int, new: Sequence[tuple[int, int]], page: bytes) -> int:
        tokens = sum(self.count(page[start:stop].decode()) for start, stop in new)
        edges = self._edges.get(page_id, ())
        seams = [edge for span in new for edge in span if edge in edges]
        return tokens + sum(self._seam(page, edge) for edge in seams if _inside_word(page, edge))

    def _seam(self, page: bytes, at: int) -> int:
        """Tokens that the word around `at` has more than its two halves."""
        before = page[max(0, at - _LONGEST_WORD) : at].decode(errors="ignore").split()
        after = page[at : at + _LONGEST_WORD].decode(errors="ignore").split()
        left, right = "".join(before[-1:]), "".join(after[:1])
        return max(0, self.count(left + right) - self.count(left) - self.count(right))

    def give_back(self) -> None:
        """Takes the last stretch out again."""
        self._taken[self._order.pop()].pop()

    def joined(self) -> list[ContextSpan]:
        """The context's stretches, pages in the order they came in, each in page order."""
        return [
            stretch
            for stretches in self._taken.values()
            for stretch in _joined(sorted(stretches, key=lambda s: s.start))
        ]


def _inside_word(page: bytes, at: int) -> bool:
    return not (page[at - 1 : at].isspace() or page[at : at + 1].isspace())


def _joined(stretches: Sequence[ContextSpan]) -> list[ContextSpan]:
    joined: list[ContextSpan] = []
    for stretch in stretches:
        if joined and joined[-1].stop == stretch.start:
            last = joined.pop()
            role: Role = "hit" if "hit" in (last.role, stretch.role) else last.role
            stretch = ContextSpan(last.page_id, last.start, stretch.stop, role)
        joined.append(stretch)
    return joined


def best_excerpt(
    text: str, words: Sequence[str], limit: int, count: CountTokens
) -> tuple[int, int]:
    """The longest span of `text` of at most `limit` tokens that holds the most of `words`."""
    pieces = [match.span() for match in _WORD.finditer(text)] or [(0, len(text))]
    sizes = [count(text[start:stop]) for start, stop in pieces]
    wanted = tuple(word.casefold() for word in words)
    holds = [sum(word in text[a:b].casefold() for word in wanted) for a, b in pieces]
    best, best_filled = (0, 0), (-1, 0)
    first = size = held = 0
    for last, piece_size in enumerate(sizes):
        size, held = size + piece_size, held + holds[last]
        while size > limit and first <= last:
            size, held, first = size - sizes[first], held - holds[first], first + 1
        if first <= last and (held, size) > best_filled:
            best, best_filled = (pieces[first][0], pieces[last][1]), (held, size)
    if best == (0, 0):
        best = (pieces[0][0], pieces[0][1])
    start, stop = best
    if count(text[start:stop]) <= limit:
        return start, stop
    fits = start + 1
    while stop - fits > 1:
        middle = (fits + stop) // 2
        if count(text[start:middle]) <= limit:
            fits = middle
        else:
            stop = middle
    return start, fits
