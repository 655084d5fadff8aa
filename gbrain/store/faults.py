"""Where a brain file is not as it should be: the questions behind the checks and the repairs."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

from gbrain.config import known_settings, read_value
from gbrain.errors import BadPage, BadSetting, GbrainError
from gbrain.store.migrations import migrate
from gbrain.store.settings import stored
from gbrain.store.vectors import SEGMENT, VectorSpace, active_space, ensure_tables
from gbrain.text.slug import slug_of

KEYWORD_INDEXES = ("pages_fts", "chunks_fts")


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

    A column, named as `table.column`, cannot be made anew.
    """
    there = parts(connection)
    whole = _whole(connection, there)
    wanted = whole.execute(
        "SELECT name, sql FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*' "
        "AND name NOT GLOB '*_fts_*' ORDER BY rowid"
    ).fetchall()
    missing = {name: sql for name, sql in wanted if name not in there}
    for name, _ in wanted:
        if there.get(name) == "table":
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


# --- pages and passages ----------------------------------------------------------------------


def page_ids(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    """(id, slug) of every page, by slug."""
    return connection.execute("SELECT id, slug FROM pages ORDER BY slug").fetchall()


def page_bytes(connection: sqlite3.Connection, page_id: int) -> tuple[bytes, bytes]:
    """A page's hash and text as they lie in the file; raises DatabaseError for no such row."""
    row = connection.execute(
        "SELECT sha256, CAST(front_matter || compiled_truth || timeline AS BLOB) FROM pages "
        "WHERE id = ?",
        (page_id,),
    ).fetchone()
    if row is None or row[1] is None:
        raise sqlite3.DatabaseError("an index names it, but its row is not there")
    return row[0], row[1]


def wrong_texts(connection: sqlite3.Connection) -> tuple[list[tuple[int, str]], list[str]]:
    """Pages whose text is not the one that was written, as (id, slug); and those unreadable."""
    changed: list[tuple[int, str]] = []
    unreadable: list[str] = []
    for page_id, slug in page_ids(connection):
        try:
            digest, data = page_bytes(connection, page_id)
            if digest != sha256(data).digest():
                changed.append((page_id, slug))
        except sqlite3.DatabaseError as error:
            unreadable.append(f"{slug}: {error}")
    return changed, unreadable


def wrong_slugs(connection: sqlite3.Connection) -> list[tuple[int, str, str]]:
    """(id, slug, path) of pages whose slug is not the one that their path gives."""
    rows = connection.execute("SELECT id, slug, path FROM pages ORDER BY slug")
    return [row for row in rows if row[1] != _slug(row[2])]


def _slug(path: str) -> str | None:
    try:
        return slug_of(path)
    except BadPage:
        return None


def stray_passages(connection: sqlite3.Connection) -> int:
    """How many passages are of no page."""
    row = connection.execute(
        "SELECT count(*) FROM chunks WHERE page_id NOT IN (SELECT id FROM pages)"
    ).fetchone()
    count: int = row[0]
    return count


def wrong_passages(connection: sqlite3.Connection, full: bool) -> list[tuple[int, str]]:
    """Pages whose passages are missing or do not stand where they say; `full` cuts each anew."""
    wrong: list[tuple[int, str]] = []
    for page_id, slug in page_ids(connection):
        # A page that cannot be read is found by its text.
        with suppress(sqlite3.DatabaseError):
            if not (_as_cut if full else _in_place)(connection, page_id):
                wrong.append((page_id, slug))
    return wrong


def _in_place(connection: sqlite3.Connection, page_id: int) -> bool:
    """Whether the passages stand in the text where they say and leave nothing written out.

    Where that is not plain to see, the page is cut anew to be sure.
    """
    _, data = page_bytes(connection, page_id)
    passages = connection.execute(
        "SELECT section, part, byte_start, byte_stop, CAST(text AS BLOB) FROM chunks "
        "WHERE page_id = ? ORDER BY section, part",
        (page_id,),
    ).fetchall()
    front = connection.execute(
        "SELECT length(CAST(front_matter AS BLOB)) FROM pages WHERE id = ?", (page_id,)
    ).fetchone()[0]
    places = [(-1, 0), *(row[:2] for row in passages)]
    in_order = all(
        here in ((before[0], before[1] + 1), (before[0] + 1, 0))
        for before, here in pairwise(places)
    )
    starts = [*(row[2] for row in passages), len(data)]
    stops = [front, *(row[3] for row in passages)]
    plain = all(
        _only_headings(data[stop:start]) for stop, start in zip(stops, starts, strict=True)
    )
    # Passages overlap by less than they hold; a file that says otherwise is not worth the reading.
    bounded = sum(stop - start for _, _, start, stop, _ in passages) <= 2 * len(data)
    return (
        in_order
        and bounded
        and all(
            _decoded(data[start:stop]).strip().endswith(_decoded(text))
            for _, _, start, stop, text in passages
        )
        and (plain or _as_cut(connection, page_id))
    )


def _only_headings(between: bytes) -> bool:
    """Whether there is nothing to make a passage of."""
    return all(line.lstrip()[:1] in (b"", b"#") for line in between.splitlines())


def _decoded(data: bytes) -> str:
    return data.decode(errors="replace")


def _as_cut(connection: sqlite3.Connection, page_id: int) -> bool:
    from gbrain.text.page import parse_page

    path = connection.execute("SELECT path FROM pages WHERE id = ?", (page_id,)).fetchone()[0]
    try:
        page = parse_page(path, page_bytes(connection, page_id)[1])
    except GbrainError:
        return False
    standing = connection.execute(
        "SELECT section, part, kind, date, byte_start, byte_stop, first_line, last_line, hash, "
        "heading_path, text FROM chunks WHERE page_id = ? ORDER BY section, part",
        (page_id,),
    ).fetchall()
    return standing == [
        (c.section, c.part, c.kind, c.date, c.byte_start, c.byte_stop, c.first_line, c.last_line,
         c.hash, json.dumps(c.heading_path, ensure_ascii=False), c.text)
        for c in page.chunks
    ]  # fmt: skip


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
