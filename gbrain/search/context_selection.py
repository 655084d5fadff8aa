"""Collect spans of pages within a token budget, and join adjacent ones in page order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gbrain.types import Role

CountTokens = Callable[[str], int]

_WORD = re.compile(r"\S+\s*")

# Longer words are one unknown token to the model.
_MAX_WORD_BYTES = 400


class TokenCounts:
    """Counts the tokens of texts, of each once; many at a time take half as long."""

    def __init__(self, count_tokens: Callable[[Sequence[str]], list[int]]) -> None:
        self._count_tokens = count_tokens
        self._known: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        if text not in self._known:
            self.add([text])
        return self._known[text]

    def add(self, texts: Iterable[str]) -> None:
        """Count texts that will be asked for."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._count_tokens(new), strict=True))


class ContextCandidate(NamedTuple):
    """A span of a page in bytes that may enter the context."""

    page_id: int
    start: int
    stop: int
    role: Role


class ContextSpan(NamedTuple):
    """A span of a page in bytes that is in the context, joined with adjacent ones."""

    page_id: int
    start: int
    stop: int
    role: Role


class ContextSelection:
    """The spans chosen so far: no text twice, and never more tokens than the limit."""

    def __init__(self, limit: int, count: CountTokens) -> None:
        self.limit, self.count = limit, count
        self.used = 0
        self._taken: dict[int, list[ContextSpan]] = {}
        self._edges: dict[int, set[int]] = {}
        self._order: list[int] = []

    def uncovered_spans(self, candidate: ContextCandidate) -> list[tuple[int, int]]:
        """Return the parts of a candidate that are not in the context yet."""
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
        """Add the new parts of a candidate if they fit; return their tokens, else None."""
        new = self.uncovered_spans(candidate)
        tokens = self._needs(candidate.page_id, new, page)
        if self.used + tokens > self.limit:
            return None
        self.used += tokens
        taken = self._taken.setdefault(candidate.page_id, [])
        taken += [ContextSpan(candidate.page_id, *span, candidate.role) for span in new]
        self._order += [candidate.page_id] * len(new)
        edges = self._edges.setdefault(candidate.page_id, set())
        edges.update(edge for span in new for edge in span)
        return tokens

    def needs(self, candidate: ContextCandidate, page: bytes) -> int:
        """Return the tokens that a candidate would add."""
        return self._needs(candidate.page_id, self.uncovered_spans(candidate), page)

    def _needs(self, page_id: int, new: Sequence[tuple[int, int]], page: bytes) -> int:
        tokens = sum(self.count(page[start:stop].decode()) for start, stop in new)
        edges = self._edges.get(page_id, ())
        seams = [edge for span in new for edge in span if edge in edges]
        return tokens + sum(self._seam(page, edge) for edge in seams if _inside_word(page, edge))

    def _seam(self, page: bytes, at: int) -> int:
        """Return how many more tokens the word around `at` has than its two halves."""
        before = page[max(0, at - _MAX_WORD_BYTES) : at].decode(errors="ignore").split()
        after = page[at : at + _MAX_WORD_BYTES].decode(errors="ignore").split()
        left, right = "".join(before[-1:]), "".join(after[:1])
        return max(0, self.count(left + right) - self.count(left) - self.count(right))

    def remove_last(self) -> None:
        """Remove the span that was added last."""
        self._taken[self._order.pop()].pop()

    def joined_spans(self) -> list[ContextSpan]:
        """Return the joined spans: pages in the order they were added, each in page order."""
        return [
            span
            for taken in self._taken.values()
            for span in _join(sorted(taken, key=lambda s: s.start))
        ]


def _inside_word(page: bytes, at: int) -> bool:
    return not (page[at - 1 : at].isspace() or page[at : at + 1].isspace())


def _join(spans: Sequence[ContextSpan]) -> list[ContextSpan]:
    joined: list[ContextSpan] = []
    for span in spans:
        if joined and joined[-1].stop == span.start:
            last = joined.pop()
            role: Role = "hit" if "hit" in (last.role, span.role) else last.role
            span = ContextSpan(last.page_id, last.start, span.stop, role)
        joined.append(span)
    return joined


def best_excerpt(
    text: str, words: Sequence[str], limit: int, count: CountTokens
) -> tuple[int, int]:
    """Return the longest span of at most `limit` tokens that contains the most of `words`."""
    spans = [match.span() for match in _WORD.finditer(text)] or [(0, len(text))]
    sizes = [count(text[start:stop]) for start, stop in spans]
    wanted = tuple(word.casefold() for word in words)
    holds = [sum(word in text[a:b].casefold() for word in wanted) for a, b in spans]
    best, best_filled = (0, 0), (-1, 0)
    first = size = held = 0
    for last, word_size in enumerate(sizes):
        size, held = size + word_size, held + holds[last]
        while size > limit and first <= last:
            size, held, first = size - sizes[first], held - holds[first], first + 1
        if first <= last and (held, size) > best_filled:
            best, best_filled = (spans[first][0], spans[last][1]), (held, size)
    if best == (0, 0):
        best = (spans[0][0], spans[0][1])
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
