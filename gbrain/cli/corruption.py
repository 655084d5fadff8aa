"""Tells a damaged brain file from a bug when a command fails with an unexpected error."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from gbrain.brain import default_path
from gbrain.errors import BadBrain, GbrainError
from gbrain.store.doctor.examine import describe_corruption
from gbrain.store.doctor.findings import CORRUPTION_ERRORS
from gbrain.store.sqlite_errors import damaged_error


def find_corruption(error: Exception, arguments: Sequence[str]) -> BadBrain | None:
    """Return what is wrong with the brain that a failed command used, or None if it is sound.

    A row of a damaged or foreign file can contain anything. Looking for the cause after an error
    spares every command the checks before.
    """
    if not isinstance(error, (*CORRUPTION_ERRORS, sqlite3.Error)):
        return None
    try:
        path = _path_argument(arguments) or default_path()
        problem = describe_corruption(path)
    except BadBrain as refusal:
        return refusal
    except GbrainError:
        return None
    return damaged_error(path, problem) if problem else None


def _path_argument(arguments: Sequence[str]) -> Path | None:
    """Return the value of --db, if it is given."""
    for word, following in zip(arguments, (*arguments[1:], ""), strict=True):
        value = following if word == "--db" else word.removeprefix("--db=")
        if value and value != word:
            return Path(value).expanduser()
    return None
