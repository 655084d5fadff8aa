"""Checks and repairs of vectors, models and jobs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gbrain.store.connection import Database
from gbrain.store.models import active_model
from gbrain.store.page_writer import delete_page

NOW = "2026-11-16T12:00:00.000Z"


@pytest.mark.usefixtures("embedded")
@pytest.mark.parametrize(
    ("statement", "detail"),
    [
        ("UPDATE page_embeddings_vec_4 SET vector = x'00' WHERE slot = 2",
         "vectors of the wrong size: 1"),
        ("UPDATE page_embeddings_codes_4 SET codes = x'00'",
         "code segments of the wrong size: 1"),
        ("DELETE FROM page_embeddings_codes_4", "vectors without a code: 5"),
        ("DROP TABLE page_embeddings_codes_4", "vectors without a code: 5"),
    ],
)  # fmt: skip
def test_unusable_vectors_are_queued_again(
    statement: str,
    detail: str,
    run_sql: Callable[..., None],
    findings: Callable[..., Any],
    connection: sqlite3.Connection,
) -> None:
    assert findings().not_ok == {}
    run_sql(statement)
    repaired = findings(repair=True)
    assert detail in repaired["vectors"].details
    assert repaired.not_ok.keys() <= {"schema", "vectors", "missing_vectors"}
    assert findings().not_ok == {}
    lost = connection.execute("SELECT count(*) FROM embedding_jobs").fetchone()[0]
    left = connection.execute("SELECT count(*) FROM page_embeddings_vec_4").fetchone()[0]
    assert lost > 0
    assert lost + left == 5
    model = active_model(connection)
    assert model is not None
    assert model.name == "tiny"


@pytest.mark.usefixtures("embedded")
@pytest.mark.parametrize(
    ("statement", "detail"),
    [
        # In 16-bit numbers: NaN, zeros, and the opposite direction.
        ("UPDATE page_embeddings_vec_4 SET vector = x'007e007e007e007e' WHERE slot = 2",
         "vectors without direction: 1"),
        ("UPDATE page_embeddings_vec_4 SET vector = zeroblob(8) WHERE slot < 2",
         "vectors without direction: 2"),
        ("UPDATE page_embeddings_vec_4 SET vector = x'00bc000000000000' WHERE slot = 1",
         "vectors with the code of another: 1"),
    ],
)  # fmt: skip
def test_a_full_check_finds_wrong_vectors(
    statement: str,
    detail: str,
    run_sql: Callable[..., None],
    findings: Callable[..., Any],
) -> None:
    run_sql(statement)
    assert detail in findings(full=True)["vectors"].details
    repaired = findings(full=True, repair=True)
    assert (repaired["vectors"].status, repaired["missing_vectors"].status) == (
        "repaired",
        "repaired",
    )
    assert findings(full=True).not_ok == {}


@pytest.mark.usefixtures("embedded")
def test_vectors_of_no_page_are_a_note_and_deleted(
    path: Path, findings: Callable[..., Any]
) -> None:
    with closing(Database(path)) as database, database.write_transaction() as connection:
        delete_page(connection, "river", NOW)
    found = findings()["stray_vectors"]
    assert (found.status, found.count) == ("note", 1)
    assert findings(repair=True)["stray_vectors"].status == "repaired"
    assert findings(full=True).not_ok == {"links": "note"}


@pytest.mark.usefixtures("embedded")
def test_a_missing_model_folder_is_reported(
    run_sql: Callable[..., None], findings: Callable[..., Any]
) -> None:
    run_sql("UPDATE embedding_models SET folder = '/nowhere/at/all'")
    found = findings(repair=True)["model_folders"]
    assert (found.status, found.details) == ("problem", ("tiny in /nowhere/at/all",))


def test_a_failed_job_is_a_note(run_sql: Callable[..., None], findings: Callable[..., Any]) -> None:
    run_sql("UPDATE embedding_jobs SET error = 'no memory', attempts = 3")
    found = findings(repair=True)["failed_jobs"]
    assert (found.status, found.count) == ("note", 5)
    assert found.details[0].endswith("after 3: no memory")
