"""Each fault is planted into a brain file; its check names it, its repair removes it."""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gbrain.errors import BadBrain
from gbrain.store import chunks
from gbrain.store.connection import Database, create
from gbrain.store.doctor.examine import CHECKS, RESTORE, UNSEEN, Finding, examine
from gbrain.store.folders import add_vault
from gbrain.store.history import unpacked, version_text, versions
from gbrain.store.models import active_model
from gbrain.store.page_writer import delete_page, write_page
from gbrain.store.pages import page_text, require_page
from gbrain.text.page import MAX_PAGE_BYTES, parse_page

NOW = "2026-11-16T12:00:00.000Z"
PAGES = {
    "People/Alice Chen.md": "---\ntitle: Alice Chen\ntags: [founder]\n---\n# Alice Chen\n\n"
    "Founder of [[river]].\n\n## Work\nCloud RAG leaves her lukewarm.\n\n## Timeline\n"
    "- 2026-04-03 — Joined River\n- 2026-05 — Grew a beard\n",
    "river.md": "# River\n\nA company by the sea, seen by [[Alice Chen]].\n",
    "empty.md": "---\ntitle: Nothing yet\n---\n",
}

Plant = Callable[[sqlite3.Connection], object]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A brain of three pages, closed."""
    place = tmp_path / "brain.db"
    create(place)
    with closing(Database(place)) as database, database.write_transaction() as connection:
        vault = add_vault(connection, str(tmp_path), NOW)
        for name, text in PAGES.items():
            page = parse_page(name, text.encode())
            write_page(connection, page, NOW, vault_id=vault.id, from_file=True)
    return place


@pytest.fixture
def plant(path: Path) -> Callable[..., None]:
    """Runs statements on the file behind the program's back."""

    def run(*statements: str) -> None:
        with closing(sqlite3.connect(path)) as raw, raw:
            for statement in statements:
                raw.execute(statement)

    return run


@pytest.fixture
def findings(path: Path) -> Callable[..., dict[str, Finding]]:
    def run(**how: bool) -> dict[str, Finding]:
        with closing(Database(path, allow_foreign=True)) as database:
            return dict(examine(database, NOW, **how))

    return run


@pytest.fixture
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(Database(path)) as database:
        yield database.connection


def statuses(found: dict[str, Finding]) -> dict[str, str]:
    """What is not ok, by check."""
    return {name: finding.status for name, finding in found.items() if finding.status != "ok"}


def test_a_new_brain_is_well(findings: Callable[..., dict[str, Finding]]) -> None:
    assert statuses(findings()) == {}
    assert statuses(findings(full=True)) == {}
    assert list(findings()) == [check.name for check in CHECKS]


