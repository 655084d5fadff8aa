"""Timelines as a person sees them: days, pages and words, and nothing that drives the terminal."""

from __future__ import annotations

import pytest

from gbrain.output.timeline import show_all_timelines, show_timeline
from gbrain.store.timeline import TimelineEntry

ENTRIES = [
    TimelineEntry("a", "Ann [b]", "2026-04-03T09:30", "chat", "Met [red]her[/red]\nagain", (3, 4)),
    TimelineEntry("b", "Bo", "2026-04-03", None, "Sold\x1b[2J", (1, 1)),
    TimelineEntry("b", "Bo", "2026", None, "Old", (2, 2)),
]


def told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_entries_of_many_pages_are_grouped_by_month_and_day(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_all_timelines(ENTRIES)
    assert told(capsys) == [
        "April 2026",
        "  Fri  3  Ann [b]  a  09:30",
        "          chat — Met [red]her[/red] again",
        "          Bo  b",
        "          Sold\ufffd[2J",
        "",
        "2026",
        "       —  Bo  b",
        "          Old",
    ]


def test_lines_of_a_paragraph_are_joined_and_others_are_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "I\nslept.\n\n- [ ] one\n  more\n- two\n1. three\n# Head\n12 km\nrun\non  \nSea\\\nHome"
    entry = TimelineEntry("a", "Ann", "2026-04-01", None, text, (1, 9), "page")
    code = [
        TimelineEntry("a", "Ann", "2026-04-01", None, f"{fence}\na\nb\n{fence}", (1, 4))
        for fence in ("```", "~~~")
    ]
    show_timeline([entry, *code])
    assert [line.strip() for line in told(capsys)] == [
        "2026-04-01  I slept.",
        "",
        "- [ ] one",
        "more",
        "- two",
        "1. three",
        "# Head",
        "12 km run on",
        "Sea\\",
        "Home",
        "2026-04-01  ```",
        "a",
        "b",
        "```",
        "2026-04-01  ~~~",
        "a",
        "b",
        "~~~",
    ]


def test_an_entry_without_a_day_has_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    show_all_timelines(
        [
            TimelineEntry("a", "Ann", "2026-04-01", None, "First", (1, 1)),
            TimelineEntry("a", "Ann", "2026-04", None, "Month", (2, 2)),
            TimelineEntry("a", "Ann", "2026-Q1", None, "Quarter", (3, 3)),
        ]
    )
    lines = told(capsys)
    assert lines[:4] == ["April 2026", "  Wed  1  Ann  a", "          First", "       —  Ann  a"]
    assert lines[6] == "2026-Q1"


def test_entries_of_one_page_are_next_to_their_dates(capsys: pytest.CaptureFixture[str]) -> None:
    show_timeline(ENTRIES[1:])
    assert told(capsys) == ["2026-04-03  Sold\ufffd[2J", "2026        Old"]
