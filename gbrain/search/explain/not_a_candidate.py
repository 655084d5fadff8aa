"""Pages that no lane brought: kept out by a filter, or too far down, or found by nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from gbrain.search.explain.ranked_too_low import place_of
from gbrain.search.explain.remedies import ExplainedQuery, Lost, Remedy, either, limit, nth, setting
from gbrain.search.pipeline import StageResults
from gbrain.store.jobs import count_jobs_of_page
from gbrain.store.keyword_index import page_contains
from gbrain.store.scope import pages_in_scope
from gbrain.text.query_plan import has_only_words, split_words_and_filters
from gbrain.text.query_tree import format_tree, join_clauses
from gbrain.types import Clause, LaneResult, Query, Scope

# The deepest pool that a setting allows: as far as anyone would look.
_DEEP = 1000

# The setting that gives each of the main lanes its weight.
_WEIGHTS = {"fts": "keyword_weight", "vector": "semantic_weight"}
_LANES = {"fts": "keyword", "vector": "vector"}


def out_of_scope(
    connection: sqlite3.Connection, asked: ExplainedQuery, page_id: int
) -> Lost | None:
    """Which of the filters, fields and NOTs leave the page out."""
    query = asked.work.query
    if _is_within(connection, query.scope, page_id):
        return None
    filters = list(_single_filters(asked.options.get("scope", Scope())))
    demands = split_words_and_filters(query.tree)[1] if query.tree else []
    unwanted = [demand for demand in demands if demand.kind == "not"]
    filters += [(format_tree(d), Scope(tree=d)) for d in demands if d not in unwanted]
    against = [name for name, scope in filters if not _is_within(connection, scope, page_id)]
    broken = [d for d in unwanted if not _is_within(connection, Scope(tree=d), page_id)]
    if not against and not broken:
        # Each alone lets it pass: no single day of it is in all of them.
        against = [name for name, scope in filters if _is_about_days(scope)]
    reasons = [f"It is outside what was asked for by {' and '.join(against)}."] if against else []
    reasons += [_unwanted(connection, demand.operands[0], page_id) for demand in broken]
    names = [*against, *(f"NOT {_in_brackets(demand.operands[0])}" for demand in broken)]
    return "scope", " ".join(reasons), f"Ask without {' and '.join(names)}."


def _single_filters(scope: Scope) -> Iterator[tuple[str, Scope]]:
    """Each filter that is set, alone, under the name it is asked for by."""
    nothing = Scope()
    for field in Scope._fields:
        value = getattr(scope, field)
        if value != getattr(nothing, field):
            name = "--tag" if field == "tags" else f"--{field.replace('_', '-')}"
            yield name, Scope(**{field: value})


def _is_about_days(scope: Scope) -> bool:
    named = scope.tree.name if scope.tree else ""
    return bool(scope.since or scope.until) or named in ("before", "after")


def _unwanted(connection: sqlite3.Connection, clause: Clause, page_id: int) -> str:
    """What of a NOT the page has."""
    whole = f"NOT {_in_brackets(clause)}"
    if not has_only_words(clause):
        return f"It is kept out by {whole}."
    parts = clause.operands if clause.kind in ("any", "loose") else (clause,)
    held = [format_tree(p) for p in parts if _is_within(connection, Scope(tree=p), page_id)]
    return f"It holds {' and '.join(held)}, which {whole} keeps out."


def _in_brackets(clause: Clause) -> str:
    text = format_tree(clause)
    return f"({text})" if clause.operands and clause.kind != "not" else text


def _is_within(connection: sqlite3.Connection, scope: Scope, page_id: int) -> bool:
    return bool(pages_in_scope(connection, [page_id], scope))


def in_no_lane(connection: sqlite3.Connection, asked: ExplainedQuery, page_id: int) -> Lost:
    """How far down each lane the page stands, or why it is in none of them."""
    deep = asked.again(candidate_pool=str(_DEEP))
    places = _places(deep, page_id)
    if places:
        return _below_the_pool(asked, places, page_id)
    reasons, remedies = _shut_out(asked, deep, page_id)
    if "fts" in deep.lanes.by_name:
        reasons.append(_words(connection, deep.query, page_id))
    if "vector" in deep.lanes.by_name:
        reasons.append(_meaning(connection, deep.lanes.by_name["vector"], page_id))
    looser = _looser(connection, deep.query, page_id)
    if looser:
        place = place_of(asked.again(looser).threshold.kept, page_id) or 0
        more = f" --limit {place}" if place > asked.work.query.limit else ""
        remedies.append(f"ask with{more and more + ' and'} OR: {looser}")
    if not remedies or "--limit" in str(remedies[0]):
        remedies += ["ask in its own words", "add an alias: gbrain alias add"]
    return "lanes", " ".join(reasons), either(*remedies)


def _shut_out(
    asked: ExplainedQuery, deep: StageResults, page_id: int
) -> tuple[list[str], list[Remedy | str]]:
    """The lanes that were not asked and have the page, and how they would be; else why not."""
    reasons: list[str] = []
    remedies: list[Remedy | str] = []
    shut = [lane for lane in _LANES if lane not in deep.lanes.by_name]
    if not shut:
        return reasons, remedies
    opened = _with_all_lanes(asked)
    place = place_of(opened.threshold.kept, page_id) or 0
    beyond = limit(place) if place > asked.work.query.limit else Remedy()
    for lane, rank in _places(opened, page_id).items():
        if lane in shut:
            cause, remedy = _shut_by(asked, lane)
            reasons.append(f"{cause} shuts the {_LANES[lane]} lane out, where it is {nth(rank)}.")
            remedies.append(remedy.joined(beyond))
    if opened.lanes.notice:
        reasons.append(opened.lanes.notice)
    return reasons, remedies


def _places(work: StageResults, page_id: int) -> dict[str, int]:
    """The page's rank in each lane that has it."""
    return {
        lane: candidate.rank
        for lane, found in work.lanes.by_name.items()
        for candidate in found.pages
        if candidate.page_id == page_id
    }


