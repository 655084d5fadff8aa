"""A query that is a page's name is answered by that page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import partial

import pytest

from gbrain.brain import Brain
from gbrain.search.name_match import match_name
from gbrain.text.query import parse_query
from gbrain.types import Answer, Scope

Ask = Callable[[Brain, str], Answer]

PAGES = {
    "people/alice-chen": "---\naliases: [Ally, The Captain]\n---\n# Alice Chen\n\nFounder.\n",
    "people/jose-nunez": "# José Núñez\n\nBaker.\n",
    "companies/river-ai": "# River AI\n\nA company, not River Co.\n",
    "concepts/kubernetes": "# Kubernetes\n\nPods.\n",
    "a/notes": "# Notes\n\nFirst notes.\n",
    "b/notes": "# Notes\n\nSecond notes.\n",
    "c++": "# C++\n\nA language.\n",
    "c": "# C\n\nAnother language.\n",
}


@pytest.mark.parametrize(
    ("query", "slug", "how"),
    [
        ("people/alice-chen", "people/alice-chen", "slug"),
        ("[[people/alice-chen]]", "people/alice-chen", "slug"),
        ("[[people/alice-chen|Ally]]", "people/alice-chen", "slug"),
        ("[[alice-chen#Role]]", "people/alice-chen", "title"),
        ("Alice Chen", "people/alice-chen", "title"),
        ("  alice   CHEN?! ", "people/alice-chen", "title"),
        ("ally", "people/alice-chen", "alias"),
        ("the captain", "people/alice-chen", "alias"),
        ("jose nunez", "people/jose-nunez", "title"),
        ("River-AI", "companies/river-ai", "title"),
        ("kubernetis", "concepts/kubernetes", "near"),
        ("kubrenetes", "concepts/kubernetes", "near"),
        ("Alise Chen", "people/alice-chen", "near"),
        ("C++", "c++", "slug"),
        ("c", "c", "slug"),
    ],
)
def test_the_name_of_one_page_is_an_answer(filled: Brain, query: str, slug: str, how: str) -> None:
    answer = filled.query(query)
    assert answer.short_circuit == how
    assert [hit.slug for hit in answer.hits] == [slug]


@pytest.mark.parametrize("ask", [Brain.search, partial(Brain.query, all_hits=True)])
def test_other_pages_follow_the_named_page_on_request(brain: Brain, ask: Ask) -> None:
    brain.put("notes/pond", b"# Pond\n\nWater.\n")
    brain.put("journal/one", b"# One\n\nThe pond froze, pond skates, pond and pond again.\n")
    brain.put("journal/two", b"# Two\n\nA walk to the pond.\n")
    brain.put("old", b"---\nsuperseded_by: notes/pond\n---\n# Tarn\n\nA tarn is a pond.\n")
    answer = ask(brain, "Pond")
    assert [hit.slug for hit in answer.hits] == ["notes/pond", "journal/one", "journal/two"]
    assert (answer.short_circuit, answer.verdict.grade) == ("title", "strong")
    assert "sms" in answer.hits[0].lanes
    assert answer.hits[0].score >= answer.hits[1].score
    assert not any(hit.weak for hit in answer.hits)
    assert answer.superseded == ("old",)
    named = ask(brain, "Tarn")
    assert (named.hits[0].slug, named.superseded) == ("old", ())


@pytest.mark.parametrize(
    "query",
    [
        "notes",
        "alice",
        "alice chen founder",
        "river",
        "kube",
        "",
        "   ",
        "[[]]",
        "rover co",
        "x" * 5000,
    ],
)
def test_no_name_or_an_ambiguous_one_is_searched(filled: Brain, query: str) -> None:
    assert filled.search(query).short_circuit is None


def test_both_pages_of_one_name_are_found(filled: Brain) -> None:
    assert {hit.slug for hit in filled.search("notes").hits} == {"a/notes", "b/notes"}


def test_a_name_out_of_scope_is_no_answer(filled: Brain) -> None:
    assert not filled.search("Alice Chen", scope=Scope(wing="companies")).hits
    answer = filled.search("notes", scope=Scope(slug_prefix="b/"))
    assert (answer.short_circuit, [hit.slug for hit in answer.hits]) == ("title", ["b/notes"])


def test_the_short_circuit_can_be_switched_off(filled: Brain) -> None:
    filled.set("short_circuit", "off")
    try:
        with Brain.open(filled.database.path) as again:
            assert again.search("Alice Chen").short_circuit is None
    finally:
        filled.set("short_circuit", "on")


def test_operators_and_fields_must_be_the_exact_name(brain: Brain) -> None:
    brain.put("rock", b"# Rock AND Roll NOT Jazz\n\nMusic with some jazz.\n")
    brain.put("river", b"# Title river\n\nWater.\n")

    def how(text: str) -> str | None:
        with brain.database.read_transaction() as connection:
            query = parse_query(text, {}, date(2026, 11, 16), Scope(), 10)
            return match_name(connection, query).how

    assert how("rock AND roll NOT jazz") == "title"
    assert how("rock AND rol NOT jazz") is None
    assert how("Title:river") == "title"
    assert how("titel river") == "near"
