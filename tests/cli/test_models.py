"""`model`: other models, damaged ones, and what a query does then."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gbrain.models import catalog
from gbrain.models.catalog import packaged_model

DAMAGES = ("missing", "truncated", "altered", "no tokenizer", "no folder")


@pytest.fixture
def copy(tmp_path):
    """The packaged model in a folder of its own."""
    return Path(shutil.copytree(packaged_model().folder, tmp_path / "copy"))


@pytest.fixture
def moved(run, brain_path, copy):
    """A brain of two embedded pages whose model is `copy`."""
    run("put", "birds", stdin=b"The heron stands in the marsh.\n")
    run("put", "money", stdin=b"The tax return is due in April.\n")
    assert run("model", "add", copy, "--name", "mine", "--max-tokens", "256").exit_code == 0
    assert run("model", "use", "mine").exit_code == 0
    assert run("embed", "--json").json["embedded"] == 2
    return copy


def damage(folder: Path, how: str) -> None:
    model = folder / "model.onnx"
    if how == "missing":
        model.unlink()
    elif how == "truncated":
        model.write_bytes(model.read_bytes()[:1000])
    elif how == "altered":
        data = bytearray(model.read_bytes())
        data[len(data) // 2] ^= 1
        model.write_bytes(data)
    elif how == "no tokenizer":
        (folder / "tokenizer.json").unlink()
    else:
        shutil.rmtree(folder)


def test_the_packaged_model_is_there_and_intact(run, brain_path):
    run("init")
    model, other = run("model", "list", "--json").json["models"]
    assert (other["name"], other["active"]) == ("multilingual-e5-small", False)
    assert model == {
        "name": "bge-small-en-v1.5",
        "active": True,
        "next": False,
        "sha256": packaged_model().sha256,
        "pooling": "cls",
        "query_prefix": packaged_model().query_prefix,
        "passage_prefix": "",
        "dimension": 384,
        "max_tokens": 512,
        "folder": None,
    }
    assert run("model", "list").stdout.splitlines() == [
        "*\tbge-small-en-v1.5\t384\t512\tcls",
        "\tmultilingual-e5-small\t384\t512\tmean",
    ]
    assert run("model", "verify", "--json").json["ok"] is True
    assert run("model", "verify").stderr == "The files of bge-small-en-v1.5 are unchanged.\n"


def test_a_model_of_ones_own_beside_the_packaged_one(run, moved):
    named = {model["name"]: model for model in run("model", "list", "--json").json["models"]}
    assert {name: model["active"] for name, model in named.items()} == {
        "bge-small-en-v1.5": False,
        "mine": True,
        "multilingual-e5-small": False,
    }
    assert (named["mine"]["folder"], named["mine"]["max_tokens"]) == (str(moved), 256)
    assert run("query", "wading bird", "--json").json["results"][0]["slug"] == "birds"


def test_vectors_are_kept_until_the_model_is_removed(run, moved):
    run("model", "use", "bge-small-en-v1.5")
    assert run("embed", "--all", "--json").json["embedded"] == 0
    run("model", "use", "mine")
    assert run("embed", "--all", "--json").json["embedded"] == 0
    refused = run("model", "remove", "mine", "--json")
    assert (refused.exit_code, refused.error["code"]) == (2, "usage")
    run("model", "use", "bge-small-en-v1.5")
    assert run("model", "remove", "mine", "--json").json == {"name": "mine", "vectors": 2}
    assert run("model", "use", "mine", "--json").error["code"] == "no_model"
    assert run("query", "wading bird", "--json").json["mode"] == "hybrid"


def test_models_are_compared_on_the_brains_own_questions(run, moved):
    switched = run("model", "use", "bge-small-en-v1.5")
    assert switched.stderr.splitlines() == [
        "Queries use mine until all notes are embedded with bge-small-en-v1.5.",
        "bge-small-en-v1.5 is now the active model.",
        "gbrain model use --undo goes back. gbrain selftest compares with mine.",
    ]
    assert run("selftest", "--json").json["baseline"]["state"]["model"] == "mine"
    assert run("model", "use", "mine", "--json").json["selftest"] == {"before": 1.0, "now": 1.0}
    unmeasured = run("model", "use", "bge-small-en-v1.5", "--no-selftest", "--json").json
    assert (unmeasured["active"], unmeasured["selftest"]) == (True, None)


def test_undo_goes_back_without_embedding_again(run, moved):
    assert run("model", "use", "bge-small-en-v1.5", "--quiet").exit_code == 0
    undone = run("model", "use", "--undo", "--json").json
    assert (undone["name"], undone["active"]) == ("mine", True)
    assert run("embed", "--all", "--json").json["embedded"] == 0
    assert run("model", "use", "--undo").stderr == "bge-small-en-v1.5 is the active model.\n"
    for words in (("--undo", "mine"), ()):
        assert run("model", "use", *words, "--json").error["code"] == "usage"


def test_undo_without_an_earlier_model_is_refused(run, brain_path):
    run("init")
    assert run("model", "use", "--undo", "--json").error["code"] == "no_model"


def test_a_model_that_is_not_installed_says_what_to_install(run, brain_path, monkeypatch):
    run("init")
    folder = catalog._packaged_folder
    monkeypatch.setattr(
        catalog, "_packaged_folder", lambda name: folder(name) if "bge" in name else None
    )
    refused = run("model", "use", "multilingual-e5-small", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "model_unavailable")
    assert "pip install 'gbrain[languages]'" in refused.error["hint"]
    assert "pip install 'gbrain[languages]'" in run("model", "list").stderr


def test_vectors_of_an_earlier_version_are_not_compared(run, brain_path):
    run("put", "birds", stdin=b"The heron stands in the marsh.\n")
    assert run("embed", "--json").json["embedded"] == 1
    with closing(sqlite3.connect(brain_path)) as connection, connection:
        earlier = "0" * 64
        identity = packaged_model().identity
        connection.execute("UPDATE embedding_models SET identity = ?", (earlier,))
        connection.execute("UPDATE learned SET value = ? WHERE value = ?", (earlier, identity))
    answer = run("query", "heron", "--mode", "hybrid", "--json").json
    assert answer["fell_back_to_bm25"]
    assert "has changed" in answer["notice"]
    assert "gbrain model use bge-small-en-v1.5" in answer["notice"]
    assert run("model", "use", "bge-small-en-v1.5").exit_code == 0
    answer = run("query", "heron", "--mode", "hybrid", "--json").json
    assert not answer["fell_back_to_bm25"]
    names = [model["name"] for model in run("model", "list", "--json").json["models"]]
    assert {"bge-small-en-v1.5-00000000", "bge-small-en-v1.5"} <= set(names)


def test_a_model_that_answers_worse_is_used_only_on_demand(run, moved, brain_path):
    run("model", "use", "bge-small-en-v1.5", "--no-selftest")
    run("embed", "--quiet")
    for number in range(8):
        page = f"# Page {number}\n\nLetter {chr(97 + number) * 5} tells stories here.\n"
        run("put", f"page-{number}", stdin=page.encode())
    run("embed", "--quiet")
    run("config", "set", "search_mode", "semantic")
    run("model", "use", "mine", "--no-selftest")
    run("embed", "--quiet")
    run("model", "use", "bge-small-en-v1.5", "--no-selftest")
    damage(moved, "missing")
    for name in ("chunk_weight", "truth_weight"):
        run("config", "set", name, "0")
    refused = run("model", "use", "mine", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "answers_worse")
    assert "bge-small-en-v1.5 is still the active model" in refused.error["message"]
    assert run("model", "list").stdout.startswith("*\tbge-small-en-v1.5")
    assert run("model", "use", "mine", "--yes", "--quiet").exit_code == 0
    assert "*\tmine" in run("model", "list").stdout


def test_a_name_belongs_to_one_model(run, moved):
    taken = run("model", "add", moved, "--name", "mine", "--max-tokens", "128", "--json")
    assert (taken.exit_code, taken.error["code"]) == (1, "name_taken")
    assert "--name" in taken.error["hint"]


def test_the_same_model_again_takes_its_new_name_and_folder(run, moved, tmp_path):
    elsewhere = moved.rename(tmp_path / "elsewhere")
    again = run("model", "add", elsewhere, "--name", "yours", "--max-tokens", "256", "--json")
    assert (again.json["name"], again.json["folder"]) == ("yours", str(elsewhere))
    assert again.json["active"] is True
    assert run("query", "wading bird", "--json").json["mode"] == "hybrid"
    assert run("embed", "--all", "--json").json["embedded"] == 0


def test_a_folder_that_holds_no_model(run, brain_path, tmp_path):
    for folder in (tmp_path / "nowhere", tmp_path):
        refused = run("model", "add", folder, "--json")
        assert (refused.exit_code, refused.error["code"]) == (1, "model_unavailable")


@pytest.mark.parametrize("how", DAMAGES)
def test_with_a_damaged_model_keywords_answer(run, moved, how):
    damage(moved, how)
    verified = run("model", "verify", "--json")
    assert (verified.exit_code, verified.error["code"]) == (1, "model_unavailable")
    answer = run("query", "heron", "--mode", "hybrid", "--json")
    assert answer.exit_code == 0
    assert (answer.json["mode"], answer.json["fell_back_to_bm25"]) == ("bm25", True)
    told = f"{verified.error['message']} {verified.error['hint']} These are keyword results."
    assert answer.json["notice"] == told == answer.stderr.strip()
    assert answer.json["results"][0]["slug"] == "birds"
    assert answer.json["results"][0]["lanes"]["vector"] is None
    semantic = run("query", "heron", "--mode", "semantic", "--json").json
    assert (semantic["mode"], semantic["results"][0]["slug"]) == ("bm25", "birds")
    auto = run("query", "heron", "--json").json
    assert (auto["mode"], auto["notice"]) == ("bm25", answer.json["notice"])
    searched = run("search", "heron", "--json")
    assert (searched.json["notice"], searched.stderr) == (None, "")
    assert searched.json["results"][0]["slug"] == "birds"


def test_a_damaged_model_is_reported_and_keeps_finished_work(run, moved):
    run("put", "new", stdin=b"The kettle sings.\n")
    damage(moved, "truncated")
    failed = run("embed", "--json")
    assert (failed.exit_code, failed.error["code"]) == (1, "model_unavailable")
    assert "truncated" in failed.error["message"]
    assert run("jobs", "list", "--json").json["total"] == 1
    assert run("put", "another", stdin=b"The lid rattles.\n").exit_code == 0
    shutil.copy(packaged_model().folder / "model.onnx", moved)
    assert run("embed", "--json").json["embedded"] == 2


def test_a_model_that_came_with_the_file_is_not_opened(run, moved, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "somebody"))
    answer = run("query", "heron", "--mode", "hybrid", "--json")
    assert (answer.exit_code, answer.json["mode"]) == (0, "bm25")
    assert "which you have not added on this computer" in answer.json["notice"]
    assert run("query", "heron", "--depth", "auto", "--json").json["context"]
    run("put", "new", stdin=b"The kettle sings.\n")
    for words in (("model", "verify"), ("embed",)):
        refused = run(*words, "--json")
        assert (refused.exit_code, refused.error["code"]) == (1, "model_unavailable")
    assert run("model", "list").exit_code == 0
    assert run("model", "add", moved, "--name", "mine", "--max-tokens", "256").exit_code == 0
    assert run("query", "heron", "--mode", "hybrid", "--json").json["mode"] == "hybrid"


def test_a_model_is_opened_only_from_the_approved_folder(run, moved, brain_path):
    with closing(sqlite3.connect(brain_path)) as connection, connection:
        connection.execute("UPDATE embedding_models SET folder = '/etc' WHERE active")
    refused = run("model", "verify", "--json")
    assert "in /etc, which you have not added on this computer" in refused.error["message"]
