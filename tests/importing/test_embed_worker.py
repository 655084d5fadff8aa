"""Embedding what changed: once, shared between runs, and whole again after a kill."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gbrain.brain import Brain
from gbrain.errors import BadBrain, ModelUnavailable
from gbrain.importing.embed_worker import (
    EmbedLimits,
    EmbedReport,
    embed_due_chunks,
    embed_new_chunks,
)
from gbrain.models.catalog import ModelSpec
from gbrain.store import jobs, vector_scan
from gbrain.store.jobs import Backlog
from gbrain.store.vector_space import VectorSpace
from gbrain.types import Scope

DIMENSION = 16


def spec_of(dimension: int) -> ModelSpec:
    return ModelSpec(
        name=f"hashed-{dimension}",
        sha256=f"{dimension:064x}",
        pooling="cls",
        query_prefix="",
        passage_prefix="",
        dimension=dimension,
        max_tokens=512,
        folder=Path("nowhere"),
    )


class Hashed:
    """A model whose vector is drawn by the text's hash; remembers each passage it was given."""

    def __init__(self, dimension: int = DIMENSION, cannot: str = "\0") -> None:
        self.spec = spec_of(dimension)
        self.seen: list[str] = []
        self.cannot = cannot

    def embed_query(self, text: str) -> NDArray[np.float32]:
        seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
        drawn = np.random.default_rng(seed).standard_normal(self.spec.dimension)
        unit: NDArray[np.float32] = (drawn / np.linalg.norm(drawn)).astype(np.float32)
        return unit

    def embed_chunks(self, texts: Iterable[str]) -> Iterator[NDArray[np.float32]]:
        for text in texts:
            if self.cannot in text:
                raise ModelUnavailable(f"cannot read {self.cannot!r}", hint="None.")
            self.seen.append(text)
            yield self.embed_query(text)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def close(self) -> None:
        pass


@pytest.fixture
def model(brain: Brain) -> Hashed:
    """The active model of `brain`."""
    hashed = Hashed()
    brain.add_model(hashed.spec)
    brain.use_model(hashed.spec.name)
    return hashed


def embed(brain: Brain, model: Hashed, limits: EmbedLimits = EmbedLimits()) -> EmbedReport:
    return embed_due_chunks(
        brain.database, brain.active_model().space, lambda: model, limits=limits
    )


def put(brain: Brain, name: str, words: str, title: str | None = None) -> None:
    brain.put(name, f"---\ntitle: {title or name}\n---\n{words}\n".encode())


def hashes(brain: Brain) -> set[bytes]:
    """The texts that have a vector."""
    table = brain.active_model().space.vectors
    rows = brain.database.connection.execute(f"SELECT hash FROM {table} WHERE hash IS NOT NULL")
    return {row[0] for row in rows}


def wanted(brain: Brain) -> set[bytes]:
    rows = brain.database.connection.execute("SELECT DISTINCT hash FROM chunks")
    return {row[0] for row in rows}


def due(brain: Brain, now: float | None = None) -> int:
    with brain.database.read_transaction() as connection:
        return jobs.count_due(connection, time.time() if now is None else now)


def test_writing_fills_the_queue_and_embedding_empties_it(brain: Brain, model: Hashed) -> None:
    put(brain, "one", "first words")
    put(brain, "two", "second words")
    assert due(brain) == 2
    assert embed(brain, model).done == 2
    assert (due(brain), hashes(brain)) == (0, wanted(brain))
    assert {text.splitlines()[0] for text in model.seen} == {"one", "two"}


def test_an_empty_queue_loads_no_model(brain: Brain, model: Hashed) -> None:
    def opened() -> Hashed:
        raise AssertionError

    space = brain.active_model().space
    assert embed_due_chunks(brain.database, space, opened).done == 0


def test_the_same_text_is_embedded_once(brain: Brain, model: Hashed) -> None:
    put(brain, "one", "first words", title="Same")
    embed(brain, model)
    brain.rename("one", "moved/one")
    put(brain, "two", "first words", title="Same")
    put(brain, "moved/one", "other words", title="Same")
    put(brain, "moved/one", "first words", title="Same")
    assert embed(brain, model).done == 0
    assert len(model.seen) == 1


