"""Answer a query, stage by stage: each stage is one call and adds one line to the trace.

parse (in `Brain`) -> [name match] -> lanes in parallel -> merge -> boosts -> [rerank] -> threshold
-> [expand to budget] -> answer
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from gbrain.config import Settings, override_settings
from gbrain.search.boost_factors import BoostInputs
from gbrain.search.boosts import (
    QUESTIONS,
    BoostResult,
    apply_boosts,
    may_mention_date,
    needs_intent,
)
from gbrain.search.fusion import fuse, weigh_agreement
from gbrain.search.hits import build_hits
from gbrain.search.name_match import NO_MATCH, NameMatch, match_name
from gbrain.search.run_lanes import (
    EmbedQuery,
    LaneInputs,
    LaneResults,
    backlog_notice,
    run_lanes,
    wants_vectors,
)
from gbrain.search.term_forms import expand_terms
from gbrain.search.threshold import (
    ThresholdResult,
    apply_noise,
    apply_threshold,
    find_weak_pages,
    rejects_answer,
)
from gbrain.search.verdict import grade_answer
from gbrain.store.connection import Database
from gbrain.store.keyword_index import has_questions, pages_asked
from gbrain.store.pages import fetch_pages
from gbrain.store.scope import pages_in_scope
from gbrain.trace import SCORES, PageScore, Trace
from gbrain.types import Answer, Candidate, LaneResult, MergeStrategy, Mode, Query, Ranked

if TYPE_CHECKING:
    from gbrain.search.boost_factors import CustomBoost
    from gbrain.search.date_search import TimeAsked
    from gbrain.search.intent import Intent
    from gbrain.search.rerank.rerank import RerankResult
    from gbrain.search.rerank.scores import RerankResources
    from gbrain.store.jobs import Backlog


# Pages that each lane adds from the time that a question asks about. With 50, a question with a
# date cost 1.38 times the same question without it, and found no more.
_PERIOD_POOL = 20


_TRACED_PAGES = 10

_CUT = "The query is too long: only its beginning was searched."


class QueryPlan(NamedTuple):
    """How to answer a query; the callables load a model only when a stage calls them.

    `embed_new_chunks` embeds what was just written, if that is little, and returns what waits.
    `budget` is the number of tokens of context to assemble, None for no context;
    `max_context_pages` is the number of pages that it may come from, None for any. If the query is
    the name of a page, `pin_named_page` lists that page first and the others below; without it,
    that page alone is the answer, and no lane runs.
    """

    mode: Mode
    merge: MergeStrategy
    settings: Settings
    today: date
    embed: EmbedQuery
    embed_new_chunks: Callable[[], Backlog]
    count_tokens: Callable[[Sequence[str]], list[int]]
    rerank_resources: Callable[[], RerankResources]
    budget: int | None = None
    max_context_pages: int | None = None
    boosts: tuple[CustomBoost, ...] = ()
    pin_named_page: bool = False


class Candidates(NamedTuple):
    """The pages that the name match and the lanes found, before the merge.

    `time` is what the query asks about, with the query as the lanes searched it.
    """

    name_match: NameMatch
    intent: Intent | None
    weights: Mapping[str, float]
    lanes: LaneResults
    time: TimeAsked | None = None


class StageResults(NamedTuple):
    """The result of every stage of one query; `gbrain explain` prints them.

    `plan` has the settings that the merge used; `settings` are the brain's own if they differ.
    """

    query: Query
    plan: QueryPlan
    name_match: NameMatch
    intent: Intent | None
    weights: Mapping[str, float]
    lanes: LaneResults
    fused: Sequence[Ranked]
    boosted: BoostResult
    reranked: RerankResult | None
    threshold: ThresholdResult
    noisy: Sequence[Ranked] | None = None
    settings: Settings | None = None
    time: TimeAsked | None = None


def run_query(
    database: Database, query: Query, plan: QueryPlan, trace: Trace
) -> tuple[Answer, StageResults]:
    """Return the answer to a parsed query, best hit first, and the result of each stage."""
    plan = plan._replace(embed=cache(plan.embed))
    parsed = len(trace.stages)
    # Inside a caller's transaction every lane must read its snapshot: a second connection cannot.
    parallel = not database.in_transaction
    with database.read_transaction() as connection:
        version = database.data_version()
        match = _match_name(connection, query, plan, trace)
        if not _is_answered(match, plan):
            query = expand_terms(connection, query)
    # Outside of a transaction, since it writes. Only writes of others change `data_version`.
    backlog = None
    if not _is_answered(match, plan) and wants_vectors(
        query, plan.mode, plan.settings.lane_weights
    ):
        backlog = plan.embed_new_chunks()
    with database.read_transaction() as connection:
        found = _find_candidates(database, connection, query, plan, match, trace, parallel=parallel)
    with database.read_transaction() as connection:
        if database.data_version() != version:
            # Another program wrote meanwhile. The lanes may have read different snapshots, in which
            # one chunk id can mean two chunks: search again, in this transaction alone.
            del trace.stages[parsed:]
            match = _match_name(connection, query, plan, trace)
            found = _find_candidates(
                database, connection, query, plan, match, trace, parallel=False
            )
        if backlog and backlog.waiting:
            lanes = found.lanes._replace(backlog=backlog)
            found = found._replace(lanes=lanes, weights=_weigh_backlog(found.weights, backlog))
        results = _rank(connection, query, plan, found, trace)
        _add_scores(trace, results)
        return _build_answer(connection, results, trace), results


def _match_name(
    connection: sqlite3.Connection, query: Query, plan: QueryPlan, trace: Trace
) -> NameMatch:
    """Return the page that the query names, or several that it may name."""
    if not plan.settings.short_circuit:
        return NO_MATCH
    with trace.stage("short_circuit") as detail:
        match = match_name(connection, query)
        detail["how"], detail["pages"] = match.how, len(match.candidates)
    return match


def _find_candidates(
    database: Database,
    connection: sqlite3.Connection,
    query: Query,
    plan: QueryPlan,
    match: NameMatch,
    trace: Trace,
    *,
    parallel: bool,
) -> Candidates:
    """Return the page that the query names, or the candidates of every lane that is on."""
    settings = plan.settings
    if _is_answered(match, plan):
        return Candidates(match, None, {}, LaneResults({}, plan.mode))
    asked = _find_pages_asked(connection, query, settings, trace)
    time = None
    if not asked and settings.date_boost and may_mention_date(query.semantic_text):
        from gbrain.search.date_search import read_time

        with trace.stage("dates") as detail:
            time = read_time(connection, query, plan.today)
            detail["periods"] = len(time.spans) if time else 0
    if time:
        query = time.query
    intent, weights = None, settings.lane_weights
    if needs_intent(settings):
        from gbrain.search.intent import detect_intent, lane_weights

        intent = detect_intent(query.semantic_text)
        weights = lane_weights(intent, settings)
    inputs = LaneInputs(database, connection, query, settings, plan.embed, trace, parallel, {})
    if time and time.has_pages and time.only_time:
        lanes = _list_period(inputs, time)
    else:
        lanes = run_lanes(inputs, plan.mode, weights)
    if time and time.has_pages and not time.only_time:
        lanes, time = _search_period(inputs, time, lanes, weights)
    # The weight of a lane only matters against another lane's.
    weights = weights if len(lanes.by_name) > 1 else {}
    if match.candidates and not match.answer:
        lanes.by_name["sms"] = LaneResult(match.candidates)
    if asked:
        lanes.by_name[QUESTIONS] = LaneResult(asked)
    return Candidates(match, intent, weights, lanes, time)


def _weigh_backlog(weights: Mapping[str, float], backlog: Backlog) -> Mapping[str, float]:
    """Return the lane weights with less for vectors, the more chunks have none yet.

    Among few pages the most similar one is not similar. With 5, 20, 50 and 75 % of the everyday
    notes embedded, the first hit was right for 10, 15, 36 and 54 % of the questions with the full
    weight, and for 58, 59, 57 and 54 % with the square of the share; by keyword for 58 %.
    """
    if "vector" not in weights:
        return weights
    embedded = 1 - backlog.waiting / backlog.chunks
    return {**weights, "vector": embedded**2 * weights["vector"]}


def _find_pages_asked(
    connection: sqlite3.Connection, query: Query, settings: Settings, trace: Trace
) -> tuple[Candidate, ...]:
    """Return the pages in scope of which the query is a question, word for word."""
    if settings.hypothetical_questions == "off" or not has_questions(connection):
        return ()
    with trace.stage("questions") as detail:
        # In a page's own question, what looks like operators and fields is plain text.
        scope = query.scope._replace(tree=None)
        asked = pages_asked(connection, query.text)
        if asked and not scope.unlimited:
            inside = pages_in_scope(connection, asked, scope)
            asked = {page_id: slug for page_id, slug in asked.items() if page_id in inside}
        detail["pages"] = len(asked)
    return tuple(Candidate(page_id, slug, None, 1, 1.0) for page_id, slug in asked.items())


def _list_period(inputs: LaneInputs, time: TimeAsked) -> LaneResults:
    """Return the pages of the time that the query asks about and nothing else."""
    from gbrain.search.date_search import list_period

    with inputs.trace.stage("period") as detail:
        found = list_period(inputs.connection, time, inputs.settings)
        detail["pages"] = len(found.pages)
    return LaneResults({"fts": found}, "bm25")


def _search_period(
    inputs: LaneInputs, time: TimeAsked, lanes: LaneResults, weights: Mapping[str, float]
) -> tuple[LaneResults, TimeAsked]:
    """Search again among what is dated inside the time that the query asks about."""
    from gbrain.search.date_search import add_period_candidates, find_literal

    mode = lanes.mode
    pool = min(inputs.settings.candidate_pool, _PERIOD_POOL)
    inside = {"retry_ladder": "false", "repair_words": "false", "candidate_pool": str(pool)}
    settings = override_settings(inputs.settings, inside)

    def run_inside(query: Query) -> LaneResults:
        again = inputs._replace(query=query, settings=settings, trace=Trace(), parallel=False)
        return run_lanes(again, mode, {**weights, "graph": 0.0})

    with inputs.trace.stage("period") as detail:
        lanes, detail["pages"] = add_period_candidates(inputs.connection, time, lanes, run_inside)
        # Of a shared brain, the candidates are in memory only now.
        return lanes, find_literal(inputs.connection, time)


def _rank(
    connection: sqlite3.Connection, query: Query, plan: QueryPlan, found: Candidates, trace: Trace
) -> StageResults:
    """Merge the candidates into one list, reorder it and drop pages below the threshold."""
    match, intent, weights, lanes, time = found
    if time:
        query = time.query
    if match.answer and _is_answered(match, plan):
        page = Ranked(match.answer.page_id, match.answer.slug, 1.0, {"sms": match.answer})
        return StageResults(
            query, plan, *found[:4], [page], BoostResult([page]), None, ThresholdResult([page])
        )
    differ = _languages_differ(connection, lanes)
    settings = weigh_agreement(lanes.by_name, plan.merge, plan.settings, languages_differ=differ)
    own_settings = None if settings is plan.settings else plan.settings
    plan = plan._replace(settings=settings)
    with trace.stage("fuse") as detail:
        fused = fuse(lanes.by_name, weights, plan.merge, settings)
        detail["merge"], detail["pages"] = plan.merge, len(fused)
    with trace.stage("boost") as detail:
        levels = time.levels if time else ()
        literal = time.literal_slugs if time else ()
        inputs = BoostInputs(query, intent, levels, plan.today, settings, plan.boosts, literal)
        boosted = apply_boosts(connection, fused, inputs)
        ranked = boosted.ranked
        detail["intent"] = intent.kind if intent else None
        detail["superseded"] = len(boosted.superseded)
    reranked = None
    if settings.rerank != "off":
        from gbrain.search.rerank.rerank import rerank

        with trace.stage("rerank") as detail:
            reranked = rerank(
                connection, query, ranked, lanes.by_name, settings, plan.rerank_resources()
            )
            ranked = reranked.ranked
            detail["how"], detail["pages"] = reranked.how, reranked.pages
            detail["passages"], detail["skipped"] = reranked.chunks, reranked.skipped
    noisy = None
    if settings.noise_sigma:
        with trace.stage("noise"):
            ranked = noisy = apply_noise(ranked, query.text, settings)
    if settings.mmr_lambda < 1:
        from gbrain.search.mmr import diversify

        with trace.stage("variety"):
            ranked = diversify(connection, ranked, settings)
    with trace.stage("cut") as detail:
        threshold = apply_threshold(ranked, settings)
        detail["pages"] = len(threshold.kept)
    if match.answer:
        threshold = threshold._replace(kept=_pin(match.answer, threshold.kept))
        others = tuple(slug for slug in boosted.superseded if slug != match.answer.slug)
        boosted = boosted._replace(superseded=others)
    return StageResults(
        query, plan, *found[:4], fused, boosted, reranked, threshold, noisy, own_settings, time
    )


def _languages_differ(connection: sqlite3.Connection, lanes: LaneResults) -> bool:
    """Return whether a model that reads several languages finds another one than the keywords."""
    if not {"fts", "vector"} <= lanes.by_name.keys():
        return False
    from gbrain.search.calibration import reads_only_english
    from gbrain.search.languages import lanes_differ_in_language

    return not reads_only_english(connection) and lanes_differ_in_language(
        connection, lanes.by_name
    )


def _is_answered(match: NameMatch, plan: QueryPlan) -> bool:
    """Return whether the page that the query names is the whole answer."""
    return match.answer is not None and not plan.pin_named_page


def _pin(named: Candidate, ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return the pages with the one that the query names first; its score is the highest."""
    own = next((page for page in ranked if page.page_id == named.page_id), None)
    others = [page for page in ranked if page is not own]
    score = max((page.score for page in ranked), default=1.0)
    pinned = own or Ranked(named.page_id, named.slug, score, {})
    return [pinned._replace(score=score, lanes={**pinned.lanes, "sms": named}), *others]


