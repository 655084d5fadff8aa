"""Passages with their text: what a hit shows and what an assembled context is made of."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any, NamedTuple

from gbrain.types import ChunkKind

MARK_ON, MARK_OFF = "\x02", "\x03"
_SNIPPET_WORDS = 30


class Passage(NamedTuple):
    """A stored passage; `text` is without its own heading line."""

    id: int
    page_id: int
    section: int
    part: int
    kind: ChunkKind
    heading_path: tuple[str, ...]
    date: str | None
    byte_start: int
    byte_stop: int
    first_line: int
    last_line: int
    hash: bytes
    text: str


_COLUMNS = (
    "id, page_id, section, part, kind, heading_path, date, byte_start, byte_stop, first_line, "
    "last_line, hash, text"
)


def _passage(row: tuple[Any, ...]) -> Passage:
    values = [*row[:5], tuple(json.loads(row[5])), *row[6:]]
    return Passage(*values)


def passages(connection: sqlite3.Connection, chunk_ids: Iterable[int]) -> dict[int, Passage]:
    """The passages of these numbers."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(chunk_ids)),),
    )
    return {row[0]: _passage(row) for row in rows}


def first_passage(connection: sqlite3.Connection, page_id: int) -> Passage | None:
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM chunks WHERE page_id = ? ORDER BY section, part LIMIT 1",
        (page_id,),
    ).fetchone()
    return _passage(row) if row else None


def passage_at(connection: sqlite3.Connection, page_id: int, byte: int) -> Passage | None:
    """The last passage of the page that begins at or before `byte`."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM chunks WHERE page_id = ? AND byte_start <= ? "
        "ORDER BY section DESC, part DESC LIMIT 1",
        (page_id, byte),
    ).fetchone()
    return _passage(row) if row else None


def page_passages(connection: sqlite3.Connection, page_id: int) -> list[Passage]:
    """All passages of a page in page order."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM chunks WHERE page_id = ? ORDER BY section, part", (page_id,)
    )
    return [_passage(row) for row in rows]


def neighbours(connection: sqlite3.Connection, passage: Passage, reach: int) -> list[Passage]:
    """The passages around one on its page, in page order, itself left out."""
    rows = connection.execute(
        f"SELECT * FROM (SELECT {_COLUMNS} FROM chunks WHERE page_id = ?1 "
        "AND (section, part) < (?2, ?3) ORDER BY section DESC, part DESC LIMIT ?4) "
        f"UNION ALL SELECT * FROM (SELECT {_COLUMNS} FROM chunks WHERE page_id = ?1 "
        "AND (section, part) > (?2, ?3) ORDER BY section, part LIMIT ?4)",
        (passage.page_id, passage.section, passage.part, reach),
    )
    found = [_passage(row) for row in rows]
    return sorted(found, key=lambda other: (other.section, other.part))


def marked_snippet(connection: sqlite3.Connection, chunk_id: int, match: str) -> str | None:
    """The passage's best stretch with matched words marked; None when the words are not there."""
    row = connection.execute(
        "SELECT snippet(chunks_fts, 2, ?, ?, '…', ?) FROM chunks_fts "
        "WHERE chunks_fts MATCH ? AND rowid = ?",
        (MARK_ON, MARK_OFF, _SNIPPET_WORDS, match, chunk_id),
    ).fetchone()
    return " ".join(row[0].split()) if row else None


def plain_snippet(text: str) -> str:
    """The first words of a text, on one line."""
    words = text[: 20 * _SNIPPET_WORDS].split()
    cut = len(words) > _SNIPPET_WORDS or len(text) > 20 * _SNIPPET_WORDS
    return " ".join(words[:_SNIPPET_WORDS]) + ("…" if cut else "")
