"""How much two texts share word for word, and which pages it makes sense to compare so."""

from __future__ import annotations

import re

# Fewer say too little to be a copy of anything.
FEWEST_WORDS = 12
# What is beyond this changes nothing about two texts being near to each other.
_LONGEST = 200_000

_WORD = re.compile(r"\w+")
_DAY = re.compile(r"(?<!\d)\d{4}-\d{2}(?:-\d{2})?(?!\d)")

Runs = frozenset[tuple[str, ...]]


def word_runs(text: str) -> Runs:
    """Every run of three words of a text, case aside; none for a text of too few words."""
    words = _WORD.findall(text[:_LONGEST].casefold())
    if len(words) < FEWEST_WORDS:
        return frozenset()
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def shared_wording(one: Runs, other: Runs) -> float:
    """The share of the longer text's word runs that the shorter has too, from 0 to 1."""
    longer = max(len(one), len(other))
    return len(one & other) / longer if longer else 0.0


def of_different_days(slug: str, other: str) -> bool:
    """Whether two pages are named by different days: notes of one form, never copies."""
    days = [_DAY.findall(name.rpartition("/")[2]) for name in (slug, other)]
    return bool(days[0] and days[1]) and days[0] != days[1]


def telling_phrases(text: str, count: int) -> list[str]:
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
