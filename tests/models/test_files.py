"""Missing, truncated and altered model files have different errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from gbrain.errors import ModelUnavailable
from gbrain.models.catalog import ModelFile, ModelSpec
from gbrain.models.files import (
    check_sizes,
    file_sha256,
    files_stamp,
    read_json,
    verify_hashes,
    verify_if_changed,
)

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.fixture
def small(tmp_path: Path) -> ModelSpec:
    """A spec whose two files both hold the three bytes abc."""
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_bytes(b"abc")
    return ModelSpec(
        name="small",
        sha256=ABC,
        pooling="cls",
        query_prefix="",
        passage_prefix="",
        dimension=2,
        max_tokens=8,
        folder=tmp_path,
        files=(ModelFile("model.onnx", ABC, 3), ModelFile("tokenizer.json", ABC, 3)),
    )


def test_the_packaged_files_are_the_described_ones(spec: ModelSpec) -> None:
    verify_hashes(spec)
    assert [file.path for file in spec.files] == ["model.onnx", "tokenizer.json"]


def test_intact_files_pass(small: ModelSpec) -> None:
    check_sizes(small)
    verify_hashes(small)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("judge", [check_sizes, verify_hashes])
class TestDamage:
    def test_missing(self, small: ModelSpec, name: str, judge: object) -> None:
        (small.folder / name).unlink()
        self.refuses(small, judge, f"small: {name} is missing")

    def test_a_folder_in_its_place(self, small: ModelSpec, name: str, judge: object) -> None:
        (small.folder / name).unlink()
        (small.folder / name).mkdir()
        self.refuses(small, judge, f"{name} is missing")

    def test_truncated(self, small: ModelSpec, name: str, judge: object) -> None:
        (small.folder / name).write_bytes(b"a")
        self.refuses(small, judge, f"{name} is truncated: 1 of 3 bytes")

    def test_longer(self, small: ModelSpec, name: str, judge: object) -> None:
        (small.folder / name).write_bytes(b"abcd")
        self.refuses(small, judge, f"{name} was altered: 4 bytes instead of 3")

    @staticmethod
    def refuses(spec: ModelSpec, judge: object, message: str) -> None:
        assert callable(judge)
        with pytest.raises(ModelUnavailable, match=message) as caught:
            judge(spec)
        assert caught.value.hint


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_only_verify_sees_a_change_that_keeps_the_size(small: ModelSpec, name: str) -> None:
    (small.folder / name).write_bytes(b"abX")
    check_sizes(small)
    with pytest.raises(ModelUnavailable, match=f"{name} was altered: sha256"):
        verify_hashes(small)


def test_a_spec_without_files_is_checked_by_its_digest(small: ModelSpec) -> None:
    bare = small._replace(files=())
    verify_hashes(bare)
    (small.folder / "model.onnx").write_bytes(b"abX")
    with pytest.raises(ModelUnavailable, match=r"model\.onnx was altered"):
        verify_hashes(bare)


def test_files_with_a_known_stamp_are_not_hashed(small: ModelSpec) -> None:
    assert verify_if_changed(small, None) == files_stamp(small)
    never_right = small._replace(sha256="0" * 64)
    with pytest.raises(ModelUnavailable, match="was altered"):
        verify_if_changed(never_right, files_stamp(small))
    assert verify_if_changed(never_right, files_stamp(never_right)) == files_stamp(never_right)


def test_an_altered_file_has_another_stamp(small: ModelSpec) -> None:
    seen = verify_if_changed(small, None)
    replacement = small.folder / "replacement"
    replacement.write_bytes(b"abX")
    replacement.replace(small.folder / "model.onnx")
    with pytest.raises(ModelUnavailable, match="was altered"):
        verify_if_changed(small, seen)


def test_sha256_and_json_of_files(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert read_json(path) is None
    path.write_bytes(b"abc")
    assert file_sha256(path) == ABC
    with pytest.raises(ModelUnavailable, match="is not JSON"):
        read_json(path)
    path.write_text('{"a": [1]}')
    assert read_json(path) == {"a": [1]}
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        file_sha256(tmp_path)
