"""Checks and repairs of the brain file itself: its mode, its schema, and the files next to it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from gbrain.errors import BadBrain
from gbrain.store import atomic_files, page_writer
from gbrain.store.doctor.findings import Examination, Finding
from gbrain.store.doctor.rows import create_empty_index
from gbrain.store.folders import list_folders
from gbrain.store.migrations import missing_objects
from gbrain.store.schema import KEYWORD_INDEXES, SELECT_SCHEMA, find_foreign_objects, own_objects


def _open_modes(path: Path) -> list[tuple[Path, int]]:
    """Return the files of the brain that other users can open, each with its mode."""
    files = [path.with_name(path.name + ending) for ending in ("", "-wal", "-shm")]
    modes = [(file, file.stat().st_mode & 0o777) for file in files if file.exists()]
    return [(file, mode) for file, mode in modes if mode & 0o077]


def readable_by_others(examination: Examination) -> list[str] | Finding:
    if os.name == "nt":
        return Finding("ok", "left to the system")
    return [f"{file.name} has mode {mode:04o}" for file, mode in _open_modes(examination.path)]


def restrict_modes(examination: Examination) -> None:
    for file, mode in _open_modes(examination.path):
        try:
            os.chmod(file, mode & 0o600)
        except OSError as error:
            raise BadBrain(
                f"cannot change the mode of {file.name}: {error.strerror}",
                hint=f"Run this as its owner: chmod 600 {file}",
            ) from None


def foreign_objects(examination: Examination) -> list[str]:
    found = find_foreign_objects(examination.connection.execute(SELECT_SCHEMA))
    return sorted(f"{kind} {name}" for kind, name in found)


def drop_foreign_objects(examination: Examination) -> None:
    """Drop what could be executed; an altered table of gbrain is created again with its rows."""
    connection = examination.connection
    found = find_foreign_objects(connection.execute(SELECT_SCHEMA))
    own = own_objects(name for _, name in found)
    for wanted in ("trigger", "view", "index", "table"):
        for kind, name in found:
            if kind == wanted:
                _drop_foreign_object(connection, kind, name, own.get(name.lower()))


def _drop_foreign_object(
    connection: sqlite3.Connection, kind: str, name: str, own_sql: str | None
) -> None:
    quoted = name.replace('"', '""')
    if kind != "table" or own_sql is None or own_sql.startswith("CREATE VIRTUAL"):
        if name.lower() == "pages":
            raise _no_pages()
        connection.execute(f'DROP {kind} IF EXISTS "{quoted}"')
        return
    list_columns = f'PRAGMA table_info("{quoted}")'
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.execute(own_sql)
        wanted = [row[1] for row in empty.execute(list_columns)]
    # table_info leaves out computed columns.
    present = {row[1] for row in connection.execute(list_columns)}
    columns = ", ".join(column for column in wanted if column in present)
    if not columns:
        raise BadBrain(f"{name} has none of its columns", hint="Restore a backup.")
    connection.execute(f'CREATE TEMP TABLE kept AS SELECT {columns} FROM main."{quoted}"')
    connection.execute(f'DROP TABLE main."{quoted}"')
    connection.execute(own_sql)
    connection.execute(f'INSERT INTO "{quoted}" ({columns}) SELECT {columns} FROM temp.kept')
    connection.execute("DROP TABLE temp.kept")


def _no_pages() -> BadBrain:
    return BadBrain("the table of pages is missing", hint="Restore a backup.")


def reindex(examination: Examination) -> None:
    examination.connection.execute("REINDEX")


def missing_names(examination: Examination) -> list[str]:
    return list(missing_objects(examination.connection))


def create_missing(examination: Examination) -> None:
    """Create what is missing, still empty: the repairs of later checks fill it."""
    connection = examination.connection
    missing = missing_objects(connection)
    if "pages" in missing:
        raise _no_pages()
    for name, statement in missing.items():
        if statement is not None and "_fts" not in name:
            connection.execute(statement)
    for table in KEYWORD_INDEXES:
        if any(name.startswith(table) for name in missing):
            create_empty_index(connection, table)
    # No check compares questions with the pages that they are derived from.
    if "page_questions" in missing:
        page_writer.rebuild_questions(connection)


def hard_links(examination: Examination) -> int:
    # SQLite keeps its log next to the name it was given: each name has a separate log.
    return os.stat(examination.path).st_nlink - 1


def leftovers(examination: Examination) -> list[str]:
    return [file.name for file in atomic_files.find_leftovers(examination.path.parent)]


def remove_leftovers(examination: Examination) -> None:
    for file in atomic_files.find_leftovers(examination.path.parent):
        atomic_files.remove_temporary(file)


def missing_folders(examination: Examination) -> list[str]:
    roots = [folder.root for folder in list_folders(examination.connection)]
    return [root for root in roots if not Path(root).is_dir()]
