"""Read stored pages: find by slug, list, read text, front matter and tags."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from gbrain.errors import NotFound
from gbrain.messages import did_you_mean, similar_names
from gbrain.store.scope import page_condition
from gbrain.types import Scope


class StoredPage(NamedTuple):
    """A stored page without its text; times are ISO 8601 in UTC, `size` is in bytes."""

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
    folder_id: int | None
    source_sha256: bytes | None
    created_at: str
    updated_at: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]


_COLUMNS = (
    "pages.id, slug, path, title, type, wing, wing_reason, room, room_reason, date, version, "
    "sha256, bytes, vault_id, source_sha256, created_at, updated_at, tags, aliases"
)


def _stored(row: tuple[Any, ...]) -> StoredPage:
    *plain, tags, aliases = row
    values = [*plain, tuple(tags.splitlines()), tuple(aliases.splitlines())]
    return StoredPage(*values)


def find_page(connection: sqlite3.Connection, slug: str) -> StoredPage | None:
    """Return the page with this slug; None if there is none."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM pages WHERE slug = ?", (slug,)).fetchone()
    return _stored(row) if row else None


def require_page(connection: sqlite3.Connection, slug: str) -> StoredPage:
    """Return the page with this slug; raise NotFound, with similar slugs, if there is none."""
    page = find_page(connection, slug)
    if page is None:
        near = nearest_slugs(connection, slug)
        raise NotFound(
            f"There is no page {slug}",
            hint=did_you_mean(near, "gbrain list shows the pages."),
        )
    return page


def nearest_slugs(connection: sqlite3.Connection, slug: str) -> list[str]:
    """Return up to three slugs that look like `slug`, most similar first."""
    name = slug.rpartition("/")[2]
    rows = connection.execute(
        "SELECT slug FROM pages WHERE instr(slug, ?) OR instr(slug, ?) LIMIT 2000",
        (name[:4], name[-4:]),
    )
    slugs = {row[0].rpartition("/")[2]: row[0] for row in rows}
    return [slugs[match] for match in similar_names(name, slugs, limit=3)]


def page_text(connection: sqlite3.Connection, page_id: int) -> str:
    """Return the page's complete text, front matter included."""
    row = connection.execute(
        "SELECT front_matter, compiled_truth, timeline FROM pages WHERE id = ?", (page_id,)
    ).fetchone()
    return "".join(row)


def page_body(connection: sqlite3.Connection, page_id: int) -> str:
    """Return the page's text without its front matter."""
    row = connection.execute(
        "SELECT compiled_truth, timeline FROM pages WHERE id = ?", (page_id,)
    ).fetchone()
    return "".join(row)


def list_pages(
    connection: sqlite3.Connection, scope: Scope, limit: int | None
) -> tuple[list[StoredPage], int]:
    """Return the first `limit` pages in scope, by slug, and how many there are."""
    within = page_condition(scope)
    total = connection.execute(
        f"SELECT count(*) FROM pages WHERE {within.sql}", within.values
    ).fetchone()[0]
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM pages WHERE {within.sql} ORDER BY slug LIMIT ?",
        (*within.values, -1 if limit is None else limit),
    )
    return [_stored(row) for row in rows], total


def page_texts(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every page, by path."""
    for path, front, truth, timeline in connection.execute(
        "SELECT path, front_matter, compiled_truth, timeline FROM pages ORDER BY path"
    ):
        yield path, front + truth + timeline


def front_matter_values(connection: sqlite3.Connection, page_id: int) -> dict[str, object]:
    """Return the page's front matter as a dictionary."""
    row = connection.execute("SELECT meta FROM pages WHERE id = ?", (page_id,)).fetchone()
    meta: dict[str, object] = json.loads(row[0])
    return meta


def tag_counts(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    """Return tags with their number of pages, most used first.

    Spellings that differ only in case count as the most used one.
    """
    rows = connection.execute(
        "SELECT tag, count(*) FROM tags GROUP BY tag COLLATE BINARY ORDER BY count(*) DESC, tag"
    )
    spelling: dict[str, str] = {}
    counts: dict[str, int] = {}
    for tag, count in rows:
        kept = spelling.setdefault(tag.lower(), tag)
        counts[kept] = counts.get(kept, 0) + count
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def count_pages(connection: sqlite3.Connection) -> int:
    """Return the number of pages."""
    count: int = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
    return count


def all_slugs(connection: sqlite3.Connection) -> set[str]:
    """Return the slug of every page."""
    return {row[0] for row in connection.execute("SELECT slug FROM pages")}


def page_paths(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return (slug, path) of every page, by slug."""
    return connection.execute("SELECT slug, path FROM pages ORDER BY slug").fetchall()


def export_records(connection: sqlite3.Connection) -> Iterator[dict[str, object]]:
    """Yield every page with its metadata and text as one record, by path."""
    keys = ("path", "slug", "title", "type", "wing", "room", "date", "version", "created_at",
            "updated_at", "tags", "aliases", "text")  # fmt: skip
    rows = connection.execute(
        f"SELECT {', '.join(keys[:-1])}, front_matter || compiled_truth || timeline "
        "FROM pages ORDER BY path"
    )
    for *metadata, tags, aliases, text in rows:
        values = (*metadata, tags.splitlines(), aliases.splitlines(), text)
        yield dict(zip(keys, values, strict=True))
