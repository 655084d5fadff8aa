"""Pages around a page, by links either way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gbrain.brain import Brain
from gbrain.store.links import LinkGraph, full_graph, graph_around
from gbrain.store.pages import require_page

Around = Callable[..., LinkGraph]


@pytest.fixture
def around(brain: Brain) -> Around:
    """A chain a → b → c → d; b names d's title twice, and a page nobody wrote."""
    brain.put("a", b"[[b]] and [[a]]")
    brain.put("b", b"[[c]] [[c]] [[Nobody]]")
    brain.put("c", b"---\ntitle: See\n---\n[[d]]")
    brain.put("d", b"")
    brain.put("alone", b"")

    def call(slug: str, depth: int, most: int = 100) -> LinkGraph:
        with brain.database.read_transaction() as connection:
            return graph_around(connection, require_page(connection, slug), depth, most)

    return call


def distances(graph: LinkGraph) -> dict[str, int | None]:
    return {page.slug: page.distance for page in graph.pages}


def test_links_are_followed_both_ways(around: Around) -> None:
    graph = around("b", 1)
    assert distances(graph) == {"b": 0, "a": 1, "c": 1, "Nobody": 1}
    assert [tuple(link) for link in graph.links] == [
        ("a", "b", 1), ("b", "Nobody", 1), ("b", "c", 2),
    ]  # fmt: skip
    assert [page.slug for page in graph.pages if page.missing] == ["Nobody"]
    assert {page.slug: page.title for page in graph.pages}["c"] == "See"


def test_depth(around: Around) -> None:
    assert distances(around("a", 1)) == {"a": 0, "b": 1, "Nobody": 2}
    assert distances(around("a", 9)) == {"a": 0, "b": 1, "c": 2, "Nobody": 2, "d": 3}
    assert distances(around("alone", 9)) == {"alone": 0}


def test_a_limit_keeps_the_nearest_and_counts_the_others(around: Around) -> None:
    graph = around("b", 3, most=2)
    assert distances(graph) == {"b": 0, "a": 1, "Nobody": 1}
    assert graph.left_out == 1


def test_the_whole_brain(around: Around, brain: Brain) -> None:
    with brain.database.read_transaction() as connection:
        graph, some = full_graph(connection, 100), full_graph(connection, 2)
    assert {page.slug for page in graph.pages} == {"a", "b", "c", "d", "alone", "Nobody"}
    assert (len([page for page in some.pages if not page.missing]), some.left_out) == (2, 3)
    assert some.pages[-1].distance is None
