"""The associative lane: one Hopfield step by hand, and over stored vectors."""

from __future__ import annotations

import math
from contextlib import closing

import numpy as np
import pytest

from gbrain.brain import Brain
from gbrain.config import Settings
from gbrain.search.lanes import associative, vector
from gbrain.store.vectors import active_space
from gbrain.types import LaneResult, Query, Scope


def test_a_step_is_the_mean_weighted_by_softmax() -> None:
    memory = np.array([[1, 0], [0, 1]], np.float32)
    recalled = associative.recall(memory, np.array([1, 0], np.float32), 8.0)
    # The weights are e^8 : 1, and the result is brought to length one.
    assert recalled[0] / recalled[1] == pytest.approx(math.exp(8), rel=1e-4)
    assert np.linalg.norm(recalled) == pytest.approx(1)


def test_beta_zero_weights_all_memories_equally() -> None:
    memory = np.array([[1, 0], [0, 1]], np.float32)
    recalled = associative.recall(memory, np.array([1, 0], np.float32), 0.0)
    assert recalled.tolist() == pytest.approx([math.sqrt(0.5)] * 2)


def test_a_large_beta_recalls_the_nearest_memory() -> None:
    memory = np.array([[0.6, 0.8], [0, 1], [-1, 0]], np.float32)
    recalled = associative.recall(memory, np.array([1, 0], np.float32), 1000.0)
    assert recalled.tolist() == pytest.approx([0.6, 0.8])


def test_memories_that_cancel_out_recall_nothing() -> None:
    memory = np.array([[0, 1], [0, -1]], np.float32)
    assert associative.recall(memory, np.array([1, 0], np.float32), 8.0).tolist() == [0, 0]


def lanes(
    brain: Brain, text: str, scope: Scope, settings: Settings
) -> tuple[LaneResult, LaneResult]:
    """Return what the associative and the vector lane find."""
    with brain.database.read_transaction() as connection:
        space = active_space(connection)
        assert space
        query = Query(text, (), scope, 10)
        asked = brain.embedder.embed_query(text)
        with closing(brain.database.open_second_connection()) as second:
            connections = (connection, second)
            return (
                associative.search(connections, space, asked, query, settings),
                vector.search(connections, space, asked, query, settings),
            )


def test_a_large_beta_finds_pages_like_the_best_chunk(embedded: Brain) -> None:
    settings = Settings(hopfield_beta=1000.0)
    recalled, near = lanes(embedded, "who founded RiverAI", Scope(), settings)
    assert recalled.pages[0].slug == near.pages[0].slug
    assert recalled.pages[0].score == pytest.approx(1, abs=0.01)


def test_pages_out_of_scope_are_not_found(embedded: Brain) -> None:
    scope = Scope(wing="people")
    recalled, near = lanes(embedded, "who founded RiverAI", scope, Settings())
    assert recalled.pages
    assert {page.slug for page in recalled.pages} == {page.slug for page in near.pages}
    nobody, _ = lanes(embedded, "who founded RiverAI", Scope(wing="nowhere"), Settings())
    assert nobody == LaneResult(())
