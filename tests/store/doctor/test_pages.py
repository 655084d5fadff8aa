"""Checks and repairs of texts, versions, slugs and links."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gbrain.store.connection import Database
from gbrain.store.doctor.examine import CHECKS
from gbrain.store.doctor.findings import RESTORE
from gbrain.store.history import decompress_version, list_versions, version_text
from gbrain.store.page_writer import write_page
from gbrain.store.pages import page_text, require_page
from gbrain.text.page import MAX_PAGE_BYTES, parse_page

NOW = "2026-11-16T12:00:00.000Z"


def test_a_changed_text_becomes_a_new_version(
    run_sql: Callable[..., None],
    findings: Callable[..., Any],
    connection: sqlite3.Connection,
) -> None:
    run_sql("UPDATE pages SET compiled_truth = '# Lake\n\nBy the lake.\n' WHERE slug = 'river'")
    assert findings(repair=True)["page_texts"].status == "repaired"
    page = require_page(connection, "river")
    assert (page.title, page.version) == ("Lake", 2)
    assert page_text(connection, page.id) == version_text(connection, "river", 1)
    assert {known.sha256 for known in list_versions(connection, "river")} == {page.sha256}
    (hits,) = connection.execute("SELECT count(*) FROM pages_fts WHERE pages_fts MATCH 'lake'")
    assert hits == (1,)


def test_a_repaired_slug_keeps_its_folder(
    run_sql: Callable[..., None],
    findings: Callable[..., Any],
    connection: sqlite3.Connection,
) -> None:
    before = require_page(connection, "river")
    run_sql("UPDATE pages SET path = 'Lake View.md' WHERE slug = 'river'")
    findings(repair=True)
    after = require_page(connection, "lake-view")
    assert (after.id, after.folder_id, after.source_sha256) == (
        before.id, before.folder_id, before.source_sha256,
    )  # fmt: skip


def test_a_slug_of_another_page_stays_a_problem(
    run_sql: Callable[..., None], findings: Callable[..., Any]
) -> None:
    run_sql("UPDATE pages SET path = 'Empty.MD' WHERE slug = 'river'")
    found = findings(repair=True)["slugs"]
    assert found.status == "problem"
    assert found.fix == RESTORE


@pytest.mark.parametrize(
    "text",
    [
        "# Title\n\n## Empty\n\n## Text\nWords.\n\n## Empty too\n",
        "Title\n=====\n\nEmpty\n-----\n\nText\n----\nWords.\n\nLast\n----\n",
        "# Only a heading\n",
        "\n\n",
        "---\na: 1\n---\n\n\n# T\n```\n# code\n```\n",
        "word " * 3000,
    ],
)
def test_text_without_chunks_is_no_problem(
    text: str, path: Path, findings: Callable[..., Any]
) -> None:
    with closing(Database(path)) as database, database.write_transaction() as connection:
        write_page(connection, parse_page("new.md", text.encode()), NOW)
    assert findings().not_ok == {}


@pytest.mark.parametrize(
    "content", ["x'00'", "x'789c'", "zeroblob(99)", "'text'", "CAST(x'ff' AS TEXT)", "7"]
)
def test_an_unreadable_version_is_reported_and_kept(
    content: str,
    path: Path,
    run_sql: Callable[..., None],
    findings: Callable[..., Any],
    connection: sqlite3.Connection,
) -> None:
    with closing(Database(path)) as database, database.write_transaction() as writing:
        write_page(writing, parse_page("river.md", b"# Sea\n"), NOW)
    run_sql(f"UPDATE versions SET content = {content}")
    found = findings(full=True, repair=True)
    lost = found["versions"]
    assert (lost.status, lost.details, lost.fix) == ("problem", ("river@1",), RESTORE)
    assert connection.execute("SELECT count(*) FROM versions").fetchone() == (1,)


def test_a_version_larger_than_a_page_may_be_is_not_unpacked(path: Path) -> None:
    with pytest.raises(ValueError, match="too large"):
        decompress_version(zlib.compress(bytes(MAX_PAGE_BYTES + 1)))
    assert decompress_version(zlib.compress(b"x" * MAX_PAGE_BYTES)) == "x" * MAX_PAGE_BYTES


def test_links_to_no_page_are_a_note(
    run_sql: Callable[..., None], findings: Callable[..., Any]
) -> None:
    run_sql("DELETE FROM names WHERE kind <> 'slug' AND page_id = 1")
    found = findings()["links"]
    assert (found.status, found.message) == ("note", "links that lead to no page: 1")
    assert found.details == ("river:3 links to Alice Chen",)


def damage_page(path: Path, page_id: int) -> None:
    """Make a text so long that it fills several pages of the file, and break their chain."""
    text = "# Long\n\n" + "word " * 9000
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE pages SET compiled_truth = ? WHERE id = ?", (text, page_id))
        size = raw.execute("PRAGMA page_size").fetchone()[0]
    data = bytearray(path.read_bytes())
    # Each page starts with the number of the next one; this one is beyond the end of the file.
    first = data.index(b"word " * 500) // size * size
    data[first : first + 4] = b"\x7f\xff\xff\xff"
    path.write_bytes(data)


def test_an_unreadable_page_does_not_stop_other_checks(
    path: Path, findings: Callable[..., Any]
) -> None:
    damage_page(path, 1)
    for repair in (False, True):
        found = findings(repair=repair)
        assert found["integrity"].status == "problem"
        texts = found["page_texts"]
        assert (texts.status, texts.count) == ("problem", 1)
        assert texts.details[0].startswith("people/alice-chen: database disk image is malformed")
        assert texts.fix == RESTORE
        assert list(found) == [check.name for check in CHECKS]


def test_a_text_that_is_not_utf_8_is_reported(
    run_sql: Callable[..., None], findings: Callable[..., Any]
) -> None:
    run_sql("UPDATE pages SET compiled_truth = CAST(x'ff41' AS TEXT) WHERE slug = 'river'")
    for repair in (False, True):
        found = findings(repair=repair)
        assert found["page_texts"].details == ("river",)
        assert found["page_texts"].status == "problem"
