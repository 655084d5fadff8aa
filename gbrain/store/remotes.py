"""What a brain knows about the shared stores it is connected to: its remotes.

For each page the brain keeps what it and the remote had in common last, the base of merges. A page
whose text differs from it waits to be pushed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from gbrain.errors import Conflict, NotFound
from gbrain.messages import did_you_mean, similar_names
from gbrain.store.scope import page_condition
from gbrain.types import Scope


class SharedPart(NamedTuple):
    """A part of the brain that is shared: a wing, the slugs with a prefix, or both at once."""

    wing: str | None = None
    slug_prefix: str | None = None

    @property
    def scope(self) -> Scope:
        return Scope(wing=self.wing, slug_prefix=self.slug_prefix)

    @property
    def description(self) -> str:
        """Return the part in words: `wing projects, slugs projects/a…`."""
        names = [f"wing {self.wing}"] if self.wing else []
        return ", ".join(names + ([f"slugs {self.slug_prefix}…"] if self.slug_prefix else []))


class SharedChange(NamedTuple):
    """A change in a shared store; `written_at` is the server's time in microseconds since 1970."""

    slug: str
    version: int
    written_at: int


class Remote(NamedTuple):
    """A remote of the brain.

    `identity` is that of the shared brain, None before the first contact. `parts` are those that
    are shared, None for all pages. `sequence` and `vector_sequence` are the last numbers that were
    pulled, and `pulled_at` the last time when everything was. `last_change` is the change that has
    the number `sequence`, None if it is not known.
    """

    id: int
    name: str
    url: str
    identity: str | None
    parts: tuple[SharedPart, ...] | None
    sequence: int
    vector_sequence: int
    pulled_at: str | None
    last_change: SharedChange | None


class PageBase(NamedTuple):
    """What the brain and the remote had in common last; `sha256` is None for a deleted page."""

    version: int
    sha256: bytes | None


class WaitingPage(NamedTuple):
    """A page that waits to be pushed; `base` is None if the remote never had it.

    `page_id` and `sha256` are None for a page that was deleted here.
    """

    slug: str
    page_id: int | None
    sha256: bytes | None
    base: PageBase | None


_SELECT = (
    "SELECT id, name, url, identity, parts, sequence, vector_sequence, pulled_at, slug, version, "
    "written_at FROM remotes LEFT JOIN remote_changes ON remote_id = id ORDER BY id"
)


def _from_row(row: tuple[Any, ...]) -> Remote:
    number, name, url, identity, parts, sequence, vector_sequence, pulled_at, *change = row
    shared = None
    if isinstance(parts, str):
        shared = tuple(SharedPart(*part) for part in json.loads(parts))
    last_change = None if None in change else SharedChange(*change)
    return Remote(
        number, name, url, identity, shared, sequence, vector_sequence, pulled_at, last_change
    )


def list_remotes(connection: sqlite3.Connection) -> list[Remote]:
    """Return the remotes in the order they were added."""
    return [_from_row(row) for row in connection.execute(_SELECT)]


def find_remote(connection: sqlite3.Connection, name: str | None = None) -> Remote:
    """Return the remote called `name`, or the only one.

    Raises NotFound if there is none, Conflict if there are several and no name.
    """
    known = list_remotes(connection)
    if name is None and len(known) == 1:
        return known[0]
    names = [remote.name for remote in known]
    if not known:
        raise NotFound(
            f"There is no remote {name}" if name else "This brain has no remote",
            hint="gbrain remote add team postgresql://host/database adds one.",
            code="no_remote",
        )
    if name is None:
        raise Conflict(
            f"This brain has several remotes: {', '.join(names)}",
            hint=f"Name one, for example: gbrain push {names[0]}",
            code="several_remotes",
        )
    for remote in known:
        if remote.name == name:
            return remote
    hint = did_you_mean(similar_names(name, names), f"The remotes are: {', '.join(names)}.")
    raise NotFound(f"There is no remote {name}", hint=hint, code="no_remote")


def add_remote(connection: sqlite3.Connection, name: str, url: str, now: str) -> bool:
    """Add a remote and return whether it is new.

    One that has the name keeps what was shared if only its address changed: the identity of the
    shared brain is checked at the next contact.
    """
    known = connection.execute("SELECT url FROM remotes WHERE name = ?", (name,)).fetchone()
    if known:
        connection.execute("UPDATE remotes SET url = ? WHERE name = ?", (url, name))
    else:
        connection.execute(
            "INSERT INTO remotes (name, url, added_at) VALUES (?, ?, ?)", (name, url, now)
        )
    return known is None


