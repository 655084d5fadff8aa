"""How the files of pages, and the folders of these files, were when gbrain last saw them.

A page without a row has not been seen with its file since the brain was restored from a backup.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping


def record_with_file(connection: sqlite3.Connection, page_id: int) -> None:
    """Record that the page has a file."""
    connection.execute("INSERT OR IGNORE INTO page_files (page_id) VALUES (?)", (page_id,))


def record_seen_files(
    connection: sqlite3.Connection,
    folder_id: int,
    files: Iterable[tuple[str, str, str | None]],
) -> None:
    """Record that files of a folder are there: (path, stamp, identity of the folder it is in)."""
    connection.executemany(
        "INSERT INTO page_files (page_id, stamp, folder) "
        "SELECT id, ?2, ?3 FROM pages WHERE path = ?1 AND vault_id = ?4 ON CONFLICT (page_id) "
        "DO UPDATE SET stamp = excluded.stamp, folder = excluded.folder, missing = NULL",
        [(*file, folder_id) for file in files],
    )


def record_missing_files(connection: sqlite3.Connection, missing: Mapping[int, str]) -> None:
    """Record why pages without a file were not deleted, by page id."""
    connection.executemany(
        "UPDATE page_files SET missing = ? WHERE page_id = ?",
        [(reason, page_id) for page_id, reason in missing.items()],
    )


def count_missing_files(connection: sqlite3.Connection, folder_id: int) -> int:
    """Return how many pages of a folder stayed although the last sync did not find their file."""
    count: int = connection.execute(
        "SELECT count(*) FROM page_files JOIN pages ON pages.id = page_id "
        "WHERE vault_id = ? AND missing IS NOT NULL",
        (folder_id,),
    ).fetchone()[0]
    return count


def forget_file(connection: sqlite3.Connection, page_id: int) -> None:
    """Forget the file of a page: it is written again if it is not there."""
    connection.execute("DELETE FROM page_files WHERE page_id = ?", (page_id,))


def forget_files(connection: sqlite3.Connection, folder_id: int) -> None:
    """Forget the files of a folder's pages, and its folders."""
    connection.execute(
        "DELETE FROM page_files WHERE page_id IN (SELECT id FROM pages WHERE vault_id = ?)",
        (folder_id,),
    )
    connection.execute("DELETE FROM page_folders WHERE vault_id = ?", (folder_id,))


def seen_folders(connection: sqlite3.Connection, folder_id: int) -> dict[str, str]:
    """Return the identity of each folder below the root that had files, by path; "" is the root."""
    rows = connection.execute(
        "SELECT path, identity FROM page_folders WHERE vault_id = ?", (folder_id,)
    )
    return dict(rows.fetchall())


def record_seen_folders(
    connection: sqlite3.Connection, folder_id: int, identities: Mapping[str, str]
) -> None:
    """Record the identity of folders, by path."""
    connection.executemany(
        "INSERT OR REPLACE INTO page_folders (vault_id, path, identity) VALUES (?, ?, ?)",
        [(folder_id, path, identity) for path, identity in identities.items()],
    )


def last_ignore_rules(connection: sqlite3.Connection, root: str) -> bytes | None:
    """Return the hash of the ignore file with which a folder was imported last, if it was."""
    row = connection.execute(
        "SELECT sha256 FROM folder_rules JOIN vaults ON vaults.id = vault_id WHERE root = ?",
        (root,),
    ).fetchone()
    return row[0] if row else None


def record_ignore_rules(connection: sqlite3.Connection, folder_id: int, sha256: bytes) -> None:
    """Record the hash of the ignore file with which a folder is imported."""
    connection.execute(
        "INSERT OR REPLACE INTO folder_rules (vault_id, sha256) VALUES (?, ?)", (folder_id, sha256)
    )
