"""Find the word in the brain that is most similar to a misspelled one."""

from __future__ import annotations

import json
import re
import sqlite3
from heapq import nlargest
from itertools import pairwise
from typing import NamedTuple

from gbrain.text.similarity import dice, edit_distance, jaccard, trigrams
from gbrain.text.slug import fold_name

_SHORTEST, _LONGEST = 4, 60
_START = 4
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LAST = "\U0010ffff"

# The index holds stems, and a word's end may make all the difference: so many of them are looked
# at as some page writes them.
_LOOKED_AT = 16
_PLACES = 3
# Shorter stems are one slip away from too many others.
_TELLING_STEM = 5


class SimilarWord(NamedTuple):
    """A word of some page, lower case, and its likeness to the one looked for, from 0 to 1.

    `slip` is 1 where one slip of the pen is all the difference, a half where it is so of their
    stems, else 0. The likeness is that of the words or of their stems, whichever is greater, and
    at least half of `slip`.
    """

    word: str
    likeness: float
    slip: float
    pages: int


def find_similar_word(
    connection: sqlite3.Connection, word: str, least: float
) -> SimilarWord | None:
    """The brain's word that is one slip away from `word`, else most like it; at least `least`.

    Looked at are words whose first four letters are the same or one slip away: to read all would
    take a second in a large brain. Of several one slip away the one on most pages is taken.
    """
    meant = fold_name(word)
    if not (_SHORTEST <= len(meant) <= _LONGEST and meant.isalpha()):
        return None
    stem = _stem(connection, meant)
    near = _most_alike(connection, meant, stem, starts_one_edit_away(meant))
    return near if near and near.likeness >= least else None


def starts_one_edit_away(word: str) -> list[str]:
    """The first letters of words that `word` may be a slip from, its own among them."""
    letters = _LETTERS if word.isascii() else sorted(set(word))
    starts = {word[:_START]}
    for at in range(_START):
        before, after = word[:at], word[at:]
        starts.add((before + after[1:])[:_START])
        starts.add((before + after[1:2] + after[:1] + after[2:])[:_START])
        for letter in letters:
            starts.add((before + letter + after)[:_START])
            starts.add((before + letter + after[1:])[:_START])
    return sorted(starts)


def _stem(connection: sqlite3.Connection, word: str) -> str:
    """The word as the index would hold it."""
    # Temporary tables: gone when the read or the connection ends, and the brain is not written.
    connection.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.misspelt "
        "USING fts5(word, tokenize = 'porter unicode61')"
    )
    connection.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.misspelt_terms USING fts5vocab(misspelt, row)"
    )
    connection.execute("DELETE FROM temp.misspelt")
    connection.execute("INSERT INTO temp.misspelt VALUES (?)", (word,))
    row = connection.execute("SELECT term FROM temp.misspelt_terms").fetchone()
    return row[0] if row else word


def _most_alike(
    connection: sqlite3.Connection, word: str, stem: str, starts: list[str]
) -> SimilarWord | None:
    """The best of the words that begin so, by how they are written or by their stems."""
    for form in ("row", "instance"):
        connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary_{form} "
            f"USING fts5vocab(main, pages_fts, {form})"
        )
    terms = connection.execute(
        "SELECT term, doc FROM json_each(?) AS start CROSS JOIN temp.vocabulary_row "
        "ON term >= start.value AND term < start.value || ?",
        (json.dumps(starts), _LAST),
    ).fetchall()
    pieces, forms = trigrams(word), (_pairs(word), _pairs(stem))
    likely = nlargest(
        _LOOKED_AT,
        ((max(dice(form, _pairs(term)) for form in forms), pages, term) for term, pages in terms),
    )
    near = [
        _compared(word, stem, _spelling(connection, term, pieces), term, pages)
        for _, pages, term in likely
    ]
    # Equals stay in the order they had: by their letters.
    return max(near, key=_nearness, default=None)


def _compared(word: str, stem: str, spelled: str, term: str, pages: int) -> SimilarWord:
    written = jaccard(trigrams(word), trigrams(spelled))
    stems = jaccard(trigrams(stem), trigrams(term))
    slip = 0.0
    if edit_distance(word, spelled, 1):
        slip = 1.0
    elif len(stem) >= _TELLING_STEM and edit_distance(stem, term, 1):
        slip = 0.5
    # A letter in the middle of a short word is in half of its pieces: that says too little.
    return SimilarWord(spelled, max(written, stems, slip / 2), slip, pages)


def _nearness(near: SimilarWord) -> tuple[float, int, float]:
    return near.slip, near.pages if near.slip else 0, near.likeness


def _pairs(word: str) -> frozenset[str]:
    """Two letters each, with a mark where the word begins but none where it ends."""
    return frozenset(map("".join, pairwise("$" + word)))


def _spelling(connection: sqlite3.Connection, term: str, pieces: frozenset[str]) -> str:
    """A word behind a stem as pages write it: on the first few such pages, the one most alike."""
    places = connection.execute(
        "SELECT DISTINCT doc, col FROM temp.vocabulary_instance WHERE term = ? LIMIT ?",
        (term, _PLACES),
    ).fetchall()
    words: set[str] = set()
    # A stem may end in another letter than the word does there: happi, happy.
    start = re.escape(term[: max(3, len(term) - 1)])
    for page_id, column in places:
        row = connection.execute(f'SELECT "{column}" FROM pages WHERE id = ?', (page_id,))
        for (text,) in row.fetchall():
            words.update(map(fold_name, re.findall(rf"(?i)\b{start}[^\W_]*", text)))
    return max(words or {term}, key=lambda word: (jaccard(pieces, trigrams(word)), word))