def test_one_changed_paragraph_embeds_one_text(brain: Brain, model: Hashed) -> None:
    sections = [f"## Part {n}\nwords of part {n}" for n in range(30)]
    put(brain, "page", "\n".join(sections))
    embed(brain, model)
    sections[7] += " and more"
    put(brain, "page", "\n".join(sections))
    result = embed(brain, model)
    assert (result.done, result.pruned) == (1, 1)


def test_orphan_vectors_are_removed_after_the_last_batch(brain: Brain, model: Hashed) -> None:
    put(brain, "old", "old words")
    embed(brain, model)
    brain.delete("old")
    for n in range(3):
        put(brain, f"page{n}", f"words {n}")
    assert [embed(brain, model, limits=EmbedLimits(jobs=1)).pruned for _ in range(3)] == [0, 0, 1]
    assert hashes(brain) == wanted(brain)


def test_slots_of_orphan_vectors_are_used_again(brain: Brain, model: Hashed) -> None:
    for n in range(10):
        put(brain, f"page{n}", f"words {n}")
    embed(brain, model)
    for n in range(4):
        brain.delete(f"page{n}")
    assert embed(brain, model).pruned == 4
    assert hashes(brain) == wanted(brain)
    for n in range(4):
        put(brain, f"new{n}", f"new words {n}")
    embed(brain, model)
    table = brain.active_model().space.vectors
    (last,) = brain.database.connection.execute(f"SELECT max(slot) FROM {table}").fetchone()
    assert last == 9
    assert hashes(brain) == wanted(brain)


def test_a_limit_is_kept_and_the_rest_is_reported(brain: Brain, model: Hashed) -> None:
    for n in range(5):
        put(brain, f"page{n}", f"words {n}")
    result = embed(brain, model, EmbedLimits(jobs=2))
    assert (result.done, result.left) == (2, 3)
    assert embed(brain, model, EmbedLimits(seconds=0)).done == 0
    assert embed(brain, model).done == 3


def test_deleted_chunks_do_not_block_the_queue(brain: Brain, model: Hashed) -> None:
    for n in range(200):
        put(brain, f"gone{n}", f"words {n}")
    for n in range(200):
        brain.delete(f"gone{n}")
    put(brain, "here", "the only words")
    result = embed(brain, model, EmbedLimits(jobs=1))
    assert (result.done, due(brain)) == (1, 0)


def test_only_the_given_page_is_embedded(brain: Brain, model: Hashed) -> None:
    put(brain, "one", "first words")
    put(brain, "two", "second words")
    space, page_id = brain.active_model().space, brain.get("two").id
    assert embed_due_chunks(brain.database, space, lambda: model, page_id=page_id).done == 1
    assert "second words" in model.seen[0]
    assert due(brain) == 1


def test_a_text_the_model_rejects_blocks_no_other(brain: Brain, model: Hashed) -> None:
    for n in range(150):
        put(brain, f"page{n}", f"words {n}")
    put(brain, "bad", "words with poison inside")
    model.cannot = "poison"
    for _ in range(2):
        try:
            embed(brain, model)
        except ModelUnavailable:
            continue
    assert len(hashes(brain)) == 150
    with brain.database.read_transaction() as connection:
        (failed,), total = jobs.list_queue(connection, 10)
    assert (failed.slug, failed.attempts, total) == ("bad", 1, 1)
    assert failed.error == "cannot read 'poison'"
    assert failed.claimed_by is None
    assert due(brain) == 0
    assert due(brain, time.time() + 61) == 1


def test_an_interrupted_run_releases_its_jobs(brain: Brain, model: Hashed) -> None:
    for n in range(100):
        put(brain, f"page{n}", f"words {n}")

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    space = brain.active_model().space
    with pytest.raises(KeyboardInterrupt):
        embed_due_chunks(brain.database, space, lambda: model, progress=interrupt)
    assert due(brain) == 100 - len(hashes(brain)) > 0
    embed(brain, model)
    assert hashes(brain) == wanted(brain)


