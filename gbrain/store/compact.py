"""Shrink a brain file: drop orphaned rows, merge the keyword indexes, vacuum."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from gbrain.errors import BadBrain
from gbrain.store.connection import Database
from gbrain.store.schema import KEYWORD_INDEXES
from gbrain.store.sqlite_errors import explain_errors

# Index pages merged per transaction, so that other writers do not wait long.
_MERGE_PAGES = 500
# Folders that SQLite tries for its temporary files, in this order.
_TEMPORARY_FOLDERS = ("/var/tmp", "/usr/tmp", "/tmp", ".")


class CompactResult(NamedTuple):
    """Result of compacting, sizes in bytes.

    `waits` says that the file shrinks only after other programs have closed it.
    """

    bytes_before: int
    bytes_after: int
    vectors_dropped: int
    jobs_dropped: int
    waits: bool


def compact_brain(database: Database) -> CompactResult:
    """Drop orphaned vectors and jobs, merge the keyword indexes and vacuum the file.

    Other programs can read meanwhile; writers wait during the vacuum. The vacuum itself waits up to
    `busy_seconds` for them.
    """
    before = _size(database.path)
    _check_disk_space(database)
    vectors, jobs = _drop_orphans(database)
    _merge_indexes(database)
    with explain_errors(database.path):
        database.connection.execute("VACUUM")
        busy = database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    return CompactResult(before, _size(database.path), vectors, jobs, bool(busy))


def _size(path: Path) -> int:
    """Return the bytes of the file and its write-ahead log."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _check_disk_space(database: Database) -> None:
    """Raise BadBrain if the disk has no room for the temporary copy that VACUUM makes."""
    with database.read_transaction() as connection:
        pages, unused, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
    needed = (pages - unused) * size
    brain_folder = database.path.parent
    temporary = _temporary_folder()
    same_disk = os.stat(brain_folder).st_dev == os.stat(temporary).st_dev
    for folder, wanted in ((brain_folder, needed * (2 if same_disk else 1)), (temporary, needed)):
        free = shutil.disk_usage(folder).free
        if free < wanted:
            raise BadBrain(
                f"Compacting temporarily needs {wanted / 1e6:,.0f} MB in {folder}; "
                f"{free / 1e6:,.0f} MB are free",
                hint="Free some space, or set $SQLITE_TMPDIR to another temporary folder.",
                code="no_room",
            )


def _temporary_folder() -> str:
    """Return the folder in which SQLite creates its temporary files."""
    named = (os.environ.get("SQLITE_TMPDIR"), os.environ.get("TMPDIR"), *_TEMPORARY_FOLDERS)
    usable = (name for name in named if name and os.path.isdir(name) and os.access(name, os.W_OK))
    return next(usable, ".")


def _drop_orphans(database: Database) -> tuple[int, int]:
    """Drop vectors and jobs whose chunk text is on no page; return how many of each."""
    from gbrain.store.chunk_slots import rebuild_chunk_slots
    from gbrain.store.jobs import drop_orphaned_jobs
    from gbrain.store.vector_bits import rebuild_bits
    from gbrain.store.vectors import all_spaces, remove_orphaned_vectors

    with database.write_transaction() as connection:
        vectors = sum(
            remove_orphaned_vectors(connection, space) for space in all_spaces(connection)
        )
        # The texts may be others than when their mean was taken.
        for space in all_spaces(connection):
            rebuild_bits(connection, space)
            rebuild_chunk_slots(connection, space)
        changes = connection.total_changes
        drop_orphaned_jobs(connection)
        return vectors, connection.total_changes - changes


def _merge_indexes(database: Database) -> None:
    """Merge the segments of each keyword index."""
    for table in KEYWORD_INDEXES:
        # A negative number starts a merge of the whole index, positive ones continue it.
        pages, merged = -_MERGE_PAGES, True
        while merged:
            with database.write_transaction() as connection:
                before = connection.total_changes
                connection.execute(
                    f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (pages,)
                )
                # SQLite counts the command itself as one change.
                merged = connection.total_changes - before >= 2
            pages = _MERGE_PAGES
