"""Ways to damage a brain file: its bytes, its write-ahead log, its rows."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

Harm = Callable[[Path, random.Random], None]


def flip_bits(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    told = [place for place in range(100, len(data)) if data[place]]
    for place in chance.sample(told, chance.choice([1, 1, 1, 2, 8, 64])):
        data[place] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def scribble(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    size = chance.choice([4, 16, 512, 4096])
    place = chance.randrange(16, len(data) - size)
    data[place : place + size] = chance.choice(
        [bytes(size), b"\xff" * size, chance.randbytes(size)]
    )
    path.write_bytes(data)


def spoil_header(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 1, 4])):
        data[chance.randrange(16, 100)] = chance.randrange(256)
    path.write_bytes(data)


def spoil_page_head(path: Path, chance: random.Random) -> None:
    """Kind, free list, number and place of the cells: what the rest of a page hangs from."""
    data = bytearray(path.read_bytes())
    page = chance.randrange(len(data) // 4096) * 4096
    place = page + (100 if page == 0 else 0) + chance.randrange(24)
    data[place] = chance.randrange(256)
    path.write_bytes(data)


def swap_pages(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    one, two = (chance.randrange(1, len(data) // 4096) * 4096 for _ in range(2))
    if chance.random() < 0.5:
        data[one : one + 4096] = data[two : two + 4096]
    else:
        data[one : one + 4096], data[two : two + 4096] = (
            data[two : two + 4096], data[one : one + 4096],
        )  # fmt: skip
    path.write_bytes(data)


def truncate(path: Path, chance: random.Random, pages: int | None = None) -> None:
    size = path.stat().st_size
    kept = chance.randrange(size) if pages is None else pages * 4096
    os.truncate(path, kept)


def leave_log(path: Path, chance: random.Random) -> None:
    """A write-ahead log as a killed process leaves it, cut, scribbled over or of another brain."""
    log, _ = _written_on(path, chance)
    if chance.random() < 0.5:
        del log[chance.randrange(len(log)) :]
    elif chance.random() < 0.7:
        log[chance.randrange(len(log))] ^= 0x55
    Path(f"{path}-wal").write_bytes(log)
    if chance.random() < 0.3:
        Path(f"{path}-shm").write_bytes(chance.randbytes(32768))
    if chance.random() < 0.3:
        scribble(path, chance)


def lose_log(path: Path, chance: random.Random) -> None:
    """The log of a killed process is gone, and its pages are in the file, or some of them."""
    before = path.read_bytes()
    _, after = _written_on(path, chance)
    pages = range(0, len(after), 4096)
    changed = [place for place in pages if before[place : place + 4096] != after[place:][:4096]]
    data = bytearray(before)
    # They are moved there in order. When all of them are, nothing is lost with the log.
    for place in changed[: chance.randrange(len(changed))]:
        data[place : place + 4096] = after[place : place + 4096]
    path.write_bytes(data)


def _written_on(path: Path, chance: random.Random) -> tuple[bytearray, bytes]:
    """What somebody writes on a copy of the brain: the log of it, and the file with all of it."""
    other = path.with_name("other.db")
    shutil.copyfile(path, other)
    with closing(sqlite3.connect(other, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        for number in range(chance.randint(1, 6)):
            writer.execute("UPDATE pages SET type = ? WHERE id % 7 = ?", ("x" * 99, number))
        log = bytearray(Path(f"{other}-wal").read_bytes())
    whole = other.read_bytes()
    other.unlink()
    return log, whole


RANDOM: dict[str, Harm] = {
    "flip": flip_bits,
    "scribble": scribble,
    "header": spoil_header,
    "page head": spoil_page_head,
    "swap": swap_pages,
    "truncate": truncate,
    "log": leave_log,
    "no log": lose_log,
}

STRANGE = (
    "NULL", "0", "-1", "9223372036854775807", "1e308", "9e999", "''", "x''", "x'fffe00'",
    "CAST(x'61ff62' AS TEXT)", "CAST(x'6100' AS TEXT)", "'\x1b[31m'", "'{}'", "'[1'", "'null'",
    "printf('%.*c', 300000, '[')", "printf('%.*c', 1000000, 'x')", "randomblob(100)",
    "zeroblob(3000000)", "'../../x'", "'2026-13-45'", "-0.5", "char(0xd800)", "'a' || char(10)",
)  # fmt: skip


def tables(raw: sqlite3.Connection) -> list[str]:
    rows = raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    return [name for (name,) in rows if not name.startswith("sqlite_")]


def strange_value(path: Path, chance: random.Random) -> None:
    """A value of a kind, size or spelling that gbrain never writes, in one row or in all."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        known = raw.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
        raw.execute("PRAGMA writable_schema = ON")
        loose = "replace(sql, ' NOT NULL', '')"
        raw.execute(f"UPDATE sqlite_schema SET sql = {loose} WHERE sql LIKE 'CREATE TABLE%'")
        raw.execute("PRAGMA writable_schema = RESET")
        for _ in range(chance.choice([1, 1, 3])):
            table = chance.choice([*tables(raw), "pages", "chunks"])
            try:
                columns = [row[1] for row in raw.execute(f"PRAGMA table_info({table})")]
                column, value = chance.choice(columns), chance.choice(STRANGE)
                one = f"WHERE {columns[0]} = (SELECT {columns[0]} FROM {table} ORDER BY random())"
                where = chance.choice(["", one, one, one])
                raw.execute(f"UPDATE OR REPLACE {table} SET {column} = {value} {where}")
            except sqlite3.Error:
                continue
        raw.execute("PRAGMA writable_schema = ON")
        raw.executemany("UPDATE sqlite_schema SET sql = ?2 WHERE name = ?1", known)


# What follows from pages. Nobody can see that one of the others lost a row.
FOLLOWING = (
    "chunks", "names", "tags", "links", "embedding_jobs", "page_embeddings_vec_384",
    "page_embeddings_codes_384", "pages_fts_data", "pages_fts_idx", "pages_fts_docsize",
    "chunks_fts_data", "chunks_fts_idx", "chunks_fts_docsize", "chunks_fts_config",
)  # fmt: skip


def lost_rows(path: Path, chance: random.Random) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        for _ in range(chance.randint(1, 3)):
            table = chance.choice(FOLLOWING)
            try:
                if chance.random() < 0.2:
                    raw.execute(f"DROP TABLE {table}")
                else:
                    raw.execute(f"DELETE FROM {table} WHERE abs(random() % 3) = 0")
            except sqlite3.Error:
                continue


RANDOM |= {"value": strange_value, "rows": lost_rows}
