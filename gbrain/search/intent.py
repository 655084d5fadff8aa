"""Detect what a question asks for from its wording; English only."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Literal, NamedTuple, cast

from gbrain.config import Settings

Kind = Literal["why", "when", "who", "how", "what"]
Shape = Literal["entity", "how-to"]


class Intent(NamedTuple):
    """What a question asks for; all but `english` is meaningless if it is not English."""

    kind: Kind = "what"
    preference: bool = False
    concrete: bool = False
    shape: Shape | None = None
    english: bool = True


class IntentPattern(NamedTuple):
    """The phrases that mark an intent, separated by " | ", and what the intent changes.

    `leads` count among the first words of a question, `phrases` anywhere; `unless` cancels both.
    `lanes` are factors for the weights of the vector, fts, graph and associative lane; `boost`
    names the boost that depends on the intent; `wings` are favoured.
    """

    leads: str = ""
    phrases: str = ""
    unless: str = ""
    lanes: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 0.6)
    boost: str = ""
    wings: tuple[str, ...] = ()


# Kinds are tried in this order: first by their leads, then by their phrases; "what" is the rest.
INTENT_PATTERNS: Mapping[str, IntentPattern] = {
    "why": IntentPattern(
        leads="why | how come",
        phrases="because | reason | reasons | cause of | what caused",
        lanes=(1.0, 0.8, 1.5, 0.6),
    ),
    "when": IntentPattern(
        leads="when",
        phrases="date | dates | timeline | what time | what year | which year | what month | "
        "which month | what day | which day | how long ago",
        lanes=(0.8, 1.2, 0.8, 0.6),
    ),
    "who": IntentPattern(
        leads="who | whom | whose",
        phrases="person | built | founder | founders",
        lanes=(0.8, 0.8, 1.8, 0.6),
    ),
    "how": IntentPattern(
        leads="how",
        phrases="how to | steps | fix",
        unless="how many | how much | how old | how long | how far | how often | how tall | "
        "how big",
        lanes=(1.2, 1.0, 0.8, 0.6),
    ),
    "what": IntentPattern(lanes=(1.0, 1.0, 1.0, 0.6)),
    # Only for a question in the first person, because notes in the first person are the user's.
    "preference": IntentPattern(
        phrases="prefer | preferred | preference | preferences | favourite | favourites | "
        "favorite | favorites | like best | like most | like better | do i like | do i love | "
        "do i hate | do i enjoy | do i dislike | i would rather | recommend me | suggest me",
        boost="preference",
    ),
    "concrete": IntentPattern(
        leads="when did | when was | when is | when does",
        phrases="version | how many | how much | how old | what time | what date | what year | "
        "which year | what number | phone | email | address | price | cost | deadline | birthday | "
        "port | url | password | amount | name of",
        boost="concrete",
    ),
    "how-to": IntentPattern(
        phrases="how to | how do i | how do you | how do we | how can i | how can we | "
        "how should i | steps to | guide to | tutorial | instructions | set up | install | "
        "configure",
        boost="wing",
        wings=("concepts", "resources"),
    ),
    # Also: a name of at least two words, a query of names only, or a name with 's.
    "entity": IntentPattern(
        leads="who | whom | whose", boost="wing", wings=("people", "companies")
    ),
}
_KINDS = ("why", "when", "who", "how")
_LANES = ("vector", "fts", "graph", "associative")

_MYSELF = frozenset("i my me mine myself we our us ours".split())
_CALENDAR = frozenset(
    """january february march april may june july august september october november december monday
    tuesday wednesday thursday friday saturday sunday i i'm i've i'd i'll""".split()
)

# Function words of English, and of other European languages.
_ENGLISH = frozenset(
    """the of to is are was were did does what what's who who's when why how where which my your you
    it that this with from about for have has had been would could should they he she her his their
    our and any there please tell show find""".split()
)
_FOREIGN = frozenset(
    """der das dem ein eine und ist nicht mit von zu wie wer wann warum wo mein meine meinen ich wir
    sie habe hat le la les un une du et est que qui quand pourquoi où comment mon ma mes je nous
    vous quel quelle el los las una y es qué quién cuándo cuál por para con mi como dónde il lo gli
    di che perché quando chi sono mio mia non os uma da dos em um meu minha onde quem qual het een
    en van wat waar waarom hoe mijn ik niet och att är när vem hur jag""".split()
)

_MAX_CHARACTERS = 10_000
_LEAD_WORDS = 4
_MAX_NAME_WORDS = 4


def detect_intent(text: str) -> Intent:
    """Return what a normalised query asks for, in time linear in its length."""
    written = [
        bare for word in text[:_MAX_CHARACTERS].split() if (bare := _strip_punctuation(word))
    ]
    words = [part for word in written for part in _split_possessive(word.lower())]
    if not _is_english(words):
        return Intent(english=False)
    asked, opening = f" {' '.join(words)} ", f" {' '.join(words[:_LEAD_WORDS])} "
    kind = next((kind for kind in _KINDS if _leads(INTENT_PATTERNS[kind], opening, asked)), None)
    kind = kind or next(
        (kind for kind in _KINDS if _mentions(INTENT_PATTERNS[kind], asked)), "what"
    )
    shape: Shape | None = None
    if _mentions(INTENT_PATTERNS["how-to"], asked):
        shape = "how-to"
    elif _leads(INTENT_PATTERNS["entity"], opening, asked) or _contains_name(written):
        shape = "entity"
    concrete = INTENT_PATTERNS["concrete"]
    return Intent(
        kind=cast(Kind, kind),
        preference=not _MYSELF.isdisjoint(words)
        and _mentions(INTENT_PATTERNS["preference"], asked),
        concrete=_leads(concrete, opening, asked) or _mentions(concrete, asked),
        shape=shape,
    )


def lane_weights(intent: Intent | None, settings: Settings) -> dict[str, float]:
    """Return the weight of each lane: its setting, times the intent's factor.

    The factor counts only for an English query, and if `intent_weights` is on.
    """
    weights = settings.lane_weights
    if intent is None or not intent.english or not settings.intent_weights:
        return weights
    factors = zip(_LANES, INTENT_PATTERNS[intent.kind].lanes, strict=True)
    return {lane: weights[lane] * factor for lane, factor in factors}


def _leads(pattern: IntentPattern, opening: str, asked: str) -> bool:
    return _any_of(pattern.leads, opening) and not _any_of(pattern.unless, asked)


def _mentions(pattern: IntentPattern, asked: str) -> bool:
    return _any_of(pattern.phrases, asked) and not _any_of(pattern.unless, asked)


def _any_of(phrases: str, text: str) -> bool:
    return bool(phrases) and any(f" {phrase} " in text for phrase in phrases.split(" | "))


def _split_possessive(word: str) -> list[str]:
    """Split a word with `'s` in two."""
    return [word[:-2], "'s"] if word.endswith("'s") and len(word) > 2 else [word]


def _strip_punctuation(word: str) -> str:
    start, stop = 0, len(word)
    while start < stop and not word[start].isalnum():
        start += 1
    while stop > start and not word[stop - 1].isalnum():
        stop -= 1
    return word[start:stop]


def _is_english(words: list[str]) -> bool:
    """Return whether most function words are English; without any, whether all is ASCII."""
    english = sum(word in _ENGLISH for word in words)
    foreign = sum(word in _FOREIGN for word in words)
    if english or foreign:
        return english > foreign
    return all(word.isascii() for word in words)


def _contains_name(written: list[str]) -> bool:
    """Return whether the query contains a name after its first word, or is only a name."""
    capitals = [word[0].isupper() and word.lower() not in _CALENDAR for word in written]
    if 0 < len(written) <= _MAX_NAME_WORDS and all(capitals):
        return not all(word.lower() in _ENGLISH for word in written)
    inside = capitals[1:]
    if any(one and other for one, other in pairwise(inside)):
        return True
    return any(
        capital and word.endswith("'s") for capital, word in zip(inside, written[1:], strict=True)
    )
