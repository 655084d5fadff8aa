"""What is compared: each configuration is a name and the settings that differ from the defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gbrain.config import Settings, override_settings
from gbrain.errors import UsageError
from gbrain.profiles import profile_values

MODE, MERGE, RERANK = "search_mode", "search_merge_strategy", "rerank"
_SHORT = {"mode": MODE, "merge": MERGE}


class Configuration(NamedTuple):
    """`values` as `config set` takes them; what they do not name is at its default."""

    name: str
    values: Mapping[str, str]

    @property
    def settings(self) -> Settings:
        """Raises BadSetting for a value that cannot be."""
        return override_settings(Settings(), self.values)

    @property
    def wants_vectors(self) -> bool:
        settings = self.settings
        return settings.search_mode != "bm25" and settings.semantic_weight > 0


DEFAULT_CONFIGURATION = Configuration("default", {})
STANDARD_CONFIGURATIONS = (
    Configuration("fts", {MODE: "bm25"}),
    Configuration("semantic", {MODE: "semantic"}),
    *(Configuration(name, {MODE: "hybrid", MERGE: name}) for name in ("set-union", "rrf", "blend")),
)


def configurations_from_options(
    modes: Sequence[str] = (),
    merges: Sequence[str] = (),
    profiles: Sequence[str] = (),
    changes: Sequence[str] = (),
    *,
    rerank: bool = False,
) -> tuple[Configuration, ...]:
    """The configurations that the options name, the baseline first; none if they name none.

    Each of `changes` ("rrf_k=20,both_bonus=0.4") and `rerank` is one more, made from the one that
    the other options name, or from the defaults if they name none or several.
    """
    named = [*_by_lane(modes, merges), *map(_profile, profiles)]
    base = named[0] if len(named) == 1 else DEFAULT_CONFIGURATION
    more = [_changed(base, written.strip(), _pairs(written)) for written in changes]
    if rerank:
        more.append(_changed(base, "reranked", {RERANK: "cross-encoder"}))
    if more and not named:
        named = [DEFAULT_CONFIGURATION]
    every = {configuration.name: configuration for configuration in [*named, *more]}
    for configuration in every.values():
        _ = configuration.settings
    return tuple(every.values())


def _by_lane(modes: Sequence[str], merges: Sequence[str]) -> list[Configuration]:
    hybrids = [Configuration(merge, {MODE: "hybrid", MERGE: merge}) for merge in merges]
    named: list[Configuration] = []
    for mode in modes:
        if mode == "hybrid" and hybrids:
            named += hybrids
        else:
            named.append(Configuration("fts" if mode == "bm25" else mode, {MODE: mode}))
    return named if modes else hybrids


def _profile(name: str) -> Configuration:
    return Configuration(name, profile_values(name))


def _changed(base: Configuration, name: str, values: Mapping[str, str]) -> Configuration:
    full_name = name if base == DEFAULT_CONFIGURATION else f"{base.name} {name}"
    return Configuration(full_name, {**base.values, **values})


def _pairs(written: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    # A comma parts two settings only where a name follows it.
    for pair in re.split(r",(?=\s*\w+\s*=)", written):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise UsageError(
                f"--set takes NAME=VALUE, not {pair.strip()!r}",
                hint="For example: --set both_bonus=0.4,rrf_k=20",
            )
        pairs[_SHORT.get(name, name)] = value
    return pairs
