"""Boosts by how a passage is worded: in the first person, as a short fact, at length."""

from __future__ import annotations

from collections.abc import Callable

from gbrain.config import Settings
from gbrain.ranking.intent import Intent
from gbrain.types import Facts

# Words of a passage: a fact fits in a line or two, and few passages are longer than the second.
_SHORT, _LONG = 30, 70

_FIRST_PERSON = frozenset("i i'm i've i'd i'll my me mine myself we we're we've our us".split())
_LIKING = frozenset(
    """prefer prefers preferred preference favourite favourites favorite favorites like likes liked
    love loves loved enjoy enjoys enjoyed hate hates hated dislike dislikes rather best""".split()
)
_REFERENCE_WINGS = ("resources", "concepts")
_ROLL_UPS = frozenset(
    """summary summaries overview digest recap roundup rollup weekly monthly yearly quarterly index
    review""".split()
)


def wording_rules(intent: Intent, settings: Settings) -> dict[str, Callable[[str, Facts], float]]:
    """The factors that are on and that the intent asks for, by name; slugs do not matter."""
    rules: dict[str, Callable[[str, Facts], float]] = {}
    if settings.preference_boost and intent.preference:
        rules["preference"] = lambda _, facts: _preference(facts, settings)
    if settings.concrete_boost and intent.concrete:
        rules["concrete"] = lambda _, facts: settings.concrete_fact_factor if _fact(facts) else 1.0
        rules["roll_up"] = lambda _, facts: settings.roll_up_factor if _rolled_up(facts) else 1.0
        rules["long_prose"] = lambda _, facts: settings.long_prose_factor if _long(facts) else 1.0
    return rules


def _words(text: str) -> list[str]:
    return [word.strip(".,;:!?\"'()[]*_").lower() for word in text.replace("’", "'").split()]


def _preference(facts: Facts, settings: Settings) -> float:
    words = set(_words(facts.passage_text))
    personal, stated = not words.isdisjoint(_FIRST_PERSON), not words.isdisjoint(_LIKING)
    factor: float = settings.preference_generic_factor
    if personal:
        factor = settings.preference_personal_factor
        factor = settings.preference_stated_factor if stated else factor
    elif facts.wing in _REFERENCE_WINGS:
        factor = settings.preference_reference_factor
    return factor


def _fact(facts: Facts) -> bool:
    text = facts.passage_text
    telling = facts.passage_kind == "timeline" or any(map(str.isdigit, text))
    return telling and len(text.split()) <= _SHORT


def _rolled_up(facts: Facts) -> bool:
    return facts.room == "index" or not _ROLL_UPS.isdisjoint(_words(facts.title))


def _long(facts: Facts) -> bool:
    lines = facts.passage_text.splitlines()
    listed = sum(line.lstrip().startswith(("- ", "* ", "|", "+ ")) for line in lines)
    return len(facts.passage_text.split()) >= _LONG and 2 * listed < len(lines)
