"""Log queries and opened pages, and store the last hits so that one can be opened by rank."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from gbrain.store.connection import Database


class ShownPage(NamedTuple):
    """A page that a query showed, with the features that the learned reranker sees."""

    page_id: int
    features: Sequence[float]


class LoggedQuery(NamedTuple):
    """A logged query; `opened` says whether one of its pages was opened afterwards."""

    text: str
    asked_at: str
    verdict: str
    hits: int
    opened: bool


class HitLocation(NamedTuple):
    """Where a hit of the last query is; `line` is the first line of its chunk, from 1."""

    rank: int
    slug: str
    line: int | None


def log_query(
    connection: sqlite3.Connection,
    text: str,
    now: str,
    mode: str,
    verdict: str,
    shown: Sequence[ShownPage],
    keep: int,
) -> None:
    """Log a query with the pages it showed, best first, and keep only the `keep` latest queries."""
    number = connection.execute(
        "INSERT INTO questions (text, asked_at, mode, verdict, hits) VALUES (?, ?, ?, ?, ?)",
        (text, now, mode, verdict, len(shown)),
    ).lastrowid
    assert number is not None
    connection.executemany(
        "INSERT INTO question_hits (question_id, rank, page_id, features) VALUES (?, ?, ?, ?)",
        [
            (number, rank, page_id, json.dumps(list(features)))
            for rank, (page_id, features) in enumerate(shown, 1)
        ],
    )
    connection.execute("DELETE FROM questions WHERE id <= ?", (number - keep,))


def logged_queries(connection: sqlite3.Connection) -> Iterator[LoggedQuery]:
    """Yield every logged query, latest first."""
    rows = connection.execute(
        "SELECT text, asked_at, verdict, hits, EXISTS (SELECT 1 FROM question_hits "
        "WHERE question_id = id AND opened_at IS NOT NULL) FROM questions ORDER BY id DESC"
    )
    for text, asked_at, verdict, hits, log_open in rows:
        yield LoggedQuery(text, asked_at, verdict, hits, bool(log_open))


def save_last_hits(connection: sqlite3.Connection, places: Sequence[HitLocation]) -> None:
    """Store the hits of this query in place of those of the previous one."""
    connection.execute("DELETE FROM last_answer")
    connection.executemany("INSERT INTO last_answer (rank, slug, line) VALUES (?, ?, ?)", places)


def find_last_hit(connection: sqlite3.Connection, rank: int) -> HitLocation | None:
    """Return the hit of the last query with this rank; None if there is none."""
    row = connection.execute(
        "SELECT rank, slug, line FROM last_answer WHERE rank = ?", (rank,)
    ).fetchone()
    return HitLocation(*row) if row else None


# A page opened this soon after a query counts as opened because of it.
_OPENED_AFTER_QUERY = timedelta(minutes=30)


def log_open(connection: sqlite3.Connection, page_id: int, now: str) -> None:
    """Count that a page was opened, and mark it in the recent queries that showed it."""
    connection.execute(
        "INSERT INTO page_use (page_id, opens, last_opened) SELECT id, 1, ?2 FROM pages "
        "WHERE id = ?1 ON CONFLICT (page_id) DO UPDATE SET opens = opens + 1, last_opened = ?2",
        (page_id, now),
    )
    connection.executemany(
        "UPDATE question_hits SET opened_at = ? WHERE question_id = ? AND page_id = ? "
        "AND opened_at IS NULL",
        [(now, question, page_id) for question in _recent_queries(connection, now)],
    )


def _recent_queries(connection: sqlite3.Connection, now: str) -> Iterator[int]:
    """Yield the ids of recent queries, latest first."""
    earliest = (datetime.fromisoformat(now) - _OPENED_AFTER_QUERY).isoformat(
        timespec="milliseconds"
    )
    for question, asked_at in connection.execute(
        "SELECT id, asked_at FROM questions ORDER BY id DESC"
    ):
        if asked_at < earliest:
            return
        yield question


def open_counts(connection: sqlite3.Connection, page_ids: Iterable[int]) -> dict[int, int]:
    """How often each of these pages was opened; those never opened are left out."""
    rows = connection.execute(
        "SELECT page_id, opens FROM page_use WHERE page_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(page_ids)),),
    )
    return dict(rows.fetchall())


def try_write(database: Database, write: Callable[[sqlite3.Connection], None]) -> bool:
    """Run `write` in a transaction; return False if the file is busy, full or read-only.

    The write is not flushed to disk, so that the caller need not wait: a power loss may undo it.
    """
    connection = database.connection
    if database.read_only or connection.in_transaction:
        return False
    patience = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    safety = connection.execute("PRAGMA synchronous").fetchone()[0]
    connection.execute("PRAGMA busy_timeout = 0")
    connection.execute("PRAGMA synchronous = NORMAL")
    try:
        connection.execute("BEGIN IMMEDIATE")
        write(connection)
        connection.execute("COMMIT")
    except sqlite3.OperationalError:
        return False
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute(f"PRAGMA busy_timeout = {patience}")
        connection.execute(f"PRAGMA synchronous = {safety}")
    return True
