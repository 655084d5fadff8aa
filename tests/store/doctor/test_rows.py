"""Rows and indexes that are derived from pages are compared with them and rebuilt."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gbrain.store.connection import Database
from gbrain.store.page_writer import write_page
from gbrain.store.pages import require_page
from gbrain.text.page import parse_page

NOW = "2026-11-16T12:00:00.000Z"


def test_rebuilt_chunks_are_those_of_the_text(
    run_sql: Callable[..., None],
    findings: Callable[..., Any],
    connection: sqlite3.Connection,
) -> None:
    rows = "SELECT section, part, hash, heading_path, text FROM chunks ORDER BY 1, 2, 3"
    before = connection.execute(rows).fetchall()
    run_sql(
        "UPDATE chunks SET text = 'Other.' WHERE section = 0",
        "DELETE FROM chunks WHERE section = 1",
        "DELETE FROM embedding_jobs",
    )
    findings(repair=True)
    assert connection.execute(rows).fetchall() == before
    hashes = {row[2] for row in before}
    assert {row[0] for row in connection.execute("SELECT hash FROM embedding_jobs")} == hashes


def test_only_a_full_check_finds_a_wrong_line_number(
    run_sql: Callable[..., None], findings: Callable[..., Any]
) -> None:
    run_sql("UPDATE chunks SET first_line = 99 WHERE page_id = 1 AND section = 2")
    assert findings().not_ok == {}
    assert findings(full=True)["passages"].details == ("people/alice-chen",)
    assert findings(full=True, repair=True)["passages"].status == "repaired"
    assert findings(full=True).not_ok == {}


def test_a_full_check_finds_facts_not_in_the_text(
    run_sql: Callable[..., None],
    findings: Callable[..., Any],
    connection: sqlite3.Connection,
) -> None:
    run_sql("UPDATE pages SET title = 'Lies', wing = 'lies', meta = '{}' WHERE slug = 'river'")
    assert findings(full=True)["page_facts"].details == ("river",)
    assert findings(full=True, repair=True)["page_facts"].status == "repaired"
    assert findings(full=True).not_ok == {}
    page = require_page(connection, "river")
    assert (page.title, page.version) == ("River", 1)
    (hits,) = connection.execute("SELECT count(*) FROM pages_fts WHERE pages_fts MATCH 'lies'")
    assert hits == (0,)


@pytest.mark.parametrize("statement", [
    "DELETE FROM pages_fts_idx",
    "UPDATE pages_fts_idx SET segid = segid || 'x'",
    "UPDATE pages_fts_idx SET pgno = ''",
])  # fmt: skip
def test_a_full_check_finds_unreachable_terms(
    statement: str, path: Path, findings: Callable[..., Any]
) -> None:
    with closing(Database(path)) as database, database.write_transaction() as connection:
        # Enough terms for more than one page of the index.
        words = " ".join(f"word{number:x}" for number in range(3000))
        write_page(connection, parse_page("many.md", words.encode()), NOW)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute(statement)
    assert findings(full=True)["page_index"].status == "problem"
    assert findings(full=True, repair=True)["page_index"].status == "repaired"
    assert findings(full=True).not_ok == {}


def test_a_full_check_finds_names_and_tags_not_in_the_text(
    run_sql: Callable[..., None], findings: Callable[..., Any]
) -> None:
    run_sql("UPDATE names SET key = 'lies' WHERE kind = 'title'", "UPDATE tags SET tag = 'lies'")
    assert findings(full=True)["references"].details == ("empty", "people/alice-chen", "river")
    assert findings(full=True, repair=True)["references"].status == "repaired"
    assert findings(full=True).not_ok == {}


def test_missing_tables_are_created_and_filled_from_pages(
    run_sql: Callable[..., None],
    findings: Callable[..., Any],
    connection: sqlite3.Connection,
) -> None:
    chunks = "SELECT page_id, section, text FROM chunks ORDER BY 1, 2"
    before = connection.execute(chunks).fetchall()
    names = connection.execute("SELECT * FROM names").fetchall()
    links = connection.execute("SELECT * FROM links").fetchall()
    run_sql("DROP TABLE chunks", "DROP TABLE chunks_fts", "DROP TABLE names", "DROP TABLE links")
    found = findings(repair=True)
    assert found["schema"].status == "repaired"
    assert found["passages"].status == "repaired"
    assert connection.execute(chunks).fetchall() == before
    assert connection.execute("SELECT * FROM names").fetchall() == names
    assert connection.execute("SELECT * FROM links").fetchall() == links
    assert len(links) == 2


def test_a_full_check_finds_missing_links(
    run_sql: Callable[..., None], findings: Callable[..., Any]
) -> None:
    run_sql("DELETE FROM links")
    assert findings().not_ok == {}
    assert findings(full=True)["references"].details == ("people/alice-chen", "river")
    assert findings(full=True, repair=True)["references"].status == "repaired"
    assert findings(full=True).not_ok == {}
