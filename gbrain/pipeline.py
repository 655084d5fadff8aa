"""THE QUERY, top to bottom: short-circuit, lanes in parallel, fuse, cut, give text, expand."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

from gbrain.config import Settings
from gbrain.hits import hits_of
from gbrain.lanes import sms
from gbrain.lanes.together import EmbedQuery, Lanes, Search, run_lanes
from gbrain.ranking.fusion import fuse
from gbrain.store.connection import Database
from gbrain.trace import Trace
from gbrain.types import Answer, Found, Merge, Mode, Query, Ranked


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
        lanes, merge = Lanes({}, plan.mode), None
        if small.answer:
            ranked = [Ranked(small.answer.page_id, small.answer.slug, 1.0, {"sms": small.answer})]
        else:
            search = Search(database, connection, query, settings, plan.embed, trace)
            lanes = run_lanes(search, plan.mode)
            if small.candidates:
                lanes.found["sms"] = Found(small.candidates)
            merge = plan.merge if len(lanes.found) > 1 else None
            with trace.stage("fuse") as detail:
                # A lane alone is asked for outright: its weight against others says nothing.
                both = {"fts": settings.keyword_weight, "vector": settings.semantic_weight}
                weights = both if len(lanes.found) > 1 else {}
                ranked = fuse(lanes.found, weights, plan.merge, settings)
                detail["merge"], detail["pages"] = merge, len(ranked)
        with trace.stage("text"):
            hits = hits_of(connection, ranked[: query.limit], query)
        context, budget = None, None
        if plan.budget is not None:
            from gbrain.context import assemble

            with trace.stage("expand") as detail:
                context, budget = assemble(
                    connection, query, ranked, lanes.found, settings, plan.budget, plan.count
                )
                detail["pieces"], detail["tokens"] = len(context), budget.used
    return Answer(
        query=query.text,
        mode=lanes.mode,
        merge=merge,
        short_circuit=small.how if small.answer else None,
        fell_back_to_bm25=lanes.mode == "bm25"
        and (lanes.notice is not None or plan.mode in ("hybrid", "semantic")),
        notice=lanes.notice,
        hits=hits,
        took_ms=(perf_counter() - began) * 1000,
        trace=trace,
        context=context,
        budget=budget,
    )
