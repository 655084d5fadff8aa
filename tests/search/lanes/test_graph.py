"""The graph lane: pages that a query names, and their neighbours."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.config import Settings
from gbrain.search.lanes import graph
from gbrain.types import LaneResult, Query, Scope

PAGES = {
    "people/alice-chen": "---\naliases: [Ally]\n---\n# Alice Chen\nFounded [[companies/river-ai]].",
    "companies/river-ai": "# River AI\nA company of [[people/alice-chen]] and [[people/bo]].",
    "companies/river": "# River\nAnother one.",
    "people/bo": "# Bo\nNobody links from here.",
    "notes/about": "# About\nSee [[people/bo]] and [[nobody/knows]].",
}


@pytest.fixture
def linked(brain: Brain) -> Brain:
    for slug, text in PAGES.items():
        brain.put(slug, text.encode())
    return brain


def search(brain: Brain, text: str, scope: Scope = Scope(), pool: int = 50) -> LaneResult:
    query = Query(text, (), scope, 10, text)
    with brain.database.read_transaction() as connection:
        return graph.search(connection, query, Settings(candidate_pool=pool))


def scores(brain: Brain, text: str, scope: Scope = Scope()) -> dict[str, float]:
    return {found.slug: found.score for found in search(brain, text, scope).pages}


@pytest.mark.parametrize(
    "text",
    ["what does Alice Chen want", "alice-chen", "is ALLY in?", "Alice Chen's plan", "Ally’s plan"],
)
def test_a_page_is_named_by_title_slug_or_alias(linked: Brain, text: str) -> None:
    assert scores(linked, text.replace("’", "'"))["people/alice-chen"] == 1.0


def test_a_neighbour_scores_half_the_strength_of_its_links(linked: Brain) -> None:
    # Alice's two links are all with River AI; of River AI's three, two are with her.
    assert scores(linked, "Alice Chen") == {"people/alice-chen": 1.0, "companies/river-ai": 0.5}
    assert scores(linked, "River AI") == pytest.approx(
        {
            "companies/river-ai": 1.0,
            "people/alice-chen": 0.5 / (1 + math.log(3 / 2)),
            "people/bo": 0.5 / (1 + math.log(3)),
        }
    )


def test_strengths_add_up_to_at_most_a_half(linked: Brain) -> None:
    found = scores(linked, "Alice Chen and Bo")
    assert found["companies/river-ai"] == 0.5
    assert found["notes/about"] == pytest.approx(0.5 / (1 + math.log(2)))


def test_the_longest_matching_name_counts(linked: Brain) -> None:
    assert "companies/river" not in scores(linked, "River AI")
    assert scores(linked, "the river, and River AI")["companies/river"] == 1.0


def test_stop_words_are_no_names(linked: Brain) -> None:
    assert scores(linked, "what about it") == {}


def test_results_are_best_first_and_fit_the_pool(linked: Brain) -> None:
    found = search(linked, "River AI")
    assert [page.rank for page in found.pages] == [1, 2, 3]
    assert found.pages[0].slug == "companies/river-ai"
    assert found.lowest_score == 0.0
    assert search(linked, "River AI", pool=2).pages == found.pages[:2]


def test_a_page_outside_the_scope_leads_to_one_inside(linked: Brain) -> None:
    inside = scores(linked, "River AI", Scope(wing="people"))
    assert set(inside) == {"people/alice-chen", "people/bo"}
    assert set(scores(linked, "River AI", Scope(exclude=("people/bo",)))) == {
        "companies/river-ai",
        "people/alice-chen",
    }


@given(st.text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_text_is_a_valid_query(linked: Brain, text: str) -> None:
    found = search(linked, text).pages
    assert all(0 < page.score <= 1 for page in found)
