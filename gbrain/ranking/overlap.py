"""A second opinion without a second model: rare words of the question, and its nearest sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

# Fewer letters are a heading, a bullet or an "I see."
_LEAST_LETTERS = 16
# Each costs a run of the embedding model.
_MOST_SENTENCES = 4
# Cosines of this model between a question and any sentence at all, and one that says the same.
_UNRELATED, _SAME = 0.5, 0.9

_WORD = re.compile(r"\w+")
_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")


def sentences(text: str, question: str) -> list[str]:
    """The few sentences of a passage that share most words with the question, the first of equals.

    The whole passage if it has no sentences to speak of.
    """
    asked = _words(question)
    parts = [part.strip() for part in _END.split(text)]
    telling = [part for part in parts if len(part) >= _LEAST_LETTERS]
    shared = sorted(telling, key=lambda part: -len(asked & _words(part)))
    return shared[:_MOST_SENTENCES] or [text]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def rarity(holding: int, all_passages: int) -> float:
    """What a term is worth that stands in `holding` of all passages (BM25's IDF, above 0)."""
    return math.log(1 + (max(all_passages - holding, 0) + 0.5) / (holding + 0.5))


def covered(rarities: Sequence[float], held: Sequence[bool]) -> float:
    """The share of the question's terms, by rarity, that a passage holds; 0 without terms."""
    total = sum(rarities)
    return sum(worth for worth, holds in zip(rarities, held, strict=True) if holds) / (total or 1)


def nearness(cosine: float) -> float:
    """A cosine as a number from 0 (any sentence) to 1 (one that says the same)."""
    return min(max((cosine - _UNRELATED) / (_SAME - _UNRELATED), 0.0), 1.0)
