"""Pages whose text and file, or text here and on a remote, could not be merged."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from gbrain.store.history import text_with_hash, version_text
from gbrain.store.pages import StoredPage, find_page, page_text, require_page
from gbrain.store.remote_conflicts import (
    ConflictKind,
    RemoteConflict,
    find_remote_conflict,
    list_remote_conflicts,
)


class PageConflict(NamedTuple):
    """A page with a conflict; `version` is the other text of the page, in its history.

    With its file: the page has the file's text now, and the other is the brain's. With a remote:
    the page has the brain's text, and the other is the remote's, unless one side deleted the page.
    """

    slug: str
    path: str
    root: str | None
    version: int
    found_at: str
    remote: str | None = None
    kind: ConflictKind = "both_changed"


class ConflictTexts(NamedTuple):
    """The three texts of a conflict; `base` is None if both sides had none in common.

    `theirs` is the text of the file, or of the remote. A side that deleted the page has None.
    `current` is the version number of the page, and `version` that of the text it does not have.
    """

    base: str | None
    brain: str | None
    theirs: str | None
    current: int
    version: int
    remote: str | None = None


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
    found = [PageConflict(*row) for row in rows]
    for each in list_remote_conflicts(connection):
        page = find_page(connection, each.slug)
        # The page may have been deleted since; then it waits to be deleted on the remote.
        if page:
            found.append(_with_remote(page, each))
    return sorted(found, key=lambda conflict: conflict.slug)


def _with_remote(page: StoredPage, conflict: RemoteConflict) -> PageConflict:
    return PageConflict(
        page.slug,
        page.path,
        None,
        conflict.version or page.version,
        conflict.found_at,
        conflict.remote,
        conflict.kind,
    )


def find_conflict(connection: sqlite3.Connection, slug: str) -> PageConflict | None:
    """Return the page's oldest conflict; None if it has none. Raises NotFound for no page."""
    page = require_page(connection, slug)
    row = connection.execute(
        f"{_SELECT} WHERE page_id = ? ORDER BY conflicts.version LIMIT 1", (page.id,)
    ).fetchone()
    if row:
        return PageConflict(*row)
    with_remote = find_remote_conflict(connection, slug)
    return _with_remote(page, with_remote) if with_remote else None


def conflict_texts(connection: sqlite3.Connection, conflict: PageConflict) -> ConflictTexts:
    """Return the texts to merge."""
    page = require_page(connection, conflict.slug)
    if conflict.remote:
        return _texts_with_remote(connection, page, conflict)
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


def _texts_with_remote(
    connection: sqlite3.Connection, page: StoredPage, conflict: PageConflict
) -> ConflictTexts:
    known = find_remote_conflict(connection, conflict.slug)
    assert known is not None
    base = known.base_sha256
    brain: str | None = page_text(connection, page.id)
    theirs: str | None = None
    if known.kind == "deleted_here":
        brain, theirs = None, brain
    elif known.version is not None:
        theirs = version_text(connection, conflict.slug, known.version)
    return ConflictTexts(
        text_with_hash(connection, page.id, base) if base else None,
        brain,
        theirs,
        page.version,
        conflict.version,
        conflict.remote,
    )


def remove_conflict(connection: sqlite3.Connection, page_id: int, version: int) -> None:
    """Forget the conflict about this version of the page; both texts stay in its history."""
    connection.execute(
        "DELETE FROM conflicts WHERE page_id = ? AND version = ?", (page_id, version)
    )
