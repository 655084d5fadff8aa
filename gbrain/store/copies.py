"""Copies of a brain file, made while others write: whole, sound, and for their owner alone."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from gbrain.errors import BadBrain, UsageError
from gbrain.store.connection import Database, explained
from gbrain.store.leftovers import remove, unfinished
from gbrain.store.placing import place, take_over

# Set to any value, it lets a brain be brought up to date where there is no room for a copy.
WITHOUT_COPY = "GBRAIN_MIGRATE_WITHOUT_BACKUP"


class BackedUp(NamedTuple):
    """What a backup made."""

    file: Path
    bytes: int
    pages: int


def back_up(
    database: Database, target: Path | None, name: str, *, replace: bool = False
) -> BackedUp:
    """Copies the brain to the file `target`; to one of that `name` in a folder or beside it."""
    file = target.expanduser() if target else database.path.with_name(name)
    if file.is_dir():
        file = file / name
    if file.exists() and file.samefile(database.path):
        raise UsageError(f"{file} is the brain itself", hint="Name another file.")
    with database.reading() as connection:
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
        with explained(target), closing(sqlite3.connect(building, isolation_level=None)) as copy:
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
    from gbrain.store.faults import damage

    found = damage(copy, full=False)
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
