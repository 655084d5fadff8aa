"""The lanes that a query asks for, side by side; what cannot be had is said and done without."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from gbrain.config import Settings
from gbrain.errors import ModelUnavailable
from gbrain.search.fusion import shared_chunk_scores
from gbrain.search.lanes import keyword
from gbrain.store.connection import Database
from gbrain.threads import BackgroundCall
from gbrain.trace import Trace
from gbrain.types import LaneResult, Mode, Query

if TYPE_CHECKING:
    from gbrain.store.vectors import Floats, VectorSpace

EmbedQuery = Callable[[str], "Floats"]

_NOT_NEAR = "semantic_weight is 0: gbrain config reset semantic_weight."
_LINKS_ALONE = "semantic_weight and keyword_weight are 0: only links answer."
_ALL_OFF = "The weights of all lanes are 0: gbrain config reset keyword_weight switches one on."


class LaneResults(NamedTuple):
    """What each lane found, by its name; the mode that could be had, and why not the one asked."""

    by_name: dict[str, LaneResult]
    mode: Mode
    notice: str | None = None


class LaneInputs(NamedTuple):
    """What the lanes work with; `embed` opens the model only when it is called."""

    database: Database
    connection: sqlite3.Connection
    query: Query
    settings: Settings
    embed: EmbedQuery
    trace: Trace


def run_lanes(search: LaneInputs, mode: Mode, weights: Mapping[str, float]) -> LaneResults:
    """Keywords and meaning as `mode` asks, and the other lanes beside them; weight 0 is off."""
    lanes = _main_lanes(search, mode, weights)
    if mode != "bm25" and weights["graph"] > 0:
        from gbrain.search.lanes import graph

        with search.trace.stage("graph") as detail:
            found = graph.search(search.connection, search.query, search.settings)
            lanes.by_name["graph"] = found
            detail["pages"] = len(found.pages)
    return lanes


def _main_lanes(search: LaneInputs, mode: Mode, weights: Mapping[str, float]) -> LaneResults:
    if mode == "bm25":
        return LaneResults({"fts": _keyword_lane(search)}, "bm25")
    words = weights["fts"] > 0
    if weights["vector"] <= 0 and weights["associative"] <= 0:
        if not words:
            return LaneResults({}, mode, _LINKS_ALONE if weights["graph"] > 0 else _ALL_OFF)
        return LaneResults(
            {"fts": _keyword_lane(search)}, "bm25", None if mode == "auto" else _NOT_NEAR
        )
    space, notice = _space(search)
    if space:
        try:
            if words and mode != "semantic":
                return _both(search, space, weights)
            return LaneResults(_vector_lanes(search, space, weights), "semantic")
        except ModelUnavailable as error:
            notice = error.full_message
    elif words and mode == "auto":
        notice = None
    if not words and weights["graph"] > 0:
        return LaneResults({}, mode, notice)
    return LaneResults({"fts": _keyword_lane(search)}, "bm25", notice)


def _space(search: LaneInputs) -> tuple[VectorSpace | None, str | None]:
    """The vectors to compare the query with, or why there are none."""
    if not search.query.semantic_text:
        return None, "The query has no words whose meaning could be looked for."
    from gbrain.store.vectors import active_space, has_vectors

    space = active_space(search.connection)
    if space is None or not has_vectors(search.connection, space):
        return None, "The brain has no vectors yet: run gbrain embed."
    return space, None


def _both(search: LaneInputs, space: VectorSpace, weights: Mapping[str, float]) -> LaneResults:
    """Both at once, each on a connection of its own, or one after the other on the same.

    A passage's number can be another's after the next write: when somebody wrote meanwhile, the
    lanes may not speak of the same passages and are asked again, all in a new view of the brain.
    """
    search = search._replace(embed=cache(search.embed))

    def keyword_lane() -> LaneResult:
        with closing(search.database.open_second_connection()) as own:
            own.execute("BEGIN")
            return _keyword_lane(search._replace(connection=own))

    began, stages = _view(search.connection), len(search.trace.stages)
    lanes = _joined(search, space, weights, BackgroundCall(keyword_lane).result)
    search.connection.execute("ROLLBACK")
    search.connection.execute("BEGIN")
    if _view(search.connection) == began:
        return lanes
    del search.trace.stages[stages:]
    return _joined(search, space, weights, lambda: _keyword_lane(search))


def _view(connection: sqlite3.Connection) -> int:
    """A number that is the same for this connection as long as nobody else writes."""
    number: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return number


def _joined(
    search: LaneInputs,
    space: VectorSpace,
    weights: Mapping[str, float],
    keyword_lane: Callable[[], LaneResult],
) -> LaneResults:
    try:
        by_meaning = _vector_lanes(search, space, weights)
    except ModelUnavailable as error:
        return LaneResults({"fts": keyword_lane()}, "bm25", error.full_message)
    words, near = keyword_lane(), by_meaning.get("vector")
    if near:
        by_meaning["vector"] = near._replace(combined_chunk_scores=shared_chunk_scores(words, near))
    return LaneResults({"fts": words, **by_meaning}, "hybrid")


def _keyword_lane(search: LaneInputs) -> LaneResult:
    return keyword.search_with_retries(
        search.connection, search.query, search.settings, search.trace
    )


def _vector_lanes(
    search: LaneInputs, space: VectorSpace, weights: Mapping[str, float]
) -> dict[str, LaneResult]:
    """What is near in meaning and what that recalls, as far as each is on."""
    from gbrain.store.vectors import approximate_cosines

    lanes: dict[str, Callable[..., LaneResult]] = {}
    if weights["vector"] > 0:
        from gbrain.search.lanes import vector

        lanes["vector"] = vector.search
    if weights["associative"] > 0:
        from gbrain.search.lanes import associative

        lanes["associative"] = associative.search
    with search.trace.stage("embed_query"):
        embedded = search.embed(search.query.semantic_text)
    found: dict[str, LaneResult] = {}
    with closing(search.database.open_second_connection()) as second:
        connections = (search.connection, second)
        # Both lanes begin with the vectors near the query: whichever is first looks for them.
        scan = cache(lambda: approximate_cosines(connections, space, embedded))
        for name, lane in lanes.items():
            with search.trace.stage(name) as detail:
                found[name] = lane(
                    connections, space, embedded, search.query, search.settings, scan
                )
                detail["pages"] = len(found[name].pages)
                detail["passages"] = len(found[name].chunks)
    return found
