"""Questions and what they found, kept while `record_queries` is on; and the last answer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Shown(NamedTuple):
    """A page that an answer showed, with the numbers a learned reranker knows it by."""

    page_id: int
    features: Sequence[float]


class Asking(NamedTuple):
    """A recorded question; `opened` says whether one of its pages was opened afterwards."""

    text: str
    asked_at: str
    verdict: str
    hits: int
    opened: bool


class Place(NamedTuple):
    """Where a hit of the last answer stands; `line` is that of its passage, from 1."""

    rank: int
    slug: str
    line: int | None


def record(
    connection: sqlite3.Connection,
    text: str,
    now: str,
    mode: str,
    verdict: str,
    shown: Sequence[Shown],
    keep: int,
) -> None:
    """Keeps a question with its pages, best first, and of all questions the `keep` latest."""
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


def askings(connection: sqlite3.Connection) -> Iterator[Asking]:
    """Every recorded question, the latest first."""
    rows = connection.execute(
        "SELECT text, asked_at, verdict, hits, EXISTS (SELECT 1 FROM question_hits "
        "WHERE question_id = id AND opened_at IS NOT NULL) FROM questions ORDER BY id DESC"
    )
    for text, asked_at, verdict, hits, opened in rows:
        yield Asking(text, asked_at, verdict, hits, bool(opened))


def remember(connection: sqlite3.Connection, places: Sequence[Place]) -> None:
    """Keeps where the hits of this answer stand, in place of the one before."""
    connection.execute("DELETE FROM last_answer")
    connection.executemany("INSERT INTO last_answer (rank, slug, line) VALUES (?, ?, ?)", places)


def recall(connection: sqlite3.Connection, rank: int) -> Place | None:
    """The hit of the last answer with this number."""
    row = connection.execute(
        "SELECT rank, slug, line FROM last_answer WHERE rank = ?", (rank,)
    ).fetchone()
    return Place(*row) if row else None
