"""The table of query options, and the scope and settings that values of options stand for."""

from __future__ import annotations

from datetime import date

import pytest

from gbrain.errors import UsageError
from gbrain.query_options import FILTERS, QUERY_OPTIONS, parse_scope, setting_overrides
from gbrain.types import Scope

TODAY = date(2026, 11, 17)
SCOPE = Scope(
    wing="people", room="profile", type="person", tags=("red",), slug_prefix="people/",
    since="2026-04-01", until="2026-04-30", where=(("status", "done"),), exclude=("people/x",),
)  # fmt: skip
GIVEN = {
    "wing": " People ", "room": "Profile", "type": "person", "slug_prefix": "People/",
    "since": "2026-04", "until": "2026-04", "exclude": ["People/X"],
}  # fmt: skip


def test_options_of_the_command_line_become_a_scope() -> None:
    assert parse_scope({**GIVEN, "tag": ["#red"], "where": ["status = done"]}, TODAY) == SCOPE


def test_arguments_of_a_tool_become_the_same_scope() -> None:
    given = {**GIVEN, "tags": ["#red"], "where": {"status": "done"}}
    assert parse_scope(given, TODAY) == SCOPE


def test_no_filters_are_a_scope_without_limits() -> None:
    assert parse_scope({}, TODAY) == Scope()
    assert parse_scope(dict.fromkeys(FILTERS), TODAY) == Scope()


def test_every_filter_is_a_field_of_the_scope() -> None:
    assert FILTERS
    fields = [QUERY_OPTIONS[name].tool_argument for name in FILTERS]
    # The query text gives the other two: fields and NOTs, and the periods it names.
    assert (*fields, "tree", "periods") == Scope._fields


@pytest.mark.parametrize("given", [{"where": ["status"]}, {"where": ["=done"]}, {"since": "soon"}])
def test_a_malformed_value_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        parse_scope(given, TODAY)


def test_switches_stand_for_settings() -> None:
    assert setting_overrides({"rerank": False, "no_decay": None}) == {}
    assert setting_overrides({"rerank": True, "no_decay": True, "include_superseded": True}) == {
        "rerank": "cross-encoder",
        "recency_tau_days": "0",
        "recency_half_life_days": "0",
        "drop_superseded": "off",
    }
    assert setting_overrides({"profile": "sift", "rerank": True})["rerank"] == "cross-encoder"
