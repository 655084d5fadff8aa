"""Kill the switch to the packaged multilingual model at many points, with the real files."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.models.catalog import OPTIONAL_MODELS, PACKAGED_MODEL, packaged_models

pytestmark = pytest.mark.slow

NOTES = Path(__file__).parents[2] / "fixtures" / "languages" / "notes"
MULTILINGUAL = next(iter(OPTIONAL_MODELS))
QUESTION, ANSWER = "Wie lange ist die Kündigungsfrist der Wohnung?", "de/mietvertrag"


@pytest.fixture
def brain_path(tmp_path: Path) -> Path:
    """The path of a brain with notes of four languages, embedded with the English model."""
    if MULTILINGUAL not in {spec.name for spec in packaged_models()}:
        pytest.skip(f"{MULTILINGUAL} is not installed")
    for language in ("de", "en", "fr", "nl"):
        shutil.copytree(NOTES / language, tmp_path / "notes" / language)
    with Brain.open(tmp_path / "brain.db", make=True) as brain:
        brain.import_folder(tmp_path / "notes")
        # More than one batch: texts in between make the switch long enough to be killed in it.
        for number in range(250):
            brain.put(f"filler/{number}", f"# Notiz {number}\n\nZeile {number}.\n".encode())
        brain.embed()
    return tmp_path / "brain.db"


def run(*words: str, path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "gbrain", *words, "--db", str(path), "--quiet"],
        stderr=subprocess.PIPE,
    )


def count_left(brain: Brain) -> int | None:
    following = brain.next_model()
    return following[1] if following else None


def count_texts(brain: Brain) -> int:
    counted = brain.database.connection.execute("SELECT count(DISTINCT hash) FROM chunks")
    return int(counted.fetchone()[0])


def kill_when(process: subprocess.Popen[bytes], path: Path, most_left: int) -> int:
    """Kill the process once at most so many chunks are left; return how many are left then."""
    with Brain.open(path) as brain:
        while (left := count_left(brain)) is None or left > most_left:
            assert process.poll() is None, "it ended before it was killed"
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        left = count_left(brain)
        assert left is not None
        return left


def test_a_switch_that_is_killed_again_and_again_is_finished_and_undone(brain_path: Path) -> None:
    with Brain.open(brain_path) as brain:
        chunks = count_texts(brain)
        before = [hit.slug for hit in brain.query(QUESTION, mode="semantic").hits]
    words = ("model", "use", MULTILINGUAL, "--no-selftest")
    left = chunks
    kills = 0
    # Before the first vector, then after each batch until one is left.
    while left > 64:
        left = kill_when(run(*words, path=brain_path), brain_path, left - 1 if kills else chunks)
        kills += 1
        with Brain.open(brain_path) as brain:
            assert brain.active_model().name == PACKAGED_MODEL
            assert brain.backlog().waiting == 0
            # The vectors of the old model answer as before.
            assert [hit.slug for hit in brain.query(QUESTION, mode="semantic").hits] == before
        words = ("embed",)
    assert kills > 2
    process = run("embed", path=brain_path)
    assert (process.communicate()[1], process.returncode) == (b"", 0)
    with Brain.open(brain_path) as brain:
        assert (brain.active_model().name, brain.next_model()) == (MULTILINGUAL, None)
        assert brain.count_foreign_vectors()[0] == 0
        assert brain.query(QUESTION, mode="semantic").hits[0].slug == ANSWER
        space = brain.active_model().space
        stored = brain.database.connection.execute(
            f"SELECT count(*), count(DISTINCT hash) FROM {space.vectors} WHERE model_id = ?",
            (space.model_id,),
        ).fetchone()
    assert stored[0] == stored[1] == chunks
    process = run("model", "use", "--undo", path=brain_path)
    assert (process.communicate()[1], process.returncode) == (b"", 0)
    with Brain.open(brain_path) as brain:
        assert brain.active_model().name == PACKAGED_MODEL
        assert (brain.backlog().waiting, brain.embed().done) == (0, 0)
        assert [hit.slug for hit in brain.query(QUESTION, mode="semantic").hits] == before
    doctor = run("doctor", "--full", path=brain_path)
    assert (doctor.communicate()[1], doctor.returncode) == (b"", 0)
