"""What would have kept a page: other options, or a setting, by where its value came from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from gbrain.config import Settings, SettingValue, find_setting, format_value
from gbrain.search.pipeline import StageResults
from gbrain.types import Answer

# Runs a query of a text with options, and returns its answer and stage results.
QueryAgain = Callable[..., tuple[Answer, StageResults]]
# The stage that lost a page, the reason, and a remedy.
Lost = tuple[str, str, str | None]

# The most hits that can be asked for.
_MOST_HITS = 1000

# The setting that switches a boost off, and how.
_BOOSTS: Mapping[str, tuple[str, SettingValue]] = {
    "wing": ("wing_boost", 1.0),
    "date": ("date_boost", False),
    "exact": ("exact_boost", 1.0),
    "preference": ("preference_boost", False),
    "concrete": ("concrete_boost", False),
    "roll_up": ("concrete_boost", False),
    "long_prose": ("concrete_boost", False),
    "importance": ("importance_boost", False),
    "access": ("access_boost", False),
    "noise": ("noise_sigma", 0.0),
}


class ExplainedQuery(NamedTuple):
    """A question, its answer and the options of both, as `ask` takes them.

    `given` names, as written, the option that a setting's value came from, by setting.
    """

    query_again: QueryAgain
    settings: Settings
    answered: Answer
    work: StageResults
    options: Mapping[str, Any]
    given: Mapping[str, str]

    def again(self, text: str | None = None, **changes: str) -> StageResults:
        """What becomes of the question, or of another, with some settings changed as well."""
        changed = {**self.options.get("changes", {}), **changes}
        options = {**self.options, "changes": changed}
        return self.query_again(self.answered.query if text is None else text, **options)[1]

    def without_boosts(self, names: Collection[str]) -> StageResults:
        """What becomes of the question if these boosts are off."""
        off = {"recency_tau_days": "0", "recency_half_life_days": "0"} if "recency" in names else {}
        off |= {_BOOSTS[n][0]: format_value(_BOOSTS[n][1]) for n in names if n in _BOOSTS}
        kept = tuple(b for b in self.work.plan.boosts if f"{b.field}:{b.value}" not in names)
        return self._replace(options={**self.options, "boosts": kept}).again(**off)


class Remedy(NamedTuple):
    """Settings to change by a command, and options to ask with or without."""

    commands: tuple[str, ...] = ()
    asking: tuple[str, ...] = ()

    def __str__(self) -> str:
        asking = (f"ask {' and '.join(self.asking)}",) if self.asking else ()
        return " and ".join((*self.commands, *asking))

    def joined(self, other: Remedy) -> Remedy:
        """Both of them together."""
        commands = dict.fromkeys((*self.commands, *other.commands))
        return Remedy(tuple(commands), tuple(dict.fromkeys((*self.asking, *other.asking))))


def either(*remedies: Remedy | str | None) -> str | None:
    """One sentence of those that there are; "ask" stands in it once."""
    told = ""
    for remedy in filter(None, map(str, filter(None, remedies))):
        told += f", or {remedy.removeprefix('ask ') if 'ask ' in told else remedy}"
    told = told.removeprefix(", or ")
    return (told if told.startswith("gbrain ") else told[:1].upper() + told[1:]) or None


def setting(
    asked: ExplainedQuery,
    name: str,
    wanted: SettingValue,
    enough: Callable[[Any], bool] | None = None,
) -> Remedy:
    """The setting at the value `wanted`, or at another that is `enough`.

    Where an option of this query set it, that has to go, and that can be all.
    """
    default = find_setting(name).default
    change = f"set {name} {_written(wanted)}" if wanted != default else f"reset {name}"
    command = (f"gbrain config {change}",)
    option = asked.given.get(name)
    if option is None and name in asked.options.get("changes", {}):
        option = f"--{name.replace('_', '-')}"
    if option is None:
        return Remedy(command)
    own = getattr(asked.settings, name)
    at_hand = enough(own) if enough else own == wanted
    return Remedy(() if at_hand else command, (f"without {option}",))


def limit(place: int | None) -> Remedy:
    """As many hits as reach that place, if so many can be asked for."""
    return Remedy((), (f"with --limit {place}",)) if place and place <= _MOST_HITS else Remedy()


def boost(asked: ExplainedQuery, name: str) -> Remedy:
    """Without the boost of that name."""
    if name == "recency":
        return Remedy((), ("with --no-decay",))
    for custom in asked.work.plan.boosts:
        if f"{custom.field}:{custom.value}" == name:
            return Remedy((), (f"without --boost {name}={custom.factor:g}",))
    return setting(asked, *_BOOSTS[name])


def _written(value: SettingValue) -> str:
    return f"{value:g}" if isinstance(value, float) else format_value(value)


def nth(number: int | None) -> str:
    """1st, 2nd, 3rd, 4th; 11th to 13th."""
    count = number or 0
    ending = {1: "st", 2: "nd", 3: "rd"}.get(count % 10 if count // 10 % 10 != 1 else 0, "th")
    return f"{count}{ending}"
