"""Results of earlier self-tests, to compare the next one with."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

# Each baseline stores its questions: some hundred kilobytes in a large brain.
_MAX_BASELINES = 5


class BaselineRow(NamedTuple):
    """One self-test; `results` is JSON, `model` is None if only the keyword lane ran."""

    id: int
    made_at: str
    model: str | None
    results: str


def save_baseline(
    connection: sqlite3.Connection, made_at: str, model: str | None, results: str
) -> None:
    """Save a baseline and delete all but the newest."""
    connection.execute(
        "INSERT INTO baselines (made_at, model, results) VALUES (?, ?, ?)",
        (made_at, model, results),
    )
    connection.execute(
        "DELETE FROM baselines WHERE id NOT IN (SELECT id FROM baselines ORDER BY id DESC LIMIT ?)",
        (_MAX_BASELINES,),
    )


def latest_baseline(connection: sqlite3.Connection) -> BaselineRow | None:
    """Return the newest baseline; None if there is none."""
    row = connection.execute(
        "SELECT id, made_at, model, results FROM baselines ORDER BY id DESC LIMIT 1"
    ).fetchone()
    return BaselineRow(*row) if row else None