def _below_the_pool(asked: ExplainedQuery, places: dict[str, int], page_id: int) -> Lost:
    ranks = [f"{nth(rank)} in the {lane} lane" for lane, rank in places.items()]
    nearest, pool = min(places.values()), asked.work.plan.settings.candidate_pool
    wider = asked.again(candidate_pool=str(nearest))
    place = place_of(wider.threshold.kept, page_id)
    remedy = setting(asked, "candidate_pool", nearest, lambda own: own >= nearest)
    if place and place > asked.work.query.limit:
        remedy = remedy.joined(limit(place))
    reason = f"It is {' and '.join(ranks)}, and each lane hands on {pool} pages."
    return "lanes", reason, either(remedy, "ask in its own words")


def _with_all_lanes(asked: ExplainedQuery) -> StageResults:
    """The question by words and by meaning, whatever was to keep a lane out."""
    settings = asked.work.plan.settings
    off = {name: "1" for name in _WEIGHTS.values() if not getattr(settings, name)}
    options = {**asked.options, "mode": "hybrid"}
    return asked._replace(options=options).again(**off, candidate_pool=str(_DEEP), rerank="off")


def _shut_by(asked: ExplainedQuery, lane: str) -> tuple[str, Remedy]:
    """What keeps a lane from being asked, and how it would be."""
    if not getattr(asked.work.plan.settings, _WEIGHTS[lane]):
        name = _WEIGHTS[lane]
        return f"{name} 0", setting(asked, name, 1.0, lambda own: own > 0)
    mode = asked.work.plan.mode
    if asked.options.get("mode"):
        return f"--mode {mode}", Remedy((), (f"without --mode {mode}",))
    return f"search_mode {mode}", setting(asked, "search_mode", "auto", lambda own: own != mode)


def _words_asked(query: Query) -> Clause | None:
    """The words that the keyword lane must match, if some of them are joined by AND."""
    return split_words_and_filters(query.tree)[0] if query.tree and query.fts_expression else None


def _looser(connection: sqlite3.Connection, query: Query, page_id: int) -> str | None:
    """The query with OR for AND, if the page fulfils that and not the query as it is."""
    words = _words_asked(query)
    if query.tree is None or words is None or _matches(connection, words, page_id):
        return None
    looser = join_clauses("all", [_loosened(words), *split_words_and_filters(query.tree)[1]])
    return format_tree(looser) if looser and _matches(connection, looser, page_id) else None


def _loosened(words: Clause) -> Clause:
    """The same with OR for each AND."""
    if words.kind == "term":
        return words
    kind = "any" if words.kind == "all" else words.kind
    return words._replace(kind=kind, operands=tuple(map(_loosened, words.operands)))


def _matches(connection: sqlite3.Connection, clause: Clause, page_id: int) -> bool:
    return _is_within(connection, Scope(tree=clause), page_id)


def _words(connection: sqlite3.Connection, query: Query, page_id: int) -> str:
    held: list[str] = []
    absent: list[str] = []
    for term in query.terms:
        found = page_contains(connection, page_id, term)
        (held if found else absent).append(" ".join(term.words))
    words = _words_asked(query)
    if not held:
        return "It holds none of the query's words."
    if words and absent and not _matches(connection, words, page_id):
        told = f"{', '.join(held)}, not {', '.join(absent)}"
        return f"The query asks for {format_tree(words)}; it holds {told}."
    return f"Of the query's words it holds only {', '.join(held)}, as many other pages do."


def _meaning(connection: sqlite3.Connection, found: LaneResult, page_id: int) -> str:
    waiting = count_jobs_of_page(connection, page_id)
    if waiting:
        return f"{waiting} of its passages are not embedded yet: run gbrain embed."
    return f"Its passages are not among the {len(found.pages)} pages nearest in meaning."
