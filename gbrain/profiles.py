"""Profiles: named sets of settings that bring back the pipelines gbrain grew from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gbrain.config import (
    ENGRAM,
    FUSION,
    GBRAIN,
    GIGABRAIN,
    JEFFS,
    SIFT,
    Settings,
    find_setting,
    read_value,
    written_value,
)
from gbrain.errors import NotFound


class Profile(NamedTuple):
    """What a profile changes of the defaults; `values` are written as `config set` takes them."""

    name: str
    source: str
    help: str
    values: Mapping[str, str]


# Without what the other sources have not: no short-circuit, no bias that they do not know.
_PLAIN = {
    "short_circuit": "off",
    "search_merge_strategy": "rrf",
    "wing_boost": "1",
    "date_boost": "off",
    "exact_boost": "1",
    "drop_superseded": "off",
}

PROFILES = (
    Profile("default", GBRAIN, "What measured best: short-circuit, set-union, dates", {}),
    Profile(
        "gigabrain", GIGABRAIN,
        "The same with a bias by wing: names favour people and companies, how-to concepts",
        {"wing_boost": "1.15"},
    ),
    Profile(
        "jeffs", JEFFS,
        "Two lanes by rrf, retry ladder, intent reweighting, rerank of the head",
        {
            **_PLAIN, "preference_boost": "on", "concrete_boost": "on",
            "rerank": "cross-encoder", "rerank_head": "20", "unanimity": "on",
        },
    ),
    Profile(
        "engram", ENGRAM,
        "Four lanes by intent-weighted rrf, boosts by use and time, rerank, noise and gate",
        {
            **_PLAIN, "intent_weights": "on", "graph_weight": "1", "associative_weight": "1",
            "hopfield_beta": "8", "hypothetical_questions": "authored", "candidate_pool": "30",
            "date_boost": "on", "importance_boost": "on", "access_boost": "on",
            "recency_half_life_days": "30", "rerank": "cross-encoder", "rerank_head": "20",
            "unanimity": "off", "noise_sigma": "0.02", "threshold": "0.6",
        },
    ),
    Profile(
        "fusion", FUSION,
        "Semantic and keyword weights by rrf, keywords off until one turns them up",
        {**_PLAIN, "semantic_weight": "1", "keyword_weight": "0"},
    ),
    Profile(
        "sift", SIFT,
        "Two lanes by rrf, scores fade by exp(-age / 7 days), five hits, superseded dropped",
        {
            **_PLAIN, "candidate_pool": "50", "default_limit": "5", "recency_tau_days": "7",
            "recency_of": "all", "drop_superseded": "on",
        },
    ),
)  # fmt: skip


def find_profile(name: str) -> Profile:
    """The profile called `name`; raises NotFound with the names there are."""
    for profile in PROFILES:
        if profile.name == name:
            return profile
    names = ", ".join(profile.name for profile in PROFILES)
    raise NotFound(f"There is no profile {name!r}", hint=f"There are {names}.")


def profile_values(name: str) -> dict[str, str]:
    """The settings of a profile; where it is silent but another is not, the default.

    So one profile after another never leaves a trace of the first.
    """
    profile = find_profile(name)
    touched = sorted({setting for other in PROFILES for setting in other.values})
    defaults = {setting: written_value(find_setting(setting).default) for setting in touched}
    return {**defaults, **profile.values}


def in_force(settings: Settings, name: str) -> bool:
    """Whether the settings are those of the profile."""
    values = profile_values(name)
    return all(getattr(settings, key) == read_value(key, value) for key, value in values.items())
