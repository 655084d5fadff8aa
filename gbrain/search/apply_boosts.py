"""Fused pages with what the brain knows of them: superseded ones dropped, the others boosted."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from gbrain.config import Settings
from gbrain.search.boosts import (
    CustomBoost,
    boost,
    drop_superseded,
    may_mention_time,
    wants_passages,
)
from gbrain.store.boost_data import Wanted, facts
from gbrain.types import Query, Ranked

if TYPE_CHECKING:
    from gbrain.search.intent import Intent
    from gbrain.text.dates import Period


class Boosted(NamedTuple):
    """The pages, best first, the slugs of those that another replaces, and the times asked for."""

    ranked: Sequence[Ranked]
    superseded: tuple[str, ...] = ()
    periods: tuple[Period, ...] = ()


def boosted(
    connection: sqlite3.Connection,
    query: Query,
    ranked: Sequence[Ranked],
    intent: Intent | None,
    today: date,
    settings: Settings,
    custom: Sequence[CustomBoost],
) -> Boosted:
    """The fused pages after `drop_superseded` and every boost that is on."""
    periods: tuple[Period, ...] = ()
    if settings.date_boost and may_mention_time(query.semantic_text):
        from gbrain.text.dates import find_periods

        periods = find_periods(query.semantic_text, today)
    known = facts(
        connection,
        {page.page_id: page.chunk_id for page in ranked},
        Wanted(
            passages=wants_passages(intent, periods, settings),
            opens=settings.access_boost,
            phrases=tuple(
                term for term in query.terms if term.quoted and settings.exact_boost != 1
            ),
        ),
    )
    superseded: tuple[str, ...] = ()
    if settings.drop_superseded:
        ranked, superseded = drop_superseded(ranked, known)
    ranked = boost(ranked, known, query, intent, periods, today, settings, custom)
    return Boosted(ranked, superseded, periods)
