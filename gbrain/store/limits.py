"""Limit a user of the brain to some of its pages: copy only these, and guard every write.

For reading, the pages within the limits are copied to a separate file. What is not in that file
cannot be found, counted, guessed from a score or suggested: the keyword index, the vocabulary and
the vectors of the copy know nothing of the other pages. For writing, triggers refuse every change
of a page that is or would be outside of the limits, whatever code makes it.
"""

from __future__ import annotations

import sqlite3
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gbrain.errors import BadPage, GbrainError
from gbrain.store import chunk_slots, indexed_text
from gbrain.store.chunks import last_chunk_id
from gbrain.store.guards import GuardedDatabase
from gbrain.store.history import decompress_version
from gbrain.store.jobs import enqueue_missing
from gbrain.store.page_writer import remove_page_rows
from gbrain.store.scope import Condition, page_condition
from gbrain.store.settings import brain_identity
from gbrain.store.vectors import (
    active_space,
    all_spaces,
    create_vector_tables,
    store_vectors,
    vectors_by_hash,
)
from gbrain.types import Scope

OUTSIDE_CODE = "forbidden"
# In the copy, versions of deleted pages must not belong to a page that gets the same number.
_FIRST_DELETED_ID = 1 << 40
_VECTORS_AT_ONCE = 1000
# Settings that name commands and folders of the owner, or write down what is asked.
_PRIVATE_SETTINGS = ("rerank_command", "default_folder", "capture_page", "record_queries")
_PAGE_COLUMNS = (
    "slug, path, title, type, wing, wing_reason, room, room_reason, date, first_day, last_day, "
    "version, sha256, bytes, created_at, updated_at, tags, aliases, meta, front_matter, "
    "compiled_truth, timeline"
)
_CHUNK_COLUMNS = (
    "section, part, kind, date, first_day, last_day, byte_start, byte_stop, first_line, last_line, "
    "hash, heading_path, text"
)
_LINK_COLUMNS = "position, line, kind, target, key, heading, label"
_VERSION_COLUMNS = "version, slug, path, sha256, bytes, written_at, ended_at, ending, content"


def outside_error(what: str) -> GbrainError:
    """Return the error for a page that a user may not use, whether it exists or not."""
    return GbrainError(
        f"{what} is outside of the pages that this token may use",
        hint="gbrain token list shows the limits of each token.",
        code=OUTSIDE_CODE,
    )


# --- writing -----------------------------------------------------------------------------------


def guard_limits(path: Path, limits: Scope) -> GuardedDatabase:
    """Open a brain in which only pages within the limits can be created, changed or deleted."""
    guards = {}
    for event, rows in (("INSERT", ("NEW",)), ("UPDATE", ("OLD", "NEW")), ("DELETE", ("OLD",))):
        inside = " AND ".join(_row_condition(limits, row) for row in rows)
        guards[event] = f"NOT coalesce({inside}, 0)"
    return GuardedDatabase(path, guards, lambda: outside_error("The page"))


def _row_condition(limits: Scope, row: str) -> str:
    """Return the limits as SQL without parameters, which triggers cannot have."""
    clauses = ["1"]
    if limits.wing is not None:
        clauses.append(f"{row}.wing = {_quote(limits.wing)}")
    if limits.slug_prefix is not None:
        first, last = _quote(limits.slug_prefix), _quote(limits.slug_prefix + "\U0010ffff")
        clauses.append(f"{row}.slug >= {first} AND {row}.slug < {last}")
    return " AND ".join(clauses)


def _quote(text: str) -> str:
    if "\0" in text:
        raise ValueError("SQL text ends at a null character")
    return "'" + text.replace("'", "''") + "'"


# --- reading -----------------------------------------------------------------------------------


class PageStamp(NamedTuple):
    """What tells that a page changed since it was copied."""

    version: int
    sha256: bytes
    slug: str
    wing: str
    updated_at: str


class CopiedPages(NamedTuple):
    """What a copy contains: the stamps of its pages and its number for each, by page id."""

    stamps: dict[int, PageStamp]
    numbers: dict[int, int]
    deleted: dict[int, int]


def nothing_copied() -> CopiedPages:
    """Return what a new copy contains."""
    return CopiedPages({}, {}, {})


