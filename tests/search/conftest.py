"""The sample pages with vectors, open for the tests of a module."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gbrain.brain import Brain


@pytest.fixture(scope="module")
def embedded(embedded_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brain]:
    """Open a copy of the sample pages with vectors."""
    path = shutil.copy(embedded_sample, tmp_path_factory.mktemp("search") / "brain.db")
    with Brain.open(path) as brain:
        yield brain
