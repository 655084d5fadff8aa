"""Bringing a copy back in a brain's place, and giving back the room that a brain does not need."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from gbrain.errors import BadBrain, UsageError
from gbrain.store.atomic_files import new_temporary_path, remove_temporary
from gbrain.store.brain_files import in_use_error, open_exclusive, place_brain, replace_brain
from gbrain.store.connection import (
    Database,
    check_brain_file,
    connection_uri,
    explain_errors,
    make_brain_folder,
)
from gbrain.store.schema import (
    SCHEMA_VERSION,
    SELECT_SCHEMA,
    find_foreign_objects,
    integrity_errors,
)


class RestoreResult(NamedTuple):
    """What a restore did: how many pages are there now, and where the brain from before is."""

    pages: int
    kept: Path | None


def restore_brain(path: Path, source: Path, moment: str, busy_seconds: float) -> RestoreResult:
    """Makes the brain at `path` what the file `source` holds, all of it or nothing.

    The brain that was there is kept beside it under a name with the `moment`. Raises BadBrain for
    a source that is no sound brain, and when another program has the brain open for longer than
    `busy_seconds`.
    """
    with _sound(source) as copy:
        pages: int = copy.execute("SELECT count(*) FROM pages").fetchone()[0]
        if not path.exists():
            make_brain_folder(path.parent)
            copy_brain(copy, path)
            return RestoreResult(pages, None)
        if path.samefile(source):
            raise UsageError(f"{source} is the brain itself", hint="Name a copy of it.")
        kept = _free_name(path, moment)
        with explain_errors(path):
            try:
                brain = open_exclusive(path, busy_seconds)
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                # What cannot even be opened cannot be written: another file takes its place.
                _replace(path, copy, kept)
            else:
                with closing(brain):
                    copy_brain(brain, kept, check=False)
                    _overwrite(brain, copy, kept)
        return RestoreResult(pages, kept)


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

    check_brain_file(source)
    with (
        explain_errors(source),
        closing(sqlite3.connect(connection_uri(source, write=False), uri=True)) as copy,
    ):
        copy.execute("PRAGMA trusted_schema = OFF")
        version = copy.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise _unsound(source, "it was written by a newer gbrain", "Upgrade gbrain.")
        foreign = find_foreign_objects(copy.execute(SELECT_SCHEMA))
        if foreign:
            hint = "Somebody else changed it; name another copy."
            raise _unsound(source, f"it holds a {' '.join(foreign[0])} that is not gbrain's", hint)
        if ("table", "pages") not in [row[:2] for row in copy.execute(SELECT_SCHEMA)]:
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
        raise in_use_error(path)
    copy_brain(copy, fresh, replace=True)
    os.chmod(path, 0o600)
    place_brain(path, kept)
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


# Set to any value, it lets a brain be brought up to date where there is no room for a copy.
SKIP_BACKUP_VARIABLE = "GBRAIN_MIGRATE_WITHOUT_BACKUP"


class BackupResult(NamedTuple):
    """What a backup made."""

    file: Path
    bytes: int
    pages: int


def backup_brain(
    database: Database, target: Path | None, name: str, *, replace: bool = False
) -> BackupResult:
    """Copies the brain to the file `target`; to one of that `name` in a folder or beside it."""
    file = target.expanduser() if target else database.path.with_name(name)
    if file.is_dir():
        file = file / name
    if file.exists() and file.samefile(database.path):
        raise UsageError(f"{file} is the brain itself", hint="Name another file.")
    with database.read_transaction() as connection:
        pages: int = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
        copy_brain(connection, file, replace=replace)
    return BackupResult(file, file.stat().st_size, pages)


def copy_brain(
    connection: sqlite3.Connection, target: Path, *, replace: bool = False, check: bool = True
) -> bool:
    """Copies the brain as it stands now to `target`, which appears whole or not at all.

    Raises BadBrain if a file is there, unless it may be `replace`d, or if the copy fails its
    `check`. False, and no copy, when the brain got another version in the meantime.
    """
    building = new_temporary_path(target)
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
        (replace_brain if replace else place_brain)(building, target)
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
        remove_temporary(building)
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


def backup_before_migration(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Keeps a copy of a brain of an earlier schema beside it, before it is brought up to date."""
    if os.environ.get(SKIP_BACKUP_VARIABLE):
        return
    try:
        # Not checked: what is wrong with the brain is the doctor's to say, after it was opened.
        copy_brain(
            connection,
            path.with_name(f"{path.name}.schema-{version}.backup"),
            replace=True,
            check=False,
        )
    except BadBrain as error:
        raise BadBrain(
            f"{path} has an older schema and must be copied before it changes: {error.message}",
            hint=f"Make room beside it, or set {SKIP_BACKUP_VARIABLE}=1 to go without a copy.",
            code="no_backup",
        ) from None
