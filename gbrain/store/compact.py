"""Shrink a brain file: drop orphaned rows, merge the keyword indexes, vacuum."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from gbrain.errors import BadBrain
from gbrain.store.connection import (
    Database,
    explain_errors,
)
from gbrain.store.schema import (
    KEYWORD_INDEXES,
)

# Pages of a keyword index that are merged in one go, so that other writers get their turn.
_MERGED_AT_ONCE = 500


# Where SQLite keeps its temporary files, in the order in which it looks.
_TEMPORARY = ("/var/tmp", "/usr/tmp", "/tmp", ".")


class CompactResult(NamedTuple):
    """What compacting did; sizes are in bytes. `waits` says that others must close it first."""

    bytes_before: int
    bytes_after: int
    vectors_dropped: int
    jobs_dropped: int
    waits: bool


# --- restore ---------------------------------------------------------------------------------


def compact_brain(database: Database) -> CompactResult:
    """Drops what belongs to nothing, merges the keyword indexes and makes the file small again.

    Others may read and write meanwhile: writers wait while the file is written anew, which itself
    waits for them no longer than the brain's `busy_seconds`.
    """
    before = _size(database.path)
    _check_room(database)
    vectors, jobs = _prune(database)
    _merge_indexes(database)
    with explain_errors(database.path):
        database.connection.execute("VACUUM")
        busy = database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    return CompactResult(before, _size(database.path), vectors, jobs, bool(busy))


def _size(path: Path) -> int:
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _check_room(database: Database) -> None:
    """Raises BadBrain where the second copy that is made for a moment would not fit."""
    with database.read_transaction() as connection:
        pages, unused, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
    needed = (pages - unused) * size
    beside = database.path.parent
    temporary = _temporary_folder()
    same_disk = os.stat(beside).st_dev == os.stat(temporary).st_dev
    for folder, wanted in ((beside, needed * (2 if same_disk else 1)), (temporary, needed)):
        free = shutil.disk_usage(folder).free
        if free < wanted:
            raise BadBrain(
                f"Compacting needs {wanted / 1e6:,.0f} MB in {folder} for a moment; "
                f"{free / 1e6:,.0f} MB are free",
                hint="Make room; $SQLITE_TMPDIR names another folder for temporary files.",
                code="no_room",
            )


def _temporary_folder() -> str:
    named = (os.environ.get("SQLITE_TMPDIR"), os.environ.get("TMPDIR"), *_TEMPORARY)
    usable = (name for name in named if name and os.path.isdir(name) and os.access(name, os.W_OK))
    return next(usable, ".")


def _prune(database: Database) -> tuple[int, int]:
    """How many vectors and jobs went because no passage has their text any more."""
    from gbrain.store.jobs import drop_orphaned_jobs
    from gbrain.store.vectors import all_spaces, remove_orphaned_vectors

    with database.write_transaction() as connection:
        vectors = sum(
            remove_orphaned_vectors(connection, space) for space in all_spaces(connection)
        )
        changes = connection.total_changes
        drop_orphaned_jobs(connection)
        return vectors, connection.total_changes - changes


def _merge_indexes(database: Database) -> None:
    for table in KEYWORD_INDEXES:
        # The first, negative, number begins a merge of the whole index; the others go on with it.
        pages, merged = -_MERGED_AT_ONCE, True
        while merged:
            with database.write_transaction() as connection:
                before = connection.total_changes
                connection.execute(
                    f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (pages,)
                )
                # SQLite counts the command itself as one change.
                merged = connection.total_changes - before >= 2
            pages = _MERGED_AT_ONCE
