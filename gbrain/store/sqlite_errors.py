"""Turn SQLite's errors about a brain file into BadBrain errors with a hint."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gbrain.errors import BadBrain


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Raise SQLite errors of the block as BadBrain, with a hint that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain_error(error, path) from error
    except UnicodeDecodeError as error:
        # SQLite quotes a corrupt schema in its message, which Python cannot decode.
        raise damaged_error(path, "its tables cannot be read") from error


def error_name(error: sqlite3.Error) -> str:
    """Return SQLite's name for an error, such as SQLITE_BUSY; empty for a Python error."""
    return getattr(error, "sqlite_errorname", "")


def read_only_error(path: Path) -> BadBrain:
    """Return the error for a brain that cannot be written."""
    return BadBrain(
        f"{path} is read-only",
        hint="Make the file and its folder writable, or copy it elsewhere.",
        code="read_only",
    )


def explain_error(error: sqlite3.Error, path: Path) -> BadBrain:
    """Return the BadBrain error for an error that SQLite raised about the brain at `path`."""
    text = str(error)
    kind = error_name(error)
    if "decode" in text and not kind:
        # SQLite's message would quote the whole text.
        return damaged_error(path, "it contains text that is not UTF-8")
    if kind.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return BadBrain(
            f"{path} is being written by another program",
            hint="Try again in a moment; the setting busy_seconds is how long gbrain waits.",
            code="locked",
        )
    if kind in ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"):
        return BadBrain(
            f"The disk of {path} is full",
            hint="No partial write was kept. Free some space and run the command again.",
            code="disk_full",
        )
    if kind.startswith("SQLITE_READONLY"):
        return read_only_error(path)
    if kind.startswith("SQLITE_CANTOPEN"):
        return BadBrain(
            f"{path} or its -wal or -shm file cannot be opened",
            hint="Check that its folder exists and that you can write to it.",
            code="cannot_open",
        )
    if kind.startswith("SQLITE_IOERR"):
        return BadBrain(
            f"The disk of {path} failed to read or write ({text})",
            hint="No partial write was kept. Check the disk, its free space and your quota.",
            code="disk_error",
        )
    signs = ("malformed", "no such", "fts5", "too big", "has no column", "cannot modify")
    if kind in ("SQLITE_CORRUPT", "SQLITE_NOTADB") or any(sign in text for sign in signs):
        return damaged_error(path, text)
    return BadBrain(f"{path}: {text}", hint="gbrain doctor checks the file.", code="sqlite")


def damaged_error(path: Path, what: str) -> BadBrain:
    """Return the error for a corrupt brain file; `what` says what is wrong."""
    return BadBrain(
        f"{path} is damaged: {what}",
        hint="gbrain doctor --repair repairs what it can; or restore a backup, or import again.",
        code="damaged",
    )
