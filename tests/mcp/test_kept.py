"""A brain kept open: what changes outside is taken up, what is loaded stays."""

from __future__ import annotations

import shutil
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path
from threading import Event, Thread

import pytest

from gbrain.brain import Brain
from gbrain.errors import NotFound
from gbrain.mcp.kept import Kept


@pytest.fixture
def kept(sample: Path):
    kept = Kept(partial(Brain.open, sample))
    yield kept
    kept.retire()


def test_the_brain_stays_open_between_uses(kept: Kept) -> None:
    assert kept.use(lambda brain: brain) is kept.use(lambda brain: brain)


def test_models_stay_loaded(embedded_sample: Path) -> None:
    kept = Kept(partial(Brain.open, embedded_sample))
    first = kept.use(lambda brain: brain.embedder)
    assert kept.use(lambda brain: brain.embedder) is first
    kept.retire()


def test_settings_are_those_of_the_moment(kept: Kept, sample: Path) -> None:
    assert kept.use(lambda brain: brain.settings.default_limit) == 10
    with Brain.open(sample) as other:
        other.set("default_limit", "3")
    assert kept.use(lambda brain: brain.settings.default_limit) == 3


def test_another_file_in_its_place_is_opened(kept: Kept, sample: Path, tmp_path: Path) -> None:
    """Who wrote on into the file that was replaced would lose what they wrote."""
    assert kept.use(lambda brain: brain.list()[1]) > 1
    with Brain.open(tmp_path / "restored.db", make=True) as restored:
        restored.put("only", b"# Only\n")
    shutil.move(tmp_path / "restored.db", sample)
    kept.use(lambda brain: brain.put("new", b"# New\n"))
    with Brain.open(sample) as brain:
        assert [page.slug for page in brain.list()[0]] == ["new", "only"]


def test_a_file_that_went_is_an_error_until_it_is_back(
    kept: Kept, sample: Path, tmp_path: Path
) -> None:
    pages = kept.use(lambda brain: brain.list()[1])
    shutil.copy(sample, tmp_path / "copy.db")
    for path in tmp_path.glob("brain.db*"):
        path.unlink()
    with pytest.raises(NotFound, match="There is no brain at"):
        kept.use(lambda brain: brain.list())
    shutil.move(tmp_path / "copy.db", sample)
    assert kept.use(lambda brain: brain.list()[1]) == pages


def test_another_active_model_is_another_brain(kept: Kept, sample: Path) -> None:
    kept.use(lambda brain: brain.active_model())
    first = kept.use(lambda brain: brain)
    with Brain.open(sample) as other, other.database.writing() as connection:
        connection.execute("UPDATE embedding_models SET identity = 'another' WHERE active")
    assert kept.use(lambda brain: brain) is not first


def test_a_retired_brain_is_closed_when_its_work_is_over(sample: Path) -> None:
    kept = Kept(partial(Brain.open, sample))
    begun, go_on = Event(), Event()

    def work(brain: Brain) -> None:
        begun.set()
        go_on.wait(20)
        assert brain.list()[1] > 1, "still open"

    worker = Thread(target=kept.use, args=(work,))
    worker.start()
    assert begun.wait(20)
    kept.retire()
    assert kept.busy
    with pytest.raises(CancelledError):
        kept.use(lambda brain: brain)
    go_on.set()
    worker.join(20)
    assert not kept.busy
    assert list(sample.parent.glob("brain.db*")) == [sample]
