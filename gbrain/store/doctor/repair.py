"""Mending what a check found wrong in a brain file; each repair happens whole or not at all."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import groupby

from gbrain.errors import BadBrain
from gbrain.store import atomic_files, chunks, page_writer, pages, questions, settings
from gbrain.store.connection import Database
from gbrain.store.doctor import file_problems, page_problems, row_problems
from gbrain.store.doctor.vector_problems import spoilt_vectors
from gbrain.store.schema import SCHEMA_ROWS, foreign_parts, own_parts
from gbrain.store.vectors import SEGMENT, prune
from gbrain.text.slug import is_page_file

Mend = Callable[[Database, str, bool], None]


def close_files(database: Database, now: str, full: bool) -> None:
    """Leaves the brain to its owner alone."""
    for file, mode in file_problems.open_files(database.path):
        try:
            os.chmod(file, mode & 0o600)
        except OSError as error:
            raise BadBrain(
                f"the mode of {file.name} stays: {error.strerror}",
                hint=f"Its owner can: chmod 600 {file}",
            ) from None


def rebuild_indexes(database: Database, now: str, full: bool) -> None:
    """Writes SQLite's own indexes anew from their tables."""
    with database.write_transaction() as connection:
        connection.execute("REINDEX")


def take_out_foreign(database: Database, now: str, full: bool) -> None:
    """Takes out what could run; a table of gbrain's that was made otherwise keeps its rows."""
    with _unbound(database) as connection:
        found = foreign_parts(connection.execute(SCHEMA_ROWS))
        own = own_parts(name for _, name in found)
        for kind in ("trigger", "view", "index", "table"):
            for name in (name for foreign, name in found if foreign == kind):
                _take_out(connection, kind, name, own.get(name.lower()))


@contextmanager
def _unbound(database: Database) -> Iterator[sqlite3.Connection]:
    """Writes in which what is taken from one table takes nothing from those that lean on it."""
    database.connection.execute("PRAGMA foreign_keys = OFF")
    try:
        with database.write_transaction() as connection:
            yield connection
    finally:
        database.connection.execute("PRAGMA foreign_keys = ON")


def _take_out(connection: sqlite3.Connection, kind: str, name: str, own: str | None) -> None:
    quoted = name.replace('"', '""')
    if kind != "table" or own is None or own.startswith("CREATE VIRTUAL"):
        if name.lower() == "pages":
            raise BadBrain("the pages themselves are gone", hint="Restore a backup.")
        connection.execute(f'DROP {kind} IF EXISTS "{quoted}"')
        return
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.execute(own)
        wanted = [row[1] for row in empty.execute(f'PRAGMA table_info("{quoted}")')]
    # Without the columns that are computed.
    there = {row[1] for row in connection.execute(f'PRAGMA table_info("{quoted}")')}
    columns = ", ".join(column for column in wanted if column in there)
    if not columns:
        raise BadBrain(f"{name} holds nothing that it should", hint="Restore a backup.")
    connection.execute(f'CREATE TEMP TABLE kept AS SELECT {columns} FROM main."{quoted}"')
    connection.execute(f'DROP TABLE main."{quoted}"')
    connection.execute(own)
    connection.execute(f'INSERT INTO "{quoted}" ({columns}) SELECT {columns} FROM temp.kept')
    connection.execute("DROP TABLE temp.kept")


def complete_schema(database: Database, now: str, full: bool) -> None:
    """Makes the parts that are missing; what they held is filled in by later repairs."""
    with database.write_transaction() as connection:
        missing = file_problems.missing_parts(connection)
        if "pages" in missing:
            raise BadBrain("the pages themselves are gone", hint="Restore a backup.")
        for name, statement in missing.items():
            if statement is not None and "_fts" not in name:
                connection.execute(statement)
        for table in file_problems.KEYWORD_INDEXES:
            if any(name.startswith(table) for name in missing):
                _make_index_anew(connection, table)
        if not {"names", "tags", "links"}.isdisjoint(missing):
            for page_id, _ in page_problems.page_ids(connection):
                _write_references(connection, page_id)
        if "page_questions" in missing:
            questions.rebuild(connection)


