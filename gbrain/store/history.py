"""Keep earlier versions of pages, list them and read them back."""

from __future__ import annotations

import sqlite3
import zlib
from dataclasses import dataclass
from typing import Literal, NamedTuple

from gbrain.errors import NotFound
from gbrain.store.pages import StoredPage, find_page, page_text, require_page
from gbrain.text.page import MAX_PAGE_BYTES, parse_page

Ending = Literal["replaced", "deleted", "renamed"]


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
        "ORDER BY ended_at DESC, version DESC LIMIT 1",
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
    page_id = page.id if page else _last_holder(connection, slug)
    rows = connection.execute(
        "SELECT version, slug, sha256, bytes, written_at, ending, ended_at, page_id, path "
        "FROM versions WHERE page_id = ?2 OR slug = ?1 ORDER BY slug = ?1, page_id = ?2, ended_at",
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


def _last_holder(connection: sqlite3.Connection, slug: str) -> int:
    """Return the id of the page deleted last under this slug, or else renamed from it last."""
    deleted = last_deleted(connection, slug)
    if deleted:
        return deleted[0]
    row = connection.execute(
        "SELECT page_id FROM versions WHERE slug = ? ORDER BY ended_at DESC LIMIT 1", (slug,)
    ).fetchone()
    return row[0] if row else require_page(connection, slug).id
