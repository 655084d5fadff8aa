"""Find the word in the brain that is most similar to a misspelled one."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from heapq import nlargest
from itertools import pairwise
from typing import NamedTuple

from gbrain.store.schema import KEYWORD_TOKENIZER
from gbrain.store.scope import any_page
from gbrain.store.whole_brain import asks_whole_brain
from gbrain.text.similarity import dice, edit_distance, jaccard, trigrams
from gbrain.text.slug import fold_name
from gbrain.types import Clause, Scope

_MIN_CHARACTERS, _MAX_CHARACTERS = 3, 60
_START_LETTERS = 4
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
# A word that is much longer or shorter is another word: nothingatallzz is not nothing.
_MIN_LENGTH_SHARE = 2 / 3
_LAST_CHARACTER = "\U0010ffff"

# The index has stems only, but the end of a word can matter: for this many stems, the words are
# read as pages write them, each in a few places.
_MAX_STEMS = 16
_MAX_PLACES = 3
# Shorter words and stems are one edit away from too many others: todo, too.
_MIN_STEM_LETTERS = 5


class SimilarWord(NamedTuple):
    """A word from a page, in lower case, and its similarity to the misspelled word, from 0 to 1.

    `slip` is 1 if the words are one edit apart, 0.5 if their stems are, else 0. `likeness` is the
    similarity of the words or of their stems, the greater of the two, and at least half of `slip`.
    `pages` is the number of pages with the word's stem.
    """

    word: str
    likeness: float
    slip: float
    pages: int


def find_similar_word(
    connection: sqlite3.Connection, word: str, least: float
) -> SimilarWord | None:
    """Return the word one edit away from `word`, else the most similar; None below `least`.

    Only words whose first four characters are the same or one edit away are compared: reading all
    would take a second in a large brain. Of several words one edit away, the one on most pages is
    returned. A word that some page's front matter contains is not misspelt.
    """
    meant = fold_name(word)
    if not (_MIN_CHARACTERS <= len(meant) <= _MAX_CHARACTERS and meant.isalnum()):
        return None
    stem = _stem(connection, meant)
    similar = _most_similar(connection, meant, stem, starts_one_edit_away(meant))
    if similar is None or similar.likeness < least or in_front_matter(connection, word):
        return None
    return similar


def in_front_matter(connection: sqlite3.Connection, word: str) -> bool:
    """Tell whether a page has the word in its front matter, which is not in the keyword index."""
    return any_page(connection, Scope(tree=Clause("field", name="front_matter", value=word)))


def starts_one_edit_away(word: str) -> list[str]:
    """Return the first letters that words one edit away from `word` can have, sorted."""
    letters = _LETTERS if word.isascii() else "".join(sorted(set(word)))
    if not word.isalpha():
        letters += _DIGITS
    starts = {word[:_START_LETTERS]}
    for at in range(_START_LETTERS):
        before, after = word[:at], word[at:]
        starts.add((before + after[1:])[:_START_LETTERS])
        starts.add((before + after[1:2] + after[:1] + after[2:])[:_START_LETTERS])
        for letter in letters:
            starts.add((before + letter + after)[:_START_LETTERS])
            starts.add((before + letter + after[1:])[:_START_LETTERS])
    return sorted(starts)


def _stem(connection: sqlite3.Connection, word: str) -> str:
    """Return the stem of a word as the keyword index stores it."""
    # Temporary tables: the brain file is not written.
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.misspelt USING fts5(word, {KEYWORD_TOKENIZER})"
    )
    connection.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.misspelt_terms USING fts5vocab(misspelt, row)"
    )
    connection.execute("DELETE FROM temp.misspelt")
    connection.execute("INSERT INTO temp.misspelt VALUES (?)", (word,))
    row = connection.execute("SELECT term FROM temp.misspelt_terms").fetchone()
    return row[0] if row else word


def _most_similar(
    connection: sqlite3.Connection, word: str, stem: str, starts: list[str]
) -> SimilarWord | None:
    """Return the most similar word that starts with one of `starts`, by spelling or by stem."""
    known = stems_from(connection, starts).values()
    word_trigrams, forms = trigrams(word), (_letter_pairs(word), _letter_pairs(stem))
    likely = nlargest(
        _MAX_STEMS,
        (
            (max(dice(form, _letter_pairs(term)) for form in forms), pages, term)
            for terms in known
            for term, pages in terms
        ),
    )
    texts = texts_with_stems(connection, [term for _, _, term in likely], _MAX_PLACES)
    similar = [
        _compare(word, stem, _spelling(term, texts[term], word_trigrams), term, pages)
        for _, pages, term in likely
    ]
    alike = [one for one in similar if _similar_length(one.word, word)]
    return max(alike, key=_similarity, default=None)


@asks_whole_brain
def stems_from(
    connection: sqlite3.Connection, starts: Sequence[str]
) -> dict[str, list[tuple[str, int]]]:
    """Return for each start the stems with it, and how many pages have each."""
    _open_vocabulary(connection, "row")
    stems = "SELECT term, doc FROM temp.vocabulary_row WHERE term >= ? AND term < ?"
    return {
        start: connection.execute(stems, (start, start + _LAST_CHARACTER)).fetchall()
        for start in starts
    }


@asks_whole_brain
def texts_with_stems(
    connection: sqlite3.Connection, terms: Sequence[str], most: int
) -> dict[str, list[str]]:
    """Return for each stem the texts of up to `most` columns of pages that have it."""
    _open_vocabulary(connection, "instance")
    places = "SELECT DISTINCT doc, col FROM temp.vocabulary_instance WHERE term = ? LIMIT ?"
    return {
        term: [
            text
            for page_id, column in connection.execute(places, (term, most)).fetchall()
            for (text,) in connection.execute(
                f'SELECT "{column}" FROM pages WHERE id = ?', (page_id,)
            ).fetchall()
        ]
        for term in terms
    }


def _open_vocabulary(connection: sqlite3.Connection, form: str) -> None:
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary_{form} "
        f"USING fts5vocab(main, pages_fts, {form})"
    )


def _similar_length(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= _MIN_LENGTH_SHARE * max(len(one), len(other))


def _compare(word: str, stem: str, spelled: str, term: str, pages: int) -> SimilarWord:
    written = jaccard(trigrams(word), trigrams(spelled))
    stems = jaccard(trigrams(stem), trigrams(term))
    slip = 0.0
    if len(word) >= _MIN_STEM_LETTERS and edit_distance(word, spelled, 1):
        slip = 1.0
    elif len(stem) >= _MIN_STEM_LETTERS and edit_distance(stem, term, 1):
        slip = 0.5
    # One letter in the middle of a short word changes half of its trigrams.
    return SimilarWord(spelled, max(written, stems, slip / 2), slip, pages)


def _similarity(word: SimilarWord) -> tuple[float, int, float]:
    return word.slip, word.pages if word.slip else 0, word.likeness


def _letter_pairs(word: str) -> frozenset[str]:
    """Return the pairs of letters of a word, with a mark at its start but none at its end."""
    return frozenset(map("".join, pairwise("$" + word)))


def _spelling(term: str, texts: Sequence[str], word_trigrams: frozenset[str]) -> str:
    """Return the most similar word with this stem, as these texts write it."""
    words: set[str] = set()
    # The last letter of a stem can differ from that of the word: happi, happy.
    start = re.escape(term[: max(3, len(term) - 1)])
    for text in texts:
        words.update(map(fold_name, re.findall(rf"(?i)\b{start}[^\W_]*", text)))
    return max(words or {term}, key=lambda word: (jaccard(word_trigrams, trigrams(word)), word))
