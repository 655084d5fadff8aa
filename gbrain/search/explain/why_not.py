"""Explain why a page is not among the hits: out of scope, in no lane, or ranked too low."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from gbrain.search.explain.ranked_too_low import (
    ExplainedQuery,
    Lost,
    Steps,
    describe_remedy,
    explain_rank,
    explain_superseded,
    explain_threshold,
    join_steps,
    ordinal,
    place_of,
    steps_for_limit,
    steps_for_setting,
)
from gbrain.search.pipeline import StageResults
from gbrain.store.connection import Database
from gbrain.store.jobs import count_jobs_of_page
from gbrain.store.keyword_index import page_contains
from gbrain.store.scope import pages_in_scope
from gbrain.text.query import has_only_words, split_words_and_filters
from gbrain.text.query_tree import format_tree, join_clauses
from gbrain.types import Clause, LaneResult, Query, Scope

# The largest candidate pool that the setting allows.
_MAX_POOL = 1000
_NO_MULTIPLIERS = {"dense_multiplier": "0", "bm25_multiplier": "0"}

# The main lanes: the name that users read, and the setting of the lane's weight.
_LANE_NAMES = {"fts": "keyword", "vector": "vector"}
_WEIGHT_SETTINGS = {"fts": "keyword_weight", "vector": "semantic_weight"}

_OWN_WORDS: Steps = ("ask with words of the page",)


class WhyNot(NamedTuple):
    """The stage that lost a page, or "shown" if it is a hit; the reason and a remedy."""

    slug: str
    stage: str
    reason: str
    remedy: str | None


def why_not(database: Database, explained: ExplainedQuery, page_id: int, slug: str) -> WhyNot:
    """Return the stage that lost a page of an answer, the reason and a remedy."""
    with database.read_transaction() as connection:
        lost = (
            _explain_short_circuit(explained, slug)
            or explain_superseded(connection, explained, slug)
            or explain_threshold(explained, slug)
            or explain_rank(explained, page_id)
            or _explain_scope(connection, explained, page_id)
            or _explain_lanes(connection, explained, page_id)
        )
    return WhyNot(slug, *lost)


def _explain_short_circuit(explained: ExplainedQuery, slug: str) -> Lost | None:
    """Return whether the page is a hit, or the query names another page."""
    answer = explained.answer
    shown = next((hit.rank for hit in answer.hits if hit.slug == slug), None)
    if shown is not None:
        return "shown", f"It is hit {shown}.", None
    if not answer.short_circuit or explained.results.plan.pin_named_page:
        return None
    return (
        "short_circuit",
        f"The query is the name of {answer.hits[0].slug}, so no other page is searched.",
        describe_remedy(
            ("ask with more words than the name",),
            steps_for_setting(explained, "short_circuit", False),
        ),
    )


def _explain_scope(
    connection: sqlite3.Connection, explained: ExplainedQuery, page_id: int
) -> Lost | None:
    """Return the filters, fields and NOTs that exclude the page; None if it is in scope."""

    def matches(scope: Scope) -> bool:
        return _is_in_scope(connection, scope, page_id)

    query = explained.results.query
    if query.scope.periods and matches(query.scope._replace(periods=())):
        if matches(query.scope):
            return None
        first, last = query.scope.periods[0]
        time = first if first == last else f"{first} to {last}"
        reason = f"The query asks only for a time, {time}; nothing on the page is dated then."
        return "scope", reason, "Add words of the page to the query."
    if matches(query.scope):
        return None
    clauses = split_words_and_filters(query.tree)[1] if query.tree else []
    filters = list(_single_filters(explained.options.get("scope", Scope())))
    filters += [(format_tree(c), Scope(tree=c)) for c in clauses if c.kind != "not"]
    names = [name for name, scope in filters if not matches(scope)]
    excluding = [c.operands[0] for c in clauses if c.kind == "not" and not matches(Scope(tree=c))]
    if not names and not excluding:
        # The page matches each filter alone, but no single day of it matches all of them.
        names = [name for name, scope in filters if _has_dates(scope)]
    reasons = [f"It does not match {' and '.join(names)}."] if names else []
    for clause in excluding:
        negation = f"NOT {_in_brackets(clause)}"
        names.append(negation)
        if not has_only_words(clause):
            reasons.append(f"{negation} excludes it.")
            continue
        parts = clause.operands if clause.kind in ("any", "loose") else (clause,)
        contained = [format_tree(part) for part in parts if matches(Scope(tree=part))]
        reasons.append(f"It contains {' and '.join(contained)}, which {negation} excludes.")
    return "scope", " ".join(reasons), f"Ask without {' and '.join(names)}."


def _single_filters(scope: Scope) -> Iterator[tuple[str, Scope]]:
    """Yield each filter that is set as (option, scope with this filter alone)."""
    unset = Scope()
    for field in Scope._fields:
        value = getattr(scope, field)
        if value != getattr(unset, field):
            name = "--tag" if field == "tags" else f"--{field.replace('_', '-')}"
            yield name, Scope(**{field: value})


def _has_dates(scope: Scope) -> bool:
    field = scope.tree.name if scope.tree else ""
    return bool(scope.since or scope.until) or field in ("before", "after")


def _in_brackets(clause: Clause) -> str:
    text = format_tree(clause)
    return f"({text})" if clause.operands and clause.kind != "not" else text


def _is_in_scope(connection: sqlite3.Connection, scope: Scope, page_id: int) -> bool:
    return bool(pages_in_scope(connection, [page_id], scope))


def _explain_lanes(connection: sqlite3.Connection, explained: ExplainedQuery, page_id: int) -> Lost:
    """Return the page's rank in each lane, or why it is in no lane."""
    deep = explained.run(**_NO_MULTIPLIERS, candidate_pool=str(_MAX_POOL))
    ranks = _lane_ranks(deep, page_id)
    if ranks:
        return _explain_pool(explained, ranks, page_id)
    lanes, query = deep.lanes.by_name, deep.query
    reasons, remedies = _explain_lanes_off(explained, deep, page_id)
    if "fts" in lanes:
        reasons.append(_explain_keyword(connection, query, page_id))
    if "vector" in lanes:
        reasons.append(_explain_vector(connection, lanes["vector"], page_id))
    looser = _query_with_or(connection, query, page_id)
    if looser:
        place = place_of(explained.run(looser).threshold.kept, page_id) or 0
        more = f" --limit {place} and" if place > explained.limit else ""
        remedies.append((f"ask with{more} OR: {looser}",))
    if not remedies or "--limit" in " ".join(remedies[0]):
        remedies += [_OWN_WORDS, ("add an alias: gbrain alias add",)]
    return "lanes", " ".join(reasons), describe_remedy(*remedies)


