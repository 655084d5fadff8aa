"""Tell the language of a note by its alphabet or its function words; short texts are not guessed.

Function words tell English and the languages of `stop_words.py` apart, in any text of a few
sentences. Libraries for this know more languages, but load megabytes of tables.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from gbrain.text.slug import fold_name
from gbrain.text.stop_words import FOREIGN_WORDS, STOP_WORDS, question_languages

# The language of a longer text is that of its beginning.
MAX_CHARACTERS = 4000
# A language needs this many of its function words, of all words this share, and more of them than
# any other language by this factor.
_MIN_FUNCTION_WORDS, _MIN_SHARE, _MIN_LEAD = 4, 0.12, 1.25
_MIN_LETTERS_OF_ALPHABET, _MIN_LETTERS_OF_QUESTION = 8, 2
# The language that a text in an alphabet is most likely in. Han stands for Chinese unless there is
# kana next to it.
_ALPHABETS = {
    "ja": "\u3040-\u30ff",
    "zh": "\u3400-\u9fff",
    "ko": "\u1100-\u11ff\uac00-\ud7af",
    "th": "\u0e00-\u0e7f",
    "ar": "\u0600-\u06ff",
    "he": "\u0590-\u05ff",
    "ru": "\u0400-\u04ff",
    "el": "\u0370-\u03ff",
    "hi": "\u0900-\u097f",
    # Letters of Vietnamese alone, among Latin ones.
    "vi": "\u01a0\u01a1\u01af\u01b0\u1ea0-\u1ef9",
}
# Of the words of a Vietnamese text, at least this share has such a letter.
_MIN_VIETNAMESE_SHARE = 0.2
_OF_ALPHABET = {language: re.compile(f"[{letters}]") for language, letters in _ALPHABETS.items()}
_LATIN_WORD = re.compile(r"[^\W\d_]+")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|\[\[|\]\]", re.DOTALL)
_FUNCTION_WORDS = {"en": STOP_WORDS, **FOREIGN_WORDS}


def detect_language(text: str) -> str | None:
    """Return the language of a text as a two-letter code; None if there is too little to tell.

    The code of an alphabet's main language stands for all languages written in it.
    """
    text = _CODE.sub(" ", text[:MAX_CHARACTERS])
    words = [word for word in _LATIN_WORD.findall(text) if word[0] < "\u0250"]
    letters = {language: len(found.findall(text)) for language, found in _OF_ALPHABET.items()}
    if letters["ja"] >= _MIN_LETTERS_OF_ALPHABET // 2:
        letters["ja"] += letters.pop("zh")
    if letters.pop("vi") >= max(_MIN_LETTERS_OF_ALPHABET, _MIN_VIETNAMESE_SHARE * len(words)):
        return "vi"
    alphabet = max(letters, key=lambda language: letters[language])
    # A word of another alphabet has at least two letters or signs.
    if letters[alphabet] >= max(_MIN_LETTERS_OF_ALPHABET, 2 * len(words)):
        return alphabet
    return _by_function_words(words)


def _by_function_words(words: list[str]) -> str | None:
    folded = Counter(map(fold_name, words))
    counts = {
        language: sum(folded[word] for word in folded.keys() & table)
        for language, table in _FUNCTION_WORDS.items()
    }
    best, second = sorted(counts, key=lambda language: counts[language], reverse=True)[:2]
    clear = counts[best] >= max(_MIN_FUNCTION_WORDS, _MIN_SHARE * len(words))
    return best if clear and counts[best] >= _MIN_LEAD * counts[second] else None


def question_language(text: str) -> str | None:
    """Return the language that the alphabet or the function words of a question show, or None."""
    letters = {language: len(found.findall(text)) for language, found in _OF_ALPHABET.items()}
    alphabet = max(letters, key=lambda language: letters[language])
    if letters[alphabet] >= _MIN_LETTERS_OF_QUESTION:
        return "ja" if letters["ja"] else alphabet
    words = _LATIN_WORD.findall(text)
    foreign = question_languages(words)
    if not foreign:
        return "en" if _is_surely_english(words) else None
    return foreign[0] if len(foreign) == 1 else None


def _is_surely_english(words: Iterable[str]) -> bool:
    """Tell whether some function word is English and of no other language: not "was" and "die"."""
    found = {fold_name(word) for word in words} & STOP_WORDS
    return any(not any(word in table for table in FOREIGN_WORDS.values()) for word in found)


def count_function_words(text: str, language: str) -> int:
    """Return how many different function words of a language a text has."""
    words = {fold_name(word) for word in _LATIN_WORD.findall(text)}
    return len(words & _FUNCTION_WORDS.get(language, frozenset()))


def is_written_in(alphabet_of: str, text: str) -> bool:
    """Tell whether a text uses the alphabet of a language; Latin is that of all others."""
    letters = _OF_ALPHABET.get("zh" if alphabet_of == "ja" else alphabet_of)
    if letters is None:
        return not any(found.search(text) for found in _OF_ALPHABET.values())
    return letters.search(text) is not None or _OF_ALPHABET[alphabet_of].search(text) is not None


def foreign_share(texts: Iterable[str]) -> tuple[float, int]:
    """Return which share of the texts whose language is known is not English, and their number."""
    known = [language for text in texts if (language := detect_language(text))]
    return sum(language != "en" for language in known) / (len(known) or 1), len(known)