def update_copy(
    source: sqlite3.Connection,
    target: sqlite3.Connection,
    limits: Scope,
    copied: CopiedPages,
    now: str,
) -> CopiedPages:
    """Update the copy from the pages of the brain that are within the limits."""
    within = page_condition(limits)
    stamps = {
        row[0]: PageStamp(*row[1:])
        for row in source.execute(
            f"SELECT id, version, sha256, slug, wing, updated_at FROM pages WHERE {within.sql}",
            within.values,
        )
    }
    gone = [page_id for page_id in copied.stamps if stamps.get(page_id) != copied.stamps[page_id]]
    fresh = [page_id for page_id in stamps if stamps[page_id] != copied.stamps.get(page_id)]
    numbers = dict(copied.numbers)
    # All of them before the first is copied: pages may have exchanged their names.
    for page_id in gone:
        number = numbers.pop(page_id)
        remove_page_rows(target, number)
        target.execute("DELETE FROM versions WHERE page_id = ?", (number,))
    for page_id in fresh:
        numbers[page_id] = _copy_page(source, target, page_id)
        _copy_versions(source, target, limits, page_id, numbers[page_id])
    deleted = _copy_deleted(source, target, limits, copied.deleted)
    _copy_settings(source, target)
    _copy_vectors(source, target, now)
    return CopiedPages(stamps, numbers, deleted)


def _copy_page(source: sqlite3.Connection, target: sqlite3.Connection, page_id: int) -> int:
    """Copy a page with its chunks, names, tags, links and questions; return its new number."""
    row = source.execute(f"SELECT {_PAGE_COLUMNS} FROM pages WHERE id = ?", (page_id,)).fetchone()
    number = target.execute(
        f"INSERT INTO pages ({_PAGE_COLUMNS}) VALUES ({_marks(_PAGE_COLUMNS)})", row
    ).lastrowid
    assert number is not None
    page = dict(zip(_PAGE_COLUMNS.split(", "), row, strict=True))
    indexed_text.add_page(target, number, [page[name] for name in indexed_text.PAGE_COLUMNS])
    for table, columns in (
        ("names", "key, kind, reversed"),
        ("tags", "tag"),
        ("links", _LINK_COLUMNS),
        ("page_questions", "questions"),
    ):
        rows = source.execute(f"SELECT {columns} FROM {table} WHERE page_id = ?", (page_id,))
        copies = [(number, *values) for values in rows]
        target.executemany(
            f"INSERT INTO {table} (page_id, {columns}) VALUES (?, {_marks(columns)})", copies
        )
        if table == "page_questions" and copies:
            target.executemany("INSERT INTO questions_fts (rowid, questions) VALUES (?, ?)", copies)
    chunks = source.execute(
        f"SELECT {_CHUNK_COLUMNS} FROM chunks WHERE page_id = ? ORDER BY section, part", (page_id,)
    )
    numbered = [
        (chunk_id, number, *values)
        for chunk_id, values in enumerate(chunks, last_chunk_id(target) + 1)
    ]
    target.executemany(
        f"INSERT INTO chunks (id, page_id, {_CHUNK_COLUMNS}) "
        f"VALUES (?, ?, {_marks(_CHUNK_COLUMNS)})",
        numbered,
    )
    indexed_text.add_chunks(target, [(row[0], page["title"], *row[-2:]) for row in numbered])
    if numbered:
        chunk_slots.add_chunks(target, all_spaces(target), numbered[0][0], numbered[-1][0])
    return number


def _copy_versions(
    source: sqlite3.Connection, target: sqlite3.Connection, limits: Scope, page_id: int, number: int
) -> None:
    """Copy the earlier versions of a page that were within the limits themselves."""
    rows = source.execute(f"SELECT {_VERSION_COLUMNS} FROM versions WHERE page_id = ?", (page_id,))
    target.executemany(
        f"INSERT INTO versions (page_id, {_VERSION_COLUMNS}) "
        f"VALUES (?, {_marks(_VERSION_COLUMNS)})",
        [(number, *row) for row in rows if _version_is_within(limits, row[1], row[2], row[-1])],
    )


