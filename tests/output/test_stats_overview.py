"""What is there, and what to do next."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.output.stats import next_steps, overview_lines, shorten_path, show_stats
from gbrain.store.stats import RecentPage, Stats, read_stats

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def stats(sample: Path) -> Stats:
    with Brain.open(sample) as brain, brain.database.read_transaction() as connection:
        return read_stats(connection)


def commands(stats: Stats) -> list[str]:
    return [command for command, _ in next_steps(stats)]


def test_an_empty_brain_suggests_an_import(stats: Stats) -> None:
    assert commands(replace(stats, pages=0))[0] == "gbrain import DIR"


def test_pending_embedding_is_suggested_first(stats: Stats) -> None:
    assert stats.jobs > 0
    assert commands(stats)[0] == "gbrain embed"
    assert commands(replace(stats, jobs=0))[0].startswith("gbrain query")


def test_sync_is_suggested_for_a_registered_folder(stats: Stats) -> None:
    assert "gbrain sync" in commands(stats)
    assert "gbrain sync" not in commands(replace(stats, folders=()))


@pytest.mark.parametrize(
    ("chunks", "jobs", "told"),
    [
        (100, 0, "100 % of 100 chunks"),
        (1000, 1, "99 % of 1,000 chunks"),
        (1000, 999, "1 % of 1,000 chunks"),
        (10, 12, "0 % of 10 chunks"),
    ],
)
def test_the_share_is_never_rounded_to_0_or_100(
    stats: Stats, chunks: int, jobs: int, told: str
) -> None:
    lines = overview_lines(Path("/b"), replace(stats, chunks=chunks, jobs=jobs), NOW)
    assert lines[1] == f"29 pages · {told} embedded"


@pytest.mark.parametrize(
    ("ago", "told"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(hours=5), "5 hours ago"),
        (timedelta(days=40), "40 days ago"),
        (timedelta(days=-1), "just now"),
    ],
)
def test_the_last_change_has_an_age_and_a_title(stats: Stats, ago: timedelta, told: str) -> None:
    newest = (RecentPage("a", "A page", (NOW - ago).isoformat().replace("+00:00", "Z")),)
    lines = overview_lines(Path("/b"), replace(stats, newest=newest), NOW)
    assert lines[2] == f"Last change {told}: A page"


def test_paths_are_shortened_with_a_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert shorten_path(tmp_path / "notes" / "b.db") == "~/notes/b.db"
    assert shorten_path("/elsewhere/b.db") == "/elsewhere/b.db"


def test_the_screen_has_singular_words_and_local_times(
    stats: Stats, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    newest = RecentPage("a", "Page A", "2026-11-15T23:30:00.000Z")
    show_stats(Path("/b"), replace(stats, pages=1, versions=1, newest=(newest,)), "2026-11")
    monkeypatch.undo()
    time.tzset()
    shown = capsys.readouterr().out
    assert re.search(r"^ +1  page, ", shown, re.MULTILINE)
    assert re.search(r"^ +1  earlier version of pages +$", shown, re.MULTILINE)
    assert "2026-11-16 08:30  Page A" in shown
