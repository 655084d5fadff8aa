"""Run the lanes that a query asks for, the keyword lane in parallel with the vector lane.

A lane of weight 0 does no work. A lane that cannot run is left out, and a notice says why.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from gbrain.config import Settings
from gbrain.errors import ModelUnavailable
from gbrain.search.fusion import shared_chunk_scores
from gbrain.search.lanes import keyword
from gbrain.store.connection import Database
from gbrain.text.query_terms import may_be_misspelt
from gbrain.threads import BackgroundCall
from gbrain.trace import Trace
from gbrain.types import LaneResult, Mode, Query

if TYPE_CHECKING:
    from gbrain.store.jobs import Backlog
    from gbrain.store.vector_space import Floats, VectorSpace

# A query with more unknown words than this is about something new, not misspelt.
_MAX_MISSPELT_WORDS = 2

EmbedQuery = Callable[[str], "Floats"]

_VECTOR_LANE_OFF = "semantic_weight is 0: gbrain config reset semantic_weight."
_GRAPH_LANE_ONLY = "semantic_weight and keyword_weight are 0: only the graph lane is used."
_ALL_LANES_OFF = (
    "The weights of all lanes are 0: gbrain config reset keyword_weight switches one on."
)
_NO_TEXT_TO_EMBED = "The query has no words to embed."
_NO_VECTORS = "The brain has no vectors yet: run gbrain embed."


class LaneResults(NamedTuple):
    """The result of each lane by name, the mode that was used, and why it is not the one asked.

    `backlog` counts the chunks that the vector lane could not see, if there are any.
    """

    by_name: dict[str, LaneResult]
    mode: Mode
    notice: str | None = None
    backlog: Backlog | None = None


class LaneInputs(NamedTuple):
    """What the lanes read; `embed` loads the model when it is called.

    `connection` is in the pipeline's read transaction. Only if `parallel` may the keyword lane run
    on a second connection, which can see a later snapshot. `scans` are the approximate cosines by
    text, for a second run of the lanes.
    """

    database: Database
    connection: sqlite3.Connection
    query: Query
    settings: Settings
    embed: EmbedQuery
    trace: Trace
    parallel: bool
    scans: dict[str, Floats]


def run_lanes(inputs: LaneInputs, mode: Mode, weights: Mapping[str, float]) -> LaneResults:
    """Return the results of the lanes that `mode` asks for and whose weight is above 0."""
    lanes = _run_keyword_and_vector(inputs, mode, weights)
    if mode != "bm25" and weights["graph"] > 0:
        from gbrain.search.lanes import graph

        with inputs.trace.stage("graph") as detail:
            result = graph.search(inputs.connection, inputs.query, inputs.settings)
            lanes.by_name["graph"] = result
            detail["pages"] = len(result.pages)
    return lanes


def wants_vectors(query: Query, mode: Mode, weights: Mapping[str, float]) -> bool:
    """Tell whether a lane that compares vectors is asked for."""
    on = weights["vector"] > 0 or weights["associative"] > 0
    return on and mode != "bm25" and bool(query.semantic_text)


def backlog_notice(lanes: LaneResults) -> str | None:
    """Return a sentence about chunks that have no vector yet; None if there are none."""
    if lanes.backlog is None:
        return None
    waiting, chunks = lanes.backlog
    verb = "is" if waiting == 1 else "are"
    return f"{waiting:,} of {chunks:,} chunks {verb} not embedded yet: gbrain embed."


def _run_keyword_and_vector(
    inputs: LaneInputs, mode: Mode, weights: Mapping[str, float]
) -> LaneResults:
    alone = weights["graph"] <= 0
    if mode == "bm25":
        return LaneResults({"fts": _run_keyword(inputs, alone=alone)}, "bm25")
    keyword_on = weights["fts"] > 0
    if weights["vector"] <= 0 and weights["associative"] <= 0:
        if not keyword_on:
            return LaneResults(
                {}, mode, _GRAPH_LANE_ONLY if weights["graph"] > 0 else _ALL_LANES_OFF
            )
        notice = None if mode == "auto" else _VECTOR_LANE_OFF
        return LaneResults({"fts": _run_keyword(inputs, alone=alone)}, "bm25", notice)
    space, why_not = _find_vectors(inputs)
    if space:
        try:
            if keyword_on and mode != "semantic":
                return _run_hybrid(inputs, space, weights)
            return LaneResults(_run_vector(inputs, space, weights), "semantic")
        except ModelUnavailable as error:
            why_not = error.full_message
    elif keyword_on and mode == "auto":
        why_not = None
    if not keyword_on and weights["graph"] > 0:
        return LaneResults({}, mode, why_not)
    return LaneResults({"fts": _run_keyword(inputs, alone=alone)}, "bm25", why_not)


def _find_vectors(inputs: LaneInputs) -> tuple[VectorSpace | None, str | None]:
    """Return the active model's vectors, or None and a notice that says why there are none."""
    if not inputs.query.semantic_text:
        return None, _NO_TEXT_TO_EMBED
    from gbrain.store.vectors import active_space, has_vectors

    space = active_space(inputs.connection)
    if space is None or not has_vectors(inputs.connection, space):
        return None, _NO_VECTORS
    return space, None


