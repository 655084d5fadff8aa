"""Arguments held against their schemas: what is refused, and in which words."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.errors import UsageError
from gbrain.mcp.arguments import checked
from gbrain.mcp.tools import TOOLS

TAKES = {tool.name: tool.takes for tool in TOOLS}
QUERY = TAKES["brain_query"]


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
         "budget takes a number from 1 to 100000, not a number beyond all bounds"),
        ({"query": "x", "mode": "best"},
         "mode takes bm25 | semantic | hybrid | auto, not 'best'"),
        ({"query": "x", "rerank": "yes"}, "rerank takes true or false, not 'yes'"),
        ({"query": "x", "tags": "red"}, "tags takes a list, not 'red'"),
        ({"query": "x", "tags": ["red", None]}, "tags holds an entry that takes text, not null"),
        ({"query": "x", "tags": ["x"] * 101}, "tags has 101 entries; the limit is 100"),
        ({"query": "x", "where": []}, "where takes an object, not a list"),
        ({"query": "x", "where": {"a": {}}},
         "where holds an entry that takes text, not an object"),
        ({"query": "x", "wings": "people"}, "There is no argument 'wings'"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named_with_what_it_takes(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        checked(QUERY, arguments)
    assert caught.value.message == message
    assert caught.value.hint


def test_the_nearest_argument_is_suggested() -> None:
    with pytest.raises(UsageError) as caught:
        checked(QUERY, {"query": "x", "wings": "people"})
    assert caught.value.hint
    assert caught.value.hint.startswith("Did you mean wing? There are query, depth, ")


def test_null_is_as_if_it_were_absent_and_whole_numbers_may_have_a_point() -> None:
    given_ = {"query": "x", "limit": 5.0, "wing": None}
    assert checked(QUERY, given_) == {"query": "x", "limit": 5}
    assert isinstance(checked(QUERY, given_)["limit"], int)


def test_no_arguments_at_all() -> None:
    assert checked(TAKES["brain_stats"], None) == {}


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 200) | st.floats() | st.text(max_size=5)
    | st.sampled_from(["auto", "bm25", "2026-04"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)  # fmt: skip


@given(st.sampled_from(sorted(TAKES)), st.data())
def test_what_is_taken_is_what_the_schema_allows(name: str, data: st.DataObject) -> None:
    """The schema that is listed and the check that is made are one rule, null aside."""
    schema = TAKES[name]
    names = st.sampled_from([*schema["properties"], "other"])
    arguments = data.draw(st.dictionaries(names, values, max_size=4))
    present = {key: value for key, value in arguments.items() if value is not None}
    try:
        checked(schema, arguments)
        taken = True
    except UsageError:
        taken = False
    assert taken == jsonschema.Draft202012Validator(schema).is_valid(present)
