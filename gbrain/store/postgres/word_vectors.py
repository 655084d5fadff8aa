"""Words of a page or chunk as a tsvector: their positions tell how often and in which column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# Limits of PostgreSQL: positions beyond the last one share it, and a word has at most 256 of them.
# So a word counts less than it should on pages of more than 16,383 words, and its phrases are found
# through the page's chunks only.
MAX_POSITION = 16_383
_MAX_PLACES = 256
_MAX_VECTOR_BYTES = 1_000_000
# A lexeme has at most 2,046 bytes, a character at most four.
_MAX_WORD_CHARACTERS = 511


class WordVector(NamedTuple):
    """The text form of a tsvector, the number of words, and the last position of each column.

    `bounds` leaves out the last column.
    """

    text: str
    length: int
    bounds: list[int]


def make_vector(columns: Sequence[Sequence[str]], letters: str = "") -> WordVector:
    """Return the vector of the words of each column; `letters` has the letter of the first ones.

    Between two columns a position is left out, so that no phrase reaches from one to the next.
    """
    places: dict[str, list[str]] = {}
    bounds: list[int] = []
    position = length = 0
    for number, words in enumerate(columns):
        letter = letters[number : number + 1]
        for word in words:
            position += 1
            places.setdefault(cut_word(word), []).append(
                f"{position if position < MAX_POSITION else MAX_POSITION}{letter}"
            )
        length += len(words)
        position += 1
        bounds.append(min(position, MAX_POSITION))
    size, parts = 0, []
    for word, found in places.items():
        del found[_MAX_PLACES:]
        size += len(word.encode()) + 2 * len(found) + 4
        if size > _MAX_VECTOR_BYTES:
            break
        parts.append(f"{quote_lexeme(word)}:{','.join(found)}")
    return WordVector(" ".join(parts), length, bounds[:-1])


def cut_word(word: str) -> str:
    """Return the word, or its start if it is longer than a lexeme can be."""
    return word[:_MAX_WORD_CHARACTERS]


def quote_lexeme(word: str) -> str:
    """Return a word for the text form of a tsvector or tsquery; no character in it is syntax."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"
