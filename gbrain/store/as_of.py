"""Roll a copy of a brain back to the end of a day: find what changed since, and undo it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from gbrain.errors import BadPage
from gbrain.store import page_writer, pages
from gbrain.store.chunk_slots import rebuild_chunk_slots
from gbrain.store.history import decompress_version
from gbrain.store.schema import KEYWORD_INDEXES
from gbrain.store.sqlite_errors import explain_errors
from gbrain.store.vectors import all_spaces
from gbrain.text.dates import parse_date
from gbrain.text.page import DATE_KEYS, parse_page
from gbrain.text.slug import slug_from_path
from gbrain.text.timeline import drop_later_entries
from gbrain.types import Page, Progress

_SQLITE_PAGES_PER_STEP = 4096
_SHARED_TABLES = ("config", "query_aliases")
# Removing a page from the keyword indexes takes as long as writing about five into new ones.
_REMOVAL_COST = 5


class RollbackState(NamedTuple):
    """One state of a page: an earlier version, or the page as it is now if `current`."""

    page_id: int
    version: int
    path: str
    written_at: str
    created_at: str
    current: bool


class PageRollback(NamedTuple):
    """A change to one page: `now` is its slug in the copy, `then` the state it must get.

    Without `now` the page is created, without `then` it is deleted.
    """

    now: str | None
    then: RollbackState | None


class _KnownPage(NamedTuple):
    """A page, or a deleted one (`slug` and `updated_at` are None); `days` are dates in its text."""

    page_id: int
    slug: str | None
    updated_at: str | None
    days: tuple[str, ...]
    has_versions: bool


def content_fingerprint(connection: sqlite3.Connection) -> str:
    """Return a text that changes with every page, version or vector; settings do not count.

    All rows count: after a restore, the numbers of a brain may become the same again.
    """
    digest = sha256()
    for select in (
        "SELECT id, version, path, sha256, created_at, updated_at FROM pages ORDER BY id",
        "SELECT page_id, version, path, sha256, written_at, ended_at FROM versions "
        "ORDER BY page_id, version",
        "SELECT identity, id, dimension FROM embedding_models WHERE active",
    ):
        for row in connection.execute(select):
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
    model = connection.execute("SELECT id, dimension FROM embedding_models WHERE active").fetchone()
    last = None
    if model:
        last = connection.execute(
            f"SELECT max(slot), count(*) FROM page_embeddings_vec_{int(model[1])} "
            "WHERE model_id = ?",
            (model[0],),
        ).fetchone()
    return f"{digest.hexdigest()} {last}"


def copy_snapshot(source: sqlite3.Connection, target: Path, progress: Progress) -> None:
    """Copy a whole brain to the file `target`, without writes since the transaction began."""
    with explain_errors(target), closing(sqlite3.connect(target, isolation_level=None)) as copy:
        source.backup(
            copy,
            pages=_SQLITE_PAGES_PER_STEP,
            progress=lambda status, left, total: progress(total - left, total),
        )


SharedRows = dict[str, list[tuple[str, str]]]


def read_shared_rows(connection: sqlite3.Connection) -> SharedRows:
    """Return the settings and query aliases, which a copy shares with the brain of today."""
    return {
        table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
        for table in _SHARED_TABLES
    }


def write_shared_rows(connection: sqlite3.Connection, rows: SharedRows) -> None:
    """Replace the settings and query aliases of a copy."""
    for table in _SHARED_TABLES:
        connection.execute(f"DELETE FROM {table}")
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows[table])


def skip_sync(connection: sqlite3.Connection) -> None:
    """Do not wait for the disk while a copy is made: a copy that a crash breaks is made again."""
    connection.execute("PRAGMA synchronous = OFF")


def drop_embedding_jobs(connection: sqlite3.Connection) -> None:
    """Empty the embedding queue of a copy: its jobs are for the pages of today.

    A switch to another model is for the brain of today too.
    """
    connection.execute("DELETE FROM embedding_jobs")
    connection.execute("DELETE FROM learned WHERE name = 'next model'")


def find_rollbacks(connection: sqlite3.Connection, day: str, moment: str) -> Iterator[PageRollback]:
    """Yield the changes that roll the brain back to the end of `day`, just before `moment`.

    A page gets its last state before `moment`, an ISO 8601 time in UTC. A page that was imported
    later, but has a date up to that day, is older than the brain: it gets its earliest state.
    """
    has_later_entries = _pages_with_later_entries(connection, day)
    taken: set[str] = set()
    older_than_brain: list[_KnownPage] = []
    for page in _all_known_pages(connection):
        if page.slug is not None and page.updated_at is not None and page.updated_at < moment:
            taken.add(page.slug)
            if page.page_id in has_later_entries:
                yield PageRollback(page.slug, _current_state(connection, page.page_id))
        elif not page.has_versions:
            older_than_brain.append(page)
        elif (state := _state_before(connection, page.page_id, moment)) is not None:
            taken.add(slug_from_path(state.path))
            yield PageRollback(page.slug, state)
        elif _first_written_at(connection, page.page_id) >= moment:
            older_than_brain.append(page)
        elif page.slug is not None:
            yield PageRollback(page.slug, None)
    for page in older_than_brain:
        earliest = _earliest_state(connection, page.page_id)
        first_slug = slug_from_path(earliest.path)
        days = page.days if earliest.current else _days_in_state(connection, earliest)
        if first_slug not in taken and any(first <= day for first in days):
            taken.add(first_slug)
            if not earliest.current or page.page_id in has_later_entries:
                yield PageRollback(page.slug, earliest)
        elif page.slug is not None:
            yield PageRollback(page.slug, None)


def _pages_with_later_entries(connection: sqlite3.Connection, day: str) -> set[int]:
    rows = connection.execute("SELECT DISTINCT page_id FROM chunks WHERE first_day > ?", (day,))
    return {row[0] for row in rows}


def _all_known_pages(connection: sqlite3.Connection) -> Iterator[_KnownPage]:
    """Yield all pages, then the deleted ones."""
    first_days = dict(
        connection.execute(
            "SELECT page_id, min(first_day) FROM chunks WHERE first_day IS NOT NULL "
            "GROUP BY page_id"
        ).fetchall()
    )
    rows = connection.execute("SELECT DISTINCT page_id FROM versions ORDER BY page_id")
    versioned = dict.fromkeys(row[0] for row in rows)
    for page_id, slug, updated_at, first_day, meta in connection.execute(
        "SELECT id, slug, updated_at, first_day, meta FROM pages ORDER BY id"
    ):
        days = tuple(filter(None, (first_day, first_days.get(page_id), *_front_matter_days(meta))))
        has_versions = page_id in versioned
        versioned.pop(page_id, None)
        yield _KnownPage(page_id, slug, updated_at, days, has_versions)
    for page_id in versioned:
        yield _KnownPage(page_id, None, None, (), True)


def _front_matter_days(meta: str) -> Iterator[str]:
    values = json.loads(meta)
    for key in DATE_KEYS:
        value = values.get(key)
        period = parse_date(str(value)) if isinstance(value, str | int) else None
        if period:
            yield period.first


def _days_in_state(connection: sqlite3.Connection, then: RollbackState) -> tuple[str, ...]:
    """Return the dates in the text and front matter of an earlier state of a page."""
    page = parse_page(then.path, _state_text(connection, then).encode())
    days = (page.first_day, *(chunk.first_day for chunk in page.chunks))
    return (*filter(None, days), *_front_matter_days(page.meta))


def _current_state(connection: sqlite3.Connection, page_id: int) -> RollbackState:
    version, path, written_at, created_at = connection.execute(
        "SELECT version, path, updated_at, created_at FROM pages WHERE id = ?", (page_id,)
    ).fetchone()
    return RollbackState(page_id, version, path, written_at, created_at, True)


_SELECT_VERSION = "SELECT version, path, written_at FROM versions WHERE page_id = ?"


def _state_before(
    connection: sqlite3.Connection, page_id: int, moment: str
) -> RollbackState | None:
    """Return the state of a page just before `moment`; None if it did not exist."""
    row = connection.execute(
        f"{_SELECT_VERSION} AND written_at < ? AND ended_at >= ? ORDER BY version DESC LIMIT 1",
        (page_id, moment, moment),
    ).fetchone()
    return _version_state(connection, page_id, row) if row else None


def _earliest_state(connection: sqlite3.Connection, page_id: int) -> RollbackState:
    row = connection.execute(f"{_SELECT_VERSION} ORDER BY version LIMIT 1", (page_id,)).fetchone()
    return _version_state(connection, page_id, row) if row else _current_state(connection, page_id)


def _version_state(
    connection: sqlite3.Connection, page_id: int, row: tuple[int, str, str]
) -> RollbackState:
    return RollbackState(
        page_id, *row, created_at=_first_written_at(connection, page_id), current=False
    )


def _first_written_at(connection: sqlite3.Connection, page_id: int) -> str:
    """Return when the page was first written to the brain."""
    row = connection.execute(
        "SELECT min(written_at) FROM (SELECT written_at FROM versions WHERE page_id = ?1 "
        "UNION ALL SELECT updated_at FROM pages WHERE id = ?1)",
        (page_id,),
    ).fetchone()
    written_at: str = row[0]
    return written_at


def apply_rollbacks(
    connection: sqlite3.Connection,
    rollbacks: Iterable[PageRollback],
    day: str,
    now: str,
    progress: Progress,
) -> None:
    """Apply the rollbacks to a copy; call this in a write transaction."""
    changes = list(rollbacks)
    # A page that had another slug is removed first, so that a slug in use becomes free.
    removed = [
        change.now
        for change in changes
        if change.now is not None
        and (change.then is None or slug_from_path(change.then.path) != change.now)
    ]
    _remove_pages(connection, removed, now)
    for number, change in enumerate(changes, 1):
        if change.then is not None:
            page = _parse_until(change.then.path, _state_text(connection, change.then), day)
            page_writer.write_page(connection, page, now)
            connection.execute(
                "UPDATE pages SET version = ?, updated_at = ?, created_at = ? WHERE slug = ?",
                (change.then.version, change.then.written_at, change.then.created_at, page.slug),
            )
        progress(number, len(changes))
    connection.execute("DELETE FROM versions")


def _remove_pages(connection: sqlite3.Connection, slugs: list[str], now: str) -> None:
    left = connection.execute("SELECT count(*) FROM pages").fetchone()[0] - len(slugs)
    if len(slugs) * _REMOVAL_COST < left:
        for slug in slugs:
            page_writer.delete_page(connection, slug, now)
        return
    connection.executemany("DELETE FROM pages WHERE slug = ?", [(slug,) for slug in slugs])
    for index in KEYWORD_INDEXES:
        connection.execute(f"INSERT INTO {index} ({index}) VALUES ('rebuild')")
    for space in all_spaces(connection):
        rebuild_chunk_slots(connection, space)


def _parse_until(path: str, text: str, day: str) -> Page:
    try:
        return parse_page(path, drop_later_entries(text, day).encode())
    except BadPage:
        # Without its later entries, the text can look like front matter without an end.
        return parse_page(path, text.encode())


def _state_text(connection: sqlite3.Connection, then: RollbackState) -> str:
    if then.current:
        return pages.page_text(connection, then.page_id)
    row = connection.execute(
        "SELECT content FROM versions WHERE page_id = ? AND version = ?",
        (then.page_id, then.version),
    ).fetchone()
    return decompress_version(row[0])
