"""Recorded questions, opened pages and the last answer; none of it makes anybody wait."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

import pytest

from gbrain.brain import Brain
from gbrain.store import usage_log
from gbrain.store.usage_log import HitLocation, LoggedQuery, ShownPage, try_write

NOON = "2026-11-16T12:00:00.000Z"


@pytest.fixture
def pages(brain: Brain) -> list[int]:
    for name in ("a", "b", "c"):
        brain.put(name, f"words of {name}\n".encode())
    return [brain.get(name).id for name in ("a", "b", "c")]


def ask(
    brain: Brain, text: str, *shown: int, now: str = NOON, verdict: str = "strong", keep: int = 100
) -> None:
    hits = [ShownPage(page_id, (0.5, float(page_id))) for page_id in shown]
    with brain.database.write_transaction() as connection:
        usage_log.log_query(connection, text, now, "hybrid", verdict, hits, keep)


def open_page(brain: Brain, page_id: int, now: str) -> None:
    with brain.database.write_transaction() as connection:
        usage_log.log_open(connection, page_id, now)


def recorded(brain: Brain) -> list[LoggedQuery]:
    with brain.database.read_transaction() as connection:
        return list(usage_log.logged_queries(connection))


def rows(brain: Brain, sql: str) -> list[tuple[object, ...]]:
    with brain.database.read_transaction() as connection:
        return connection.execute(sql).fetchall()


def test_a_query_is_logged_with_the_pages_it_showed(brain: Brain, pages: list[int]) -> None:
    ask(brain, "who is a", pages[1], pages[0], verdict="partial")
    assert recorded(brain) == [LoggedQuery("who is a", NOON, "partial", 2, False)]
    hits = rows(brain, "SELECT rank, page_id, features FROM question_hits ORDER BY rank")
    assert [hit[:2] for hit in hits] == [(1, pages[1]), (2, pages[0])]
    assert json.loads(str(hits[0][2])) == [0.5, float(pages[1])]


def test_only_the_latest_queries_are_kept(brain: Brain, pages: list[int]) -> None:
    for number in range(5):
        ask(brain, f"question {number}", pages[0], keep=3)
    assert [asking.text for asking in recorded(brain)] == [f"question {n}" for n in (4, 3, 2)]
    assert rows(brain, "SELECT count(*) FROM question_hits") == [(3,)]


def test_an_open_is_counted_and_marks_recent_queries(brain: Brain, pages: list[int]) -> None:
    ask(brain, "long ago", pages[0], now="2026-11-16T11:29:59.999Z")
    ask(brain, "lately", pages[1], pages[0], now="2026-11-16T11:30:00.000Z")
    ask(brain, "another", pages[1])
    open_page(brain, pages[0], NOON)
    assert [(one.text, one.opened) for one in recorded(brain)] == [
        ("another", False),
        ("lately", True),
        ("long ago", False),
    ]
    open_page(brain, pages[0], "2026-11-16T12:01:00.000Z")
    opened_at = "SELECT opened_at FROM question_hits WHERE opened_at IS NOT NULL"
    assert rows(brain, opened_at) == [(NOON,)]
    assert rows(brain, "SELECT page_id, opens FROM page_use") == [(pages[0], 2)]


def test_opening_a_deleted_page_is_not_counted(brain: Brain, pages: list[int]) -> None:
    open_page(brain, pages[0], NOON)
    brain.delete("a")
    open_page(brain, pages[0], NOON)
    assert rows(brain, "SELECT page_id, opens FROM page_use") == []


def test_only_the_hits_of_the_last_query_are_stored(brain: Brain) -> None:
    with brain.database.write_transaction() as connection:
        usage_log.save_last_hits(connection, [HitLocation(1, "a", 12), HitLocation(2, "b", None)])
        usage_log.save_last_hits(connection, [HitLocation(1, "c", 3)])
        assert usage_log.find_last_hit(connection, 1) == HitLocation(1, "c", 3)
        assert usage_log.find_last_hit(connection, 2) is None


def note(text: str) -> Callable[[sqlite3.Connection], None]:
    return lambda connection: usage_log.log_query(connection, text, NOON, "bm25", "strong", (), 10)


def test_try_write_restores_the_connection_settings(brain: Brain) -> None:
    before = [rows(brain, f"PRAGMA {name}") for name in ("busy_timeout", "synchronous")]
    assert try_write(brain.database, note("kept"))
    assert [asking.text for asking in recorded(brain)] == ["kept"]
    assert [rows(brain, f"PRAGMA {name}") for name in ("busy_timeout", "synchronous")] == before


def test_try_write_does_not_wait_for_a_busy_brain(brain: Brain) -> None:
    other = brain.database.open_second_connection()
    try:
        other.execute("BEGIN IMMEDIATE")
        assert not try_write(brain.database, note("lost"))
        other.execute("ROLLBACK")
    finally:
        other.close()
    assert recorded(brain) == []
    assert try_write(brain.database, note("kept"))


def test_try_write_skips_reads_and_read_only_brains(brain: Brain) -> None:
    with brain.database.read_transaction():
        assert not try_write(brain.database, note("lost"))
    path = brain.database.path
    brain.close()
    path.chmod(0o400)
    with Brain.open(path) as frozen:
        assert not try_write(frozen.database, note("lost"))
        assert recorded(frozen) == []


def test_try_write_rolls_back_and_raises_errors(brain: Brain) -> None:
    def mistaken(connection: sqlite3.Connection) -> None:
        note("half")(connection)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        try_write(brain.database, mistaken)
    assert recorded(brain) == []
