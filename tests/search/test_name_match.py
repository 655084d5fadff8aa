"""A query that is a page's name is answered by that page."""

from __future__ import annotations

from datetime import date

import pytest

from gbrain.brain import Brain
from gbrain.search.name_match import match_name
from gbrain.text.query import parse_query
from gbrain.types import Scope

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
    answer = filled.search(query)
    assert answer.short_circuit == how
    assert [hit.slug for hit in answer.hits] == [slug]


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