def remove_remote(connection: sqlite3.Connection, remote: Remote) -> None:
    """Forget a remote; the pages of both sides stay as they are."""
    connection.execute("DELETE FROM remotes WHERE id = ?", (remote.id,))


def set_identity(connection: sqlite3.Connection, remote: Remote, identity: str) -> None:
    """Record which shared brain the remote is."""
    connection.execute("UPDATE remotes SET identity = ? WHERE id = ?", (identity, remote.id))


def set_parts(
    connection: sqlite3.Connection, remote: Remote, parts: Sequence[SharedPart] | None
) -> None:
    """Record which parts of the brain are shared; None for all pages."""
    value = None if parts is None else json.dumps(list(parts))
    connection.execute("UPDATE remotes SET parts = ? WHERE id = ?", (value, remote.id))


def record_pulled(
    connection: sqlite3.Connection, remote: Remote, sequence: int, change: SharedChange | None
) -> None:
    """Record that all changes up to `sequence`, which is the number of `change`, are here."""
    moved = connection.execute(
        "UPDATE remotes SET sequence = ?1 WHERE id = ?2 AND sequence < ?1", (sequence, remote.id)
    )
    if moved.rowcount:
        _record_change(connection, remote, change)


def record_pushed(
    connection: sqlite3.Connection,
    remote: Remote,
    after: int,
    count: int,
    change: SharedChange | None,
) -> None:
    """Record that the `count` changes after a sequence number are our own, `change` the last one.

    They need not be pulled if everything before them was.
    """
    moved = connection.execute(
        "UPDATE remotes SET sequence = ? WHERE id = ? AND sequence = ?",
        (after + count, remote.id, after),
    )
    if moved.rowcount and count:
        _record_change(connection, remote, change)


def _record_change(
    connection: sqlite3.Connection, remote: Remote, change: SharedChange | None
) -> None:
    connection.execute("DELETE FROM remote_changes WHERE remote_id = ?", (remote.id,))
    if change:
        connection.execute("INSERT INTO remote_changes VALUES (?, ?, ?, ?)", (remote.id, *change))


def record_complete_pull(
    connection: sqlite3.Connection, remote: Remote, vector_sequence: int, now: str
) -> None:
    """Record that nothing was left to pull at this time."""
    connection.execute(
        "UPDATE remotes SET pulled_at = ?, vector_sequence = max(vector_sequence, ?) WHERE id = ?",
        (now, vector_sequence, remote.id),
    )
    connection.execute("DELETE FROM restored_remotes WHERE remote_id = ?", (remote.id,))


def is_restored(connection: sqlite3.Connection, remote: Remote) -> bool:
    """Return whether the brain was restored from a backup since the last complete pull."""
    row = connection.execute(
        "SELECT 1 FROM restored_remotes WHERE remote_id = ?", (remote.id,)
    ).fetchone()
    return row is not None


# --- pages -----------------------------------------------------------------------------------


def page_bases(
    connection: sqlite3.Connection, remote: Remote, slugs: Iterable[str]
) -> dict[str, PageBase]:
    """Return what each of the pages had in common with the remote last, by slug."""
    rows = connection.execute(
        "SELECT slug, version, sha256 FROM remote_pages "
        "WHERE remote_id = ? AND slug IN (SELECT value FROM json_each(?))",
        (remote.id, json.dumps(list(slugs))),
    )
    return {slug: PageBase(version, sha256) for slug, version, sha256 in rows}


def record_bases(
    connection: sqlite3.Connection, remote: Remote, bases: Iterable[tuple[str, PageBase]]
) -> None:
    """Record what the brain and the remote have in common now, by slug.

    A page that the remote has at a later version by now, because another process of this machine
    recorded it, stays as it is.
    """
    connection.executemany(
        "INSERT INTO remote_pages (remote_id, slug, version, sha256, vectors) "
        "VALUES (?, ?, ?, ?, 0) ON CONFLICT (remote_id, slug) DO UPDATE SET "
        "vectors = CASE WHEN sha256 IS excluded.sha256 THEN vectors ELSE 0 END, "
        "version = excluded.version, sha256 = excluded.sha256 WHERE version <= excluded.version",
        [(remote.id, slug, base.version, base.sha256) for slug, base in bases],
    )


def forget_bases(connection: sqlite3.Connection, slug: str) -> None:
    """Forget what the brain and its remotes had in common of a page, so that they keep it."""
    connection.execute("DELETE FROM remote_pages WHERE slug = ?", (slug,))


