"""Profiles: named sets of settings that reproduce the search of the projects gbrain builds on."""

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
    all_settings,
    format_value,
    parse_value,
)
from gbrain.errors import NotFound


class Profile(NamedTuple):
    """A profile; `values` has settings by name, as `gbrain config set` accepts them.

    It includes every constant of its source, even if the default is the same today.
    """

    name: str
    source: str
    help: str
    values: Mapping[str, str]


# Settings that do not change which pages are found and in which order.
SETTINGS_OUTSIDE_PROFILES = frozenset(
    """default_token_budget chunk_k page_standing answer_bonus context_floor verdict_strong
    verdict_nothing rerank_command rerank_seconds noise_seed record_queries keep_queries
    record_access stale_days capture_page busy_seconds write_through default_folder
    keep_warm idle_minutes use_trash""".split()
)

# Reciprocal rank fusion alone, without boosts: what the sources other than gigabrain share.
_PLAIN = {
    "search_mode": "auto",
    "short_circuit": "off",
    "search_merge_strategy": "rrf",
    "rrf_k": "60",
    "semantic_weight": "1",
    "keyword_weight": "1",
    "wing_boost": "1",
    "date_boost": "off",
    "exact_boost": "1",
    "drop_superseded": "off",
    "hypothetical_questions": "off",
}

PROFILES = (
    Profile("default", GBRAIN, "The default settings; best results in the benchmarks", {}),
    Profile(
        "gigabrain", GIGABRAIN,
        "Rank a page by its better lane (keyword or vector), higher if both find it",
        {
            "search_mode": "auto", "short_circuit": "on",
            "search_merge_strategy": "set-union-rank", "rank_bonus": "0.25",
            "semantic_weight": "1", "keyword_weight": "1", "wing_boost": "1.15",
            "hypothetical_questions": "off",
        },
    ),
    Profile(
        "jeffs", JEFFS,
        "Adjust scores to the kind of question, then rerank with a second model (slow)",
        {
            **_PLAIN, "retry_ladder": "on", "fuzzy_similarity": "0.3",
            "preference_boost": "on", "preference_stated_factor": "2.35",
            "preference_personal_factor": "2.1", "preference_reference_factor": "0.82",
            "preference_generic_factor": "0.9", "concrete_boost": "on",
            "concrete_fact_factor": "2.2", "roll_up_factor": "0.45", "long_prose_factor": "0.75",
            "rerank": "cross-encoder", "rerank_head": "20", "unanimity": "on",
        },
    ),
    Profile(
        "engram", ENGRAM,
        "Also find linked and similar pages, favour pages you open, rerank (slow)",
        {
            **_PLAIN, "intent_weights": "on", "graph_weight": "1", "associative_weight": "1",
            "hopfield_beta": "8", "hypothetical_questions": "authored", "default_limit": "10",
            "dense_multiplier": "3", "bm25_multiplier": "3", "date_boost": "on",
            "date_day_factor": "1.35", "date_week_factor": "1.2", "date_month_factor": "1.08",
            "importance_boost": "on",
            "access_boost": "on", "recency_half_life_days": "30", "recency_of": "episodes",
            "rerank": "cross-encoder+learned", "rerank_head": "20", "unanimity": "off",
            "noise_sigma": "0.02", "threshold": "0.6",
        },
    ),
    Profile(
        "fusion", FUSION,
        "Use the vector lane only; keyword_weight above 0 adds the keyword lane",
        {**_PLAIN, "keyword_weight": "0"},
    ),
    Profile(
        "sift", SIFT,
        "Favour notes of the last week; show five results",
        {
            **_PLAIN, "candidate_pool": "50", "default_limit": "5", "recency_tau_days": "7",
            "recency_of": "all", "recency_floor": "0", "drop_superseded": "on",
        },
    ),
)  # fmt: skip


def find_profile(name: str) -> Profile:
    """Return the profile called `name`; raise NotFound with all names if there is none."""
    for profile in PROFILES:
        if profile.name == name:
            return profile
    names = ", ".join(profile.name for profile in PROFILES)
    raise NotFound(f"There is no profile {name!r}", hint=f"The profiles are {names}.")


def profile_values(name: str) -> dict[str, str]:
    """Return the value of every setting that affects results; the default if the profile has none.

    A profile then gives the same results on any brain, and none of its values stay behind when
    another profile is used.
    """
    profile = find_profile(name)
    defaults = {
        setting: format_value(row.default)
        for setting, row in all_settings().items()
        if setting not in SETTINGS_OUTSIDE_PROFILES
    }
    return {**defaults, **profile.values}


def is_active_profile(settings: Settings, name: str) -> bool:
    """Tell whether the settings are those of the profile."""
    values = profile_values(name)
    return all(getattr(settings, key) == parse_value(key, value) for key, value in values.items())
