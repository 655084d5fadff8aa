"""Fitted settings on a terminal and in a pipe, and what follows from them."""

from __future__ import annotations

import pytest

from gbrain.evaluate.tune import MergeSettings, TuneResult
from gbrain.output.tuning import recommendation, show_tuned, tuned_text

PRESENT = MergeSettings("set-union", 1.0, 1.0, 0.6)
BLEND = MergeSettings("blend", 0.55, 1.0, 0.6)
TUNED = TuneResult(
    questions=80,
    present=PRESENT,
    present_score=0.82,
    best=BLEND,
    best_score=0.85,
    gain=0.025,
    low=0.01,
    high=0.04,
    by_fold=(BLEND, BLEND, PRESENT),
    best_of=((BLEND, 0.85), (PRESENT, 0.82)),
    ahead={"fts": 10.0, "vector": 8.0},
)
NO_GAIN = TUNED._replace(low=-0.01)


def test_the_screen_shows_each_strategy_and_the_gain(capsys: pytest.CaptureFixture[str]) -> None:
    show_tuned(TUNED)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[2].split()[:6] == ["present", "set-union", "1", "1", "0.6", "0.8200"]
    assert lines[3].split()[:4] == ["blend", "0.55", "1", "0.8500"]
    assert len(lines[3].split()[-1]) == 2 * len(lines[2].split()[-1])
    assert lines[-2:] == [
        "Gain on questions not used to choose: +0.0250  (95 % interval +0.0100 to +0.0400)",
        "Chosen 3 times, each time on other questions: 2 different settings.",
    ]


def test_strategies_are_rows_in_a_pipe() -> None:
    assert tuned_text(TUNED).splitlines() == [
        "present\tset-union\t1.0\t1.0\t0.6\t0.8200",
        "best\tblend\t0.55\t1.0\t0.6\t0.8500",
        "best\tset-union\t1.0\t1.0\t0.6\t0.8200",
        "gain\t+0.0250\t+0.0100\t+0.0400",
    ]


def test_equal_scores_have_bars_too(capsys: pytest.CaptureFixture[str]) -> None:
    show_tuned(TUNED._replace(best=PRESENT, best_score=0.82, best_of=((PRESENT, 0.82),)))
    assert "0.8200" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("tuned", "mined", "said"),
    [
        (TUNED, False, "Recommended: search_merge_strategy blend, semantic_weight 0.55. "
                       "To apply it: gbrain tune --apply"),
        (NO_GAIN, False, "No gain beyond chance. The present settings stay."),
        (NO_GAIN, True, "No gain beyond chance. The present settings stay."),
        (TUNED, True, "Recommended: search_merge_strategy blend, semantic_weight 0.55. "
                      "To apply it: gbrain tune --apply"),
    ],
)  # fmt: skip
def test_the_summary_says_what_to_do_next(tuned: TuneResult, mined: bool, said: str) -> None:
    assert recommendation(tuned, mined=mined, written={}, undo="") == said


def test_mined_questions_won_by_one_lane_are_not_trusted() -> None:
    one_sided = TUNED._replace(ahead={"fts": 10.0, "vector": 0.5})
    assert recommendation(one_sided, mined=True, written={}, undo="").startswith(
        "The gain is not reliable"
    )
    assert recommendation(one_sided, mined=False, written={}, undo="").startswith("Recommended")


def test_the_summary_says_how_to_undo_saved_settings() -> None:
    undo = "gbrain config reset semantic_weight"
    assert recommendation(TUNED, mined=False, written={"semantic_weight": "0.55"}, undo=undo) == (
        "Settings changed: semantic_weight 0.55.\nTo undo: gbrain config reset semantic_weight"
    )
