"""The packaged description, identities, and descriptions of other folders."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gbrain.errors import ModelUnavailable
from gbrain.models import catalog
from gbrain.models.catalog import (
    DESCRIPTION_FILE,
    OPTIONAL_MODELS,
    PACKAGED_MODEL,
    ModelSpec,
    packaged_model,
    packaged_models,
    spec_from_description,
    spec_from_folder,
)
from gbrain.models.files import verify_hashes

ROOT = Path(__file__).parents[2]
ST = "sentence_transformers.models."


def write(folder: Path, name: str, value: object) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A sentence-transformers folder, complete but for a real network."""
    folder = tmp_path / "some-model"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"network")
    write(folder, "tokenizer.json", {})
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    write(
        folder,
        "modules.json",
        [{"idx": 0, "path": path, "type": ST + kind} for path, kind in kinds.items()],
    )
    write(
        folder,
        "1_Pooling/config.json",
        {
            "word_embedding_dimension": 768,
            "pooling_mode_cls_token": False,
            "pooling_mode_mean_tokens": True,
        },
    )
    write(
        folder,
        "config_sentence_transformers.json",
        {"prompts": {"query": "query: ", "document": "passage: "}},
    )
    write(folder, "sentence_bert_config.json", {"max_seq_length": 256})
    return folder


def test_the_packaged_model(spec: ModelSpec) -> None:
    assert spec.name == PACKAGED_MODEL
    assert spec.folder.name == PACKAGED_MODEL
    assert spec.pooling == "cls"
    assert spec.query_prefix == "Represent this sentence for searching relevant passages: "
    assert spec.passage_prefix == ""
    assert (spec.dimension, spec.max_tokens) == (384, 512)
    assert (spec.normalize, spec.fused) == (True, True)
    for beside in ("LICENSE", "PROVENANCE.md"):
        assert (spec.folder / beside).is_file()
    assert spec.sha256 in (spec.folder / "PROVENANCE.md").read_text()


@pytest.mark.parametrize("name", ["nothing", "../models", "", "bge-small-en-v1.5/"])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        packaged_model(name)
    assert PACKAGED_MODEL in (caught.value.hint or "")


def test_identity_is_of_what_a_vector_depends_on(spec: ModelSpec) -> None:
    tokenizer = spec.files[1]
    others = [
        spec._replace(sha256="0" * 64),
        spec._replace(pooling="mean"),
        spec._replace(query_prefix=""),
        spec._replace(passage_prefix=spec.query_prefix, query_prefix=""),
        spec._replace(max_tokens=256),
        spec._replace(normalize=False),
        spec._replace(files=(spec.files[0], tokenizer._replace(sha256="0" * 64))),
    ]
    assert len({spec.identity, *(other.identity for other in others)}) == len(others) + 1
    moved = spec._replace(name="other", folder=Path("elsewhere"), fused=False)
    assert moved.identity == spec.identity == packaged_model().identity


def test_a_description_gives_the_spec_back(spec: ModelSpec) -> None:
    described = json.loads(json.dumps(spec.description()))
    assert spec_from_description(described, spec.folder) == spec


def test_a_sentence_transformers_folder(foreign: Path) -> None:
    spec = spec_from_folder(foreign)
    assert (spec.name, spec.folder) == ("some-model", foreign)
    assert (spec.pooling, spec.dimension, spec.max_tokens) == ("mean", 768, 256)
    assert (spec.query_prefix, spec.passage_prefix) == ("query: ", "passage: ")
    assert spec.fused is False
    verify_hashes(spec)


def test_arguments_win(foreign: Path) -> None:
    spec = spec_from_folder(
        foreign, name="n", pooling="cls", query_prefix="", passage_prefix="p", max_tokens=9
    )
    assert (spec.name, spec.pooling, spec.query_prefix) == ("n", "cls", "")
    assert (spec.passage_prefix, spec.max_tokens) == ("p", 9)


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": "mean"}, "mean"),
    ],
)
def test_both_ways_of_naming_the_pooling(
    foreign: Path, pooling: dict[str, Any], expected: str
) -> None:
    write(foreign, "1_Pooling/config.json", pooling | {"embedding_dimension": 5})
    spec = spec_from_folder(foreign)
    assert (spec.pooling, spec.dimension) == (expected, 5)


