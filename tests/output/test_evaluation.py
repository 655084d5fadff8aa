"""Evaluations on a terminal: the best figures stand out, and pages cannot drive the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from gbrain.evaluate.datasets import Dataset, DatasetQuestion
from gbrain.evaluate.evaluation import Evaluation, ExpectedPage, QueryLoss
from gbrain.evaluate.metrics import Comparison, Scores
from gbrain.evaluate.runs import Configuration, ContextRecall, QuestionResult, Run
from gbrain.output.evaluation import show_evaluation
from gbrain.types import Scope

QUESTION = DatasetQuestion("q1", "Who \x1b[2J waits?", Scope())


def run_of(name: str, ndcg: float, ms: float | None) -> Run:
    figures = Scores(ndcg, 0.5, 0.75, 1.0, ndcg, 1.0, 1.0)
    return Run(Configuration(name, {}), (QuestionResult(QUESTION, ("a",), figures, ms, False),))


def evaluation(**given: object) -> Evaluation:
    dataset = Dataset(Path("set"), Path("set/qrels.tsv"), (), (QUESTION,), {}, ())
    runs = [run_of("fts", 0.8364, 4.25), run_of("blend", 0.8521, 20.5)]
    plain = Evaluation(
        dataset, "brain.db", runs, {"blend": Comparison(0.0157, 0.0312, 7, 3, 90)}, None, (), ()
    )
    return plain._replace(**given)


def told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]


def test_the_screen_has_figures_and_a_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    show_evaluation(evaluation())
    heads, _, fts, blend, title, compared, _, gain = told(capsys)
    assert heads.split() == "nDCG@10 R@5 R@10 R@100 MRR@10 Hit@5 Answered p50 ms p95 ms".split()
    assert fts.split() == "fts .836 .500 .750 1.000 .836 1.000 1.000 4.2 4.2".split()
    assert blend.split()[1] == ".852"
    assert title == "Compared with fts, question by question"
    assert compared.split() == "nDCG@10 p Won Lost Tied".split()
    assert gain.split() == "blend +.016 0.0312 7 3 90".split()


def test_the_table_fits_80_columns(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    show_evaluation(evaluation())
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[-2:] == ["20.5", "20.5"] for line in lines)
    assert max(map(len, lines)) <= 80


def test_the_best_of_each_column_is_bold(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    show_evaluation(evaluation(comparisons={}))
    out = capsys.readouterr().out
    bold = {part.partition("\x1b[0m")[0].strip() for part in out.split("\x1b[1;32m")[1:]}
    assert bold == {".852", "4.2"}


def test_contexts_have_a_column_for_each_budget(capsys: pytest.CaptureFixture[str]) -> None:
    shares = [
        ContextRecall(
            Configuration(name, {}), (250, 1000), {"q1": (0.25, share)}, {"q1": (250, 400)}
        )
        for name, share in (("fts", 0.5), ("blend", 0.75))
    ]
    show_evaluation(evaluation(comparisons={}, contexts=shares))
    *_, title, heads, _, fts, blend, used, budgets, _, tokens, _ = told(capsys)
    assert (used, budgets.split()) == (
        "Tokens of the context, by token budget",
        ["250", "1000"],
    )
    assert tokens.split() == ["fts", "250", "400"]
    assert title == "Share of the evidence in the context, by token budget"
    assert [line.split() for line in (heads, fts, blend)] == [
        ["250", "1000"],
        ["fts", ".250", ".500"],
        ["blend", ".250", ".750"],
    ]


def test_losses_show_expected_and_returned_pages(capsys) -> None:
    expected = tuple(ExpectedPage(f"p{n}", 1, n or None, 1) for n in range(7))
    losses = [
        QueryLoss(QUESTION, 0.25, 1.0, expected, ("wrong", "worse")),
        QueryLoss(QUESTION, 0, 1, expected[:1], ()),
    ]
    show_evaluation(evaluation(losses={"blend": losses, "rrf": []}))
    assert told(capsys)[8:] == [
        "Largest losses of blend",
        "1.00 → 0.25  Who \ufffd[2J waits?  q1",
        "expected p0 (not shown, was 1), p1 (rank 1, was 1), p2 (rank 2, was 1), 4 more",
        "got      wrong, worse",
        "1.00 → 0.00  Who \ufffd[2J waits?  q1",
        "expected p0 (not shown, was 1)",
        "got      nothing",
        "rrf: no losses.",
    ]


def test_configurations_without_times_have_blank_cells(capsys: pytest.CaptureFixture[str]) -> None:
    show_evaluation(evaluation(runs=[run_of("fts", 0.5, None)], comparisons={}))
    assert told(capsys)[2].split() == ["fts", ".500", ".500", ".750", "1.000", ".500", "1.000",
                                       "1.000"]  # fmt: skip
