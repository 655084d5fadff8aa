"""THE QUERY, top to bottom: short-circuit, lanes in parallel, fuse, boost, rerank, cut, expand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from gbrain.config import Settings
from gbrain.search import name_match
from gbrain.search.apply_boosts import BoostResult, apply_boosts
from gbrain.search.boosts import needs_intent
from gbrain.search.fusion import fuse
from gbrain.search.hits import build_hits
from gbrain.search.run_lanes import EmbedQuery, LaneInputs, LaneResults, run_lanes
from gbrain.search.threshold import ThresholdResult, apply_threshold
from gbrain.search.verdict import grade_answer
from gbrain.store.connection import Database
from gbrain.trace import Trace
from gbrain.types import Answer, LaneResult, MergeStrategy, Mode, Query, Ranked

if TYPE_CHECKING:
    from gbrain.search.boosts import CustomBoost
    from gbrain.search.intent import Intent
    from gbrain.search.rerank.head import RerankResources
    from gbrain.search.rerank.rerank import RerankResult


class QueryPlan(NamedTuple):
    """How a query is to be answered; what opens a model is called only when it is needed."""

    mode: Mode
    merge: MergeStrategy
    settings: Settings
    today: date
    embed: EmbedQuery
    count: Callable[[str], int]
    helpers: Callable[[], RerankResources]
    budget: int | None = None
    boosts: tuple[CustomBoost, ...] = ()


class StageResults(NamedTuple):
    """What each stage made of a query, for whoever asks why."""

    query: Query
    plan: QueryPlan
    name_match: name_match.NameMatch
    intent: Intent | None
    weights: Mapping[str, float]
    lanes: LaneResults
    fused: Sequence[Ranked]
    boosted: BoostResult
    reranked: RerankResult | None
    threshold: ThresholdResult


def run_query(
    database: Database, query: Query, plan: QueryPlan, trace: Trace
) -> tuple[Answer, StageResults]:
    """The pages that answer `query`, best first, and how each stage came to them."""
    settings = plan.settings
    with database.read_transaction() as connection:
        small = name_match.NameMatch((), None)
        if settings.short_circuit:
            with trace.stage("short_circuit") as detail:
                small = name_match.match_name(connection, query)
                detail["how"], detail["pages"] = small.how, len(small.candidates)
        search = LaneInputs(database, connection, query, settings, plan.embed, trace)
        work = _named(search, plan, small) if small.answer else _ranked(search, plan, small)
        ranked, lanes = work.threshold.kept, work.lanes
        with trace.stage("text"):
            hits = build_hits(connection, ranked[: query.limit], _as_found(query, lanes.by_name))
        named = small.how if small.answer else None
        with trace.stage("verdict") as detail:
            verdict = grade_answer(
                connection, query, ranked, lanes.by_name, hits, settings, short_circuit=named
            )
            detail["grade"], detail["confidence"] = verdict.grade, verdict.confidence
        context, budget = None, None
        if plan.budget is not None:
            from gbrain.search.context import assemble_context

            with trace.stage("expand") as detail:
                context, budget = assemble_context(
                    connection, query, ranked, lanes.by_name, settings, plan.budget, plan.count
                )
                detail["pieces"], detail["tokens"] = len(context), budget.used
    notices = (lanes.notice, work.reranked.notice if work.reranked else None)
    answered = Answer(
        query=query.text,
        mode=lanes.mode,
        merge=plan.merge if len(lanes.by_name) > 1 else None,
        short_circuit=named,
        fell_back_to_bm25=lanes.mode == "bm25"
        and (lanes.notice is not None or plan.mode in ("hybrid", "semantic")),
        notice=" ".join(notice for notice in notices if notice) or None,
        superseded=work.boosted.superseded,
        verdict=verdict,
        hits=hits,
        took_ms=(perf_counter() - trace.began) * 1000,
        trace=trace,
        context=context,
        budget=budget,
        read_as=_read_as(query, lanes.by_name),
    )
    return answered, work


def _as_found(query: Query, lanes: Mapping[str, LaneResult]) -> Query:
    """The query with the words that found its pages, if some were repaired or left out."""
    terms = lanes["fts"].terms if "fts" in lanes else ()
    return query._replace(terms=terms) if terms else query


def _read_as(query: Query, lanes: Mapping[str, LaneResult]) -> str | None:
    """The words that found the pages, if some were repaired or left out."""
    terms = lanes["fts"].terms if "fts" in lanes else ()
    words = [
        " ".join(term.words if term in query.terms else term.synonyms or term.words)
        for term in terms
    ]
    return " ".join(words) or None


def _named(search: LaneInputs, plan: QueryPlan, small: name_match.NameMatch) -> StageResults:
    """The one page that the whole query names."""
    assert small.answer is not None
    page = Ranked(small.answer.page_id, small.answer.slug, 1.0, {"sms": small.answer})
    lanes = LaneResults({}, plan.mode)
    return StageResults(
        search.query,
        plan,
        small,
        None,
        {},
        lanes,
        [page],
        BoostResult([page]),
        None,
        ThresholdResult([page]),
    )


def _ranked(search: LaneInputs, plan: QueryPlan, small: name_match.NameMatch) -> StageResults:
    """Lanes, fusion, boosts, reranker and cut, one after the other."""
    connection, query, settings, trace = (
        search.connection, search.query, search.settings, search.trace,
    )  # fmt: skip
    intent, weights = None, settings.lane_weights
    if needs_intent(settings):
        from gbrain.search.intent import detect_intent, lane_weights

        intent = detect_intent(query.semantic_text)
        weights = lane_weights(intent, settings)
    lanes = run_lanes(search, plan.mode, weights)
    # A lane alone is asked for outright, or all that could be had: its weight says nothing.
    weights = weights if len(lanes.by_name) > 1 else {}
    if small.candidates:
        lanes.by_name["sms"] = LaneResult(small.candidates)
    with trace.stage("fuse") as detail:
        fused = fuse(lanes.by_name, weights, plan.merge, settings)
        detail["merge"], detail["pages"] = plan.merge, len(fused)
    with trace.stage("boost") as detail:
        lifted = apply_boosts(connection, query, fused, intent, plan.today, settings, plan.boosts)
        ranked = lifted.ranked
        detail["intent"] = intent.kind if intent else None
        detail["superseded"] = len(lifted.superseded)
    reranked = None
    if settings.rerank != "off":
        from gbrain.search.rerank.rerank import rerank

        with trace.stage("rerank") as detail:
            reranked = rerank(connection, query, ranked, lanes.by_name, settings, plan.helpers())
            ranked = reranked.ranked
            detail["how"], detail["pages"] = reranked.how, reranked.pages
            detail["passages"], detail["skipped"] = reranked.passages, reranked.skipped
    if settings.mmr_lambda < 1:
        from gbrain.search.mmr import diversify

        with trace.stage("variety"):
            ranked = diversify(connection, ranked, settings)
    with trace.stage("cut") as detail:
        kept = apply_threshold(ranked, settings)
        detail["pages"] = len(kept.kept)
    return StageResults(query, plan, small, intent, weights, lanes, fused, lifted, reranked, kept)