def has_shared_pages(connection: sqlite3.Connection, remote: Remote) -> bool:
    """Return whether the brain and the remote ever had a page in common."""
    row = connection.execute(
        "SELECT 1 FROM remote_pages WHERE remote_id = ? LIMIT 1", (remote.id,)
    ).fetchone()
    return row is not None


def waiting_pages(
    connection: sqlite3.Connection, remote: Remote, scope: Scope = Scope()
) -> list[WaitingPage]:
    """Return the pages in scope that wait to be pushed, by slug; pages with a conflict wait not.

    New pages are shared only if they are in one of the remote's parts. Of a page that was deleted
    here only the slug is known, so no page of a wing does.
    """
    within = page_condition(scope)
    is_shared = "1"
    values: list[object] = []
    if remote.parts is not None:
        conditions = [page_condition(part.scope) for part in remote.parts]
        is_shared = " OR ".join(f"({each.sql})" for each in conditions) or "0"
        values = [value for each in conditions for value in each.values]
    rows = connection.execute(
        "SELECT pages.slug, pages.id, pages.sha256, base.version, base.sha256 FROM pages "
        "LEFT JOIN remote_pages AS base ON base.remote_id = ? AND base.slug = pages.slug "
        "WHERE (base.sha256 IS NULL OR base.sha256 != pages.sha256) "
        f"AND ({within.sql}) AND (base.version IS NOT NULL OR {is_shared}) "
        "AND pages.slug NOT IN (SELECT slug FROM remote_conflicts WHERE remote_id = ?)",
        (remote.id, *within.values, *values, remote.id),
    )
    found = [
        WaitingPage(slug, page_id, sha256, None if version is None else PageBase(version, base))
        for slug, page_id, sha256, version, base in rows
    ]
    if scope.wing is None:
        first = scope.slug_prefix or ""
        rows = connection.execute(
            "SELECT slug, version, sha256 FROM remote_pages AS base "
            "WHERE remote_id = ?1 AND sha256 IS NOT NULL AND slug >= ?2 AND slug < ?3 "
            "AND NOT EXISTS (SELECT 1 FROM pages WHERE pages.slug = base.slug) "
            "AND slug NOT IN (SELECT slug FROM remote_conflicts WHERE remote_id = ?1)",
            (remote.id, first, first + "\U0010ffff"),
        )
        found += [WaitingPage(row[0], None, None, PageBase(*row[1:])) for row in rows]
    return sorted(found)


def page_contents(
    connection: sqlite3.Connection, page_ids: Iterable[int]
) -> dict[int, tuple[str, int, bytes, str]]:
    """Return (path, version, sha256, text) of pages, by id."""
    rows = connection.execute(
        "SELECT id, path, version, sha256, front_matter || compiled_truth || timeline FROM pages "
        "WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(page_ids)),),
    )
    return {row[0]: row[1:] for row in rows}


def raise_version(connection: sqlite3.Connection, slug: str, version: int) -> None:
    """Let a page have at least this version number, the one that the remote has."""
    connection.execute(
        "UPDATE pages SET version = ? WHERE slug = ? AND version < ?", (version, slug, version)
    )


# --- vectors ---------------------------------------------------------------------------------


def pages_without_shared_vectors(
    connection: sqlite3.Connection, remote: Remote, model_id: int
) -> list[tuple[str, int]]:
    """Return (slug, page id) of pages in step with the remote that may lack vectors there."""
    rows = connection.execute(
        "SELECT pages.slug, pages.id FROM remote_pages AS base "
        "JOIN pages ON pages.slug = base.slug AND pages.sha256 = base.sha256 "
        "WHERE remote_id = ? AND vectors != ? ORDER BY pages.slug",
        (remote.id, model_id),
    )
    return rows.fetchall()


def page_chunk_hashes(
    connection: sqlite3.Connection, page_ids: Iterable[int]
) -> dict[int, list[bytes]]:
    """Return the hashes of the chunks of pages, by page id."""
    found: dict[int, list[bytes]] = {}
    rows = connection.execute(
        "SELECT page_id, hash FROM chunks WHERE page_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(page_ids)),),
    )
    for page_id, digest in rows:
        found.setdefault(page_id, []).append(digest)
    return found


def record_shared_vectors(
    connection: sqlite3.Connection, remote: Remote, slugs: Iterable[str], model_id: int
) -> None:
    """Record that the remote has the vectors of this model for all chunks of the pages."""
    connection.executemany(
        "UPDATE remote_pages SET vectors = ? WHERE remote_id = ? AND slug = ?",
        [(model_id, remote.id, slug) for slug in slugs],
    )
