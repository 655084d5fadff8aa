"""Where a brain file is not as it should be: the file itself, its schema, vectors and settings."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

from gbrain.config import known_settings, read_value
from gbrain.errors import BadSetting
from gbrain.store.migrations import migrate
from gbrain.store.settings import stored
from gbrain.store.vectors import SEGMENT, VectorSpace, active_space, ensure_tables

KEYWORD_INDEXES = ("pages_fts", "chunks_fts", "questions_fts")


# --- the file --------------------------------------------------------------------------------


def files(path: Path) -> list[Path]:
    """The brain file and what SQLite keeps beside it."""
    beside = [path.with_name(path.name + ending) for ending in ("", "-wal", "-shm")]
    return [file for file in beside if file.exists()]


def open_files(path: Path) -> list[tuple[Path, int]]:
    """Files that others than their owner may open, each with its mode."""
    modes = [(file, file.stat().st_mode & 0o777) for file in files(path)]
    return [(file, mode) for file, mode in modes if mode & 0o077]


def damage(connection: sqlite3.Connection, full: bool) -> list[str]:
    """What SQLite says of the file; `full` also compares every index with its table."""
    pragma = "integrity_check" if full else "quick_check"
    said = [row[0] for row in connection.execute(f"PRAGMA {pragma}")]
    # Newer versions of SQLite look into the keyword indexes too; those have checks of their own.
    return [
        line
        for text in said
        if text != "ok" and "fts5" not in text.lower()
        for line in text.splitlines()
    ]


def spaces(connection: sqlite3.Connection) -> list[VectorSpace]:
    """The vectors of every model the brain knows."""
    rows = connection.execute("SELECT id, dimension FROM embedding_models ORDER BY id")
    return [VectorSpace(model_id, int(dimension)) for model_id, dimension in rows]


def parts(connection: sqlite3.Connection) -> dict[str, str]:
    """The kind of each table, index, view and trigger by name, without SQLite's own."""
    rows = connection.execute("SELECT name, type FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*'")
    return dict(rows.fetchall())


def missing_parts(connection: sqlite3.Connection) -> dict[str, str | None]:
    """What the schema lacks, in the order in which it can be made: how to make it, by name.

    A column, named as `table.column`, cannot be made anew; a table of a keyword index only with
    the whole of it.
    """
    there = parts(connection)
    whole = _whole(connection, there)
    wanted = whole.execute(
        "SELECT name, sql FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*' ORDER BY rowid"
    ).fetchall()
    missing = {name: sql for name, sql in wanted if name not in there}
    for name, _ in wanted:
        # SQLite would open a keyword index to tell its columns, and some part of it may be gone.
        if there.get(name) == "table" and "_fts" not in name:
            columns = _columns(whole, name) - _columns(connection, name)
            missing |= {f"{name}.{column}": None for column in sorted(columns)}
    whole.close()
    return missing


def _whole(connection: sqlite3.Connection, there: dict[str, str]) -> sqlite3.Connection:
    """An empty brain with all tables that this one should have."""
    whole = sqlite3.connect(":memory:", isolation_level=None)
    migrate(whole)
    for space in spaces(connection) if "embedding_models" in there else ():
        ensure_tables(whole, space.dimension)
    return whole


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return {row[0] for row in rows}


def stray_rows(connection: sqlite3.Connection) -> Counter[tuple[str, str]]:
    """How many rows belong to nothing, by table and what it lacks; passages are not counted."""
    rows = connection.execute("PRAGMA foreign_key_check")
    return Counter((table, parent) for table, _, parent, _ in rows if table != "chunks")


def stray_passages(connection: sqlite3.Connection) -> int:
    """How many passages are of no page."""
    row = connection.execute(
        "SELECT count(*) FROM chunks WHERE page_id NOT IN (SELECT id FROM pages)"
    ).fetchone()
    count: int = row[0]
    return count


