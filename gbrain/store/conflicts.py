"""Pages whose text and file changed in ways that could not be merged."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from gbrain.store.history import text_with_hash, version_text
from gbrain.store.pages import page_text, require_page


class PageConflict(NamedTuple):
    """A page that has its file's text now; `version` is the brain's text, in its history."""

    slug: str
    path: str
    root: str | None
    version: int
    found_at: str


class ConflictTexts(NamedTuple):
    """The three texts of a conflict; `base` is None if the brain and the file had none in common.

    `current` is the version number of the page, whose text is the file's, and `version` that of the
    brain's text.
    """

    base: str | None
    brain: str
    file: str
    current: int
    version: int


_SELECT = (
    "SELECT slug, path, root, conflicts.version, found_at FROM conflicts "
    "JOIN pages ON pages.id = page_id LEFT JOIN vaults ON vaults.id = vault_id"
)


def record_conflict(
    connection: sqlite3.Connection, page_id: int, version: int, base: bytes | None, now: str
) -> None:
    """Record that `version` of the page could not be merged with its file."""
    connection.execute(
        "INSERT OR REPLACE INTO conflicts (page_id, version, base_sha256, found_at) "
        "VALUES (?, ?, ?, ?)",
        (page_id, version, base, now),
    )


def list_conflicts(connection: sqlite3.Connection) -> list[PageConflict]:
    """Return the conflicts that nobody has resolved, by slug, the oldest of a page first."""
    rows = connection.execute(f"{_SELECT} ORDER BY slug, conflicts.version")
    return [PageConflict(*row) for row in rows]


def find_conflict(connection: sqlite3.Connection, slug: str) -> PageConflict | None:
    """Return the page's oldest conflict; None if it has none. Raises NotFound for no page."""
    page = require_page(connection, slug)
    row = connection.execute(
        f"{_SELECT} WHERE page_id = ? ORDER BY conflicts.version LIMIT 1", (page.id,)
    ).fetchone()
    return PageConflict(*row) if row else None


def conflict_texts(connection: sqlite3.Connection, conflict: PageConflict) -> ConflictTexts:
    """Return the texts to merge."""
    page = require_page(connection, conflict.slug)
    base = connection.execute(
        "SELECT base_sha256 FROM conflicts WHERE page_id = ? AND version = ?",
        (page.id, conflict.version),
    ).fetchone()[0]
    return ConflictTexts(
        text_with_hash(connection, page.id, base) if base else None,
        version_text(connection, conflict.slug, conflict.version),
        page_text(connection, page.id),
        page.version,
        conflict.version,
    )


def remove_conflict(connection: sqlite3.Connection, page_id: int, version: int) -> None:
    """Forget the conflict about this version of the page; both texts stay in its history."""
    connection.execute(
        "DELETE FROM conflicts WHERE page_id = ? AND version = ?", (page_id, version)
    )
