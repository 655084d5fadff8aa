"""Relax a query that finds nothing, step by step, and suggest what a misspelt word means."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator

from gbrain.config import Settings
from gbrain.search.lanes import keyword
from gbrain.store.keyword_index import count_pages_with
from gbrain.store.vocabulary import find_similar_word
from gbrain.text.query_terms import can_be_compared, is_stop_term
from gbrain.text.similarity import is_likely_typo, is_other_form
from gbrain.text.slug import fold_name
from gbrain.text.stop_words import question_languages
from gbrain.trace import Trace
from gbrain.types import LaneResult, Query, Term

# Words looked up for one query: a text of many unknown words is not misspelt.
_MAX_LOOKUPS = 3

Rungs = Iterator[tuple[str, tuple[Term, ...]]]


def retry_looser(
    connection: sqlite3.Connection,
    query: Query,
    settings: Settings,
    trace: Trace,
    *,
    only_typos: bool = False,
) -> LaneResult:
    """Return the pages of the first rung that finds any; the query itself has found nothing.

    `only_typos` replaces a word only by one that it is a likely misspelling of.
    """
    with trace.stage("retry_ladder") as detail:
        tried = [f"initial: {query.text} = 0"]
        detail["rungs"] = tried
        nothing = LaneResult(())
        searched: dict[tuple[Term, ...], LaneResult] = {(): nothing}
        if query.fts_expression is None:
            searched[query.terms] = nothing
        for rung, terms in _rungs(connection, query.terms, settings, only_typos):
            if terms not in searched:
                searched[terms] = _search(connection, query, terms, settings)
            found = searched[terms]
            words = " ".join(_format_term(term) for term in terms)
            tried.append(f"{rung}: {words} = {len(found.pages)}" if words else rung)
            if found.pages:
                detail["won"] = rung
                return found
    return nothing


def suggest_words(
    connection: sqlite3.Connection, unknown: tuple[Term, ...], settings: Settings, trace: Trace
) -> tuple[Term, ...]:
    """Return the terms that are likely typos, each with the intended word as synonym."""
    with trace.stage("repair") as detail:
        # The other words were found, so this one may be just a new word: only likely typos.
        repaired = _repair_terms(connection, unknown, settings, is_likely_typo)
        detail["words"] = [_format_term(term) for term in repaired.values()]
        return tuple(repaired.values())


def drop_other_forms(question: str, suggested: tuple[Term, ...]) -> tuple[Term, ...]:
    """Return the suggestions without other forms of a word: "bringt" is no typo of "bringe".

    In English the keyword index knows the forms.
    """
    if not question_languages(question.split()):
        return suggested
    return tuple(
        term
        for term in suggested
        if not is_other_form(fold_name(term.words[0]), fold_name(term.synonyms[0]))
    )


def _rungs(
    connection: sqlite3.Connection, terms: tuple[Term, ...], settings: Settings, only_typos: bool
) -> Rungs:
    """Yield (name, terms to search) of the rungs after the first, in order."""
    words = tuple(dict.fromkeys(word for term in terms for word in _single_words(term)))
    page_counts = dict(zip(words, count_pages_with(connection, words), strict=True))
    yield "strongest_term", _rarest_term(page_counts, words)
    # A cache was emptied here once; the rung stays, so that traces can be compared.
    yield "force-refresh", ()
    sanitised = tuple(term for term in words if not is_stop_term(term)) or words
    yield "refreshed_sanitised", sanitised
    yield "refreshed_strongest", _rarest_term(page_counts, sanitised)
    unknown = tuple(term for term in sanitised if not page_counts[term])
    accepted = is_likely_typo if only_typos else lambda word, meant: True
    repaired = _repair_terms(connection, unknown, settings, accepted)
    known = [repaired.get(term, term) for term in sanitised if repaired]
    yield "trigram_fuzzy", tuple(known)


def _single_words(term: Term) -> tuple[Term, ...]:
    if not term.quoted:
        return (term,)
    return tuple(Term((word,)) for word in term.words)


def _rarest_term(page_counts: dict[Term, int], terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Return the rarest term that some page contains; of equally rare ones the longest."""

    def strength(term: Term) -> tuple[bool, int, int]:
        return page_counts[term] > 0, -page_counts[term], len(term.words[0])

    return (max(terms, key=strength),) if terms else ()


def _repair_terms(
    connection: sqlite3.Connection,
    unknown: tuple[Term, ...],
    settings: Settings,
    accepted: Callable[[str, str], bool],
) -> dict[Term, Term]:
    """Return the terms that are no words but similar to one in the brain, as their synonym."""
    from gbrain.models.tokenizer import is_english_word

    repaired: dict[Term, Term] = {}
    for term in [term for term in unknown if can_be_compared(term)][:_MAX_LOOKUPS]:
        if is_english_word(term.words[0]):
            continue
        similar = find_similar_word(connection, term.words[0], settings.fuzzy_similarity)
        if similar and accepted(fold_name(term.words[0]), similar.word):
            repaired[term] = term._replace(synonyms=(similar.word,))
    return repaired


def _search(
    connection: sqlite3.Connection, query: Query, terms: tuple[Term, ...], settings: Settings
) -> LaneResult:
    looser = query._replace(terms=terms, fts_expression=None)
    return keyword.search(connection, looser, settings)._replace(terms=terms)


def _format_term(term: Term) -> str:
    return " → ".join((" ".join(term.words), *term.synonyms))