def drop_wrong_rows(database: Database, now: str, full: bool) -> None:
    """Drops rows that hold what they should not, or makes them anew if they are of pages.

    What followed from a page comes back by later repairs; of versions nothing is dropped.
    """
    with _unbound(database) as connection:
        for table, rows in groupby(row_problems.wrong_rows(connection), lambda row: row.table):
            keys = [row.key for row in rows]
            if table == "pages":
                for (page_id,) in keys:
                    page_problems.write_facts(connection, int(page_id or 0), now)
            elif table != "versions":
                condition = row_problems.key_condition(connection, table)
                connection.executemany(f"DELETE FROM {table} WHERE {condition}", keys)


def restore_facts(database: Database, now: str, full: bool) -> None:
    """Makes what is known of a page from its text, where it is wrong."""
    with database.write_transaction() as connection:
        for page_id, _ in page_problems.wrong_facts(connection, full):
            page_problems.write_facts(connection, page_id, now)


def rebuild_pages(database: Database, now: str, full: bool) -> None:
    """Writes the keyword index of the pages anew."""
    _rebuild(database, "pages_fts")


def rebuild_passages(database: Database, now: str, full: bool) -> None:
    """Writes the keyword index of the passages anew."""
    _rebuild(database, "chunks_fts")


def _rebuild(database: Database, table: str) -> None:
    rebuild = f"INSERT INTO {table} ({table}) VALUES ('rebuild')"
    try:
        with database.write_transaction() as connection:
            connection.execute(rebuild)
    except BadBrain:
        with database.write_transaction() as connection:
            _make_index_anew(connection, table)
            connection.execute(rebuild)


def _make_index_anew(connection: sqlite3.Connection, table: str) -> None:
    """An empty index in place of one that may lack some of its own tables."""
    # SQLite can drop only what it can open.
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("DELETE FROM sqlite_schema WHERE name = ?", (table,))
    connection.execute("PRAGMA writable_schema = RESET")
    for part in ("data", "idx", "content", "docsize", "config"):
        connection.execute(f"DROP TABLE IF EXISTS {table}_{part}")
    connection.execute(own_parts()[table])


def drop_stray_rows(database: Database, now: str, full: bool) -> None:
    """Drops rows that belong to nothing; a page whose folder is unknown is the brain's own."""
    with database.write_transaction() as connection:
        for table, parent in file_problems.stray_rows(connection):
            if table == "pages":
                connection.execute(
                    "UPDATE pages SET vault_id = NULL, source_sha256 = NULL "
                    "WHERE vault_id NOT IN (SELECT id FROM vaults)"
                )
                continue
            key = "model_id" if parent == "embedding_models" else "page_id"
            name = table.replace('"', '""')
            connection.execute(
                f'DELETE FROM "{name}" WHERE {key} NOT IN (SELECT id FROM "{parent}")'
            )


def drop_stray_passages(database: Database, now: str, full: bool) -> None:
    # The keyword index, which reads passages through their pages, does not know these.
    with database.write_transaction() as connection:
        connection.execute("DELETE FROM chunks WHERE page_id NOT IN (SELECT id FROM pages)")


def ask_anew(database: Database, now: str, full: bool) -> None:
    """Makes the questions of all pages anew."""
    with database.write_transaction() as connection:
        _make_index_anew(connection, "questions_fts")
        questions.rebuild(connection)


def accept_texts(database: Database, now: str, full: bool) -> None:
    """Takes changed texts as they stand: a new version, with all that follows from the text."""
    with database.write_transaction() as connection:
        for page_id, slug in page_problems.wrong_texts(connection)[0]:
            page = page_problems.parsed(connection, page_id)
            if page is None or page.slug != slug:
                continue
            written = page_writer.write_page(connection, page, now)
            # The version before holds the same text: the one it was written with is lost.
            connection.execute(
                "UPDATE versions SET sha256 = ?, bytes = ? WHERE page_id = ? AND version = ?",
                (page.sha256, len(page.text.encode()), page_id, written.version - 1),
            )


