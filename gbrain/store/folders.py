"""Registered folders of notes, and which file each page came from."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_SELECT_SOURCES = "SELECT slug, path, sha256, source_sha256, vault_id FROM pages"


@dataclass(frozen=True, slots=True)
class Folder:
    """A registered folder; `root` is its absolute path."""

    id: int
    root: str


@dataclass(frozen=True, slots=True)
class PageSource:
    """Which file a page came from; `source_sha256` is the file's hash at its last import."""

    slug: str
    path: str
    sha256: bytes
    source_sha256: bytes | None
    folder_id: int | None


def list_folders(connection: sqlite3.Connection) -> list[Folder]:
    """Return the folders in the order they were added."""
    return [Folder(*row) for row in connection.execute("SELECT id, root FROM vaults ORDER BY id")]


def find_folder(connection: sqlite3.Connection, root: str) -> Folder | None:
    """Return the registered folder with this real path; None if there is none."""
    row = connection.execute("SELECT id, root FROM vaults WHERE root = ?", (root,)).fetchone()
    return Folder(*row) if row else None


def add_folder(connection: sqlite3.Connection, root: str, now: str) -> Folder:
    """Register a folder, if it is new, and return it."""
    connection.execute("INSERT OR IGNORE INTO vaults (root, added_at) VALUES (?, ?)", (root, now))
    row = connection.execute("SELECT id, root FROM vaults WHERE root = ?", (root,)).fetchone()
    return Folder(*row)


def page_sources(connection: sqlite3.Connection) -> dict[str, PageSource]:
    """Return the source of every page, by slug."""
    return {row[0]: PageSource(*row) for row in connection.execute(_SELECT_SOURCES)}


def find_page_source(connection: sqlite3.Connection, slug: str) -> PageSource | None:
    """Return the source of the page with this slug; None if there is none."""
    row = connection.execute(f"{_SELECT_SOURCES} WHERE slug = ?", (slug,)).fetchone()
    return PageSource(*row) if row else None


def page_file_paths(connection: sqlite3.Connection, slugs: Iterable[str]) -> dict[str, Path]:
    """Return the path of each page's file, by slug; the file may no longer exist.

    Terminals make the paths clickable, so a path in a crafted brain that is not Markdown is left
    out.
    """
    rows = connection.execute(
        "SELECT slug, root, path FROM pages JOIN vaults ON vaults.id = vault_id "
        "WHERE slug IN (SELECT value FROM json_each(?)) AND "
        "(path LIKE '%.md' OR path LIKE '%.markdown')",
        (json.dumps(list(slugs)),),
    )
    return {slug: Path(root, path) for slug, root, path in rows}


def record_written_files(
    connection: sqlite3.Connection, root: str, files: Iterable[tuple[str, bytes]]
) -> None:
    """Record that these (path, sha256) files below `root` have the same text as their pages.

    Only for pages that came from this folder: a page added by hand belongs to it once it is
    imported.
    """
    connection.executemany(
        "UPDATE pages SET source_sha256 = sha256 WHERE path = ? AND sha256 = ? "
        "AND vault_id = (SELECT id FROM vaults WHERE root = ?)",
        ((path, digest, root) for path, digest in files),
    )