@pytest.mark.parametrize(
    ("pooling", "message"),
    [
        ({"pooling_mode_max_tokens": True}, "'max_tokens' is not known"),
        (
            {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
            r"'cls\+mean' is not known",
        ),
        ({"pooling_mode": "lasttoken"}, "'lasttoken' is not known"),
        ({}, "does not say how token vectors become one"),
        (["odd"], "does not say how token vectors become one"),
    ],
)
def test_other_poolings_need_a_choice(foreign: Path, pooling: object, message: str) -> None:
    write(foreign, "1_Pooling/config.json", pooling)
    write(foreign, "config.json", {"hidden_size": 4})
    with pytest.raises(ModelUnavailable, match=message) as caught:
        spec_from_folder(foreign)
    assert "--pooling" in (caught.value.hint or "")
    assert spec_from_folder(foreign, pooling="mean").pooling == "mean"


def test_an_unknown_pooling_argument_is_refused(foreign: Path) -> None:
    with pytest.raises(ModelUnavailable, match="'max' is not known"):
        spec_from_folder(foreign, pooling="max")


@pytest.mark.parametrize(
    ("tokenizer", "network", "expected"),
    [
        ({"model_max_length": 384}, {"max_position_embeddings": 512}, 384),
        ({"model_max_length": 10**30}, {"max_position_embeddings": 128}, 128),
        ({"model_max_length": "many"}, {"max_position_embeddings": 514}, 512),
        ({}, {"max_position_embeddings": True, "hidden_size": 3}, None),
    ],
)
def test_the_maximum_length_from_other_files(
    foreign: Path, tokenizer: object, network: object, expected: int | None
) -> None:
    write(foreign, "sentence_bert_config.json", {"max_seq_length": None})
    write(foreign, "tokenizer_config.json", tokenizer)
    write(foreign, "config.json", network)
    if expected is None:
        with pytest.raises(ModelUnavailable, match="how many tokens"):
            spec_from_folder(foreign)
        assert spec_from_folder(foreign, max_tokens=77).max_tokens == 77
    else:
        assert spec_from_folder(foreign).max_tokens == expected


def test_the_network_may_lie_in_a_folder_of_its_own(foreign: Path) -> None:
    (foreign / "onnx").mkdir()
    (foreign / "model.onnx").rename(foreign / "onnx" / "model.onnx")
    (foreign / "onnx" / "model.onnx_data").write_bytes(b"weights")
    spec = spec_from_folder(foreign)
    assert spec.model_file == "onnx/model.onnx"
    (foreign / "onnx" / "model.onnx_data").write_bytes(b"WEIGHTS")
    with pytest.raises(ModelUnavailable, match="onnx_data was altered"):
        verify_hashes(spec)
    assert spec_from_folder(foreign).identity != spec.identity


def test_a_layer_that_onnx_leaves_out_is_refused(foreign: Path) -> None:
    write(foreign, "modules.json", [{"path": "2_Dense", "type": ST + "Dense"}])
    with pytest.raises(ModelUnavailable, match="has a Dense layer"):
        spec_from_folder(foreign)


@pytest.mark.parametrize(
    ("missing", "message"),
    [("model.onnx", "has no model.onnx or onnx/model.onnx"), ("tokenizer.json", "has no token")],
)
def test_a_missing_file_is_named(foreign: Path, missing: str, message: str) -> None:
    (foreign / missing).unlink()
    with pytest.raises(ModelUnavailable, match=message) as caught:
        spec_from_folder(foreign)
    assert caught.value.hint


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"There is no folder .*absent"):
        spec_from_folder(tmp_path / "absent")


def test_broken_json_is_named(foreign: Path) -> None:
    (foreign / "modules.json").write_text("{")
    with pytest.raises(ModelUnavailable, match=r"modules\.json is not JSON"):
        spec_from_folder(foreign)


def test_our_own_description_is_taken_first(foreign: Path, spec: ModelSpec) -> None:
    write(foreign, "gbrain.json", spec.description())
    assert spec_from_folder(foreign) == spec._replace(folder=foreign)
    assert spec_from_folder(foreign, pooling="mean").pooling == "mean"


