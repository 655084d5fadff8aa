"""The boost stage: drop superseded pages and multiply scores by the factors that are on.

`boost_factors` computes the factor for a page.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from gbrain.config import Settings
from gbrain.errors import UsageError
from gbrain.search.boost_factors import BoostInputs, CustomBoost, Field, Rule, active_rules
from gbrain.store.pages import fetch_pages
from gbrain.store.ranking_data import BoostDataRequest, read_boost_data
from gbrain.types import BoostData, Ranked

if TYPE_CHECKING:
    from gbrain.search.intent import Intent
    from gbrain.text.periods import Period

# The lane of pages whose front matter lists the query as a question, and their lead:
# more than noise could change.
QUESTIONS = "questions"
_ASKED_LEAD = 1.1

_FIELDS = ("wing", "tag", "slug")
# A factor above this would put its pages first in any order; a larger one is a typing error.
_MAX_FACTOR = 100.0

# A query without any of these words and without a digit mentions no date. Parsing dates would
# cost a cold start more than all other stages of the keyword search together.
_DATE_WORDS = frozenset(
    """january february march april may june july august september october november december jan feb
    mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday
    sunday mon tue wed thu fri sat sun today tonight yesterday tomorrow morning night ago now
    spring summer autumn fall winter
    januar februar märz mai juni juli oktober dezember jänner maerz gestern vorgestern heute
    janvier février mars avril juin juillet août septembre octobre novembre décembre fevrier aout
    decembre enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre
    diciembre ayer gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre ieri
    janeiro fevereiro março marco maio junho julho setembro outubro novembro dezembro ontem januari
    februari maart mei augustus gisteren morgen aujourd hui hier demain hoy mañana anteayer oggi
    domani hoje amanhã anteontem vandaag eergisteren
    tagen wochen monaten jahren quartal jours semaines mois ans trimestre días semanas meses años
    giorni settimane mesi anni dias anos dagen weken maanden jaren kwartaal
    montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi
    samedi dimanche lunes martes miércoles jueves viernes sábado domingo lunedì martedì mercoledì
    giovedì venerdì sabato domenica segunda terça quarta quinta sexta maandag dinsdag woensdag
    donderdag vrijdag zaterdag zondag
    frühling frühjahr sommer herbst printemps été automne hiver primavera verano otoño invierno
    estate autunno verão outono zomer herfst lente voorjaar najaar
    """.split()
)
_CJK_DATE_SIGNS = "年月日週周曜期季春夏秋冬昨今明天"
_RELATIVE_WORDS = frozenset(
    """last past previous this current next coming before after first second third fourth
    letzte letzten letztes letzter diese diesen vergangene vergangenen nächste nächsten kommende
    dernier dernière derniers dernières prochain prochaine cette pasado pasada próximo próxima este
    esta scorso scorsa prossimo prossima questo questa passado passada vorige vorig afgelopen
    volgende volgend deze
    """.split()
)
_DATE_UNITS = frozenset(
    """day days weekend weekends week weeks month months quarter quarters year years half woche
    monat jahr wochenende sommer winter herbst frühling semaine mois année été hiver semana mes año
    verano settimana mese anno mês ano maand jaar""".split()
)


class BoostResult(NamedTuple):
    """The pages, best first, the slugs of superseded pages, and the periods in the query."""

    ranked: Sequence[Ranked]
    superseded: tuple[str, ...] = ()
    periods: tuple[Period, ...] = ()


def parse_boost(text: str) -> CustomBoost:
    """Parse `tag:urgent=1.5`, `wing:people=2` or `slug:projects/=0.5`; else raise UsageError."""
    named, equals, number = text.rpartition("=")
    field, colon, value = named.partition(":")
    field, value = field.strip().lower(), value.strip()
    several = "," in value.partition("=")[2]
    if several or not (equals and colon and value and field in _FIELDS):
        raise UsageError(
            f"Cannot read the boost {text!r}",
            hint="Write it like tag:urgent=1.5 or wing:people=2 or slug:projects/=0.5; "
            "repeat --boost for several.",
        )
    try:
        factor = float(number)
    except ValueError:
        factor = math.nan
    if not 0 <= factor <= _MAX_FACTOR:
        raise UsageError(
            f"{number.strip()!r} is not a valid boost factor",
            hint=f"Use a number from 0 to {_MAX_FACTOR:.0f}.",
        )
    return CustomBoost(cast(Field, field), value.removeprefix("#"), factor)


def apply_boosts(
    connection: sqlite3.Connection, ranked: Sequence[Ranked], inputs: BoostInputs
) -> BoostResult:
    """Return the merged pages without superseded ones, with every boost that is on applied."""
    settings, periods = inputs.settings, inputs.periods
    # Pages that are superseded are at hand: a shared brain fetches those as soon as it names them.
    if active_rules(inputs, ()):
        fetch_pages(connection, [page.page_id for page in ranked])
    known = read_boost_data(
        connection,
        {page.page_id: page.chunk_id for page in ranked},
        BoostDataRequest(
            chunks=needs_chunks(inputs.intent, periods, settings),
            days=tuple((period.first, period.last) for level in periods for period in level),
            opens=settings.access_boost,
            entries=settings.recency_of == "episodes",
            phrases=tuple(
                term for term in inputs.query.terms if term.quoted and settings.exact_boost != 1
            ),
        ),
    )
    superseded: tuple[str, ...] = ()
    if settings.drop_superseded:
        ranked, superseded = drop_superseded(ranked, known)
    ranked = multiply_boosts(ranked, known, inputs)
    return BoostResult(ranked, superseded, tuple(periods[0]) if periods else ())


def needs_intent(settings: Settings) -> bool:
    """Return whether a boost or the lane weights depend on the intent of the query."""
    return bool(
        settings.intent_weights
        or settings.wing_boost != 1
        or settings.preference_boost
        or settings.concrete_boost
    )


def may_mention_date(text: str) -> bool:
    """Return False for a query that certainly mentions no date."""
    if any(digit in text for digit in "0123456789"):
        return True
    if not text.isascii() and any(sign in text for sign in _CJK_DATE_SIGNS):
        return True
    words = set("".join(c if c.isalpha() else " " for c in text.lower()).split())
    return not words.isdisjoint(_DATE_WORDS) or not (
        words.isdisjoint(_RELATIVE_WORDS) or words.isdisjoint(_DATE_UNITS)
    )


def needs_chunks(
    intent: Intent | None, periods: Sequence[Sequence[Period]], settings: Settings
) -> bool:
    """Return whether a boost depends on the best chunk of each page."""
    return bool(
        (periods and settings.date_boost)
        or (intent and intent.preference and settings.preference_boost)
        or (intent and intent.concrete and settings.concrete_boost)
        or settings.recency_tau_days
        or settings.recency_half_life_days
    )


def drop_superseded(
    ranked: Sequence[Ranked], facts: Mapping[int, BoostData]
) -> tuple[list[Ranked], tuple[str, ...]]:
    """Return the pages that are current or pinned, and the slugs of the superseded ones."""
    superseded = {
        page_id for page_id, fact in facts.items() if fact.superseded_by and not fact.pinned
    }
    kept = [page for page in ranked if page.page_id not in superseded]
    return kept, tuple(page.slug for page in ranked if page.page_id in superseded)


def multiply_boosts(
    ranked: Sequence[Ranked], facts: Mapping[int, BoostData], inputs: BoostInputs
) -> list[Ranked]:
    """Return the pages with their scores multiplied, best first, ties by slug.

    `Ranked.boosts` lists each factor that is not 1. Recency is listed even when it is 1, so that
    whoever switched it on sees that a page has not faded. A page without facts keeps its score.
    """
    rules = active_rules(inputs, facts.values())
    boosted = list(ranked)
    if rules:
        boosted = [
            _multiply(page, rules, facts[page.page_id]) if page.page_id in facts else page
            for page in ranked
        ]
    boosted = _lift_pages_asked(boosted)
    return sorted(boosted, key=lambda page: (-page.score, page.slug)) if rules else boosted


def _lift_pages_asked(ranked: list[Ranked]) -> list[Ranked]:
    """Return the pages, first those whose front matter lists the query as a question."""
    lowest = min((page.score for page in ranked if QUESTIONS in page.lanes), default=0.0)
    if lowest <= 0:
        return ranked
    factor = _ASKED_LEAD * max(page.score for page in ranked) / lowest
    lifted = [
        page._replace(score=page.score * factor, boosts={**page.boosts, "question": factor})
        for page in ranked
        if QUESTIONS in page.lanes
    ]
    return [*lifted, *(page for page in ranked if QUESTIONS not in page.lanes)]


def _multiply(page: Ranked, rules: Mapping[str, Rule], facts: BoostData) -> Ranked:
    factors = {name: rule(page.slug, facts) for name, rule in rules.items()}
    listed = {n: factor for n, factor in factors.items() if factor != 1 or n == "recency"}
    if not listed:
        return page
    score = page.score * math.prod(listed.values())
    return page._replace(score=score, boosts={**page.boosts, **listed})
