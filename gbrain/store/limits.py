"""Limit a user of the brain to some of its pages: copy only these, and guard every write.

For reading, the pages within the limits are copied to a separate file. What is not in that file
cannot be found, counted, guessed from a score or suggested: the keyword index, the vocabulary and
the vectors of the copy know nothing of the other pages, and its versions have numbers of their own
(`visible_history`). For writing, triggers refuse every change of a page that is or would be outside
of the limits, and every new name where the limits allow none, whatever code makes it.
"""

from __future__ import annotations

import sqlite3
from copy import copy
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gbrain.errors import GbrainError
from gbrain.store import chunk_slots, indexed_text
from gbrain.store.chunks import last_chunk_id
from gbrain.store.guards import GuardedDatabase
from gbrain.store.jobs import enqueue_missing, missing_hashes
from gbrain.store.page_writer import remove_page_rows
from gbrain.store.scope import page_condition
from gbrain.store.settings import brain_identity
from gbrain.store.vectors import (
    active_space,
    all_spaces,
    create_vector_tables,
    store_vectors,
    vectors_by_hash,
)
from gbrain.store.visible_history import ShownVersion, VisibleHistory
from gbrain.text.classify import wing_of_folder
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
_VERSION_COLUMNS = "slug, path, sha256, bytes, content"


def outside_error(
    what: str, hint: str = "gbrain token list shows the limits of each token."
) -> GbrainError:
    """Return the error for a page that a user may not use, whether it exists or not."""
    message = f"{what} is outside of the pages that this token may use"
    return GbrainError(message, hint=hint, code=OUTSIDE_CODE)


def creation_error(what: str) -> GbrainError:
    """Return the error for a page that a user may not create; it does not say why."""
    return outside_error(
        what,
        "It creates pages below its prefix, or in the folders of its wing unless one of them has a "
        "page of another wing.",
    )


# --- writing -----------------------------------------------------------------------------------


def guard_limits(path: Path, limits: Scope) -> GuardedDatabase:
    """Open a brain in which only pages within the limits can be created, changed or deleted.

    New pages and new names also have to be where `may_create` allows them.
    """
    at_its_place = "may_create(NEW.slug)"
    guards = {
        "INSERT": (_row_condition(limits, "NEW"), at_its_place),
        "UPDATE": (
            _row_condition(limits, "OLD"),
            _row_condition(limits, "NEW"),
            f"(NEW.slug = OLD.slug OR {at_its_place})",
        ),
        "DELETE": (_row_condition(limits, "OLD"),),
    }
    return GuardedDatabase(
        path,
        {event: f"NOT coalesce({' AND '.join(inside)}, 0)" for event, inside in guards.items()},
        lambda: outside_error("The page"),
        functions={"may_create": lambda slug: may_create(limits, slug)},
        mark_pages=True,
    )


def may_create(limits: Scope, slug: str) -> bool:
    """Return whether a page with this slug may be created within the limits.

    The slug alone decides, and not what a page says of itself: who creates a page could otherwise
    claim the name of a note that the owner has or will have elsewhere, and get its text from the
    next sync. With a wing, the first folder has to give it to all pages that name no other.
    """
    if limits.slug_prefix is not None and not slug.startswith(limits.slug_prefix):
        return False
    folder, slash, _ = slug.partition("/")
    return limits.wing is None or (bool(slash) and _gives_wing(folder, limits.wing))


def _gives_wing(folder: str, wing: str) -> bool:
    """Return whether every path with this first folder in its slug gives a page the wing."""
    # A letter like the capital I with a dot is two in the slug, one of which would be ignored.
    return folder.isascii() and wing_of_folder(folder) == wing


