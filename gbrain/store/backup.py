"""Bringing a copy back in a brain's place, and giving back the room that a brain does not need."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from gbrain.errors import BadBrain, UsageError
from gbrain.store.connection import Database, check_file, explained, locator, make_folder
from gbrain.store.copies import copy_to
from gbrain.store.placing import alone, in_use, place
from gbrain.store.schema import SCHEMA_ROWS, SCHEMA_VERSION, foreign_parts

# Pages of a keyword index that are merged in one go, so that other writers get their turn.
_MERGED_AT_ONCE = 500
# Where SQLite keeps its temporary files, in the order in which it looks.
_TEMPORARY = ("/var/tmp", "/usr/tmp", "/tmp", ".")


class Restored(NamedTuple):
    """What a restore did: how many pages are there now, and where the brain from before is."""

    pages: int
    kept: Path | None


class Compacted(NamedTuple):
    """What compacting did; sizes are in bytes. `waits` says that others must close it first."""

    bytes_before: int
    bytes_after: int
    vectors_dropped: int
    jobs_dropped: int
    waits: bool


# --- restore ---------------------------------------------------------------------------------


def restore(path: Path, source: Path, moment: str, busy_seconds: float) -> Restored:
    """Makes the brain at `path` what the file `source` holds, all of it or nothing.

    The brain that was there is kept beside it under a name with the `moment`. Raises BadBrain for
    a source that is no sound brain, and when another program has the brain open for longer than
    `busy_seconds`.
    """
    with _sound(source) as copy:
        pages: int = copy.execute("SELECT count(*) FROM pages").fetchone()[0]
        if not path.exists():
            make_folder(path.parent)
            copy_to(copy, path)
            return Restored(pages, None)
        if path.samefile(source):
            raise UsageError(f"{source} is the brain itself", hint="Name a copy of it.")
        kept = _free_name(path, moment)
        with explained(path):
            try:
                brain = alone(path, busy_seconds)
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                # What cannot even be opened cannot be written: another file takes its place.
                _replace(path, copy, kept)
            else:
                with closing(brain):
                    copy_to(brain, kept, check=False)
                    _overwrite(brain, copy, kept)
        return Restored(pages, kept)


def _overwrite(brain: sqlite3.Connection, copy: sqlite3.Connection, kept: Path) -> None:
    """Makes the brain what the copy is; where that fails, nothing was kept of what still stands."""
    try:
        copy.backup(brain)
    except sqlite3.Error:
        if brain.execute("PRAGMA quick_check").fetchall() == [("ok",)]:
            kept.unlink()
        raise


@contextmanager
def _sound(source: Path) -> Iterator[sqlite3.Connection]:
    """The file, open for reading and left as it is, if it is a brain without a fault."""
    from gbrain.store import faults

    check_file(source)
    with (
        explained(source),
        closing(sqlite3.connect(locator(source, write=False), uri=True)) as copy,
    ):
        copy.execute("PRAGMA trusted_schema = OFF")
        version = copy.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise _unsound(source, "it was written by a newer gbrain", "Upgrade gbrain.")
        foreign = foreign_parts(copy.execute(SCHEMA_ROWS))
        if foreign:
            hint = "Somebody else changed it; name another copy."
            raise _unsound(source, f"it holds a {' '.join(foreign[0])} that is not gbrain's", hint)
        if faults.parts(copy).get("pages") != "table":
            raise _unsound(source, "it holds no pages", "Name another copy.")
        damaged = faults.damage(copy, full=True)
        if damaged:
            raise _unsound(source, f"it is damaged: {damaged[0]}", "Name another copy.")
        missing = list(faults.missing_parts(copy)) if version == SCHEMA_VERSION else []
        if missing:
            hint = f"gbrain doctor --repair --db {source} mends it."
            raise _unsound(source, f"{missing[0]} is missing", hint)
        yield copy


def _unsound(source: Path, reason: str, hint: str) -> BadBrain:
    return BadBrain(f"{source} cannot be restored: {reason}", hint=hint, code="bad_backup")


def _free_name(path: Path, moment: str) -> Path:
    base = path.with_name(f"{path.name}.before-restore-{moment}")
    names = (base, *(base.with_name(f"{base.name}-{number}") for number in range(2, 1000)))
    return next(name for name in names if not name.exists())


def _replace(path: Path, copy: sqlite3.Connection, kept: Path) -> None:
    """Puts a new file in the place of one that SQLite cannot open."""
    fresh = path.with_name(f"{path.name}.restoring")
    if _locked_elsewhere(path):
        raise in_use(path)
    copy_to(copy, fresh, replace=True)
    os.chmod(path, 0o600)
    place(path, kept)
    # A log that belongs to the old file would be read into the new one.
    for ending in ("-wal", "-journal"):
        with suppress(FileNotFoundError):
            os.rename(f"{path}{ending}", f"{kept}{ending}")
    with suppress(FileNotFoundError):
        os.unlink(f"{path}-shm")
    fresh.replace(path)


def _locked_elsewhere(path: Path) -> bool:
    """Whether another process has the file open: SQLite locks these bytes by its file format."""
    try:
        import fcntl
    except ImportError:
        return False
    with path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 512, 0x40000000)
        except OSError:
            return True
    return False


# --- compact ---------------------------------------------------------------------------------


def compact(database: Database) -> Compacted:
    """Drops what belongs to nothing, merges the keyword indexes and makes the file small again.

    Others may read and write meanwhile: writers wait while the file is written anew, which itself
    waits for them no longer than the brain's `busy_seconds`.
    """
    before = _size(database.path)
    _check_room(database)
    vectors, jobs = _prune(database)
    _merge_indexes(database)
    with explained(database.path):
        database.connection.execute("VACUUM")
        busy = database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    return Compacted(before, _size(database.path), vectors, jobs, bool(busy))


def _size(path: Path) -> int:
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _check_room(database: Database) -> None:
    """Raises BadBrain where the second copy that is made for a moment would not fit."""
    with database.reading() as connection:
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
    from gbrain.store.faults import spaces
    from gbrain.store.jobs import drop_gone
    from gbrain.store.vectors import prune

    with database.writing() as connection:
        vectors = sum(prune(connection, space) for space in spaces(connection))
        changes = connection.total_changes
        drop_gone(connection)
        return vectors, connection.total_changes - changes


def _merge_indexes(database: Database) -> None:
    from gbrain.store.faults import KEYWORD_INDEXES

    for table in KEYWORD_INDEXES:
        # The first, negative, number begins a merge of the whole index; the others go on with it.
        pages, merged = -_MERGED_AT_ONCE, True
        while merged:
            with database.writing() as connection:
                before = connection.total_changes
                connection.execute(
                    f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (pages,)
                )
                # SQLite counts the command itself as one change.
                merged = connection.total_changes - before >= 2
            pages = _MERGED_AT_ONCE