# Name of the check, statements that break the brain, what the check says, what it names.
FAULTS = {
    "a page's words are missing from the keyword index": (
        "page_index",
        ["INSERT INTO pages_fts (pages_fts, rowid, title, slug, compiled_truth, timeline, tags, "
         "aliases) SELECT 'delete', id, title, slug, compiled_truth, timeline, tags, aliases "
         "FROM pages WHERE slug = 'river'"],
        "the keyword index does not agree with the pages",
        (),
    ),
    "the keyword index of pages is garbage": (
        "page_index",
        ["UPDATE pages_fts_data SET block = x'00ff' WHERE id > 10"],
        "the keyword index does not agree with the pages",
        (),
    ),
    "a passage's words are missing from the keyword index": (
        "passage_index",
        ["INSERT INTO chunks_fts (chunks_fts, rowid, title, heading_path, text) "
         "SELECT 'delete', id, title, heading_path, text FROM chunk_search WHERE id = 1"],
        "the keyword index does not agree with the pages",
        (),
    ),
    "the keyword index is gone": (
        "schema",
        ["DROP TABLE pages_fts"],
        "5 parts of the schema are missing",
        ("pages_fts", "pages_fts_data", "pages_fts_idx", "pages_fts_docsize", "pages_fts_config"),
    ),
    "an index and the queue are gone": (
        "schema",
        ["DROP INDEX pages_wing", "DROP TABLE embedding_jobs"],
        "3 parts of the schema are missing",
        ("pages_wing", "embedding_jobs", "embedding_jobs_due"),
    ),
    "a tag and two links of no page": (
        "stray_rows",
        ["INSERT INTO tags VALUES ('lost', 99)",
         "INSERT INTO links VALUES (99, 0, 1, 'wiki', 'a', 'a', NULL, NULL)",
         "INSERT INTO links VALUES (99, 1, 1, 'wiki', 'b', 'b', NULL, NULL)"],
        "3 rows belong to nothing",
        ("links without pages: 2", "tags without pages: 1"),
    ),
    "a page of an unknown folder": (
        "stray_rows",
        ["UPDATE pages SET vault_id = 7 WHERE slug = 'river'"],
        "a row belongs to nothing",
        ("pages without vaults: 1",),
    ),
    "a vector of no model": (
        "stray_rows",
        ["INSERT INTO page_embeddings_vec_384 VALUES (5, 0, x'00', zeroblob(768))"],
        "a row belongs to nothing",
        ("page_embeddings_vec_384 without embedding_models: 1",),
    ),
    "passages of no page": (
        "stray_passages",
        ["INSERT INTO chunks SELECT id + 100, 99, section, part, kind, date, first_day, last_day, "
         "byte_start, byte_stop, first_line, last_line, hash, heading_path, text FROM chunks "
         "WHERE page_id = 1"],
        "4 passages are of no page",
        (),
    ),
    "a text that somebody changed": (
        "page_texts",
        ["UPDATE pages SET compiled_truth = compiled_truth || 'More.' WHERE slug = 'river'"],
        "a page is not as it was written",
        ("river",),
    ),
    "slugs that do not follow their paths": (
        "slugs",
        ["UPDATE pages SET path = 'Lake View.md' WHERE slug = 'river'"],
        "a slug does not follow its path",
        ("river is kept at Lake View.md",),
    ),
    "a path that is no page's any more": (
        "slugs",
        ["UPDATE pages SET path = 'river' || char(14) || 'md' WHERE slug = 'river'"],
        "a slug does not follow its path",
        ("river is kept at river\x0emd",),
    ),
    "a page without passages": (
        "passages",
        ["DELETE FROM chunks WHERE page_id = 1"],
        "a page has the wrong passages",
        ("people/alice-chen",),
    ),
    "a page that lacks a passage": (
        "passages",
        ["DELETE FROM chunks WHERE page_id = 1 AND section = 1"],
        "a page has the wrong passages",
        ("people/alice-chen",),
    ),
    "a page that lacks its last passages": (
        "passages",
        ["DELETE FROM chunks WHERE page_id = 1 AND section > 0"],
        "a page has the wrong passages",
        ("people/alice-chen",),
    ),
    "a passage with other words than its page": (
        "passages",
        ["UPDATE chunks SET text = 'Something else.' WHERE page_id IN (1, 2) AND section = 0"],
        "2 pages have the wrong passages",
        ("people/alice-chen", "river"),
    ),
    "a page that nobody finds by name": (
        "references",
        ["DELETE FROM names WHERE page_id = 1"],
        "a page lacks names, tags or links",
        ("people/alice-chen",),
    ),
    "a tag that is not indexed": (
        "references",
        ["DELETE FROM tags"],
        "a page lacks names, tags or links",
        ("people/alice-chen",),
    ),
    "passages without vector and job": (
        "missing_vectors",
        ["DELETE FROM embedding_jobs"],
        "2 pages have passages that search by meaning will never see",
        (),
    ),
    "a job for nobody": (
        "stray_jobs",
        ["INSERT INTO embedding_jobs (hash, enqueued_at) VALUES (x'beef', '2026-11-16')"],
        "a job is for a text that no page holds any more",
        (),
    ),
    "words in the keyword index that no page holds": (
        "page_index",
        ["INSERT INTO pages_fts (rowid, title) VALUES (99, 'ghost')"],
        "the keyword index does not agree with the pages",
        (),
    ),
    "words in the keyword index that no passage holds": (
        "passage_index",
        ["INSERT INTO chunks_fts (rowid, title) VALUES (9999, 'ghost')"],
        "the keyword index does not agree with the pages",
        (),
    ),
    "tables of the keyword indexes that are gone": (
        "schema",
        ["DROP TABLE pages_fts_data", "DROP TABLE chunks_fts_config",
         "DROP TABLE questions_fts_idx"],
        "3 parts of the schema are missing",
        ("pages_fts_data", "chunks_fts_config", "questions_fts_idx"),
    ),
    "an index that is gone": (
        "schema",
        ["DROP INDEX names_reversed"],
        "a part of the schema is missing",
        ("names_reversed",),
    ),
    "a table that is gone": (
        "schema",
        ["DROP TABLE tags"],
        "2 parts of the schema are missing",
        ("tags", "tags_page"),
    ),
    "a trigger that somebody made": (
        "foreign_parts",
        ["CREATE TRIGGER planted AFTER DELETE ON tags BEGIN DELETE FROM pages; END"],
        "a part that gbrain did not make could run",
        ("trigger planted",),
    ),
    "a view in place of a table": (
        "foreign_parts",
        ["DROP TABLE tags", "CREATE VIEW tags AS SELECT 'x' AS tag, 1 AS page_id"],
        "a part that gbrain did not make could run",
        ("view tags",),
    ),
    "a view of other words in place of gbrain's": (
        "foreign_parts",
        ["DROP VIEW chunk_search",
         "CREATE VIEW chunk_search AS SELECT id, 'x' AS title, heading_path, text FROM chunks"],
        "a part that gbrain did not make could run",
        ("view chunk_search",),
    ),
    "an index that computes": (
        "foreign_parts",
        ["CREATE INDEX slow ON pages (hex(zeroblob(999)))"],
        "a part that gbrain did not make could run",
        ("index slow",),
    ),
    "a table with a column that computes": (
        "foreign_parts",
        ["ALTER TABLE vaults ADD COLUMN more TEXT GENERATED ALWAYS AS (upper(root))"],
        "a part that gbrain did not make could run",
        ("table vaults",),
    ),
    "a table of the keyword index that is a view": (
        "foreign_parts",
        ["DROP TABLE pages_fts_docsize",
         "CREATE VIEW pages_fts_docsize AS SELECT 1 AS id, 2 AS sz"],
        "a part that gbrain did not make could run",
        ("view pages_fts_docsize",),
    ),
    "a tag that is no text": (
        "values",
        ["UPDATE tags SET tag = x'ff00'"],
        "a row holds what it should not",
        ("tags: 1",),
    ),
    "passages with numbers and bytes for texts": (
        "values",
        ["UPDATE chunks SET text = x'00ff' WHERE id = 1",
         "UPDATE chunks SET heading_path = 'no JSON' WHERE id = 2",
         "UPDATE chunks SET hash = 'a text' WHERE id = 3",
         "UPDATE chunks SET text = CAST(x'ff' AS TEXT) WHERE id = 4"],
        "4 rows hold what they should not",
        ("chunks: 4",),
    ),
    "a page whose title is no text and whose front matter is no JSON": (
        "values",
        ["UPDATE pages SET title = x'00', meta = '[' WHERE slug = 'river'"],
        "a row holds what it should not",
        ("pages: 1",),
    ),
    "a page whose text is kept as bytes": (
        "values",
        ["UPDATE pages SET compiled_truth = CAST(compiled_truth AS BLOB) WHERE slug = 'river'"],
        "a row holds what it should not",
        ("pages: 1",),
    ),
    "a version beyond all bounds": (
        "values",
        ["UPDATE pages SET version = 9223372036854775807 WHERE slug = 'river'"],
        "a row holds what it should not",
        ("pages: 1",),
    ),
    "a job that is no hash": (
        "values",
        ["INSERT INTO embedding_jobs (hash, enqueued_at) VALUES ('a text', 1)"],
        "a row holds what it should not",
        ("embedding_jobs: 1",),
    ),
    "a page with a wrong hash": (
        "page_texts",
        ["UPDATE pages SET sha256 = zeroblob(32) WHERE slug = 'river'"],
        "a page is not as it was written",
        ("river",),
    ),
    "a setting that cannot be": (
        "settings",
        ["INSERT INTO config VALUES ('rrf_k', 'many')", "INSERT INTO config VALUES ('mood', 'x')"],
        "a setting has a value that it cannot have",
        ("rrf_k",),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "statements", "message", "details"), FAULTS.values(), ids=FAULTS.keys()
)
def test_a_fault_is_named_and_repaired(
    name: str,
    statements: list[str],
    message: str,
    details: tuple[str, ...],
    plant: Callable[..., None],
    findings: Callable[..., dict[str, Finding]],
) -> None:
    plant(*statements)
    found = findings()[name]
    assert found.status in ("problem", "note")
    assert found.message.startswith(message)
    assert found.details == details
    assert found.fix is not None
    assert found.fix.startswith("gbrain doctor --repair")

    mended = findings(mend=True)
    assert "problem" not in statuses(mended).values()
    assert (mended[name].status, mended[name].fix) == ("repaired", None)
    left = findings(full=True)
    assert statuses(left) in ({}, {"settings": "note"}, {"links": "note"})


