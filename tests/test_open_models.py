"""Brains of one process share their embedding model."""

from __future__ import annotations

from pathlib import Path
from threading import active_count

import pytest

from gbrain.brain import Brain


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "brain.db"


def test_two_brains_use_one_model_until_the_last_is_closed(path: Path) -> None:
    first = Brain.open(path, make=True)
    first.put("note", b"A note about rivers.\n")
    second = Brain.open(path)
    model = first.embedder
    assert second.embedder is model
    threads = active_count()
    first.embed()
    assert active_count() > threads
    first.close()
    # The threads of a closed model end; this one still works for the other brain.
    assert active_count() > threads
    assert second.query("rivers").hits[0].slug == "note"
    second.close()
    assert active_count() == threads
    with Brain.open(path) as third:
        assert third.embedder is not model
