"""`eval`: labelled sets measured from the command line."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from gbrain.evaluate.dataset_cache import open_dataset_brain
from gbrain.evaluate.datasets import load_dataset

ALLOTMENTS = Path(__file__).parents[2] / "fixtures" / "eval" / "allotments"
DAYS, LINES = ALLOTMENTS / "days", ALLOTMENTS / "lines"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("cache")
    with open_dataset_brain(load_dataset(DAYS), cache) as brain:
        brain.embed()
    return cache


@pytest.fixture
def measure(run, filled: Path):
    """`measure("--modes", "bm25")` evaluates the set whose brain is in the cache already."""

    def call(*words: str | Path):
        return run("eval", DAYS, "--cache", filled, *words)

    return call


def names(document) -> list[str]:
    return [configuration["name"] for configuration in document["configurations"]]


def test_without_options_five_ways_are_compared(measure) -> None:
    ran = measure()
    assert ran.exit_code == 0
    header, *rows = [line.split("\t") for line in ran.stdout.splitlines()]
    assert header == [
        "Configuration", "nDCG@10", "R@5", "R@10", "R@100", "MRR@10", "Hit@5", "Answered",
        "p50 ms", "p95 ms", "Difference", "p", "Won", "Lost", "Tied",
    ]  # fmt: skip
    assert [row[0] for row in rows] == ["fts", "semantic", "set-union", "rrf", "blend"]
    assert rows[0][10:] == [""] * 5
    for row in rows:
        assert all(0 <= float(cell) <= 1 for cell in row[1:8])
    for row in rows[1:]:
        assert sum(map(int, row[12:])) == 8
    assert f"{DAYS}: 8 pages, 8 questions, each within its scope.\n" in ran.stderr
    assert "1 question has no answer and is left out.\n" in ran.stderr
    assert "embedded" not in ran.stderr


def test_the_document(measure) -> None:
    ran = measure("--modes", "bm25,semantic", "--json")
    assert ran.stderr == ""
    document = ran.json
    assert document["set"] == {
        "folder": str(DAYS),
        "qrels": str(DAYS / "qrels.tsv"),
        "pages": 8,
        "questions": 8,
        "brain": document["set"]["brain"],
        "notes": ["1 question has no answer and is left out."],
    }
    assert Path(document["set"]["brain"]).exists()
    assert document["baseline"] == "fts"
    fts, semantic = document["configurations"]
    assert list(fts) == [
        "name", "settings", "ndcg_at_10", "recall_at_5", "recall_at_10", "recall_at_100",
        "mrr_at_10", "success_at_5", "answered", "p50_ms", "p95_ms", "timed_questions",
        "against_baseline", "context", "losses",
    ]  # fmt: skip
    assert fts["settings"] == {"search_mode": "bm25"}
    assert (fts["against_baseline"], fts["context"], fts["losses"]) == (None, None, None)
    assert set(semantic["against_baseline"]) == {
        "difference", "p_value", "wins", "losses", "ties",
    }  # fmt: skip
    assert semantic["ndcg_at_10"] - fts["ndcg_at_10"] == pytest.approx(
        semantic["against_baseline"]["difference"], abs=1e-5
    )


def test_figures_and_significance_are_the_same_every_time(measure) -> None:
    def figures():
        return [
            {key: value for key, value in configuration.items() if not key.endswith("_ms")}
            for configuration in measure("--json").json["configurations"]
        ]

    assert figures() == figures()


def test_the_cache_folder_is_filled_once(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    first = run("eval", DAYS, "--merge", "rrf")
    assert "8 chunks embedded, " in first.stderr
    (brain,) = (tmp_path / "caches" / "gbrain" / "eval").glob("*.db")
    second = run("eval", DAYS, "--merge", "rrf")
    assert "embedded" not in second.stderr
    assert second.stdout.split("\t")[:4] == first.stdout.split("\t")[:4]
    assert brain.exists()


def test_keywords_alone_embed_nothing(run, tmp_path: Path) -> None:
    ran = run("eval", DAYS, "--modes", "bm25", "--cache", tmp_path)
    assert "embedded" not in ran.stderr
    assert "Difference" not in ran.stdout


def test_settings_make_configurations(measure) -> None:
    document = measure("--set", "rrf_k=20,merge=rrf", "--set", "both_bonus=0", "--json").json
    assert names(document) == ["default", "rrf_k=20,merge=rrf", "both_bonus=0"]
    assert document["configurations"][1]["settings"] == {
        "rrf_k": "20",
        "search_merge_strategy": "rrf",
    }


def test_fewer_questions(measure) -> None:
    def asked(*words: str) -> list[str]:
        rows = csv.DictReader(measure("--modes", "bm25", "--csv", *words).stdout.splitlines())
        return [row["id"] for row in rows]

    assert asked("--limit-queries", "3") == ["h1", "h2", "h3"]
    drawn = asked("--sample", "3")
    assert drawn == asked("--sample", "3", "--seed", "1")
    assert len(drawn) == 3
    assert {tuple(asked("--sample", "3", "--seed", str(seed))) for seed in range(5)} != {
        tuple(drawn)
    }
    ran = measure("--modes", "bm25", "--sample", "3")
    assert "3 of 8 questions" in ran.stderr


def test_rows_for_every_question(measure) -> None:
    ran = measure("--modes", "bm25,semantic", "--csv")
    assert ran.stderr == ""
    rows = list(csv.DictReader(ran.stdout.splitlines()))
    assert len(rows) == 16
    first = rows[1]
    assert (first["configuration"], first["id"]) == ("fts", "h2")
    assert first["text"] == "Which vegetable earned a prize, and where had it been sown?"
    assert first["ranking"].split()[0] == "hillside/day-4"
    assert float(first["mrr_at_10"]) == 1.0
    assert float(first["ms"]) > 0


def test_evidence_in_contexts(measure) -> None:
    ran = measure("--evidence", LINES, "--context", "20,500,20", "--json")
    (default,) = ran.json["configurations"]
    assert default["name"] == "default"
    small, large = default["context"]
    assert (small["budget"], large["budget"], large["evidence"]) == (20, 500, 1.0)
    assert 0 < small["tokens"] <= 20 < large["tokens"] < 200
    assert 0 <= small["evidence"] < 1
    plain = measure("--evidence", LINES, "--context", "500")
    assert plain.stdout.splitlines()[0].endswith("\tEvidence@500\tTokens@500")
    rows = measure("--evidence", LINES, "--context", "500", "--csv").stdout.splitlines()
    assert next(csv.DictReader(rows))["context_500"] == "1"


def test_the_usual_budgets(measure) -> None:
    ran = measure("--evidence", LINES, "--modes", "bm25", "--limit-queries", "2", "--json")
    (fts,) = ran.json["configurations"]
    assert [row["budget"] for row in fts["context"]] == [250, 500, 1000, 2000, 4000]


def test_losses_show_what_was_expected_and_what_came(measure) -> None:
    ran = measure("--modes", "semantic,bm25", "--show-losses", "1")
    lost = ran.stdout.split("\n\n")[1].rstrip("\n").split("\t")
    assert lost[:3] == ["fts", "h1", "What was eaten during the night?"]
    assert lost[4:] == ["0.0000", "hillside/day-2", ""]
    document = measure("--modes", "semantic,bm25", "--show-losses", "1", "--json").json
    semantic, fts = document["configurations"]
    assert semantic["losses"] is None
    (loss,) = fts["losses"]
    assert loss["expected"] == [
        {"slug": "hillside/day-2", "grade": 1, "rank": None, "baseline_rank": 1}
    ]
    assert loss["instead"] == []


def test_alone_the_worst_answers_are_its_losses(measure) -> None:
    document = measure("--modes", "bm25", "--show-losses", "9", "--json").json
    (fts,) = document["configurations"]
    scores = [loss["ndcg_at_10"] for loss in fts["losses"]]
    assert scores == sorted(scores)
    assert 0 < len(scores) < 8


def test_plots(measure, tmp_path: Path) -> None:
    drawn = measure("--modes", "bm25,semantic", "--plot", "--svg", tmp_path / "plot.svg")
    table, _, plot = drawn.stdout.partition("\nnDCG@10\n")
    assert table.startswith("Configuration\t")
    assert "a fts: " in plot
    assert "b semantic: " in plot
    svg = (tmp_path / "plot.svg").read_text()
    assert svg.startswith("<svg ")
    assert ">days: quality against latency</text>" in svg


def test_quiet_says_nothing(measure) -> None:
    assert measure("--modes", "bm25", "--quiet").stderr == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--csv", "--json"], "--csv and --json cannot be combined"),
        (["--plot", "--json"], "--plot cannot be combined"),
        (["--context", "100"], "--context needs --evidence DIR"),
        (["--evidence", str(LINES), "--context", "few"], "--context takes token budgets, not"),
        (["--evidence", str(LINES), "--context", ","], "--context takes token budgets, not"),
        (["--set", "rrf_k"], "--set takes NAME=VALUE, not 'rrf_k'"),
        (["--set", "rrf_k=0"], "rrf_k cannot be '0'"),
        (["--modes", "magic"], "search_mode cannot be 'magic'"),
        (["--merge", "magic"], "search_merge_strategy cannot be 'magic'"),
        (["--profile", "nobody"], "There is no profile 'nobody'"),
        (["--svg", "/no/such/folder/plot.svg", "--modes", "bm25"], "Cannot write /no/such"),
    ],
)
def test_wrong_options_are_refused(measure, words: list[str], message: str) -> None:
    ran = measure(*words)
    assert ran.exit_code in (1, 2)
    if "--json" in words:
        assert message in ran.error["message"]
    else:
        assert f"Error: {message}" in ran.stderr
    assert ran.stdout == ""


def test_a_set_that_cannot_be_read_is_named(run, tmp_path: Path) -> None:
    ran = run("eval", tmp_path / "none")
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert ran.stderr.startswith(f"Error: {tmp_path / 'none'} is not a folder\nHint: A dataset is ")
    broken = Path(shutil.copytree(DAYS, tmp_path / "days"))
    with (broken / "queries.jsonl").open("a") as file:
        file.write("{\n")
    ran = run("eval", broken, "--json")
    assert ran.error["code"] == "bad_set"
    assert ran.error["message"] == f"{broken / 'queries.jsonl'}, line 10: not JSON"


def test_evidence_for_other_questions_is_refused(measure, tmp_path: Path) -> None:
    other = Path(shutil.copytree(LINES, tmp_path / "lines"))
    (other / "queries.jsonl").write_text(json.dumps({"_id": "x", "text": "?"}))
    (other / "qrels.tsv").write_text("x\thillside/day-1-1\t1\n")
    ran = measure("--evidence", other)
    assert ran.exit_code == 2
    assert f"{other} has no answers to the questions of {DAYS}" in ran.stderr
