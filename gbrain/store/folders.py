"""Registered folders of notes, and which file each page came from."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Literal, NamedTuple

from gbrain.errors import BadPage
from gbrain.store.seen_files import forget_file, forget_files, record_with_file

_SELECT_SOURCES = (
    "SELECT slug, path, sha256, source_sha256, vault_id, id, page_id IS NOT NULL, stamp, "
    "page_files.folder, missing "
    "FROM pages LEFT JOIN page_files ON page_id = id"
)


@dataclass(frozen=True, slots=True)
class Folder:
    """A registered folder; `root` is its absolute path."""

    id: int
    root: str


class PageSource(NamedTuple):
    """Which file a page came from; `source_sha256` is the file's hash at its last import.

    `seen` says that gbrain has seen the file since the brain was restored, `stamp` how it was then,
    `folder` the identity of the folder that it was in, and `missing` why its page was not deleted
    although it was not there at the last sync.
    """

    slug: str
    path: str
    sha256: bytes
    source_sha256: bytes | None
    folder_id: int | None
    page_id: int
    seen: bool
    stamp: str | None
    folder: str | None
    missing: str | None


@dataclass(frozen=True, slots=True)
class PageFile:
    """A page of a registered folder; it and its file are in step if the two hashes are equal."""

    page_id: int
    slug: str
    folder: Folder
    path: str
    sha256: bytes
    source_sha256: bytes | None


@dataclass(frozen=True, slots=True)
class FileRemoval:
    """A file to remove, because its page was deleted, or moved to another path.

    `sha256` is the hash that the file had when it was in step with the page, and `stamp` the file
    itself as it was then, None if gbrain had not seen it. `from_elsewhere` says that another
    machine deleted the page.
    """

    root: str
    path: str
    page_id: int
    sha256: bytes | None
    stamp: str | None
    from_elsewhere: bool


@dataclass(frozen=True, slots=True)
class FileResult:
    """What a change of a page did to its file.

    `behind` means that gbrain may not write it, `kept` that a deleted page's file has a text that
    the brain never had, `failed` that the next sync tries again. `message` says what to do then.
    The `path` of a new page whose folder is not chosen yet is empty.
    """

    path: str
    outcome: Literal["written", "merged", "conflict", "removed", "kept", "behind", "failed"]
    message: str | None = None

    @property
    def needs_user(self) -> bool:
        """Whether the user has to do something before page and file agree."""
        return self.outcome in ("conflict", "failed")


def list_folders(connection: sqlite3.Connection) -> list[Folder]:
    """Return the folders in the order they were added."""
    return [Folder(*row) for row in connection.execute("SELECT id, root FROM vaults ORDER BY id")]


def find_folder(connection: sqlite3.Connection, root: str) -> Folder | None:
    """Return the registered folder with this real path; None if there is none."""
    row = connection.execute("SELECT id, root FROM vaults WHERE root = ?", (root,)).fetchone()
    return Folder(*row) if row else None


def refuse_nested_folder(
    connection: sqlite3.Connection, root: str, moved: Folder | None = None
) -> None:
    """Raise BadPage for a new folder that contains a registered one, or is inside of one.

    Each file would have two pages, and deleting one of them would remove the file of both. The
    folder `moved` is at `root` from now on, so its present path does not count.
    """
    if len(Path(root).parts) == 1:
        raise BadPage(
            f"{root} is the whole disk. Nothing was imported",
            hint="Name the folder with your notes: gbrain import ~/notes",
            code="bad_folder",
        )
    if find_folder(connection, root):
        return
    for folder in list_folders(connection):
        if moved and folder.id == moved.id:
            continue
        if Path(root).is_relative_to(folder.root):
            raise BadPage(
                f"{root} is inside {folder.root}, which is already imported. Nothing was imported",
                hint=f"gbrain sync {quote(folder.root)} imports its changes.",
                code="folder_nested",
            )
        if Path(folder.root).is_relative_to(root):
            hint = (
                "Import its other folders one by one, or forget that one first: "
                f"gbrain folders forget {quote(folder.root)}"
            )
            if not Path(folder.root).is_dir():
                hint = f"If it was moved: gbrain folders move {quote(folder.root)} {quote(root)}"
            raise BadPage(
                f"{root} contains {folder.root}, which is already imported. Nothing was imported",
                hint=hint,
                code="folder_nested",
            )


def add_folder(connection: sqlite3.Connection, root: str, now: str) -> Folder:
    """Register a folder, if it is new, and return it."""
    connection.execute("INSERT OR IGNORE INTO vaults (root, added_at) VALUES (?, ?)", (root, now))
    row = connection.execute("SELECT id, root FROM vaults WHERE root = ?", (root,)).fetchone()
    return Folder(*row)


def move_folder(connection: sqlite3.Connection, folder: Folder, root: str) -> Folder:
    """Record that the folder is at the path `root` now, and return it.

    If that path is registered too, it gets the pages of both.
    """
    other = find_folder(connection, root)
    connection.execute(
        "UPDATE OR REPLACE file_removals SET root = ? WHERE root = ?", (root, folder.root)
    )
    if other is None:
        connection.execute("UPDATE vaults SET root = ? WHERE id = ?", (root, folder.id))
        return Folder(folder.id, root)
    connection.execute("UPDATE pages SET vault_id = ? WHERE vault_id = ?", (other.id, folder.id))
    connection.execute("DELETE FROM vaults WHERE id = ?", (folder.id,))
    return other


def forget_folder(connection: sqlite3.Connection, folder: Folder) -> int:
    """Forget a folder and return how many pages it had, which stay in the brain without files.

    Files that are still to be removed stay so: else their pages would return with the folder.
    """
    forget_files(connection, folder.id)
    pages = connection.execute(
        "UPDATE pages SET vault_id = NULL, source_sha256 = NULL WHERE vault_id = ?", (folder.id,)
    ).rowcount
    connection.execute("DELETE FROM vaults WHERE id = ?", (folder.id,))
    return pages


def folder_paths(connection: sqlite3.Connection, folder: Folder) -> list[str]:
    """Return the paths of the folder's pages below its root, sorted."""
    rows = connection.execute(
        "SELECT path FROM pages WHERE vault_id = ? ORDER BY path", (folder.id,)
    )
    return [row[0] for row in rows]