# --- what a repair leaves behind -------------------------------------------------------------


def test_a_changed_text_becomes_a_version_of_its_own(
    plant: Callable[..., None],
    findings: Callable[..., dict[str, Finding]],
    opened: sqlite3.Connection,
) -> None:
    plant("UPDATE pages SET compiled_truth = '# Lake\n\nBy the lake.\n' WHERE slug = 'river'")
    assert findings(mend=True)["page_texts"].status == "repaired"
    page = require_page(opened, "river")
    assert (page.title, page.version) == ("Lake", 2)
    assert page_text(opened, page.id) == version_text(opened, "river", 1)
    assert {known.sha256 for known in versions(opened, "river")} == {page.sha256}
    (hits,) = opened.execute("SELECT count(*) FROM pages_fts WHERE pages_fts MATCH 'lake'")
    assert hits == (1,)


def test_a_slug_repaired_keeps_its_folder(
    plant: Callable[..., None],
    findings: Callable[..., dict[str, Finding]],
    opened: sqlite3.Connection,
) -> None:
    before = require_page(opened, "river")
    plant("UPDATE pages SET path = 'Lake View.md' WHERE slug = 'river'")
    findings(mend=True)
    after = require_page(opened, "lake-view")
    assert (after.id, after.vault_id, after.source_sha256) == (
        before.id, before.vault_id, before.source_sha256,
    )  # fmt: skip


