"""Pages whose text here and on a remote changed in ways that could not be merged."""

from __future__ import annotations

import sqlite3
from typing import Literal, NamedTuple

# The page has our text, and theirs is in its history; it has our text, and they deleted it; we
# deleted it, and it came back with their text.
ConflictKind = Literal["both_changed", "deleted_there", "deleted_here"]


class RemoteConflict(NamedTuple):
    """A conflict with a remote; `version` is that of their text in the page's history.

    `base_sha256` is the hash of the last common text, None if there was none.
    """

    slug: str
    remote: str
    kind: ConflictKind
    version: int | None
    base_sha256: bytes | None
    found_at: str


_SELECT = (
    "SELECT slug, remotes.name, kind, version, base_sha256, found_at FROM remote_conflicts "
    "JOIN remotes ON remotes.id = remote_id"
)


def list_remote_conflicts(
    connection: sqlite3.Connection, remote_id: int | None = None
) -> list[RemoteConflict]:
    """Return the conflicts, with one remote or with all, by slug."""
    rows = connection.execute(
        f"{_SELECT} WHERE ?1 IS NULL OR remote_id = ?1 ORDER BY slug, remotes.id", (remote_id,)
    )
    return [RemoteConflict(*row) for row in rows]


def find_remote_conflict(
    connection: sqlite3.Connection, slug: str, remote_id: int | None = None
) -> RemoteConflict | None:
    """Return the page's conflict, with one remote or the first with any; None if it has none."""
    row = connection.execute(
        f"{_SELECT} WHERE slug = ?1 AND (?2 IS NULL OR remote_id = ?2) ORDER BY remotes.id LIMIT 1",
        (slug, remote_id),
    ).fetchone()
    return RemoteConflict(*row) if row else None


def record_remote_conflict(
    connection: sqlite3.Connection,
    remote_id: int,
    slug: str,
    kind: ConflictKind,
    version: int | None,
    base_sha256: bytes | None,
    now: str,
) -> None:
    """Record a conflict of a page with a remote, instead of an earlier one."""
    connection.execute(
        "INSERT OR REPLACE INTO remote_conflicts "
        "(remote_id, slug, kind, version, base_sha256, found_at) VALUES (?, ?, ?, ?, ?, ?)",
        (remote_id, slug, kind, version, base_sha256, now),
    )


def remove_remote_conflict(
    connection: sqlite3.Connection, slug: str, remote: str | None = None
) -> None:
    """Forget the page's conflict with a remote, or with all; both texts stay in its history."""
    connection.execute(
        "DELETE FROM remote_conflicts WHERE slug = ?1 "
        "AND (?2 IS NULL OR remote_id = (SELECT id FROM remotes WHERE name = ?2))",
        (slug, remote),
    )
