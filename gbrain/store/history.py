"""Keep earlier versions of pages, list them and read them back."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from dataclasses import dataclass
from typing import Literal, NamedTuple

from gbrain.errors import NotFound
from gbrain.store.pages import StoredPage, find_page, page_text, require_page
from gbrain.text.page import MAX_PAGE_BYTES, parse_page

# `guessed`: renamed, because a new file had nearly the text of the page whose file was gone.
Ending = Literal["replaced", "deleted", "renamed", "guessed", "undone"]


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a page; `ending` says how it ended, None for the current one."""

    version: int
    slug: str
    sha256: bytes
    size: int
    written_at: str
    ending: Ending | None
    ended_at: str | None = None


def record_change(
    connection: sqlite3.Connection, page_id: int, version: int, *, deleted: bool = False
) -> None:
    """Give a write of a page, or its deletion, the next number in the order of all changes."""
    connection.execute(
        "INSERT INTO changes (page_id, version, deleted) VALUES (?, ?, ?)",
        (page_id, version, deleted),
    )


def sequence_of_end(versions: str) -> str:
    """Return SQL for the number of the change that ended a version: its deletion or next write."""
    return (
        "(SELECT min(sequence) FROM changes AS ending WHERE "
        f"ending.page_id = {versions}.page_id AND ending.version >= {versions}.version "
        f"AND (ending.deleted OR ending.version > {versions}.version))"
    )


def save_version(
    connection: sqlite3.Connection, page: StoredPage, now: str, ending: Ending
) -> None:
    """Store the page's current text as a version, before it changes."""
    content = zlib.compress(page_text(connection, page.id).encode())
    connection.execute(
        "INSERT INTO versions (page_id, version, slug, path, sha256, bytes, written_at, ended_at, "
        "ending, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (page.id, page.version, page.slug, page.path, page.sha256, page.size, page.updated_at,
         now, ending, content),
    )  # fmt: skip


def save_file_text(connection: sqlite3.Connection, slug: str, data: bytes, now: str) -> None:
    """Store the text of a page's file as a version before it is overwritten.

    The page itself gets the number after it. Nothing is done for a text that the history has.
    Raises UnicodeDecodeError if it is not UTF-8.
    """
    page = require_page(connection, slug)
    sha256 = hashlib.sha256(data).digest()
    if text_with_hash(connection, page.id, sha256) is not None:
        return
    data.decode()
    save_version(connection, page, now, "replaced")
    connection.execute(
        "INSERT INTO versions (page_id, version, slug, path, sha256, bytes, written_at, ended_at, "
        "ending, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'replaced', ?)",
        (page.id, page.version + 1, slug, page.path, sha256, len(data), now, now,
         zlib.compress(data)),
    )  # fmt: skip
    connection.execute(
        "UPDATE pages SET version = ?, updated_at = ? WHERE id = ?",
        (page.version + 2, now, page.id),
    )
    record_change(connection, page.id, page.version + 1)
    record_change(connection, page.id, page.version + 2)


def mark_guessed(connection: sqlite3.Connection, page_id: int, version: int) -> None:
    """Record that the rename that ended a version was guessed from the text of a new file."""
    connection.execute(
        "UPDATE versions SET ending = 'guessed' WHERE page_id = ? AND version = ?",
        (page_id, version),
    )


def list_versions(connection: sqlite3.Connection, slug: str) -> list[Version]:
    """Return all versions under this slug, oldest first; also of a deleted or renamed page.

    A page that was renamed to the slug brings its earlier versions, except those whose number
    belongs to another page that had this slug.
    """
    return [row.version for _, row in sorted(_version_rows(connection, slug).items())]


def version_text(connection: sqlite3.Connection, slug: str, version: int) -> str:
    """Return the text of one version; raise NotFound, with the existing ones, if missing."""
    return _row_text(connection, _require_version(connection, slug, version))


def page_at_version(
    connection: sqlite3.Connection, slug: str, version: int
) -> tuple[StoredPage, str, str]:
    """Return a page as it was in a version: its row, its front matter as JSON, and its text."""
    row = _require_version(connection, slug, version)
    then, text = row.version, _row_text(connection, row)
    page = parse_page(row.path, text.encode())
    created_at = connection.execute(
        "SELECT min(written_at) FROM versions WHERE page_id = ?", (row.page_id,)
    ).fetchone()[0]
    stored = StoredPage(
        id=row.page_id,
        slug=then.slug,
        path=row.path,
        title=page.title,
        type=page.type,
        wing=page.wing,
        wing_reason=page.wing_reason,
        room=page.room,
        room_reason=page.room_reason,
        date=page.date,
        version=version,
        sha256=then.sha256,
        size=then.size,
        folder_id=None,
        source_sha256=None,
        created_at=created_at or then.written_at,
        updated_at=then.written_at,
        tags=page.tags,
        aliases=page.aliases,
    )
    return stored, page.meta, text


def last_version(connection: sqlite3.Connection, slug: str) -> int:
    """Return the highest version number that a page had under this slug before, 0 if none had it.

    A new number is above it: each number under a slug names one text, although a page was deleted
    or renamed and another one has its name.
    """
    row = connection.execute("SELECT max(version) FROM versions WHERE slug = ?", (slug,)).fetchone()
    return row[0] or 0


# The first parameter is the slug. The page may have been restored and deleted again under another.
_DELETED_UNDER_SLUG = (
    "page_id IN (SELECT page_id FROM versions WHERE slug = ?1 AND ending = 'deleted') "
    "AND NOT EXISTS (SELECT 1 FROM pages WHERE pages.id = page_id)"
)