def hides_creatable(connection: sqlite3.Connection, limits: Scope) -> bool:
    """Return whether a page outside of the limits has a slug that could be created within them.

    Such a page names another wing in its front matter. If only its own slug were refused, others
    could be guessed.
    """
    if limits.wing is None:
        return False
    prefix = limits.slug_prefix or ""
    hidden = connection.execute(
        "SELECT DISTINCT substr(slug, 1, instr(slug, '/')) FROM pages "
        "WHERE wing <> ? AND instr(slug, '/') AND substr(slug, 1, ?) = ?",
        (limits.wing, len(prefix), prefix),
    )
    # What follows the first folder makes no difference.
    return any(_gives_wing(folder[:-1], limits.wing) for (folder,) in hidden)


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


class CopiedPage(NamedTuple):
    """A page of the copy: its number there, and what is shown of it, oldest version first."""

    number: int
    versions: list[ShownVersion]

    @property
    def version(self) -> int:
        """Return the number of its current version in the brain."""
        return self.versions[-1].version

    def shown_number(self, version: int) -> int | None:
        """Return the number in the copy of a version of the brain; None if it is hidden."""
        for shown in self.versions:
            if shown.version == version:
                return shown.number
        return None


class LimitedCopy:
    """The pages within limits in a separate brain file, and how they are numbered there."""

    def __init__(self, limits: Scope) -> None:
        self._limits = limits
        self._history = VisibleHistory(limits)
        self._stamps: dict[int, PageStamp] = {}
        self._pages: dict[int, CopiedPage] = {}
        self._ids: dict[str, int] = {}
        self._last_change = 0
        self._next_deleted_id = _FIRST_DELETED_ID

    def page(self, slug: str) -> CopiedPage | None:
        """Return the page with this slug; None if the copy has none."""
        page_id = self._ids.get(slug)
        return None if page_id is None else self._pages[page_id]

    def forget(self, slug: str) -> None:
        """Compare the page again with the next update: how one of its versions ended changed."""
        page_id = self._ids.get(slug)
        if page_id is not None:
            stamp = self._stamps[page_id]._replace(version=0)
            self._stamps = {**self._stamps, page_id: stamp}

    def updated(
        self, source: sqlite3.Connection, target: sqlite3.Connection, now: str
    ) -> LimitedCopy:
        """Update the copy `target` from the brain `source`; return how it is numbered then.

        This is unchanged, so that it still fits if the transaction fails.
        """
        after = copy(self)
        after._pages = dict(self._pages)
        after._update(source, target)
        _copy_settings(source, target)
        _copy_model(source, target, now)
        return after

    def _update(self, source: sqlite3.Connection, target: sqlite3.Connection) -> None:
        """Copy the pages that changed.

        They get their numbers by slug: those of the brain, whose order decides between equal
        results, depend on hidden pages.
        """
        within = page_condition(self._limits)
        stamps = {
            row[0]: PageStamp(*row[1:])
            for row in source.execute(
                "SELECT id, version, sha256, slug, wing, updated_at FROM pages "
                f"WHERE {within.sql} ORDER BY slug",
                within.values,
            )
        }
        gone = [page_id for page_id in self._pages if stamps.get(page_id) != self._stamps[page_id]]
        fresh = [page_id for page_id in stamps if stamps[page_id] != self._stamps.get(page_id)]
        # All of them before the first is copied: pages may have exchanged their names.
        for page_id in gone:
            number = self._pages.pop(page_id).number
            remove_page_rows(target, number)
            target.execute("DELETE FROM versions WHERE page_id = ?", (number,))
            target.execute("DELETE FROM changes WHERE page_id = ?", (number,))
        for page_id in fresh:
            *_, versions = self._history.runs(source, page_id, stamps.__contains__)
            number = _copy_page(source, target, page_id, versions)
            _copy_versions(source, target, page_id, number, versions)
            self._pages[page_id] = CopiedPage(number, versions)
        self._stamps = stamps
        self._ids = {stamp.slug: page_id for page_id, stamp in stamps.items()}
        self._copy_deleted(source, target)

    def _copy_deleted(self, source: sqlite3.Connection, target: sqlite3.Connection) -> None:
        """Copy what was deleted since the last update, if its last version was visible."""
        deletions = source.execute(
            "SELECT sequence, page_id, version FROM changes WHERE deleted AND sequence > ? "
            "ORDER BY sequence",
            (self._last_change,),
        ).fetchall()
        for sequence, page_id, version in deletions:
            self._last_change = sequence
            for run in self._history.runs(source, page_id, self._stamps.__contains__):
                if (run[-1].version, run[-1].ending) == (version, "deleted"):
                    _copy_versions(source, target, page_id, self._next_deleted_id, run)
                    self._next_deleted_id += 1


