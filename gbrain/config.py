"""Every setting in one table: type, range, default, source; help and validation follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from gbrain.errors import BadSetting

# Where a rule comes from, as the documentation names it.
GIGABRAIN, JEFFS, ENGRAM, FUSION, SIFT, GBRAIN = (
    "gigabrain", "jeffs-brain", "engram", "retrieval fusion", "siftcoder", "gbrain",
)  # fmt: skip

Value = str | int | float | bool


class Setting:
    """One row of the table; as an attribute of `Settings` it gives the default."""

    __slots__ = ("choices", "default", "help", "high", "kind", "low", "name", "source")
    name: str

    def __init__(
        self,
        default: Value,
        help: str,
        source: str,
        low: float | None,
        high: float | None,
        choices: tuple[str, ...],
    ) -> None:
        self.kind, self.default, self.help, self.source = type(default), default, help, source
        self.low, self.high, self.choices = low, high, choices

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, settings: object, owner: type) -> Any:
        return self if settings is None else self.default

    @property
    def allowed(self) -> str:
        """The values it takes, in words."""
        if self.choices:
            return " | ".join(self.choices)
        if self.kind is bool:
            return "on | off"
        return f"{self.low:.10g} to {self.high:.10g}"


def _setting(
    default: Value,
    help: str,
    source: str = GBRAIN,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    return Setting(default, help, source, low, high, choices)


class Settings:
    """A brain's settings; each attribute is a row of the table that `gbrain config list` prints.

    Not a dataclass: a search would pay for the making of one, and grow slower with each row.
    """

    search_mode: str = _setting(
        "auto", "Lanes that `query` uses; auto is hybrid once the brain has vectors", JEFFS,
        choices=("auto", "hybrid", "bm25", "semantic"),
    )  # fmt: skip
    search_merge_strategy: str = _setting(
        "set-union", "How the lanes' pages become one list", GIGABRAIN,
        choices=("set-union", "set-union-rank", "rrf", "blend"),
    )  # fmt: skip
    both_bonus: float = _setting(
        0.6, "set-union: share of the weaker lane's score that a page in both lanes gains",
        GIGABRAIN, low=0, high=1,
    )  # fmt: skip
    rank_bonus: float = _setting(
        0.25, "set-union-rank: what a page in both lanes gains", GIGABRAIN, low=0, high=1
    )
    rrf_k: int = _setting(60, "rrf: score is weight / (rrf_k + rank)", JEFFS, low=1, high=1000)
    semantic_weight: float = _setting(
        1.0, "Weight of the vector lane; 0 switches it off", FUSION, low=0, high=5
    )
    keyword_weight: float = _setting(
        1.0, "Weight of the keyword lane; 0 switches it off", FUSION, low=0, high=5
    )
    candidate_pool: int = _setting(
        50, "Pages that each lane hands to the merge", SIFT, low=1, high=1000
    )
    default_limit: int = _setting(10, "Hits shown without --limit", ENGRAM, low=1, high=1000)
    default_token_budget: int = _setting(
        4000, "Tokens that --depth auto may fill without --budget", GIGABRAIN, low=1, high=1_000_000
    )
    passage_k: int = _setting(
        10, "--depth auto: a passage is worth k / (k + its place) in each lane", low=1, high=1000
    )
    page_standing: float = _setting(
        0.5, "--depth auto: share of its page's score that a passage gains", low=0, high=5
    )
    context_floor: float = _setting(
        0.1, "--depth auto: passages worth less than this share of the best are left out",
        low=0, high=1,
    )  # fmt: skip
    short_circuit: bool = _setting(
        True, "Answer at once when the query is a page's slug, title or alias", GIGABRAIN
    )
    title_weight: float = _setting(2.0, "Keyword lane: weight of the title", low=0, high=100)
    slug_weight: float = _setting(1.0, "Keyword lane: weight of the slug", low=0, high=100)
    truth_weight: float = _setting(1.0, "Keyword lane: weight of compiled truth", low=0, high=100)
    timeline_weight: float = _setting(1.0, "Keyword lane: weight of the timeline", low=0, high=100)
    tags_weight: float = _setting(1.0, "Keyword lane: weight of tags", low=0, high=100)
    aliases_weight: float = _setting(2.0, "Keyword lane: weight of aliases", low=0, high=100)
    chunk_weight: float = _setting(
        0.5, "Keyword lane: weight of a page's best passage beside the page itself", low=0, high=10
    )
    all_words_bonus: float = _setting(
        0.1, "Keyword lane: share of its score that a page holding every word gains", low=0, high=5
    )
    busy_seconds: float = _setting(
        10.0, "How long a write waits for another program's write", low=0, high=600
    )

    def __init__(self, **changed: Value) -> None:
        self.__dict__.update(changed)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("settings do not change; with_values makes others")


@cache
def known_settings() -> Mapping[str, Setting]:
    """Every setting by name, in the order of the table."""
    return {name: row for name, row in vars(Settings).items() if isinstance(row, Setting)}


def find_setting(name: str) -> Setting:
    """The setting called `name`; raises BadSetting with the nearest name."""
    table = known_settings()
    if name not in table:
        from difflib import get_close_matches

        near = get_close_matches(name, table, n=1)
        hint = f"Did you mean {near[0]}?" if near else "gbrain config list shows them all."
        raise BadSetting(f"There is no setting {name!r}", hint=hint)
    return table[name]


def read_value(name: str, written: str) -> Value:
    """`written` as a value of the setting `name`; raises BadSetting when it may not be that."""
    setting = find_setting(name)
    value = _converted(setting.kind, written.strip())
    allowed = value is not None and (not setting.choices or value in setting.choices)
    if allowed and isinstance(value, int | float) and not isinstance(value, bool):
        low = setting.low if setting.low is not None else value
        high = setting.high if setting.high is not None else value
        allowed = low <= value <= high
    if not allowed or value is None:
        raise BadSetting(f"{name} cannot be {written!r}", hint=f"It takes {setting.allowed}.")
    return value


def _converted(kind: type, written: str) -> Value | None:
    if kind is bool:
        flags = {"on": True, "true": True, "yes": True, "1": True}
        flags |= {"off": False, "false": False, "no": False, "0": False}
        return flags.get(written.casefold())
    if kind is str:
        return written
    try:
        number = int(written) if kind is int else float(written)
    except ValueError:
        return None
    return number


def written_value(value: Value) -> str:
    """A value as `config set` takes it."""
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def with_values(settings: Settings, written: Mapping[str, str]) -> Settings:
    """`settings` with some changed; raises BadSetting for what cannot be."""
    values = {name: read_value(name, text) for name, text in written.items()}
    return Settings(**{**vars(settings), **values})