def paths_below(connection: sqlite3.Connection, folder: Folder, path: str) -> Iterator[str]:
    """Yield the paths of pages that have a file below a path of the folder ("" is its root)."""
    start = f"{path}/" if path else ""
    rows = connection.execute(
        "SELECT path FROM pages WHERE vault_id = ? AND source_sha256 IS NOT NULL "
        "AND path >= ? AND path < ?",
        (folder.id, start, f"{start}\U0010ffff"),
    )
    yield from (row[0] for row in rows)


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


def file_hashes(connection: sqlite3.Connection, root: str) -> dict[str, bytes]:
    """Return the hash that each file of the folder had when it was last imported, by path."""
    rows = connection.execute(
        "SELECT path, source_sha256 FROM pages JOIN vaults ON vaults.id = vault_id "
        "WHERE root = ? AND source_sha256 IS NOT NULL",
        (root,),
    )
    return dict(rows.fetchall())


def record_written_files(
    connection: sqlite3.Connection, root: str, files: Iterable[tuple[str, bytes]]
) -> None:
    """Record that these (path, sha256) files below `root` have the same text as their pages.

    Only for pages that came from this folder: a page added by hand belongs to it once it is
    imported.
    """
    files = list(files)
    connection.executemany(
        "UPDATE pages SET source_sha256 = sha256 WHERE path = ? AND sha256 = ? "
        "AND vault_id = (SELECT id FROM vaults WHERE root = ?)",
        ((path, digest, root) for path, digest in files),
    )
    connection.executemany(
        "INSERT OR IGNORE INTO page_files (page_id) SELECT id FROM pages WHERE path = ? "
        "AND vault_id = (SELECT id FROM vaults WHERE root = ?)",
        ((path, root) for path, _ in files),
    )


# --- files that are not in step with their pages ---------------------------------------------

_SELECT_PAGE_FILES = (
    "SELECT pages.id, slug, vaults.id, root, path, sha256, source_sha256 "
    "FROM pages JOIN vaults ON vaults.id = vault_id"
)


def _page_file(row: tuple[int, str, int, str, str, bytes, bytes | None]) -> PageFile:
    page_id, slug, folder_id, root, path, sha256, source = row
    return PageFile(page_id, slug, Folder(folder_id, root), path, sha256, source)


def find_page_file(connection: sqlite3.Connection, slug: str) -> PageFile | None:
    """Return the page with its folder; None if there is none, or it belongs to no folder."""
    row = connection.execute(f"{_SELECT_PAGE_FILES} WHERE slug = ?", (slug,)).fetchone()
    return _page_file(row) if row else None


