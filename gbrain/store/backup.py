"""Copy a brain to a backup file, and restore a brain from one."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gbrain.errors import BadBrain, NotFound, UsageError
from gbrain.paths import resolve_brain
from gbrain.store.atomic_files import (
    TemporaryFile,
    flush_folder,
    refuse_part_of_brain,
    remove_leftovers,
    temporary_file,
)
from gbrain.store.brain_files import (
    changed_error,
    check_brain_file,
    file_stamp,
    in_use_error,
    make_brain_folder,
    open_exclusive,
    place_brain,
    reading_uri,
    refuse_hard_links,
    replace_brain,
    writing_uri,
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
    """Result of a restore: number of pages, and the path of the previous brain, if any.

    An `older` brain has to be marked as restored once it is upgraded.
    """

    pages: int
    kept: Path | None
    older: bool


def backup_brain(
    database: Database, target: Path | None, name: str, *, replace: bool = False
) -> BackupResult:
    """Copy the brain to `target`; if that is a folder or None, to a file called `name`."""
    file = resolve_brain(target) if target else database.path.with_name(name)
    if file.is_dir():
        file = resolve_brain(file / name)
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
            version=version,
        )
    except BadBrain as error:
        raise BadBrain(
            f"{path} must be backed up before its upgrade: {error.message}",
            hint=f"Free some disk space, or set {SKIP_BACKUP_VARIABLE}=1 to skip the backup.",
            code="no_backup",
        ) from None


def copy_brain(
    connection: sqlite3.Connection,
    target: Path,
    *,
    replace: bool = False,
    check: bool = True,
    version: int | None = None,
) -> bool:
    """Copy the brain to `target`, which appears complete or not at all.

    Raises BadBrain if the target exists (unless `replace`), or if the copy fails its integrity
    `check`. Returns False, without a copy, if another program upgraded the schema meanwhile, or if
    it is not `version`.
    """
    refuse_part_of_brain(target)
    remove_leftovers(target.parent)
    if version is None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    try:
        with temporary_file(target.parent) as temporary:
            with (
                explain_errors(target),
                closing(sqlite3.connect(temporary.path, isolation_level=None)) as copy,
            ):
                connection.backup(copy)
                if copy.execute("PRAGMA user_version").fetchone()[0] != version:
                    return False
                if check:
                    _check_integrity(copy, target)
            with suppress(OSError):
                os.fsync(temporary.handle)
            (replace_brain if replace else place_brain)(temporary, target)
        flush_folder(target.parent)
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
    return True


def restore_brain(path: Path, source: Path, moment: str, busy_seconds: float) -> RestoreResult:
    """Replace the brain at `path` with the backup `source`, completely or not at all.

    The previous brain is kept next to it as `NAME.before-restore-MOMENT`. Raises BadBrain if the
    source is not an intact brain, or if another program keeps the brain open for `busy_seconds`.
    """
    path, source = resolve_brain(path), resolve_brain(source)
    refuse_part_of_brain(path)
    if not source.exists():
        raise NotFound(
            f"There is no file {source}", hint="Name a backup that gbrain backup made.",
            code="no_brain",
        )  # fmt: skip
    try:
        check_brain_file(source)
    except BadBrain as error:
        if error.code != "not_a_brain":
            raise
        raise BadBrain(
            f"{source} is not a backup",
            hint="Your brain was not changed. Name a file that gbrain backup made.",
            code=error.code,
        ) from None
    if path.exists() and path.samefile(source):
        raise UsageError(f"{source} is the brain itself", hint="Choose a backup of it.")
    make_brain_folder(path.parent)
    refuse_hard_links(path)
    with _copy_intact(source, path.parent) as (copy, temporary):
        older = copy.execute("PRAGMA user_version").fetchone()[0] < SCHEMA_VERSION
        if not older:
            mark_restored(copy)
        pages: int = copy.execute("SELECT count(*) FROM pages").fetchone()[0]
        if not path.exists():
            copy.close()
            _place_copy(temporary, path)
            return RestoreResult(pages, None, older)
        kept = _unused_name(path, moment)
        with explain_errors(path):
            try:
                brain = open_exclusive(path, busy_seconds)
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                # SQLite cannot open the file, so it cannot write into it: replace the file.
                copy.close()
                _replace_unreadable(path, temporary, kept)
            else:
                with closing(brain):
                    copy_brain(brain, kept, check=False)
                    _overwrite_brain(brain, copy, kept)
        return RestoreResult(pages, kept, older)


def mark_restored(connection: sqlite3.Connection) -> None:
    """Let pages of a restored brain stay that were deleted after the backup, here or elsewhere.

    Files that are missing are written again, and what another machine deleted is a conflict. A
    removal that waited in the backup may be done by now: without a stamp it could take a new file.
    """
    connection.execute("DELETE FROM page_files")
    connection.execute("DELETE FROM file_removals WHERE stamp IS NULL")
    connection.execute("INSERT OR IGNORE INTO restored_remotes SELECT id FROM remotes")


def _check_integrity(copy: sqlite3.Connection, target: Path) -> None:
    """Raise BadBrain if SQLite's quick check finds corruption in the copy."""
    found = integrity_errors(copy, full=False)
    if found:
        raise BadBrain(
            f"The brain is damaged and was not copied to {target}: {found[0]}",
            hint="gbrain doctor --repair repairs what it can.",
            code="damaged",
        )


