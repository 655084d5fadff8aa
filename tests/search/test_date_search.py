"""Questions about a time: entries and pages of it come first and are shown, with the real model."""

from __future__ import annotations

from datetime import date

import pytest

from gbrain.brain import Brain
from gbrain.search.date_search import read_time
from gbrain.text.query import parse_query
from gbrain.types import Answer, Scope

MONTHS = (
    "January February March April May June July August September October November December".split()
)
NOTES = {
    "people/luc.md": "---\naliases: [Luc]\n---\n# Luc Moreau\n\nTunes pianos.\n\n---\n## Timeline\n"
    "- 2026-09-21 — Wants an apprentice\n- 2026-04-18: Signed the lease\n"
    "- 2025-04-11: Bought a van\n- 2024 — Moved in\n",
    "people/ania.md": "# Ania\n\nClimbs with Luc in April, mostly in April 2026.\n\n"
    "---\n## Timeline\n- 2026-11-13 — New rope\n",
    "health/log.md": "# Migraine\n\n## Verlauf\n\n- 2026-08-09, heat, strong\n"
    "- 05.10.2026: mild\n- 2025-03-21 after the flight\n",
    "travel/diary.md": "# Japan diary\n\n## 3 April 2025\n\nTemples.\n\n## Money\n\nCash.\n",
    "journal/2026-11-14.md": "Rain, a long run and soup.\n",
}


@pytest.fixture
def notes(brain: Brain, monkeypatch: pytest.MonkeyPatch) -> Brain:
    monkeypatch.setenv("GBRAIN_NOW", "2026-11-16T09:00:00+00:00")
    for path, text in NOTES.items():
        brain.put(path.removesuffix(".md"), text.encode())
    return brain


def first(answer: Answer) -> tuple[str, str | None]:
    return answer.hits[0].slug, answer.hits[0].date


@pytest.mark.parametrize(
    ("question", "slug", "date"),
    [
        ("what happened in April with Luc?", "people/luc", "2026-04-18"),
        ("Luc in April 2025", "people/luc", "2025-04-11"),
        ("what did Luc do last quarter?", "people/luc", "2026-09-21"),
        ("migraine last summer", "health/log", "2026-08-09"),
        ("migraine on 5 October 2026", "health/log", "2026-10-05"),
        ("migraine between January and June 2025", "health/log", "2025-03-21"),
        ("where were we on 3 April 2025?", "travel/diary", "2025-04-03"),
        ("what did I do on Saturday?", "journal/2026-11-14", "2026-11-14"),
        ("what happened last week?", "journal/2026-11-14", "2026-11-14"),
        ("what did Luc do in 2024?", "people/luc", "2024"),
        ("what did I write last Saturday?", "journal/2026-11-14", "2026-11-14"),
        ("diary 14 November 2026", "journal/2026-11-14", "2026-11-14"),
        ("diary of 3 April 2025", "travel/diary", "2025-04-03"),
    ],
)
def test_the_entry_of_the_asked_period_is_shown_first(
    notes: Brain, question: str, slug: str, date: str
) -> None:
    assert first(notes.search(question)) == (slug, date)


def test_a_question_of_only_a_date_lists_it_latest_first(notes: Brain) -> None:
    found = notes.search("what happened last week?")
    assert [(hit.slug, hit.date) for hit in found.hits] == [
        ("journal/2026-11-14", "2026-11-14"),
        ("people/ania", "2026-11-13"),
    ]
    assert found.verdict.grade == "strong"


def test_words_of_a_date_count_when_nothing_is_of_that_time(notes: Brain) -> None:
    notes.put("ideas/summer", b"# Plans\n\nIn summer 2019 we wanted to sail.\n")
    assert notes.search("summer 2019").hits[0].slug == "ideas/summer"