def _copy_deleted(
    source: sqlite3.Connection,
    target: sqlite3.Connection,
    limits: Scope,
    copied: dict[int, int],
) -> dict[int, int]:
    """Copy the versions of deleted pages whose last version was within the limits.

    Return the last version of each deleted page by its id, whether it was copied or not.
    """
    # Only this index is read: the table itself has the texts of all versions.
    last = dict(
        source.execute(
            "SELECT page_id, max(version) FROM versions INDEXED BY versions_slug "
            "WHERE NOT EXISTS (SELECT 1 FROM pages WHERE pages.id = page_id) GROUP BY page_id"
        ).fetchall()
    )
    for page_id in copied.keys() | last.keys():
        if copied.get(page_id) == last.get(page_id):
            continue
        number = _FIRST_DELETED_ID + page_id
        target.execute("DELETE FROM versions WHERE page_id = ?", (number,))
        if page_id not in last:
            continue
        slug, path, content = source.execute(
            "SELECT slug, path, content FROM versions WHERE page_id = ? AND version = ?",
            (page_id, last[page_id]),
        ).fetchone()
        if _version_is_within(limits, slug, path, content):
            _copy_versions(source, target, limits, page_id, number)
    return last


def _version_is_within(limits: Scope, slug: str, path: str, content: bytes) -> bool:
    """Return whether a version was within the limits; its wing has to be found in its text."""
    if limits.slug_prefix is not None and not slug.startswith(limits.slug_prefix):
        return False
    if limits.wing is None:
        return True
    from zlib import error as ZlibError

    from gbrain.text.page import parse_page

    try:
        return parse_page(path, decompress_version(content).encode()).wing == limits.wing
    except (BadPage, ValueError, ZlibError):
        return False


def _copy_settings(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Copy the settings and the active model, so that the copy ranks as the brain does."""
    select = "SELECT key, value FROM config WHERE key NOT IN (?, ?, ?, ?) ORDER BY key"
    wanted = source.execute(select, _PRIVATE_SETTINGS).fetchall()
    if wanted != target.execute(select, _PRIVATE_SETTINGS).fetchall():
        target.execute("DELETE FROM config")
        target.executemany("INSERT INTO config (key, value) VALUES (?, ?)", wanted)
    # What the owner trusts, such as a model, holds for the copy as well.
    identity = brain_identity(source)
    if brain_identity(target) != identity:
        target.execute("UPDATE _sqlite_migrations SET applied_at = ?", (identity,))


def _copy_vectors(source: sqlite3.Connection, target: sqlite3.Connection, now: str) -> None:
    """Copy the active model, and the vectors of all chunks of the copy that have one."""
    space = active_space(source)
    if space is None:
        return
    if active_space(target) != space:
        columns = (
            "id, name, identity, sha256, pooling, query_prefix, passage_prefix, dimension, "
            "max_tokens, description, folder, files_stamp, active, added_at"
        )
        create_vector_tables(target, space.dimension)
        target.execute("DELETE FROM embedding_models")
        target.execute(
            f"INSERT INTO embedding_models ({columns}) VALUES ({_marks(columns)})",
            source.execute(f"SELECT {columns} FROM embedding_models WHERE active").fetchone(),
        )
    missing = [
        row[0]
        for row in target.execute(
            "SELECT DISTINCT hash FROM chunks WHERE NOT EXISTS "
            f"(SELECT 1 FROM {space.vectors} AS v WHERE v.model_id = ? AND v.hash = chunks.hash)",
            (space.model_id,),
        )
    ]
    for start in range(0, len(missing), _VECTORS_AT_ONCE):
        some = missing[start : start + _VECTORS_AT_ONCE]
        store_vectors(target, space, vectors_by_hash(source, space, some))
    target.execute("DELETE FROM embedding_jobs")
    enqueue_missing(target, space, now)


@cache
def _marks(columns: str) -> str:
    return ", ".join("?" * len(columns.split(", ")))


def page_is_within(connection: sqlite3.Connection, slug: str, limits: Scope) -> bool | None:
    """Return whether the page with this slug is within the limits; None if there is none."""
    within = page_condition(limits)
    row = connection.execute(
        f"SELECT {_as_value(within)} FROM pages WHERE slug = ?", (*within.values, slug)
    ).fetchone()
    return bool(row[0]) if row else None


def _as_value(condition: Condition) -> str:
    return f"coalesce({condition.sql}, 0)"
