"""Brains of one process share their embedding model."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gbrain.brain import Brain, open_models


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "brain.db"


def test_two_brains_use_one_model_until_the_last_is_closed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A brain that another test left open would share its model, whose threads run already.
    monkeypatch.setattr(open_models, "_open", {})
    monkeypatch.setattr(open_models, "_users", {})
    first = Brain.open(path, make=True)
    first.put("note", b"A note about rivers.\n")
    second = Brain.open(path)
    model = first.embedder
    assert second.embedder is model
    before = set(threading.enumerate())
    first.embed()
    started = {thread for thread in set(threading.enumerate()) - before if "embed" in thread.name}
    assert started
    first.close()
    # The threads of a closed model end; this one still works for the other brain.
    assert all(thread.is_alive() for thread in started)
    assert second.query("rivers").hits[0].slug == "note"
    second.close()
    assert not any(thread.is_alive() for thread in started)
    with Brain.open(path) as third:
        assert third.embedder is not model
