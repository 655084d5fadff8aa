"""Switching to another model: the old one answers until the new one has every vector."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from signal import SIGKILL

import numpy as np
import pytest
from numpy.typing import NDArray

from gbrain.brain import Brain
from gbrain.errors import ModelUnavailable, NotFound
from gbrain.models.catalog import ModelSpec
from gbrain.store.models import ModelRow

PAGES = 150


class Hashed:
    """A model whose vectors follow from the text alone; `dies_after` texts it kills its process."""

    dies_after: int | None = None
    cannot: str | None = None

    def __init__(self, spec: ModelSpec, *, for_many_texts: bool = False) -> None:
        self.spec, self.texts = spec, 0

    def embed_query(self, text: str) -> NDArray[np.float32]:
        digest = blake2b((self.spec.name + text).encode(), digest_size=8).digest()
        drawn = np.random.default_rng(int.from_bytes(digest, "big")).standard_normal(8)
        return (drawn / np.linalg.norm(drawn)).astype(np.float32)

    def embed_chunks(self, texts: Iterable[str]) -> Iterator[NDArray[np.float32]]:
        for text in texts:
            self.texts += 1
            if self.cannot and self.cannot in text:
                raise ModelUnavailable("cannot read it", hint="None.")
            if self.dies_after is not None and self.texts > self.dies_after:
                import os

                os.kill(os.getpid(), SIGKILL)
            yield self.embed_query(text)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def close(self) -> None:
        pass


def spec_of(name: str) -> ModelSpec:
    return ModelSpec(name, name * 4, "mean", "", "", 8, 64, Path("/nowhere") / name)


def use_hashed_models() -> None:
    """Let brains open a `Hashed` model in place of the files of each."""
    import gbrain.models.embedder

    gbrain.models.embedder.OnnxEmbedder = Hashed  # type: ignore[assignment, misc]
    Brain._verified_spec = lambda self, row: spec_of(row.name)  # type: ignore[method-assign]


@pytest.fixture
def brain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Brain]:
    """A brain of pages that are embedded with the model old; new is known."""
    monkeypatch.setattr("gbrain.models.embedder.OnnxEmbedder", Hashed)
    monkeypatch.setattr(Brain, "_verified_spec", lambda self, row: spec_of(row.name))
    monkeypatch.setattr(Hashed, "dies_after", None)
    monkeypatch.setattr(Hashed, "cannot", None)
    with Brain.open(tmp_path / "brain.db", make=True) as opened:
        opened.add_model(spec_of("old"))
        opened.add_model(spec_of("new"))
        opened.use_model("old")
        for number in range(PAGES):
            opened.put(f"page-{number}", f"# Page {number}\n\nwords {number}\n".encode())
        assert opened.embed().done == PAGES
        yield opened


def count_vectors(brain: Brain, name: str) -> int:
    model: ModelRow = brain.model(name)
    rows = brain.database.connection.execute(
        f"SELECT count(*) FROM {model.space.vectors} WHERE model_id = ? AND hash IN "
        "(SELECT hash FROM chunks)",
        (model.id,),
    )
    return int(rows.fetchone()[0])


def test_the_old_model_answers_until_the_new_one_is_complete(brain: Brain) -> None:
    brain.start_switch("new")
    report = brain.embed(limit=70)
    assert (report.done, report.left, report.switched_to) == (70, PAGES - 70, None)
    assert report.switching_to == "new"
    assert brain.active_model().name == "old"
    assert brain.backlog().waiting == 0
    answer = brain.query("page 3", mode="semantic", all_hits=True)
    assert (answer.mode, answer.notice) == ("semantic", None)
    report = brain.embed()
    assert (report.done, report.left, report.switched_to) == (PAGES - 70, 0, "new")
    assert brain.active_model().name == "new"
    assert brain.next_model() is None


def test_a_write_during_a_switch_is_embedded_with_both_models(brain: Brain) -> None:
    brain.start_switch("new")
    brain.embed(limit=70)
    brain.put("page-3", b"# Page 3\n\nother words\n")
    brain.put("late", b"# Late\n\nwritten in between\n")
    assert brain.backlog().waiting == 2
    report = brain.embed()
    assert report.switched_to == "new"
    assert (count_vectors(brain, "old"), count_vectors(brain, "new")) == (PAGES + 1, PAGES + 1)


def test_a_write_while_the_last_vectors_are_made_delays_the_switch(brain: Brain) -> None:
    brain.start_switch("new")
    written: list[int] = []

    def write(done: int, total: int) -> None:
        if done == total and not written:
            written.append(done)
            with Brain.open(brain.path) as other:
                other.put("late", b"# Late\n\nwritten in between\n")

    report = brain.embed(progress=write)
    assert written
    assert report.switched_to == "new"
    assert count_vectors(brain, "new") == PAGES + 1


def test_undo_ends_a_switch_and_goes_back_after_one(brain: Brain) -> None:
    brain.start_switch("new")
    brain.embed(limit=70)
    assert brain.undo_switch().name == "old"
    assert (brain.embed().done, brain.next_model()) == (0, None)
    with pytest.raises(NotFound):
        brain.undo_switch()
    brain.start_switch("new")
    assert brain.embed().done == PAGES - 70
    brain.put("late", b"# Late\n\nwritten with the new model\n")
    brain.embed()
    assert brain.undo_switch().name == "old"
    # Only what was written since.
    assert brain.backlog().waiting == 1
    assert brain.embed().done == 1
    assert brain.undo_switch().name == "new"
    assert brain.embed().done == 0


def test_undo_from_another_process_stops_a_run(brain: Brain) -> None:
    brain.start_switch("new")

    def undo(done: int, total: int) -> None:
        with Brain.open(brain.path) as other:
            if other.next_model():
                other.undo_switch()

    report = brain.embed(progress=undo)
    assert report.done < PAGES
    assert brain.active_model().name == "old"


def test_a_text_that_the_new_model_cannot_read_keeps_what_is_done(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    brain.start_switch("new")
    monkeypatch.setattr(Hashed, "cannot", "words 77")
    with pytest.raises(ModelUnavailable):
        brain.embed()
    assert brain.active_model().name == "old"
    monkeypatch.setattr(Hashed, "cannot", None)
    assert brain.embed().switched_to == "new"


def test_a_killed_switch_resumes_where_it_was(brain: Brain) -> None:
    brain.start_switch("new")
    script = (
        "import sys\nfrom pathlib import Path\nfrom gbrain.brain import Brain\n"
        "import test_next_model as here\n"
        "here.use_hashed_models()\nhere.Hashed.dies_after = 100\n"
        "Brain.open(Path(sys.argv[1])).embed()\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", script, brain.path], cwd=Path(__file__).parent, check=False
    )
    assert killed.returncode == -SIGKILL
    kept = count_vectors(brain, "new")
    assert kept == 64
    assert brain.active_model().name == "old"
    report = brain.embed()
    assert (report.done, report.switched_to) == (PAGES - kept, "new")


def test_two_runs_share_the_work(brain: Brain) -> None:
    brain.start_switch("new")
    done: list[int] = []

    def run_beside(so_far: int, total: int) -> None:
        if not done:
            done.append(0)
            with Brain.open(brain.path) as other:
                done.append(other.embed(limit=64).done)

    report = brain.embed(progress=run_beside)
    assert done[1] == 64
    assert report.switched_to == "new"
    assert count_vectors(brain, "new") == PAGES


def test_small_steps_embed_what_is_due_before_the_next_model(brain: Brain) -> None:
    brain.start_switch("new")
    brain.put("late", b"# Late\n\nwritten in between\n")
    steps = [brain.embed_in_background(64) for _ in range(4)]
    assert [step.done for step in steps] == [1, 64, 64, PAGES + 1 - 128]
    assert [step.switched_to for step in steps] == [None, None, None, "new"]
    assert brain.embed_in_background(64).done == 0


def test_a_question_between_two_steps_opens_no_model_again(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def count(model: Hashed, spec: ModelSpec, *, for_many_texts: bool) -> None:
        model.spec, model.texts = spec, 0
        opened.append(spec.name)

    monkeypatch.setattr(Hashed, "__init__", count)
    brain.start_switch("new")
    for _ in range(3):
        brain.embed_in_background(16)
        brain.query("page 3", mode="semantic")
    assert sorted(opened) == ["new"]


def test_every_process_that_embeds_goes_on_with_a_switch(
    brain: Brain, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gbrain.cli import sync_watch, warm
    from gbrain.cli.import_export import ImportOptions
    from gbrain.mcp.server import _embed_chunks

    assert not _embed_chunks(None, True, brain)
    brain.start_switch("new")
    assert _embed_chunks(None, True, brain)
    assert not _embed_chunks(None, False, brain)
    assert warm._embed_some(brain)
    done = count_vectors(brain, "new")
    assert 0 < done < PAGES
    watch = sync_watch.FolderWatch(brain.path, ImportOptions(embed=True))
    watch._embed(brain, "/nowhere")
    assert watch.switching
    monkeypatch.setattr(sync_watch, "_CHUNKS_BETWEEN_ROUNDS", PAGES - done)
    watch._continue_switch()
    assert not watch.switching
    assert brain.active_model().name == "new"
    assert capsys.readouterr().err.endswith("new is now the active model.\n")


def test_doctor_and_status_say_how_to_continue(
    brain: Brain, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gbrain.cli.warm import status
    from gbrain.store.doctor.examine import examine_file

    brain.start_switch("new")
    brain.embed(limit=70)
    finding = dict(examine_file(brain.path, "2026-01-01"))["model_switch"]
    assert (finding.status, finding.fix[:23]) == ("note", "gbrain embed continues,")
    status(db=brain.path)
    left = f"{PAGES - 70} chunks still to embed with new; run gbrain embed to continue.\n"
    assert capsys.readouterr().err.endswith(left)
