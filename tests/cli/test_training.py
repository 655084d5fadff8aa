"""`train-reranker`: refuses too little, says what it gained, keeps only what helps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from gbrain.brain import Brain
from gbrain.search.rerank.learned import FEATURES, load_network
from gbrain.store.usage_log import RERANKER, read_weights

NOON = "2026-11-16T12:00:00.000Z"


def record(path: Path, questions: int, telling: str) -> None:
    """Questions of five hits each; the one with the greatest `telling` was opened."""
    random, column = Random(2), FEATURES.index(telling)
    with Brain.open(path, make=True) as brain, brain.database.write_transaction() as connection:
        for number in range(1, questions + 1):
            rows = [[random.random() for _ in FEATURES] for _ in range(5)]
            rows.sort(key=lambda row: -row[FEATURES.index("fused")])
            best = max(range(5), key=lambda place: rows[place][column])
            connection.execute(
                "INSERT INTO questions VALUES (?, 'why?', ?, 'hybrid', 'strong', 5)", (number, NOON)
            )
            connection.executemany(
                "INSERT INTO question_hits VALUES (?, ?, 1, ?, ?)",
                [
                    (number, place + 1, json.dumps(row), NOON if place == best else None)
                    for place, row in enumerate(rows)
                ],
            )


def kept(path: Path) -> str | None:
    with Brain.open(path) as brain, brain.database.read_transaction() as connection:
        return read_weights(connection, RERANKER)


def test_too_few_opened_answers_are_refused(run: Callable, brain_path: Path) -> None:
    record(brain_path, 49, "opens")
    ran = run("train-reranker")
    assert ran.exit_code == 1
    assert ran.stderr.startswith(
        "Error: Only 49 opened pages are recorded; training needs at least 50\n"
        "Hint: gbrain config set record_queries on"
    )
    assert run("train-reranker", "--json").error["code"] == "too_few_examples"
    assert kept(brain_path) is None


def test_a_gain_is_shown_and_kept(run: Callable, brain_path: Path) -> None:
    record(brain_path, 60, "opens")
    ran = run("train-reranker")
    assert ran.exit_code == 0
    assert ran.stdout == ""
    learned, gain, end = ran.stderr.splitlines()
    assert learned == "Trained on 60 opened pages of 60 questions."
    assert gain.startswith("MRR on questions not used to train: 0.")
    assert end == "Saved. To use it: gbrain config set rerank learned"
    network = load_network(kept(brain_path) or "")
    assert network is not None
    favourite = [0.5] * len(FEATURES)
    plain = network.score(favourite)
    favourite[FEATURES.index("opens")] = 1.0
    assert network.score(favourite) > plain


def test_no_gain_is_shown_and_not_kept(run: Callable, brain_path: Path) -> None:
    record(brain_path, 60, "fused")
    ran = run("train-reranker", "--json")
    assert ran.json == {
        "questions": 60,
        "opened": 60,
        "mrr_before": 1.0,
        "mrr_after": pytest.approx(0.93, abs=0.05),
        "gain_low": pytest.approx(-0.12, abs=0.05),
        "gain_high": pytest.approx(-0.03, abs=0.05),
        "kept": False,
    }
    assert "Not saved" in run("train-reranker").stderr
    assert run("train-reranker", "--quiet").stderr == ""
    assert kept(brain_path) is None