def _lane_ranks(results: StageResults, page_id: int) -> dict[str, int]:
    """Return the page's rank in each lane that found it, by lane."""
    return {
        lane: candidate.rank
        for lane, found in results.lanes.by_name.items()
        for candidate in found.pages
        if candidate.page_id == page_id
    }


def _explain_pool(explained: ExplainedQuery, ranks: dict[str, int], page_id: int) -> Lost:
    """Explain that lanes find the page only beyond the candidate pool."""
    places = [f"{ordinal(rank)} in the {lane} lane" for lane, rank in ranks.items()]
    best, settings = min(ranks.values()), explained.results.plan.settings
    if settings.dense_multiplier or settings.bm25_multiplier:
        pools = {lane: settings.lane_pool(lane, explained.limit) for lane in ranks}
        kept = " and ".join(f"the first {pool} of the {lane} lane" for lane, pool in pools.items())
        reason = f"It is {' and '.join(places)}; for {explained.limit} results only {kept} count."
        limits = [-(-rank * explained.limit // pools[lane]) for lane, rank in ranks.items()]
        return "lanes", reason, describe_remedy(steps_for_limit(min(limits)), _OWN_WORDS)
    pool = settings.candidate_pool
    place = place_of(explained.run(candidate_pool=str(best)).threshold.kept, page_id)
    steps = steps_for_setting(explained, "candidate_pool", best, lambda own: own >= best)
    if place and place > explained.limit:
        steps = join_steps(steps, steps_for_limit(place))
    reason = f"It is {' and '.join(places)}; candidate_pool keeps the first {pool} of each lane."
    return "lanes", reason, describe_remedy(steps, _OWN_WORDS)


def _explain_lanes_off(
    explained: ExplainedQuery, deep: StageResults, page_id: int
) -> tuple[list[str], list[Steps]]:
    """Return the lanes that did not run and would find the page, and how to switch them on."""
    reasons: list[str] = []
    remedies: list[Steps] = []
    off = [lane for lane in _LANE_NAMES if lane not in deep.lanes.by_name]
    if not off:
        return reasons, remedies
    opened = _run_all_lanes(explained)
    place = place_of(opened.threshold.kept, page_id) or 0
    more = steps_for_limit(place) if place > explained.limit else ()
    for lane, rank in _lane_ranks(opened, page_id).items():
        if lane in off:
            cause, steps = _why_lane_is_off(explained, lane)
            where = f"{ordinal(rank)} in the {_LANE_NAMES[lane]} lane"
            reasons.append(f"It is {where}, which {cause} switches off.")
            remedies.append(join_steps(steps, more))
    if opened.lanes.notice:
        reasons.append(opened.lanes.notice)
    return reasons, remedies


def _run_all_lanes(explained: ExplainedQuery) -> StageResults:
    """Run the query with the keyword and the vector lane, even those that are switched off."""
    settings = explained.results.plan.settings
    off = {name: "1" for name in _WEIGHT_SETTINGS.values() if not getattr(settings, name)}
    hybrid = explained._replace(options={**explained.options, "mode": "hybrid"})
    return hybrid.run(**off, **_NO_MULTIPLIERS, candidate_pool=str(_MAX_POOL), rerank="off")


def _why_lane_is_off(explained: ExplainedQuery, lane: str) -> tuple[str, Steps]:
    """Return the setting or option that switches a lane off, and the steps that undo it."""
    plan, weight = explained.results.plan, _WEIGHT_SETTINGS[lane]
    if not getattr(plan.settings, weight):
        return f"{weight} 0", steps_for_setting(explained, weight, 1.0, lambda own: own > 0)
    mode = plan.mode
    if explained.options.get("mode"):
        return f"--mode {mode}", (f"ask without --mode {mode}",)
    steps = steps_for_setting(explained, "search_mode", "auto", lambda own: own != mode)
    return f"search_mode {mode}", steps


def _required_words(query: Query) -> Clause | None:
    """Return the words that the keyword lane must match; None unless AND joins some of them."""
    return split_words_and_filters(query.tree)[0] if query.tree and query.fts_expression else None


def _query_with_or(connection: sqlite3.Connection, query: Query, page_id: int) -> str | None:
    """Return the query with OR for AND, if the page matches only that."""
    words = _required_words(query)
    if query.tree is None or words is None:
        return None
    looser = join_clauses("all", [_replace_and(words), *split_words_and_filters(query.tree)[1]])
    if looser is None or _is_in_scope(connection, Scope(tree=words), page_id):
        return None
    return format_tree(looser) if _is_in_scope(connection, Scope(tree=looser), page_id) else None


def _replace_and(words: Clause) -> Clause:
    """Return the clause with OR for each AND."""
    if words.kind == "term":
        return words
    kind = "any" if words.kind == "all" else words.kind
    return words._replace(kind=kind, operands=tuple(map(_replace_and, words.operands)))


def _explain_keyword(connection: sqlite3.Connection, query: Query, page_id: int) -> str:
    contained: list[str] = []
    missing: list[str] = []
    for term in query.terms:
        found = page_contains(connection, page_id, term)
        (contained if found else missing).append(" ".join(term.words))
    if not contained:
        return "It contains none of the query's words."
    words = _required_words(query)
    if words and missing and not _is_in_scope(connection, Scope(tree=words), page_id):
        has = f"{', '.join(contained)}, not {', '.join(missing)}"
        return f"The query asks for {format_tree(words)}; it contains {has}."
    return f"It contains only {', '.join(contained)} of the query, like many other pages."


def _explain_vector(connection: sqlite3.Connection, found: LaneResult, page_id: int) -> str:
    queued = count_jobs_of_page(connection, page_id)
    if queued:
        return f"{queued} of its chunks are not embedded yet: run gbrain embed."
    return f"None of its chunks is similar enough for the first {len(found.pages)} pages."
