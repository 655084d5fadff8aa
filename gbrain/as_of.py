"""Open the brain as it was on an earlier day: a rewound copy in the cache folder."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from gbrain.brain import Brain, timestamp
from gbrain.errors import BadBrain, ModelUnavailable
from gbrain.paths import cache_folder, make_folder
from gbrain.store import as_of
from gbrain.store.atomic_files import remove_leftovers, temporary_file
from gbrain.store.brain_files import find_orphaned_logs, place_brain
from gbrain.store.vectors import active_space, has_vectors
from gbrain.types import Progress, no_progress

MAX_COPIES = 3
# Raise this when the same brain and day would give a different copy.
_COPY_FORMAT = 1


def brain_as_of(brain: Brain, day: str, progress: Progress = no_progress) -> Brain:
    """Return the brain as it was at the end of `day` (ISO, local time), open; the caller closes it.

    A copy is made once for each state of the brain and reused; settings and query aliases are those
    of today. Chunks that only existed then are embedded if the brain has vectors.
    """
    folder = cache_folder() / "as-of"
    with brain.database.read_transaction() as connection:
        path = folder / f"{_copy_name(brain, connection, day)}.db"
        if not path.exists():
            _make_copy(connection, day, path, progress)
        shared = as_of.read_shared_rows(connection)
    with suppress(OSError):
        os.utime(path)
    _prune(folder, path)
    return _open_copy(path, shared)


def _copy_name(brain: Brain, connection: sqlite3.Connection, day: str) -> str:
    """Return a file name that changes with the brain's file, its pages and the day."""
    original = brain.database.path
    status = original.stat()
    known = (_COPY_FORMAT, os.path.realpath(original), status.st_dev, status.st_ino, day)
    return sha256(repr((known, as_of.content_fingerprint(connection))).encode()).hexdigest()[:32]


def _make_copy(connection: sqlite3.Connection, day: str, path: Path, progress: Progress) -> None:
    """Build the copy under a temporary name, so that `path` is always complete."""
    try:
        make_folder(path.parent)
        with temporary_file(path.parent) as temporary:
            as_of.copy_snapshot(connection, temporary.path, progress)
            with Brain.open(temporary.path) as past:
                _rewind(past, day, progress)
            # Another process may have made the same copy and have it open: keep that one.
            with suppress(FileExistsError):
                place_brain(temporary, path)
    except OSError as error:
        raise BadBrain(
            f"Cannot write a copy of the brain to {path.parent}: {error.strerror}",
            hint="Set $XDG_CACHE_HOME to a folder that you can write to.",
            code="cannot_create",
        ) from None


def _rewind(past: Brain, day: str, progress: Progress) -> None:
    """Rewind a copy to the end of `day`, and embed the chunks that have no vector."""
    as_of.skip_sync(past.database.connection)
    with past.database.write_transaction() as connection:
        as_of.drop_embedding_jobs(connection)
        changes = as_of.find_rollbacks(connection, day, _end_of_day(day))
        as_of.apply_rollbacks(connection, changes, day, timestamp(), progress)
        space = active_space(connection)
        embedded = space is not None and has_vectors(connection, space)
    if embedded:
        # Without the model the copy still answers, by keywords and with the vectors it has.
        with suppress(ModelUnavailable):
            past.embed(progress=progress)


def _end_of_day(day: str) -> str:
    """Return the first moment after a day of local time, in the format of stored times."""
    last = date.fromisoformat(day)
    if last.year >= date.max.year:
        return "9999-12-31T23:59:59.999Z"
    midnight = datetime.combine(last + timedelta(days=1), datetime.min.time())
    try:
        moment = midnight.astimezone(UTC)
    except (OverflowError, OSError, ValueError):
        moment = midnight.replace(tzinfo=UTC)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _open_copy(path: Path, shared: as_of.SharedRows) -> Brain:
    """Return the copy, open, with the settings and aliases of the brain of today."""
    past = Brain.open(path)
    with past.database.read_transaction() as connection:
        old = as_of.read_shared_rows(connection)
    if old == shared:
        return past
    with past.database.write_transaction() as connection:
        as_of.write_shared_rows(connection, shared)
    past.close()
    return Brain.open(path)


def _prune(folder: Path, current: Path) -> None:
    """Remove all but the copies used last, and what interrupted runs left."""
    remove_leftovers(folder)
    with suppress(OSError):
        copies = sorted(folder.glob("*.db"), key=_used_at, reverse=True)
        stale = [copy for copy in copies[MAX_COPIES:] if copy != current]
        stale += [log for copy in copies for log in find_orphaned_logs(copy)]
        for file in stale:
            for each in (file, Path(f"{file}-wal"), Path(f"{file}-shm")):
                with suppress(OSError):
                    each.unlink(missing_ok=True)


def _used_at(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
