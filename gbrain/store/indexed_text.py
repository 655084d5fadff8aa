"""Write the keyword indexes of pages and chunks, with the spaced copies of texts that need one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from gbrain.store.schema import KEYWORD_INDEXES
from gbrain.text.unspaced import index_text

PAGE_COLUMNS = ("title", "slug", "compiled_truth", "timeline", "tags", "aliases")
_CHUNK_COLUMNS = ("title", "heading_path", "text")
_PAGE_LIST, _CHUNK_LIST = ", ".join(PAGE_COLUMNS), ", ".join(_CHUNK_COLUMNS)
_ADD_PAGE = f"INSERT INTO pages_fts (rowid, {_PAGE_LIST}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_ADD_CHUNK = f"INSERT INTO chunks_fts (rowid, {_CHUNK_LIST}) VALUES (?, ?, ?, ?)"
_ADD_SPACED_PAGE = f"INSERT INTO spaced_pages (page_id, {_PAGE_LIST}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_ADD_SPACED_CHUNK = f"INSERT INTO spaced_chunks (chunk_id, {_CHUNK_LIST}) VALUES (?, ?, ?, ?)"
_ROWS_AT_ONCE = 500

IndexRow = tuple[int, str, str, str]


def add_page(connection: sqlite3.Connection, page_id: int, values: Sequence[str]) -> None:
    """Add a page to the keyword index; the values are those of PAGE_COLUMNS."""
    indexed = (page_id, *map(index_text, values))
    connection.execute(_ADD_PAGE, indexed)
    if indexed != (page_id, *values):
        connection.execute(_ADD_SPACED_PAGE, indexed)


def remove_page(connection: sqlite3.Connection, page_id: int) -> None:
    """Remove a page from the keyword index, while its row still has the indexed text."""
    connection.execute(
        f"INSERT INTO pages_fts (pages_fts, rowid, {_PAGE_LIST}) "
        f"SELECT 'delete', id, {_PAGE_LIST} FROM page_search WHERE id = ?",
        (page_id,),
    )
    connection.execute("DELETE FROM spaced_pages WHERE page_id = ?", (page_id,))


def add_chunks(connection: sqlite3.Connection, rows: Iterable[IndexRow]) -> None:
    """Add chunks to the keyword index: id, title of the page, heading path as JSON, text."""
    given = list(rows)
    indexed = [(row[0], *map(index_text, row[1:])) for row in given]
    # Row by row: with INSERT … SELECT, FTS5 writes a tiny segment for every statement.
    connection.executemany(_ADD_CHUNK, indexed)
    spaced = [new for new, row in zip(indexed, given, strict=True) if new != row]
    connection.executemany(_ADD_SPACED_CHUNK, spaced)


def remove_chunks(connection: sqlite3.Connection, chunk_ids: Iterable[int]) -> None:
    """Remove chunks from the keyword index, while their rows still have the indexed text."""
    ids = [(chunk_id,) for chunk_id in chunk_ids]
    connection.executemany(
        f"INSERT INTO chunks_fts (chunks_fts, rowid, {_CHUNK_LIST}) "
        f"SELECT 'delete', id, {_CHUNK_LIST} FROM chunk_search WHERE id = ?",
        ids,
    )
    connection.executemany("DELETE FROM spaced_chunks WHERE chunk_id = ?", ids)


def rebuild_indexes(connection: sqlite3.Connection) -> None:
    """Write all spaced copies and all keyword indexes again."""
    for table in ("spaced_pages", "spaced_chunks"):
        connection.execute(f"DELETE FROM {table}")
    _add_spaced_pages(connection)
    _add_spaced_chunks(connection)
    for table in KEYWORD_INDEXES:
        connection.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")


def index_older_brain(connection: sqlite3.Connection) -> None:
    """Index a brain of schema 8, whose texts in scripts without spaces are one token for each run.

    A brain without such texts only gets its index of pages again: 2.6 s for 50,000 pages. If rows
    are damaged the index stays empty: `gbrain doctor --repair` rebuilds it.
    """
    connection.execute("SAVEPOINT spaced")
    try:
        _add_spaced_pages(connection)
        connection.execute("INSERT INTO pages_fts (pages_fts) VALUES ('rebuild')")
        if _add_spaced_chunks(connection):
            connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('rebuild')")
        questions = connection.execute("SELECT page_id, questions FROM page_questions").fetchall()
        spaced = [
            (new, page_id) for page_id, text in questions if (new := index_text(text)) != text
        ]
        if spaced:
            connection.executemany(
                "UPDATE page_questions SET questions = ? WHERE page_id = ?", spaced
            )
            connection.execute("INSERT INTO questions_fts (questions_fts) VALUES ('rebuild')")
    except (sqlite3.DatabaseError, ValueError):
        connection.execute("ROLLBACK TO spaced")
    connection.execute("RELEASE spaced")


def has_wrong_copies(connection: sqlite3.Connection) -> bool:
    """Return whether a spaced copy is missing, not needed, or not that of its text."""
    return any(
        stored != (wanted or (None,) * len(stored))
        for select, columns in ((_PAGES_AND_COPIES, 6), (_CHUNKS_AND_COPIES, 3))
        for wanted, stored in _compare(connection, select, columns)
    )


_PAGES_AND_COPIES = (
    f"SELECT {', '.join(f'pages.{name}' for name in PAGE_COLUMNS)}, "
    f"{', '.join(f'spaced.{name}' for name in PAGE_COLUMNS)} "
    "FROM pages LEFT JOIN spaced_pages AS spaced ON spaced.page_id = pages.id"
)
_CHUNKS_AND_COPIES = (
    "SELECT pages.title, chunks.heading_path, chunks.text, "
    f"{', '.join(f'spaced.{name}' for name in _CHUNK_COLUMNS)} "
    "FROM chunks JOIN pages ON pages.id = page_id "
    "LEFT JOIN spaced_chunks AS spaced ON spaced.chunk_id = chunks.id"
)


def _compare(
    connection: sqlite3.Connection, select: str, columns: int
) -> Iterator[tuple[tuple[str, ...] | None, tuple[str | None, ...]]]:
    """Yield the copy that each row should have, None for none, and the one that it has."""
    for row in connection.execute(select):
        texts, stored = row[:columns], row[columns:]
        # Values of another type are reported by another check.
        spaced = tuple(index_text(text) if isinstance(text, str) else text for text in texts)
        yield (None if spaced == texts else spaced), stored


def _add_spaced_pages(connection: sqlite3.Connection) -> int:
    """Store the copies of pages that need one; return how many."""
    select = f"SELECT id, {_PAGE_LIST} FROM pages"
    return _add_spaced(connection, select, _ADD_SPACED_PAGE)


def _add_spaced_chunks(connection: sqlite3.Connection) -> int:
    """Store the copies of chunks that need one; return how many."""
    select = (
        "SELECT chunks.id, title, heading_path, text FROM chunks JOIN pages ON pages.id = page_id"
    )
    return _add_spaced(connection, select, _ADD_SPACED_CHUNK)


def _add_spaced(connection: sqlite3.Connection, select: str, insert: str) -> int:
    found, rows = 0, connection.execute(select)
    while some := rows.fetchmany(_ROWS_AT_ONCE):
        indexed = ((row[0], *map(index_text, row[1:])) for row in some)
        spaced = [new for new, row in zip(indexed, some, strict=True) if new != row]
        connection.executemany(insert, spaced)
        found += len(spaced)
    return found
