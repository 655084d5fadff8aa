"""How far to believe a cross-encoder, which was trained on short questions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping

# Logits between which nearly all pairs lie. As probabilities, good passages would be all alike.
LOWEST, HIGHEST = -11.5, 9.5
# Claims, notes and instructions are not what it was trained on.
TRUST_IN_STATEMENTS = 0.1
# Words up to which a question is a short one.
SHORT = 12

_OPENING = frozenset(
    """who whom whose who's what what's when where where's why which how is are was were am do does
    did has have had can could will would should shall may might must""".split()
)
_MARKS = ("?", "？", "؟")


def relevance(logit: float) -> float:
    """A logit on a scale from 0 to 1, in proportion."""
    return min(max((logit - LOWEST) / (HIGHEST - LOWEST), 0.0), 1.0)


def trust(text: str) -> float:
    """The share of its weight that an opinion on this query deserves, above 0 up to 1."""
    words = text.split()
    kind = 1.0 if _is_question(words) else TRUST_IN_STATEMENTS
    return kind * min(1.0, SHORT / max(len(words), 1)) ** 2


def together(logits: Collection[float]) -> float:
    """One logit for a page from its passages': the best, and a little more for others as good."""
    best = max(logits)
    return best + math.log(sum(math.exp(max(logit - best, -50)) for logit in logits))


def telling_titles(titles: Mapping[int, str]) -> dict[int, str]:
    """The titles, empty for pages of a series that half of them or more belong to.

    "Weekly call 12" before each passage tells those pages apart by nothing but noise.
    """
    series = {page: re.sub(r"\d+", "", title.casefold()) for page, title in titles.items()}
    counted = Counter(series.values())
    return {
        page: "" if counted[series[page]] >= max(2, len(titles) / 2) else title
        for page, title in titles.items()
    }


def _is_question(words: list[str]) -> bool:
    return bool(words) and (
        words[-1].rstrip("\"'”’»)").endswith(_MARKS)
        or words[0].strip("\"'“‘«(¿,").casefold() in _OPENING
    )
