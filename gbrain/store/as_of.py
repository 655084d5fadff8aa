"""Roll a copy of a brain back to the end of a day."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gbrain.errors import BadPage
from gbrain.store import page_writer, pages
from gbrain.store.history import decompress_version
from gbrain.text.dates import parse_date
from gbrain.text.page import DATE_KEYS, parse_page
from gbrain.text.slug import slug_from_path
from gbrain.text.timeline import drop_later_entries
from gbrain.types import Page, Progress

_COPIED_PAGES = 4096
_SHARED_TABLES = ("config", "query_aliases")
_KEYWORD_INDEXES = ("pages_fts", "chunks_fts", "questions_fts")
# Taking a page out of the keyword indexes takes about as long as writing five into new ones.
_REMOVAL_COST = 5


class PageState(NamedTuple):
    """One state of a page: a version, or what the page is now if `current`."""

    page_id: int
    version: int
    path: str
    written_at: str
    created_at: str
    current: bool


class PageRollback(NamedTuple):
    """What has to be done to one page: `now` is its slug in the copy, `then` what it is to be."""

    now: str | None
    then: PageState | None


class _Known(NamedTuple):
    """A page that is there, or that was (`slug` and `updated_at` None); `days` are its own."""

    page_id: int
    slug: str | None
    updated_at: str | None
    days: tuple[str, ...]
    has_versions: bool


def content_fingerprint(connection: sqlite3.Connection) -> str:
    """Return a text that changes with every page or vector; settings do not count."""
    counts = connection.execute(
        "SELECT (SELECT count(*) FROM pages), (SELECT count(*) FROM versions), "
        "(SELECT coalesce(max(id), 0) FROM chunks)"
    ).fetchone()
    newest = connection.execute(
        "SELECT id, sha256, updated_at FROM pages ORDER BY id DESC LIMIT 1"
    ).fetchone()
    model = connection.execute(
        "SELECT identity, id, dimension FROM embedding_models WHERE active"
    ).fetchone()
    last = None
    if model:
        last = connection.execute(
            f"SELECT max(slot) FROM page_embeddings_vec_{int(model[2])} WHERE model_id = ?",
            (model[1],),
        ).fetchone()
    return repr((counts, newest, model, last))


def copy_brain(source: sqlite3.Connection, target: sqlite3.Connection, progress: Progress) -> None:
    """Copy a whole brain; in a read transaction, concurrent writes are not included."""
    source.backup(
        target,
        pages=_COPIED_PAGES,
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
    """Empty the embedding queue of a copy: what is queued today is not what was missing then."""
    connection.execute("DELETE FROM embedding_jobs")


# --- what has to change ------------------------------------------------------------------------


def find_rollbacks(connection: sqlite3.Connection, day: str, moment: str) -> Iterator[PageRollback]:
    """What turns the brain back to the end of `day`; that is before `moment`, as times are kept.

    A page stands as it was written last before that. One that was written first after it, but has
    a date of its own up to that day, is older than the brain: it stands as it is known earliest.
    """
    late = _pages_with_later_entries(connection, day)
    taken: set[str] = set()
    older_than_brain: list[_Known] = []
    for page in _pages_ever(connection):
        if page.slug is not None and page.updated_at is not None and page.updated_at < moment:
            taken.add(page.slug)
            if page.page_id in late:
                yield PageRollback(page.slug, _current(connection, page.page_id))
        elif not page.has_versions:
            older_than_brain.append(page)
        elif (stood := _stood(connection, page.page_id, moment)) is not None:
            taken.add(slug_from_path(stood.path))
            yield PageRollback(page.slug, stood)
        elif _known_since(connection, page.page_id) >= moment:
            older_than_brain.append(page)
        elif page.slug is not None:
            yield PageRollback(page.slug, None)
    for page in older_than_brain:
        earliest = _earliest(connection, page.page_id)
        first_slug = slug_from_path(earliest.path)
        days = page.days if earliest.current else _days_then(connection, earliest)
        if first_slug not in taken and any(first <= day for first in days):
            taken.add(first_slug)
            if not earliest.current or page.page_id in late:
                yield PageRollback(page.slug, earliest)
        elif page.slug is not None:
            yield PageRollback(page.slug, None)


def _pages_with_later_entries(connection: sqlite3.Connection, day: str) -> set[int]:
    rows = connection.execute("SELECT DISTINCT page_id FROM chunks WHERE first_day > ?", (day,))
    return {row[0] for row in rows}


def _pages_ever(connection: sqlite3.Connection) -> Iterator[_Known]:
    """The pages that are there, then those that were deleted."""
    told = dict(
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
        days = tuple(filter(None, (first_day, told.get(page_id), *_front_matter_days(meta))))
        has_versions = page_id in versioned
        versioned.pop(page_id, None)
        yield _Known(page_id, slug, updated_at, days, has_versions)
    for page_id in versioned:
        yield _Known(page_id, None, None, (), True)


def _front_matter_days(meta: str) -> Iterator[str]:
    values = json.loads(meta)
    for key in DATE_KEYS:
        value = values.get(key)
        period = parse_date(str(value)) if isinstance(value, str | int) else None
        if period:
            yield period.first


def _days_then(connection: sqlite3.Connection, then: PageState) -> tuple[str, ...]:
    """The dates that a page has of its own in one of its versions."""
    page = parse_page(then.path, _text(connection, then).encode())
    days = (page.first_day, *(chunk.first_day for chunk in page.chunks))
    return (*filter(None, days), *_front_matter_days(page.meta))


def _current(connection: sqlite3.Connection, page_id: int) -> PageState:
    version, path, written_at, created_at = connection.execute(
        "SELECT version, path, updated_at, created_at FROM pages WHERE id = ?", (page_id,)
    ).fetchone()
    return PageState(page_id, version, path, written_at, created_at, True)


_VERSION = "SELECT version, path, written_at FROM versions WHERE page_id = ?"


def _stood(connection: sqlite3.Connection, page_id: int, moment: str) -> PageState | None:
    """What a page was just before `moment`; None if it was not there."""
    row = connection.execute(
        f"{_VERSION} AND written_at < ? AND ended_at >= ? ORDER BY version DESC LIMIT 1",
        (page_id, moment, moment),
    ).fetchone()
    return _then(connection, page_id, row) if row else None


def _earliest(connection: sqlite3.Connection, page_id: int) -> PageState:
    row = connection.execute(f"{_VERSION} ORDER BY version LIMIT 1", (page_id,)).fetchone()
    return _then(connection, page_id, row) if row else _current(connection, page_id)


def _then(connection: sqlite3.Connection, page_id: int, row: tuple[int, str, str]) -> PageState:
    return PageState(page_id, *row, created_at=_known_since(connection, page_id), current=False)


def _known_since(connection: sqlite3.Connection, page_id: int) -> str:
    """When the brain first had the page."""
    row = connection.execute(
        "SELECT min(written_at) FROM (SELECT written_at FROM versions WHERE page_id = ?1 "
        "UNION ALL SELECT updated_at FROM pages WHERE id = ?1)",
        (page_id,),
    ).fetchone()
    since: str = row[0]
    return since


# --- changing it -------------------------------------------------------------------------------


def apply_rollbacks(
    connection: sqlite3.Connection,
    changes: Iterable[PageRollback],
    day: str,
    now: str,
    progress: Progress,
) -> None:
    """Apply the rollbacks to a copy; call this in a write transaction."""
    made = list(changes)
    # A page that keeps its name is written over; one that had another makes way for it first.
    leaving = [
        change.now
        for change in made
        if change.now is not None
        and (change.then is None or slug_from_path(change.then.path) != change.now)
    ]
    _remove(connection, leaving, now)
    for number, change in enumerate(made, 1):
        if change.then is not None:
            page = _page(change.then.path, _text(connection, change.then), day)
            page_writer.write_page(connection, page, now)
            connection.execute(
                "UPDATE pages SET version = ?, updated_at = ?, created_at = ? WHERE slug = ?",
                (change.then.version, change.then.written_at, change.then.created_at, page.slug),
            )
        progress(number, len(made))
    connection.execute("DELETE FROM versions")


def _remove(connection: sqlite3.Connection, slugs: list[str], now: str) -> None:
    left = connection.execute("SELECT count(*) FROM pages").fetchone()[0] - len(slugs)
    if len(slugs) * _REMOVAL_COST < left:
        for slug in slugs:
            page_writer.delete_page(connection, slug, now)
        return
    connection.executemany("DELETE FROM pages WHERE slug = ?", [(slug,) for slug in slugs])
    for index in _KEYWORD_INDEXES:
        connection.execute(f"INSERT INTO {index} ({index}) VALUES ('rebuild')")


def _page(path: str, text: str, day: str) -> Page:
    try:
        return parse_page(path, drop_later_entries(text, day).encode())
    except BadPage:
        # What is left can read as front matter that never ends.
        return parse_page(path, text.encode())


def _text(connection: sqlite3.Connection, then: PageState) -> str:
    if then.current:
        return pages.page_text(connection, then.page_id)
    row = connection.execute(
        "SELECT content FROM versions WHERE page_id = ? AND version = ?",
        (then.page_id, then.version),
    ).fetchone()
    return decompress_version(row[0])
