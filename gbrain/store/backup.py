"""Copy a brain to a backup file, and restore a brain from one."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gbrain.errors import BadBrain, UsageError
from gbrain.store.atomic_files import new_temporary_path, remove_temporary
from gbrain.store.brain_files import (
    check_brain_file,
    connection_uri,
    in_use_error,
    make_brain_folder,
    open_exclusive,
    place_brain,
    replace_brain,
)
from gbrain.store.schema import (
    SCHEMA_VERSION,
    SELECT_SCHEMA,
    find_foreign_objects,
    integrity_errors,
)
from gbrain.store.sqlite_errors import explain_errors

if TYPE_CHECKING:
    from gbrain.store.connection import Database


# If this environment variable is set, an older brain is upgraded without a backup.
SKIP_BACKUP_VARIABLE = "GBRAIN_MIGRATE_WITHOUT_BACKUP"


class BackupResult(NamedTuple):
    """Result of a backup: the file, its size in bytes, and its number of pages."""

    file: Path
    bytes: int
    pages: int


class RestoreResult(NamedTuple):
    """Result of a restore: number of pages, and the path of the previous brain, if any."""

    pages: int
    kept: Path | None


def backup_brain(
    database: Database, target: Path | None, name: str, *, replace: bool = False
) -> BackupResult:
    """Copy the brain to `target`; if that is a folder or None, to a file called `name`."""
    file = target.expanduser() if target else database.path.with_name(name)
    if file.is_dir():
        file = file / name
    if file.exists() and file.samefile(database.path):
        raise UsageError(f"{file} is the brain itself", hint="Choose another file name.")
    with database.read_transaction() as connection:
        pages: int = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
        copy_brain(connection, file, replace=replace)
    return BackupResult(file, file.stat().st_size, pages)


def backup_before_migration(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Copy a brain to `NAME.schema-VERSION.backup` next to it, before its schema is upgraded."""
    if os.environ.get(SKIP_BACKUP_VARIABLE):
        return
    try:
        # Not checked: doctor reports corruption once the brain is open.
        copy_brain(
            connection,
            path.with_name(f"{path.name}.schema-{version}.backup"),
            replace=True,
            check=False,
        )
    except BadBrain as error:
        raise BadBrain(
            f"{path} must be backed up before its upgrade: {error.message}",
            hint=f"Free some disk space, or set {SKIP_BACKUP_VARIABLE}=1 to skip the backup.",
            code="no_backup",
        ) from None


def copy_brain(
    connection: sqlite3.Connection, target: Path, *, replace: bool = False, check: bool = True
) -> bool:
    """Copy the brain to `target`, which appears complete or not at all.

    Raises BadBrain if the target exists (unless `replace`), or if the copy fails its integrity
    `check`. Returns False, without a copy, if another program upgraded the schema meanwhile.
    """
    temporary = new_temporary_path(target)
    version = connection.execute("PRAGMA user_version").fetchone()
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with (
            explain_errors(target),
            closing(sqlite3.connect(temporary, isolation_level=None)) as copy,
        ):
            connection.backup(copy)
            if copy.execute("PRAGMA user_version").fetchone() != version:
                return False
            if check:
                _check_integrity(copy, target)
        _flush(temporary)
        (replace_brain if replace else place_brain)(temporary, target)
        _flush(target.parent)
    except FileExistsError:
        raise BadBrain(
            f"{target} already exists",
            hint="Choose another file name, or replace the file with --force.",
            code="file_exists",
        ) from None
    except OSError as error:
        raise BadBrain(
            f"Cannot write {target}: {error.strerror}",
            hint="Choose another path. No partial file was left.",
            code="cannot_write",
        ) from None
    finally:
        remove_temporary(temporary)
    return True


