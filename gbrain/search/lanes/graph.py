"""The graph lane: pages that the query names, and pages one link away from them."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator

from gbrain.config import Settings
from gbrain.store.links import links_between
from gbrain.store.pages import fetch_pages, find_by_names, slugs_by_id
from gbrain.store.scope import pages_in_scope
from gbrain.text.slug import fold_name
from gbrain.text.stop_words import STOP_WORDS
from gbrain.types import Candidate, LaneResult, Query

_MAX_NAME_WORDS = 5
_MAX_QUERY_WORDS = 200
_MAX_LINKS = 2000

NEIGHBOUR = 0.5


def search(connection: sqlite3.Connection, query: Query, settings: Settings) -> LaneResult:
    """Return the pages that the query names and their neighbours, best first, strengths by slug.

    A page that the query names scores 1, a neighbour 0.5 x the strength of its links.
    """
    named = named_pages(connection, query.semantic_text)
    scores = {
        page_id: NEIGHBOUR * strength
        for page_id, strength in link_strengths(connection, named).items()
    }
    scores |= dict.fromkeys(named, 1.0)
    slugs = slugs_by_id(connection, scores)
    if not query.scope.unlimited:
        seen = pages_in_scope(connection, fetch_pages(connection, slugs), query.scope)
        slugs = {page_id: slug for page_id, slug in slugs.items() if page_id in seen}
    ranked = sorted(slugs, key=lambda page_id: (-scores[page_id], slugs[page_id]))
    return LaneResult(
        tuple(
            Candidate(page_id, slugs[page_id], None, rank, scores[page_id])
            for rank, page_id in enumerate(ranked[: settings.lane_pool("graph", query.limit)], 1)
        ),
        # Scores are absolute, from 0 to 1: the lowest one found must not be scaled to 0.
        lowest_score=0.0,
    )


def named_pages(connection: sqlite3.Connection, text: str) -> set[int]:
    """Return the pages whose title, alias, file name or slug occurs in the text.

    A name inside a longer name does not count, nor does a stop word.
    """
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    # fold_name makes "alices" of "Alice's": look for the name with and without the s.
    for reading in {text, text.replace("'s", "")}:
        words = fold_name(reading).split()[:_MAX_QUERY_WORDS]
        for start in range(len(words)):
            for stop in range(start + 1, min(start + _MAX_NAME_WORDS, len(words)) + 1):
                key = " ".join(words[start:stop])
                if key not in STOP_WORDS:
                    spans[key].append((start, stop))
    names = find_by_names(connection, spans)
    matched = {span for name in names for span in spans[name.key]}
    longest = {span for span in matched if matched.isdisjoint(_longer_spans(*span))}
    return {name.page_id for name in names if not longest.isdisjoint(spans[name.key])}


def link_strengths(connection: sqlite3.Connection, named: set[int]) -> dict[int, float]:
    """Return the link strength of each neighbour of the named pages, above 0 and at most 1.

    It is 1 / (1 + ln(links of the named page / links between the two)): 1 for the only neighbour,
    less for one of many. The strengths to several named pages add up.
    """
    if not named:
        return {}
    links = links_between(connection, named, _MAX_LINKS)
    of_page = Counter(page_id for page_id, _ in links)
    strengths: dict[int, float] = defaultdict(float)
    for (page_id, other), shared in Counter(links).items():
        strengths[other] += 1 / (1 + math.log(of_page[page_id] / shared))
    return {other: min(strength, 1.0) for other, strength in strengths.items()}


def _longer_spans(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the longer spans that contain this one."""
    for first in range(stop - _MAX_NAME_WORDS, start + 1):
        for end in range(stop, first + _MAX_NAME_WORDS + 1):
            if (first, end) != (start, stop):
                yield first, end
