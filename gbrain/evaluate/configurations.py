"""Define what an evaluation compares: named sets of settings that differ from the defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gbrain.config import Settings, override_settings
from gbrain.errors import UsageError
from gbrain.profiles import profile_values

_MODE, _MERGE, _RERANK = "search_mode", "search_merge_strategy", "rerank"
_SHORT_NAMES = {"mode": _MODE, "merge": _MERGE}


class Configuration(NamedTuple):
    """Setting values as `config set` accepts them; other settings are at their defaults."""

    name: str
    values: Mapping[str, str]

    @property
    def settings(self) -> Settings:
        """All settings under this configuration; raises BadSetting for an invalid value."""
        return override_settings(Settings(), self.values)

    @property
    def wants_vectors(self) -> bool:
        settings = self.settings
        return settings.search_mode != "bm25" and settings.semantic_weight > 0


DEFAULT_CONFIGURATION = Configuration("default", {})
STANDARD_CONFIGURATIONS = (
    Configuration("fts", {_MODE: "bm25"}),
    Configuration("semantic", {_MODE: "semantic"}),
    *(
        Configuration(name, {_MODE: "hybrid", _MERGE: name})
        for name in ("set-union", "rrf", "blend")
    ),
)


def configurations_from_options(
    modes: Sequence[str] = (),
    merges: Sequence[str] = (),
    profiles: Sequence[str] = (),
    changes: Sequence[str] = (),
    *,
    rerank: bool = False,
) -> tuple[Configuration, ...]:
    """Return the configurations that the options of `eval` name, the baseline first.

    Each item of `changes` ("rrf_k=20,both_bonus=0.4") and `rerank` adds one configuration. It is
    based on the one that the other options name, or on the defaults if they name none or several.
    """
    named = [*_lane_configurations(modes, merges), *map(_profile_configuration, profiles)]
    base = named[0] if len(named) == 1 else DEFAULT_CONFIGURATION
    more = [_change(base, option.strip(), _parse_pairs(option)) for option in changes]
    if rerank:
        more.append(_change(base, "reranked", {_RERANK: "cross-encoder"}))
    if more and not named:
        named = [DEFAULT_CONFIGURATION]
    by_name = {configuration.name: configuration for configuration in [*named, *more]}
    for configuration in by_name.values():
        # Reports an invalid value before the work begins.
        _ = configuration.settings
    return tuple(by_name.values())


def _lane_configurations(modes: Sequence[str], merges: Sequence[str]) -> list[Configuration]:
    hybrids = [Configuration(merge, {_MODE: "hybrid", _MERGE: merge}) for merge in merges]
    named: list[Configuration] = []
    for mode in modes:
        if mode == "hybrid" and hybrids:
            named += hybrids
        else:
            named.append(Configuration("fts" if mode == "bm25" else mode, {_MODE: mode}))
    return named if modes else hybrids


def _profile_configuration(name: str) -> Configuration:
    return Configuration(name, profile_values(name))


def _change(base: Configuration, name: str, values: Mapping[str, str]) -> Configuration:
    full_name = name if base == DEFAULT_CONFIGURATION else f"{base.name} {name}"
    return Configuration(full_name, {**base.values, **values})


def _parse_pairs(option: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    # A comma separates two settings only where NAME= follows: values may contain commas.
    for pair in re.split(r",(?=\s*\w+\s*=)", option):
        name, equals, value = (field.strip() for field in pair.partition("="))
        if not equals or not name:
            raise UsageError(
                f"--set takes NAME=VALUE, not {pair.strip()!r}",
                hint="For example: --set both_bonus=0.4,rrf_k=20",
            )
        pairs[_SHORT_NAMES.get(name, name)] = value
    return pairs
