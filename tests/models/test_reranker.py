"""The packaged cross-encoder: right scores, each a function of its pair alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gbrain.errors import ModelUnavailable
from gbrain.models import reranker
from gbrain.models.catalog import ModelSpec, packaged_model, packaged_reranker
from gbrain.models.files import verify_hashes
from gbrain.models.reranker import CrossEncoder

PAIRS = Path(__file__).parents[2] / "fixtures" / "models" / "pairs.jsonl"
# How far int8 may move a logit; logits go from about -11.5 to 10.
TOLERANCE = 0.5
QUERY = "how do I restore a backup?"
AWKWARD = ["", "a", "今天天气很好。", "\x00 \u200b 🦜 [SEP] {}", "word " * 5000, "x" * 50_000]


@pytest.fixture(scope="module")
def encoder() -> Iterator[CrossEncoder]:
    opened = CrossEncoder(packaged_reranker())
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    reranker._cached_scores.clear()


def score(encoder: CrossEncoder, query: str, passage: str) -> float:
    return encoder.score_chunks(query, {b"it": passage})[b"it"]


def test_the_packaged_files_are_the_described_ones() -> None:
    spec = packaged_reranker()
    verify_hashes(spec)
    assert [file.path for file in spec.files] == ["model.onnx", "tokenizer.json"]


def test_it_is_not_offered_as_an_embedding_model() -> None:
    with pytest.raises(ModelUnavailable) as refused:
        packaged_model("ms-marco-MiniLM-L-12-v2")
    assert refused.value.hint == "Packaged: bge-small-en-v1.5, multilingual-e5-small."


def test_scores_are_those_of_the_unquantised_model(encoder: CrossEncoder) -> None:
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    assert len(pairs) == 9
    for number, pair in enumerate(pairs):
        reranker._cached_scores.clear()
        found = score(encoder, pair["query"], pair["passage"])
        assert found == pytest.approx(pair["score"], abs=TOLERANCE), number


def test_a_score_depends_on_its_pair_alone(encoder: CrossEncoder) -> None:
    passages = {str(number).encode(): text for number, text in enumerate(AWKWARD)}
    together = encoder.score_chunks(QUERY, passages)
    assert list(together) == list(passages)
    single = CrossEncoder(packaged_reranker(), threads=1)
    assert passages
    for name, text in passages.items():
        reranker._cached_scores.clear()
        assert score(single, QUERY, text) == together[name]
    single.close()


@pytest.mark.parametrize("query", AWKWARD, ids=lambda query: repr(query[:8]))
def test_any_text_is_a_query(encoder: CrossEncoder, query: str) -> None:
    assert -20 < score(encoder, query, "Backups run every night at two.") < 20


def test_of_a_long_passage_the_beginning_counts(encoder: CrossEncoder) -> None:
    answer = "To restore a backup, copy the file into place."
    filler = "Bread needs flour and water. " * 200
    assert score(encoder, QUERY, answer + filler) > 0
    reranker._cached_scores.clear()
    assert score(encoder, QUERY, filler + answer) < 0


def test_what_was_scored_once_is_not_scored_again(tmp_path: Path) -> None:
    spec = packaged_reranker()
    first = CrossEncoder(spec)
    found = first.score_chunks(QUERY, {b"one": "Backups run every night."})
    first.close()
    elsewhere = CrossEncoder(spec._replace(folder=tmp_path))
    assert elsewhere.score_chunks(QUERY, {b"one": "Backups run every night."}) == found
    for query, name in ((QUERY, b"two"), ("another question", b"one")):
        with pytest.raises(ModelUnavailable):
            elsewhere.score_chunks(query, {name: "Backups run every night."})


def test_only_so_much_is_remembered(encoder: CrossEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reranker, "MAX_CACHED_SCORES", 4)
    encoder.score_chunks(QUERY, {bytes([number]): "a" for number in range(9)})
    assert [name for _, _, name in reranker._cached_scores] == [b"\x06", b"\x07", b"\x08"]


@pytest.fixture
def copied(tmp_path: Path) -> ModelSpec:
    spec = packaged_reranker()
    for file in spec.files:
        shutil.copy(spec.folder / file.path, tmp_path / file.path)
    return spec._replace(folder=tmp_path)


def test_altered_files_are_not_used(copied: ModelSpec) -> None:
    path = copied.folder / "tokenizer.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("[UNK]", "[UNQ]"), encoding="utf-8")
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json was altered"):
        score(CrossEncoder(copied), QUERY, "a")


def test_nothing_is_opened_until_a_pair_is_asked_for(tmp_path: Path) -> None:
    absent = CrossEncoder(packaged_reranker()._replace(folder=tmp_path))
    assert absent.score_chunks(QUERY, {}) == {}
    absent.close()
    with pytest.raises(ModelUnavailable, match=r"model\.onnx is missing"):
        score(absent, QUERY, "a")
