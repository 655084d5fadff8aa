"""Arguments are checked against the schemas of the tools, with clear messages."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.errors import UsageError
from gbrain.mcp.arguments import check_arguments
from gbrain.mcp.tools import TOOLS

SCHEMAS = {tool.name: tool.input_schema for tool in TOOLS}
QUERY = SCHEMAS["brain_query"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "query is missing"),
        ({"query": None}, "query is missing"),
        ({"query": 7}, "query takes text, not 7"),
        ({"query": "x" * 10_001}, "query has 10,001 characters; the limit is 10,000"),
        ({"query": "x", "limit": "many"}, "limit takes a whole number, not 'many'"),
        ({"query": "x", "limit": True}, "limit takes a whole number, not true"),
        ({"query": "x", "limit": 1.5}, "limit takes a whole number, not 1.5"),
        ({"query": "x", "limit": 0}, "limit takes a number from 1 to 100, not 0"),
        ({"query": "x", "budget": 10**5000},
         "budget has a number of more than 4,300 digits"),
        ({"query": "x", "budget": 10**20},
         "budget takes a number from 1 to 100000, not a very large number"),
        ({"query": "x", "mode": "best"},
         "mode takes bm25 | semantic | hybrid | auto, not 'best'"),
        ({"query": "x", "rerank": "yes"}, "rerank takes true or false, not 'yes'"),
        ({"query": "x", "tags": "red"}, "tags takes a list, not 'red'"),
        ({"query": "x", "tags": ["red", None]}, "tags[1] takes text, not null"),
        ({"query": "x", "tags": ["x"] * 101}, "tags has 101 entries; the limit is 100"),
        ({"query": "x", "where": []}, "where takes an object, not a list"),
        ({"query": "x", "where": {"a": {}}},
         "where['a'] takes text, not an object"),
        ({"query": "x", "wings": "people"}, "There is no argument 'wings'"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named_with_what_it_takes(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        check_arguments(QUERY, arguments)
    assert caught.value.message == message
    assert caught.value.hint


def test_the_nearest_argument_is_suggested() -> None:
    with pytest.raises(UsageError) as caught:
        check_arguments(QUERY, {"query": "x", "wings": "people"})
    assert caught.value.hint
    assert caught.value.hint.startswith("Did you mean wing? The arguments are query, ")


def test_null_counts_as_absent_and_5_0_as_a_whole_number() -> None:
    given_ = {"query": "x", "limit": 5.0, "wing": None}
    assert check_arguments(QUERY, given_) == {"query": "x", "limit": 5}
    assert isinstance(check_arguments(QUERY, given_)["limit"], int)


def test_a_tool_without_arguments_takes_none() -> None:
    assert check_arguments(SCHEMAS["brain_stats"], None) == {}


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 200) | st.floats() | st.text(max_size=5)
    | st.sampled_from(["auto", "bm25", "2026-04"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)  # fmt: skip


@given(st.sampled_from(sorted(SCHEMAS)), st.data())
def test_the_check_allows_what_the_schema_allows(name: str, data: st.DataObject) -> None:
    schema = SCHEMAS[name]
    names = st.sampled_from([*schema["properties"], "other"])
    arguments = data.draw(st.dictionaries(names, values, max_size=4))
    present = {key: value for key, value in arguments.items() if value is not None}
    try:
        check_arguments(schema, arguments)
        taken = True
    except UsageError:
        taken = False
    assert taken == jsonschema.Draft202012Validator(schema).is_valid(present)
