"""Write and delete pages together with their chunks, names, tags, links and index entries."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Literal

from gbrain.config import Settings
from gbrain.errors import Conflict
from gbrain.store import chunks, indexed_text
from gbrain.store.folders import (
    FileResult,
    add_file_removal,
    folder_root,
    record_file_text,
    take_file_removal,
)
from gbrain.store.history import last_deleted, last_version, record_change, save_version
from gbrain.store.pages import StoredPage, find_page, require_page
from gbrain.store.remote_conflicts import remove_remote_conflict
from gbrain.store.seen_files import forget_file, record_with_file
from gbrain.text.page import QuestionSource, authored_questions, derive_questions
from gbrain.text.slug import fold_name
from gbrain.text.unspaced import index_text
from gbrain.types import Page


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Result of a write; `version` is the page's version number now, or its last one.

    `file` says what happened to the page's file; None if it has none.
    """

    slug: str
    version: int
    outcome: Literal["created", "updated", "unchanged", "deleted"]
    file: FileResult | None = None


def write_page(
    connection: sqlite3.Connection,
    page: Page,
    now: str,
    *,
    expected_version: int | None = None,
    folder_id: int | None = None,
    from_file: bool = False,
    renames: str | None = None,
    enqueue: bool = True,
    new_id: int | None = None,
) -> WriteResult:
    """Create or update a page, and keep its previous text as a version.

    Raises Conflict unless the page is at `expected_version` (0: must not exist). `folder_id` is the
    folder of a page that is new or renamed: its file is then to be written, or moved. `from_file`
    says that the text is that of the file. `renames` is the previous slug. A caller that writes
    many pages can leave out `enqueue` and queue their chunks for embedding once at the end.
    `new_id` is the id of a new page, whose chunks are numbered from `first_chunk_id(new_id)`.
    """
    old = find_page(connection, renames or page.slug)
    current = old.version if old else 0
    if expected_version is not None and expected_version != current:
        if old is None:
            raise Conflict(
                f"{page.slug} does not exist, so it is not at version {expected_version}",
                hint="To create the page, leave out the expected version.",
                code="version_conflict",
            )
        raise Conflict(
            f"{page.slug} is at version {current}, not at version {expected_version}",
            hint=f"Read it again with gbrain get {page.slug} and repeat your change.",
            code="version_conflict",
        )
    if old and old.sha256 == page.sha256 and old.path == page.path:
        if from_file and (old.source_sha256 != page.sha256 or old.folder_id != folder_id):
            assert folder_id is not None
            record_file_text(connection, old.id, folder_id, page.sha256)
        return WriteResult(page.slug, current, "unchanged")
    if from_file:
        owner, source = folder_id, page.sha256
    elif renames or old is None:
        owner, source = folder_id, None
        if folder_id is None and old and old.folder_id is None:
            source = old.source_sha256
        elif folder_id is not None:
            # The file of a page that was deleted or moved away just now may still be there.
            left = take_file_removal(connection, folder_root(connection, folder_id), page.path)
            source = left[0] if left else old.source_sha256 if old else None
            if old and old.folder_id is not None and old.path != page.path:
                add_file_removal(connection, folder_id, old.path, old.id, old.source_sha256)
                # Until the file has moved: another page may take its place first.
                forget_file(connection, old.id)
    else:
        owner, source = old.folder_id, old.source_sha256
    size = len(page.text.encode())
    tags, aliases = "\n".join(page.tags), "\n".join(page.aliases)
    shared = (
        page.slug, page.path, page.title, page.type, page.wing, page.wing_reason, page.room,
        page.room_reason, page.date, page.first_day, page.last_day, page.sha256, size,
        owner, source, now,
        tags, aliases, page.meta,
        page.front_matter, page.compiled_truth, page.timeline,
    )  # fmt: skip
    version = current + 1
    if renames and renames != page.slug:
        version = max(current, last_version(connection, page.slug)) + 1
    retitled = old is not None and old.title != page.title
    if old:
        save_version(connection, old, now, "renamed" if renames else "replaced")
        indexed_text.remove_page(connection, old.id)
        if retitled:
            chunks.remove_chunks(connection, old.id)
        connection.execute(
            "UPDATE pages SET slug = ?, path = ?, title = ?, type = ?, wing = ?, wing_reason = ?, "
            "room = ?, room_reason = ?, date = ?, first_day = ?, last_day = ?, "
            "sha256 = ?, bytes = ?, "
            "vault_id = ?, source_sha256 = ?, updated_at = ?, tags = ?, aliases = ?, meta = ?, "
            "front_matter = ?, compiled_truth = ?, timeline = ?, version = ? "
            "WHERE id = ?",
            (*shared, version, old.id),
        )
        page_id = old.id
        for table in ("names", "tags", "links"):
            connection.execute(f"DELETE FROM {table} WHERE page_id = ?", (page_id,))
    else:
        # A slug that is used again continues the history of the deleted page.
        holder = last_deleted(connection, page.slug)
        version = max(holder[1] if holder else 0, last_version(connection, page.slug)) + 1
        cursor = connection.execute(
            "INSERT INTO pages (slug, path, title, type, wing, wing_reason, room, room_reason, "
            "date, first_day, last_day, sha256, bytes, vault_id, source_sha256, updated_at, tags, "
            "aliases, meta, front_matter, compiled_truth, timeline, version, created_at, id) "
            f"VALUES ({', '.join('?' * (len(shared) + 3))})",
            (*shared, version, now, new_id or (holder[0] if holder else None)),
        )
        assert cursor.lastrowid is not None
        page_id = cursor.lastrowid
    record_change(connection, page_id, version)
    if from_file:
        record_with_file(connection, page_id)
    indexed_text.add_page(
        connection,
        page_id,
        (page.title, page.slug, page.compiled_truth, page.timeline, tags, aliases),
    )
    write_names_tags_links(connection, page_id, page)
    chunks.replace_chunks(
        connection, page_id, page.title, page.chunks, fresh=old is None or retitled,
        first_id=new_id and chunks.first_chunk_id(new_id),
    )  # fmt: skip
    replace_questions(connection, page_id, page, fresh=old is None)
    if enqueue:
        chunks.enqueue_page(connection, page_id, now)
    return WriteResult(page.slug, version, "updated" if old else "created")


