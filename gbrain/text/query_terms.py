"""Split a query's text into terms, and write terms as FTS5 expressions; every text is valid."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from itertools import combinations

from gbrain.text.slug import normalise_unicode
from gbrain.text.stop_words import (
    STOP_WORDS,
    is_stop_word,
    question_stop_words,
    strip_elision,
)
from gbrain.text.unspaced import (
    has_unspaced_script,
    index_text,
    is_function_word,
    plain_text,
    split_unspaced,
)
from gbrain.types import Term

# A longer text is not a question, and one phrase of all of it would exhaust memory.
MAX_QUERY_CHARACTERS = 10_000
MAX_TERMS = 200
_MAX_COMPOUND_WORDS = 40
# Of phrases, compounds and prefixes, unlike those of single words, several can match at the same
# place of a page, and FTS5 compares each match with every other one: on a page of 60,000 equal
# words 140 prefixes took 8 seconds, and 97 compounds some minutes. With these bounds it is 2.
MAX_PHRASE_WORDS = 100
_WORDS_PER_PREFIX = 5

# A shorter word that no page contains is as likely new as misspelt.
_MIN_MISSPELT_LETTERS = 5
_MIN_COMPOUND_LETTERS = 6
# A shorter word shares too few trigrams with any other.
_MIN_COMPARED_CHARACTERS = 3

# Scoring a row costs about thirty times as much as skipping it. If more pages than this contain
# one of the query's words, only pages with a rare word or with two of the others are scored.
MAX_SCORED_PAGES = 2000
_MAX_PAIRED_TERMS = 8

FIELDS = ("title", "tag", "wing", "room", "type", "before", "after")
OPERATORS = frozenset(("AND", "OR", "NOT"))

# Strings, compiled on first use: most queries are plain words and start faster without them.
_INVISIBLE = "[\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\x00-\x08\x0e-\x1f]"
_PHRASE_OR_WORD = r'"([^"]*)"|(\S+)'
_COMPOUND_WORD = r"[^\W_]+"

Aliases = Mapping[str, tuple[str, ...]]
_NO_ALIASES: Aliases = {}


def normalise_query(text: str) -> str:
    """Return the text in NFC, without invisible characters, single-spaced, with plain quotes."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    text = text.encode("utf-8", "replace").decode()
    composed = normalise_unicode("NFC", text).replace("\u2019", "'").replace("\u2018", "'")
    plain = composed.replace("\u201c", '"').replace("\u201d", '"')
    return " ".join(re.sub(_INVISIBLE, "", plain).split())


class TermLimit:
    """Bounds what the terms of one query cost: their number, and the words of phrases.

    Compounds count as phrases, a prefix as several words. `reached` tells that something of the
    query was left out.
    """

    def __init__(self) -> None:
        self._words_left = MAX_PHRASE_WORDS
        self.reached = False

    def take(self, term: Term) -> Term | None:
        """Return the term, or its beginning if it is too long; None after the limit."""
        if not (term.prefix or term.quoted) and term.words[0].isalnum():
            return term
        text = index_text(" ".join(term.words))
        ends = [word.end() for word in re.finditer(_COMPOUND_WORD, text)]
        cost = (len(ends) if len(ends) > 1 else 0) + (_WORDS_PER_PREFIX if term.prefix else 0)
        if cost <= self._words_left:
            self._words_left -= cost
            return term
        self.reached = True
        kept, self._words_left = self._words_left, 0
        if term.prefix or not kept:
            return None
        return make_phrase_term(plain_text(text[: ends[kept - 1]]))


def parse_terms(
    text: str, aliases: Aliases = _NO_ALIASES, limit: TermLimit | None = None
) -> tuple[Term, ...]:
    """Return the words and quoted phrases of a normalised query, in order, without duplicates.

    A compound such as `auth-middleware` or `v1.2` is one term. A word in `aliases` (keys in lower
    case) gets its synonyms. Stop words of the question's language, and words that only ask for
    notes, are dropped unless they have an alias, something is quoted or nothing else is left.
    `limit` tells whether all was read.
    """
    terms: dict[Term, None] = {}
    written: list[Term] = []
    quoted_any = False
    limit = limit or TermLimit()
    for phrase, word in _phrases_and_words(text):
        read = make_phrase_term(phrase) if phrase else make_word_term(word, aliases)
        term = read and limit.take(read)
        if term:
            quoted_any |= term.quoted
            parts = _split_sentence(term)[:MAX_TERMS]
            written += parts
            terms |= dict.fromkeys(parts)
        limit.reached |= len(terms) >= MAX_TERMS
        if limit.reached:
            break
    if quoted_any:
        return tuple(terms)
    stop_words = term_stop_words(written)
    kept = {
        term if stop_words >= STOP_WORDS else _without_elision(term): None
        for term in terms
        if not is_stop_term(term, stop_words)
    }
    return tuple(kept or terms)


def term_stop_words(terms: Collection[Term]) -> frozenset[str]:
    """Return the words that a question with these terms does not mean literally."""
    return question_stop_words([word for term in terms for word in term.words])


def _without_elision(term: Term) -> Term:
    return term._replace(words=tuple(map(strip_elision, term.words)))


def _split_sentence(term: Term) -> list[Term]:
    """Return the words of a sentence in a script without spaces; other terms as they are."""
    word = term.words[0]
    if term.quoted or term.synonyms or term.prefix or not has_unspaced_script(word):
        return [term]
    return [Term((part,)) for part in split_unspaced(word)]


def make_phrase_term(phrase: str) -> Term | None:
    """Return a quoted phrase as a term; None if it contains no word."""
    words = tuple(word for word in phrase.split() if _has_letter_or_digit(word))
    return Term(words, quoted=True) if words else None


