"""The boost factors: one function per boost, from what is known of a page to a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from gbrain.config import Settings
from gbrain.text.slug import fold_name
from gbrain.text.stop_words import STOP_WORDS
from gbrain.types import BoostData, Query

if TYPE_CHECKING:
    from gbrain.search.intent import Intent
    from gbrain.text.periods import Period

Field = Literal["wing", "tag", "slug"]

# Takes a slug and what is known of the page, returns the factor for its score.
Rule = Callable[[str, BoostData], float]

# Words of a chunk: a fact fits in a line or two, and few chunks have more than 70 words.
_MAX_FACT_WORDS, _MIN_PROSE_WORDS = 30, 70

_FIRST_PERSON = frozenset("i i'm i've i'd i'll my me mine myself we we're we've our us".split())
_LIKING = frozenset(
    """prefer prefers preferred preference favourite favourites favorite favorites like likes liked
    love loves loved enjoy enjoys enjoyed hate hates hated dislike dislikes rather best""".split()
)
# "In April" means the latest April more than the one before.
_LEVEL_SHARE = 0.95
_MAX_VAGUE_DAYS = 30

_REFERENCE_WINGS = ("resources", "concepts")
_EPISODE_WINGS = ("journal", "meetings")
_LASTING_WINGS = ("people", "companies", "projects", "places", "areas", *_REFERENCE_WINGS)
_ROLL_UPS = frozenset(
    """summary summaries overview digest recap roundup rollup weekly monthly yearly quarterly index
    review""".split()
)


class CustomBoost(NamedTuple):
    """A factor of one query for pages of a wing, with a tag, or whose slug starts with `value`."""

    field: Field
    value: str
    factor: float


class BoostInputs(NamedTuple):
    """What decides which boosts apply: the query, its intent, and its own boosts in `custom`.

    `periods` are those that the query asks about, in levels, the likeliest first; pages of
    `literal_slugs` contain the words of the query that name them.
    """

    query: Query
    intent: Intent | None
    periods: Sequence[Sequence[Period]]
    today: date
    settings: Settings
    custom: Sequence[CustomBoost] = ()
    literal_slugs: Collection[str] = ()


def active_rules(inputs: BoostInputs, pages: Collection[BoostData]) -> dict[str, Rule]:
    """Return the boosts that are on and apply to this query, by name; `pages` are all pages."""
    query, intent, periods, today, settings, custom, literal_slugs = inputs
    rules: dict[str, Rule] = {}
    if settings.wing_boost != 1 and intent and intent.shape:
        from gbrain.search.intent import INTENT_PATTERNS

        rules["wing"] = _wing_rule(INTENT_PATTERNS[intent.shape].wings, settings)
    if settings.date_boost and periods:
        rules["date"] = _date_rule(periods, literal_slugs, settings)
    if settings.exact_boost != 1:
        rules["exact"] = _exact_rule(query, settings)
    if intent and settings.preference_boost and intent.preference:
        rules["preference"] = lambda _, facts: _preference_factor(facts, settings)
    if intent and settings.concrete_boost and intent.concrete:
        rules |= _concrete_rules(settings)
    if settings.importance_boost:
        rules["importance"] = lambda _, facts: importance_factor(facts.importance)
    if settings.access_boost:
        rules["access"] = lambda _, facts: access_factor(facts.opens)
    if settings.recency_tau_days or settings.recency_half_life_days:
        rules["recency"] = _recency_rule(pages, today, settings)
    for name, (field, value, factor) in _merge_same(custom).items():
        rules[name] = _custom_rule(field, value, factor)
    return rules


def importance_factor(importance: float | None) -> float:
    """Return 0.8 to 1.2; a page without importance counts as one of 0.5 and keeps its score."""
    return 1.0 if importance is None else 0.8 + 0.4 * importance


def access_factor(opens: int) -> float:
    """Return 1 + 0.1 x ln(1 + times opened)."""
    return 1 + 0.1 * math.log(1 + max(opens, 0))


def _wing_rule(wings: Collection[str], settings: Settings) -> Rule:
    return lambda _, facts: settings.wing_boost if facts.wing in wings else 1.0


def _date_rule(
    levels: Sequence[Sequence[Period]], literal_slugs: Collection[str], settings: Settings
) -> Rule:
    """Favour pages by how many days they, or any of their entries, are from the query's time.

    Of a time that may mean several years, the likelier one counts a little more. A date that is
    vaguer than the time asked and than a month is no match. A page that has the query word for word
    counts as one of its time.
    """
    spans = [
        (_ordinal(period.first), _ordinal(period.last), _LEVEL_SHARE**level)
        for level, periods in enumerate(levels)
        for period in periods
    ]
    steps = (
        (0, settings.date_day_factor),
        (7, settings.date_week_factor),
        (30, settings.date_month_factor),
    )

    def factor(first: int, last: int, since: int, until: int) -> float:
        length = until - since
        if last - first > max(length, _MAX_VAGUE_DAYS):
            return 1.0
        gap = max(0, first - until, since - last)
        if gap == 1 and length == 0:
            # What happened on a day is often noted on the next.
            return (settings.date_day_factor + settings.date_week_factor) / 2
        if gap == 0 and last - first > length:
            gap = 1
        return next((number for most, number in steps if gap <= most), 1.0)

    @cache
    def best_factor(first_day: str, last_day: str) -> float:
        first, last = _ordinal(first_day), _ordinal(last_day)
        return max(
            1 + (factor(first, last, since, until) - 1) * share for since, until, share in spans
        )

    def rule(slug: str, facts: BoostData) -> float:
        if slug in literal_slugs:
            return max(1.0, settings.date_day_factor)
        dated = (
            (facts.chunk_first_day, facts.chunk_last_day),
            (facts.first_day, facts.last_day),
            *facts.entry_days,
        )
        factors = [best_factor(first, last) for first, last in dated if first and last]
        return max(factors, default=1.0)

    return rule


def _ordinal(day: str) -> int:
    """Return a day's number; a malformed day comes before all others."""
    try:
        return date.fromisoformat(day).toordinal()
    except ValueError:
        return -1_000_000


