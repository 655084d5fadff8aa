"""Mine test questions from a brain's own pages, each with the page that must answer it.

The same pages give the same questions on every machine. Nothing is random: each kind of question
takes its sources in the order of a hash, so adding or deleting a page changes few questions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from hashlib import blake2b
from itertools import islice
from math import log2
from typing import Literal, NamedTuple, get_args

from gbrain.evaluate.question_wording import (
    NEW_NOTES,
    UNLIKELY_WORDS,
    add_typo,
    content_words,
    find_identifiers,
    paraphrase,
    prose_sentences,
    split_sentences,
    stable_choice,
    unanswerable_question,
)
from gbrain.store import evaluation_data as sources
from gbrain.store import models
from gbrain.store.evaluation_data import SourcePage
from gbrain.store.links import links_from
from gbrain.store.pages import find_by_name, page_text, require_page
from gbrain.text.periods import MONTH_NAMES
from gbrain.text.sections import is_timeline_heading
from gbrain.text.slug import fold_name
from gbrain.text.timeline import parse_entry
from gbrain.text.unspaced import has_unspaced_script

QuestionKind = Literal[
    "title", "heading", "timeline", "link", "typo", "paraphrase", "rare", "month", "unanswerable",
    "fresh",
]  # fmt: skip
QUESTION_KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
# Only the rank of a stored page counts.
RANKED_KINDS = QUESTION_KINDS[:6]

# Enough to detect a drop of a few hundredths, few enough to ask in half a minute.
MAX_QUESTIONS_PER_KIND = 100

_MIN_WORDS = 3
_MAX_WORDS = 5
_MAX_QUESTIONS_PER_PAGE = 5
_MAX_LINKS_PER_PAGE = 50
# The question comes from the most specific of a page's first sentences: a greeting is too vague.
_OPENING_SENTENCES = 6
_OPENING_CHARACTERS = 4000
# A word on this many pages counts as common; counting stops there.
_COMMON_WORD_PAGES = 1000
# Characters of the source text that are kept to check later that the page still contains it.
_SOURCE_CHARACTERS = 80


class MinedQuestion(NamedTuple):
    """A question and the page that must come first.

    `drawn_from` is text of that page; the question is valid while the page contains it. The page
    `exclude` is not searched: the words of the question come from it. `expects` is the month whose
    entry must be shown, or the word that stands nowhere. A `fresh` page is written to be found.
    """

    id: str
    kind: QuestionKind
    text: str
    slug: str
    drawn_from: str = ""
    exclude: str | None = None
    expects: str | None = None


class _Draft(NamedTuple):
    """The words of a question before it is phrased as one of the kinds."""

    slug: str
    words: list[str]
    drawn_from: str
    exclude: str | None = None
    lead: str = ""
    expects: str | None = None


def mine_questions(
    connection: sqlite3.Connection,
    limit: int = MAX_QUESTIONS_PER_KIND,
    kinds: Sequence[QuestionKind] = QUESTION_KINDS,
) -> list[MinedQuestion]:
    """Return at most `limit` questions of each of the `kinds`, in the order of QUESTION_KINDS."""
    counts = _WordCounts(connection)
    drafts: dict[QuestionKind, list[_Draft]] = {
        "title": list(islice(_from_first_sentences(counts), limit)),
        "heading": list(islice(_from_headings(counts), limit)),
        "timeline": list(islice(_from_timelines(counts), limit)),
        "link": list(islice(_from_links(counts), limit)),
    }
    prose = drafts["title"] + drafts["heading"]
    drafts["typo"] = sorted(prose, key=lambda draft: _draft_order("typo", draft))[:limit]
    drafts["paraphrase"] = sorted(prose, key=lambda draft: _draft_order("paraphrase", draft))[
        :limit
    ]
    for kind, source in _SPECIAL_SOURCES.items():
        drafts[kind] = list(islice(source(counts), limit)) if kind in kinds else []
    questions = [
        _phrase(kind, draft) for kind in QUESTION_KINDS if kind in kinds for draft in drafts[kind]
    ]
    return questions if any(question.kind != "fresh" for question in questions) else []


def is_still_valid(connection: sqlite3.Connection, question: MinedQuestion) -> bool:
    """Tell whether the page that must answer exists and contains the question's source text.

    A rare word must still be on that page alone, and a missing word on none.
    """
    if question.kind == "fresh":
        return True
    if not sources.contains_text(connection, question.slug, question.drawn_from):
        return False
    if question.kind == "rare":
        return sources.count_pages_with(connection, question.text, 2) == 1
    if question.kind == "unanswerable" and question.expects:
        return not sources.count_pages_with(connection, question.expects, 1)
    return True


def refresh_questions(
    connection: sqlite3.Connection,
    known: Iterable[MinedQuestion],
    limit: int = MAX_QUESTIONS_PER_KIND,
) -> list[MinedQuestion]:
    """Return the known questions that are still valid, filled up with new ones of other pages."""
    valid = [question for question in known if is_still_valid(connection, question)]
    covered = {(question.kind, question.slug) for question in valid}
    fresh = [q for q in mine_questions(connection, limit) if (q.kind, q.slug) not in covered]
    return [
        question
        for kind in QUESTION_KINDS
        for question in islice((q for q in valid + fresh if q.kind == kind), limit)
    ]


def _phrase(kind: QuestionKind, draft: _Draft) -> MinedQuestion:
    if kind == "typo":
        text = draft.lead + " ".join(add_typo(draft.words, draft.slug))
    elif kind == "paraphrase":
        text = paraphrase(draft.words, draft.slug)
    else:
        text = draft.lead + " ".join(draft.words)
    name = blake2b(f"{kind}\0{draft.slug}\0{text}".encode("utf-8", "replace"), digest_size=6)
    return MinedQuestion(
        name.hexdigest(), kind, text, draft.slug, draft.drawn_from, draft.exclude, draft.expects
    )


def _draft_order(kind: str, draft: _Draft) -> int:
    return stable_choice(f"{kind}\0{draft.slug}\0{' '.join(draft.words)}", 1 << 64)


class _WordCounts:
    """The number of pages that contain a word, read once for each word."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._pages: dict[str, int] = {}

    def pages(self, word: str) -> int:
        key = word.casefold()
        if key not in self._pages:
            self._pages[key] = sources.count_pages_with(self.connection, word, _COMMON_WORD_PAGES)
        return self._pages[key]

    def rarest(self, words: list[str], limit: int) -> list[str]:
        """Return the `limit` rarest words in their given order.

        Words of a single page are chosen last: any index finds that page by them, so a question
        with them measures nothing.
        """
        ranked = sorted(words, key=lambda word: (self.pages(word) < 2, self.pages(word)))
        chosen = set(ranked[:limit])
        return [word for word in words if word in chosen]

    def weight(self, words: list[str]) -> float:
        """Return how specific the words are together: more and rarer words weigh more."""
        return sum(1 / log2(max(self.pages(word), 2)) for word in words)

    def name_a_page(self, words: list[str]) -> bool:
        """Tell whether the words together are a page's name, which needs no search."""
        return bool(find_by_name(self.connection, fold_name(" ".join(words))))


