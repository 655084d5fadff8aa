"""Sums and products as a person writes them, with as many digits as make both sides agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from gbrain.config import Settings
from gbrain.search.explain.score_breakdown import LaneShare, RerankMixing, position_on_scale
from gbrain.types import MergeStrategy

_DIGITS, _MOST_DIGITS = 4, 12

# A stretch of a line, and what its numbers come to as they are written there.
Written = tuple[str, float]


def number(value: float, digits: int = _DIGITS) -> str:
    """A score: so many decimals, or as many telling digits of a small one."""
    if value and abs(value) < 0.1:
        return f"{value:.{digits}g}"
    return f"{value:.{digits}f}"


def agreeing(total: float, write: Callable[[int], Written]) -> str:
    """What `write` makes of the fewest digits that come to `total` as it is written, and that."""
    for digits in range(_DIGITS, _MOST_DIGITS):
        line, value = write(digits)
        if number(value) == number(total):
            break
    return f"{line} = {number(total)}"


def fused(
    parts: Sequence[LaneShare], score: float, merge: MergeStrategy, settings: Settings
) -> str:
    """The parts of a fused page, the greatest first, and its score."""

    def write(digits: int) -> Written:
        texts, values = zip(*(_part(part, merge, settings, digits) for part in parts), strict=True)
        rest = sum(values[1:])
        if merge == "set-union":
            others = [f"{settings.both_bonus:g} × {text}" for text in texts[1:]]
            return " + ".join([texts[0], *others]), values[0] + settings.both_bonus * rest
        if merge == "set-union-rank":
            bonus = settings.rank_bonus if len(parts) > 1 else 0.0
            return texts[0] + (f" + {bonus:g}" if len(parts) > 1 else ""), values[0] + bonus
        return " + ".join(texts), values[0] + rest

    return agreeing(score, write)


def _part(part: LaneShare, merge: MergeStrategy, settings: Settings, digits: int) -> Written:
    weight, by_weight = _rounded(part.weight, "g", 6)
    if merge == "rrf":
        below = settings.rrf_k + part.rank
        return f"{part.lane} {weight}/({settings.rrf_k}+{part.rank})", by_weight / below
    if merge == "set-union-rank":
        return f"{part.lane} {weight}/{part.rank}", by_weight / part.rank
    text, value = _rounded(part.own, "f", digits)
    if part.shared and part.bonus:
        worth, shared = _rounded(part.shared.worth, "f", digits)
        text, value = f"({text} + {part.bonus:g} × {worth})", value + part.bonus * shared
    times = f"{weight} × " if part.weight != 1 else ""
    return f"{part.lane} {times}{text}", by_weight * value


def boosted(before: float, factors: Mapping[str, float], after: float) -> str:
    """A score, its factors by name and what they make of it."""

    def write(digits: int) -> Written:
        start = number(before, digits)
        shown = [(name, *_rounded(factor, "g", digits)) for name, factor in factors.items()]
        line = " × ".join([start, *(f"{name} {text}" for name, text, _ in shown)])
        return line, float(start) * math.prod(value for *_, value in shown)

    return agreeing(after, write)


def mixed(before: float, opinion: float, mixing: RerankMixing) -> str:
    """A score before reranking and the opinion, both from 0 to 1, and the mixture."""
    own = position_on_scale(before, mixing.scale)
    share, by_share = _rounded(1 - mixing.weight, "g", 4)
    weight, by_weight = _rounded(mixing.weight, "g", 4)

    def write(digits: int) -> Written:
        (first, one), (second, other) = _rounded(own, "f", digits), _rounded(opinion, "f", digits)
        return f"{share} × {first} + {weight} × {second}", by_share * one + by_weight * other

    return agreeing(by_share * own + by_weight * opinion, write)


def _rounded(value: float, kind: str, digits: int) -> Written:
    text = f"{value:.{digits}{kind}}"
    return text, float(text)
