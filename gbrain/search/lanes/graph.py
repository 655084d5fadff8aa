"""The graph lane: pages that the query names, and those one link away from them."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator

from gbrain.config import Settings
from gbrain.store.links import links_between
from gbrain.store.page_names import find_by_names, slugs_by_id
from gbrain.store.scope import pages_in_scope
from gbrain.text.query_terms import STOP_WORDS
from gbrain.text.slug import fold_name
from gbrain.types import Candidate, LaneResult, Query

_LONGEST_NAME = 5
_WORDS_READ = 200
_LINKS_READ = 2000

NEIGHBOUR = 0.5


def search(connection: sqlite3.Connection, query: Query, settings: Settings) -> LaneResult:
    """Pages by how near they are to a name in the query, best first, ties by slug.

    A page that the query names scores 1, a neighbour 0.5 x the strength of its links.
    """
    named = named_pages(connection, query.semantic_text)
    scores = {
        page_id: NEIGHBOUR * tie for page_id, tie in link_strengths(connection, named).items()
    }
    scores |= dict.fromkeys(named, 1.0)
    slugs = slugs_by_id(connection, scores)
    if not query.scope.unlimited:
        seen = pages_in_scope(connection, slugs, query.scope)
        slugs = {page_id: slug for page_id, slug in slugs.items() if page_id in seen}
    ranked = sorted(slugs, key=lambda page_id: (-scores[page_id], slugs[page_id]))
    return LaneResult(
        tuple(
            Candidate(page_id, slugs[page_id], None, rank, scores[page_id])
            for rank, page_id in enumerate(ranked[: settings.candidate_pool], 1)
        ),
        # Scores are on a scale of their own from 0 to 1: the lowest found is not nothing.
        lowest_score=0.0,
    )


def named_pages(connection: sqlite3.Connection, text: str) -> set[int]:
    """The pages whose title, alias, file name or slug stands in the text.

    A name inside a longer one does not count, nor does a stop word.
    """
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    # Folding glues the s of "Alice's" to the name; both readings have the same words.
    for reading in {text, text.replace("'s", "")}:
        words = fold_name(reading).split()[:_WORDS_READ]
        for start in range(len(words)):
            for stop in range(start + 1, min(start + _LONGEST_NAME, len(words)) + 1):
                key = " ".join(words[start:stop])
                if key not in STOP_WORDS:
                    spans[key].append((start, stop))
    names = find_by_names(connection, spans)
    taken = {span for name in names for span in spans[name.key]}
    whole = {span for span in taken if taken.isdisjoint(_around(*span))}
    return {name.page_id for name in names if not whole.isdisjoint(spans[name.key])}


def link_strengths(connection: sqlite3.Connection, named: set[int]) -> dict[int, float]:
    """How strongly each neighbour is tied to the named pages, above 0 and at most 1.

    A tie is 1 / (1 + ln(links of the named page / those of them shared with the neighbour)): 1 for
    the only neighbour, less for one of many; the ties to several named pages add up.
    """
    if not named:
        return {}
    links = links_between(connection, named, _LINKS_READ)
    of_page = Counter(page_id for page_id, _ in links)
    ties: dict[int, float] = defaultdict(float)
    for (page_id, other), shared in Counter(links).items():
        ties[other] += 1 / (1 + math.log(of_page[page_id] / shared))
    return {other: min(tie, 1.0) for other, tie in ties.items()}


def _around(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The longer spans that hold this one."""
    for first in range(stop - _LONGEST_NAME, start + 1):
        for end in range(stop, first + _LONGEST_NAME + 1):
            if (first, end) != (start, stop):
                yield first, end