def last_deleted(connection: sqlite3.Connection, slug: str) -> tuple[int, int] | None:
    """Return (page id, last version) of the page deleted last under this slug, if any."""
    row = connection.execute(
        "SELECT page_id, (SELECT max(version) FROM versions WHERE page_id = v.page_id) "
        f"FROM versions AS v WHERE slug = ?1 AND ending = 'deleted' AND {_DELETED_UNDER_SLUG} "
        f"ORDER BY {sequence_of_end('v')} DESC LIMIT 1",
        (slug,),
    ).fetchone()
    return (row[0], row[1]) if row else None


def had_content(connection: sqlite3.Connection, slug: str, sha256: bytes) -> bool:
    """Return whether the page had a text with this hash in an earlier version."""
    row = connection.execute(
        "SELECT 1 FROM versions WHERE page_id = (SELECT id FROM pages WHERE slug = ?) "
        "AND sha256 = ? LIMIT 1",
        (slug, sha256),
    )
    return row.fetchone() is not None


def all_digests(connection: sqlite3.Connection) -> set[bytes]:
    """Return the SHA-256 of every text that a page has or had."""
    rows = connection.execute("SELECT sha256 FROM versions UNION SELECT sha256 FROM pages")
    return {row[0] for row in rows}


def text_with_hash(connection: sqlite3.Connection, page_id: int, sha256: bytes) -> str | None:
    """Return the page's text, today's or an earlier one, that has this hash; None if none has."""
    row = connection.execute("SELECT sha256 FROM pages WHERE id = ?", (page_id,)).fetchone()
    if row and row[0] == sha256:
        return page_text(connection, page_id)
    version = latest_version_with_hash(connection, page_id, sha256)
    if not version:
        return None
    content = connection.execute(
        "SELECT content FROM versions WHERE page_id = ? AND version = ?", (page_id, version)
    ).fetchone()[0]
    return decompress_version(content)


def others_had_text(connection: sqlite3.Connection, page_id: int, sha256: bytes) -> bool:
    """Return whether another page has or had a text with this hash, as of a template."""
    row = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM pages WHERE sha256 = ?2 AND id <> ?1) OR "
        "EXISTS (SELECT 1 FROM versions WHERE sha256 = ?2 AND page_id <> ?1)",
        (page_id, sha256),
    ).fetchone()
    return bool(row[0])


def latest_version_with_hash(
    connection: sqlite3.Connection, page_id: int, sha256: bytes | None
) -> int:
    """Return the number of the page's last earlier version with this text; 0 if there is none."""
    row = connection.execute(
        "SELECT max(version) FROM versions WHERE page_id = ? AND sha256 = ?", (page_id, sha256)
    ).fetchone()
    return row[0] or 0


def decompress_version(content: bytes) -> str:
    """Return the text of a stored version; raise ValueError or zlib.error if it is corrupt.

    The size is limited, because a few bytes in a crafted file could expand to fill the memory.
    """
    decompressor = zlib.decompressobj()
    data = decompressor.decompress(content, MAX_PAGE_BYTES + 1)
    if not decompressor.eof or len(data) > MAX_PAGE_BYTES:
        raise ValueError("the version is truncated or too large")
    return data.decode()


def delete_all_versions(connection: sqlite3.Connection) -> None:
    """Delete the earlier versions of every page."""
    connection.execute("DELETE FROM versions")


class _VersionRow(NamedTuple):
    """A version with the page that it belongs to; the current one has no row in `versions`."""

    version: Version
    page_id: int
    path: str


def _version_rows(connection: sqlite3.Connection, slug: str) -> dict[int, _VersionRow]:
    """Return the versions under this slug by number.

    A number belongs to the page that had the slug then, not to one that was renamed to it later.
    Raises NotFound if no page has ever had the slug.
    """
    page = find_page(connection, slug)
    page_id = page.id if page else last_holder(connection, slug)
    rows = connection.execute(
        "SELECT version, slug, sha256, bytes, written_at, ending, ended_at, page_id, path "
        "FROM versions WHERE page_id = ?2 OR slug = ?1 "
        f"ORDER BY slug = ?1, page_id = ?2, {sequence_of_end('versions')}",
        (slug, page_id),
    )
    found = {row[0]: _VersionRow(Version(*row[:7]), *row[7:]) for row in rows}
    if page:
        current = Version(page.version, slug, page.sha256, page.size, page.updated_at, None)
        found[page.version] = _VersionRow(current, page.id, page.path)
    return found


def _require_version(connection: sqlite3.Connection, slug: str, version: int) -> _VersionRow:
    found = _version_rows(connection, slug)
    if version not in found:
        numbers = ", ".join(map(str, sorted(found)[-10:]))
        raise NotFound(f"{slug} has no version {version}", hint=f"Its versions are {numbers}.")
    return found[version]


def _row_text(connection: sqlite3.Connection, row: _VersionRow) -> str:
    if row.version.ending is None:
        return page_text(connection, row.page_id)
    content = connection.execute(
        "SELECT content FROM versions WHERE page_id = ? AND version = ?",
        (row.page_id, row.version.version),
    ).fetchone()[0]
    return decompress_version(content)


def last_holder(connection: sqlite3.Connection, slug: str) -> int:
    """Return the id of the page deleted last under this slug, or else renamed from it last."""
    deleted = last_deleted(connection, slug)
    if deleted:
        return deleted[0]
    row = connection.execute(
        "SELECT page_id FROM versions WHERE slug = ? "
        f"ORDER BY {sequence_of_end('versions')} DESC LIMIT 1",
        (slug,),
    ).fetchone()
    return row[0] if row else require_page(connection, slug).id
