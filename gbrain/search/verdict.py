"""How well a query was answered: strong, partial or nothing, from what the lanes say of it."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence

from gbrain.config import Settings
from gbrain.store.verdict_data import (
    approximate_page_count,
    packaged_model_is_active,
    term_statistics,
)
from gbrain.text.slug import fold_name
from gbrain.types import Grade, Hit, LaneResult, Query, Ranked, Term, TermStatistics, Verdict

# Logistic models, fitted on six labelled sets (claims, abstracts, chats, notes, people's pages,
# long documents). Answered: a relevant page is among the first five. Not answered: questions of
# another set, of another conversation, small talk, and questions whose relevant pages were hidden.
# Each kind of each set weighs alike. By thresholds .6 and .2, fitted without the set in question:
# of answered questions 33 to 100 % are strong (median 60) and 0 to 8 % nothing (people's pages 22
# before the rule for names: half of those questions is chatter); of another set's questions 0 to
# 1.5 % are strong and 81 to 100 % nothing; of hidden ones 0 to 55 % are strong (median 15).
_MEANING_START, _COSINE, _LEAD, _AGREED, _HELD = -5.87, 4.18, 11.84, 0.82, 3.20

# Without vectors: of answered questions 14 to 100 % strong (median 65), 0 to 8 % nothing
# (people's pages 57); of another set's questions 0 to 1.9 % strong and 71 to 100 % nothing.
_WORDS_START, _HELD_ALONE, _LOG_TERMS = -4.45, 5.61, 0.69

_NEAR_NAME = 0.9
# A word that no page holds is chatter as often as it is what was asked for; a name is the latter.
_UNKNOWN = 0.5


def compute_verdict(
    query: Query,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, LaneResult],
    facts: Sequence[TermStatistics],
    pages: int,
    settings: Settings,
    *,
    title: str | None = None,
    short_circuit: str | None = None,
    calibrated: bool = True,
) -> Verdict:
    """The grade of an answer, with its reasons.

    `facts` are about the best hit, `pages` is how many the brain holds, `title` is the best hit's,
    and `calibrated` says that cosines are those of the packaged model: others have another scale.
    """
    if not ranked:
        return Verdict("nothing", 0.0, ("no page was found",))
    if short_circuit:
        confidence = _NEAR_NAME if short_circuit == "near" else 1.0
        about = "nearly the" if short_circuit == "near" else "the"
        return Verdict("strong", confidence, (f"the query is {about} name of {ranked[0].slug}",))
    if query.filter_only:
        asked = "time" if query.scope.periods else "own fields and NOT"
        return Verdict("strong", 1.0, (f"every page fulfils the query's {asked}",))
    held = _held_share(facts, pages)
    reasons = [_words(facts, held)] if facts else []
    vector = lanes["vector"].pages if calibrated and "vector" in lanes else ()
    if vector:
        agreed, lead = _agreed(lanes), _lead([candidate.score for candidate in vector[:10]])
        signal = _MEANING_START + _COSINE * vector[0].score + _LEAD * lead
        signal += _AGREED * agreed + _HELD * held
        reasons.append(f"the nearest passage has cosine {vector[0].score:.2f}")
        reasons.append(f"it is {lead:.2f} ahead of the next pages")
        if "fts" in lanes:
            reasons.append(f"the lanes {'agree' if agreed else 'do not agree'} on the first page")
    else:
        signal = _WORDS_START + _HELD_ALONE * held + _LOG_TERMS * math.log(max(len(facts), 1))
    confidence = 1 / (1 + math.exp(-signal))
    grade = _grade(confidence, settings)
    if grade == "nothing" and title and _names(query.text, title):
        grade = "partial"
        reasons.insert(0, f"the query names {ranked[0].slug}")
    return Verdict(grade, round(confidence, 4), tuple(reasons))


def _grade(confidence: float, settings: Settings) -> Grade:
    if confidence >= settings.verdict_strong:
        return "strong"
    return "nothing" if confidence < settings.verdict_nothing else "partial"


def _held_share(facts: Sequence[TermStatistics], pages: int) -> float:
    """The share of the query's words that the best hit holds, rare ones counting more."""
    weights = [_weight(fact, pages) for fact in facts]
    total = sum(weights)
    held = sum(weight for fact, weight in zip(facts, weights, strict=True) if fact.in_top_hit)
    return held / total if total else 0.0


def _weight(fact: TermStatistics, pages: int) -> float:
    weight = math.log(1 + pages / (fact.pages + 0.5))
    named = fact.word[:1].isupper()
    return weight if fact.pages or fact.in_top_hit or named else _UNKNOWN * weight


def _words(facts: Sequence[TermStatistics], held: float) -> str:
    count = sum(fact.in_top_hit for fact in facts)
    unknown = [fact.word for fact in facts if not fact.pages and not fact.in_top_hit]
    nowhere = f"; no page holds {', '.join(unknown[:3])}" if unknown else ""
    return f"it holds {count} of {len(facts)} words, {held:.0%} by weight{nowhere}"


def _agreed(lanes: Mapping[str, LaneResult]) -> float:
    """Whether words and meaning have the same first page; halfway when words were not asked."""
    if "fts" not in lanes:
        return 0.5
    first = [found.pages[0].page_id for found in (lanes["fts"], lanes["vector"]) if found.pages]
    return float(len(first) == 2 and first[0] == first[1])


def _lead(cosines: Sequence[float]) -> float:
    """How far the first is ahead of the mean of the others; 0 when it is alone."""
    others = cosines[1:]
    return cosines[0] - sum(others) / len(others) if others else 0.0


def _names(text: str, title: str) -> bool:
    name = fold_name(title)
    return len(name) > 2 and f" {name} " in f" {fold_name(text)} "


def grade_answer(
    connection: sqlite3.Connection,
    query: Query,
    ranked: Sequence[Ranked],
    lanes: Mapping[str, LaneResult],
    hits: Sequence[Hit],
    settings: Settings,
    *,
    short_circuit: str | None,
) -> Verdict:
    """How well the pages answer the query."""
    pages = approximate_page_count(connection)
    speaking = [
        candidate.chunk_id
        for candidate in (ranked[0].lanes.values() if ranked and not short_circuit else ())
        if candidate.chunk_id is not None
    ]
    terms = query.terms
    if "fts" in lanes:
        terms = _slips_repaired(terms, lanes["fts"].terms or lanes["fts"].suggested_terms)
    return compute_verdict(
        query,
        ranked,
        lanes,
        term_statistics(connection, terms, sorted(set(speaking)), pages) if speaking else (),
        pages,
        settings,
        title=hits[0].title if hits else None,
        short_circuit=short_circuit,
        calibrated=packaged_model_is_active(connection),
    )


def _slips_repaired(asked: tuple[Term, ...], found: tuple[Term, ...]) -> tuple[Term, ...]:
    """What was asked, with the repaired words that are surely slips.

    Words that were left out still count, and a word that is merely like the one asked does not.
    """
    from gbrain.text.similarity import is_likely_typo

    repaired = {
        term.words: term
        for term in found
        if len(term.synonyms) == 1 and is_likely_typo(fold_name(term.words[0]), term.synonyms[0])
    }
    return tuple(
        term if term.quoted or term.synonyms else repaired.get(term.words, term) for term in asked
    )