def name_keys(page: Page) -> set[tuple[str, str]]:
    """Return (key, kind) of every name under which links and queries find the page."""
    names = [("slug", page.slug), ("name", page.slug.rpartition("/")[2]), ("title", page.title)]
    names += [("alias", alias) for alias in page.aliases]
    names += [("block", block) for block in page.blocks]
    return {(key, kind) for kind, name in names if (key := fold_name(name))}


def write_names_tags_links(connection: sqlite3.Connection, page_id: int, page: Page) -> None:
    """Insert the page's names, tags and links."""
    connection.executemany(
        "INSERT INTO names (key, page_id, kind, reversed) VALUES (?, ?, ?, ?)",
        [(key, page_id, kind, key[::-1]) for key, kind in name_keys(page)],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO tags (tag, page_id) VALUES (?, ?)",
        [(tag, page_id) for tag in page.tags],
    )
    connection.executemany(
        "INSERT INTO links (page_id, position, line, kind, target, key, heading, label) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (page_id, n, link.line, link.kind, link.target, fold_name(link.target), link.heading,
             link.label)
            for n, link in enumerate(page.links)
        ],
    )  # fmt: skip


def delete_page(
    connection: sqlite3.Connection,
    slug: str,
    now: str,
    *,
    expected_version: int | None = None,
    with_file: bool = False,
    from_elsewhere: bool = False,
) -> StoredPage:
    """Delete a page and return it as it was; its text stays in the history.

    `with_file` records that its file is to be removed, and `from_elsewhere` that another machine
    deleted the page, so that the file goes to the trash.
    """
    old = require_page(connection, slug)
    if expected_version is not None and expected_version != old.version:
        raise Conflict(
            f"{slug} is at version {old.version}, not at version {expected_version}",
            hint=f"Read it again with gbrain get {slug} before you delete it.",
            code="version_conflict",
        )
    if with_file and old.folder_id is not None:
        add_file_removal(
            connection, old.folder_id, old.path, old.id, old.source_sha256,
            from_elsewhere=from_elsewhere,
        )  # fmt: skip
    # Else the deletion would never be pushed, and nothing would say so.
    remove_remote_conflict(connection, slug)
    save_version(connection, old, now, "deleted")
    record_change(connection, old.id, old.version, deleted=True)
    remove_page_rows(connection, old.id)
    return old


