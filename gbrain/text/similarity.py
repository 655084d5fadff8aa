"""How alike two words look: by the pieces they have in common, or by slips of the pen."""

from __future__ import annotations

import re

# Two slips need a word so long, and so does one in the first letter, which few get wrong.
_TWO_SLIPS = 11
_FIRST_LETTER = 8


def trigrams(word: str) -> frozenset[str]:
    """The pieces of `$word$`, three characters each."""
    marked = f"${word}$"
    return frozenset(marked[at : at + 3] for at in range(len(marked) - 2))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """What both hold as a share of what either holds; 0 for two that hold nothing."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


def dice(one: frozenset[str], other: frozenset[str]) -> float:
    """Twice what both hold as a share of what each holds; kinder than `jaccard` to a part."""
    both = len(one) + len(other)
    return 2 * len(one & other) / both if both else 0.0


def edit_distance(a: str, b: str, most: int) -> int | None:
    """Letters to insert, drop, replace or swap with a neighbour; None beyond `most`."""
    if abs(len(a) - len(b)) > most:
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
        if min(row) > most:
            return None
        before_last, last = last, row
    return last[-1] if last[-1] <= most else None


def is_likely_typo(word: str, meant: str) -> bool:
    """Whether `word`, folded as `meant` is, is that word with a slip of the pen and no other."""
    slips = edit_distance(word, meant, 2)
    if slips is None or (slips > 1 and len(word) < _TWO_SLIPS):
        return False
    return meant[0] == word[0] or len(word) >= _FIRST_LETTER


# Fewer say too little to be a copy of anything.
MIN_WORDS = 12
# What is beyond this changes nothing about two texts being near to each other.
_LONGEST = 200_000

_WORD = re.compile(r"\w+")
_DAY = re.compile(r"(?<!\d)\d{4}-\d{2}(?:-\d{2})?(?!\d)")

Shingles = frozenset[tuple[str, ...]]


def word_shingles(text: str) -> Shingles:
    """Every run of three words of a text, case aside; none for a text of too few words."""
    words = _WORD.findall(text[:_LONGEST].casefold())
    if len(words) < MIN_WORDS:
        return frozenset()
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def shingle_overlap(one: Shingles, other: Shingles) -> float:
    """The share of the longer text's word runs that the shorter has too, from 0 to 1."""
    longer = max(len(one), len(other))
    return len(one & other) / longer if longer else 0.0


def have_different_dates(slug: str, other: str) -> bool:
    """Whether two pages are named by different days: notes of one form, never copies."""
    days = [_DAY.findall(name.rpartition("/")[2]) for name in (slug, other)]
    return bool(days[0] and days[1]) and days[0] != days[1]


def distinctive_phrases(text: str, count: int) -> list[str]:
    """Up to `count` phrases of three words, spread over the text, of its longest words.

    Short words are common ones: a phrase of them would be found everywhere and take long.
    """
    words = _WORD.findall(text[:_LONGEST])
    runs = list(zip(words, words[1:], words[2:], strict=False))
    size = max(len(runs) // count, 1)
    phrases = []
    for start in range(0, min(len(runs), size * count), size):
        best = max(runs[start : start + size], key=lambda run: (min(map(len, run)), run))
        phrases.append(" ".join(best))
    return phrases