# --- sources ---------------------------------------------------------------------------------


def _from_first_sentences(counts: _WordCounts) -> Iterator[_Draft]:
    """Ask for pages by one of their first sentences, without the words of their names."""
    connection = counts.connection
    for page in _in_hash_order(sources.source_pages(connection), "title"):
        name_words = _name_words(page.title, page.slug)
        text = sources.opening_text(connection, page.id, _OPENING_CHARACTERS)
        opening = [
            (sentence, counts.rarest(content_words(sentence, name_words), _MAX_WORDS))
            for sentence in prose_sentences(text)[:_OPENING_SENTENCES]
        ]
        if opening:
            sentence, words = max(opening, key=lambda item: counts.weight(item[1]))
            if _are_enough(words) and not counts.name_a_page(words):
                yield _Draft(page.slug, words, sentence[:_SOURCE_CHARACTERS])


def _from_headings(counts: _WordCounts) -> Iterator[_Draft]:
    """Ask for pages by one of their headings and the rarest word of its section."""
    connection = counts.connection
    for page in _in_hash_order(sources.source_pages(connection), "heading"):
        sections = [
            (path[-1], text)
            for path, text in sources.section_openings(connection, page.id)
            if path
            and fold_name(path[-1]) != fold_name(page.title)
            and not is_timeline_heading(path[-1])
        ]
        name_words = _name_words(page.title, page.slug)
        for turn in range(len(sections)):
            heading, text = sections[
                (stable_choice(page.slug, len(sections)) + turn) % len(sections)
            ]
            words = content_words(heading)[:_MAX_WORDS]
            below = content_words(text.replace(heading, "", 1), [*words, *name_words])
            words += sorted(below, key=counts.pages)[:1]
            if len(words) >= 2 and below and not counts.name_a_page(words):
                yield _Draft(page.slug, words, heading[:_SOURCE_CHARACTERS])
                break


