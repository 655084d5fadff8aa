"""Store the questions that pages answer, which the keyword lane searches."""

from __future__ import annotations

import json
import sqlite3

from gbrain.config import Settings
from gbrain.text.questions import QuestionSource, authored_questions, derive_questions
from gbrain.types import Page


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
    _store(connection, mode, page_id, page.meta, page.title, page.wing, sources)


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
        _store(connection, mode, page_id, meta, title, wing, sources)
    count: int = connection.execute("SELECT count(*) FROM page_questions").fetchone()[0]
    return count


def _question_mode(connection: sqlite3.Connection) -> str:
    """Return the setting hypothetical_questions: off, authored or derived."""
    row = connection.execute(
        "SELECT value FROM config WHERE key = 'hypothetical_questions'"
    ).fetchone()
    return row[0] if row else Settings().hypothetical_questions


def _store(
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
    row = (page_id, "\n".join(questions))
    connection.execute("INSERT INTO page_questions (page_id, questions) VALUES (?, ?)", row)
    connection.execute("INSERT INTO questions_fts (rowid, questions) VALUES (?, ?)", row)
