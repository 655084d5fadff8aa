"""Fixtures for remotes: brains on several machines that share one store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gbrain.brain import Brain


@pytest.fixture
def machine(tmp_path: Path, server_url: str) -> Iterator[Callable[[str], Brain]]:
    """`machine("a")` opens the brain of machine a, connected to the shared store of this test."""
    with ExitStack() as stack:
        known: dict[str, Brain] = {}

        def open_machine(name: str) -> Brain:
            if name not in known:
                brain = Brain.open(tmp_path / f"{name}.db", make=True)
                known[name] = stack.enter_context(brain)
                known[name].add_remote("team", server_url)
            return known[name]

        yield open_machine


@pytest.fixture
def a(machine: Callable[[str], Brain]) -> Brain:
    """Return the brain of machine a."""
    return machine("a")


@pytest.fixture
def b(machine: Callable[[str], Brain]) -> Brain:
    """Return the brain of machine b."""
    return machine("b")
