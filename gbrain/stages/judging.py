"""The verdict on an answer: reads what it rests on, and lets the calibrated rule judge."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from gbrain.config import Settings
from gbrain.ranking.verdict import verdict
from gbrain.store.held import brain_size, packaged_is_active, term_facts
from gbrain.types import Found, Hit, Query, Ranked, Verdict


def judged(
    connection: sqlite3.Connection,
    query: Query,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, Found],
    hits: Sequence[Hit],
    settings: Settings,
    *,
    short_circuit: str | None,
) -> Verdict:
    """How well the pages answer the query."""
    pages = brain_size(connection)
    speaking = [
        candidate.chunk_id
        for candidate in (ranked[0].lanes.values() if ranked and not short_circuit else ())
        if candidate.chunk_id is not None
    ]
    return verdict(
        query,
        ranked,
        lanes,
        term_facts(connection, query.terms, sorted(set(speaking)), pages) if speaking else (),
        pages,
        settings,
        title=hits[0].title if hits else None,
        short_circuit=short_circuit,
        calibrated=packaged_is_active(connection),
    )