def _exact_rule(query: Query, settings: Settings) -> Rule:
    text = query.semantic_text or query.text
    without_possessives = text.replace("'s", "")
    asked = f" {fold_name(text)} | {fold_name(without_possessives)} "

    def rule(_: str, facts: BoostData) -> float:
        title = fold_name(facts.title)
        named = title and title not in STOP_WORDS and f" {title} " in asked
        return settings.exact_boost if facts.has_phrase or named else 1.0

    return rule


def _custom_rule(field: str, value: str, factor: float) -> Rule:
    wanted = value.casefold()

    def rule(slug: str, facts: BoostData) -> float:
        if field == "slug":
            matches = slug.startswith(wanted)
        elif field == "wing":
            matches = facts.wing.casefold() == wanted
        else:
            matches = any(tag.casefold() == wanted for tag in facts.tags)
        return factor if matches else 1.0

    return rule


def _concrete_rules(settings: Settings) -> dict[str, Rule]:
    """Favour short facts over summaries and long prose."""

    def concrete(_: str, facts: BoostData) -> float:
        return settings.concrete_fact_factor if _is_fact(facts) else 1.0

    def roll_up(_: str, facts: BoostData) -> float:
        return settings.roll_up_factor if _is_roll_up(facts) else 1.0

    def long_prose(_: str, facts: BoostData) -> float:
        return settings.long_prose_factor if _is_long_prose(facts) else 1.0

    return {"concrete": concrete, "roll_up": roll_up, "long_prose": long_prose}


def _words(text: str) -> list[str]:
    return [word.strip(".,;:!?\"'()[]*_").lower() for word in text.replace("’", "'").split()]


def _preference_factor(facts: BoostData, settings: Settings) -> float:
    words = set(_words(facts.chunk_text))
    personal, stated = not words.isdisjoint(_FIRST_PERSON), not words.isdisjoint(_LIKING)
    factor: float = settings.preference_generic_factor
    if personal:
        factor = settings.preference_personal_factor
        factor = settings.preference_stated_factor if stated else factor
    elif facts.wing in _REFERENCE_WINGS:
        factor = settings.preference_reference_factor
    return factor


def _is_fact(facts: BoostData) -> bool:
    text = facts.chunk_text
    dated_or_counted = facts.chunk_kind == "timeline" or any(map(str.isdigit, text))
    return dated_or_counted and len(text.split()) <= _MAX_FACT_WORDS


def _is_roll_up(facts: BoostData) -> bool:
    return facts.room == "index" or not _ROLL_UPS.isdisjoint(_words(facts.title))


def _is_long_prose(facts: BoostData) -> bool:
    lines = facts.chunk_text.splitlines()
    listed = sum(line.lstrip().startswith(("- ", "* ", "|", "+ ")) for line in lines)
    return len(facts.chunk_text.split()) >= _MIN_PROSE_WORDS and 2 * listed < len(lines)


def tau_days(settings: Settings) -> float:
    """Return the days after which a page has faded to 1/e; 0 if nothing fades."""
    tau: float = settings.recency_tau_days
    return tau or settings.recency_half_life_days / math.log(2)


def recency_factor(facts: BoostData, today: date, settings: Settings) -> float | None:
    """Return exp(-age / tau) for the age of the best chunk, or of the page if it has no date.

    Return 1 for a page that does not fade by `recency_of`, and None if all fade and neither a date
    nor a change says how old it is.
    """
    tau = tau_days(settings)
    day = facts.chunk_last_day or facts.last_day
    if settings.recency_of == "all":
        day = day or facts.changed_day
    elif not day or (settings.recency_of == "episodes" and not is_episode(facts)):
        return 1.0
    if not tau:
        return 1.0
    return max(settings.recency_floor, math.exp(-age_days(day, today) / tau)) if day else None


def is_episode(facts: BoostData) -> bool:
    """Tell whether a page is about one time, as a meeting or a day is, and not about a subject.

    A page with dated entries is about what they happened to.
    """
    if not facts.last_day or facts.wing in _LASTING_WINGS:
        return False
    return facts.wing in _EPISODE_WINGS or not facts.has_entries


def _recency_rule(pages: Collection[BoostData], today: date, settings: Settings) -> Rule:
    """Fade by age; a page of unknown age, such as an imported file, fades like the median page."""
    from statistics import median

    known = [recency_factor(facts, today, settings) for facts in pages]
    typical = median([factor for factor in known if factor is not None] or [1.0])

    def rule(_: str, facts: BoostData) -> float:
        factor = recency_factor(facts, today, settings)
        return typical if factor is None else factor

    return rule


def age_days(day: str, today: date) -> int:
    """Return the whole days since an ISO day; 0 for a future or malformed one."""
    try:
        return max((today - date.fromisoformat(day)).days, 0)
    except ValueError:
        return 0


def _merge_same(custom: Sequence[CustomBoost]) -> dict[str, tuple[str, str, float]]:
    """Return the custom boosts by `field:value`; the factors of equal ones multiply."""
    merged: dict[str, tuple[str, str, float]] = {}
    for boost in custom:
        name = f"{boost.field}:{boost.value}"
        before = merged[name][2] if name in merged else 1.0
        merged[name] = (boost.field, boost.value, before * boost.factor)
    return merged
