"""The packaged model's vectors: right, and a function of the text alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gbrain.errors import ModelUnavailable
from gbrain.models.catalog import LANGUAGE_MAP_FILE, ModelSpec
from gbrain.models.embedder import MAX_QUEUED_PER_THREAD, PACK_AFTER_TEXTS, OnnxEmbedder

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "fixtures" / "models" / "reference.jsonl"
TEXTS = [
    "",
    "a",
    "Bread needs flour, water, salt and time.",
    "今天天气很好,我们去公园散步。",
    "Kubernetes pods restart when the liveness probe fails three times in a row. " * 6,
    "\x00 \u200b 🦜 [SEP] {}",
]


def passage(embedder: OnnxEmbedder, text: str) -> NDArray[np.float32]:
    (vector,) = embedder.embed_chunks([text])
    return vector


def test_vectors_are_those_of_the_original_model(embedder: OnnxEmbedder) -> None:
    rows = [json.loads(line) for line in REFERENCE.read_text(encoding="utf-8").splitlines()]
    cosines = []
    for row in rows:
        query = row["kind"] == "query"
        vector = embedder.embed_query(row["text"]) if query else passage(embedder, row["text"])
        expected = np.array(row["vector"])
        cosines.append(vector @ expected / np.linalg.norm(expected))
    assert len(rows) == 32
    assert min(cosines) >= 0.98
    assert np.mean(cosines) >= 0.995


def test_multilingual_vectors_are_those_of_the_original_model(
    multilingual: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multilingual, "_language_map", None)
    lines = (REFERENCE.parent / "multilingual.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 32
    cosines = []
    for row in map(json.loads, lines):
        prefix = next(p for p in ("query: ", "passage: ") if row["text"].startswith(p))
        text = row["text"].removeprefix(prefix)
        is_query = prefix == multilingual.spec.query_prefix
        vector = multilingual.embed_query(text) if is_query else passage(multilingual, text)
        expected = np.array(row["vector"])
        cosines.append(vector @ expected / np.linalg.norm(expected))
    assert min(cosines) >= 0.98
    assert np.mean(cosines) >= 0.99


def test_the_language_map_is_applied_to_queries_and_chunks(
    multilingual: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.fromfile(multilingual.spec.folder / LANGUAGE_MAP_FILE, dtype="<f4").reshape(-1, 384)
    assert rows.shape == (386, 384)
    mapped = multilingual.embed_query("rent"), passage(multilingual, "rent")
    monkeypatch.setattr(multilingual, "_language_map", None)
    plain = multilingual.embed_query("rent"), passage(multilingual, "rent")
    for vector, before, offset in zip(mapped, plain, rows[-2:], strict=True):
        expected = rows[:-2] @ before + offset
        assert np.allclose(vector, expected / np.linalg.norm(expected), atol=1e-5)
        assert vector @ before < 0.95


def test_a_question_is_close_to_its_answer_in_another_language(
    multilingual: OnnxEmbedder,
) -> None:
    question = multilingual.embed_query("how much is the rent")
    answer = passage(multilingual, "Die Kaltmiete beträgt 870 Euro im Monat.")
    other = passage(multilingual, "How much flour the pancakes need is on the packet.")
    assert question @ answer > question @ other


def test_the_reference_counts_the_same_tokens(embedder: OnnxEmbedder) -> None:
    lines = REFERENCE.read_text(encoding="utf-8").splitlines()
    assert lines
    for line in lines:
        row = json.loads(line)
        prefix = embedder.spec.query_prefix if row["kind"] == "query" else ""
        counted = embedder.count_tokens(prefix + row["text"]) + 2
        assert min(counted, 512) == row["tokens"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_vector_is_float32_of_length_one(embedder: OnnxEmbedder, text: str) -> None:
    vector = passage(embedder, text)
    assert vector.dtype == np.float32
    assert vector.shape == (384,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


def test_a_vector_depends_on_its_text_alone(spec: ModelSpec, embedder: OnnxEmbedder) -> None:
    alone = [passage(embedder, text) for text in TEXTS]
    together = list(embedder.embed_chunks(TEXTS))
    backwards = list(embedder.embed_chunks(TEXTS[::-1]))[::-1]
    single, several = OnnxEmbedder(spec, threads=1), OnnxEmbedder(spec, threads=5)
    for others in (
        together,
        backwards,
        list(single.embed_chunks(TEXTS)),
        list(several.embed_chunks(TEXTS * 3))[-len(TEXTS) :],
    ):
        assert np.array_equal(alone, others)
    single.close()
    several.close()


def test_a_query_is_a_passage_with_the_prefix_in_front(embedder: OnnxEmbedder) -> None:
    query = embedder.embed_query("bread recipe")
    prefixed = passage(embedder, embedder.spec.query_prefix + "bread recipe")
    assert np.array_equal(query, prefixed)
    assert not np.array_equal(query, passage(embedder, "bread recipe"))


def test_a_passage_prefix_is_applied_to_passages_only(
    spec: ModelSpec, embedder: OnnxEmbedder
) -> None:
    other = OnnxEmbedder(spec._replace(query_prefix="", passage_prefix="note: "))
    assert np.array_equal(passage(other, "bread"), passage(embedder, "note: bread"))
    assert np.array_equal(other.embed_query("bread"), passage(embedder, "bread"))
    other.close()


def test_the_end_of_a_long_text_counts(spec: ModelSpec) -> None:
    small = OnnxEmbedder(spec._replace(max_tokens=64))
    start = "Tomatoes want sun and a stake to climb. " * 8
    gardening = passage(small, start + "Basil likes their company. " * 8)
    trains = passage(small, start + "The train to Bern leaves at seven. " * 8)
    about_trains = passage(small, "The train to Bern leaves at seven.")
    assert small.count_tokens(start) > 64
    assert trains @ about_trains > gardening @ about_trains + 0.05
    small.close()


def test_a_long_text_is_the_direction_of_the_sum_of_its_windows(
    spec: ModelSpec, embedder: OnnxEmbedder
) -> None:
    small = OnnxEmbedder(spec._replace(max_tokens=6))
    halves = [passage(embedder, half) for half in ("one two three", "four five six")]
    total = np.sum(halves, axis=0)
    whole = passage(small, "one two three four five six")
    assert whole == pytest.approx(total / np.linalg.norm(total), abs=1e-6)
    small.close()


def test_mean_pooling_differs_and_raw_vectors_keep_their_length(
    spec: ModelSpec, embedder: OnnxEmbedder
) -> None:
    mean = OnnxEmbedder(spec._replace(pooling="mean"))
    raw = OnnxEmbedder(spec._replace(normalize=False))
    text = TEXTS[2]
    assert 0.2 < passage(mean, text) @ passage(embedder, text) < 0.999
    vector = passage(raw, text)
    assert np.linalg.norm(vector) > 2
    assert vector / np.linalg.norm(vector) == pytest.approx(passage(embedder, text), abs=1e-6)
    mean.close()
    raw.close()


def test_texts_are_read_a_few_ahead_and_vectors_come_in_order(spec: ModelSpec) -> None:
    embedder = OnnxEmbedder(spec, threads=2)
    read = 0

    def source() -> Iterator[str]:
        nonlocal read
        for number in range(200):
            read += 1
            yield f"note {number}"

    vectors = embedder.embed_chunks(source())
    assert read == 0
    first, second = next(vectors), next(vectors)
    assert read <= 2 * MAX_QUEUED_PER_THREAD + 1
    assert np.array_equal([first, second], list(embedder.embed_chunks(["note 0", "note 1"])))
    embedder.close()


def test_the_packed_session_of_a_long_run_gives_the_same_vectors(spec: ModelSpec) -> None:
    embedder = OnnxEmbedder(spec)
    before = [passage(embedder, text) for text in TEXTS]
    query = embedder.embed_query(TEXTS[2])
    texts = [*TEXTS, *(["note"] * PACK_AFTER_TEXTS), *TEXTS]
    vectors = list(embedder.embed_chunks(texts))
    assert np.array_equal(vectors[: len(TEXTS)], before)
    assert np.array_equal(vectors[-len(TEXTS) :], before)
    assert np.array_equal(embedder.embed_query(TEXTS[2]), query)
    embedder.close()


def test_no_texts_give_no_vectors(embedder: OnnxEmbedder) -> None:
    assert list(embedder.embed_chunks([])) == []


def test_an_error_in_the_source_reaches_the_caller(embedder: OnnxEmbedder) -> None:
    def source() -> Iterator[str]:
        yield "fine"
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        list(embedder.embed_chunks(source()))
    assert passage(embedder, "still works").shape == (384,)


def test_a_dimension_that_is_not_the_files_is_refused(spec: ModelSpec) -> None:
    wrong = OnnxEmbedder(spec._replace(dimension=768))
    with pytest.raises(ModelUnavailable, match="384 numbers per vector, not 768"):
        wrong.embed_query("x")


def test_more_tokens_than_the_network_takes_are_refused(spec: ModelSpec) -> None:
    wrong = OnnxEmbedder(spec._replace(max_tokens=4096))
    with pytest.raises(ModelUnavailable, match="failed on 600 tokens"):
        wrong.embed_query("a " * 590)


def test_opening_says_which_file_is_missing(spec: ModelSpec, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"model\.onnx is missing"):
        OnnxEmbedder(spec._replace(folder=tmp_path))


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json"])
def test_files_of_nonsense_are_refused(spec: ModelSpec, tmp_path: Path, broken: str) -> None:
    for file in spec.files:
        (tmp_path / file.path).symlink_to(spec.folder / file.path)
    (tmp_path / broken).unlink()
    (tmp_path / broken).write_bytes(b"nonsense")
    with pytest.raises(ModelUnavailable, match=f"{broken} cannot be opened"):
        OnnxEmbedder(spec._replace(folder=tmp_path, files=()))


def test_nothing_is_printed_not_even_when_the_process_forks() -> None:
    script = (
        "import os\n"
        "from gbrain.models.catalog import packaged_model\n"
        "from gbrain.models.embedder import OnnxEmbedder\n"
        "embedder = OnnxEmbedder(packaged_model())\n"
        "list(embedder.embed_chunks(['one', 'two', 'three']))\n"
        "child = os.fork()\n"
        "embedder.count_tokens('four')\n"
        "child and os.waitpid(child, 0)\n"
        "os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True, timeout=60
    )
    assert done.stdout == b""
    assert done.stderr == b""


def test_a_query_both_ways_lies_midway(embedder: OnnxEmbedder) -> None:
    text = "who looks after the storage engine"
    asked, plain = embedder.embed_query(text), next(embedder.embed_chunks([text]))
    midway = embedder.embed_query_averaged(text)
    assert midway @ asked == pytest.approx(midway @ plain, abs=1e-6)
    assert midway @ asked > asked @ plain
    assert midway @ midway == pytest.approx(1, abs=1e-6)