def remove_page_rows(connection: sqlite3.Connection, page_id: int) -> None:
    """Remove a page and all that is derived from it; its versions stay."""
    indexed_text.remove_page(connection, page_id)
    chunks.remove_chunks(connection, page_id)
    remove_questions(connection, page_id)
    connection.execute("DELETE FROM pages WHERE id = ?", (page_id,))


# --- the questions that a page answers, which the keyword lane searches ----------------------


def replace_questions(
    connection: sqlite3.Connection, page_id: int, page: Page, *, fresh: bool
) -> None:
    """Store the page's questions; `fresh` says that it has none stored yet."""
    if not fresh:
        remove_questions(connection, page_id)
    mode = _question_mode(connection)
    if mode == "off" or (mode == "authored" and '"questions"' not in page.meta):
        return
    sources = [QuestionSource(chunk.heading_path, chunk.date, chunk.text) for chunk in page.chunks]
    _store_questions(connection, mode, page_id, page.meta, page.title, page.wing, sources)


def remove_questions(connection: sqlite3.Connection, page_id: int) -> None:
    """Remove the page's questions; call this before the page is deleted."""
    connection.execute(
        "INSERT INTO questions_fts (questions_fts, rowid, questions) "
        "SELECT 'delete', page_id, questions FROM page_questions WHERE page_id = ?",
        (page_id,),
    )
    connection.execute("DELETE FROM page_questions WHERE page_id = ?", (page_id,))


def rebuild_questions(connection: sqlite3.Connection) -> int:
    """Rebuild the questions of all pages; return how many pages have any."""
    connection.execute("INSERT INTO questions_fts (questions_fts) VALUES ('delete-all')")
    connection.execute("DELETE FROM page_questions")
    mode = _question_mode(connection)
    if mode == "off":
        return 0
    authors = " WHERE meta LIKE '%\"questions\"%'" if mode == "authored" else ""
    pages = connection.execute(f"SELECT id, meta, title, wing FROM pages{authors} ORDER BY id")
    for page_id, meta, title, wing in pages.fetchall():
        rows = connection.execute(
            "SELECT heading_path, date, text FROM chunks WHERE page_id = ? ORDER BY section, part",
            (page_id,),
        )
        sources = [QuestionSource(tuple(json.loads(path)), date, text) for path, date, text in rows]
        _store_questions(connection, mode, page_id, meta, title, wing, sources)
    count: int = connection.execute("SELECT count(*) FROM page_questions").fetchone()[0]
    return count


def add_questions(connection: sqlite3.Connection) -> None:
    """Store the questions of all pages of an older brain.

    If rows are damaged everything stays as it is: `gbrain doctor --repair` rebuilds it.
    """
    connection.execute("SAVEPOINT questions")
    try:
        rebuild_questions(connection)
    except (sqlite3.DatabaseError, ValueError):
        connection.execute("ROLLBACK TO questions")
    connection.execute("RELEASE questions")


def _question_mode(connection: sqlite3.Connection) -> str:
    """Return the setting hypothetical_questions: off, authored or derived."""
    row = connection.execute(
        "SELECT value FROM config WHERE key = 'hypothetical_questions'"
    ).fetchone()
    return row[0] if row else Settings().hypothetical_questions


def _store_questions(
    connection: sqlite3.Connection,
    mode: str,
    page_id: int,
    meta: str,
    title: str,
    wing: str,
    sources: list[QuestionSource],
) -> None:
    questions = authored_questions(meta)
    if mode == "derived":
        questions += derive_questions(title, wing, sources)
    if not questions:
        return
    row = (page_id, index_text("\n".join(questions)))
    connection.execute("INSERT INTO page_questions (page_id, questions) VALUES (?, ?)", row)
    connection.execute("INSERT INTO questions_fts (rowid, questions) VALUES (?, ?)", row)
