"""The query language: what a text means, and that every text means something."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gbrain.text.query import parse_query
from gbrain.text.query_terms import MAX_TERMS, normalise_query
from gbrain.text.query_tree import describe_query, format_tree, parse_tree, wanted_terms
from gbrain.types import Clause, Query, Scope, Term

TODAY = date(2026, 11, 16)


def read(text: str) -> Query:
    return parse_query(text, {"k8s": ("kubernetes",)}, TODAY, Scope(), 10)


def understood(text: str) -> str:
    return describe_query(read(text))


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("river AND boat", "river AND boat"),
        ("river OR boat", "river OR boat"),
        ("river NOT cloud", "river AND NOT cloud"),
        ("river ai NOT cloud", "river ai AND NOT cloud"),
        ("NOT cloud", "NOT cloud"),
        ("NOT NOT cloud OR sky", "cloud OR sky"),
        ("river AND NOT (cloud OR fog)", "river AND NOT (cloud OR fog)"),
        ("a OR b AND c", "a OR b AND c"),
        ("(a OR b) AND c", "(a OR b) AND c"),
        ("a (b OR c) d", "a b OR c d"),
        ("(a b) AND c", "(a b) AND c"),
        ("river (NOT cloud)", "river (NOT cloud)"),
        ('"river ai" AND boat*', '"river ai" AND boat*'),
        ("tag:idea", "tag:idea"),
        ('tag:"big idea" river', 'tag:"big idea" river'),
        ("tag:#idea, plans", "tag:idea plans"),
        ("tag:(idea OR plan)", "tag:idea OR tag:plan"),
        ("wing:People type:Person", "wing:people type:Person"),
        ('title:"River AI" NOT room:list', 'title:"River AI" AND NOT room:list'),
        ("title:riv*", "title:riv*"),
        ("after:2024 plans", "after:2024-01-01 plans"),
        ("before:2024-Q3 plans", "before:2024-07-01 plans"),
        ('after:"last monday" plans', "after:2026-11-09 plans"),
        ("to be OR not to be", "to be OR not to be"),
        ("f(x) AND g", "f(x AND g"),
        ("(river, AND boat).", "river AND boat"),
    ],
)
def test_a_query_parses_to_one_tree(text: str, meaning: str) -> None:
    assert understood(text) == meaning


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("((river AND boat", "river AND boat"),
        ("river) AND boat", "river AND boat"),
        ("AND river OR", "river"),
        ("river AND AND boat", "river AND boat"),
        ("river OR AND boat", "river OR boat"),
        ("AND", "'AND"),
        ("NOT", "'NOT"),
        ("()", ""),
        ("NOT ()", "'NOT"),
        ("title:", "title"),
        ("title: river", "title river"),
        ('tag:""', "tag"),
        ("tag:# river", "'tag:# river"),
        ("title:!!! AND river", "title AND river"),
    ],
)
def test_unmatched_brackets_and_operators_are_ignored(text: str, meaning: str) -> None:
    assert understood(text) == meaning


@pytest.mark.parametrize(
    "text",
    [
        "note: buy milk",
        "see http://example.org/tag",
        "at 10:30",
        "C::foo",
        "subtitle:x",
        "Title: river",
        "river (ai)",
        "and or not",
        "SAND ORE NOTE",
        'say "river ai"',
        "after:party",
        'before:"the war"',
    ],
)
def test_ordinary_text_is_plain_words(text: str) -> None:
    assert read(text).tree is None


def test_a_field_with_an_invalid_date_becomes_words() -> None:
    query = read("after:party NOT cake")
    assert [term.words for term in query.terms] == [("after:party",)]
    assert query.scope.since is None


def test_and_binds_closer_than_or_and_or_than_juxtaposition() -> None:
    def term(word: str) -> Clause:
        return Clause("term", term=Term((word,)))

    assert parse_tree("a b OR c AND d", {}, TODAY) == Clause(
        "loose",
        (term("a"), Clause("any", (term("b"), Clause("all", (term("c"), term("d")))))),
    )


def test_excluded_words_are_not_wanted_terms() -> None:
    tree = parse_tree("a NOT b OR NOT (c AND NOT d) title:e tag:f", {}, TODAY)
    assert tree is not None
    assert [term.words for term in wanted_terms(tree)] == [("a",), ("e",)]


def test_stop_words_are_dropped_only_without_operators() -> None:
    assert understood("tag:x what is the plan") == "tag:x plan"
    assert understood("what is the plan NOT x") == "what is the plan AND NOT x"
    assert understood('tag:x the "plan"') == 'tag:x the "plan"'
    assert understood("tag:x what is") == "tag:x what is"


def test_a_long_query_is_cut() -> None:
    tree = parse_tree(" OR ".join(f"word{n}" for n in range(2 * MAX_TERMS)), {}, TODAY)
    assert tree is not None
    assert len(tree.operands) == MAX_TERMS


PIECES = st.lists(
    st.sampled_from(
        ["a", "b", "river", '"x y"', "pre*", "AND", "OR", "NOT", "(", ")", "tag:t", 'wing:"a b"',
         "title:t", "before:2024", "after:party", "tag:(", "-NOT", "'tag:x", "k8s", "x's's", "the",
         '"', "tag:", "title:a*", "room:é", "type:(", ")),"]
    )
)  # fmt: skip


@given(PIECES | st.text().map(str.split))
@example(["NOT"] * 3000)
@example(["("] * 3000 + ["a", "OR", "b"] + [")"] * 3000)
@example(["NOT", "("] * 1000 + ["a"])
@example(["tag:("] * 500 + ["a"])
def test_a_formatted_tree_parses_to_itself(pieces: list[str]) -> None:
    text = normalise_query(" ".join(pieces))
    tree = parse_tree(text, {"k8s": ("kubernetes",)}, TODAY)
    if tree is not None:
        again = parse_tree(normalise_query(format_tree(tree)), {"k8s": ("kubernetes",)}, TODAY)
        assert again == tree
        assert format_tree(again) == format_tree(tree)
