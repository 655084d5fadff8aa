"""Each problem is put into a brain file; its check reports it and its repair removes it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gbrain.errors import BadBrain
from gbrain.store import chunks
from gbrain.store.connection import Database
from gbrain.store.doctor.examine import CHECKS, NOT_CHECKED, examine
from gbrain.store.page_writer import write_page
from gbrain.text.page import parse_page

NOW = "2026-11-16T12:00:00.000Z"


def test_a_new_brain_has_no_problems(findings: Callable[..., Any]) -> None:
    assert findings().not_ok == {}
    assert findings(full=True).not_ok == {}
    assert list(findings()) == [check.name for check in CHECKS]


# Name of the check, statements that cause the problem, message, details.
PROBLEMS = {
    "a page is missing from the keyword index": (
        "page_index",
        ["INSERT INTO pages_fts (pages_fts, rowid, title, slug, compiled_truth, timeline, tags, "
         "aliases) SELECT 'delete', id, title, slug, compiled_truth, timeline, tags, aliases "
         "FROM pages WHERE slug = 'river'"],
        "the keyword index does not match the pages",
        (),
    ),
    "the keyword index of pages is overwritten": (
        "page_index",
        ["UPDATE pages_fts_data SET block = x'00ff' WHERE id > 10"],
        "the keyword index does not match the pages",
        (),
    ),
    "a chunk is missing from the keyword index": (
        "passage_index",
        ["INSERT INTO chunks_fts (chunks_fts, rowid, title, heading_path, text) "
         "SELECT 'delete', id, title, heading_path, text FROM chunk_search WHERE id = 1"],
        "the keyword index does not match the pages",
        (),
    ),
    "the keyword index is missing": (
        "schema",
        ["DROP TABLE pages_fts"],
        "missing tables, columns or indexes: 5",
        ("pages_fts", "pages_fts_data", "pages_fts_idx", "pages_fts_docsize", "pages_fts_config"),
    ),
    "an index and the job queue are missing": (
        "schema",
        ["DROP INDEX pages_wing", "DROP TABLE embedding_jobs"],
        "missing tables, columns or indexes: 3",
        ("pages_wing", "embedding_jobs", "embedding_jobs_due"),
    ),
    "a tag and two links of no page": (
        "stray_rows",
        ["INSERT INTO tags VALUES ('lost', 99)",
         "INSERT INTO links VALUES (99, 0, 1, 'wiki', 'a', 'a', NULL, NULL)",
         "INSERT INTO links VALUES (99, 1, 1, 'wiki', 'b', 'b', NULL, NULL)"],
        "rows that belong to nothing: 3",
        ("links without pages: 2", "tags without pages: 1"),
    ),
    "a page of an unknown folder": (
        "stray_rows",
        ["UPDATE pages SET vault_id = 7 WHERE slug = 'river'"],
        "rows that belong to nothing: 1",
        ("pages without vaults: 1",),
    ),
    "a vector of no model": (
        "stray_rows",
        ["INSERT INTO page_embeddings_vec_384 VALUES (5, 0, x'00', zeroblob(768))"],
        "rows that belong to nothing: 1",
        ("page_embeddings_vec_384 without embedding_models: 1",),
    ),
    "chunks of no page": (
        "stray_passages",
        ["INSERT INTO chunks SELECT id + 100, 99, section, part, kind, date, first_day, last_day, "
         "byte_start, byte_stop, first_line, last_line, hash, heading_path, text FROM chunks "
         "WHERE page_id = 1"],
        "chunks that belong to no page: 4",
        (),
    ),
    "a text that somebody changed": (
        "page_texts",
        ["UPDATE pages SET compiled_truth = compiled_truth || 'More.' WHERE slug = 'river'"],
        "pages that something else than gbrain changed: 1",
        ("river",),
    ),
    "slugs that do not follow their paths": (
        "slugs",
        ["UPDATE pages SET path = 'Lake View.md' WHERE slug = 'river'"],
        "slugs that do not match their path: 1",
        ("river has the path Lake View.md",),
    ),
    "an invalid path": (
        "slugs",
        ["UPDATE pages SET path = 'river' || char(14) || 'md' WHERE slug = 'river'"],
        "slugs that do not match their path: 1",
        ("river has the path river\x0emd",),
    ),
    "a page without chunks": (
        "passages",
        ["DELETE FROM chunks WHERE page_id = 1"],
        "pages whose chunks do not match their text: 1",
        ("people/alice-chen",),
    ),
    "a page without one of its chunks": (
        "passages",
        ["DELETE FROM chunks WHERE page_id = 1 AND section = 1"],
        "pages whose chunks do not match their text: 1",
        ("people/alice-chen",),
    ),
    "a page without its last chunks": (
        "passages",
        ["DELETE FROM chunks WHERE page_id = 1 AND section > 0"],
        "pages whose chunks do not match their text: 1",
        ("people/alice-chen",),
    ),
    "chunks with another text than their page": (
        "passages",
        ["UPDATE chunks SET text = 'Something else.' WHERE page_id IN (1, 2) AND section = 0"],
        "pages whose chunks do not match their text: 2",
        ("people/alice-chen", "river"),
    ),
    "a page without its names": (
        "references",
        ["DELETE FROM names WHERE page_id = 1"],
        "pages whose names, tags or links do not match their text: 1",
        ("people/alice-chen",),
    ),
    "a tag that is not indexed": (
        "references",
        ["DELETE FROM tags"],
        "pages whose names, tags or links do not match their text: 1",
        ("people/alice-chen",),
    ),
    "chunks without vector and job": (
        "missing_vectors",
        ["DELETE FROM embedding_jobs"],
        "pages with chunks that vector search cannot find: 2",
        (),
    ),
    "a job for no chunk": (
        "stray_jobs",
        ["INSERT INTO embedding_jobs (hash, enqueued_at) VALUES (x'beef', '2026-11-16')"],
        "jobs for texts that no page contains: 1",
        (),
    ),
    "terms in the keyword index that no page contains": (
        "page_index",
        ["INSERT INTO pages_fts (rowid, title) VALUES (99, 'ghost')"],
        "the keyword index does not match the pages",
        (),
    ),
    "terms in the keyword index that no chunk contains": (
        "passage_index",
        ["INSERT INTO chunks_fts (rowid, title) VALUES (9999, 'ghost')"],
        "the keyword index does not match the pages",
        (),
    ),
    "missing tables of the keyword indexes": (
        "schema",
        ["DROP TABLE pages_fts_data", "DROP TABLE chunks_fts_config",
         "DROP TABLE questions_fts_idx"],
        "missing tables, columns or indexes: 3",
        ("chunks_fts_config", "questions_fts_idx", "pages_fts_data"),
    ),
    "a missing index": (
        "schema",
        ["DROP INDEX names_reversed"],
        "missing tables, columns or indexes: 1",
        ("names_reversed",),
    ),
    "a missing table": (
        "schema",
        ["DROP TABLE tags"],
        "missing tables, columns or indexes: 2",
        ("tags", "tags_page"),
    ),
    "a foreign trigger": (
        "foreign_parts",
        ["CREATE TRIGGER planted AFTER DELETE ON tags BEGIN DELETE FROM pages; END"],
        "objects that gbrain did not create: 1",
        ("trigger planted",),
    ),
    "a view in place of a table": (
        "foreign_parts",
        ["DROP TABLE tags", "CREATE VIEW tags AS SELECT 'x' AS tag, 1 AS page_id"],
        "objects that gbrain did not create: 1",
        ("view tags",),
    ),
    "another definition of a view": (
        "foreign_parts",
        ["DROP VIEW chunk_search",
         "CREATE VIEW chunk_search AS SELECT id, 'x' AS title, heading_path, text FROM chunks"],
        "objects that gbrain did not create: 1",
        ("view chunk_search",),
    ),
    "an index on an expression": (
        "foreign_parts",
        ["CREATE INDEX slow ON pages (hex(zeroblob(999)))"],
        "objects that gbrain did not create: 1",
        ("index slow",),
    ),
    "a table with a computed column": (
        "foreign_parts",
        ["ALTER TABLE vaults ADD COLUMN more TEXT GENERATED ALWAYS AS (upper(root))"],
        "objects that gbrain did not create: 1",
        ("table vaults",),
    ),
    "a view in place of a table of the keyword index": (
        "foreign_parts",
        ["DROP TABLE pages_fts_docsize",
         "CREATE VIEW pages_fts_docsize AS SELECT 1 AS id, 2 AS sz"],
        "objects that gbrain did not create: 1",
        ("view pages_fts_docsize",),
    ),
    "a tag that is not text": (
        "values",
        ["UPDATE tags SET tag = x'ff00'"],
        "rows with wrong values: 1",
        ("tags: 1",),
    ),
    "chunks with values of wrong types": (
        "values",
        ["UPDATE chunks SET text = x'00ff' WHERE id = 1",
         "UPDATE chunks SET heading_path = 'no JSON' WHERE id = 2",
         "UPDATE chunks SET hash = 'a text' WHERE id = 3",
         "UPDATE chunks SET text = CAST(x'ff' AS TEXT) WHERE id = 4"],
        "rows with wrong values: 4",
        ("chunks: 4",),
    ),
    "a page with a title of bytes and invalid JSON": (
        "values",
        ["UPDATE pages SET title = x'00', meta = '[' WHERE slug = 'river'"],
        "rows with wrong values: 1",
        ("pages: 1",),
    ),
    "a page whose text is stored as bytes": (
        "values",
        ["UPDATE pages SET compiled_truth = CAST(compiled_truth AS BLOB) WHERE slug = 'river'"],
        "rows with wrong values: 1",
        ("pages: 1",),
    ),
    "a version number that is too large": (
        "values",
        ["UPDATE pages SET version = 9223372036854775807 WHERE slug = 'river'"],
        "rows with wrong values: 1",
        ("pages: 1",),
    ),
    "a job whose hash is text": (
        "values",
        ["INSERT INTO embedding_jobs (hash, enqueued_at) VALUES ('a text', 1)"],
        "rows with wrong values: 1",
        ("embedding_jobs: 1",),
    ),
    "a page with a wrong hash": (
        "page_texts",
        ["UPDATE pages SET sha256 = zeroblob(32) WHERE slug = 'river'"],
        "pages that something else than gbrain changed: 1",
        ("river",),
    ),
    "an invalid setting": (
        "settings",
        ["INSERT INTO config VALUES ('rrf_k', 'many')", "INSERT INTO config VALUES ('mood', 'x')"],
        "settings with an invalid value: 1",
        ("rrf_k",),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "statements", "message", "details"), PROBLEMS.values(), ids=PROBLEMS.keys()
)
def test_a_problem_is_reported_and_repaired(
    name: str,
    statements: list[str],
    message: str,
    details: tuple[str, ...],
    run_sql: Callable[..., None],
    findings: Callable[..., Any],
) -> None:
    run_sql(*statements)
    found = findings()[name]
    assert found.status in ("problem", "note")
    assert found.message.startswith(message)
    assert found.details == details
    assert found.fix is not None
    assert found.fix.startswith("gbrain doctor --repair")

    repaired = findings(repair=True)
    assert "problem" not in repaired.not_ok.values()
    assert (repaired[name].status, repaired[name].fix) == ("repaired", None)
    left = findings(full=True)
    assert left.not_ok in ({}, {"settings": "note"}, {"links": "note"})


def test_foreign_objects_stop_all_later_checks(
    run_sql: Callable[..., None], findings: Callable[..., Any]
) -> None:
    forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n"
    run_sql("DROP TABLE tags", f"CREATE VIEW tags AS SELECT ({forever}) AS tag, 1 AS page_id")
    found = findings(full=True)
    assert found["foreign_parts"].status == "problem"
    assert found["references"] == NOT_CHECKED


def test_a_brain_locked_by_another_program_is_refused(path: Path) -> None:
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as other,
        closing(Database(path, busy_seconds=0.01)) as database,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BadBrain, match="is being written by another program"):
            list(examine(database, NOW))


def test_editing_pages_causes_no_problems(path: Path, findings: Callable[..., Any]) -> None:
    with closing(Database(path)) as database, database.write_transaction() as connection:
        page = parse_page("river.md", b"# Sea\n\nOther words.\n")
        write_page(connection, page, NOW)
        chunks.enqueue_page(connection, 1, NOW)
    assert findings(full=True).not_ok == {"stray_jobs": "note"}


def test_a_setting_of_a_newer_gbrain_is_a_note_and_kept(
    run_sql: Callable[..., None], findings: Callable[..., Any]
) -> None:
    run_sql("INSERT INTO config VALUES ('mood', 'sunny')")
    for repair in (False, True):
        found = findings(repair=repair)["settings"]
        assert (found.status, found.details) == ("note", ("mood",))
