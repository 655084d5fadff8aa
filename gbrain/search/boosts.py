"""Boosts: factors on a fused score, each under its own name, none of them a filter."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from gbrain.config import Settings
from gbrain.errors import UsageError
from gbrain.text.query_terms import STOP_WORDS
from gbrain.text.slug import fold_name
from gbrain.types import BoostData, Query, Ranked

if TYPE_CHECKING:
    from gbrain.search.intent import Intent
    from gbrain.text.dates import Period
from gbrain.search.intent import Intent

Rule = Callable[[str, BoostData], float]
Field = Literal["wing", "tag", "slug"]

_FIELDS = ("wing", "tag", "slug")
_MOST = 100.0

# A question without any of these and without a digit names no date.
_TIMES = frozenset(
    """january february march april may june july august september october november december jan feb
    mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday
    sunday mon tue wed thu fri sat sun today tonight yesterday tomorrow morning night ago now
    """.split()
)
_WAYS = frozenset("last past previous this current next coming".split())
_UNITS = frozenset(
    "day days weekend weekends week weeks month months quarter quarters year years".split()
)


class CustomBoost(NamedTuple):
    """A factor for pages of a wing, with a tag, or whose slug begins with `value`."""

    field: Field
    value: str
    factor: float


def parse_boost(written: str) -> CustomBoost:
    """`tag:urgent=1.5`, `wing:people=2` or `slug:projects/=0.5`; raises UsageError otherwise."""
    named, equals, number = written.rpartition("=")
    field, colon, value = named.partition(":")
    field, value = field.strip().lower(), value.strip()
    several = "," in value.partition("=")[2]
    if several or not (equals and colon and value and field in _FIELDS):
        raise UsageError(
            f"Cannot read the boost {written!r}",
            hint="Write it like tag:urgent=1.5 or wing:people=2 or slug:projects/=0.5, "
            "with a --boost for each.",
        )
    try:
        factor = float(number)
    except ValueError:
        factor = math.nan
    if not 0 <= factor <= _MOST:
        raise UsageError(
            f"{number.strip()!r} is no factor for a boost", hint=f"It takes 0 to {_MOST:.0f}."
        )
    return CustomBoost(cast(Field, field), value.removeprefix("#"), factor)


def drop_superseded(
    ranked: Sequence[Ranked], facts: Mapping[int, BoostData]
) -> tuple[list[Ranked], tuple[str, ...]]:
    """The pages that no other replaces or that are pinned, and the slugs of those left out."""
    replaced = {
        page_id for page_id, fact in facts.items() if fact.superseded_by and not fact.pinned
    }
    kept = [page for page in ranked if page.page_id not in replaced]
    return kept, tuple(page.slug for page in ranked if page.page_id in replaced)


def needs_intent(settings: Settings) -> bool:
    """Whether a boost or the lanes' weights look at what is asked for."""
    return bool(
        settings.intent_weights
        or settings.wing_boost != 1
        or settings.preference_boost
        or settings.concrete_boost
    )


def may_mention_date(text: str) -> bool:
    """False for a question that surely names no date: reading dates costs a cold start dear."""
    if any(digit in text for digit in "0123456789"):
        return True
    words = set("".join(c if c.isalpha() else " " for c in text.lower()).split())
    return not words.isdisjoint(_TIMES) or not (words.isdisjoint(_WAYS) or words.isdisjoint(_UNITS))


def needs_chunks(intent: Intent | None, periods: Sequence[Period], settings: Settings) -> bool:
    """Whether a boost looks at the passages that speak for the pages."""
    return bool(
        (periods and settings.date_boost)
        or (intent and intent.preference and settings.preference_boost)
        or (intent and intent.concrete and settings.concrete_boost)
        or settings.recency_tau_days
        or settings.recency_half_life_days
    )


