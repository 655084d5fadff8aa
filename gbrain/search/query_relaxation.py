"""The retry ladder: looser readings of a query whose words no page holds, and repaired words."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator

from gbrain.config import Settings
from gbrain.search.lanes import keyword
from gbrain.store.keyword_index import count_pages_with
from gbrain.store.vocabulary import find_similar_word
from gbrain.text.query_terms import is_stop_term, may_be_misspelt
from gbrain.text.similarity import is_likely_typo
from gbrain.text.slug import fold_name
from gbrain.trace import Trace
from gbrain.types import LaneResult, Query, Term

# Words looked up for one query: a text of nothing but unknown words is no slip of the pen.
_LOOKED_UP = 3

Rungs = Iterator[tuple[str, tuple[Term, ...]]]


def retry_looser(
    connection: sqlite3.Connection, query: Query, settings: Settings, trace: Trace
) -> LaneResult:
    """What the first rung with a hit finds for a query that found nothing as it stands."""
    with trace.stage("retry_ladder") as detail:
        tried = [f"initial: {query.text} = 0"]
        detail["rungs"] = tried
        nothing = LaneResult(())
        searched: dict[tuple[Term, ...], LaneResult] = {(): nothing}
        if query.fts_expression is None:
            searched[query.terms] = nothing
        for rung, terms in _rungs(connection, query.terms, settings):
            if terms not in searched:
                searched[terms] = _search(connection, query, terms, settings)
            found = searched[terms]
            words = " ".join(_written(term) for term in terms)
            tried.append(f"{rung}: {words} = {len(found.pages)}" if words else rung)
            if found.pages:
                detail["won"] = rung
                return found
    return nothing


def repair_words(
    connection: sqlite3.Connection,
    query: Query,
    unknown: tuple[Term, ...],
    settings: Settings,
    trace: Trace,
) -> LaneResult | None:
    """What the query finds with those unknown words repaired that are slips; None if none is."""
    with trace.stage("repair") as detail:
        # Beside words that the brain knows an unknown one may just be unknown.
        repaired = _repaired(connection, unknown, settings, is_likely_typo)
        detail["words"] = [_written(term) for term in repaired.values()]
        if not repaired:
            return None
        terms = tuple(repaired.get(term, term) for term in query.terms)
        return _search(connection, query, terms, settings)


def _rungs(connection: sqlite3.Connection, terms: tuple[Term, ...], settings: Settings) -> Rungs:
    """The rungs after the first in order, each with the terms to search."""
    words = tuple(dict.fromkeys(word for term in terms for word in _single_words(term)))
    held_by = dict(zip(words, count_pages_with(connection, words), strict=True))
    yield "strongest_term", _strongest(held_by, words)
    # A cache was emptied here once; the rung stays, so that traces can be compared.
    yield "force-refresh", ()
    sanitised = tuple(term for term in words if not is_stop_term(term)) or words
    yield "refreshed_sanitised", sanitised
    yield "refreshed_strongest", _strongest(held_by, sanitised)
    unknown = tuple(term for term in sanitised if not held_by[term])
    repaired = _repaired(connection, unknown, settings, lambda word, meant: True)
    known = [repaired.get(term, term) for term in sanitised if repaired]
    yield "trigram_fuzzy", tuple(known)


def _single_words(term: Term) -> tuple[Term, ...]:
    if not term.quoted:
        return (term,)
    return tuple(Term((word,)) for word in term.words)


def _strongest(held_by: dict[Term, int], terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """The rarest of the terms that some page holds, the longer of two as rare."""

    def strength(term: Term) -> tuple[bool, int, int]:
        return held_by[term] > 0, -held_by[term], len(term.words[0])

    return (max(terms, key=strength),) if terms else ()


def _repaired(
    connection: sqlite3.Connection,
    unknown: tuple[Term, ...],
    settings: Settings,
    accepted: Callable[[str, str], bool],
) -> dict[Term, Term]:
    """The terms for which the brain has a word that is like them, with that word beside."""
    repaired: dict[Term, Term] = {}
    for term in [term for term in unknown if may_be_misspelt(term)][:_LOOKED_UP]:
        near = find_similar_word(connection, term.words[0], settings.fuzzy_similarity)
        if near and accepted(fold_name(term.words[0]), near.word):
            repaired[term] = term._replace(synonyms=(near.word,))
    return repaired


def _search(
    connection: sqlite3.Connection, query: Query, terms: tuple[Term, ...], settings: Settings
) -> LaneResult:
    looser = query._replace(terms=terms, fts_expression=None)
    return keyword.search(connection, looser, settings)._replace(terms=terms)


def _written(term: Term) -> str:
    return " → ".join((" ".join(term.words), *term.synonyms))
