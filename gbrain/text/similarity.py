"""Measure how similar two words or texts are: trigrams, edit distance, word shingles."""

from __future__ import annotations

import re

# Minimum letters of a word that may have two typos, or one in the first letter, which is rare.
_MIN_LETTERS_FOR_TWO_TYPOS = 11
_MIN_LETTERS_FOR_FIRST_TYPO = 8
# Endings of verbs and nouns in languages that inflect them; never none, which is a typo as often.
_ENDINGS = frozenset("a as e em en er es i n o os s st t te ten".split())
_MIN_LETTERS_OF_STEM = 4


def trigrams(word: str) -> frozenset[str]:
    """Return all groups of three adjacent characters in `$word$`."""
    marked = f"${word}$"
    return frozenset(marked[at : at + 3] for at in range(len(marked) - 2))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the size of the intersection divided by that of the union; 0 for empty sets."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


def dice(one: frozenset[str], other: frozenset[str]) -> float:
    """Return twice the intersection divided by the sum of the sizes; 0 for empty sets.

    Higher than `jaccard` if one set is a part of the other.
    """
    both = len(one) + len(other)
    return 2 * len(one & other) / both if both else 0.0


def edit_distance(a: str, b: str, limit: int) -> int | None:
    """Return how many letters to insert, delete, replace or swap; None if more than `limit`."""
    if abs(len(a) - len(b)) > limit:
        return None
    before_last: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, row[-1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before_last[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return None
        before_last, last = last, row
    return last[-1] if last[-1] <= limit else None


def is_likely_typo(word: str, meant: str) -> bool:
    """Tell whether `word` is `meant` with a typo or two; both must be folded by `fold_name`."""
    typos = edit_distance(word, meant, 2)
    if typos is None or (typos > 1 and len(word) < _MIN_LETTERS_FOR_TWO_TYPOS):
        return False
    return meant[0] == word[0] or len(word) >= _MIN_LETTERS_FOR_FIRST_TYPO


def common_start(word: str, other: str) -> int:
    """Return how many characters two words have in common at their start."""
    pairs = enumerate(zip(word, other, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(word), len(other)))


def is_other_form(word: str, other: str) -> bool:
    """Tell whether two folded words differ in an ending only, as "bringt" and "bringe" do."""
    start = common_start(word, other)
    return start >= _MIN_LETTERS_OF_STEM and {word[start:], other[start:]} <= _ENDINGS


# A text of fewer words, such as a title alone, is too short to be called a duplicate.
MIN_WORDS = 3
# The rest of a longer text hardly changes its similarity to others.
_MAX_TEXT_CHARACTERS = 200_000

_WORD = re.compile(r"\w+")
_DAY = re.compile(r"(?<!\d)\d{4}-\d{2}(?:-\d{2})?(?!\d)")

Shingles = frozenset[tuple[str, ...]]


def word_shingles(text: str) -> Shingles:
    """Return all groups of three adjacent words, case-folded; none for a text of few words."""
    words = _WORD.findall(text[:_MAX_TEXT_CHARACTERS].casefold())
    if len(words) < MIN_WORDS:
        return frozenset()
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def shingle_overlap(one: Shingles, other: Shingles) -> float:
    """Return the share of the longer text's shingles that the shorter has too, from 0 to 1."""
    longer = max(len(one), len(other))
    return len(one & other) / longer if longer else 0.0


def have_different_dates(slug: str, other: str) -> bool:
    """Tell whether two slugs contain different dates, as daily notes do; they are no duplicates."""
    days = [_DAY.findall(name.rpartition("/")[2]) for name in (slug, other)]
    return bool(days[0] and days[1]) and days[0] != days[1]


def distinctive_phrases(text: str, count: int) -> list[str]:
    """Return up to `count` phrases of three long words, spread over the text.

    Short words are common: a phrase of them is in many pages and slow to search for.
    """
    words = _WORD.findall(text[:_MAX_TEXT_CHARACTERS])
    runs = list(zip(words, words[1:], words[2:], strict=False))
    size = max(len(runs) // count, 1)
    phrases = []
    for start in range(0, min(len(runs), size * count), size):
        best = max(runs[start : start + size], key=lambda run: (min(map(len, run)), run))
        phrases.append(" ".join(best))
    return phrases
