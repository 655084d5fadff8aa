"""Weights of the learned reranker, and the logged queries that it is trained on."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

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
