"""The self-test on a terminal: what got worse comes first, and pages cannot drive the screen."""

from __future__ import annotations

import pytest

from gbrain.evaluate.question_mining import MinedQuestion, QuestionKind
from gbrain.evaluate.selftest import (
    Baseline,
    SelftestReport,
    SelftestResult,
    SelftestState,
    build_report,
)
from gbrain.output.selftest import report_summary, report_text, show_report

THEN = SelftestState("1.0", "small", 30, {"both_bonus": "0.4"})
NOW = SelftestState("1.1", "large", 42, {"both_bonus": "0.4", "default_limit": "5"})


def asked(ranks: list[int | None], kind: QuestionKind = "title") -> tuple[SelftestResult, ...]:
    return tuple(
        SelftestResult(
            MinedQuestion(f"{kind}{at}", kind, f"what \x1b[2J is {at}", f"page-{at}"),
            rank,
            f"page-{at}" if rank == 1 else "other",
        )
        for at, rank in enumerate(ranks)
    )


def report(
    before: list[int | None] | None, now: list[int | None], state: SelftestState = NOW
) -> SelftestReport:
    baseline = Baseline("2026-11-14T08:30:00.000Z", THEN, asked(before)) if before else None
    return build_report(asked(now), state, baseline, tolerance=0.02, seconds=12.3)


def told(
    capsys: pytest.CaptureFixture[str], shown: SelftestReport, *, every: bool = False
) -> list[str]:
    show_report(shown, every=every)
    return [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]


def test_a_first_run_is_a_table_with_bars(capsys: pytest.CaptureFixture[str]) -> None:
    head, _, kind, overall = told(capsys, report(None, [1, 1, 3, None]))
    assert head.split() == ["Asked", "for", "by", "nDCG@10", "R@5", "R@10", "Answered"]
    assert kind.split() == "first sentence 4 0.625 ██████████ 0.750 0.750 1.000".split()
    assert overall.split()[0] == "all"


def test_kinds_that_got_worse_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, report([1] * 40, [1] * 28 + [None] * 12))
    assert lines[0] == "Results got worse since 2026-11-14 08:30"
    assert lines[1].split("  ")[0] == "✗ all"
    assert "1.000 → 0.700" in lines[1]
    assert lines[3:6] == [
        "Ranked lower than before",
        "1. → none  what \ufffd[2J is 28",
        "page-28  first: other",
    ]
    assert "2 more; --verbose shows all of them." in lines
    assert lines[-1].endswith("-0.300")


def test_verbose_shows_every_lost_question(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, report([1] * 40, [1] * 28 + [None] * 12), every=True)
    assert sum("→ none" in line for line in lines) == 12


def test_a_few_lost_questions_raise_no_alarm(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, report([1] * 40, [1] * 39 + [2]))
    assert lines[0] == "Ranked lower (may be chance)"
    assert lines[1] == "1. → 2.  what \ufffd[2J is 39"


def test_rows_in_a_pipe_have_lost_and_worse_kinds() -> None:
    rows = report_text(report([1] * 40, [1] * 28 + [None] * 12)).splitlines()
    assert rows[0] == "lost\ttitle\twhat \ufffd[2J is 28\tpage-28\t1\t\tother"
    assert rows[-1] == "kind\tall\t40\t0.7000\t0.7000\t0.7000\t1.0000\t-0.3000\t0.0005\tworse"


def test_the_summary_says_what_changed_since() -> None:
    shown = report([1] * 40, [1] * 28 + [None] * 12)
    assert report_summary(shown, kept=False).splitlines() == [
        "40 questions in 12 s. Compared 40 with the run of 2026-11-14 08:30: results got worse.",
        "Changed since then: model small → large; gbrain 1.0 → 1.1; 30 → 42 pages; "
        "default_limit default → 5.",
        "If you intended this change: gbrain selftest --keep compares later runs with this one.",
    ]


def test_the_summary_without_a_comparison() -> None:
    assert report_summary(report(None, [1]), kept=True).splitlines() == [
        "1 question in 12 s.",
        "Saved: later runs are compared with this one.",
    ]
    baseline = Baseline("2026", THEN, asked([1], "link"))
    nothing = build_report(asked([1]), THEN, baseline, tolerance=0.02, seconds=1)
    assert report_summary(nothing, kept=False).splitlines()[1:] == [
        "None of the saved questions is still valid; gbrain selftest --keep saves new ones.",
        "1 question left out: pages changed or were deleted.",
    ]