def _run_hybrid(
    inputs: LaneInputs, space: VectorSpace, weights: Mapping[str, float]
) -> LaneResults:
    """Run the keyword lane, on a thread if that is allowed, and the vector lanes."""
    keyword_result = (
        BackgroundCall(lambda: _run_keyword_on_second_connection(inputs)).result
        if inputs.parallel
        else lambda: _run_keyword(inputs)
    )
    try:
        vector_results = _run_vector(inputs, space, weights)
    except ModelUnavailable as error:
        return LaneResults({"fts": keyword_result()}, "bm25", error.full_message)
    by_keyword, by_vector = keyword_result(), vector_results.get("vector")
    if by_vector:
        shared = shared_chunk_scores(by_keyword, by_vector)
        vector_results["vector"] = by_vector._replace(combined_chunk_scores=shared)
    return LaneResults({"fts": by_keyword, **vector_results}, "hybrid")


def _run_keyword_on_second_connection(inputs: LaneInputs) -> LaneResult:
    with inputs.database.second_read_transaction() as connection:
        return _run_keyword(inputs._replace(connection=connection))


def _run_keyword(inputs: LaneInputs, *, alone: bool = False) -> LaneResult:
    return run_keyword_lane(
        inputs.connection, inputs.query, inputs.settings, inputs.trace, alone=alone
    )


def run_keyword_lane(
    connection: sqlite3.Connection, query: Query, settings: Settings, trace: Trace, *, alone: bool
) -> LaneResult:
    """Return the keyword lane's result; retry looser if it is empty, suggest words if some fail."""
    with trace.stage("fts") as detail:
        result = keyword.search(connection, query, settings, alone=alone)
        detail["pages"], detail["passages"] = len(result.pages), len(result.chunks)
    if not result.pages and query.terms and not query.filter_only and settings.retry_ladder:
        from gbrain.search.calibration import reads_only_english
        from gbrain.search.query_relaxation import retry_looser

        # A word that the English dictionary lacks may be a foreign one; the vector lane reads it.
        only_typos = not alone and not reads_only_english(connection)
        return retry_looser(connection, query, settings, trace, only_typos=only_typos)
    if settings.repair_words and result.pages and query.fts_expression is None:
        misspelt = tuple(filter(may_be_misspelt, result.unknown_terms))
        if 0 < len(misspelt) <= _MAX_MISSPELT_WORDS:
            from gbrain.search.query_relaxation import suggest_words

            suggested = suggest_words(connection, misspelt, settings, trace)
            return result._replace(suggested_terms=suggested)
    return result


def _run_vector(
    inputs: LaneInputs, space: VectorSpace, weights: Mapping[str, float]
) -> dict[str, LaneResult]:
    """Run the vector and the associative lane, those that are on."""
    from gbrain.store.vector_scan import approximate_cosines

    lanes: dict[str, Callable[..., LaneResult]] = {}
    if weights["vector"] > 0:
        from gbrain.search.lanes import vector

        lanes["vector"] = vector.search
    if weights["associative"] > 0:
        from gbrain.search.lanes import associative

        lanes["associative"] = associative.search
    with inputs.trace.stage("embed_query"):
        embedded = inputs.embed(inputs.query.semantic_text)
    results: dict[str, LaneResult] = {}
    text = inputs.query.semantic_text
    # Only scans use the second connection; the associative lane always makes one more.
    scanned = text in inputs.scans and "associative" not in lanes
    with (
        nullcontext(inputs.connection) if scanned else inputs.database.second_connection()
    ) as second:
        connections = (inputs.connection, second)

        def scan() -> Floats:
            """Return the scan of all vectors, from which both lanes start; the first does it."""
            if text not in inputs.scans:
                inputs.scans[text] = approximate_cosines(connections, space, embedded)
            return inputs.scans[text]

        for name, lane in lanes.items():
            with inputs.trace.stage(name) as detail:
                results[name] = lane(
                    connections, space, embedded, inputs.query, inputs.settings, scan
                )
                detail["pages"] = len(results[name].pages)
                detail["passages"] = len(results[name].chunks)
    return results
