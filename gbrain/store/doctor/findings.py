"""The values of an examination: what a check is given, and what it reports."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from zlib import error as zlib_error

from gbrain.store.connection import Database

Status = Literal["ok", "note", "problem", "repaired"]

REPAIR = "gbrain doctor --repair"
RESTORE = "Restore a backup, or export the pages and import them into a new brain."
NEW_BRAIN = (
    "gbrain restore BACKUP puts a backup back; "
    "gbrain import FOLDER --db NEW.db makes a new brain of your notes."
)

# What reading a row of a damaged file can raise, besides sqlite3.Error.
CORRUPTION_ERRORS = (
    TypeError, ValueError, LookupError, AttributeError, ArithmeticError, AssertionError,
    RecursionError, MemoryError, zlib_error,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: `count` things are affected, `details` names them, `fix` says how to.

    A note is worth knowing; a problem makes answers wrong or endangers the pages. `unreadable` is
    the kind of error that kept the check from reading the file.
    """

    status: Status
    message: str
    fix: str | None = None
    count: int = 0
    details: tuple[str, ...] = ()
    unreadable: str | None = None


# What a check found: names of things, numbers of things by kind, a number, or a whole finding.
Found = Sequence[str] | Counter[str] | int | Finding


@dataclass(frozen=True, slots=True)
class Examination:
    """An open brain file, the time that repairs record, and whether to check it in `full`.

    `page_comparison` keeps the slugs of pages that differ from their derived rows, for the checks
    that look at different kinds of those rows.
    """

    database: Database
    now: str
    full: bool
    page_comparison: dict[str, list[str]] = field(default_factory=dict)

    @property
    def connection(self) -> sqlite3.Connection:
        return self.database.connection

    @property
    def path(self) -> Path:
        return self.database.path