def test_a_removed_model_never_embeds_for_another(brain: Brain, model: Hashed) -> None:
    """The model is removed and one of the same dimension is added while vectors are in flight."""
    put(brain, "one", "first words")
    put(brain, "two", "second words")
    old, other = brain.active_model(), Hashed()
    other.spec = other.spec._replace(name="other", sha256="f" * 64)

    def exchange() -> None:
        brain.use_model(brain.models()[0].name)
        brain.remove_model(old)
        brain.add_model(other.spec)
        brain.use_model("other")

    class InFlight(Hashed):
        def embed_chunks(self, texts: Iterable[str]) -> Iterator[NDArray[np.float32]]:
            for vector in list(super().embed_chunks(texts)):
                if brain.active_model().id == old.id:
                    exchange()
                yield vector

    # What was thrown away is not reported as embedded.
    assert embed_due_chunks(brain.database, old.space, InFlight).done == 0
    assert brain.active_model().id != old.id
    assert (hashes(brain), due(brain)) == (set(), 2)
    assert embed(brain, other).done == 2
    assert hashes(brain) == wanted(brain)


def test_the_model_of_another_process_replaces_an_open_one(
    brain: Brain, model: Hashed, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    class Opened(Hashed):
        def __init__(self, spec: ModelSpec, *, for_many_texts: bool = False) -> None:
            super().__init__()
            self.spec = spec
            opened.append(spec.name)

    monkeypatch.setattr("gbrain.models.embedder.OnnxEmbedder", Opened)
    specs = {model.spec.name: model.spec, "other": model.spec._replace(name="other", sha256="f")}
    monkeypatch.setattr(Brain, "_verified_spec", lambda self, row: specs[row.name])
    put(brain, "one", "first words")
    assert brain.embed().done == 1
    with Brain.open(brain.path) as elsewhere:
        elsewhere.add_model(specs["other"])
        elsewhere.use_model("other")
    assert brain.embedder.spec.name == "other"
    put(brain, "two", "second words")
    assert brain.embed().done == 2
    assert opened == [model.spec.name, "other"]


def test_a_model_switch_during_a_run_loses_nothing(brain: Brain, model: Hashed) -> None:
    other = Hashed(24)
    brain.add_model(other.spec)
    for n in range(200):
        put(brain, f"page{n}", f"words {n}")
    old = brain.active_model().space

    def switch(done: int, total: int) -> None:
        if brain.active_model().space == old:
            brain.use_model(other.spec.name)

    embed_due_chunks(brain.database, old, lambda: model, progress=switch)
    embed(brain, other)
    assert hashes(brain) == wanted(brain)


def test_another_dimension_has_separate_tables(brain: Brain, model: Hashed) -> None:
    put(brain, "one", "first words")
    embed(brain, model)
    other = Hashed(24)
    brain.add_model(other.spec)
    brain.use_model(other.spec.name)
    assert embed(brain, other).done == 1
    connection = brain.database.connection
    for dimension in (DIMENSION, 24):
        rows = connection.execute(f"SELECT vector FROM page_embeddings_vec_{dimension}").fetchall()
        assert [len(row[0]) for row in rows] == [2 * dimension]
    brain.use_model(model.spec.name)
    assert embed(brain, model).done == 0


def test_each_vector_belongs_to_its_own_text(brain: Brain, model: Hashed) -> None:
    for n in range(70):
        put(brain, f"page{n}", f"words {n}")
    embed(brain, model)
    space = brain.active_model().space
    with brain.database.read_transaction() as connection:
        query = model.embed_query("page7\nwords 7")
        best = vector_scan.exact_cosines(connection, space, query, range(70), Scope())[0]
    assert best.page_id == brain.get("page7").id
    assert best.score == pytest.approx(1, abs=1e-3)


def test_the_newest_pages_are_embedded_first(brain: Brain, model: Hashed, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, year in (("a", 2020), ("b", 2025), ("c", 2022)):
        (folder / f"{name}.md").write_text(f"words of {name}\n")
        changed = datetime(year, 6, 1, tzinfo=UTC).timestamp()
        os.utime(folder / f"{name}.md", (changed, changed))
    (folder / "d.md").write_text("---\ndate: 2023-05-01\n---\nwords of d\n")
    brain.import_folder(folder)
    embed(brain, model)
    assert [text.split()[-1] for text in model.seen] == ["b", "d", "c", "a"]


# --- before a query ------------------------------------------------------------------------------


def embed_for_query(brain: Brain, model: Hashed) -> Backlog:
    return embed_new_chunks(brain.database, lambda: brain.active_model().space, lambda: model)


def put_chunks(brain: Brain, name: str, count: int) -> None:
    put(brain, name, "\n".join(f"## Part {n}\nwords {n}" for n in range(count)))


def test_a_few_new_chunks_are_embedded_before_a_query(brain: Brain, model: Hashed) -> None:
    put(brain, "one", "first words")
    put(brain, "gone", "second words")
    brain.delete("gone")
    assert embed_for_query(brain, model).waiting == 0
    assert hashes(brain) == wanted(brain)
    assert embed_for_query(brain, model).waiting == 0
    assert len(model.seen) == 1


def test_many_waiting_chunks_are_left_to_embed(brain: Brain, model: Hashed) -> None:
    put_chunks(brain, "page", 20)
    assert embed_for_query(brain, model) == Backlog(20, 20)
    assert model.seen == []


def test_queries_embed_a_long_new_page_in_steps(brain: Brain, model: Hashed) -> None:
    put_chunks(brain, "old", 60)
    embed(brain, model)
    put_chunks(brain, "new", 20)
    model.seen.clear()
    assert embed_for_query(brain, model) == Backlog(4, 80)
    assert [text.split()[-1] for text in model.seen] == [str(n) for n in range(16)]
    assert embed_for_query(brain, model).waiting == 0


def test_a_query_does_not_wait_for_another_writer(brain: Brain, model: Hashed) -> None:
    put(brain, "one", "first words")
    brain.database.connection.execute("PRAGMA busy_timeout = 60000")
    other = sqlite3.connect(brain.path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        assert embed_for_query(brain, model) == Backlog(1, 1)
    finally:
        other.close()
    assert embed_for_query(brain, model).waiting == 0


def test_a_query_leaves_claimed_jobs_to_their_worker(brain: Brain, model: Hashed) -> None:
    put(brain, "one", "first words")
    with brain.database.write_transaction() as connection:
        jobs.claim_jobs(connection, jobs.worker_name(), time.time(), 1, None)
    assert embed_for_query(brain, model) == Backlog(1, 1)
    assert model.seen == []


def test_a_query_tries_a_bad_chunk_once_and_stores_the_others(brain: Brain, model: Hashed) -> None:
    put_chunks(brain, "page", 3)
    model.cannot = "words 1"
    assert embed_for_query(brain, model).waiting == 2
    assert embed_for_query(brain, model) == Backlog(1, 3)
    with brain.database.read_transaction() as connection:
        (failed,), _ = jobs.list_queue(connection, 10)
    assert (failed.attempts, failed.error) == (1, "cannot read 'words 1'")
    assert embed_for_query(brain, model) == Backlog(1, 3)


def test_a_snapshot_or_read_only_brain_gets_no_vectors(brain: Brain, model: Hashed) -> None:
    put(brain, "one", "first words")
    with brain.database.read_transaction():
        assert embed_for_query(brain, model) == Backlog(1, 1)
    with Brain.open(brain.path, read_only=True) as reader:
        assert embed_for_query(reader, model) == Backlog(1, 1)
    assert model.seen == []


# --- real processes, the real model --------------------------------------------------------------


def fill(path: Path, pages: int) -> None:
    with Brain.open(path, make=True) as brain:
        brain.active_model()
        for n in range(pages):
            words = " ".join(f"note {n} about item {n * k % 97}" for k in range(1, 5))
            put(brain, f"page{n}", words)


def start(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gbrain", "embed", "--stale", "--json", "--db", str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> int:
    """How many passages that run embedded."""
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    embedded: int = json.loads(stdout)["embedded"]
    return embedded


def vector_count(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        row = connection.execute("SELECT count(hash) FROM page_embeddings_vec_384").fetchone()
    finally:
        connection.close()
    count: int = row[0]
    return count


def test_two_runs_share_the_work(brain_path: Path) -> None:
    fill(brain_path, 100)
    runs = [start(brain_path), start(brain_path)]
    counts = [finished(run) for run in runs]
    assert sum(counts) == vector_count(brain_path) == 100


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_after_a_kill_the_next_run_completes(brain_path: Path) -> None:
    fill(brain_path, 130)
    killed = start(brain_path)
    while vector_count(brain_path) == 0:
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    kept = vector_count(brain_path)
    assert 0 < kept < 130
    with Brain.open(brain_path) as brain, brain.database.read_transaction() as connection:
        claimed = [job for job in jobs.list_queue(connection, 200)[0] if job.claimed_by]
    assert claimed
    assert finished(start(brain_path)) == 130 - kept
    assert vector_count(brain_path) == 130


def test_a_dimension_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(BadBrain):
        VectorSpace(1, "384; DROP TABLE pages")  # type: ignore[arg-type]
