"""Any string is a query: what is read from it, and that no character is syntax by accident."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gbrain.text.query import parse_query
from gbrain.text.query_terms import (
    MAX_PHRASE_WORDS,
    MAX_QUERY_CHARACTERS,
    MAX_TERMS,
    fts_expression,
    fts_term,
    fts_whole_term,
    normalise_query,
    parse_terms,
    rare_terms_expression,
)
from gbrain.text.unspaced import has_unspaced_script, index_text
from gbrain.types import Scope, Term


def words(text: str) -> list[tuple[str, ...]]:
    return [term.words for term in parse_terms(normalise_query(text))]


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("  river \t ai\n", "river ai"),
        ("Cafe\u0301", "Café"),
        ("“river ai”", '"river ai"'),
        ("Alice’s", "Alice's"),
        ("a\u200bb\0c", "abc"),
        ("", ""),
    ],
)
def test_a_query_is_normalised(text: str, normal: str) -> None:
    assert normalise_query(text) == normal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fix the auth-middleware bug", [("fix",), ("auth-middleware",), ("bug",)]),
        ("C++ or C#?", [("C++",), ("C#",)]),
        ('"unclosed phrase', [("unclosed",), ("phrase",)]),
        ('say "river ai" twice', [("say",), ("river", "ai"), ("twice",)]),
        ("NEAR(", [("NEAR",)]),
        ("a AND", [("a",), ("AND",)]),
        ("to be or not to be", [("to",), ("be",), ("or",), ("not",)]),
        ('"the" who', [("the",), ("who",)]),
        ("Alice's plan", [("Alice",), ("plan",)]),
        ("title:river^2 -cloud", [("title:river^2",), ("cloud",)]),
        ("知识 管理", [("知识",), ("管理",)]),
        ("🚀 !! --", []),
        ("river River river", [("river",), ("River",)]),
    ],
)
def test_words_and_phrases_become_terms(text: str, expected: list[tuple[str, ...]]) -> None:
    assert words(text) == expected


def test_a_star_makes_a_prefix_term() -> None:
    assert parse_terms("riv* *ai") == (Term(("riv",), prefix=True), Term(("ai",)))


def test_an_alias_applies_even_to_a_stop_word() -> None:
    known = {"k8s": ("kubernetes",), "it": ("information technology",)}
    assert parse_terms("K8s it now", known) == (
        Term(("K8s",), synonyms=("kubernetes",)),
        Term(("it",), synonyms=("information technology",)),
        Term(("now",)),
    )
    assert fts_expression(parse_terms("k8s", known)) == '("k8s" OR "kubernetes")'


def test_a_long_query_is_cut() -> None:
    assert len(parse_terms(" ".join(f"word{n}" for n in range(2 * MAX_TERMS)))) == MAX_TERMS


@pytest.mark.parametrize(
    "text",
    [
        " ".join("a" * length + "*" for length in range(1, 99)),
        " OR ".join("a" * length + "*" for length in range(1, 99)),
        " ".join("-".join("a" * length) for length in range(2, 99)),
        " ".join(f'"{" ".join("a" * length)}"' for length in range(2, 99)),
        " AND ".join(f'"{" ".join("a" * length)}"' for length in range(2, 99)),
        "-".join("a" * 3000),
        f'"{"a " * 3000}"',
        f'title:("{"a " * 3000}")',
        f'"{"知" * 3000}"',
    ],
)
def test_only_the_start_of_an_expensive_query_is_read(text: str) -> None:
    query = parse_query(text, {}, date(2026, 11, 16), Scope(), 10)
    assert query.is_cut
    assert query.terms
    expression = query.fts_expression or fts_expression(query.terms)
    assert expression.count("*") * 5 <= MAX_PHRASE_WORDS
    written = index_text(" ".join(word for term in query.terms for word in term.words))
    assert len(re.findall(r"[^\W_]+", written)) <= MAX_PHRASE_WORDS


@pytest.mark.parametrize(
    "text", ["", "river*", '"a phrase" of-two-compounds', " ".join(f"w{n}" for n in range(199))]
)
def test_a_usual_query_is_read_whole(text: str) -> None:
    assert not parse_query(text, {}, date(2026, 11, 16), Scope(), 10).is_cut


@pytest.mark.parametrize(
    ("text", "answer"), [("知识", True), ("ภาษา", True), ("river", False), ("Über", False)]
)
def test_scripts_without_spaces_are_recognised(text: str, answer: bool) -> None:
    assert has_unspaced_script(text) is answer


@pytest.fixture(scope="module")
def index() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61')")
    connection.execute("INSERT INTO t VALUES ('a small river')")
    yield connection
    connection.close()


@given(text=st.text(), operator=st.sampled_from(["OR", "AND"]))
@example(text='" OR x:*', operator="OR")
@example(text="NEAR(a b, 2) ^x {a}: b", operator="AND")
@example(text='a* AND* "b"*', operator="AND")
@example(text="-".join("ab" for _ in range(3000)), operator="OR")
@example(text=" ".join(f"w{n}" for n in range(3000)), operator="OR")
@example(text='"' + "a b " * 2500 + '"', operator="AND")
def test_every_expression_is_one_that_fts5_understands(
    index: sqlite3.Connection, text: str, operator: str
) -> None:
    terms = parse_terms(normalise_query(text))
    if terms:
        expression = fts_expression(terms, operator)
        index.execute("SELECT count(*) FROM t WHERE t MATCH ?", (expression,)).fetchone()


def test_a_pair_with_a_term_that_is_rare_alone_is_left_out() -> None:
    terms = parse_terms("heron egret stork crane")
    assert (
        rare_terms_expression(terms, [900, 5, 30_000, 40_000], 50_000) == '("egret") OR ("heron")'
    )
    pairs = rare_terms_expression(terms, [5000, 5, 6000, 40_000], 50_000)
    assert pairs == '("egret") OR ("heron" AND "stork")'


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise_query(normalise_query(text)) == normalise_query(text)


def test_only_the_start_of_an_endless_query_is_read() -> None:
    phrase = parse_query('"' + "river " * 1_000_000 + '"', {}, date(2026, 11, 16), Scope(), 10)
    assert len(phrase.text) <= MAX_QUERY_CHARACTERS
    assert [term.words for term in phrase.terms] == [("river",), ("riv",)]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("state-of-the-art", '("state-of-the-art" OR "state" OR "art")'),
        ("T-cell", '("T-cell" OR "cell")'),
        ("to-do", '"to-do"'),
        ("auth-middleware", '("auth-middleware" OR "auth" OR "middleware")'),
        ("2026-04-18", '("2026-04-18" OR "2026" OR "04" OR "18")'),
    ],
)
def test_words_of_a_compound_match_if_they_tell_something(word: str, expected: str) -> None:
    terms = parse_terms(word)
    assert fts_expression(terms) == expected
    assert fts_term(terms[0], strict=True) == f'"{word}"'
    # All of its words are needed to match it as a whole.
    parts = word.split("-")
    assert all(f'"{part}"' in fts_whole_term(terms[0]) for part in parts)
