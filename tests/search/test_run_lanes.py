"""Lanes in parallel: a write in between never mixes two snapshots of the brain."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from threading import Lock

import pytest

from gbrain.brain import Brain
from gbrain.store.connection import Database


@pytest.fixture
def meanwhile(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[Brain], object]], None]:
    """Lets another program act once, when a query has begun and its first lane is about to."""

    def let(act: Callable[[Brain], object]) -> None:
        open_second_connection = Database.open_second_connection
        waiting = [act]
        one_at_a_time = Lock()

        def open_after_the_act(database: Database) -> sqlite3.Connection:
            with one_at_a_time:  # both lanes come here, each on its own thread
                while waiting:
                    with Brain.open(database.path) as other:
                        waiting.pop()(other)
            return open_second_connection(database)

        monkeypatch.setattr(Database, "open_second_connection", open_after_the_act)

    return let


def move_a_number(other: Brain) -> None:
    """Give the chunk id of a deleted page to a new chunk of another page."""
    other.delete("plan")
    other.put("alice", b"# Alice\n\nShe rows.\n\n## Trip\n\nBy boat on the river.\n")


@pytest.mark.parametrize("depth", [None, "auto"])
def test_a_reused_chunk_id_never_shows_the_wrong_page(brain: Brain, meanwhile, depth) -> None:
    brain.put("alice", b"# Alice\n\nShe rows.\n")
    brain.put("plan", b"# Plan\n\nNobody is to know of it.\n")
    brain.embed()
    meanwhile(move_a_number)
    answer = brain.query("by boat on the river", mode="hybrid", depth=depth)
    assert [(hit.slug, hit.snippet.strip("\x02\x03")[:2]) for hit in answer.hits] == [
        ("alice", "By")
    ]
    assert {piece.slug for piece in answer.context or ()} <= {"alice"}
    assert [stage.name for stage in answer.trace.stages].count("fts") == 1


def test_a_page_deleted_while_lanes_run_is_left_out(brain: Brain, meanwhile) -> None:
    brain.put("alice", b"# Alice\n\nBy boat.\n")
    brain.put("bob", b"# Bob\n\nBy boat.\n")
    brain.embed()
    meanwhile(lambda other: other.delete("bob"))
    answer = brain.query("by boat", mode="hybrid")
    assert [hit.slug for hit in answer.hits] == ["alice"]