def _from_timelines(counts: _WordCounts) -> Iterator[_Draft]:
    """Ask for timeline entries by their date and some of their words."""
    entries = sorted(
        sources.timeline_chunks(counts.connection),
        key=lambda entry: stable_choice(f"timeline\0{entry[1]}\0{entry[2]}\0{entry[0]}", 1 << 64),
    )
    for chunk_id, slug, day in entries:
        text = sources.chunk_text(counts.connection, chunk_id)
        first_line = parse_entry(text).words.partition("\n")[0]
        words = counts.rarest(content_words(first_line), _MIN_WORDS)
        if len(words) >= 2:
            lead = f"what happened {_date_phrase(day)}: "
            yield _Draft(slug, words, first_line[:_SOURCE_CHARACTERS], lead=lead)


def _from_links(counts: _WordCounts) -> Iterator[_Draft]:
    """Ask for pages by the sentence that links to them on another page, which is not searched."""
    connection = counts.connection
    for page in _in_hash_order(sources.linking_pages(connection), "link"):
        lines = page_text(connection, page.id).split("\n")
        links = links_from(connection, require_page(connection, page.slug))
        asked: set[str] = set()
        for link in links[:_MAX_LINKS_PER_PAGE]:
            slug, title = link.slug, link.title
            if slug is None or title is None or link.kind == "front_matter":
                continue
            if slug == page.slug or slug in asked or len(asked) >= _MAX_QUESTIONS_PER_PAGE:
                continue
            sentence = _sentence_with(lines[link.line - 1 : link.line], link.label or link.target)
            words = counts.rarest(content_words(sentence, _name_words(title, slug)), _MAX_WORDS)
            # A page that contains none of the words could not be found by them.
            if _are_enough(words) and sources.contains_any(connection, slug, words):
                asked.add(slug)
                yield _Draft(slug, words, "", exclude=page.slug)


def _from_rare_words(counts: _WordCounts) -> Iterator[_Draft]:
    """Ask for pages by an identifier, or else a word, that is on no other page."""
    for page, text in _pages_with_prose(counts.connection, "rare"):
        for word in (*find_identifiers(text), *content_words(text)):
            # "Alice's" is a form of a name that other pages contain.
            has_ending = "'" in word or "’" in word
            if not has_ending and counts.pages(word) == 1 and not counts.name_a_page([word]):
                yield _Draft(page.slug, [word], word)
                break


