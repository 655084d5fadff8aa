"""Pages in and out of the brain: written with all their parts, read back byte for byte."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from gbrain.errors import Conflict, NotFound
from gbrain.store import chunks
from gbrain.store.scope import page_condition
from gbrain.text.slug import fold
from gbrain.types import Page, Scope

Ending = Literal["replaced", "deleted", "renamed"]


@dataclass(frozen=True, slots=True)
class Stored:
    """A page as the brain holds it, without its text."""

    id: int
    slug: str
    path: str
    title: str
    type: str | None
    wing: str
    wing_reason: str
    room: str
    room_reason: str
    date: str | None
    version: int
    sha256: bytes
    size: int
    vault_id: int | None
    source_sha256: bytes | None
    created_at: str
    updated_at: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]


_COLUMNS = (
    "pages.id, slug, path, title, type, wing, wing_reason, room, room_reason, date, version, "
    "sha256, bytes, vault_id, source_sha256, created_at, updated_at, tags, aliases"
)


def _stored(row: tuple[Any, ...]) -> Stored:
    *plain, tags, aliases = row
    values = [*plain, tuple(tags.splitlines()), tuple(aliases.splitlines())]
    return Stored(*values)


def find_page(connection: sqlite3.Connection, slug: str) -> Stored | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM pages WHERE slug = ?", (slug,)).fetchone()
    return _stored(row) if row else None


def require_page(connection: sqlite3.Connection, slug: str) -> Stored:
    """The page called `slug`; raises NotFound with the nearest slugs."""
    page = find_page(connection, slug)
    if page is None:
        near = nearest_slugs(connection, slug)
        raise NotFound(
            f"There is no page {slug}",
            hint=f"Did you mean {' or '.join(near)}?" if near else "gbrain list shows the pages.",
        )
    return page


def nearest_slugs(connection: sqlite3.Connection, slug: str) -> list[str]:
    """Up to three slugs that look like `slug`, nearest first."""
    from difflib import get_close_matches

    name = slug.rpartition("/")[2]
    rows = connection.execute(
        "SELECT slug FROM pages WHERE instr(slug, ?) OR instr(slug, ?) LIMIT 2000",
        (name[:4], name[-4:]),
    )
    slugs = {row[0].rpartition("/")[2]: row[0] for row in rows}
    return [slugs[match] for match in get_close_matches(name, slugs, n=3)]


def page_text(connection: sqlite3.Connection, page_id: int) -> str:
    """The page's own text, front matter and all."""
    row = connection.execute(
        "SELECT front_matter, compiled_truth, timeline FROM pages WHERE id = ?", (page_id,)
    ).fetchone()
    return "".join(row)


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did; `version` is the page's number now."""

    slug: str
    version: int
    outcome: Literal["created", "updated", "unchanged"]