@pytest.mark.parametrize(
    ("question", "grade", "reason"),
    [
        ("new rope for Ania last year", "partial", "it is not dated in the time asked about, 2025"),
        ("new rope for Ania in 2019", "partial", "no page is dated in the time asked about, 2019"),
        ("new rope for Ania in June", "partial", "no page is dated in the time asked about"),
        ("rope for Ania last week", "strong", "it contains 2 of 2 words, 100% by weight"),
        ("summer 2019 sailing plans", "strong", "it contains 4 of 4 words, 100% by weight"),
    ],
)
def test_the_verdict_says_that_the_best_page_is_of_another_time(
    notes: Brain, question: str, grade: str, reason: str
) -> None:
    notes.put("ideas/summer", b"# Plans\n\nIn summer 2019 we wanted to go sailing.\n")
    verdict = notes.search(question).verdict
    assert (verdict.grade, verdict.reasons[0], verdict.missing) == (grade, reason, ())


@pytest.mark.parametrize("question", ["what happened yesterday", "what did I write in 2019?"])
def test_a_question_of_only_a_date_without_notes_finds_nothing(notes: Brain, question: str) -> None:
    notes.put("ideas/writing", b"# Writing\n\nWhat happened to the pen I write with?\n")
    answer = notes.search(question)
    assert answer.hits
    assert (answer.verdict.grade, len(answer.verdict.reasons)) == ("nothing", 1)
    assert answer.verdict.reasons[0].startswith("no page is dated in the time asked about, ")


@pytest.mark.parametrize(
    ("scope", "inside"),
    [
        (Scope(), True),
        (Scope(wing="people"), True),
        (Scope(wing="journal"), False),
        (Scope(slug_prefix="people/", exclude=("people/luc",)), False),
    ],
)
def test_a_time_has_pages_only_within_the_filters(notes: Brain, scope: Scope, inside: bool) -> None:
    query = parse_query("Luc in April 2025", {}, date(2026, 11, 16), scope, 10)
    with notes.database.read_transaction() as connection:
        asked = read_time(connection, query, date(2026, 11, 16))
    assert asked is not None
    assert asked.has_pages is inside


def test_the_trace_and_the_hit_name_the_date(notes: Brain) -> None:
    answer = notes.search("Luc in April 2025")
    assert {"dates", "period"} <= {stage.name for stage in answer.trace.stages}
    assert answer.hits[0].boosts["date"] == 5.0
    plain = notes.search("Luc lease")
    assert {"dates", "period"}.isdisjoint(stage.name for stage in plain.trace.stages)


def test_sample_months_are_found_by_page_and_month(embedded: Brain) -> None:
    """On the landed program before, 2 of 26 without the year and 9 of 26 with it."""
    entries, _ = embedded.timeline(limit=None)
    asked = {(e.slug, e.title, e.date[:7]) for e in entries if len(e.date) >= 7}
    assert len(asked) >= 20
    good = 0
    for slug, title, month in asked:
        year, number = month.split("-")
        question = f"what happened in {MONTHS[int(number) - 1]} {year} with {title}?"
        hit = embedded.query(question).hits[0]
        good += hit.slug == slug and (hit.date or "")[:7] == month
    assert good >= 0.95 * len(asked)


def test_a_page_of_the_asked_time_is_never_graded_nothing(notes: Brain) -> None:
    answer = notes.query("apprenticeship in September 2026")
    assert first(answer) == ("people/luc", "2026-09-21")
    assert answer.verdict.grade == "partial"
    assert "apprenticeship" in answer.verdict.missing


def test_a_page_with_every_word_wins_over_pages_of_that_month(notes: Brain) -> None:
    notes.put("tools/mail", b"# Newsletter\n\nSent with Buttondown since March, before by hand.\n")
    notes.put("meetings/mail", b"---\ndate: 2026-03-05\n---\n# Buttons\n\nOur newsletter.\n")
    assert first(notes.query("Buttondown March"))[0] == "tools/mail"
    assert first(notes.query("newsletter in March"))[0] == "meetings/mail"
