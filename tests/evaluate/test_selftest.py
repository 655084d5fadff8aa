"""The self-test: what is asked, what a loss is, and what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.errors import NotFound
from gbrain.evaluate.question_mining import MinedQuestion, QuestionKind
from gbrain.evaluate.selftest import (
    Baseline,
    SelftestReport,
    SelftestResult,
    SelftestState,
    ask_questions,
    build_report,
    load_baseline,
    run_selftest,
    save_baseline,
)
from gbrain.store import evaluation_data

STATE = SelftestState("1.0", None, 3, {})


def answered(ranks: list[int | None], kind: QuestionKind = "title") -> tuple[SelftestResult, ...]:
    return tuple(
        SelftestResult(
            MinedQuestion(f"{kind}{at}", kind, f"what {at}", f"page-{at}"), rank, "page-0"
        )
        for at, rank in enumerate(ranks)
    )


def after(
    before: tuple[SelftestResult, ...], now: tuple[SelftestResult, ...], tolerance: float = 0.02
) -> SelftestReport:
    baseline = Baseline("2026-11-16T12:00:00Z", STATE, before)
    return build_report(now, STATE, baseline, tolerance=tolerance, seconds=1)


def test_a_rank_scores_the_same_as_its_ranking() -> None:
    first, third, nowhere = answered([1, 3, None])
    assert (first.scores.ndcg_at_10, first.scores.recall_at_5, first.scores.answered) == (1, 1, 1)
    assert (third.scores.ndcg_at_10, third.scores.mrr_at_10) == (0.5, pytest.approx(1 / 3))
    assert (nowhere.scores.ndcg_at_10, nowhere.scores.answered) == (0, 1)
    assert nowhere._replace(first=None).scores.answered == 0


def test_many_lost_questions_are_worse() -> None:
    report = after(answered([1] * 40), answered([1] * 30 + [4] * 10))
    assert report.worse
    assert [change.kind for change in report.changes if change.worse] == [None, "title"]
    assert len(report.lost) == 10
    assert report.gained == ()
    assert (report.lost[0].before, report.lost[0].result.rank) == (1, 4)


def test_one_or_two_lost_questions_are_not_worse() -> None:
    report = after(answered([1] * 200), answered([1] * 198 + [None] * 2))
    assert not report.worse
    assert len(report.lost) == 2


def test_equal_gains_and_losses_are_not_worse() -> None:
    report = after(answered([1, 3] * 20), answered([3, 1] * 20))
    assert not report.worse
    assert (len(report.lost), len(report.gained)) == (20, 20)


def test_a_drop_within_the_tolerance_is_ignored() -> None:
    before, now = answered([1] * 40), answered([1] * 30 + [2] * 10)
    assert after(before, now, tolerance=0.02).worse
    assert not after(before, now, tolerance=0.2).worse


def test_a_single_kind_can_get_worse() -> None:
    same, before, now = answered([1] * 400), answered([1] * 20, "link"), answered([5] * 20, "link")
    report = after(same + before, same + now)
    assert {change.kind: change.worse for change in report.changes} == {
        None: True,
        "title": False,
        "link": True,
    }


def test_only_questions_that_both_runs_asked_are_compared() -> None:
    before = answered([1] * 40)
    report = after(before, before[:30] + answered([None] * 5, "link"))
    assert not report.worse
    assert report.dropped == 10
    assert [change.kind for change in report.changes] == [None, "title"]


def test_the_greatest_loss_comes_first() -> None:
    report = after(answered([2, 1, 1]), answered([3, 2, None]))
    assert [moved.result.question.slug for moved in report.lost] == ["page-2", "page-1", "page-0"]


def test_a_saved_run_is_read_back_unchanged(embedded: Brain) -> None:
    assert load_baseline(embedded) is None
    report = run_selftest(embedded, limit=2)
    save_baseline(embedded, report)
    kept = load_baseline(embedded)
    assert kept is not None
    assert kept.state == report.state
    assert [one._replace(first=None) for one in report.results] == list(kept.results)


@pytest.mark.parametrize(
    "results",
    ["", "[]", "{}", "null", '{"program": 1, "pages": 2, "settings": {}, "asked": [[1]]}',
     '{"program": "1", "pages": 2, "settings": {}, "asked": [["a","b","c","d","e",null,1]]}',
     '{"program": "1", "pages": 2, "settings": {}, "asked": [["a","link","c","d","e",null,99]]}'],
)  # fmt: skip
def test_an_unreadable_baseline_counts_as_none(embedded: Brain, results: str) -> None:
    with embedded.database.write_transaction() as connection:
        evaluation_data.save_baseline(connection, "2026-11-16", None, results)
    assert load_baseline(embedded) is None


def test_a_second_run_of_the_same_brain_loses_nothing(embedded: Brain) -> None:
    first = run_selftest(embedded, limit=2)
    save_baseline(embedded, first)
    second = run_selftest(embedded, limit=2, baseline=load_baseline(embedded))
    assert second.results == first.results
    assert (second.lost, second.gained, second.dropped, second.worse) == ((), (), 0, False)


def test_questions_of_deleted_pages_are_left_out(embedded: Brain) -> None:
    first = run_selftest(embedded, limit=2)
    save_baseline(embedded, first)
    gone = first.results[0].question.slug
    embedded.delete(gone)
    report = run_selftest(embedded, limit=2, baseline=load_baseline(embedded))
    assert report.dropped == sum(one.question.slug == gone for one in first.results)
    assert report.results
    assert not any(one.question.slug == gone for one in report.results)


def test_a_selftest_records_no_usage(embedded: Brain, brain_path: Path) -> None:
    embedded.set("record_queries", "on")
    with Brain.open(brain_path) as recording:
        run_selftest(recording, limit=1)
        with recording.database.read_transaction() as connection:
            assert connection.execute("SELECT count(*) FROM questions").fetchone() == (0,)
        recording.query("heron")
        with recording.database.read_transaction() as connection:
            assert connection.execute("SELECT count(*) FROM questions").fetchone() == (1,)


def test_the_excluded_page_is_not_searched(embedded: Brain) -> None:
    text, slug = "write-ahead log talk in Rotterdam", "people/alice-chen"
    free, barred = (
        MinedQuestion(exclude or "free", "link", text, slug, "", exclude)
        for exclude in (None, slug)
    )
    found, hidden = ask_questions(embedded, [free, barred])
    assert (found.rank, hidden.rank) == (1, None)


def test_an_empty_brain_has_no_questions(tmp_path: Path) -> None:
    with Brain.open(tmp_path / "new.db", make=True) as empty:
        with pytest.raises(NotFound, match="enough text to make test questions") as raised:
            run_selftest(empty)
        assert raised.value.code == "no_questions"


def test_a_month_counts_only_if_its_entry_is_shown(embedded: Brain) -> None:
    text = "what happened in April 2026 with Alice Chen?"
    right = MinedQuestion("1", "month", text, "people/alice-chen", expects="2026-04")
    wrong = right._replace(expects="2025-11")
    assert [one.rank for one in ask_questions(embedded, [right, wrong])] == [1, None]


def test_a_missing_word_must_lower_the_grade(embedded: Brain) -> None:
    text = "where did Alice Chen buy the trombone?"
    missing = MinedQuestion("1", "unanswerable", text, "people/alice-chen", expects="trombone")
    known = missing._replace(text="Alice Chen")
    assert [one.rank for one in ask_questions(embedded, [missing, known])] == [1, None]


def test_a_new_note_is_found_in_a_copy_of_the_brain(embedded: Brain) -> None:
    before, files = embedded.stats(), set(embedded.path.parent.iterdir())
    note = "# Boiler\n\nThe plumber replaced the valve, radiators are hot again.\n"
    fresh = MinedQuestion("1", "fresh", "central heating repaired", "gbrain-selftest/note-1", note)
    (found,) = ask_questions(embedded, [fresh])
    assert found.rank is not None
    assert embedded.stats() == before
    assert set(embedded.path.parent.iterdir()) == files


def test_each_new_kind_is_kept_in_the_baseline(embedded: Brain) -> None:
    report = run_selftest(embedded, limit=1)
    assert {"rare", "month", "unanswerable", "fresh"} <= {kind for kind, _, _ in report.by_kind()}
    save_baseline(embedded, report)
    saved = load_baseline(embedded)
    assert saved
    assert [one.question for one in saved.results] == [one.question for one in report.results]