def write_page(
    connection: sqlite3.Connection,
    page: Page,
    now: str,
    *,
    expected_version: int | None = None,
    vault_id: int | None = None,
    from_file: bool = False,
    renames: str | None = None,
) -> Written:
    """Creates or replaces a page, keeping its earlier text as a version.

    `expected_version` (0 for a page that must not exist yet) refuses a lost update. `from_file`
    marks the text as what the vault's own file holds. `renames` is the slug that the page had
    before; a renamed page no longer belongs to a vault's file.
    """
    old = find_page(connection, renames or page.slug)
    current = old.version if old else 0
    if expected_version is not None and expected_version != current:
        there = f"is at version {current}" if old else "does not exist"
        raise Conflict(
            f"{page.slug} {there}, not at version {expected_version}",
            hint=f"Read it again with gbrain get {page.slug} and put your change on top.",
            code="version_conflict",
        )
    if old and old.sha256 == page.sha256 and old.path == page.path:
        if from_file and (old.source_sha256 != page.sha256 or old.vault_id != vault_id):
            connection.execute(
                "UPDATE pages SET source_sha256 = ?, vault_id = ? WHERE id = ?",
                (page.sha256, vault_id, old.id),
            )
        return Written(page.slug, current, "unchanged")
    if from_file:
        owner, source = vault_id, page.sha256
    elif renames or old is None:
        owner, source = None, None
    else:
        owner, source = old.vault_id, old.source_sha256
    size = len(page.text.encode())
    tags, aliases = "\n".join(page.tags), "\n".join(page.aliases)
    shared = (
        page.slug, page.path, page.title, page.type, page.wing, page.wing_reason, page.room,
        page.room_reason, page.date, page.first_day, page.last_day, page.sha256, size,
        owner, source, now,
        tags, aliases, page.meta,
        page.front_matter, page.compiled_truth, page.timeline,
    )  # fmt: skip
    retitled = old is not None and old.title != page.title
    if old:
        keep_version(connection, old, now, "renamed" if renames else "replaced")
        _unindex(connection, old.id)
        if retitled:
            chunks.remove(connection, old.id)
        connection.execute(
            "UPDATE pages SET slug = ?, path = ?, title = ?, type = ?, wing = ?, wing_reason = ?, "
            "room = ?, room_reason = ?, date = ?, first_day = ?, last_day = ?, "
            "sha256 = ?, bytes = ?, "
            "vault_id = ?, source_sha256 = ?, updated_at = ?, tags = ?, aliases = ?, meta = ?, "
            "front_matter = ?, compiled_truth = ?, timeline = ?, version = version + 1 "
            "WHERE id = ?",
            (*shared, old.id),
        )
        page_id, version = old.id, old.version + 1
        for table in ("names", "tags", "links"):
            connection.execute(f"DELETE FROM {table} WHERE page_id = ?", (page_id,))
    else:
        version = _last_version(connection, page.slug) + 1
        cursor = connection.execute(
            "INSERT INTO pages (slug, path, title, type, wing, wing_reason, room, room_reason, "
            "date, first_day, last_day, sha256, bytes, vault_id, source_sha256, updated_at, tags, "
            "aliases, meta, front_matter, compiled_truth, timeline, version, created_at) "
            "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (*shared, version, now),
        )
        assert cursor.lastrowid is not None
        page_id = cursor.lastrowid
    connection.execute(
        "INSERT INTO pages_fts (rowid, title, slug, compiled_truth, timeline, tags, aliases) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (page_id, page.title, page.slug, page.compiled_truth, page.timeline, tags, aliases),
    )
    _write_references(connection, page_id, page)
    chunks.replace(connection, page_id, page.title, page.chunks, fresh=old is None or retitled)
    chunks.enqueue(connection, page_id, now)
    return Written(page.slug, version, "updated" if old else "created")


def _write_references(connection: sqlite3.Connection, page_id: int, page: Page) -> None:
    names = [("slug", page.slug), ("name", page.slug.rpartition("/")[2]), ("title", page.title)]
    names += [("alias", alias) for alias in page.aliases]
    keyed = {(fold(name), kind) for kind, name in names}
    connection.executemany(
        "INSERT INTO names (key, page_id, kind, reversed) VALUES (?, ?, ?, ?)",
        [(key, page_id, kind, key[::-1]) for key, kind in keyed if key],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO tags (tag, page_id) VALUES (?, ?)",
        [(tag, page_id) for tag in page.tags],
    )
    connection.executemany(
        "INSERT INTO links (page_id, position, line, kind, target, key, heading, label) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (page_id, n, link.line, link.kind, link.target, fold(link.target), link.heading,
             link.label)
            for n, link in enumerate(page.links)
        ],
    )  # fmt: skip


def _unindex(connection: sqlite3.Connection, page_id: int) -> None:
    connection.execute(
        "INSERT INTO pages_fts (pages_fts, rowid, title, slug, compiled_truth, timeline, tags, "
        "aliases) SELECT 'delete', id, title, slug, compiled_truth, timeline, tags, aliases "
        "FROM pages WHERE id = ?",
        (page_id,),
    )


