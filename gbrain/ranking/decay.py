"""Fading with age: exp(-age / tau), which is a half after tau x ln 2 days."""

from __future__ import annotations

import math
from datetime import date

from gbrain.config import Settings
from gbrain.types import Facts


def tau_days(settings: Settings) -> float:
    """Days until a page has faded to 1/e, from either setting; 0 when nothing fades."""
    tau: float = settings.recency_tau_days
    return tau or settings.recency_half_life_days / math.log(2)


def fading(facts: Facts, today: date, settings: Settings) -> float:
    """The factor of a page by the age of its passage, else its own; days to come have no age.

    A page without a date keeps its score, or fades since its last change if all pages are to.
    """
    day = facts.passage_last_day or facts.last_day
    if day is None and settings.recency_of == "all":
        day = facts.written
    tau = tau_days(settings)
    if not day or not tau:
        return 1.0
    return max(settings.recency_floor, math.exp(-age_days(day, today) / tau))


def age_days(day: str, today: date) -> int:
    """Whole days since an ISO day, 0 for one to come or one that cannot be read."""
    try:
        return max((today - date.fromisoformat(day)).days, 0)
    except ValueError:
        return 0
