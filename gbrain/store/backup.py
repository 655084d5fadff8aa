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
from gbrain.store.atomic_files import alone, in_use, place, remove, take_over, unfinished
from gbrain.store.connection import Database, check_file, explain_errors, locator, make_folder
from gbrain.store.schema import (
    KEYWORD_INDEXES,
    SCHEMA_ROWS,
    SCHEMA_VERSION,
    foreign_parts,
    integrity_errors,
)

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
        with explain_errors(path):
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
    from gbrain.store.migrations import missing_objects

    check_file(source)
    with (
        explain_errors(source),
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
        if ("table", "pages") not in [row[:2] for row in copy.execute(SCHEMA_ROWS)]:
            raise _unsound(source, "it holds no pages", "Name another copy.")
        damaged = integrity_errors(copy, full=True)
        if damaged:
            raise _unsound(source, f"it is damaged: {damaged[0]}", "Name another copy.")
        missing = list(missing_objects(copy)) if version == SCHEMA_VERSION else []
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
    with explain_errors(database.path):
        database.connection.execute("VACUUM")
        busy = database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    return Compacted(before, _size(database.path), vectors, jobs, bool(busy))


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
    from gbrain.store.jobs import drop_gone
    from gbrain.store.vectors import all_spaces, prune

    with database.write_transaction() as connection:
        vectors = sum(prune(connection, space) for space in all_spaces(connection))
        changes = connection.total_changes
        drop_gone(connection)
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


# Set to any value, it lets a brain be brought up to date where there is no room for a copy.
WITHOUT_COPY = "GBRAIN_MIGRATE_WITHOUT_BACKUP"


class BackedUp(NamedTuple):
    """What a backup made."""

    file: Path
    bytes: int
    pages: int


def backup(
    database: Database, target: Path | None, name: str, *, replace: bool = False
) -> BackedUp:
    """Copies the brain to the file `target`; to one of that `name` in a folder or beside it."""
    file = target.expanduser() if target else database.path.with_name(name)
    if file.is_dir():
        file = file / name
    if file.exists() and file.samefile(database.path):
        raise UsageError(f"{file} is the brain itself", hint="Name another file.")
    with database.read_transaction() as connection:
        pages: int = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
        copy_to(connection, file, replace=replace)
    return BackedUp(file, file.stat().st_size, pages)


def copy_to(
    connection: sqlite3.Connection, target: Path, *, replace: bool = False, check: bool = True
) -> bool:
    """Copies the brain as it stands now to `target`, which appears whole or not at all.

    Raises BadBrain if a file is there, unless it may be `replace`d, or if the copy fails its
    `check`. False, and no copy, when the brain got another version in the meantime.
    """
    building = unfinished(target)
    version = connection.execute("PRAGMA user_version").fetchone()
    try:
        os.close(os.open(building, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with (
            explain_errors(target),
            closing(sqlite3.connect(building, isolation_level=None)) as copy,
        ):
            connection.backup(copy)
            if copy.execute("PRAGMA user_version").fetchone() != version:
                return False
            if check:
                _refuse_damage(copy, target)
        _sync(building)
        (take_over if replace else place)(building, target)
        _sync(target.parent)
    except FileExistsError:
        raise BadBrain(
            f"{target} is there already",
            hint="Name another file, or replace that one with --force.",
            code="file_exists",
        ) from None
    except OSError as error:
        raise BadBrain(
            f"Cannot write {target}: {error.strerror}",
            hint="Name another place; nothing was half written.",
            code="cannot_write",
        ) from None
    finally:
        remove(building)
    return True


def _refuse_damage(copy: sqlite3.Connection, target: Path) -> None:
    found = integrity_errors(copy, full=False)
    if found:
        raise BadBrain(
            f"{target} would be damaged, as the brain itself is: {found[0]}",
            hint="gbrain doctor --repair mends what it can.",
            code="damaged",
        )


def _sync(path: Path) -> None:
    """Waits until a file or a folder's list of names is on the disk, where that can be had."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def keep_before_migration(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Keeps a copy of a brain of an earlier schema beside it, before it is brought up to date."""
    if os.environ.get(WITHOUT_COPY):
        return
    try:
        # Not checked: what is wrong with the brain is the doctor's to say, after it was opened.
        copy_to(
            connection,
            path.with_name(f"{path.name}.schema-{version}.backup"),
            replace=True,
            check=False,
        )
    except BadBrain as error:
        raise BadBrain(
            f"{path} has an older schema and must be copied before it changes: {error.message}",
            hint=f"Make room beside it, or set {WITHOUT_COPY}=1 to go without a copy.",
            code="no_backup",
        ) from None