def _from_months(counts: _WordCounts) -> Iterator[_Draft]:
    """Ask what happened with a page in a month of its timeline, every other time without the year.

    Without a year the latest such month of the page is meant.
    """
    connection = counts.connection
    title_of = {page.slug: page.title for page in sources.source_pages(connection)}
    months = {
        (slug, day[:7]) for _, slug, day in sources.timeline_chunks(connection) if day[4:5] == "-"
    }
    months = {(slug, month) for slug, month in months if month[5:].isdigit()}
    latest: dict[tuple[str, str], str] = {}
    for slug, month in sorted(months):
        latest[slug, month[5:]] = month
    for slug, month in sorted(months, key=lambda one: stable_choice(f"month\0{one}", 1 << 64)):
        with_year = latest[slug, month[5:]] != month or stable_choice(f"year\0{slug}{month}", 2)
        when = _date_phrase(month) if with_year else f"in {MONTH_NAMES[int(month[5:]) - 1]}"
        yield _Draft(
            slug, [f"{title_of[slug]}?"], month, None, f"what happened {when} with ", month
        )


def _from_missing_words(counts: _WordCounts) -> Iterator[_Draft]:
    """Ask about known pages with a deciding word that is on no page."""
    missing = [word for word in UNLIKELY_WORDS if not counts.pages(word)]
    pages = _pages_with_prose(counts.connection, "unanswerable") if missing else ()
    for page, text in pages:
        if content_words(page.title) and content_words(text):
            word = missing[stable_choice(f"missing\0{page.slug}", len(missing))]
            question = unanswerable_question(page.title, word, page.slug)
            yield _Draft(page.slug, [question], "", expects=word)


def _from_new_notes(counts: _WordCounts) -> Iterator[_Draft]:
    """Ask for notes that are not written yet, in words that they do not contain."""
    if models.active_model(counts.connection):
        for number, (note, question) in enumerate(NEW_NOTES, 1):
            yield _Draft(f"gbrain-selftest/note-{number}", [question], note)


_SPECIAL_SOURCES: dict[QuestionKind, Callable[[_WordCounts], Iterator[_Draft]]] = {
    "rare": _from_rare_words,
    "month": _from_months,
    "unanswerable": _from_missing_words,
    "fresh": _from_new_notes,
}


def _pages_with_prose(
    connection: sqlite3.Connection, kind: QuestionKind
) -> Iterator[tuple[SourcePage, str]]:
    """Yield the pages in the order of a hash, each with the sentences that it begins with."""
    for page in _in_hash_order(sources.source_pages(connection), kind):
        text = sources.opening_text(connection, page.id, _OPENING_CHARACTERS)
        yield page, "\n".join(prose_sentences(text))


def _in_hash_order(pages: Sequence[SourcePage], kind: QuestionKind) -> list[SourcePage]:
    return sorted(pages, key=lambda page: stable_choice(f"{kind}\0{page.slug}", 1 << 64))


def _are_enough(words: list[str]) -> bool:
    """Tell whether the words make a question; in a script without spaces one word is a clause."""
    return len(words) >= _MIN_WORDS or any(map(has_unspaced_script, words))


def _name_words(title: str, slug: str) -> list[str]:
    return content_words(f"{title} {slug}".replace("-", " "))


def _sentence_with(lines: list[str], anchor: str) -> str:
    """Return the sentence that contains the link's text, or else all lines."""
    for line in lines:
        for sentence in split_sentences(line):
            if anchor in sentence:
                return sentence
    return " ".join(lines)


def _date_phrase(day: str) -> str:
    """Return a date as it is spoken: on 3 April 2026, in April 2026, in 2026."""
    fields = day[:10].split("-")
    try:
        if len(fields) == 3:
            known = date(int(fields[0]), int(fields[1]), int(fields[2]))
            return f"on {known.day} {MONTH_NAMES[known.month - 1]} {known.year}"
        if len(fields) == 2:
            return f"in {MONTH_NAMES[int(fields[1]) - 1]} {int(fields[0])}"
    except (ValueError, IndexError):
        pass
    return f"in {day}"
