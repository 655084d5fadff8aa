"""Fused pages with what the brain knows of them: superseded ones dropped, the others boosted."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from gbrain.config import Settings
from gbrain.search.boosts import (
    CustomBoost,
    drop_superseded,
    may_mention_date,
    multiply_boosts,
    needs_chunks,
)
from gbrain.store.boost_data import BoostDataRequest, read_boost_data
from gbrain.types import Query, Ranked

if TYPE_CHECKING:
    from gbrain.search.intent import Intent
    from gbrain.text.dates import Period


class BoostResult(NamedTuple):
    """The pages, best first, the slugs of those that another replaces, and the times asked for."""

    ranked: Sequence[Ranked]
    superseded: tuple[str, ...] = ()
    periods: tuple[Period, ...] = ()


def apply_boosts(
    connection: sqlite3.Connection,
    query: Query,
    ranked: Sequence[Ranked],
    intent: Intent | None,
    today: date,
    settings: Settings,
    custom: Sequence[CustomBoost],
) -> BoostResult:
    """The fused pages after `drop_superseded` and every boost that is on."""
    periods: tuple[Period, ...] = ()
    if settings.date_boost and may_mention_date(query.semantic_text):
        from gbrain.text.dates import find_periods

        periods = find_periods(query.semantic_text, today)
    known = read_boost_data(
        connection,
        {page.page_id: page.chunk_id for page in ranked},
        BoostDataRequest(
            passages=needs_chunks(intent, periods, settings),
            opens=settings.access_boost,
            phrases=tuple(
                term for term in query.terms if term.quoted and settings.exact_boost != 1
            ),
        ),
    )
    superseded: tuple[str, ...] = ()
    if settings.drop_superseded:
        ranked, superseded = drop_superseded(ranked, known)
    ranked = multiply_boosts(ranked, known, query, intent, periods, today, settings, custom)
    return BoostResult(ranked, superseded, periods)