@pytest.mark.parametrize(
    "change",
    [
        {"files": None},
        {"files": {}},
        {"files": {"model.onnx": "text"}},
        {"files": {"model.onnx": {"sha256": "0", "bytes": 0}}},
        {"files": {"/model.onnx": {"sha256": "0", "bytes": 1}}},
        {"files": {"../model.onnx": {"sha256": "0", "bytes": 1}}},
        {"name": 5},
        {"dimension": "384"},
        {"dimension": None},
        {"max_tokens": 0},
        {"max_tokens": True},
        {"query_prefix": []},
        {"pooling": []},
    ],
)
def test_a_wrong_description_is_refused(
    foreign: Path, spec: ModelSpec, change: dict[str, Any]
) -> None:
    write(foreign, "gbrain.json", spec.description() | change)
    with pytest.raises(ModelUnavailable):
        spec_from_folder(foreign)


def test_a_description_that_is_no_object_is_refused(foreign: Path) -> None:
    write(foreign, "gbrain.json", ["x"])
    with pytest.raises(ModelUnavailable, match="must be an object"):
        spec_from_folder(foreign)


def test_a_real_model_without_configuration(tmp_path: Path, spec: ModelSpec) -> None:
    for file in spec.files:
        (tmp_path / file.path).symlink_to(spec.folder / file.path)
    described = spec_from_folder(
        tmp_path,
        name=spec.name,
        pooling="cls",
        query_prefix=spec.query_prefix,
        max_tokens=512,
    )
    assert described.dimension == 384
    unknown = {"fused": False, "average_query": False, "calibration": None}
    assert described == spec._replace(folder=tmp_path, **unknown)
    assert described.identity == spec.identity


def test_a_file_that_is_no_network_has_no_dimension(foreign: Path) -> None:
    (foreign / "1_Pooling" / "config.json").unlink()
    with pytest.raises(ModelUnavailable, match=r"model\.onnx cannot be opened"):
        spec_from_folder(foreign, pooling="mean")


def test_the_catalog_loads_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from gbrain.models.catalog import packaged_model\n"
        "import gbrain.models.files, gbrain.models.embedder\n"
        "assert packaged_model().identity\n"
        "print([name for name in ('numpy', 'onnxruntime', 'tokenizers') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_the_model_for_other_languages_is_found_in_its_place_or_its_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "multilingual-e5-small"
    assert [spec.name for spec in packaged_models()] == [PACKAGED_MODEL, name]
    in_place = packaged_model(name)
    verify_hashes(in_place)
    # As a wheel without the model: its folder is not beside this module.
    (tmp_path / "models").mkdir()
    shutil.copytree(packaged_model().folder, tmp_path / "models" / PACKAGED_MODEL)
    monkeypatch.setattr(catalog, "__file__", str(tmp_path / "models" / "catalog.py"))
    assert [spec.name for spec in packaged_models()] == [PACKAGED_MODEL]
    with pytest.raises(ModelUnavailable, match="not installed") as missing:
        packaged_model(name)
    assert "gbrain[languages]" in missing.value.hint
    wheel = tmp_path / "site" / OPTIONAL_MODELS[name]
    wheel.mkdir(parents=True)
    shutil.copy(in_place.folder / DESCRIPTION_FILE, wheel)
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert packaged_model(name) == in_place._replace(folder=wheel)


@pytest.mark.parametrize(
    "wrong", [3, {}, {"slope": 0, "offset": 0}, {"slope": "1", "offset": 0}, {"slope": 1}]
)
def test_a_calibration_needs_a_slope_and_an_offset(spec: ModelSpec, wrong: object) -> None:
    with pytest.raises(ModelUnavailable, match="calibration"):
        spec_from_description({**spec.description(), "calibration": wrong}, spec.folder)


def test_a_description_keeps_the_calibration() -> None:
    for spec in packaged_models():
        assert spec.calibration is not None
        assert spec_from_description(spec.description(), spec.folder) == spec
        assert spec.calibration.cosine(spec.calibration.similarity(0.8)) == pytest.approx(0.8)


def test_the_main_wheel_leaves_the_second_model_to_its_own() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    folder = packaged_model("multilingual-e5-small").folder
    own = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    wheel, own_wheel = (
        document["tool"]["hatch"]["build"]["targets"]["wheel"] for document in (project, own)
    )
    assert folder.relative_to(ROOT).as_posix() in wheel["exclude"]
    assert {"LICENSE", "PROVENANCE.md", DESCRIPTION_FILE} <= set(own_wheel["only-include"])
    assert {file.path for file in packaged_models()[1].files} <= set(own_wheel["only-include"])
    assert own_wheel["sources"] == {"": OPTIONAL_MODELS["multilingual-e5-small"]}
    (required,) = project["project"]["optional-dependencies"]["languages"]
    assert required.startswith(own["project"]["name"])
