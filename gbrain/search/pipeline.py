"""THE QUERY, top to bottom: short-circuit, lanes in parallel, fuse, boost, rerank, cut, expand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from gbrain.config import Settings
from gbrain.search import name_match
from gbrain.search.apply_boosts import Boosted, boosted
from gbrain.search.boosts import wants_intent
from gbrain.search.fusion import fuse
from gbrain.search.hits import hits_of
from gbrain.search.run_lanes import EmbedQuery, Lanes, Search, run_lanes
from gbrain.search.threshold import Cut, cut
from gbrain.search.verdict import judged
from gbrain.store.connection import Database
from gbrain.trace import Trace
from gbrain.types import Answer, LaneResult, MergeStrategy, Mode, Query, Ranked

if TYPE_CHECKING:
    from gbrain.search.boosts import CustomBoost
    from gbrain.search.intent import Intent
    from gbrain.search.rerank.head import Helpers
    from gbrain.search.rerank.rerank import Reranked


class QueryPlan(NamedTuple):
    """How a query is to be answered; what opens a model is called only when it is needed."""

    mode: Mode
    merge: MergeStrategy
    settings: Settings
    today: date
    embed: EmbedQuery
    count: Callable[[str], int]
    helpers: Callable[[], Helpers]
    budget: int | None = None
    boosts: tuple[CustomBoost, ...] = ()


class StageResults(NamedTuple):
    """What each stage made of a query, for whoever asks why."""

    query: Query
    plan: QueryPlan
    small: name_match.NameMatch
    intent: Intent | None
    weights: Mapping[str, float]
    lanes: Lanes
    fused: Sequence[Ranked]
    boosted: Boosted
    reranked: Reranked | None
    cut: Cut


def answer(
    database: Database, query: Query, plan: QueryPlan, trace: Trace
) -> tuple[Answer, StageResults]:
    """The pages that answer `query`, best first, and how each stage came to them."""
    settings = plan.settings
    with database.read_transaction() as connection:
        small = name_match.NameMatch((), None)
        if settings.short_circuit:
            with trace.stage("short_circuit") as detail:
                small = name_match.look_up(connection, query)
                detail["how"], detail["pages"] = small.how, len(small.candidates)
        search = Search(database, connection, query, settings, plan.embed, trace)
        work = _named(search, plan, small) if small.answer else _ranked(search, plan, small)
        ranked, lanes = work.cut.kept, work.lanes
        with trace.stage("text"):
            hits = hits_of(connection, ranked[: query.limit], _as_found(query, lanes.found))
        named = small.how if small.answer else None
        with trace.stage("verdict") as detail:
            verdict = judged(
                connection, query, ranked, lanes.found, hits, settings, short_circuit=named
            )
            detail["grade"], detail["confidence"] = verdict.grade, verdict.confidence
        context, budget = None, None
        if plan.budget is not None:
            from gbrain.search.context import assemble

            with trace.stage("expand") as detail:
                context, budget = assemble(
                    connection, query, ranked, lanes.found, settings, plan.budget, plan.count
                )
                detail["pieces"], detail["tokens"] = len(context), budget.used
    notices = (lanes.notice, work.reranked.notice if work.reranked else None)
    answered = Answer(
        query=query.text,
        mode=lanes.mode,
        merge=plan.merge if len(lanes.found) > 1 else None,
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
        read_as=_read_as(query, lanes.found),
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


def _named(search: Search, plan: QueryPlan, small: name_match.NameMatch) -> StageResults:
    """The one page that the whole query names."""
    assert small.answer is not None
    page = Ranked(small.answer.page_id, small.answer.slug, 1.0, {"sms": small.answer})
    lanes = Lanes({}, plan.mode)
    return StageResults(
        search.query, plan, small, None, {}, lanes, [page], Boosted([page]), None, Cut([page])
    )


def _ranked(search: Search, plan: QueryPlan, small: name_match.NameMatch) -> StageResults:
    """Lanes, fusion, boosts, reranker and cut, one after the other."""
    connection, query, settings, trace = (
        search.connection, search.query, search.settings, search.trace,
    )  # fmt: skip
    intent, weights = None, settings.lane_weights
    if wants_intent(settings):
        from gbrain.search.intent import lane_weights, read_intent

        intent = read_intent(query.semantic_text)
        weights = lane_weights(intent, settings)
    lanes = run_lanes(search, plan.mode, weights)
    # A lane alone is asked for outright, or all that could be had: its weight says nothing.
    weights = weights if len(lanes.found) > 1 else {}
    if small.candidates:
        lanes.found["sms"] = LaneResult(small.candidates)
    with trace.stage("fuse") as detail:
        fused = fuse(lanes.found, weights, plan.merge, settings)
        detail["merge"], detail["pages"] = plan.merge, len(fused)
    with trace.stage("boost") as detail:
        lifted = boosted(connection, query, fused, intent, plan.today, settings, plan.boosts)
        ranked = lifted.ranked
        detail["intent"] = intent.kind if intent else None
        detail["superseded"] = len(lifted.superseded)
    reranked = None
    if settings.rerank != "off":
        from gbrain.search.rerank.rerank import rerank

        with trace.stage("rerank") as detail:
            reranked = rerank(connection, query, ranked, lanes.found, settings, plan.helpers())
            ranked = reranked.ranked
            detail["how"], detail["pages"] = reranked.how, reranked.pages
            detail["passages"], detail["skipped"] = reranked.passages, reranked.skipped
    if settings.mmr_lambda < 1:
        from gbrain.search.mmr import varied

        with trace.stage("variety"):
            ranked = varied(connection, ranked, settings)
    with trace.stage("cut") as detail:
        kept = cut(ranked, settings)
        detail["pages"] = len(kept.kept)
    return StageResults(query, plan, small, intent, weights, lanes, fused, lifted, reranked, kept)