def follow_paths(database: Database, now: str, full: bool) -> None:
    """Gives pages the slug of their path, where no other page has it; else a path by their slug."""
    with database.write_transaction() as connection:
        for page_id, slug, path in page_problems.wrong_slugs(connection):
            if not is_page_file(path):
                connection.execute(
                    "UPDATE OR IGNORE pages SET path = slug || '.md' WHERE id = ?", (page_id,)
                )
                continue
            page = page_problems.parsed(connection, page_id)
            if page is None or pages.find_page(connection, page.slug):
                continue
            source = connection.execute(
                "SELECT vault_id, source_sha256 FROM pages WHERE id = ?", (page_id,)
            ).fetchone()
            # As if the path were the change: a page with the same text and path is left alone.
            connection.execute("UPDATE pages SET path = slug || '.md' WHERE id = ?", (page_id,))
            page_writer.write_page(connection, page, now, renames=slug)
            connection.execute(
                "UPDATE pages SET vault_id = ?, source_sha256 = ? WHERE id = ?", (*source, page_id)
            )


def cut_anew(database: Database, now: str, full: bool) -> None:
    """Makes the passages of a page from its text, where they are wrong."""
    with database.write_transaction() as connection:
        for page_id, _ in page_problems.wrong_passages(connection, full):
            page = page_problems.parsed(connection, page_id)
            if page is None:
                continue
            title = connection.execute("SELECT title FROM pages WHERE id = ?", (page_id,))
            chunks.remove(connection, page_id)
            chunks.replace(connection, page_id, title.fetchone()[0], page.chunks, fresh=True)
            chunks.enqueue(connection, page_id, now)


def name_anew(database: Database, now: str, full: bool) -> None:
    """Makes names, tags and links of a page from its text, where they are wrong."""
    with database.write_transaction() as connection:
        for page_id, _ in page_problems.wrong_references(connection, full):
            _write_references(connection, page_id)


def _write_references(connection: sqlite3.Connection, page_id: int) -> None:
    page = None
    # A page that cannot be read keeps what it has.
    with suppress(sqlite3.DatabaseError):
        page = page_problems.parsed(connection, page_id)
    if page is not None:
        for table in ("names", "tags", "links"):
            connection.execute(f"DELETE FROM {table} WHERE page_id = ?", (page_id,))
        page_writer.write_references(connection, page_id, page)


def drop_vectors(database: Database, now: str, full: bool) -> None:
    """Drops vectors and codes that cannot be used; their passages are asked for anew."""
    with database.write_transaction() as connection:
        for space in file_problems.spaces(connection):
            connection.execute(
                f"DELETE FROM {space.codes} WHERE model_id = ? AND length(codes) <> ?",
                (space.model_id, SEGMENT * (4 + space.dimension)),
            )
            connection.execute(
                f"DELETE FROM {space.vectors} WHERE model_id = ?1 AND (length(vector) <> ?2 "
                f"OR slot / {SEGMENT} NOT IN "
                f"(SELECT segment FROM {space.codes} WHERE model_id = ?1))",
                (space.model_id, 2 * space.dimension),
            )
        for space, slot, _ in list(spoilt_vectors(connection)) if full else ():
            connection.execute(
                f"DELETE FROM {space.vectors} WHERE model_id = ? AND slot = ?",
                (space.model_id, slot),
            )


def drop_stray_vectors(database: Database, now: str, full: bool) -> None:
    with database.write_transaction() as connection:
        for space in file_problems.spaces(connection):
            prune(connection, space)


def clear_leftovers(database: Database, now: str, full: bool) -> None:
    for left in atomic_files.abandoned(database.path.parent):
        atomic_files.remove(left)


def drop_stray_jobs(database: Database, now: str, full: bool) -> None:
    with database.write_transaction() as connection:
        connection.execute(f"DELETE FROM embedding_jobs WHERE {file_problems.STRAY_JOBS}")


def enqueue(database: Database, now: str, full: bool) -> None:
    """Asks for the vectors that are missing."""
    with database.write_transaction() as connection:
        for page_id in file_problems.unembedded(connection):
            chunks.enqueue(connection, page_id, now)


def forget_settings(database: Database, now: str, full: bool) -> None:
    """Puts settings with an impossible value back to the default; unknown ones stay."""
    with database.write_transaction() as connection:
        for name in file_problems.strange_settings(connection)[0]:
            settings.forget(connection, name)