def test_a_slug_that_another_page_has_stays_a_problem(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]]
) -> None:
    plant("UPDATE pages SET path = 'Empty.MD' WHERE slug = 'river'")
    found = findings(mend=True)["slugs"]
    assert found.status == "problem"
    assert found.fix == RESTORE


def test_passages_cut_anew_are_those_of_the_text(
    plant: Callable[..., None],
    findings: Callable[..., dict[str, Finding]],
    opened: sqlite3.Connection,
) -> None:
    rows = "SELECT section, part, hash, heading_path, text FROM chunks ORDER BY 1, 2, 3"
    before = opened.execute(rows).fetchall()
    plant(
        "UPDATE chunks SET text = 'Other.' WHERE section = 0",
        "DELETE FROM chunks WHERE section = 1",
        "DELETE FROM embedding_jobs",
    )
    findings(mend=True)
    assert opened.execute(rows).fetchall() == before
    hashes = {row[2] for row in before}
    assert {row[0] for row in opened.execute("SELECT hash FROM embedding_jobs")} == hashes


def test_a_wrong_line_number_is_seen_by_the_full_check_only(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]]
) -> None:
    plant("UPDATE chunks SET first_line = 99 WHERE page_id = 1 AND section = 2")
    assert statuses(findings()) == {}
    assert findings(full=True)["passages"].details == ("people/alice-chen",)
    assert findings(full=True, mend=True)["passages"].status == "repaired"
    assert statuses(findings(full=True)) == {}


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
def test_text_that_makes_no_passage_is_nothing_wrong(
    text: str, path: Path, findings: Callable[..., dict[str, Finding]]
) -> None:
    with closing(Database(path)) as database, database.write_transaction() as connection:
        write_page(connection, parse_page("new.md", text.encode()), NOW)
    assert statuses(findings()) == {}


def test_facts_that_are_not_in_the_text_are_seen_by_the_full_check(
    plant: Callable[..., None],
    findings: Callable[..., dict[str, Finding]],
    opened: sqlite3.Connection,
) -> None:
    plant("UPDATE pages SET title = 'Lies', wing = 'lies', meta = '{}' WHERE slug = 'river'")
    assert findings(full=True)["page_facts"].details == ("river",)
    assert findings(full=True, mend=True)["page_facts"].status == "repaired"
    assert statuses(findings(full=True)) == {}
    page = require_page(opened, "river")
    assert (page.title, page.version) == ("River", 1)
    (hits,) = opened.execute("SELECT count(*) FROM pages_fts WHERE pages_fts MATCH 'lies'")
    assert hits == (0,)