def delete_page(
    connection: sqlite3.Connection, slug: str, now: str, *, expected_version: int | None = None
) -> Stored:
    """Removes a page; its text stays in the history."""
    old = require_page(connection, slug)
    if expected_version is not None and expected_version != old.version:
        raise Conflict(
            f"{slug} is at version {old.version}, not at version {expected_version}",
            code="version_conflict",
        )
    keep_version(connection, old, now, "deleted")
    _unindex(connection, old.id)
    chunks.remove(connection, old.id)
    connection.execute("DELETE FROM pages WHERE id = ?", (old.id,))
    return old


# --- history ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a page; `ending` says what became of it, None for the one that stands."""

    version: int
    slug: str
    sha256: bytes
    size: int
    written_at: str
    ending: Ending | None


def keep_version(connection: sqlite3.Connection, page: Stored, now: str, ending: Ending) -> None:
    """Puts the page's present text into its history."""
    content = zlib.compress(page_text(connection, page.id).encode())
    connection.execute(
        "INSERT INTO versions (page_id, version, slug, path, sha256, bytes, written_at, ended_at, "
        "ending, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (page.id, page.version, page.slug, page.path, page.sha256, page.size, page.updated_at,
         now, ending, content),
    )  # fmt: skip


def _last_version(connection: sqlite3.Connection, slug: str) -> int:
    row = connection.execute("SELECT max(version) FROM versions WHERE slug = ?", (slug,)).fetchone()
    return row[0] or 0


def _last_holder(connection: sqlite3.Connection, slug: str) -> int:
    """The number of the deleted page that was the last to be called `slug`."""
    row = connection.execute(
        "SELECT page_id FROM versions WHERE slug = ? ORDER BY version DESC LIMIT 1", (slug,)
    ).fetchone()
    return row[0] if row else -1


def versions(connection: sqlite3.Connection, slug: str) -> list[Version]:
    """All states of the page, oldest first, also of one that was deleted."""
    page = find_page(connection, slug)
    rows = connection.execute(
        "SELECT version, slug, sha256, bytes, written_at, ending FROM versions "
        "WHERE page_id = ? OR slug = ? ORDER BY version, written_at",
        (page.id if page else _last_holder(connection, slug), slug),
    )
    known = [Version(*row) for row in rows]
    if page:
        known.append(
            Version(page.version, page.slug, page.sha256, page.size, page.updated_at, None)
        )
    if not known:
        require_page(connection, slug)
    return known


def version_text(connection: sqlite3.Connection, slug: str, version: int) -> str:
    """The text of one version; raises NotFound with the versions there are."""
    page = find_page(connection, slug)
    if page and page.version == version:
        return page_text(connection, page.id)
    row = connection.execute(
        "SELECT content FROM versions WHERE (page_id = ? OR slug = ?) AND version = ?",
        (page.id if page else _last_holder(connection, slug), slug, version),
    ).fetchone()
    if row is None:
        numbers = [str(known.version) for known in versions(connection, slug)]
        raise NotFound(
            f"{slug} has no version {version}", hint=f"It has {', '.join(numbers[-10:])}."
        )
    return zlib.decompress(row[0]).decode()


# --- reading many ----------------------------------------------------------------------------


def list_pages(
    connection: sqlite3.Connection, scope: Scope, limit: int | None
) -> tuple[list[Stored], int]:
    """The first `limit` pages of the scope by slug, and how many there are."""
    within = page_condition(scope)
    total = connection.execute(
        f"SELECT count(*) FROM pages WHERE {within.sql}", within.values
    ).fetchone()[0]
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM pages WHERE {within.sql} ORDER BY slug LIMIT ?",
        (*within.values, -1 if limit is None else limit),
    )
    return [_stored(row) for row in rows], total


def every_page(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """(path, text) of each page, one at a time."""
    for path, front, truth, timeline in connection.execute(
        "SELECT path, front_matter, compiled_truth, timeline FROM pages ORDER BY path"
    ):
        yield path, front + truth + timeline


def page_meta(connection: sqlite3.Connection, page_id: int) -> dict[str, object]:
    """The page's front matter as values."""
    row = connection.execute("SELECT meta FROM pages WHERE id = ?", (page_id,)).fetchone()
    meta: dict[str, object] = json.loads(row[0])
    return meta