def make_word_term(word: str, aliases: Aliases = _NO_ALIASES) -> Term | None:
    """Return a word as a term, without the punctuation around it; None if nothing is left."""
    bare = _strip_punctuation(word.replace('"', ""))
    prefix = bare.endswith("*")
    bare = bare.rstrip("*")
    if bare.casefold() not in STOP_WORDS:
        bare = bare.removesuffix("'s").removesuffix("'S").removesuffix("'")
    if not _has_letter_or_digit(bare):
        return None
    return Term((bare,), prefix=prefix, synonyms=aliases.get(bare.casefold(), ()))


def _phrases_and_words(text: str) -> Iterator[tuple[str, str]]:
    """Yield (phrase, word) pairs in order; one of the two is always empty."""
    if '"' not in text:
        yield from (("", word) for word in text.split())
        return
    for match in re.finditer(_PHRASE_OR_WORD, text):
        yield match[1] or "", match[2] or ""


def _has_letter_or_digit(text: str) -> bool:
    return any(map(str.isalnum, text))


def _strip_punctuation(word: str) -> str:
    """Remove the punctuation before and after a word, but keep signs as in `C++` and `net*`."""
    start, stop = 0, len(word)
    while start < stop and not (word[start].isalnum() or word[start] in "_+#"):
        start += 1
    while stop > start and not (word[stop - 1].isalnum() or word[stop - 1] in "_*+#"):
        stop -= 1
    return word[start:stop]


def is_stop_term(term: Term, stop_words: Set[str] = STOP_WORDS) -> bool:
    """Tell whether a term is a stop word without synonyms."""
    plain = len(term.words) == 1 and not term.prefix and not term.synonyms
    word = term.words[0]
    return plain and (is_stop_word(word, stop_words) or is_function_word(word))


def may_be_misspelt(term: Term) -> bool:
    """Tell whether a term that no page contains is more likely misspelt than new."""
    word = term.words[0]
    return len(word) >= _MIN_MISSPELT_LETTERS and word.isalpha() and can_be_compared(term)


def may_begin_compound(term: Term) -> bool:
    """Tell whether a term that no page contains may be the first part of a longer word."""
    return len(term.words[0]) >= _MIN_COMPOUND_LETTERS and may_be_misspelt(term)


def can_be_compared(term: Term) -> bool:
    """Tell whether a term that no page contains can be compared with the words of the brain."""
    word = term.words[0]
    plain = not (term.quoted or term.prefix or term.synonyms)
    return (
        plain
        and len(word) >= _MIN_COMPARED_CHARACTERS
        and word.isalnum()
        and not has_unspaced_script(word)
    )


def fts_expression(terms: tuple[Term, ...], operator: str = "OR") -> str:
    """Return the terms as an FTS5 expression; each is quoted, so no character is syntax.

    The words of a compound are matched too, unless it is quoted: a page with the whole compound
    then scores higher.
    """
    return f" {operator} ".join(fts_term(term) for term in terms)


def rare_terms_expression(terms: tuple[Term, ...], page_counts: Sequence[int], pages: int) -> str:
    """Return an FTS5 expression that few of the pages match: rare terms, the others in pairs."""
    counts = [(count, (term,)) for count, term in zip(page_counts, terms, strict=True) if count]
    rarest = sorted(counts, key=lambda counted: counted[0])[:_MAX_PAIRED_TERMS]
    # Twice as many as if the words were independent: words of one query often occur together.
    pairs = [
        (2 * first * second / pages, one + other)
        for (first, one), (second, other) in combinations(rarest, 2)
    ]
    chosen: list[tuple[Term, ...]] = []
    total = 0.0
    for count, group in sorted([*counts, *pairs], key=lambda counted: counted[0]):
        total += count
        if chosen and total > MAX_SCORED_PAGES:
            break
        chosen.append(group)
    # A pair with a term that is chosen alone adds no page, but FTS5 would read both terms again.
    alone = {group[0] for group in chosen if len(group) == 1}
    groups = [group for group in chosen if len(group) == 1 or alone.isdisjoint(group)]
    return " OR ".join(f"({fts_expression(group, 'AND')})" for group in groups)


def fts_term(term: Term, *, strict: bool = False) -> str:
    """Return one term as an FTS5 expression; with `strict`, a compound only matches as a whole.

    Otherwise its words match too, except stop words and single characters: nearly every page has
    one of "state-of-the-art", and of "don't" the t of "T-cell".
    """
    words = [] if strict else _compound_words(term)
    telling = [word for word in words if len(word) > 1 and not is_stop_word(word, STOP_WORDS)]
    return _any_of([*_spellings(term), *map(_quote, telling)])


def fts_whole_term(term: Term) -> str:
    """Return one term as an FTS5 expression; a compound matches as a whole or by all its words."""
    words = " AND ".join(map(_quote, _compound_words(term)))
    return _any_of([*_spellings(term), *([f"({words})"] if words else ())])


def _any_of(phrases: list[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"({' OR '.join(phrases)})"


def _spellings(term: Term) -> list[str]:
    whole = _quote(" ".join(term.words)) + ("*" if term.prefix else "")
    return [whole, *map(_quote, (*term.synonyms, *term.forms))]


def _compound_words(term: Term) -> list[str]:
    """Return the words of a compound; none for a plain word or a phrase."""
    word = term.words[0]
    # Vowel signs of Thai are no letters to Python, but separate no words.
    if term.quoted or word.isalnum() or has_unspaced_script(word):
        return []
    words = re.findall(_COMPOUND_WORD, word)[:_MAX_COMPOUND_WORDS]
    return list(dict.fromkeys(words)) if len(words) > 1 else []


def _quote(phrase: str) -> str:
    return '"' + index_text(phrase).replace('"', " ").replace("\0", " ") + '"'