def multiply_boosts(
    ranked: Sequence[Ranked],
    facts: Mapping[int, BoostData],
    query: Query,
    intent: Intent | None,
    periods: Sequence[Period],
    today: date,
    settings: Settings,
    custom: Sequence[CustomBoost] = (),
) -> list[Ranked]:
    """The pages with their scores multiplied, best first, ties by slug.

    Each factor but 1 is in `Ranked.boosts`, and that of recency also then: who asked for decay
    sees that a page has not faded. A page without facts keeps its score.
    """
    rules = _rules(query, intent, periods, today, settings, custom)
    if not rules:
        return list(ranked)
    boosted = [
        _boosted(page, rules, facts[page.page_id]) if page.page_id in facts else page
        for page in ranked
    ]
    return sorted(boosted, key=lambda page: (-page.score, page.slug))


def _boosted(page: Ranked, rules: Mapping[str, Rule], facts: BoostData) -> Ranked:
    factors = {name: rule(page.slug, facts) for name, rule in rules.items()}
    telling = {n: factor for n, factor in factors.items() if factor != 1 or n == "recency"}
    if not telling:
        return page
    score = page.score * math.prod(telling.values())
    return page._replace(score=score, boosts={**page.boosts, **telling})


def _rules(
    query: Query,
    intent: Intent | None,
    periods: Sequence[Period],
    today: date,
    settings: Settings,
    custom: Sequence[CustomBoost],
) -> dict[str, Rule]:
    """The boosts that are on and have something to say to this query, by name."""
    rules: dict[str, Rule] = {}
    if settings.wing_boost != 1 and intent and intent.shape:
        from gbrain.search.intent import INTENT_PATTERNS

        rules["wing"] = _wing(INTENT_PATTERNS[intent.shape].wings, settings)
    if settings.date_boost and periods:
        rules["date"] = _date(periods, settings)
    if settings.exact_boost != 1:
        rules["exact"] = _exact(query, settings)
    if intent and (settings.preference_boost or settings.concrete_boost):
        pass

        rules |= wording_rules(intent, settings)
    if settings.importance_boost:
        rules["importance"] = lambda _, facts: importance_factor(facts.importance)
    if settings.access_boost:
        rules["access"] = lambda _, facts: access_factor(facts.opens)
    if settings.recency_tau_days or settings.recency_half_life_days:
        pass

        rules["recency"] = lambda _, facts: recency_factor(facts, today, settings)
    for name, same in _by_name(custom).items():
        rules[name] = _custom(same)
    if settings.noise_sigma:
        rules["noise"] = _noise(query.text, settings)
    return rules


def importance_factor(importance: float | None) -> float:
    """0.8 to 1.2; a page that does not say stays as it is, like one of importance a half."""
    return 1.0 if importance is None else 0.8 + 0.4 * importance


def access_factor(opens: int) -> float:
    return 1 + 0.1 * math.log(1 + max(opens, 0))


def _wing(wings: Collection[str], settings: Settings) -> Rule:
    return lambda _, facts: settings.wing_boost if facts.wing in wings else 1.0


def _date(periods: Sequence[Period], settings: Settings) -> Rule:
    spans = [(_ordinal(period.first), _ordinal(period.last)) for period in periods]
    steps = (
        (1, settings.date_day_factor),
        (7, settings.date_week_factor),
        (30, settings.date_month_factor),
    )

    def rule(_: str, facts: BoostData) -> float:
        dated = (
            (facts.chunk_first_day, facts.chunk_last_day),
            (facts.first_day, facts.last_day),
        )
        gaps = [
            max(0, _ordinal(first) - until, since - _ordinal(last))
            for first, last in dated
            if first and last
            for since, until in spans
        ]
        nearest = min(gaps, default=math.inf)
        return next((factor for most, factor in steps if nearest <= most), 1.0)

    return rule


def _ordinal(day: str) -> int:
    """A count of days; one that cannot be read lies before all others."""
    try:
        return date.fromisoformat(day).toordinal()
    except ValueError:
        return -1_000_000


def _exact(query: Query, settings: Settings) -> Rule:
    text = query.semantic_text or query.text
    whose = text.replace("'s", "")
    asked = f" {fold_name(text)} | {fold_name(whose)} "

    def rule(_: str, facts: BoostData) -> float:
        title = fold_name(facts.title)
        named = title and title not in STOP_WORDS and f" {title} " in asked
        return settings.exact_boost if facts.has_phrase or named else 1.0

    return rule


