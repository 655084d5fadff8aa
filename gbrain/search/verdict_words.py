"""What the words of a question say about the best hit, if the question is not in English.

Other languages inflect and compound their words more than English, some write without spaces, and
the function words of a short question may not show its language. The keyword index knows little of
that, so that a page which answers seems to lack the words of the question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gbrain.text.language import detect_language
from gbrain.text.similarity import common_start
from gbrain.text.slug import fold_name
from gbrain.text.stop_words import FOREIGN_WORDS
from gbrain.text.unspaced import has_unspaced_script
from gbrain.types import TermStatistics

_MAX_CHARACTERS = 20_000
_WORD = re.compile(r"[^\W\d_]+")
# A part of a compound, or the start that two forms of a word share, has at least this many letters,
# and the start this share of the longer form.
_MIN_PART_LETTERS, _MIN_START_LETTERS, _MIN_START_SHARE = 5, 4, 0.6


def read_words(
    facts: Sequence[TermStatistics], question: str, page: str
) -> tuple[TermStatistics, ...]:
    """Return the facts about a page as a reader of its language would give them."""
    language = detect_language(page)
    function_words = FOREIGN_WORDS.get(language or "", frozenset())
    kept = [fact for fact in facts if fold_name(fact.word) not in function_words] or list(facts)
    words = {fold_name(word) for word in _WORD.findall(page[:_MAX_CHARACTERS])}
    credited = (
        fact if fact.in_top_hit or not _has_form(fact.word, words) else _credit(fact)
        for fact in _join_fragments(kept)
    )
    first = question.split()[0].strip("¿¡\"'«(").casefold() if question.split() else ""
    return tuple(_without_capital(fact, first, language) for fact in credited)


def _credit(fact: TermStatistics) -> TermStatistics:
    return fact._replace(in_top_hit=True, pages=max(fact.pages, 1))


def _without_capital(fact: TermStatistics, first: str, language: str | None) -> TermStatistics:
    """Return the fact with a word that does not look like a name if its capital says nothing."""
    if language == "de" or fact.word.casefold() == first:
        return fact._replace(word=fact.word[:1].lower() + fact.word[1:])
    return fact


def _has_form(word: str, words: set[str]) -> bool:
    """Tell whether some of the words is a form of this one, or they are parts of a compound."""
    form = fold_name(word)
    if len(form) < _MIN_START_LETTERS or has_unspaced_script(word):
        return False
    for other in words:
        short, long = sorted((form, other), key=len)
        if len(short) >= _MIN_PART_LETTERS and short in long:
            return True
        start = common_start(form, other)
        if start >= _MIN_START_LETTERS and start >= _MIN_START_SHARE * len(long):
            return True
    return False


def _join_fragments(facts: Sequence[TermStatistics]) -> list[TermStatistics]:
    """Return the facts with overlapping fragments of unspaced text that no page has as one word.

    One that overlaps a fragment which some page has is dropped: it crosses the end of a word.
    """
    joined: list[TermStatistics] = []
    for at, fact in enumerate(facts):
        before = facts[at - 1] if at and _overlap(facts[at - 1], fact) else None
        after = facts[at + 1] if at + 1 < len(facts) and _overlap(fact, facts[at + 1]) else None
        if fact.pages or not (before or after):
            joined.append(fact)
        elif (before and before.pages) or (after and after.pages):
            continue
        elif before and joined and joined[-1].word.endswith(before.word):
            rest = fact.word[_shared(before, fact) :]
            joined[-1] = joined[-1]._replace(word=joined[-1].word + rest)
        else:
            joined.append(fact)
    return joined or list(facts)


def _overlap(one: TermStatistics, other: TermStatistics) -> bool:
    return has_unspaced_script(one.word) and _shared(one, other) > 0


def _shared(one: TermStatistics, other: TermStatistics) -> int:
    """Return how many characters the second begins with that the first ends with."""
    for count in range(min(len(one.word), len(other.word)) - 1, 0, -1):
        if one.word.endswith(other.word[:count]):
            return count
    return 0