@pytest.mark.parametrize("statement", [
    "DELETE FROM pages_fts_idx",
    "UPDATE pages_fts_idx SET segid = segid || 'x'",
    "UPDATE pages_fts_idx SET pgno = ''",
])  # fmt: skip
def test_words_that_a_search_does_not_reach_are_seen_by_the_full_check(
    statement: str, path: Path, findings: Callable[..., dict[str, Finding]]
) -> None:
    with closing(Database(path)) as database, database.write_transaction() as connection:
        # Enough words for more than one page of the index.
        words = " ".join(f"word{number:x}" for number in range(3000))
        write_page(connection, parse_page("many.md", words.encode()), NOW)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute(statement)
    assert findings(full=True)["page_index"].status == "problem"
    assert findings(full=True, mend=True)["page_index"].status == "repaired"
    assert statuses(findings(full=True)) == {}


def test_names_and_tags_that_are_not_in_the_text_are_seen_by_the_full_check(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]]
) -> None:
    plant("UPDATE names SET key = 'lies' WHERE kind = 'title'", "UPDATE tags SET tag = 'lies'")
    assert findings(full=True)["references"].details == ("empty", "people/alice-chen", "river")
    assert findings(full=True, mend=True)["references"].status == "repaired"
    assert statuses(findings(full=True)) == {}


@pytest.mark.parametrize(
    "content", ["x'00'", "x'789c'", "zeroblob(99)", "'text'", "CAST(x'ff' AS TEXT)", "7"]
)
def test_a_version_that_cannot_be_read_is_named_and_stays(
    content: str,
    path: Path,
    plant: Callable[..., None],
    findings: Callable[..., dict[str, Finding]],
    opened: sqlite3.Connection,
) -> None:
    with closing(Database(path)) as database, database.write_transaction() as connection:
        write_page(connection, parse_page("river.md", b"# Sea\n"), NOW)
    plant(f"UPDATE versions SET content = {content}")
    found = findings(full=True, mend=True)
    lost = found["versions"]
    assert (lost.status, lost.details, lost.fix) == ("problem", ("river@1",), RESTORE)
    assert opened.execute("SELECT count(*) FROM versions").fetchone() == (1,)


def test_a_version_that_unpacks_to_more_than_a_page_may_hold_is_not_unpacked(path: Path) -> None:
    with pytest.raises(ValueError, match="too large"):
        unpacked(zlib.compress(bytes(MAX_PAGE_BYTES + 1)))
    assert unpacked(zlib.compress(b"x" * MAX_PAGE_BYTES)) == "x" * MAX_PAGE_BYTES


def test_a_table_made_anew_keeps_its_rows(
    plant: Callable[..., None],
    findings: Callable[..., dict[str, Finding]],
    opened: sqlite3.Connection,
) -> None:
    before = opened.execute("SELECT * FROM pages ORDER BY id").fetchall()
    plant("ALTER TABLE pages ADD COLUMN loud TEXT GENERATED ALWAYS AS (upper(title))")
    assert findings(mend=True)["foreign_parts"].status == "repaired"
    assert statuses(findings(full=True)) == {}
    assert opened.execute("SELECT * FROM pages ORDER BY id").fetchall() == before


def test_nothing_else_is_looked_at_while_something_foreign_could_run(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]]
) -> None:
    forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n"
    plant("DROP TABLE tags", f"CREATE VIEW tags AS SELECT ({forever}) AS tag, 1 AS page_id")
    found = findings(full=True)
    assert found["foreign_parts"].status == "problem"
    assert found["references"] == UNSEEN


