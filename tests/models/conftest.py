"""The packaged model, opened once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gbrain.models.catalog import ModelSpec, packaged_model
from gbrain.models.embedder import OnnxEmbedder


@pytest.fixture(autouse=True)
def shared_models() -> None:
    """Let the tests of this folder open model files as the program does."""


@pytest.fixture(scope="session")
def spec() -> ModelSpec:
    return packaged_model()


@pytest.fixture(scope="session")
def embedder(spec: ModelSpec) -> Iterator[OnnxEmbedder]:
    opened = OnnxEmbedder(spec)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def multilingual() -> Iterator[OnnxEmbedder]:
    opened = OnnxEmbedder(packaged_model("multilingual-e5-small"))
    yield opened
    opened.close()
