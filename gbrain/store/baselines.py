"""How the brain once answered its own questions, kept to compare with."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

# The last few: each holds its questions, some hundred kilobytes in a large brain.
_KEPT = 5


class BaselineRow(NamedTuple):
    """One run of the self-test; `results` is JSON, `model` None when only keywords answered."""

    id: int
    made_at: str
    model: str | None
    results: str


def save_baseline(
    connection: sqlite3.Connection, made_at: str, model: str | None, results: str
) -> None:
    """Makes this the baseline; the oldest ones go."""
    connection.execute(
        "INSERT INTO baselines (made_at, model, results) VALUES (?, ?, ?)",
        (made_at, model, results),
    )
    connection.execute(
        "DELETE FROM baselines WHERE id NOT IN (SELECT id FROM baselines ORDER BY id DESC LIMIT ?)",
        (_KEPT,),
    )


def latest_baseline(connection: sqlite3.Connection) -> BaselineRow | None:
    row = connection.execute(
        "SELECT id, made_at, model, results FROM baselines ORDER BY id DESC LIMIT 1"
    ).fetchone()
    return BaselineRow(*row) if row else None