def unreachable_words(connection: sqlite3.Connection, table: str) -> int:
    """How many words a keyword index holds that nobody finds there.

    FTS5's own check reads the words one after the other; a search goes by another way to them.
    """
    connection.execute(f"CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', '{table}', 'row')")
    try:
        held = connection.execute("SELECT CAST(term AS BLOB), doc FROM temp.words").fetchall()
        look_up = "SELECT doc FROM temp.words WHERE term = CAST(? AS TEXT)"
        return sum(
            connection.execute(look_up, (word,)).fetchone() != (pages,) for word, pages in held
        )
    finally:
        connection.execute("DROP TABLE temp.words")


# --- vectors ---------------------------------------------------------------------------------


def wrong_vectors(connection: sqlite3.Connection) -> Counter[str]:
    """How many vectors and codes are of the wrong size, and how many vectors have no code."""
    found: Counter[str] = Counter()
    for space in spaces(connection):
        size = SEGMENT * (4 + space.dimension)
        for fault, question, value in (
            ("vectors of the wrong size",
             f"SELECT count(*) FROM {space.vectors} WHERE model_id = ? AND length(vector) <> ?",
             2 * space.dimension),
            ("packs of codes of the wrong size",
             f"SELECT count(*) FROM {space.codes} WHERE model_id = ? AND length(codes) <> ?",
             size),
            ("vectors without a code",
             f"SELECT count(*) FROM {space.vectors} WHERE model_id = ?1 AND hash IS NOT NULL "
             f"AND slot / {SEGMENT} NOT IN (SELECT segment FROM {space.codes} "
             "WHERE model_id = ?1 AND length(codes) = ?2)",
             size),
        ):  # fmt: skip
            found[fault] += connection.execute(question, (space.model_id, value)).fetchone()[0]
    return +found


def stray_vectors(connection: sqlite3.Connection) -> int:
    """How many vectors are of a text that no page holds any more."""
    return sum(
        connection.execute(
            f"SELECT count(*) FROM {space.vectors} AS v WHERE model_id = ? AND hash IS NOT NULL "
            "AND NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.hash = v.hash)",
            (space.model_id,),
        ).fetchone()[0]
        for space in spaces(connection)
    )


def models_gone(connection: sqlite3.Connection) -> list[str]:
    """The models whose folder is not there any more, with that folder."""
    rows = connection.execute(
        "SELECT name, folder FROM embedding_models WHERE folder IS NOT NULL ORDER BY name"
    )
    return [f"{name} in {folder}" for name, folder in rows if not Path(folder).is_dir()]


STRAY_JOBS = "NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.hash = embedding_jobs.hash)"


def stray_jobs(connection: sqlite3.Connection) -> int:
    """How many jobs are for a text that no page holds any more."""
    row = connection.execute(f"SELECT count(*) FROM embedding_jobs WHERE {STRAY_JOBS}").fetchone()
    count: int = row[0]
    return count


def failed_jobs(connection: sqlite3.Connection) -> list[str]:
    """What went wrong with the jobs that failed, a line each."""
    rows = connection.execute(
        "SELECT lower(hex(hash)), attempts, error FROM embedding_jobs WHERE error IS NOT NULL"
    )
    return [f"{name} after {attempts}: {error}" for name, attempts, error in rows]


def unembedded(connection: sqlite3.Connection) -> list[int]:
    """The pages that have a passage with neither a vector of the active model nor a job."""
    space = active_space(connection)
    known = (
        f"SELECT 1 FROM {space.vectors} AS v "
        f"WHERE v.model_id = {space.model_id} AND v.hash = chunks.hash"
        if space
        else "SELECT 1 WHERE 0"
    )
    rows = connection.execute(
        f"SELECT DISTINCT page_id FROM chunks WHERE NOT EXISTS ({known}) AND NOT EXISTS "
        "(SELECT 1 FROM embedding_jobs AS j WHERE j.hash = chunks.hash)"
    )
    return [row[0] for row in rows]


# --- settings --------------------------------------------------------------------------------


def strange_settings(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
    """Stored settings that have a value they cannot have, and those nobody knows."""
    bad: list[str] = []
    unknown: list[str] = []
    for name, written in sorted(stored(connection).items()):
        if name not in known_settings():
            unknown.append(name)
            continue
        try:
            read_value(name, written)
        except BadSetting:
            bad.append(name)
    return bad, unknown
