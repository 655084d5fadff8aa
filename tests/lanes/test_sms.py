"""A query that is a page's name is answered by that page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.lanes.sms import edit_distance
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


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brain]:
    with Brain.open(tmp_path_factory.mktemp("sms") / "brain.db", make=True) as brain:
        for name, text in PAGES.items():
            brain.put(name, text.encode())
        yield brain


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
def test_a_name_is_an_answer(filled: Brain, query: str, slug: str, how: str) -> None:
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
def test_what_is_no_name_or_the_name_of_several_is_searched_for(filled: Brain, query: str) -> None:
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


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ("", "", 0),
        ("ab", "ab", 0),
        ("ab", "ba", 1),
        ("abc", "ac", 1),
        ("abc", "axc", 1),
        ("a", "bcd", None),
    ],
)
def test_edit_distance(a: str, b: str, distance: int | None) -> None:
    assert edit_distance(a, b, 2) == distance


@given(st.text("ab", max_size=6), st.text("ab", max_size=6))
def test_distance_is_the_same_both_ways(a: str, b: str) -> None:
    assert edit_distance(a, b, 3) == edit_distance(b, a, 3)
    assert (edit_distance(a, b, 3) == 0) is (a == b)
