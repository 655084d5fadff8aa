"""Keep earlier versions of pages, list them and read them back."""

from __future__ import annotations

import sqlite3
import zlib
from dataclasses import dataclass
from typing import Literal

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
    """Return all versions of the page, oldest first; also of a deleted page."""
    rows = connection.execute(
        "SELECT version, slug, sha256, bytes, written_at, ending, ended_at FROM versions "
        "WHERE page_id = ? ORDER BY version",
        (_page_id(connection, slug),),
    )
    versions = [Version(*row) for row in rows]
    page = find_page(connection, slug)
    if page:
        versions.append(
            Version(page.version, page.slug, page.sha256, page.size, page.updated_at, None)
        )
    return versions


def version_text(connection: sqlite3.Connection, slug: str, version: int) -> str:
    """Return the text of one version; raise NotFound, with the existing ones, if missing."""
    return _path_and_text(connection, slug, version)[1]


def page_at_version(
    connection: sqlite3.Connection, slug: str, version: int
) -> tuple[StoredPage, str, str]:
    """Return a page as it was in a version: its row, its front matter as JSON, and its text."""
    path, text = _path_and_text(connection, slug, version)
    versions = list_versions(connection, slug)
    then = next(each for each in versions if each.version == version)
    page = parse_page(path, text.encode())
    stored = StoredPage(
        id=_page_id(connection, slug),
        slug=then.slug,
        path=path,
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
        created_at=versions[0].written_at,
        updated_at=then.written_at,
        tags=page.tags,
        aliases=page.aliases,
    )
    return stored, page.meta, text


def last_deleted(connection: sqlite3.Connection, slug: str) -> tuple[int, int] | None:
    """Return (page id, last version) of the page deleted last under this slug, if any."""
    # The page may have been restored and deleted again under another slug.
    row = connection.execute(
        "SELECT page_id, (SELECT max(version) FROM versions WHERE page_id = v.page_id) "
        "FROM versions AS v WHERE slug = ? AND ending = 'deleted' "
        "AND NOT EXISTS (SELECT 1 FROM pages WHERE pages.id = v.page_id) "
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


def _path_and_text(connection: sqlite3.Connection, slug: str, version: int) -> tuple[str, str]:
    """Return path and text of one version."""
    page = find_page(connection, slug)
    if page and page.version == version:
        return page.path, page_text(connection, page.id)
    row = connection.execute(
        "SELECT path, content FROM versions WHERE page_id = ? AND version = ?",
        (_page_id(connection, slug), version),
    ).fetchone()
    if row is None:
        numbers = [str(known.version) for known in list_versions(connection, slug)]
        raise NotFound(
            f"{slug} has no version {version}", hint=f"Its versions are {', '.join(numbers[-10:])}."
        )
    return row[0], decompress_version(row[1])


def _page_id(connection: sqlite3.Connection, slug: str) -> int:
    """Return the id of the page with this slug, or of the last one deleted under it."""
    page = find_page(connection, slug)
    if page:
        return page.id
    deleted = last_deleted(connection, slug)
    return deleted[0] if deleted else require_page(connection, slug).id
