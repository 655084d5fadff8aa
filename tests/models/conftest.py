"""The packaged model, opened once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gbrain.models.catalog import ModelSpec, packaged
from gbrain.models.embedder import Embedder


@pytest.fixture(scope="session")
def spec() -> ModelSpec:
    return packaged()


@pytest.fixture(scope="session")
def embedder(spec: ModelSpec) -> Iterator[Embedder]:
    opened = Embedder(spec)
    yield opened
    opened.close()
