"""Why a page is not in an answer: the stage that lost it, and what would have kept it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gbrain.brain import Brain
from gbrain.pipeline import Workings
from gbrain.store.scope import page_condition
from gbrain.text.query import match_expression
from gbrain.types import Answer, Found, Query, Ranked, Scope

# The deepest pool that a setting allows: as far as anyone would look.
_DEEP = 1000


class WhyNot(NamedTuple):
    """Where a page was lost, or that it was not: `stage` is "shown" then."""

    slug: str
    stage: str
    reason: str
    remedy: str | None


def why_not(brain: Brain, answered: Answer, work: Workings, name: str, **options: Any) -> WhyNot:
    """The stage at which the page called `name` was lost to an answer.

    `options` are those that `ask` was given for it.
    """
    page = brain.get(name)
    lost = _lost(answered, work, page.id, page.slug)
    if lost is None:
        with brain.database.reading() as connection:
            lost = _out_of_scope(connection, work.query, page.id)
            lost = lost or _in_no_lane(brain, connection, answered.query, page.id, options)
    return WhyNot(page.slug, *lost)


Lost = tuple[str, str, str | None]


def _lost(answered: Answer, work: Workings, page_id: int, slug: str) -> Lost | None:
    """What became of a page that was found; None if no lane brought it."""
    shown = next((hit.rank for hit in answered.hits if hit.slug == slug), None)
    if shown is not None:
        return "shown", f"It is hit {shown}.", None
    if answered.short_circuit:
        return (
            "short_circuit",
            f"The query is the name of {answered.hits[0].slug}, which answers it at once.",
            "Ask with more words than the name, or: gbrain config set short_circuit off",
        )
    if slug in work.boosted.superseded:
        return (
            "superseded",
            "Another page replaces it: its front matter says superseded_by.",
            "Ask with --include-superseded, or set pinned: true in its front matter.",
        )
    if slug in work.cut.below_floor:
        return (
            "cut",
            "Only the vector lane found it, below relevance_floor.",
            "gbrain config reset relevance_floor",
        )
    if slug in work.cut.below_threshold:
        return (
            "cut",
            "Its score is below the threshold's share of the best hit's.",
            "gbrain config reset threshold",
        )
    place = _place(work.cut.kept, page_id)
    if place is None:
        return None
    came_from = _place(work.fused, page_id)
    moved = f" It was {_nth(came_from)} after fusion." if came_from not in (None, place) else ""
    found, shown = len(work.cut.kept), len(answered.hits)
    reason = f"It is {_nth(place)} of {found} pages, {shown} are shown.{moved}"
    return "limit", reason, f"Ask with --limit {place}"


def _place(ranked: Sequence[Ranked], page_id: int) -> int | None:
    return next((n for n, page in enumerate(ranked, 1) if page.page_id == page_id), None)


def _out_of_scope(connection: sqlite3.Connection, query: Query, page_id: int) -> Lost | None:
    """Which of the filters leave the page out."""
    against = [
        name
        for name, scope in _single_filters(query.scope)
        if not _is_within(connection, scope, page_id)
    ]
    if not against:
        return None
    return (
        "scope",
        f"It is outside what was asked for by {' and '.join(against)}.",
        f"Ask without {' and '.join(against)}.",
    )


def _single_filters(scope: Scope) -> Iterator[tuple[str, Scope]]:
    """Each filter that is set, alone, under the name it is asked for by."""
    nothing = Scope()
    for field in Scope._fields:
        value = getattr(scope, field)
        if value != getattr(nothing, field) and field not in ("since", "until"):
            name = "the query's own fields and NOT" if field == "tree" else f"--{field}"
            yield name.replace("_", "-").replace("--tags", "--tag"), Scope(**{field: value})
    if scope.since or scope.until:
        yield "its dates (--since, --until)", Scope(since=scope.since, until=scope.until)


def _is_within(connection: sqlite3.Connection, scope: Scope, page_id: int) -> bool:
    within = page_condition(scope)
    row = connection.execute(
        f"SELECT 1 FROM pages WHERE id = ? AND {within.sql}", (page_id, *within.values)
    ).fetchone()
    return row is not None


def _in_no_lane(
    brain: Brain, connection: sqlite3.Connection, text: str, page_id: int, options: dict[str, Any]
) -> Lost:
    """How far down each lane the page stands, or why it is in none of them."""
    changes = {**options.get("changes", {}), "candidate_pool": str(_DEEP)}
    _, deep = brain.ask(text, **{**options, "changes": changes})
    places = {
        lane: next((c.rank for c in found.pages if c.page_id == page_id), None)
        for lane, found in deep.lanes.found.items()
    }
    ranks = [f"{_nth(rank)} in the {lane} lane" for lane, rank in places.items() if rank]
    if ranks:
        nearest = min(rank for rank in places.values() if rank)
        taken = brain.settings.candidate_pool
        return (
            "lanes",
            f"It is {' and '.join(ranks)}, and each lane hands on {taken} pages.",
            f"gbrain config set candidate_pool {nearest}, or ask in its own words",
        )
    reasons = [_words(connection, deep.query, page_id)]
    if "vector" in deep.lanes.found:
        reasons.append(_meaning(connection, deep.lanes.found["vector"], page_id))
    return "lanes", " ".join(reasons), "Ask in its own words, or add an alias: gbrain alias add"


def _words(connection: sqlite3.Connection, query: Query, page_id: int) -> str:
    held = "SELECT 1 FROM pages_fts WHERE pages_fts MATCH ? AND rowid = ?"
    words = [
        " ".join(term.words)
        for term in query.terms
        if connection.execute(held, (match_expression((term,)), page_id)).fetchone()
    ]
    if not words:
        return "It holds none of the query's words."
    return f"Of the query's words it holds only {', '.join(words)}, as many other pages do."


def _meaning(connection: sqlite3.Connection, found: Found, page_id: int) -> str:
    waiting = connection.execute(
        "SELECT count(*) FROM chunks JOIN embedding_jobs USING (hash) WHERE page_id = ?",
        (page_id,),
    ).fetchone()[0]
    if waiting:
        return f"{waiting} of its passages are not embedded yet: run gbrain embed."
    return f"Its passages are not among the {len(found.pages)} pages nearest in meaning."


def _nth(number: int | None) -> str:
    """1st, 2nd, 3rd, 4th; 11th to 13th."""
    count = number or 0
    ending = {1: "st", 2: "nd", 3: "rd"}.get(count % 10 if count // 10 % 10 != 1 else 0, "th")
    return f"{count}{ending}"
