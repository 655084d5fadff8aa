"""Words of a page or chunk as a tsvector: their positions tell how often and in which column."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

# Limits of PostgreSQL: positions beyond the last one share it, and a word has at most 256 of them.
# So a word counts less than it should on pages of more than 16,383 words, and its phrases are found
# through the page's chunks only.
MAX_POSITION = 16_383
_MAX_PLACES = 256
_MAX_VECTOR_BYTES = 1_000_000
# A lexeme has at most 2,046 bytes, a character at most four.
_MAX_WORD_CHARACTERS = 511
# A position has two bytes, of which the first two bits are its letter.
_LETTER_BITS = {"": 0, "A": 3, "B": 2, "C": 1}
_LAST_PLACES = frozenset(
    (bits << 14 | MAX_POSITION).to_bytes(2, "big") for bits in _LETTER_BITS.values()
)
# What ends a lexeme and tells how many positions follow.
_COUNTS = [b"\0" + count.to_bytes(2, "big") for count in range(_MAX_PLACES + 1)]


class WordVector(NamedTuple):
    """A tsvector in PostgreSQL's binary format, its number of words, and where its columns end.

    `bounds` has the last position of each column but the last.
    """

    data: bytes
    length: int
    bounds: list[int]


def make_vector(columns: Sequence[Sequence[str]], letters: str = "") -> WordVector:
    """Return the vector of the words of each column; `letters` has the letter of the first ones.

    Between two columns a position is left out, so that no phrase reaches from one to the next.
    """
    places: dict[str, bytes] = {}
    bounds: list[int] = []
    position = length = 0
    for number, words in enumerate(columns):
        table = _places(letters[number : number + 1])
        for word, place in zip(words, table[position : position + len(words)], strict=False):
            places[word] = places.get(word, b"") + place
        for word in words[max(0, MAX_POSITION - position) :]:
            found = places.get(word, b"")
            if found[-2:] not in _LAST_PLACES:
                places[word] = found + table[-1]
        length += len(words)
        position += len(words) + 1
        bounds.append(min(position, MAX_POSITION))
    size, parts = 0, [b""]
    for word, found in places.items():
        if len(word) > _MAX_WORD_CHARACTERS:
            return make_vector([[cut_word(each) for each in words] for words in columns], letters)
        lexeme, found = word.encode(), found[: 2 * _MAX_PLACES]
        size += len(lexeme) + len(found) + 4
        if size > _MAX_VECTOR_BYTES:
            break
        parts += (lexeme, _COUNTS[len(found) // 2], found)
    parts[0] = (len(parts) // 3).to_bytes(4, "big")
    return WordVector(b"".join(parts), length, bounds[:-1])


@cache
def _places(letter: str) -> list[bytes]:
    """Return all positions with this letter, the first one first."""
    bits = _LETTER_BITS[letter] << 14
    return [(bits | position).to_bytes(2, "big") for position in range(1, MAX_POSITION + 1)]


def cut_word(word: str) -> str:
    """Return the word, or its start if it is longer than a lexeme can be."""
    return word[:_MAX_WORD_CHARACTERS]


def quote_lexeme(word: str) -> str:
    """Return a word for the text form of a tsquery; no character in it is syntax."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"
