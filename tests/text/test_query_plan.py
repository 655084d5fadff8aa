"""A query's tree taken apart: demands for every lane, words for the keyword lane."""

from __future__ import annotations

from datetime import date

import pytest

from gbrain.text.query import parse_query
from gbrain.text.query_tree import format_tree
from gbrain.types import Query, Scope


def read(text: str, scope: Scope = Scope()) -> Query:
    return parse_query(text, {"k8s": ("kubernetes",)}, date(2026, 11, 16), scope, 10)


def test_a_plain_query_is_embedded_as_it_is() -> None:
    query = read("  what is  the River plan? ")
    assert query.semantic_text == query.text == "what is the River plan?"
    assert [term.words for term in query.terms] == [("River",), ("plan",)]
    assert (query.tree, query.fts_expression, query.filter_only, query.scope) == (
        None,
        None,
        False,
        Scope(),
    )


@pytest.mark.parametrize(
    ("text", "demands", "words"),
    [
        ("river NOT cloud", "NOT cloud", ["river"]),
        ("river ai NOT cloud", "NOT cloud", ["river", "ai"]),
        ("tag:x river", "tag:x", ["river"]),
        ("tag:x AND wing:y AND river", "tag:x AND wing:y", ["river"]),
        ("(tag:x OR tag:y) river", "tag:x OR tag:y", ["river"]),
        ("(boat OR NOT cloud) river", "boat OR NOT cloud", ["river"]),
        ("title:river boat", "title:river", ["river", "boat"]),
        ("NOT (tag:x OR cloud) river", "NOT (tag:x OR cloud)", ["river"]),
    ],
)
def test_fields_and_nots_become_filters(text: str, demands: str, words: list[str]) -> None:
    query = read(text)
    assert query.scope.tree is not None
    assert format_tree(query.scope.tree) == demands
    assert [" ".join(term.words) for term in query.terms] == words
    assert not query.filter_only


@pytest.mark.parametrize("text", ["NOT cloud", "tag:x", "tag:x OR river", "river OR NOT cloud"])
def test_a_query_of_filters_only_requires_no_word(text: str) -> None:
    assert read(text).filter_only


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("river OR boat", None),
        ("river boat OR sea", None),
        ("river AND boat", '("river" AND "boat")'),
        ("a AND b c", '(("a" AND "b") OR "c")'),
        ("k8s AND v1.2", '(("k8s" OR "kubernetes") AND "v1.2")'),
        ('"river ai" AND boat*', '("river ai" AND "boat"*)'),
        ("(a OR b) AND c NOT d", '(("a" OR "b") AND "c")'),
    ],
)
def test_words_are_matched_as_the_operators_say(text: str, expression: str | None) -> None:
    assert read(text).fts_expression == expression


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("river NOT cloud", "river"),
        ('"River AI" AND boats tag:x', "River AI boats"),
        ("title:river what is new", "river new"),
        ("NOT cloud", ""),
    ],
)
def test_embedded_text_has_no_operators_or_excluded_words(text: str, meaning: str) -> None:
    assert read(text).semantic_text == meaning


def test_dates_join_those_of_the_scope_and_the_narrower_holds() -> None:
    days = Scope(since="2024-06-01", until="2025-06-01")
    assert read("after:2024 before:2026 x", days).scope == days
    assert read("after:2025 before:2025-03 x", days).scope == Scope(
        since="2025-01-01", until="2025-02-28"
    )
    assert read("before:0001-01-01 x").scope.until == "0000-12-31"


def test_dates_among_alternatives_are_no_bounds_for_all() -> None:
    query = read("(before:2024 OR tag:x) plans")
    assert (query.scope.since, query.scope.until) == (None, None)
    assert query.scope.tree is not None