def test_tables_and_views_of_ones_own_may_be_there(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]], path: Path
) -> None:
    plant("CREATE TABLE mine (a)", "CREATE INDEX my_index ON mine (a)",
          "CREATE VIEW recent AS SELECT slug FROM pages")  # fmt: skip
    assert statuses(findings(full=True)) == {}
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
def test_a_brain_with_something_foreign_is_not_opened(statement: str, path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript(statement)
    before = path.read_bytes()
    with pytest.raises(BadBrain) as caught:
        Database(path)
    assert caught.value.code == "foreign_parts"
    assert caught.value.hint == "gbrain doctor names it all; gbrain doctor --repair takes it out."
    assert path.read_bytes() == before


def test_what_follows_from_the_pages_comes_back_when_its_tables_are_gone(
    plant: Callable[..., None],
    findings: Callable[..., dict[str, Finding]],
    opened: sqlite3.Connection,
) -> None:
    before = opened.execute("SELECT page_id, section, text FROM chunks ORDER BY 1, 2").fetchall()
    names = opened.execute("SELECT * FROM names").fetchall()
    links = opened.execute("SELECT * FROM links").fetchall()
    plant("DROP TABLE chunks", "DROP TABLE chunks_fts", "DROP TABLE names", "DROP TABLE links")
    found = findings(mend=True)
    assert found["schema"].status == "repaired"
    assert found["passages"].status == "repaired"
    after = opened.execute("SELECT page_id, section, text FROM chunks ORDER BY 1, 2").fetchall()
    assert after == before
    assert opened.execute("SELECT * FROM names").fetchall() == names
    assert opened.execute("SELECT * FROM links").fetchall() == links
    assert len(links) == 2


def test_lost_links_are_seen_by_the_full_check_and_written_anew(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]]
) -> None:
    plant("DELETE FROM links")
    assert statuses(findings()) == {}
    assert findings(full=True)["references"].details == ("people/alice-chen", "river")
    assert findings(full=True, mend=True)["references"].status == "repaired"
    assert statuses(findings(full=True)) == {}


def test_pages_that_are_gone_are_not_called_repaired(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]]
) -> None:
    plant("DROP TABLE pages")
    found = findings(mend=True)["schema"]
    assert found.status == "problem"
    assert found.message.endswith("not repaired: the pages themselves are gone")


def test_a_column_that_is_gone_is_named(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]]
) -> None:
    plant("ALTER TABLE vaults DROP COLUMN added_at")
    assert findings()["foreign_parts"].details == ("table vaults",)
    found = findings(mend=True)["foreign_parts"]
    assert found.status == "problem"
    assert "not repaired" in found.message


# --- vectors ---------------------------------------------------------------------------------


@pytest.fixture
def embedded(path: Path) -> None:
    """All passages of the brain have a vector of a model with four dimensions."""
    import numpy as np

    from gbrain.store.vectors import VectorSpace, ensure_tables, store

    with closing(Database(path)) as database, database.write_transaction() as connection:
        connection.execute(
            "INSERT INTO embedding_models (id, name, identity, sha256, pooling, query_prefix, "
            "passage_prefix, dimension, max_tokens, description, active, added_at) "
            "VALUES (1, 'tiny', 'tiny', '', 'mean', '', '', 4, 128, '{}', 1, ?)",
            (NOW,),
        )
        ensure_tables(connection, 4)
        hashes = [row[0] for row in connection.execute("SELECT DISTINCT hash FROM chunks")]
        unit = np.array([1, 0, 0, 0], np.float32)
        store(connection, VectorSpace(1, 4), [(digest, unit) for digest in hashes])
        connection.execute("DELETE FROM embedding_jobs")


@pytest.mark.usefixtures("embedded")
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE page_embeddings_vec_4 SET vector = x'00' WHERE slot = 2",
         "vectors of the wrong size: 1"),
        ("UPDATE page_embeddings_codes_4 SET codes = x'00'",
         "packs of codes of the wrong size: 1"),
        ("DELETE FROM page_embeddings_codes_4", "vectors without a code: 5"),
        ("DROP TABLE page_embeddings_codes_4", "vectors without a code: 5"),
    ],
)  # fmt: skip
def test_vectors_that_cannot_be_used_are_asked_for_anew(
    statement: str,
    said: str,
    plant: Callable[..., None],
    findings: Callable[..., dict[str, Finding]],
    opened: sqlite3.Connection,
) -> None:
    assert statuses(findings()) == {}
    plant(statement)
    mended = findings(mend=True)
    assert said in mended["vectors"].details
    assert statuses(mended).keys() <= {"schema", "vectors", "missing_vectors"}
    assert statuses(findings()) == {}
    lost = opened.execute("SELECT count(*) FROM embedding_jobs").fetchone()[0]
    left = opened.execute("SELECT count(*) FROM page_embeddings_vec_4").fetchone()[0]
    assert lost > 0
    assert lost + left == 5
    model = active_model(opened)
    assert model is not None
    assert model.name == "tiny"


