"""Gaps: each kind from the pages and questions that make it, the most used first."""

from __future__ import annotations

from datetime import date

import pytest

from gbrain.brain import Brain
from gbrain.store import usage_log
from gbrain.store.gaps import Gap, GapKind, find_gaps
from gbrain.store.usage_log import ShownPage

TODAY = date(2026, 11, 16)


def gaps(brain: Brain, kind: GapKind, stale_days: int = 180) -> list[Gap]:
    with brain.database.read_transaction() as connection:
        return find_gaps(connection, TODAY, stale_days)[kind]


def ask(brain: Brain, text: str, verdict: str, *shown: int, hour: int = 9) -> None:
    now = f"2026-11-10T{hour:02}:00:00.000Z"
    with brain.database.write_transaction() as connection:
        hits = [ShownPage(page_id, ()) for page_id in shown]
        usage_log.log_query(connection, text, now, "hybrid", verdict, hits, 100)


def open_page(brain: Brain, slug: str, hour: int = 9, times: int = 1) -> None:
    with brain.database.write_transaction() as connection:
        for _ in range(times):
            usage_log.log_open(connection, brain.get(slug).id, f"2026-11-10T{hour:02}:05:00.000Z")


def put(brain: Brain, slug: str, body: str, monkeypatch: pytest.MonkeyPatch, day: str) -> None:
    monkeypatch.setenv("GBRAIN_NOW", f"{day}T12:00:00")
    brain.put(slug, body.encode())


def test_a_full_brain_without_questions_has_no_gaps(brain: Brain) -> None:
    brain.put("a", b"# A\n\nSee [[b]].\n")
    brain.put("b", b"# B\n\nSee [[a]].\n")
    with brain.database.read_transaction() as connection:
        assert find_gaps(connection, TODAY, 180) == {
            "asked": [], "unwritten": [], "empty": [], "stale": []
        }  # fmt: skip


def test_questions_are_counted_whatever_their_spelling(brain: Brain) -> None:
    ask(brain, "who runs River AI", "nothing")
    ask(brain, "Who runs river-ai?", "nothing", hour=10)
    ask(brain, "where is the key", "nothing")
    found = gaps(brain, "asked")
    assert [(gap.name, gap.asked) for gap in found] == [
        ("Who runs river-ai?", 2),
        ("where is the key", 1),
    ]
    assert found[0].day == "2026-11-10"
    assert found[0].why == "nothing found"
    assert found[0].command == "gbrain edit notes/runs-river-ai"


def test_a_question_is_judged_by_its_latest_answer(brain: Brain) -> None:
    ask(brain, "mended", "nothing")
    ask(brain, "mended", "strong")
    ask(brain, "broken", "strong")
    ask(brain, "broken", "partial")
    assert [gap.name for gap in gaps(brain, "asked")] == ["broken"]


def test_an_opened_page_answers_a_question(brain: Brain) -> None:
    brain.put("a", b"words\n")
    page = brain.get("a").id
    ask(brain, "one", "partial", page, hour=9)
    open_page(brain, "a", hour=9)
    ask(brain, "two", "partial", page, hour=12)
    found = gaps(brain, "asked")
    assert [(gap.name, gap.why) for gap in found] == [("two", "a partial answer, no page opened")]
    assert found[0].command == "gbrain query two"


def test_a_strong_answer_is_a_gap_only_when_asked_again_in_vain(brain: Brain) -> None:
    brain.put("a", b"words\n")
    page = brain.get("a").id
    ask(brain, "once", "strong", page)
    ask(brain, "twice", "strong", page)
    ask(brain, "twice", "strong", page)
    assert [gap.name for gap in gaps(brain, "asked")] == ["twice"]
    open_page(brain, "a")
    assert gaps(brain, "asked") == []


def test_unwritten_pages_by_how_many_link_to_them(brain: Brain) -> None:
    brain.put("a", b"[[people/Dora Quill]] and [[people/dora-quill]] and [[once]]\n")
    for name in "bcde":
        brain.put(name, b"[[people/dora-quill]]\n")
    first, second = gaps(brain, "unwritten")
    assert (first.name, first.backlinks) == ("people/dora-quill", 5)
    assert first.why == "linked from a, b, c and 2 more"
    assert first.command == "gbrain edit people/dora-quill"
    assert (second.name, second.backlinks, second.why) == ("once", 1, "linked from a")


def test_empty_pages_by_use(brain: Brain) -> None:
    brain.put("a", b"# A\n")
    brain.put("b", b"# B\n\n## Timeline\n- 2026-04-03 \xe2\x80\x94 Met [[a]]\n")
    brain.put("c", b"# C\n\nSee [[a]], [[a]] and [[b]].\n")
    open_page(brain, "b", times=4)
    found = gaps(brain, "empty")
    assert [(gap.name, gap.opens, gap.backlinks, gap.why) for gap in found] == [
        ("b", 4, 1, "only a timeline"),
        ("a", 0, 2, "no text"),
    ]


OLD = "---\ndate: 2025-01-10\n---\n# Old\n\nWords.\n"


def test_a_page_that_newer_ones_link_to_is_stale(brain: Brain) -> None:
    brain.put("concepts/old", OLD.encode())
    brain.put("meetings/2026-09-01-sync", b"# Sync\n\nAbout [[concepts/old]].\n")
    brain.put("undated", b"About [[concepts/old]].\n")
    (gap,) = gaps(brain, "stale")
    assert (gap.name, gap.day, gap.backlinks) == ("concepts/old", "2025-01-10", 2)
    assert gap.why == "a newer page links here, dated 2026-09-01"
    assert gaps(brain, "stale", stale_days=1000) == []


def test_a_page_much_used_is_stale_by_age_alone(brain: Brain) -> None:
    brain.put("concepts/old", OLD.encode())
    brain.put("concepts/unused", OLD.encode())
    open_page(brain, "concepts/old", times=3)
    assert [(gap.name, gap.opens) for gap in gaps(brain, "stale")] == [("concepts/old", 3)]


def test_notes_of_a_day_and_superseded_pages_are_never_stale(brain: Brain) -> None:
    brain.put("journal/2025-01-10", b"# A day\n\nWords.\n")
    brain.put("plan", OLD.replace("date:", "superseded_by: newplan\ndate:").encode())
    for slug in ("journal/2025-01-10", "plan"):
        open_page(brain, slug, times=5)
    assert gaps(brain, "stale") == []


def test_truth_that_the_timeline_left_behind_is_stale(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "# Project\n\nJust begun.\n\n## Timeline\n- 2025-01-02 — Begun\n"
    put(brain, "project", page, monkeypatch, "2025-01-02")
    put(brain, "project", page + "- 2026-10-01 — Shipped\n", monkeypatch, "2026-10-01")
    (gap,) = gaps(brain, "stale")
    assert (gap.name, gap.day) == ("project", "2025-01-02")
    assert gap.why == "its timeline went on to 2026-10-01"
    fresh = page.replace("Just begun", "Shipped") + "- 2026-10-01 — Shipped\n"
    put(brain, "project", fresh, monkeypatch, "2026-10-02")
    assert gaps(brain, "stale") == []