def _add_scores(trace: Trace, results: StageResults) -> None:
    """Add the first pages of each lane and of each ranking to its stage of the trace."""
    rankings: dict[str, Sequence[Candidate] | Sequence[Ranked]] = {
        lane: found.pages for lane, found in results.lanes.by_name.items()
    }
    rankings |= {"fuse": results.fused, "boost": results.boosted.ranked}
    rankings |= {"rerank": results.reranked.ranked} if results.reranked else {}
    rankings |= {"noise": results.noisy} if results.noisy else {}
    for stage in trace.stages:
        if stage.name in rankings:
            first: list[PageScore] = [
                {"slug": page.slug, "score": round(page.score, 6)}
                for page in rankings[stage.name][:_TRACED_PAGES]
            ]
            stage.detail[SCORES] = first


def _build_answer(connection: sqlite3.Connection, results: StageResults, trace: Trace) -> Answer:
    """Add the text of the hits, the verdict and, with a budget, the context."""
    query, plan, lanes = results.query, results.plan, results.lanes
    settings, ranked = plan.settings, results.threshold.kept
    with trace.stage("text"):
        ranked = _drop_unreadable(connection, ranked, query, plan)
        listed = ranked[: query.limit]
        hits = build_hits(
            connection, listed, _with_terms_used(query, lanes), _weak_pages(query, listed, lanes)
        )
    short_circuit = results.name_match.how if results.name_match.answer else None
    with trace.stage("verdict") as detail:
        verdict = grade_answer(
            connection, query, ranked, lanes.by_name, hits, settings,
            short_circuit=short_circuit, time=results.time,
        )  # fmt: skip
        detail["grade"], detail["confidence"] = verdict.grade, verdict.confidence
    if rejects_answer(verdict.grade, settings):
        ranked, hits = [], ()
    context, budget = None, None
    if plan.budget is not None:
        from gbrain.search.context import assemble_context

        with trace.stage("expand") as detail:
            context, budget = assemble_context(
                connection, query, _with_full_bonuses(ranked, results), lanes.by_name, settings,
                plan.budget, plan.count_tokens,
                max_pages=plan.max_context_pages, verdict=verdict,
            )  # fmt: skip
            detail["pieces"], detail["tokens"] = len(context), budget.used
    notices = (
        _CUT if query.is_cut else None,
        lanes.notice or backlog_notice(lanes),
        results.reranked.notice if results.reranked else None,
    )
    return Answer(
        query=query.text,
        mode=lanes.mode,
        merge=plan.merge if len(lanes.by_name) > 1 else None,
        short_circuit=short_circuit,
        fell_back_to_bm25=lanes.mode == "bm25"
        and (lanes.notice is not None or plan.mode in ("hybrid", "semantic")),
        notice=" ".join(notice for notice in notices if notice) or None,
        superseded=results.boosted.superseded,
        verdict=verdict,
        hits=hits,
        took_ms=(perf_counter() - trace.began) * 1000,
        trace=trace,
        context=context,
        budget=budget,
        read_as=_read_as(query, lanes),
        did_you_mean=_correct_typos(query, lanes),
    )