@contextmanager
def _copy_intact(source: Path, folder: Path) -> Iterator[tuple[sqlite3.Connection, TemporaryFile]]:
    """Yield a copy of a backup, in a temporary file in `folder`, and a connection to it.

    Raises BadBrain if the copy is not an intact brain. The copy is checked, not the source, which
    another program may be writing.
    """
    remove_leftovers(folder)
    try:
        with (
            temporary_file(folder) as temporary,
            closing(sqlite3.connect(temporary.path, isolation_level=None)) as copy,
        ):
            _read_backup(source, copy)
            with explain_errors(source):
                copy.execute("PRAGMA trusted_schema = OFF")
                _require_intact(copy, source)
            with suppress(OSError):
                os.fsync(temporary.handle)
            yield copy, temporary
    except OSError as error:
        raise BadBrain(
            f"Cannot write into {folder}: {error.strerror}",
            hint="Free disk space, or restore to another path with --db.",
            code="cannot_write",
        ) from None


def _read_backup(source: Path, copy: sqlite3.Connection) -> None:
    """Copy a backup through SQLite, under its locks where another program may be writing it."""
    if os.access(source, os.W_OK) and os.access(source.parent, os.W_OK):
        # Read-only in effect; SQLite may create a log for the locks, and removes it again.
        uri, stamp = writing_uri(source), None
    else:
        uri, stamp = reading_uri(source)
    with explain_errors(source), closing(sqlite3.connect(uri, uri=True)) as connection:
        connection.execute("PRAGMA query_only = ON")
        connection.backup(copy)
    if stamp is not None and stamp != file_stamp(source):
        raise changed_error(source)


def _require_intact(copy: sqlite3.Connection, source: Path) -> None:
    """Raise BadBrain if the copy of `source` is not an intact brain of gbrain."""
    from gbrain.store.migrations import missing_objects

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


def _bad_backup(source: Path, reason: str, hint: str) -> BadBrain:
    return BadBrain(f"{source} cannot be restored: {reason}", hint=hint, code="bad_backup")


def _unused_name(path: Path, moment: str) -> Path:
    """Return an unused name for the previous brain."""
    base = path.with_name(f"{path.name}.before-restore-{moment}")
    endings = chain([""], (f"-{number}" for number in count(2)))
    names = (base.with_name(f"{base.name}{ending}") for ending in endings)
    return next(name for name in names if not os.path.lexists(name))


def _overwrite_brain(brain: sqlite3.Connection, copy: sqlite3.Connection, kept: Path) -> None:
    """Copy the backup into the brain; if that fails and the brain is intact, delete `kept`."""
    try:
        copy.backup(brain)
    except sqlite3.Error:
        if brain.execute("PRAGMA quick_check").fetchall() == [("ok",)]:
            kept.unlink()
        raise


def _place_copy(temporary: TemporaryFile, path: Path) -> None:
    """Give the checked copy the brain's name, unless a brain appeared there meanwhile."""
    try:
        place_brain(temporary, path)
    except FileExistsError:
        raise in_use_error(path) from None
    flush_folder(path.parent)


def _replace_unreadable(path: Path, temporary: TemporaryFile, kept: Path) -> None:
    """Replace a file that SQLite cannot open with the copy of the backup."""
    if _is_locked_elsewhere(path):
        raise in_use_error(path)
    os.chmod(path, 0o600)
    try:
        os.link(path, kept)
    except OSError:
        # The file system has no hard links.
        os.rename(path, kept)
    # SQLite would apply a log of the old file to the new one.
    for ending in ("-wal", "-journal"):
        with suppress(FileNotFoundError):
            os.rename(f"{path}{ending}", f"{kept}{ending}")
    with suppress(FileNotFoundError):
        os.unlink(f"{path}-shm")
    temporary.replace(path)
    flush_folder(path.parent)


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