def restore_brain(path: Path, source: Path, moment: str, busy_seconds: float) -> RestoreResult:
    """Replace the brain at `path` with the backup `source`, completely or not at all.

    The previous brain is kept next to it as `NAME.before-restore-MOMENT`. Raises BadBrain if the
    source is not an intact brain, or if another program keeps the brain open for `busy_seconds`.
    """
    with _open_intact(source) as copy:
        pages: int = copy.execute("SELECT count(*) FROM pages").fetchone()[0]
        if not path.exists():
            make_brain_folder(path.parent)
            copy_brain(copy, path)
            return RestoreResult(pages, None)
        if path.samefile(source):
            raise UsageError(f"{source} is the brain itself", hint="Choose a backup of it.")
        kept = _unused_name(path, moment)
        with explain_errors(path):
            try:
                brain = open_exclusive(path, busy_seconds)
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                # SQLite cannot open the file, so it cannot write into it: replace the file.
                _replace_unreadable(path, copy, kept)
            else:
                with closing(brain):
                    copy_brain(brain, kept, check=False)
                    _overwrite_brain(brain, copy, kept)
        return RestoreResult(pages, kept)


def _check_integrity(copy: sqlite3.Connection, target: Path) -> None:
    """Raise BadBrain if SQLite's quick check finds corruption in the copy."""
    found = integrity_errors(copy, full=False)
    if found:
        raise BadBrain(
            f"The brain is damaged, so its copy {target} would be, too: {found[0]}",
            hint="gbrain doctor --repair repairs what it can.",
            code="damaged",
        )


def _flush(path: Path) -> None:
    """Flush a file, or a folder's entries, to the disk; ignore file systems that cannot."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _open_intact(source: Path) -> Iterator[sqlite3.Connection]:
    """Yield a read-only connection to the backup; raise BadBrain if it is not an intact brain."""
    from gbrain.store.migrations import missing_objects

    check_brain_file(source)
    with (
        explain_errors(source),
        closing(sqlite3.connect(connection_uri(source, write=False), uri=True)) as copy,
    ):
        copy.execute("PRAGMA trusted_schema = OFF")
        version = copy.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise _bad_backup(source, "it was written by a newer gbrain", "Upgrade gbrain.")
        foreign = find_foreign_objects(copy.execute(SELECT_SCHEMA))
        if foreign:
            hint = "Another program changed it; choose another backup."
            raise _bad_backup(
                source, f"it contains a {' '.join(foreign[0])} that gbrain did not create", hint
            )
        if ("table", "pages") not in [row[:2] for row in copy.execute(SELECT_SCHEMA)]:
            raise _bad_backup(source, "it has no pages table", "Choose another backup.")
        damaged = integrity_errors(copy, full=True)
        if damaged:
            raise _bad_backup(source, f"it is damaged: {damaged[0]}", "Choose another backup.")
        missing = list(missing_objects(copy)) if version == SCHEMA_VERSION else []
        if missing:
            hint = f"gbrain doctor --repair --db {source} repairs it."
            raise _bad_backup(source, f"{missing[0]} is missing", hint)
        yield copy


def _bad_backup(source: Path, reason: str, hint: str) -> BadBrain:
    return BadBrain(f"{source} cannot be restored: {reason}", hint=hint, code="bad_backup")


def _unused_name(path: Path, moment: str) -> Path:
    """Return an unused name for the previous brain."""
    base = path.with_name(f"{path.name}.before-restore-{moment}")
    names = (base, *(base.with_name(f"{base.name}-{number}") for number in range(2, 1000)))
    return next(name for name in names if not name.exists())


def _overwrite_brain(brain: sqlite3.Connection, copy: sqlite3.Connection, kept: Path) -> None:
    """Copy the backup into the brain; if that fails and the brain is intact, delete `kept`."""
    try:
        copy.backup(brain)
    except sqlite3.Error:
        if brain.execute("PRAGMA quick_check").fetchall() == [("ok",)]:
            kept.unlink()
        raise


def _replace_unreadable(path: Path, copy: sqlite3.Connection, kept: Path) -> None:
    """Replace a file that SQLite cannot open with a copy of the backup."""
    restored = path.with_name(f"{path.name}.restoring")
    if _is_locked_elsewhere(path):
        raise in_use_error(path)
    copy_brain(copy, restored, replace=True)
    os.chmod(path, 0o600)
    place_brain(path, kept)
    # SQLite would apply a log of the old file to the new one.
    for ending in ("-wal", "-journal"):
        with suppress(FileNotFoundError):
            os.rename(f"{path}{ending}", f"{kept}{ending}")
    with suppress(FileNotFoundError):
        os.unlink(f"{path}-shm")
    restored.replace(path)


def _is_locked_elsewhere(path: Path) -> bool:
    """Return whether another process holds SQLite's lock bytes (fixed by its file format)."""
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
