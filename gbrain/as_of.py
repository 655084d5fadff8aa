"""The brain as it stood on an earlier day: a copy in the cache folder, put back to that day."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from gbrain.brain import Brain, timestamp
from gbrain.errors import BadBrain, ModelUnavailable
from gbrain.paths import cache_folder, make_folder
from gbrain.store import as_of
from gbrain.store.sqlite_errors import explain_errors
from gbrain.store.vectors import active_space, has_vectors
from gbrain.types import Progress, no_progress

KEPT = 3
# To be raised when the same brain and day would give another copy.
_MAKING = 1
_ABANDONED_SECONDS = 24 * 3600.0
_SHARED_TABLES = ("config", "query_aliases")


def brain_as_of(brain: Brain, day: str, progress: Progress = no_progress) -> Brain:
    """The brain as it stood at the end of `day` (ISO, local time), open; the caller closes it.

    The copy is made once for each state of the brain and used again; settings and query aliases
    are those of now. Passages that only stood then are embedded if the brain has vectors.
    """
    folder = cache_folder() / "as-of"
    with brain.database.read_transaction() as connection:
        place = folder / f"{_name(brain, connection, day)}.db"
        if not place.exists():
            _make(brain, connection, day, place, progress)
        shared = {name: _rows(connection, name) for name in _SHARED_TABLES}
    with suppress(OSError):
        os.utime(place)
    _prune(folder, place)
    return _open(place, shared)


def _name(brain: Brain, connection: sqlite3.Connection, day: str) -> str:
    path = brain.database.path
    status = path.stat()
    known = (_MAKING, os.path.realpath(path), status.st_dev, status.st_ino, day)
    return sha256(repr((known, as_of.content_fingerprint(connection))).encode()).hexdigest()[:32]


def _make(
    brain: Brain, connection: sqlite3.Connection, day: str, place: Path, progress: Progress
) -> None:
    """Builds the copy beside its place: a file under the final name is always whole."""
    building = place.with_suffix(f".{os.getpid()}.new")
    try:
        make_folder(place.parent)
        building.unlink(missing_ok=True)
        os.close(os.open(building, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with explain_errors(building):
            target = sqlite3.connect(building, isolation_level=None)
            try:
                as_of.copy_brain(connection, target, progress)
            finally:
                target.close()
        with Brain.open(building) as past:
            _put_back(past, day, progress)
        building.replace(place)
    except OSError as error:
        raise BadBrain(
            f"Cannot keep a copy of the brain in {place.parent}: {error.strerror}",
            hint="$XDG_CACHE_HOME names another folder for such copies.",
            code="cannot_create",
        ) from None
    finally:
        for left in (building, Path(f"{building}-wal"), Path(f"{building}-shm")):
            with suppress(OSError):
                left.unlink(missing_ok=True)


def _put_back(past: Brain, day: str, progress: Progress) -> None:
    past.database.connection.execute("PRAGMA synchronous = OFF")
    with past.database.write_transaction() as connection:
        # What waits to be embedded now is not what is missing then.
        connection.execute("DELETE FROM embedding_jobs")
        changes = as_of.find_rollbacks(connection, day, _end_of(day))
        as_of.apply_rollbacks(connection, changes, day, timestamp(), progress)
        space = active_space(connection)
        embedded = space is not None and has_vectors(connection, space)
    if embedded:
        # Without its model the copy still answers, by words and by the vectors it has.
        with suppress(ModelUnavailable):
            past.embed(progress=progress)


def _end_of(day: str) -> str:
    """The first moment after a day of local time, as the brain writes times."""
    last = date.fromisoformat(day)
    if last.year >= date.max.year:
        return "9999-12-31T23:59:59.999Z"
    midnight = datetime.combine(last + timedelta(days=1), datetime.min.time())
    try:
        moment = midnight.astimezone(UTC)
    except (OverflowError, OSError, ValueError):
        moment = midnight.replace(tzinfo=UTC)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _rows(connection: sqlite3.Connection, table: str) -> list[tuple[str, str]]:
    return connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()


def _open(place: Path, shared: dict[str, list[tuple[str, str]]]) -> Brain:
    """The copy, open, with the settings and aliases of the brain as they are now."""
    past = Brain.open(place)
    with past.database.read_transaction() as connection:
        old = {name: _rows(connection, name) for name in shared}
    if old == shared:
        return past
    with past.database.write_transaction() as connection:
        for name, rows in shared.items():
            connection.execute(f"DELETE FROM {name}")
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
    past.close()
    return Brain.open(place)


def _prune(folder: Path, current: Path) -> None:
    """Removes all but the copies used last, and what an interrupted run left."""
    with suppress(OSError):
        copies = sorted(folder.glob("*.db"), key=_used_at, reverse=True)
        stale = [copy for copy in copies[KEPT:] if copy != current]
        abandoned = time.time() - _ABANDONED_SECONDS
        stale += [left for left in folder.glob("*.new*") if _used_at(left) < abandoned]
        for file in stale:
            for each in (file, Path(f"{file}-wal"), Path(f"{file}-shm")):
                with suppress(OSError):
                    each.unlink(missing_ok=True)


def _used_at(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
