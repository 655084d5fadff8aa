"""Checks and repairs of the file itself: schema, foreign objects, modes, what lies beside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gbrain.errors import BadBrain
from gbrain.store.connection import Database

NOW = "2026-11-16T12:00:00.000Z"


def test_a_recreated_table_keeps_its_rows(
    run_sql: Callable[..., None],
    findings: Callable[..., Any],
    connection: sqlite3.Connection,
) -> None:
    before = connection.execute("SELECT * FROM pages ORDER BY id").fetchall()
    run_sql("ALTER TABLE pages ADD COLUMN loud TEXT GENERATED ALWAYS AS (upper(title))")
    assert findings(repair=True)["foreign_parts"].status == "repaired"
    assert findings(full=True).not_ok == {}
    assert connection.execute("SELECT * FROM pages ORDER BY id").fetchall() == before


def test_tables_and_views_of_the_user_are_no_problem(
    run_sql: Callable[..., None], findings: Callable[..., Any], path: Path
) -> None:
    run_sql("CREATE TABLE mine (a)", "CREATE INDEX my_index ON mine (a)",
          "CREATE VIEW recent AS SELECT slug FROM pages")  # fmt: skip
    assert findings(full=True).not_ok == {}
    Database(path).close()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON last_answer BEGIN DELETE FROM pages; END",
        "CREATE TRIGGER t AFTER INSERT ON _sqlite_migrations BEGIN DELETE FROM pages; END",
        "DROP TABLE config; CREATE VIEW config AS SELECT 1 AS key, 2 AS value",
        "DROP TABLE config; CREATE TABLE Config (key TEXT, value TEXT AS (hex(zeroblob(9))))",
        "DROP TABLE links; CREATE VIRTUAL TABLE links USING rtree(a, b, c)",
        *(
            f"DROP TABLE pages_fts_config; CREATE TABLE pages_fts_config ({columns})"
            for columns in (
                "k PRIMARY KEY,v,CHECK(hex(v))",
                'k PRIMARY KEY, v, w "x"AS(hex(v))',
                "k PRIMARY KEY, v/**/DEFAULT(hex(randomblob(9)))",
                "k, v COLLATE\fNOCASE, PRIMARY KEY(k)",
                "k PRIMARY KEY, v, w UNIQUE ON CONFLICT REPLACE, CHECK\n(v)",
            )
        ),
        "CREATE INDEX i ON _sqlite_migrations (hex(name))",
        "CREATE INDEX i ON _sqlite_migrations (name) WHERE 1",
        "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT 'index', 'i', name, "
        "rootpage, 'CREATE INDEX i ON pages_fts_data (hex(block))' FROM sqlite_schema "
        "WHERE name = 'pages_fts_data'",
    ],
)
def test_a_brain_with_foreign_objects_is_not_opened(statement: str, path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript(statement)
    before = path.read_bytes()
    with pytest.raises(BadBrain) as caught:
        Database(path)
    assert caught.value.code == "foreign_parts"
    assert caught.value.hint == "gbrain doctor lists them; gbrain doctor --repair removes them."
    assert path.read_bytes() == before


def test_a_missing_table_of_pages_is_not_called_repaired(
    run_sql: Callable[..., None], findings: Callable[..., Any]
) -> None:
    run_sql("DROP TABLE pages")
    found = findings(repair=True)["schema"]
    assert found.status == "problem"
    assert found.message.endswith("not repaired: the table of pages is missing")


def test_a_missing_column_is_reported(
    run_sql: Callable[..., None], findings: Callable[..., Any]
) -> None:
    run_sql("ALTER TABLE vaults DROP COLUMN added_at")
    assert findings()["foreign_parts"].details == ("table vaults",)
    found = findings(repair=True)["foreign_parts"]
    assert found.status == "problem"
    assert "not repaired" in found.message


def test_a_missing_folder_is_a_note(
    run_sql: Callable[..., None], findings: Callable[..., Any]
) -> None:
    run_sql("UPDATE vaults SET root = '/nowhere/at/all'")
    found = findings(repair=True)["folders"]
    assert (found.status, found.details) == ("note", ("/nowhere/at/all",))


def test_a_second_name_of_the_file_is_a_note(path: Path, findings: Callable[..., Any]) -> None:
    """SQLite keeps its log beside the name it was given: each name has a separate log."""
    os.link(path, path.with_name("hard.db"))
    found = findings()["other_names"]
    assert (found.status, found.count) == ("note", 1)
    path.with_name("hard.db").unlink()
    assert findings()["other_names"].status == "ok"


@pytest.mark.skipif(os.name == "nt", reason="modes are of Unix")
def test_a_file_that_others_can_read_is_restricted(
    path: Path, findings: Callable[..., Any], connection: sqlite3.Connection
) -> None:
    connection.execute("INSERT INTO config VALUES ('default_limit', '5')")
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).chmod(0o644)
    found = findings()["file_mode"]
    assert (found.status, found.count) == ("problem", 3)
    assert found.details[0] == "brain.db has mode 0644"
    assert findings(repair=True)["file_mode"].status == "repaired"
    for ending in ("", "-wal", "-shm"):
        assert path.with_name(path.name + ending).stat().st_mode & 0o777 == 0o600


def test_files_of_a_killed_process_are_removed(path: Path, findings: Callable[..., Any]) -> None:
    left = path.with_name(".file.0123.gbrain-new")
    for ending in ("", "-wal"):
        Path(f"{left}{ending}").write_bytes(b"half of it")
    assert findings()["leftovers"].status == "ok"
    for ending in ("", "-wal"):
        os.utime(f"{left}{ending}", (1, 1))
    found = findings()["leftovers"]
    assert (found.status, found.details) == ("note", (left.name,))
    assert findings(repair=True)["leftovers"].status == "repaired"
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_read_only_file_is_checked_except_its_indexes(
    path: Path, findings: Callable[..., Any]
) -> None:
    path.chmod(0o400)
    indexes = ("page_index", "passage_index", "question_index")
    assert findings().not_ok == dict.fromkeys(indexes, "note")


def test_rows_missing_from_an_index_are_restored(
    run_sql: Callable[..., None], findings: Callable[..., Any]
) -> None:
    # Create the index on wings without one page, then declare it complete.
    whole = "CREATE INDEX pages_wing ON pages(wing, room)"
    run_sql(
        "DROP INDEX pages_wing",
        f"{whole} WHERE slug <> 'river'",
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_schema SET sql = '{whole}' WHERE name = 'pages_wing'",
    )
    found = findings(full=True)["integrity"]
    assert found.status == "problem"
    assert any("pages_wing" in line for line in found.details)
    assert findings(full=True, repair=True)["integrity"].status == "repaired"
    assert findings(full=True).not_ok == {}
