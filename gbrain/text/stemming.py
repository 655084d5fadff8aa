"""Stems of words by language, through Snowball; English words are stemmed by the keyword index."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from gbrain.text.slug import fold_name

if TYPE_CHECKING:
    from Stemmer import Stemmer

_ALGORITHMS = {
    "ar": "arabic", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "es": "spanish",
    "fi": "finnish", "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sv": "swedish", "tr": "turkish",
}  # fmt: skip
# Two words of each language that are hardly ever found in texts of others.
MARKERS = {
    "cs": ("jsem", "nebo"), "da": ("ikke", "hvad"), "de": ("und", "nicht"), "es": ("los", "pero"),
    "fi": ("olla", "että"), "fr": ("dans", "avec"), "hu": ("hogy", "vagy"), "it": ("della", "che"),
    "nl": ("het", "een"), "no": ("ikke", "hva"), "pl": ("nie", "jest"), "pt": ("uma", "não"),
    "ro": ("sunt", "pentru"), "sv": ("och", "att"), "tr": ("bir", "için"),
}  # fmt: skip
_SCRIPTS = (("\u0370", "\u03ff", "el"), ("\u0400", "\u04ff", "ru"), ("\u0600", "\u06ff", "ar"))
# Words of an index that share a stem share at least this many first letters.
_MIN_START_LETTERS = 3
_ARABIC_PREFIXES = ("", "ال", "وال", "بال", "لل", "و", "ب")


@cache
def _stemmer(algorithm: str) -> Stemmer:
    # Three milliseconds, which only a question in another language needs.
    from Stemmer import Stemmer

    return Stemmer(algorithm)


def script_language(word: str) -> str | None:
    """Return the language whose stems a word in the Greek, Cyrillic or Arabic script has."""
    for first, last, language in _SCRIPTS:
        if any(first <= letter <= last for letter in word):
            return language
    return None


def word_stems(word: str, language: str) -> frozenset[str]:
    """Return the stems that forms of the word may have in the index; none for an unknown language.

    The index drops accents and English endings, so that a stem can come out in several ways.
    """
    algorithm = _ALGORITHMS.get(language)
    if algorithm is None:
        return frozenset()
    stem, written, folded = _stemmer(algorithm).stemWord, word.casefold(), fold_name(word)
    found = (stem(written), fold_name(stem(written)), stem(folded), stem(indexed_form(word)))
    return frozenset(one for one in found if len(one) >= _MIN_START_LETTERS)


def indexed_form(word: str) -> str:
    """Return a word about as FTS5's `porter unicode61` stores it."""
    form: str = _stemmer("porter").stemWord(fold_name(word))
    return form


def has_stem(indexed: str, stems: frozenset[str], language: str) -> bool:
    """Tell whether a term of the index has one of the stems."""
    return indexed in stems or _stemmer(_ALGORITHMS[language]).stemWord(indexed) in stems


def form_starts(stems: frozenset[str], language: str) -> list[str]:
    """Return the first letters of the index's terms that can have one of the stems."""
    starts = {stem[: max(_MIN_START_LETTERS, len(stem) - 1)] for stem in stems}
    if language != "ar":
        return sorted(starts)
    return sorted(prefix + start for prefix in _ARABIC_PREFIXES for start in starts)
