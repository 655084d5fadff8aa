"""THE QUERY, top to bottom: short-circuit, lanes in parallel, fuse, cut, give text, expand."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from gbrain.beside import Beside
from gbrain.config import Settings
from gbrain.errors import ModelUnavailable
from gbrain.lanes import fts, sms
from gbrain.ranking.fusion import fuse
from gbrain.store.connection import Database
from gbrain.store.passages import first_passage, marked_snippet, passages, plain_snippet
from gbrain.text.query import match_expression
from gbrain.trace import Trace
from gbrain.types import Answer, Found, Hit, HitChunk, Merge, Mode, Query, Ranked

if TYPE_CHECKING:
    from gbrain.store.vectors import Floats, VectorSpace

EmbedQuery = Callable[[str], "Floats"]


class Plan(NamedTuple):
    """How a query is to be answered; `embed` opens the model only when it is called."""

    mode: Mode
    merge: Merge
    settings: Settings
    embed: EmbedQuery
    count: Callable[[str], int]
    budget: int | None = None


def answer(database: Database, query: Query, plan: Plan) -> Answer:
    """The pages that answer `query`, best first, with what each stage did."""
    began = perf_counter()
    trace = Trace()
    settings = plan.settings
    with database.reading() as connection:
        small = sms.SmallMatch((), None)
        if settings.short_circuit:
            with trace.stage("short_circuit") as detail:
                small = sms.look_up(connection, query)
                detail["how"], detail["pages"] = small.how, len(small.candidates)
        mode, merge, notice = plan.mode, None, None
        lanes: dict[str, Found] = {}
        if small.answer:
            ranked = [Ranked(small.answer.page_id, small.answer.slug, 1.0, {"sms": small.answer})]
        else:
            lanes, mode, notice = _run_lanes(database, connection, query, plan, trace)
            if small.candidates:
                lanes = {**lanes, "sms": Found(small.candidates)}
            merge = plan.merge if len(lanes) > 1 else None
            with trace.stage("fuse") as detail:
                # A lane alone is asked for outright: its weight against others says nothing.
                both = {"fts": settings.keyword_weight, "vector": settings.semantic_weight}
                weights = both if len(lanes) > 1 else {}
                ranked = fuse(lanes, weights, plan.merge, settings)
                detail["merge"], detail["pages"] = merge, len(ranked)
        with trace.stage("text"):
            hits = _hits(connection, ranked[: query.limit], query)
        context, budget = None, None
        if plan.budget is not None:
            from gbrain.context import assemble

            with trace.stage("expand") as detail:
                context, budget = assemble(
                    connection, query, ranked, lanes, settings, plan.budget, plan.count
                )
                detail["pieces"], detail["tokens"] = len(context), budget.used
    return Answer(
        query=query.text,
        mode=mode,
        merge=merge,
        short_circuit=small.how if small.answer else None,
        fell_back_to_bm25=mode == "bm25"
        and (notice is not None or plan.mode in ("hybrid", "semantic")),
        notice=notice,
        hits=hits,
        took_ms=(perf_counter() - began) * 1000,
        trace=trace,
        context=context,
        budget=budget,
    )


def _run_lanes(
    database: Database,
    connection: sqlite3.Connection,
    query: Query,
    plan: Plan,
    trace: Trace,
) -> tuple[dict[str, Found], Mode, str | None]:
    """Each lane's findings, the mode that could be had, and why it was not the one asked for."""
    keyword = plan.mode != "semantic" and plan.settings.keyword_weight > 0
    if plan.mode == "bm25" or plan.settings.semantic_weight <= 0:
        notice = "semantic_weight is 0." if plan.mode == "semantic" else None
        return {"fts": _keyword_lane(connection, query, plan, trace)}, "bm25", notice
    from gbrain.store.vectors import active_space, has_vectors

    space = active_space(connection)
    if space is None or not has_vectors(connection, space):
        notice = None if plan.mode == "auto" else "The brain has no vectors yet: run gbrain embed."
        return {"fts": _keyword_lane(connection, query, plan, trace)}, "bm25", notice
    if not keyword:
        try:
            found = _vector_lane(database, connection, space, query, plan, trace)
            return {"vector": found}, "semantic", None
        except ModelUnavailable as error:
            found = _keyword_lane(connection, query, plan, trace)
            return {"fts": found}, "bm25", error.message
    return _both_lanes(database, connection, space, query, plan, trace)


def _both_lanes(
    database: Database,
    connection: sqlite3.Connection,
    space: VectorSpace,
    query: Query,
    plan: Plan,
    trace: Trace,
) -> tuple[dict[str, Found], Mode, str | None]:
    def keyword_lane() -> Found:
        with closing(database.another()) as own:
            return _keyword_lane(own, query, plan, trace)

    keyword = Beside(keyword_lane)
    try:
        vector = _vector_lane(database, connection, space, query, plan, trace)
    except ModelUnavailable as error:
        return {"fts": keyword.result()}, "bm25", error.message
    return {"fts": keyword.result(), "vector": vector}, "hybrid", None


def _keyword_lane(connection: sqlite3.Connection, query: Query, plan: Plan, trace: Trace) -> Found:
    with trace.stage("fts") as detail:
        found = fts.search(connection, query, plan.settings)
        detail["pages"], detail["passages"] = len(found.pages), len(found.chunks)
    return found


def _vector_lane(
    database: Database,
    connection: sqlite3.Connection,
    space: VectorSpace,
    query: Query,
    plan: Plan,
    trace: Trace,
) -> Found:
    from gbrain.lanes import vector

    with trace.stage("embed_query"):
        embedded = plan.embed(query.text)
    with trace.stage("vector") as detail:
        with closing(database.another()) as second:
            connections = (connection, second)
            found = vector.search(connections, space, embedded, query, plan.settings)
        detail["pages"], detail["passages"] = len(found.pages), len(found.chunks)
    return found


def _hits(connection: sqlite3.Connection, ranked: list[Ranked], query: Query) -> tuple[Hit, ...]:
    """Pages with their text; one that went away since its lane saw it is left out."""
    match = match_expression(query.terms) if query.terms else None
    chosen = {page.page_id: page.chunk_id for page in ranked}
    known = passages(connection, [chunk for chunk in chosen.values() if chunk is not None])
    hits: list[Hit] = []
    for page in ranked:
        row = connection.execute(
            "SELECT title, wing, room, type, date FROM pages WHERE id = ?", (page.page_id,)
        ).fetchone()
        if row is None:
            continue
        chunk_id = chosen[page.page_id]
        passage = known.get(chunk_id) if chunk_id is not None else None
        passage = passage or first_passage(connection, page.page_id)
        snippet = marked_snippet(connection, passage.id, match) if passage and match else None
        title, wing, room, type_, date = row
        hits.append(
            Hit(
                rank=len(hits) + 1,
                slug=page.slug,
                title=title,
                wing=wing,
                room=room,
                type=type_,
                date=(passage.date if passage else None) or date,
                score=page.score,
                snippet=snippet or (plain_snippet(passage.text) if passage else ""),
                chunk=HitChunk(
                    passage.kind,
                    passage.heading_path,
                    passage.date,
                    (passage.first_line, passage.last_line),
                    passage.hash.hex(),
                )
                if passage
                else None,
                lanes=page.lanes,
                boosts=page.boosts,
            )
        )
    return tuple(hits)
