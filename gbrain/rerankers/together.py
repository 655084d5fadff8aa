"""Asks the chosen reranker about an answer's head; whatever goes wrong, the order it had stands."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import NamedTuple

from gbrain.config import Settings
from gbrain.errors import GbrainError
from gbrain.ranking.agreement import lanes_agree
from gbrain.ranking.rerank import best_chunks, reordered
from gbrain.rerankers.head import Head, Helpers, Opinions
from gbrain.store.chunks import Passage, passages
from gbrain.types import Found, Query, Ranked

# The module of each kind, loaded when it is asked.
KINDS = {
    "cross-encoder": "cross_encoder",
    "overlap": "overlap",
    "command": "command",
    "learned": "learned",
}


class Reranked(NamedTuple):
    """The pages, best first, and by which reranker; `skipped` says why nobody was asked.

    `pages` and `passages` were looked at. `notice` says what went wrong, in a sentence. `weight`
    is what the opinions were worth against the scores they met, from 0 to 1.
    """

    ranked: list[Ranked]
    how: str
    pages: int = 0
    passages: int = 0
    skipped: str | None = None
    notice: str | None = None
    weight: float = 0.0


def rerank(
    connection: sqlite3.Connection,
    query: Query,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, Found],
    settings: Settings,
    helpers: Helpers,
) -> Reranked:
    """The answer with its first `rerank_head` pages in the order that the reranker prefers."""
    how = settings.rerank
    if len(ranked) < 2:
        return Reranked(list(ranked), how, skipped="fewer than two pages")
    if settings.unanimity and lanes_agree(lanes):
        return Reranked(list(ranked), how, skipped="the lanes agree")
    head = _head(connection, query, ranked, lanes, settings, helpers)
    try:
        given: Opinions = import_module(f"gbrain.rerankers.{KINDS[how]}").opinions(head)
    except GbrainError as error:
        return Reranked(list(ranked), how, notice=f"Not reranked: {error.told}")
    return Reranked(
        reordered(ranked, given.by_page, settings.rerank_head, given.weight),
        how,
        pages=len(given.by_page),
        passages=given.passages,
        weight=given.weight,
    )


def _head(
    connection: sqlite3.Connection,
    query: Query,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, Found],
    settings: Settings,
    helpers: Helpers,
) -> Head:
    """The pages to ask about; one whose passages are gone has none."""
    pages = ranked[: settings.rerank_head]
    chosen = best_chunks(pages, lanes, settings)
    known = passages(connection, [chunk for chunks in chosen.values() for chunk in chunks])
    found: dict[int, list[Passage]] = {
        page_id: [known[chunk] for chunk in chunks if chunk in known]
        for page_id, chunks in chosen.items()
    }
    return Head(connection, query, pages, found, settings, helpers)