@pytest.mark.usefixtures("embedded")
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        # Sixteen bits each: not a number, nothing at all, and the opposite direction.
        ("UPDATE page_embeddings_vec_4 SET vector = x'007e007e007e007e' WHERE slot = 2",
         "vectors of no direction: 1"),
        ("UPDATE page_embeddings_vec_4 SET vector = zeroblob(8) WHERE slot < 2",
         "vectors of no direction: 2"),
        ("UPDATE page_embeddings_vec_4 SET vector = x'00bc000000000000' WHERE slot = 1",
         "vectors with the code of another: 1"),
    ],
)  # fmt: skip
def test_vectors_that_lie_are_seen_by_the_full_check(
    statement: str,
    said: str,
    plant: Callable[..., None],
    findings: Callable[..., dict[str, Finding]],
) -> None:
    plant(statement)
    assert said in findings(full=True)["vectors"].details
    mended = findings(full=True, mend=True)
    assert (mended["vectors"].status, mended["missing_vectors"].status) == ("repaired", "repaired")
    assert statuses(findings(full=True)) == {}


@pytest.mark.usefixtures("embedded")
def test_vectors_of_no_page_are_a_note_and_dropped(
    path: Path, findings: Callable[..., dict[str, Finding]]
) -> None:
    with closing(Database(path)) as database, database.write_transaction() as connection:
        delete_page(connection, "river", NOW)
    found = findings()["stray_vectors"]
    assert (found.status, found.count) == ("note", 1)
    assert findings(mend=True)["stray_vectors"].status == "repaired"
    assert statuses(findings(full=True)) == {"links": "note"}


@pytest.mark.usefixtures("embedded")
def test_a_model_whose_folder_is_gone_is_named(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]]
) -> None:
    plant("UPDATE embedding_models SET folder = '/nowhere/at/all'")
    found = findings(mend=True)["model_folders"]
    assert (found.status, found.details) == ("problem", ("tiny in /nowhere/at/all",))


def test_a_job_that_failed_is_a_note(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]]
) -> None:
    plant("UPDATE embedding_jobs SET error = 'no memory', attempts = 3")
    found = findings(mend=True)["failed_jobs"]
    assert (found.status, found.count) == ("note", 5)
    assert found.details[0].endswith("after 3: no memory")


# --- notes -----------------------------------------------------------------------------------


def test_links_that_lead_nowhere_are_a_note(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]]
) -> None:
    plant("DELETE FROM names WHERE kind <> 'slug' AND page_id = 1")
    found = findings()["links"]
    assert (found.status, found.message) == ("note", "a link leads nowhere")
    assert found.details == ("river:3 names Alice Chen",)


def test_a_setting_of_a_newer_program_is_a_note_and_stays(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]]
) -> None:
    plant("INSERT INTO config VALUES ('mood', 'sunny')")
    for mend in (False, True):
        found = findings(mend=mend)["settings"]
        assert (found.status, found.details) == ("note", ("mood",))


def test_a_folder_that_is_gone_is_a_note(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]]
) -> None:
    plant("UPDATE vaults SET root = '/nowhere/at/all'")
    found = findings(mend=True)["folders"]
    assert (found.status, found.details) == ("note", ("/nowhere/at/all",))


# --- the file itself -------------------------------------------------------------------------


def test_a_second_name_of_the_file_is_worth_a_note(
    path: Path, findings: Callable[..., dict[str, Finding]]
) -> None:
    """SQLite keeps its log beside the name that it was given: of two names, each has its own."""
    os.link(path, path.with_name("hard.db"))
    found = findings()["other_names"]
    assert (found.status, found.count) == ("note", 1)
    path.with_name("hard.db").unlink()
    assert findings()["other_names"].status == "ok"


