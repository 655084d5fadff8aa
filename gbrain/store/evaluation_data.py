"""Data for evaluations: where test questions are mined from, and results of earlier self-tests."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from gbrain.text.query_terms import fts_expression
from gbrain.types import Term

# Each baseline stores its questions: some hundred kilobytes in a large brain.
_MAX_BASELINES = 5


class SourcePage(NamedTuple):
    """A page that questions may be mined from."""

    id: int
    slug: str
    title: str


class BaselineRow(NamedTuple):
    """One self-test; `results` is JSON, `model` is None if only the keyword lane ran."""

    id: int
    made_at: str
    model: str | None
    results: str


def source_pages(connection: sqlite3.Connection) -> list[SourcePage]:
    """Return all pages, in no particular order."""
    rows = connection.execute("SELECT id, slug, title FROM pages")
    return [SourcePage(*row) for row in rows]


def linking_pages(connection: sqlite3.Connection) -> list[SourcePage]:
    """Return the pages whose body links to something, in no particular order."""
    rows = connection.execute(
        "SELECT id, slug, title FROM pages "
        "WHERE id IN (SELECT page_id FROM links WHERE kind <> 'front_matter')"
    )
    return [SourcePage(*row) for row in rows]


def opening_text(connection: sqlite3.Connection, page_id: int, characters: int) -> str:
    """Return the first `characters` of a page's compiled truth."""
    text: str = connection.execute(
        "SELECT substr(compiled_truth, 1, ?) FROM pages WHERE id = ?", (characters, page_id)
    ).fetchone()[0]
    return text


def section_openings(
    connection: sqlite3.Connection, page_id: int
) -> list[tuple[tuple[str, ...], str]]:
    """Return (heading path, first chunk's text) of each section, in page order."""
    rows = connection.execute(
        "SELECT heading_path, text FROM chunks "
        "WHERE page_id = ? AND kind = 'truth' AND part = 0 ORDER BY section",
        (page_id,),
    )
    return [(tuple(json.loads(path)), text) for path, text in rows]


def timeline_chunks(connection: sqlite3.Connection) -> list[tuple[int, str, str]]:
    """Return (chunk id, slug, date) of each dated timeline entry, in no particular order."""
    return connection.execute(
        "SELECT chunks.id, slug, chunks.date FROM chunks JOIN pages ON pages.id = page_id "
        "WHERE kind = 'timeline' AND part = 0 AND chunks.date IS NOT NULL"
    ).fetchall()


def chunk_text(connection: sqlite3.Connection, chunk_id: int) -> str:
    """Return the text of one chunk."""
    row = connection.execute("SELECT text FROM chunks WHERE id = ?", (chunk_id,)).fetchone()
    text: str = row[0]
    return text


def count_pages_with(connection: sqlite3.Connection, word: str, limit: int) -> int:
    """Return how many pages contain `word`; counting stops at `limit`."""
    count: int = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM pages_fts WHERE pages_fts MATCH ? LIMIT ?)",
        (fts_expression((Term((word,), quoted=True),)), limit),
    ).fetchone()[0]
    return count


def contains_any(connection: sqlite3.Connection, slug: str, words: Sequence[str]) -> bool:
    """Return whether the page contains at least one of the words."""
    terms = tuple(Term((word,), quoted=True) for word in words)
    row = connection.execute(
        "SELECT 1 FROM pages_fts JOIN pages ON pages.id = pages_fts.rowid "
        "WHERE pages_fts MATCH ? AND pages.slug = ?",
        (fts_expression(terms), slug),
    ).fetchone()
    return row is not None


def contains_text(connection: sqlite3.Connection, slug: str, text: str) -> bool:
    """Return whether the page exists and contains `text` word for word."""
    row = connection.execute(
        "SELECT 1 FROM pages WHERE slug = ?1 "
        "AND (instr(compiled_truth, ?2) OR instr(timeline, ?2))",
        (slug, text),
    ).fetchone()
    return row is not None


def opened_pages(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return (query, slug) of each page opened from the hits of a recorded query, by query."""
    return connection.execute(
        "SELECT text, slug FROM questions JOIN question_hits ON question_id = questions.id "
        "JOIN pages ON pages.id = page_id WHERE opened_at IS NOT NULL ORDER BY text, slug"
    ).fetchall()


def save_baseline(
    connection: sqlite3.Connection, made_at: str, model: str | None, results: str
) -> None:
    """Save a baseline and delete all but the newest."""
    connection.execute(
        "INSERT INTO baselines (made_at, model, results) VALUES (?, ?, ?)",
        (made_at, model, results),
    )
    connection.execute(
        "DELETE FROM baselines WHERE id NOT IN (SELECT id FROM baselines ORDER BY id DESC LIMIT ?)",
        (_MAX_BASELINES,),
    )


def latest_baseline(connection: sqlite3.Connection) -> BaselineRow | None:
    """Return the newest baseline; None if there is none."""
    row = connection.execute(
        "SELECT id, made_at, model, results FROM baselines ORDER BY id DESC LIMIT 1"
    ).fetchone()
    return BaselineRow(*row) if row else None