def move_page_file(connection: sqlite3.Connection, page: PageFile, path: str) -> None:
    """Record that the page's file has another path now."""
    connection.execute(
        "UPDATE pages SET path = ? WHERE id = ? AND path = ?", (path, page.page_id, page.path)
    )


def path_of_page(connection: sqlite3.Connection, page_id: int, root: str) -> str | None:
    """Return the path of a page in this folder; None if it is deleted or not in the folder."""
    row = connection.execute(
        "SELECT path FROM pages WHERE id = ? AND vault_id = (SELECT id FROM vaults WHERE root = ?)",
        (page_id, root),
    ).fetchone()
    return row[0] if row else None


def pages_ahead_of_files(connection: sqlite3.Connection, folder: Folder) -> list[PageFile]:
    """Return the folder's pages whose text is not yet in their file, by path."""
    rows = connection.execute(
        f"{_SELECT_PAGE_FILES} WHERE vault_id = ? AND source_sha256 IS NOT sha256 ORDER BY path",
        (folder.id,),
    )
    return [_page_file(row) for row in rows]


def record_file_text(
    connection: sqlite3.Connection, page_id: int, folder_id: int, sha256: bytes
) -> None:
    """Record the text that the page's file has now, which is the page's or one of its versions."""
    connection.execute(
        "UPDATE pages SET source_sha256 = ?, vault_id = ? WHERE id = ?",
        (sha256, folder_id, page_id),
    )
    record_with_file(connection, page_id)


def wait_for_folder(connection: sqlite3.Connection, slug: str) -> None:
    """Record that a page gets a file once the folder for new pages is chosen."""
    connection.execute(
        "UPDATE pages SET source_sha256 = x'' WHERE slug = ? AND vault_id IS NULL", (slug,)
    )


def add_waiting_pages(connection: sqlite3.Connection, folder_id: int) -> None:
    """Give the pages that wait for a folder to this one."""
    connection.execute(
        "UPDATE pages SET vault_id = ?, source_sha256 = NULL "
        "WHERE vault_id IS NULL AND source_sha256 = x''",
        (folder_id,),
    )


def leave_folder(connection: sqlite3.Connection, page_id: int) -> None:
    """Let the page live in the brain only."""
    forget_file(connection, page_id)
    connection.execute(
        "UPDATE pages SET vault_id = NULL, source_sha256 = NULL WHERE id = ?", (page_id,)
    )


def write_file_again(connection: sqlite3.Connection, page_id: int) -> None:
    """Let the file of a page be written as if it were new."""
    connection.execute("UPDATE pages SET source_sha256 = NULL WHERE id = ?", (page_id,))


def add_file_removal(
    connection: sqlite3.Connection,
    folder_id: int,
    path: str,
    page_id: int,
    sha256: bytes | None,
    *,
    from_elsewhere: bool = False,
) -> None:
    """Record that the file at `path` is to be removed; the page that it had is `page_id`."""
    connection.execute(
        "INSERT OR REPLACE INTO file_removals (root, path, page_id, sha256, stamp, from_elsewhere) "
        "SELECT root, ?1, ?2, ?3, (SELECT stamp FROM page_files WHERE page_id = ?2), ?4 "
        "FROM vaults WHERE id = ?5",
        (path, page_id, sha256, from_elsewhere, folder_id),
    )


def list_file_removals(connection: sqlite3.Connection, root: str) -> list[FileRemoval]:
    """Return the files of the folder that are still to be removed, by path."""
    rows = connection.execute(
        "SELECT root, path, page_id, sha256, stamp, from_elsewhere FROM file_removals "
        "WHERE root = ? ORDER BY path",
        (root,),
    )
    return [FileRemoval(*row) for row in rows]


def take_file_removal(
    connection: sqlite3.Connection, root: str, path: str
) -> tuple[bytes | None] | None:
    """Cancel the removal of a file and return (hash of its agreed text,); None if none was due."""
    row: tuple[bytes | None] | None = connection.execute(
        "DELETE FROM file_removals WHERE root = ? AND path = ? RETURNING sha256", (root, path)
    ).fetchone()
    return row


def folder_root(connection: sqlite3.Connection, folder_id: int) -> str:
    """Return the path of a folder."""
    root: str = connection.execute("SELECT root FROM vaults WHERE id = ?", (folder_id,)).fetchone()[
        0
    ]
    return root
