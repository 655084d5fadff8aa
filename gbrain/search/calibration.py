"""The scale of the active model's cosines: packaged models have one, that of others is measured."""

from __future__ import annotations

import json
import sqlite3
from functools import lru_cache
from pathlib import Path

from gbrain.errors import ModelUnavailable
from gbrain.models.catalog import MAX_SLOPE, Calibration, packaged_model, spec_from_description
from gbrain.store.models import ModelRow, active_model
from gbrain.store.vector_space import VectorSpace
from gbrain.store.vectors import sample_vectors

# Of the cosines between the chunks of a brain, with bge-small-en-v1.5: means over four English sets
# (.56 to .70, and .064 to .095). For multilingual-e5-small the slope is 2.6 then instead of 3.4.
_USUAL_MEAN, _USUAL_DEVIATION = 0.6, 0.076
_SAMPLED_VECTORS = 256
# With fewer the mean is chance.
_MIN_VECTORS = 24


def active_calibration(connection: sqlite3.Connection) -> Calibration | None:
    """Return how to read the cosines of the active model; None if that is not known."""
    model = active_model(connection)
    if model is None:
        return None
    if model.folder is None:
        return _packaged_calibration(model.name)
    return _described_calibration(model) or measure_calibration(connection, model.space)


def reads_only_english(connection: sqlite3.Connection) -> bool:
    """Return whether the active model reads English alone, or is not known to read more."""
    calibration = active_calibration(connection)
    return calibration is None or calibration.english_only


@lru_cache(8)
def _packaged_calibration(name: str) -> Calibration | None:
    try:
        return packaged_model(name).calibration
    except ModelUnavailable:
        return None


def _described_calibration(model: ModelRow) -> Calibration | None:
    try:
        described = spec_from_description(json.loads(model.description), Path(model.folder or ""))
    except (ModelUnavailable, ValueError):
        return None
    return described.calibration


def measure_calibration(connection: sqlite3.Connection, space: VectorSpace) -> Calibration | None:
    """Return a scale on which the brain's chunks are as similar to each other as usual.

    Mean and deviation of the cosines between chunks become those that bge-small-en-v1.5 has on
    common notes; None for a brain with few vectors.
    """
    import numpy as np

    vectors = sample_vectors(connection, space, _SAMPLED_VECTORS)
    if len(vectors) < _MIN_VECTORS:
        return None
    cosines = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
    deviation = float(cosines.std())
    slope = min(_USUAL_DEVIATION / deviation, MAX_SLOPE) if deviation else 1.0
    return Calibration(slope, _USUAL_MEAN - slope * float(cosines.mean()))
