"""The verdict on an answer: reads what it rests on, and lets the calibrated rule judge."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from gbrain.config import Settings
from gbrain.ranking.verdict import verdict
from gbrain.store.term_statistics import brain_size, packaged_is_active, term_facts
from gbrain.text.slug import fold
from gbrain.types import Found, Hit, Query, Ranked, Term, Verdict


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
    terms = query.terms
    if "fts" in lanes and lanes["fts"].terms:
        terms = _slips_repaired(terms, lanes["fts"].terms)
    return verdict(
        query,
        ranked,
        lanes,
        term_facts(connection, terms, sorted(set(speaking)), pages) if speaking else (),
        pages,
        settings,
        title=hits[0].title if hits else None,
        short_circuit=short_circuit,
        calibrated=packaged_is_active(connection),
    )


def _slips_repaired(asked: tuple[Term, ...], found: tuple[Term, ...]) -> tuple[Term, ...]:
    """What was asked, with the repaired words that are surely slips.

    Words that were left out still count, and a word that is merely like the one asked does not.
    """
    from gbrain.text.similarity import surely_a_slip

    repaired = {
        term.words: term
        for term in found
        if len(term.also) == 1 and surely_a_slip(fold(term.words[0]), term.also[0])
    }
    return tuple(
        term if term.quoted or term.also else repaired.get(term.words, term) for term in asked
    )