def _drop_unreadable(
    connection: sqlite3.Connection, ranked: list[Ranked], query: Query, plan: QueryPlan
) -> list[Ranked]:
    """Return the pages without those that are to be read and cannot be.

    Others may have written anything into a shared store.
    """
    most = query.limit if plan.budget is None else plan.max_context_pages
    wanted = {page.page_id for page in ranked[:most]}
    gone = wanted - fetch_pages(connection, wanted)
    return [page for page in ranked if page.page_id not in gone] if gone else ranked


def _with_full_bonuses(ranked: Sequence[Ranked], results: StageResults) -> Sequence[Ranked]:
    """Return the pages in their order, with scores as if agreement of the lanes counted in full.

    The context is calibrated on these. With the smaller bonuses, scores are closer together, and a
    context has twice the tokens without more answers.
    """
    if not results.settings:
        return ranked
    plan, lanes = results.plan, results.lanes.by_name
    full = fuse(lanes, results.weights, plan.merge, results.settings)
    scores = {page.page_id: page.score for page in full}
    factors = {
        page.page_id: scores[page.page_id] / page.score
        for page in results.fused
        if page.score and page.page_id in scores
    }
    return [page._replace(score=page.score * factors.get(page.page_id, 1.0)) for page in ranked]


def _weak_pages(query: Query, listed: Sequence[Ranked], lanes: LaneResults) -> set[int]:
    """Return the ids of the listed pages that are weak; none if the query has only filters."""
    if query.filter_only:
        return set()
    factors = lanes.by_name["fts"].word_factors if "fts" in lanes.by_name else {}
    # Pages with every term, or with most of a few words, have a factor of 1 or more, others less.
    return find_weak_pages(listed, {page for page, factor in factors.items() if factor >= 1})


def _with_terms_used(query: Query, lanes: LaneResults) -> Query:
    """Return the query with the terms that the keyword lane searched after repairing some."""
    terms = lanes.by_name["fts"].terms if "fts" in lanes.by_name else ()
    return query._replace(terms=terms) if terms else query


def _read_as(query: Query, lanes: LaneResults) -> str | None:
    """Return the words that the keyword lane searched; None if they are the query's own."""
    terms = lanes.by_name["fts"].terms if "fts" in lanes.by_name else ()
    words = [
        " ".join(term.words if term in query.terms else term.synonyms or term.words)
        for term in terms
    ]
    return " ".join(words) or None


def _correct_typos(query: Query, lanes: LaneResults) -> str | None:
    """Return the text of the query with the suggested words; None if there are none."""
    suggested = lanes.by_name["fts"].suggested_terms if "fts" in lanes.by_name else ()
    text = query.text
    if suggested:
        from gbrain.search.query_relaxation import drop_other_forms

        suggested = drop_other_forms(text, suggested)
    for term in suggested:
        word, meant = term.words[0], term.synonyms[0]
        text = text.replace(word, meant.capitalize() if word[0].isupper() else meant)
    return text if suggested else None
