"""`selftest` and `tune`: documents, rows, exit codes for cron, and what is written."""

from __future__ import annotations

import json
import shutil

import pytest
from typer.testing import CliRunner

from gbrain.cli.app import app
from gbrain.evaluate.question_mining import QUESTION_KINDS

NOON = "2026-11-16T12:00:00"
FEW = ("--questions", "3")
# Keywords alone, and of a page's words only those of its names count.
BAD = {
    "chunk_weight": "0.0",
    "search_mode": "bm25",
    "timeline_weight": "0.0",
    "truth_weight": "0.0",
}


@pytest.fixture(scope="module")
def built_tested(embedded_sample, tmp_path_factory):
    """The sample pages with vectors and the answers of a first self-test, made once."""
    path = shutil.copy(embedded_sample, tmp_path_factory.mktemp("tested") / "brain.db")
    words = ["selftest", *FEW, "--quiet", "--db", str(path)]
    first = CliRunner().invoke(app, words, env={"GBRAIN_NOW": NOON, "TZ": "UTC"})
    assert (first.exit_code, first.stdout, first.stderr) == (0, "", "")
    return path


@pytest.fixture
def tested(built_tested, brain_path):
    """A copy of one's own of the brain that was tested once."""
    return shutil.copy(built_tested, brain_path)


def spoil(run):
    for name, value in BAD.items():
        assert run("config", "set", name, value).exit_code == 0


def test_the_first_run_is_kept_and_the_second_compared(run, embedded):
    first = run("selftest", *FEW, "--json")
    assert first.exit_code == 0
    document = first.json
    assert (document["kept"], document["worse"], document["baseline"]) == (True, False, None)
    kinds = [row["kind"] for row in document["kinds"]]
    assert kinds == list(QUESTION_KINDS)
    assert document["overall"]["questions"] == 30
    assert document["overall"]["ndcg_at_10"] > 0.8
    assert document["overall"]["change"] is None
    second = run("selftest", *FEW, "--json").json
    assert (second["kept"], second["lost"], second["worse"]) == (False, [], False)
    assert second["overall"]["change"]["difference"] == 0
    assert second["baseline"]["state"]["model"] == "bge-small-en-v1.5"


def test_worse_answers_are_named_and_exit_with_1(run, tested):
    spoil(run)
    worse = run("selftest", *FEW, "--json")
    assert worse.exit_code == 1
    assert worse.json["worse"] is True
    lost = worse.json["lost"][0]
    assert set(lost) == {"id", "kind", "text", "expected", "rank_before", "rank", "came"}
    assert lost["rank_before"] == 1
    assert worse.json["state"]["settings"] == BAD
    for name in BAD:
        assert run("config", "reset", name).exit_code == 0
    assert run("selftest", *FEW).exit_code == 0


def test_cron_hears_of_losses_only(run, tested):
    silent = run("selftest", *FEW, "--quiet")
    assert (silent.exit_code, silent.stdout, silent.stderr) == (0, "", "")
    spoil(run)
    loud = run("selftest", *FEW, "--quiet")
    assert loud.exit_code == 1
    assert loud.stdout.startswith("lost\t")
    assert "results got worse" in loud.stderr
    assert "search_mode default → bm25" in loud.stderr


def test_keep_makes_the_present_answers_the_measure(run, tested):
    spoil(run)
    assert run("selftest", *FEW, "--keep", "--quiet").exit_code == 1
    again = run("selftest", *FEW, "--json")
    assert (again.exit_code, again.json["lost"]) == (0, [])


def test_a_generous_tolerance_lets_a_loss_pass(run, tested):
    spoil(run)
    assert run("selftest", *FEW, "--tolerance", "1", "--quiet").exit_code == 0


def test_rows_for_a_pipe(run, embedded):
    rows = [line.split("\t") for line in run("selftest", *FEW).stdout.splitlines()]
    assert [row[:3] for row in rows][-1] == ["kind", "all", "30"]
    assert {len(row) for row in rows} == {10}


def test_a_read_only_brain_is_asked_and_nothing_kept(run, embedded):
    embedded.chmod(0o400)
    ran = run("selftest", "--questions", "1", "--json")
    assert (ran.exit_code, ran.json["kept"]) == (0, False)
    refused = run("selftest", "--questions", "1", "--keep", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "read_only")


def test_a_brain_without_vectors_is_tested_by_keywords(run, sample):
    assert run("selftest", *FEW, "--json").json["overall"]["ndcg_at_10"] > 0.8


def test_nothing_to_ask(run, brain_path):
    run("init")
    refused = run("selftest", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "no_questions")


# --- tune ------------------------------------------------------------------------------------


@pytest.fixture
def own_words(embedded, run, tmp_path):
    """A set of questions whose words stand in their pages: keywords answer them."""
    folder = tmp_path / "set"
    folder.mkdir()
    slugs = [page["slug"] for page in run("list", "--json", "--limit", "100").json["pages"]]
    corpus, queries, qrels = [], [], []
    for slug in slugs:
        text = run("get", slug, "--raw").stdout
        words = [word for word in text.split() if word.isalpha() and len(word) > 6]
        corpus.append(json.dumps({"_id": slug, "text": "x"}))
        for part in range(2):
            name = f"{slug} {part}"
            queries.append(json.dumps({"_id": name, "text": " ".join(words[part::2][:4]) or slug}))
            qrels.append(f"{name}\t{slug}\t1")
    for name, rows in (("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels.tsv", qrels)):
        (folder / name).write_text("\n".join(rows) + "\n")
    return folder


def test_settings_that_gain_are_written_once_and_undone(run, embedded, own_words):
    run("config", "set", "search_merge_strategy", "rrf")
    run("config", "set", "semantic_weight", "5")
    shown = run("tune", own_words, "--json").json
    assert shown["held_out_gain"]["low"] > 0
    assert (shown["written"], shown["undo"]) == (None, None)
    assert run("config", "get", "semantic_weight").stdout == "5.0\n"
    applied = run("tune", own_words, "--apply", "--json").json
    assert applied["best"] == shown["best"]
    assert applied["written"]
    for name, value in applied["written"].items():
        assert run("config", "get", name).stdout == f"{value}\n"
    again = run("tune", own_words, "--apply")
    assert again.exit_code == 0
    assert "The present settings stay" in again.stderr
    assert [line.split("\t")[0] for line in again.stdout.splitlines()][-1] == "gain"
    for undoing in applied["undo"].split(" && "):
        program, *words = undoing.split()
        assert program == "gbrain"
        assert run(*words).exit_code == 0
    assert run("config", "get", "semantic_weight").stdout == "5.0\n"
    assert run("config", "get", "search_merge_strategy").stdout == "rrf\n"
    for name in applied["written"]:
        assert run("config", "reset", name).exit_code == 0


def test_mined_questions_alone_change_nothing(run, embedded):
    run("config", "set", "semantic_weight", "5")
    before = run("config", "list", "--json").json
    ran = run("tune", "--questions", "12", "--apply", "--json").json
    assert (ran["source"], ran["written"]) == ("mined", None)
    assert ran["lanes_ahead"]["fts"] > ran["lanes_ahead"]["vector"]
    assert run("config", "list", "--json").json == before


def test_tuning_needs_vectors_and_a_set_that_is_there(run, sample, tmp_path):
    assert run("tune", "--json").error["code"] == "no_vectors"
    assert run("tune", tmp_path / "nowhere", "--json").error["code"] == "bad_set"