def _copy_page(
    source: sqlite3.Connection,
    target: sqlite3.Connection,
    page_id: int,
    versions: list[ShownVersion],
) -> int:
    """Copy a page with its chunks, names, tags, links and questions; return its number there."""
    row = source.execute(f"SELECT {_PAGE_COLUMNS} FROM pages WHERE id = ?", (page_id,)).fetchone()
    page = dict(zip(_PAGE_COLUMNS.split(", "), row, strict=True)) | {
        "version": versions[-1].number,
        "created_at": versions[0].written_at,
    }
    number = target.execute(
        f"INSERT INTO pages ({_PAGE_COLUMNS}) VALUES ({_marks(_PAGE_COLUMNS)})",
        tuple(page.values()),
    ).lastrowid
    assert number is not None
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
    source: sqlite3.Connection,
    target: sqlite3.Connection,
    page_id: int,
    number: int,
    versions: list[ShownVersion],
) -> None:
    """Copy the visible versions of a page to the page of the copy with this number."""
    order = {
        (version, deleted): sequence
        for version, deleted, sequence in source.execute(
            "SELECT version, deleted, sequence FROM changes WHERE page_id = ?", (page_id,)
        )
    }
    for shown in versions:
        changes = [(order.get((shown.version, 0)), 0)]
        if shown.ending == "deleted":
            changes.append((order.get((shown.version, 1)), 1))
        target.executemany(
            "INSERT INTO changes (sequence, page_id, version, deleted) VALUES (?, ?, ?, ?)",
            [(n, number, shown.number, deleted) for n, deleted in changes if n is not None],
        )
        if shown.ending is None:
            continue
        target.execute(
            "INSERT INTO versions (page_id, version, written_at, ended_at, ending, "
            f"{_VERSION_COLUMNS}) VALUES (?, ?, ?, ?, ?, {_marks(_VERSION_COLUMNS)})",
            (
                number,
                shown.number,
                shown.written_at,
                shown.ended_at,
                shown.ending,
                *source.execute(
                    f"SELECT {_VERSION_COLUMNS} FROM versions WHERE page_id = ? AND version = ?",
                    (page_id, shown.version),
                ).fetchone(),
            ),
        )


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


def _copy_model(source: sqlite3.Connection, target: sqlite3.Connection, now: str) -> None:
    """Copy the active model, and queue the chunks of the copy that have no vector."""
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
    target.execute("DELETE FROM embedding_jobs")
    enqueue_missing(target, space, now)


def copy_vectors(source: sqlite3.Connection, target: sqlite3.Connection, now: str) -> None:
    """Copy the vectors of the active model that chunks of the copy lack and the brain has."""
    space = active_space(source)
    if space is None or active_space(target) != space:
        return
    missing = missing_hashes(target, space)
    for start in range(0, len(missing), _VECTORS_AT_ONCE):
        some = missing[start : start + _VECTORS_AT_ONCE]
        store_vectors(target, space, vectors_by_hash(source, space, some))
    if missing:
        target.execute("DELETE FROM embedding_jobs")
        enqueue_missing(target, space, now)


@cache
def _marks(columns: str) -> str:
    return ", ".join("?" * len(columns.split(", ")))
