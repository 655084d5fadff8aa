"""The sample pages and a small labelled set as brains with vectors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.evaluate.dataset_cache import DatasetBrain, open_dataset_brain
from gbrain.evaluate.datasets import Dataset, load_dataset

ALLOTMENTS = Path(__file__).parents[2] / "fixtures" / "eval" / "allotments"


@pytest.fixture
def embedded(embedded_sample: Path, brain_path: Path) -> Iterator[Brain]:
    """Open the sample pages with vectors."""
    shutil.copy(embedded_sample, brain_path)
    with Brain.open(brain_path) as opened:
        yield opened


@pytest.fixture(scope="session")
def allotments() -> Dataset:
    """Eight days in two gardens' diaries, and eight questions that they answer."""
    return load_dataset(ALLOTMENTS / "days")


@pytest.fixture(scope="session")
def filled_cache(allotments: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("cache")
    brain = open_dataset_brain(allotments, cache)
    brain.embed()
    brain.close()
    return cache


@pytest.fixture
def cache(filled_cache: Path, tmp_path: Path) -> Path:
    """A cache of one's own that holds the set's brain."""
    return Path(shutil.copytree(filled_cache, tmp_path / "cache"))


@pytest.fixture
def set_brain(allotments: Dataset, cache: Path) -> Iterator[DatasetBrain]:
    with open_dataset_brain(allotments, cache) as brain:
        yield brain
