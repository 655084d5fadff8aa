"""The folders a brain was filled from, and what it knows of their files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Folder:
    id: int
    root: str


@dataclass(frozen=True, slots=True)
class PageSource:
    """What the brain knows of a page; `source_sha256` is the file as it was last taken in."""

    slug: str
    path: str
    sha256: bytes
    source_sha256: bytes | None
    folder_id: int | None


def list_folders(connection: sqlite3.Connection) -> list[Folder]:
    """The folders in the order they were added."""
    return [Folder(*row) for row in connection.execute("SELECT id, root FROM vaults ORDER BY id")]


def add_folder(connection: sqlite3.Connection, root: str, now: str) -> Folder:
    connection.execute("INSERT OR IGNORE INTO vaults (root, added_at) VALUES (?, ?)", (root, now))
    row = connection.execute("SELECT id, root FROM vaults WHERE root = ?", (root,)).fetchone()
    return Folder(*row)


def record_written_files(
    connection: sqlite3.Connection, root: str, files: Iterable[tuple[str, bytes]]
) -> None:
    """Remembers paths and hashes of files below `root` that now hold what their pages hold.

    Only pages that came from there: one put by hand is not the folder's until a file is taken in.
    """
    connection.executemany(
        "UPDATE pages SET source_sha256 = sha256 WHERE path = ? AND sha256 = ? "
        "AND vault_id = (SELECT id FROM vaults WHERE root = ?)",
        ((path, digest, root) for path, digest in files),
    )


_KNOWN = "SELECT slug, path, sha256, source_sha256, vault_id FROM pages"


def page_sources(connection: sqlite3.Connection) -> dict[str, PageSource]:
    """Every page by slug."""
    return {row[0]: PageSource(*row) for row in connection.execute(_KNOWN)}


def find_page_source(connection: sqlite3.Connection, slug: str) -> PageSource | None:
    """The page called `slug`, if there is one."""
    row = connection.execute(f"{_KNOWN} WHERE slug = ?", (slug,)).fetchone()
    return PageSource(*row) if row else None


def page_file_paths(connection: sqlite3.Connection, slugs: Iterable[str]) -> dict[str, Path]:
    """The file of each page that came from one, by slug; whether it still exists is not asked.

    A crafted brain may name any file: one that is no page is left out, for it may be clicked on.
    """
    rows = connection.execute(
        "SELECT slug, root, path FROM pages JOIN vaults ON vaults.id = vault_id "
        "WHERE slug IN (SELECT value FROM json_each(?)) AND "
        "(path LIKE '%.md' OR path LIKE '%.markdown')",
        (json.dumps(list(slugs)),),
    )
    return {slug: Path(root, path) for slug, root, path in rows}
