"""Log queries and opened pages, and store what is learned from them: a reranker's weights."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from gbrain.store.connection import Database

# A page opened this soon after a query counts as opened because of it.
_MAX_TIME_AFTER_QUERY = timedelta(minutes=30)


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
    query_id = connection.execute(
        "INSERT INTO questions (text, asked_at, mode, verdict, hits) VALUES (?, ?, ?, ?, ?)",
        (text, now, mode, verdict, len(shown)),
    ).lastrowid
    assert query_id is not None
    connection.executemany(
        "INSERT INTO question_hits (question_id, rank, page_id, features) VALUES (?, ?, ?, ?)",
        [
            (query_id, rank, page_id, json.dumps(list(features)))
            for rank, (page_id, features) in enumerate(shown, 1)
        ],
    )
    connection.execute("DELETE FROM questions WHERE id <= ?", (query_id - keep,))


def logged_queries(connection: sqlite3.Connection) -> Iterator[LoggedQuery]:
    """Yield every logged query, latest first."""
    rows = connection.execute(
        "SELECT text, asked_at, verdict, hits, EXISTS (SELECT 1 FROM question_hits "
        "WHERE question_id = id AND opened_at IS NOT NULL) FROM questions ORDER BY id DESC"
    )
    for text, asked_at, verdict, hits, opened in rows:
        yield LoggedQuery(text, asked_at, verdict, hits, bool(opened))


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
        [(now, query_id, page_id) for query_id in _recent_query_ids(connection, now)],
    )


def save_last_hits(connection: sqlite3.Connection, hits: Sequence[HitLocation]) -> None:
    """Store the hits of this query in place of those of the previous one."""
    connection.execute("DELETE FROM last_answer")
    connection.executemany("INSERT INTO last_answer (rank, slug, line) VALUES (?, ?, ?)", hits)


def find_last_hit(connection: sqlite3.Connection, rank: int) -> HitLocation | None:
    """Return the hit of the last query with this rank; None if there is none."""
    row = connection.execute(
        "SELECT rank, slug, line FROM last_answer WHERE rank = ?", (rank,)
    ).fetchone()
    return HitLocation(*row) if row else None


def try_write(database: Database, write: Callable[[sqlite3.Connection], None]) -> bool:
    """Run `write` in a transaction; return False if the file is busy, full or read-only.

    The write is not flushed to disk, so that the caller need not wait: a power loss may undo it.
    """
    connection = database.connection
    if database.read_only or connection.in_transaction:
        return False
    busy_timeout = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    synchronous = connection.execute("PRAGMA synchronous").fetchone()[0]
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
        connection.execute(f"PRAGMA busy_timeout = {busy_timeout}")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
    return True


def _recent_query_ids(connection: sqlite3.Connection, now: str) -> Iterator[int]:
    """Yield the ids of recent queries, latest first."""
    earliest = (datetime.fromisoformat(now) - _MAX_TIME_AFTER_QUERY).isoformat(
        timespec="milliseconds"
    )
    for query_id, asked_at in connection.execute(
        "SELECT id, asked_at FROM questions ORDER BY id DESC"
    ):
        if asked_at < earliest:
            return
        yield query_id


# --- learned reranker ------------------------------------------------------------------------

RERANKER = "reranker"


class TrainingExample(NamedTuple):
    """The hits of a logged query, best first: features of each, and whether it was opened."""

    rows: tuple[tuple[float, ...], ...]
    opened: tuple[bool, ...]


def save_weights(connection: sqlite3.Connection, name: str, value: str, now: str) -> None:
    """Save weights under a name, replacing earlier ones."""
    connection.execute(
        "INSERT INTO learned (name, made_at, value) VALUES (?, ?, ?) "
        "ON CONFLICT (name) DO UPDATE SET made_at = excluded.made_at, value = excluded.value",
        (name, now, value),
    )


def read_weights(connection: sqlite3.Connection, name: str) -> str | None:
    """Return the weights saved under a name; None if there are none, or the schema is too old."""
    try:
        row = connection.execute("SELECT value FROM learned WHERE name = ?", (name,)).fetchone()
    except sqlite3.OperationalError:
        return None
    return row[0] if row else None


def training_examples(connection: sqlite3.Connection, width: int) -> Iterator[TrainingExample]:
    """Yield logged queries with at least one opened hit, oldest first.

    A hit without exactly `width` finite features is left out.
    """
    rows = connection.execute(
        "SELECT question_id, features, opened_at IS NOT NULL FROM question_hits "
        "ORDER BY question_id, rank"
    )
    for _, hits in groupby(rows, key=lambda row: row[0]):
        known = [(_numbers(written, width), bool(opened)) for _, written, opened in hits]
        usable = [(row, opened) for row, opened in known if row]
        if any(opened for _, opened in usable):
            yield TrainingExample(
                tuple(row for row, _ in usable), tuple(opened for _, opened in usable)
            )


def _numbers(written: str, width: int) -> tuple[float, ...]:
    """Return the numbers of a JSON list; empty unless there are `width` finite ones."""
    try:
        row = tuple(float(number) for number in json.loads(written))
    except (ValueError, TypeError, RecursionError):
        return ()
    return row if len(row) == width and all(map(math.isfinite, row)) else ()
