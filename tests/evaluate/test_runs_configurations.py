"""Which configurations the options of `eval` name."""

from __future__ import annotations

import pytest

from gbrain.errors import BadSetting, NotFound, UsageError
from gbrain.evaluate.runs import (
    DEFAULT_CONFIGURATION,
    STANDARD_CONFIGURATIONS,
    Configuration,
    configurations_from_options,
)


def names(configurations: tuple[Configuration, ...]) -> list[str]:
    return [configuration.name for configuration in configurations]


def test_no_options_give_no_configuration() -> None:
    assert configurations_from_options() == ()
    assert names(STANDARD_CONFIGURATIONS) == ["fts", "semantic", "set-union", "rrf", "blend"]


def test_modes_and_merges_are_configurations() -> None:
    assert names(configurations_from_options(modes=["bm25", "semantic", "hybrid"])) == [
        "fts",
        "semantic",
        "hybrid",
    ]
    assert names(configurations_from_options(merges=["rrf", "blend"])) == ["rrf", "blend"]
    both = configurations_from_options(modes=["bm25", "hybrid"], merges=["rrf", "blend"])
    assert names(both) == ["fts", "rrf", "blend"]
    assert both[1].values == {"search_mode": "hybrid", "search_merge_strategy": "rrf"}


def test_changes_apply_to_the_defaults() -> None:
    default, changed = configurations_from_options(changes=["both_bonus=0.4, rrf_k = 20"])
    assert default == DEFAULT_CONFIGURATION
    assert changed == Configuration(
        "both_bonus=0.4, rrf_k = 20", {"both_bonus": "0.4", "rrf_k": "20"}
    )
    assert changed.settings.both_bonus == 0.4


def test_changes_apply_to_the_only_named_configuration() -> None:
    plain, changed = configurations_from_options(merges=["rrf"], changes=["rrf_k=20"])
    assert (plain.name, changed.name) == ("rrf", "rrf rrf_k=20")
    assert changed.settings.search_merge_strategy == "rrf"
    assert changed.settings.rrf_k == 20


def test_with_several_named_changes_apply_to_the_defaults() -> None:
    *_, changed = configurations_from_options(
        modes=["bm25", "semantic"], changes=["mode=hybrid,merge=blend"]
    )
    assert changed.values == {"search_mode": "hybrid", "search_merge_strategy": "blend"}


def test_rerank_adds_a_configuration() -> None:
    plain, reranked = configurations_from_options(merges=["blend"], rerank=True)
    assert reranked.name == "blend reranked"
    assert reranked.settings.rerank == "cross-encoder"
    assert plain.settings.rerank == "off"


def test_a_value_may_contain_commas() -> None:
    _, changed = configurations_from_options(changes=["rerank_command=sort -k1,1,rrf_k=5"])
    assert changed.values == {"rerank_command": "sort -k1,1", "rrf_k": "5"}


def test_a_profile_is_a_configuration() -> None:
    default, sift = configurations_from_options(profiles=["gigabrain", "sift"])
    assert names((default, sift)) == ["gigabrain", "sift"]
    assert sift.settings.search_merge_strategy == "rrf"
    with pytest.raises(NotFound):
        configurations_from_options(profiles=["nobody"])


def test_only_vector_search_needs_vectors() -> None:
    assert [c.name for c in STANDARD_CONFIGURATIONS if not c.wants_vectors] == ["fts"]
    assert DEFAULT_CONFIGURATION.wants_vectors
    assert not configurations_from_options(changes=["semantic_weight=0"])[1].wants_vectors


def test_equal_configurations_run_once() -> None:
    assert names(
        configurations_from_options(merges=["rrf", "rrf"], changes=["rrf_k=5", "rrf_k=5"])
    ) == [
        "rrf",
        "rrf_k=5",
    ]


@pytest.mark.parametrize("written", ["rrf_k", "=5", "rrf_k=5,", ""])
def test_a_change_is_a_name_and_a_value(written: str) -> None:
    with pytest.raises((UsageError, BadSetting)):
        configurations_from_options(changes=[written])


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(BadSetting, match="There is no setting 'rrfk'"):
        configurations_from_options(changes=["rrfk=5"])
    with pytest.raises(BadSetting, match="search_mode cannot be 'magic'"):
        configurations_from_options(modes=["magic"])
