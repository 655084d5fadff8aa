"""Changes measured before and after: a loss is reported, and a worse model is not used."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.errors import NotFound
from gbrain.evaluate.model_switch import measure_change, switch_model
from gbrain.evaluate.selftest import load_baseline
from gbrain.models.catalog import packaged_model, spec_from_folder

PACKAGED = "bge-small-en-v1.5"
AS_PACKAGED = {
    "pooling": packaged_model().pooling,
    "query_prefix": packaged_model().query_prefix,
    "passage_prefix": packaged_model().passage_prefix,
}
FEW = 3


@pytest.fixture
def brain(embedded_sample: Path, brain_path: Path) -> Iterator[Brain]:
    """The sample pages with vectors, merged so that the vector lane decides."""
    shutil.copy(embedded_sample, brain_path)
    with Brain.open(brain_path) as opened:
        opened.set("search_mode", "semantic")
    with Brain.open(brain_path) as opened:
        yield opened


@pytest.fixture
def other(brain: Brain) -> str:
    """A model that the brain knows beside its own; it has no vectors yet."""
    brain.add_model(
        spec_from_folder(packaged_model().folder, name="other", max_tokens=256, **AS_PACKAGED)
    )
    return "other"


def give_vectors(brain: Brain, name: str, *, spoilt: bool) -> None:
    """All vectors of the model in use as those of `name`, each with another's text if spoilt."""
    order = "ORDER BY hash DESC" if spoilt else "ORDER BY hash"
    with brain.database.write_transaction() as connection:
        mine, model = (
            connection.execute("SELECT id FROM embedding_models WHERE name = ?", (n,)).fetchone()[0]
            for n in (PACKAGED, name)
        )
        table = "page_embeddings_vec_384"
        connection.execute(
            f"INSERT INTO {table} (model_id, slot, hash, vector) "
            "SELECT ?1, a.slot, b.hash, a.vector FROM "
            f"(SELECT slot, vector, row_number() OVER (ORDER BY hash) AS n FROM {table} "
            " WHERE model_id = ?2) AS a JOIN "
            f"(SELECT hash, row_number() OVER ({order}) AS n FROM {table} "
            "WHERE model_id = ?2) AS b ON a.n = b.n",
            (model, mine),
        )
        connection.execute(
            "INSERT INTO page_embeddings_codes_384 (model_id, segment, codes) "
            "SELECT ?, segment, codes FROM page_embeddings_codes_384 WHERE model_id = ?",
            (model, mine),
        )


def test_a_switch_that_loses_answers_is_reported(brain: Brain) -> None:
    def forget_passages() -> None:
        with brain.database.write_transaction() as connection:
            connection.execute("UPDATE page_embeddings_vec_384 SET hash = NULL WHERE slot > 0")

    report = measure_change(brain, forget_passages, limit=4)
    assert report is not None
    assert report.worse
    assert report.lost


def test_a_switch_without_effect_loses_nothing(brain: Brain) -> None:
    called = []
    report = measure_change(brain, lambda: called.append(True), limit=FEW)
    assert called == [True]
    assert report is not None
    assert (report.worse, report.lost) == (False, ())


def test_an_empty_brain_is_changed_without_a_measurement(tmp_path: Path) -> None:
    called = []
    with Brain.open(tmp_path / "new.db", make=True) as empty:
        assert measure_change(empty, lambda: called.append(True)) is None
    assert called == [True]


def test_a_model_without_vectors_keeps_the_old_baseline(brain: Brain, other: str) -> None:
    switched = switch_model(brain, other, limit=FEW)
    assert (switched.used, switched.next, switched.baseline_saved) == (False, True, True)
    assert switched.report is None
    assert brain.active_model().name == PACKAGED
    kept = load_baseline(brain)
    assert kept is not None
    assert kept.state.model == PACKAGED


def test_an_equally_good_model_is_used(brain: Brain, other: str) -> None:
    give_vectors(brain, other, spoilt=False)
    switched = switch_model(brain, other, limit=FEW)
    assert switched.report is not None
    assert (switched.used, switched.report.lost) == (True, ())
    assert brain.active_model().name == other


def test_the_active_model_needs_no_trial(brain: Brain) -> None:
    switched = switch_model(brain, PACKAGED)
    assert (switched.used, switched.report, switched.baseline_saved) == (True, None, False)


def test_a_worse_model_is_used_only_with_force(brain: Brain, other: str) -> None:
    give_vectors(brain, other, spoilt=True)
    switched = switch_model(brain, other, limit=FEW)
    assert switched.report is not None
    assert switched.report.worse
    assert not switched.used
    assert brain.active_model().name == PACKAGED
    with pytest.raises(NotFound):
        brain.undo_switch()
    assert switch_model(brain, other, force=True, limit=FEW).used
    assert brain.active_model().name == other


def test_an_interrupted_trial_keeps_the_old_model(brain: Brain, other: str) -> None:
    give_vectors(brain, other, spoilt=True)

    def interrupt(done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        switch_model(brain, other, limit=FEW, progress=interrupt)
    assert brain.active_model().name == PACKAGED
