"""Random ways to damage a brain file: its bytes, its write-ahead log, its rows."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

Corruption = Callable[[Path, random.Random], None]


def flip_bits(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    used_places = [place for place in range(100, len(data)) if data[place]]
    for place in rng.sample(used_places, rng.choice([1, 1, 1, 2, 8, 64])):
        data[place] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def scribble(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    size = rng.choice([4, 16, 512, 4096])
    place = rng.randrange(16, len(data) - size)
    data[place : place + size] = rng.choice([bytes(size), b"\xff" * size, rng.randbytes(size)])
    path.write_bytes(data)


def damage_header(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 4])):
        data[rng.randrange(16, 100)] = rng.randrange(256)
    path.write_bytes(data)


def damage_page_header(path: Path, rng: random.Random) -> None:
    """Damage the header of a page: its type, free list, and the number and place of its cells."""
    data = bytearray(path.read_bytes())
    page = rng.randrange(len(data) // 4096) * 4096
    place = page + (100 if page == 0 else 0) + rng.randrange(24)
    data[place] = rng.randrange(256)
    path.write_bytes(data)


def swap_pages(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    one, two = (rng.randrange(1, len(data) // 4096) * 4096 for _ in range(2))
    if rng.random() < 0.5:
        data[one : one + 4096] = data[two : two + 4096]
    else:
        data[one : one + 4096], data[two : two + 4096] = (
            data[two : two + 4096], data[one : one + 4096],
        )  # fmt: skip
    path.write_bytes(data)


def truncate(path: Path, rng: random.Random, pages: int | None = None) -> None:
    size = path.stat().st_size
    kept = rng.randrange(size) if pages is None else pages * 4096
    os.truncate(path, kept)


def leave_log(path: Path, rng: random.Random) -> None:
    """Leave a write-ahead log as a killed process does, perhaps truncated or overwritten."""
    log, _ = _write_on_copy(path, rng)
    if rng.random() < 0.5:
        del log[rng.randrange(len(log)) :]
    elif rng.random() < 0.7:
        log[rng.randrange(len(log))] ^= 0x55
    Path(f"{path}-wal").write_bytes(log)
    if rng.random() < 0.3:
        Path(f"{path}-shm").write_bytes(rng.randbytes(32768))
    if rng.random() < 0.3:
        scribble(path, rng)


def lose_log(path: Path, rng: random.Random) -> None:
    """Remove the log of a killed process after only some of its pages were moved into the file."""
    before = path.read_bytes()
    _, after = _write_on_copy(path, rng)
    pages = range(0, len(after), 4096)
    changed = [place for place in pages if before[place : place + 4096] != after[place:][:4096]]
    data = bytearray(before)
    # Pages are moved in order; if all were, nothing would be lost with the log.
    for place in changed[: rng.randrange(len(changed))]:
        data[place : place + 4096] = after[place : place + 4096]
    path.write_bytes(data)


def _write_on_copy(path: Path, rng: random.Random) -> tuple[bytearray, bytes]:
    """Write to a copy of the brain; return its log, and the file after a checkpoint."""
    other = path.with_name("other.db")
    shutil.copyfile(path, other)
    with closing(sqlite3.connect(other, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        for number in range(rng.randint(1, 6)):
            writer.execute("UPDATE pages SET type = ? WHERE id % 7 = ?", ("x" * 99, number))
        log = bytearray(Path(f"{other}-wal").read_bytes())
    complete = other.read_bytes()
    other.unlink()
    return log, complete


RANDOM: dict[str, Corruption] = {
    "flip": flip_bits,
    "scribble": scribble,
    "header": damage_header,
    "page head": damage_page_header,
    "swap": swap_pages,
    "truncate": truncate,
    "log": leave_log,
    "no log": lose_log,
}

UNUSUAL_VALUES = (
    "NULL", "0", "-1", "9223372036854775807", "1e308", "9e999", "''", "x''", "x'fffe00'",
    "CAST(x'61ff62' AS TEXT)", "CAST(x'6100' AS TEXT)", "'\x1b[31m'", "'{}'", "'[1'", "'null'",
    "printf('%.*c', 300000, '[')", "printf('%.*c', 1000000, 'x')", "randomblob(100)",
    "zeroblob(3000000)", "'../../x'", "'2026-13-45'", "-0.5", "char(0xd800)", "'a' || char(10)",
)  # fmt: skip


def tables(raw: sqlite3.Connection) -> list[str]:
    rows = raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    return [name for (name,) in rows if not name.startswith("sqlite_")]


def store_unusual_value(path: Path, rng: random.Random) -> None:
    """Store a value of a type, size or format that gbrain never writes, in one row or in all."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        known = raw.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
        raw.execute("PRAGMA writable_schema = ON")
        loose = "replace(sql, ' NOT NULL', '')"
        raw.execute(f"UPDATE sqlite_schema SET sql = {loose} WHERE sql LIKE 'CREATE TABLE%'")
        raw.execute("PRAGMA writable_schema = RESET")
        for _ in range(rng.choice([1, 1, 3])):
            table = rng.choice([*tables(raw), "pages", "chunks"])
            try:
                columns = [row[1] for row in raw.execute(f"PRAGMA table_info({table})")]
                column, value = rng.choice(columns), rng.choice(UNUSUAL_VALUES)
                one = f"WHERE {columns[0]} = (SELECT {columns[0]} FROM {table} ORDER BY random())"
                where = rng.choice(["", one, one, one])
                raw.execute(f"UPDATE OR REPLACE {table} SET {column} = {value} {where}")
            except sqlite3.Error:
                continue
        raw.execute("PRAGMA writable_schema = ON")
        raw.executemany("UPDATE sqlite_schema SET sql = ?2 WHERE name = ?1", known)


# Tables derived from pages. In other tables a missing row cannot be noticed.
DERIVED_TABLES = (
    "chunks", "names", "tags", "links", "embedding_jobs", "page_embeddings_vec_384",
    "page_embeddings_codes_384", "pages_fts_data", "pages_fts_idx", "pages_fts_docsize",
    "chunks_fts_data", "chunks_fts_idx", "chunks_fts_docsize", "chunks_fts_config",
)  # fmt: skip


def delete_rows(path: Path, rng: random.Random) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        for _ in range(rng.randint(1, 3)):
            table = rng.choice(DERIVED_TABLES)
            try:
                if rng.random() < 0.2:
                    raw.execute(f"DROP TABLE {table}")
                else:
                    raw.execute(f"DELETE FROM {table} WHERE abs(random() % 3) = 0")
            except sqlite3.Error:
                continue


RANDOM |= {"value": store_unusual_value, "rows": delete_rows}
