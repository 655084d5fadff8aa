"""How far to believe a cross-encoder: it was trained on short questions, and is too sure."""

from __future__ import annotations

import math

# Logits are divided by this before they become probabilities: as they come they are too sure.
SOFTENED = 3.0
# Claims, notes and instructions are not what it was trained on.
TRUST_IN_STATEMENTS = 0.5
# Words up to which a question is a short one; of a longer one it sees a topic in everything.
SHORT = 14

_OPENING = frozenset(
    """who whom whose who's what what's when where where's why which how is are was were am do does
    did has have had can could will would should shall may might must""".split()
)
_MARKS = ("?", "？", "؟")


def probability(logit: float) -> float:
    """A logit on a scale from 0 to 1, softened; 0 is even odds."""
    size = math.exp(-abs(logit) / SOFTENED)
    return 1 / (1 + size) if logit >= 0 else size / (1 + size)


def trust(text: str) -> float:
    """The share of its weight that an opinion on this query deserves, above 0 up to 1."""
    words = text.split()
    kind = 1.0 if _is_question(words) else TRUST_IN_STATEMENTS
    return kind * min(1.0, SHORT / max(len(words), 1)) ** 2


def _is_question(words: list[str]) -> bool:
    return bool(words) and (
        words[-1].rstrip("\"'”’»)").endswith(_MARKS)
        or words[0].strip("\"'“‘«(¿,").casefold() in _OPENING
    )