@pytest.mark.skipif(os.name == "nt", reason="modes are of Unix")
def test_a_file_that_others_may_read_is_closed(
    path: Path, findings: Callable[..., dict[str, Finding]], opened: sqlite3.Connection
) -> None:
    opened.execute("INSERT INTO config VALUES ('default_limit', '5')")
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).chmod(0o644)
    found = findings()["file_mode"]
    assert (found.status, found.count) == ("problem", 3)
    assert found.details[0] == "brain.db has mode 0644"
    assert findings(mend=True)["file_mode"].status == "repaired"
    for ending in ("", "-wal", "-shm"):
        assert path.with_name(path.name + ending).stat().st_mode & 0o777 == 0o600


def test_what_a_killed_program_left_is_cleared_away(
    path: Path, findings: Callable[..., dict[str, Finding]]
) -> None:
    # No process has such a number.
    left = path.with_name(".copy.db.99999999.gbrain-new")
    for ending in ("", "-wal"):
        Path(f"{left}{ending}").write_bytes(b"half of it")
    found = findings()["leftovers"]
    assert (found.status, found.details) == ("note", (left.name,))
    assert findings(mend=True)["leftovers"].status == "repaired"
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_read_only_file_is_checked_as_far_as_it_can_be(
    path: Path, findings: Callable[..., dict[str, Finding]]
) -> None:
    path.chmod(0o400)
    indexes = ("page_index", "passage_index", "question_index")
    assert statuses(findings()) == dict.fromkeys(indexes, "note")


def test_rows_missing_from_an_index_are_seen_and_put_back(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]]
) -> None:
    # The index on wings is made to leave one page out, and is then called whole again.
    whole = "CREATE INDEX pages_wing ON pages(wing, room)"
    plant(
        "DROP INDEX pages_wing",
        f"{whole} WHERE slug <> 'river'",
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_schema SET sql = '{whole}' WHERE name = 'pages_wing'",
    )
    found = findings(full=True)["integrity"]
    assert found.status == "problem"
    assert any("pages_wing" in line for line in found.details)
    assert findings(full=True, mend=True)["integrity"].status == "repaired"
    assert statuses(findings(full=True)) == {}


def damage_page(path: Path, page_id: int) -> None:
    """Makes a page's text so long that it fills pages of the file, and breaks their chain."""
    text = "# Long\n\n" + "word " * 9000
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE pages SET compiled_truth = ? WHERE id = ?", (text, page_id))
        size = raw.execute("PRAGMA page_size").fetchone()[0]
    data = bytearray(path.read_bytes())
    # Each begins with the number of the next one: this number leads out of the file.
    second = data.index(b"word " * 500) // size * size + size
    data[second : second + 4] = b"\x7f\xff\xff\xff"
    path.write_bytes(data)


def test_a_page_that_cannot_be_read_is_named_and_the_rest_is_checked(
    path: Path, findings: Callable[..., dict[str, Finding]]
) -> None:
    damage_page(path, 1)
    for mend in (False, True):
        found = findings(mend=mend)
        assert found["integrity"].status == "problem"
        texts = found["page_texts"]
        assert (texts.status, texts.count) == ("problem", 1)
        assert texts.details[0].startswith("people/alice-chen: database disk image is malformed")
        assert texts.fix == RESTORE
        assert list(found) == [check.name for check in CHECKS]


def test_a_text_that_is_not_utf_8_is_a_finding(
    plant: Callable[..., None], findings: Callable[..., dict[str, Finding]]
) -> None:
    plant("UPDATE pages SET compiled_truth = CAST(x'ff41' AS TEXT) WHERE slug = 'river'")
    for mend in (False, True):
        found = findings(mend=mend)
        assert found["page_texts"].details == ("river",)
        assert found["page_texts"].status == "problem"


def test_a_brain_that_another_program_writes_is_said_to_be_locked(path: Path) -> None:
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as other,
        closing(Database(path, busy_seconds=0.01)) as database,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BadBrain, match="is being written by another program"):
            list(examine(database, NOW))


def test_edited_pages_leave_nothing_wrong(
    path: Path, findings: Callable[..., dict[str, Finding]]
) -> None:
    with closing(Database(path)) as database, database.write_transaction() as connection:
        page = parse_page("river.md", b"# Sea\n\nOther words.\n")
        write_page(connection, page, NOW)
        chunks.enqueue(connection, 1, NOW)
    assert statuses(findings(full=True)) == {"stray_jobs": "note"}
