"""Grade how well a query was answered (strong, partial or nothing) from the lanes' results."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gbrain.config import Settings
from gbrain.search.boosts import QUESTIONS
from gbrain.store.pages import page_body, page_text
from gbrain.store.ranking_data import (
    approximate_page_count,
    names_a_person,
    term_statistics,
)
from gbrain.text.query_terms import is_stop_term, term_stop_words
from gbrain.text.slug import fold_name
from gbrain.text.unspaced import has_unspaced_script
from gbrain.types import (
    Candidate,
    Grade,
    Hit,
    LaneResult,
    Query,
    Ranked,
    Term,
    TermStatistics,
    Verdict,
)

if TYPE_CHECKING:
    from gbrain.search.date_search import TimeAsked
    from gbrain.search.other_person import OtherPerson

# Logistic models of whether the first hit is right, fitted on half of the questions of six sets
# (everyday notes, how-to notes, chats, people's pages, abstracts, long documents), each kind of
# each set weighing alike: right first hits against small talk and questions without an answer. The
# start is higher than fitted, so that hardly any right first hit is below .2: of the other half
# 2 of 165 are, and 3 to 88 % of the questions without an answer, by set. How far the cosine is
# ahead of the next pages' adds nothing. The cross-encoder would add .02 to an AUC of .91, for 60 ms
# a pair and 200 ms to open it.
_VECTOR_START, _COSINE, _AGREEMENT, _COVERED = -10.7, 13.6, 1.1, 4.8
# A page in another language than the question: its words say nothing, but how far its similarity is
# ahead of the mean of the next pages' does. Fitted on questions across fourteen languages, with
# right first hits and questions without an answer weighing alike. The start is higher than fitted,
# so that of right first hits in other vaults 2 % are below .2; a strong answer takes what 3 % of
# the questions without an answer have.
_ACROSS_START, _ACROSS_SIMILARITY, _ACROSS_LEAD, _MAX_LEAD = -9.5, 14.3, 3.5, 0.2
_NEXT_PAGES, _MIN_STRONG_SIGNAL_ACROSS = 5, 2.1
# Without vectors 3 of 150 right first hits are below .2, and 13 to 25 % of the others, by set.
_KEYWORD_START, _COVERED_ALONE, _LOG_TERMS = -6.1, 9.1, 2.0

_NEAR_NAME = 0.9
# A word on no page is chatter as often as it is what was asked for; a name is the latter.
_UNKNOWN = 0.5
# A known name brings its page and a high cosine, whatever is asked about it. So an answer is strong
# only if the best hit has this share, by weight, of the words that are not in its title: of
# everyday questions without an answer 2 % are strong then instead of 26 %.
_MIN_SHARE_BEYOND_TITLE = 0.55
_MAX_CONFIDENCE_WITHOUT_IT = 0.59
_MAX_MISSING = 3
# Two lines each of two people.
_MIN_LABELS = 4

# A text of these and of stop words alone asks for nothing, though some page contains them.
_SMALL_TALK = frozenset(
    """hello hi hey bye goodbye good great fine nice cool morning afternoon evening night day thanks
    thank please sorry welcome ok okay yes yeah no nope sure lol haha wow never mind hallo danke
    guten tag abend bonjour merci salut hola gracias ciao grazie""".split()
)


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
    across_languages: bool = False,
    foreign: bool = False,
    person: OtherPerson | None = None,
    undated: str | None = None,
) -> Verdict:
    """Return the grade of an answer, with its reasons.

    `facts` are about the best hit, `pages` is how many the brain holds, `title` is the best hit's.
    `calibrated` says that the similarities are those of a model with a known scale, for a text that
    it can read. `across_languages` says that the best hit is in another language than the query,
    `foreign` that the query is not in English, or that this is not known.
    `person` is of whom the best hit says what fits, if the query asks about another person.
    `undated` says why nothing of the time that the query asks about was found, None if it was.
    """
    if not ranked:
        return Verdict("nothing", 0.0, ("no page was found",))
    if short_circuit:
        confidence = _NEAR_NAME if short_circuit == "near" else 1.0
        about = "nearly the" if short_circuit == "near" else "the"
        return Verdict("strong", confidence, (f"the query is {about} name of {ranked[0].slug}",))
    if QUESTIONS in ranked[0].lanes:
        return Verdict("strong", 1.0, (f"the query is a question that {ranked[0].slug} answers",))
    if query.filter_only:
        asked = "time" if query.scope.periods else "own fields and NOT"
        return Verdict("strong", 1.0, (f"every page fulfils the query's {asked}",))
    covered = _covered_share(facts, pages)
    missing = _missing_words(facts)
    about_words = _word_reasons(facts, covered, missing)
    reasons = list(about_words)
    if undated:
        reasons.insert(0, undated)
    # Of an unknown person the reasons say already that no page mentions them.
    if person and person.known:
        subject = "it is" if person.found == title else "the lines that fit are"
        reasons.insert(0, f"{subject} about {person.found}, not {person.asked}")
    vector = lanes["vector"].pages if calibrated and "vector" in lanes else ()
    if vector and across_languages:
        signal = _signal_across_languages(vector)
        reasons.append(f"the most similar chunk has similarity {vector[0].score:.2f}")
        reasons.append("it is in another language than the query")
    elif vector:
        agreement = _first_page_agreement(lanes)
        signal = (
            _VECTOR_START + _COSINE * vector[0].score + _AGREEMENT * agreement + _COVERED * covered
        )
        reasons.append(f"the most similar chunk has similarity {vector[0].score:.2f}")
        if "fts" in lanes:
            reasons.append(
                f"the lanes {'agree' if agreement else 'do not agree'} on the first page"
            )
    else:
        signal = (
            _KEYWORD_START + _COVERED_ALONE * covered + _LOG_TERMS * math.log(max(len(facts), 1))
        )
    confidence = _logistic(signal)
    beyond_title = [fact for fact in facts if not fact.in_title]
    lacks_words = (
        beyond_title
        and not (vector and across_languages)
        and _covered_share(beyond_title, pages, unknown=1.0) < _MIN_SHARE_BEYOND_TITLE
    )
    unsure = vector and across_languages and signal < _MIN_STRONG_SIGNAL_ACROSS
    if lacks_words or person or unsure or undated:
        confidence = min(confidence, _MAX_CONFIDENCE_WITHOUT_IT)
    if vector and foreign:
        # Other languages have more forms of a word than are recognised. A page that lacks the words
        # but is far more similar than others is part of an answer.
        by_similarity = _logistic(_signal_across_languages(vector))
        confidence = max(confidence, min(by_similarity, _MAX_CONFIDENCE_WITHOUT_IT))
    grade = _grade(confidence, settings)
    if grade == "nothing" and title and _names(query.text, title):
        grade = "partial"
        reasons.append(f"the query names {ranked[0].slug}")
    elif grade == "nothing" and "date" in ranked[0].boosts:
        grade = "partial"
        reasons.append(f"{ranked[0].slug} is dated in the time asked about")
    if grade == "strong" and vector and across_languages:
        # A page in another language has other words.
        missing, reasons = (), [reason for reason in reasons if reason not in about_words]
    spoken_of = person.found if person and person.known else None
    of_all = 1.0 if vector and across_languages else _covered_share(facts, pages, unknown=1.0)
    return Verdict(grade, round(confidence, 4), tuple(reasons), missing, spoken_of, of_all)


def _signal_across_languages(vector: Sequence[Candidate]) -> float:
    best, following = vector[0].score, vector[1 : _NEXT_PAGES + 1]
    mean = sum(page.score for page in following) / len(following) if following else 0.0
    lead = best - mean if following else _MAX_LEAD / 2
    return _ACROSS_START + _ACROSS_SIMILARITY * best + _ACROSS_LEAD * min(lead / _MAX_LEAD, 1.0)


def _logistic(signal: float) -> float:
    return 1 / (1 + math.exp(-signal))


def _grade(confidence: float, settings: Settings) -> Grade:
    if confidence >= settings.verdict_strong:
        return "strong"
    return "nothing" if confidence < settings.verdict_nothing else "partial"


def _covered_share(facts: Sequence[TermStatistics], pages: int, unknown: float = _UNKNOWN) -> float:
    """Return the share of the query's words that the best hit contains, rare ones counting more.

    A word that no page contains has `unknown` times its weight, unless it looks like a name.
    """
    weights = []
    for fact in facts:
        known = fact.pages or fact.in_top_hit or fact.word[:1].isupper()
        weights.append(_rarity(fact, pages) * (1.0 if known else unknown))
    total = sum(weights)
    covered = sum(weight for fact, weight in zip(facts, weights, strict=True) if fact.in_top_hit)
    return covered / total if total else 0.0


def _rarity(fact: TermStatistics, pages: int) -> float:
    return math.log(1 + pages / (fact.pages + 0.5))


def _missing_words(facts: Sequence[TermStatistics]) -> tuple[str, ...]:
    """Return the rarest words that the best hit does not contain, rarest first."""
    missing = [fact for fact in facts if not fact.in_top_hit]
    missing.sort(key=lambda fact: fact.pages)
    return tuple(fact.word for fact in missing[:_MAX_MISSING])


def _word_reasons(
    facts: Sequence[TermStatistics], covered: float, missing: Sequence[str]
) -> list[str]:
    if not facts:
        return []
    count = sum(fact.in_top_hit for fact in facts)
    contains = f"it contains {count} of {len(facts)} words, {covered:.0%} by weight"
    known = {fact.word for fact in facts if fact.pages}
    nowhere = [word for word in missing if word not in known]
    if missing and len(nowhere) == len(missing):
        return [f"no page mentions {', '.join(nowhere)}", contains]
    absent = [f"it does not mention {', '.join(missing)}"] if missing else []
    return [*absent, contains, *([f"no page mentions {', '.join(nowhere)}"] if nowhere else ())]


def _first_page_agreement(lanes: Mapping[str, LaneResult]) -> float:
    """Return 1 if both lanes have the same first page, else 0; 0.5 without a keyword lane."""
    if "fts" not in lanes:
        return 0.5
    first = [found.pages[0].page_id for found in (lanes["fts"], lanes["vector"]) if found.pages]
    return float(len(first) == 2 and first[0] == first[1])


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
    time: TimeAsked | None = None,
) -> Verdict:
    """Return how well the pages answer the query, which asks about `time`."""
    terms = query.terms
    if "fts" in lanes:
        terms = _replace_typos(terms, lanes["fts"].terms or lanes["fts"].suggested_terms)
    looked_up = short_circuit or query.filter_only or (ranked and QUESTIONS in ranked[0].lanes)
    if "vector" in lanes and not looked_up and _is_small_talk(terms):
        return Verdict("nothing", 0.0, ("the query has only words of small talk",))
    if any(term.quoted for term in terms):
        # A query with quotes keeps its stop words, which say nothing about an answer.
        stop_words = term_stop_words(terms)
        terms = tuple(term for term in terms if term.quoted or not is_stop_term(term, stop_words))
    pages = approximate_page_count(connection)
    facts: tuple[TermStatistics, ...] = ()
    if ranked and not short_circuit:
        found = {candidate.chunk_id for candidate in ranked[0].lanes.values()}
        chunk_ids = [chunk_id for chunk_id in found if chunk_id is not None]
        facts = term_statistics(
            connection, tuple(map(_with_verb_forms, terms)), ranked[0].page_id, chunk_ids, pages
        )
    undated = None
    if time and ranked and not looked_up:
        undated = _explain_undated(connection, time, terms, facts, ranked[0])
        if undated and time.only_time:
            return Verdict("nothing", 0.0, (undated,))
        terms, facts = _without_time(time, terms, facts)
    calibrated, across_languages, foreign = False, False, False
    words = facts
    if ranked and "vector" in lanes and not looked_up:
        calibrated, across = _read_scale(connection, query.text, ranked[0].page_id)
        across_languages = across is True
        # Of a page in the question's own language, some word is in the question.
        foreign = across is None and not any(fact.in_top_hit for fact in facts)
        if not across_languages:
            text = _read_foreign(connection, query.text, ranked[0].page_id)
            if text is not None:
                from gbrain.search.verdict_words import read_words

                title = hits[0].title if hits else ""
                foreign, words = True, read_words(facts, query.text, f"{title}\n{text}")
    person = None
    if ranked and hits and hits[0].chunk and not looked_up:
        weights = {term: _rarity(fact, pages) for term, fact in zip(terms, facts, strict=False)}
        person = _find_other_page(connection, query, hits[0], facts) or _find_other_speaker(
            query.text, weights, page_text(connection, ranked[0].page_id), hits[0].chunk.lines
        )
    return compute_verdict(
        query,
        ranked,
        lanes,
        words,
        pages,
        settings,
        title=hits[0].title if hits else None,
        short_circuit=short_circuit,
        calibrated=calibrated,
        across_languages=across_languages,
        foreign=foreign,
        person=person,
        undated=undated,
    )


def _with_verb_forms(term: Term) -> Term:
    """Return a term that "bought" fulfils if "buy" is asked for."""
    from gbrain.text.irregular_verbs import verb_forms

    if term.quoted or term.prefix or term.synonyms or len(term.words) > 1:
        return term
    return term._replace(forms=(*term.forms, *verb_forms(term.words[0])))


def _explain_undated(
    connection: sqlite3.Connection,
    time: TimeAsked,
    terms: Sequence[Term],
    facts: Sequence[TermStatistics],
    best: Ranked,
) -> str | None:
    """Return why the best hit is not of the time asked about; None if it is or may be."""
    from gbrain.search.date_search import is_dated_inside

    written = [fact for term, fact in zip(terms, facts, strict=False) if term in time.words]
    if best.slug in time.literal_slugs or (written and all(fact.in_top_hit for fact in written)):
        return None
    if is_dated_inside(connection, time, best.page_id):
        return None
    first = time.levels[0]
    named = f", {first[0].text}" if len(time.levels) == len(first) == 1 else ""
    if time.has_pages:
        return f"it is not dated in the time asked about{named}"
    return f"no page is dated in the time asked about{named}"


def _without_time(
    time: TimeAsked, terms: Sequence[Term], facts: Sequence[TermStatistics]
) -> tuple[tuple[Term, ...], tuple[TermStatistics, ...]]:
    """Return the terms and facts without words of the time that the best hit does not contain."""
    kept = [
        (term, fact)
        for term, fact in zip(terms, facts, strict=False)
        if fact.in_top_hit or term not in time.words
    ]
    return tuple(term for term, _ in kept), tuple(fact for _, fact in kept)


def _find_other_page(
    connection: sqlite3.Connection, query: Query, hit: Hit, facts: Sequence[TermStatistics]
) -> OtherPerson | None:
    """Return whose page the hit is, if the query names another person whom it does not mention."""
    if hit.wing != "people" or any(fact.in_title for fact in facts):
        return None
    from gbrain.search.other_person import OtherPerson
    from gbrain.text.stop_words import is_stop_word, question_languages

    # In English only names are in upper case.
    words = query.text.split()
    english = not question_languages(words) and any(map(is_stop_word, words))
    for fact in facts:
        like_name = english and fact.word.istitle() and not query.text.startswith(fact.word)
        if not fact.in_top_hit and (
            names_a_person(connection, fact.word) if fact.pages else like_name
        ):
            return OtherPerson(fact.word, hit.title, fact.pages > 0)
    return None


def _find_other_speaker(
    question: str, weights: Mapping[Term, float], text: str, lines: tuple[int, int]
) -> OtherPerson | None:
    """Return of whom a page says what fits, if it is a conversation and of another than asked."""
    if len(re.findall(r"(?m)^[^\n:：>]{2,60}[:：>]", text)) < _MIN_LABELS:
        return None
    from gbrain.search.other_person import find_other_person

    return find_other_person(question, weights, text, lines)


def _read_scale(
    connection: sqlite3.Connection, question: str, page_id: int
) -> tuple[bool, bool | None]:
    """Tell whether similarities have a known scale, and whether the page is in another language.

    The second is None if that is not known.
    """
    from gbrain.search.calibration import active_calibration
    from gbrain.search.languages import answers_across_languages

    calibration = active_calibration(connection)
    if calibration is None:
        return False, False
    if calibration.english_only:
        return not has_unspaced_script(question), False
    return True, answers_across_languages(connection, question, page_id)


def _read_foreign(connection: sqlite3.Connection, question: str, page_id: int) -> str | None:
    """Return the text of the best hit if the question is not in English and the model reads it."""
    from gbrain.search.calibration import reads_only_english
    from gbrain.search.languages import is_foreign

    if reads_only_english(connection):
        return None
    body = page_body(connection, page_id)
    return body if is_foreign(question, body) else None


def _is_small_talk(terms: Sequence[Term]) -> bool:
    """Tell whether the terms ask for nothing; a single word is looked up, whatever it is."""
    return len(terms) > 1 and all(
        is_stop_term(term) or (not term.quoted and term.words[0].casefold() in _SMALL_TALK)
        for term in terms
    )


def _replace_typos(asked: tuple[Term, ...], found: tuple[Term, ...]) -> tuple[Term, ...]:
    """Return the terms that were asked for, with the corrected ones that are surely typos.

    Words that were left out still count, and a word that is merely similar does not.
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
