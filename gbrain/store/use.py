"""How often pages are opened, and which question led to them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

# A page opened so long after a question was still opened because of it.
_LED_TO = timedelta(minutes=30)


def opened(connection: sqlite3.Connection, page_id: int, now: str) -> None:
    """Counts that a page was opened, and marks it with the latest questions that showed it."""
    connection.execute(
        "INSERT INTO page_use (page_id, opens, last_opened) SELECT id, 1, ?2 FROM pages "
        "WHERE id = ?1 ON CONFLICT (page_id) DO UPDATE SET opens = opens + 1, last_opened = ?2",
        (page_id, now),
    )
    connection.executemany(
        "UPDATE question_hits SET opened_at = ? WHERE question_id = ? AND page_id = ? "
        "AND opened_at IS NULL",
        [(now, question, page_id) for question in _asked_lately(connection, now)],
    )


def _asked_lately(connection: sqlite3.Connection, now: str) -> Iterator[int]:
    """The latest questions, by their numbers."""
    earliest = (datetime.fromisoformat(now) - _LED_TO).isoformat(timespec="milliseconds")
    for question, asked_at in connection.execute(
        "SELECT id, asked_at FROM questions ORDER BY id DESC"
    ):
        if asked_at < earliest:
            return
        yield question


def opens_of(connection: sqlite3.Connection, page_ids: Iterable[int]) -> dict[int, int]:
    """How often each of these pages was opened; those never opened are left out."""
    rows = connection.execute(
        "SELECT page_id, opens FROM page_use WHERE page_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(page_ids)),),
    )
    return dict(rows.fetchall())
