"""The scale of similarities: exact for the packaged model, measured for one that was added."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gbrain.brain import Brain
from gbrain.models.catalog import Calibration, ModelSpec, packaged_model
from gbrain.search.calibration import active_calibration, measure_calibration
from gbrain.store.vectors import store_vectors


def spec_of(folder: Path) -> ModelSpec:
    return ModelSpec("mine", "f" * 64, "mean", "", "", 16, 64, folder)


def narrow_vectors(count: int) -> list[NDArray[np.float32]]:
    """Unit vectors that are all close to each other, as those of E5 models are."""
    drawn = np.random.default_rng(1).standard_normal((count, 16)) * 0.1 + 1
    return [(row / np.linalg.norm(row)).astype(np.float32) for row in drawn]


@pytest.fixture
def brain(tmp_path: Path) -> Iterator[Brain]:
    with Brain.open(tmp_path / "brain.db", make=True) as opened:
        opened.add_model(spec_of(tmp_path))
        yield opened


def test_packaged_models_have_their_own_scale(brain: Brain) -> None:
    brain.active_model()
    connection = brain.database.connection
    assert active_calibration(connection) == Calibration(1.0, 0.0, english_only=True)
    brain.model("multilingual-e5-small")
    brain.use_model("multilingual-e5-small")
    known = active_calibration(connection)
    assert known == packaged_model("multilingual-e5-small").calibration
    assert known is not None
    assert not known.english_only
    # Unrelated texts and good answers have these cosines, and those with the English model.
    assert known.similarity(0.25) == pytest.approx(0.44, abs=0.03)
    assert known.similarity(0.5) == pytest.approx(0.69, abs=0.03)


def test_the_scale_of_an_added_model_is_measured(brain: Brain) -> None:
    model = brain.use_model("mine")
    connection = brain.database.connection
    assert active_calibration(connection) is None
    vectors = narrow_vectors(60)
    with brain.database.write_transaction() as writing:
        store_vectors(writing, model.space, [(bytes([n]), v) for n, v in enumerate(vectors)])
    measured = measure_calibration(connection, model.space)
    assert measured is not None
    assert measured == active_calibration(connection)
    pairs = np.array(vectors) @ np.array(vectors).T
    cosines = pairs[np.triu_indices(len(vectors), 1)]
    assert cosines.mean() > 0.95
    scaled = [measured.similarity(float(cosine)) for cosine in cosines]
    assert np.mean(scaled) == pytest.approx(0.6, abs=0.02)
    assert np.std(scaled) == pytest.approx(0.076, rel=0.1)