def _by_name(custom: Sequence[CustomBoost]) -> dict[str, CustomBoost]:
    """Boosts by what they are for; factors for the same multiply, as all factors do."""
    named: dict[str, CustomBoost] = {}
    for given in custom:
        name = f"{given.field}:{given.value}"
        before = named[name].factor if name in named else 1.0
        named[name] = given._replace(factor=before * given.factor)
    return named


def _custom(given: CustomBoost) -> Rule:
    wanted = given.value.casefold()

    def rule(slug: str, facts: BoostData) -> float:
        if given.field == "slug":
            meant = slug.startswith(wanted)
        elif given.field == "wing":
            meant = facts.wing.casefold() == wanted
        else:
            meant = any(tag.casefold() == wanted for tag in facts.tags)
        return given.factor if meant else 1.0

    return rule


def _noise(text: str, settings: Settings) -> Rule:
    """One draw for each page, by seed, query and slug: the other pages do not matter."""
    from random import Random

    def rule(slug: str, _: BoostData) -> float:
        draw = Random(f"{settings.noise_seed}\0{text}\0{slug}")
        return max(0.0, 1 + draw.gauss(0, settings.noise_sigma))

    return rule


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


def wording_rules(
    intent: Intent, settings: Settings
) -> dict[str, Callable[[str, BoostData], float]]:
    """The factors that are on and that the intent asks for, by name; slugs do not matter."""
    rules: dict[str, Callable[[str, BoostData], float]] = {}
    if settings.preference_boost and intent.preference:
        rules["preference"] = lambda _, facts: _preference(facts, settings)
    if settings.concrete_boost and intent.concrete:
        rules["concrete"] = lambda _, facts: settings.concrete_fact_factor if _fact(facts) else 1.0
        rules["roll_up"] = lambda _, facts: settings.roll_up_factor if _rolled_up(facts) else 1.0
        rules["long_prose"] = lambda _, facts: settings.long_prose_factor if _long(facts) else 1.0
    return rules


def _words(text: str) -> list[str]:
    return [word.strip(".,;:!?\"'()[]*_").lower() for word in text.replace("’", "'").split()]


def _preference(facts: BoostData, settings: Settings) -> float:
    words = set(_words(facts.chunk_text))
    personal, stated = not words.isdisjoint(_FIRST_PERSON), not words.isdisjoint(_LIKING)
    factor: float = settings.preference_generic_factor
    if personal:
        factor = settings.preference_personal_factor
        factor = settings.preference_stated_factor if stated else factor
    elif facts.wing in _REFERENCE_WINGS:
        factor = settings.preference_reference_factor
    return factor


def _fact(facts: BoostData) -> bool:
    text = facts.chunk_text
    telling = facts.chunk_kind == "timeline" or any(map(str.isdigit, text))
    return telling and len(text.split()) <= _SHORT


def _rolled_up(facts: BoostData) -> bool:
    return facts.room == "index" or not _ROLL_UPS.isdisjoint(_words(facts.title))


def _long(facts: BoostData) -> bool:
    lines = facts.chunk_text.splitlines()
    listed = sum(line.lstrip().startswith(("- ", "* ", "|", "+ ")) for line in lines)
    return len(facts.chunk_text.split()) >= _LONG and 2 * listed < len(lines)


def tau_days(settings: Settings) -> float:
    """Days until a page has faded to 1/e, from either setting; 0 when nothing fades."""
    tau: float = settings.recency_tau_days
    return tau or settings.recency_half_life_days / math.log(2)


def recency_factor(facts: BoostData, today: date, settings: Settings) -> float:
    """The factor of a page by the age of its passage, else its own; days to come have no age.

    A page without a date keeps its score, or fades since its last change if all pages are to.
    """
    day = facts.chunk_last_day or facts.last_day
    if day is None and settings.recency_of == "all":
        day = facts.changed_day
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
