"""Brain files as an attacker could craft them before handing them over."""

from __future__ import annotations

import random
import sqlite3
import zlib
from contextlib import closing
from functools import partial
from pathlib import Path

CREATE_RAN = "CREATE TABLE IF NOT EXISTS ran (what)"
OUR_VIEW = (
    "CREATE VIEW chunk_search AS SELECT chunks.id AS id, pages.title AS title, heading_path, "
    "text FROM chunks JOIN pages ON pages.id = chunks.page_id"
)
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
CRAFTED: dict[str, tuple[str, ...]] = {
    "a trigger on pages": (
        CREATE_RAN,
        "CREATE TRIGGER t AFTER UPDATE ON pages BEGIN INSERT INTO ran VALUES ('t'); END",
        "CREATE TRIGGER u AFTER INSERT ON pages BEGIN INSERT INTO ran VALUES ('u'); END",
        "CREATE TRIGGER v BEFORE DELETE ON pages BEGIN DELETE FROM versions; END",
    ),
    "triggers on tables that every command writes": (
        CREATE_RAN,
        *(f"CREATE TRIGGER t{n} AFTER {act} ON {table} BEGIN INSERT INTO ran VALUES ('x'); END"
          for n, (table, act) in enumerate((t, a) for a in ("INSERT", "UPDATE", "DELETE")
          for t in ("page_use", "last_answer", "config", "embedding_jobs", "names", "chunks",
                    "page_embeddings_vec_384", "embedding_models", "links", "tags"))),
    ),
    "a trigger that never ends": (
        f"CREATE TRIGGER t AFTER INSERT ON last_answer BEGIN {ENDLESS}; END",
        f"CREATE TRIGGER u AFTER UPDATE ON pages BEGIN {ENDLESS}; END",
    ),
    "a view in place of pages": (
        "ALTER TABLE pages RENAME TO other", "DROP VIEW IF EXISTS chunk_search",
        "CREATE VIEW pages AS SELECT * FROM other",
    ),
    "a view that never ends in place of tags": (
        "DROP TABLE tags", f"CREATE VIEW tags AS SELECT ({ENDLESS}) AS tag, 1 AS page_id",
    ),
    "a view that never ends in place of settings": (
        "DROP TABLE config", f"CREATE VIEW config AS SELECT 'a' AS key, ({ENDLESS}) AS value",
    ),
    "another view for the keyword index": (
        "DROP VIEW chunk_search",
        "CREATE VIEW chunk_search AS SELECT id, 'alice' AS title, heading_path, 'alice' AS text "
        "FROM chunks",
    ),
    "a view that writes through a trigger": (
        CREATE_RAN, "DROP TABLE last_answer",
        "CREATE VIEW last_answer AS SELECT 1 AS rank, 'a' AS slug, "
        "1 AS line", "CREATE TRIGGER t INSTEAD OF INSERT ON last_answer BEGIN INSERT INTO ran "
        "VALUES (1); END", "CREATE TRIGGER d INSTEAD OF DELETE ON last_answer BEGIN INSERT INTO "
        "ran VALUES (1); END",
    ),
    "computed columns": (
        "DROP TABLE config", "CREATE TABLE config (key TEXT PRIMARY KEY, value TEXT NOT NULL, "
        "more TEXT GENERATED ALWAYS AS (hex(zeroblob(1000000))) VIRTUAL) WITHOUT ROWID",
        "INSERT INTO config (key, value) VALUES ('default_limit', '3')",
    ),
    "a computed title": (
        "ALTER TABLE pages RENAME COLUMN title TO old",
        "ALTER TABLE pages ADD COLUMN title TEXT GENERATED ALWAYS AS ('lies')",
    ),
    "an index on a slow expression": (
        "CREATE INDEX slow ON pages (hex(zeroblob(length(slug) * 5000)))",
    ),
    "a default that computes, a check that refuses": (
        "DROP TABLE page_use", "CREATE TABLE page_use (page_id INTEGER PRIMARY KEY, opens INTEGER "
        "CHECK (opens > 5), last_opened TEXT DEFAULT (hex(randomblob(99))))",
    ),
    "a keyword index of another kind": (
        "DROP TABLE pages_fts", "CREATE VIRTUAL TABLE pages_fts USING fts5(title, slug, "
        "compiled_truth, timeline, tags, aliases)",
        "INSERT INTO pages_fts (title, slug) VALUES ('alice', 'alice')",
    ),
    "a keyword index whose settings are checked at length": (
        "DROP TABLE pages_fts_config",
        "CREATE TABLE pages_fts_config(k PRIMARY KEY,v,CHECK(length(hex(zeroblob("
        "99999999)))>k)) WITHOUT ROWID",
    ),
    "a keyword index with a column that computes": (
        "DROP TABLE chunks_fts_docsize", "CREATE TABLE chunks_fts_docsize(id INTEGER PRIMARY KEY, "
        'sz BLOB, w "x"AS(hex(zeroblob(99999999))) STORED)',
    ),
    "a keyword index over its own view": (
        "DROP TABLE pages_fts", f"CREATE VIEW trap AS SELECT 1 AS id, ({ENDLESS}) AS title, '' AS "
        "slug, '' AS compiled_truth, '' AS timeline, '' AS tags, '' AS aliases",
        "CREATE VIRTUAL TABLE pages_fts USING fts5(title, slug, compiled_truth, timeline, tags, "
        "aliases, content='trap', content_rowid='id')",
    ),
    "an rtree in place of links": (
        "DROP TABLE links", "CREATE VIRTUAL TABLE links USING rtree(page_id, position, line)",
    ),
    "a table of an unknown module": (
        "PRAGMA writable_schema = ON", "DROP TABLE tags", "INSERT INTO sqlite_schema VALUES "
        "('table', 'tags', 'tags', 0, 'CREATE VIRTUAL TABLE tags USING nobody_knows(a, b)')",
    ),
    "a table of a module that reads files": (
        "PRAGMA writable_schema = ON", "INSERT INTO sqlite_schema VALUES ('table', 'files', "
        "'files', 0, 'CREATE VIRTUAL TABLE files USING fsdir()')",
    ),
    "a schema that is no SQL": (
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE pages (' WHERE name = 'pages'",
    ),
    "a schema that is no text": (
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = CAST(x'435245415445ff' AS TEXT) WHERE name = 'tags'",
    ),
    "two tables in one place": (
        "PRAGMA writable_schema = ON", "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM "
        "sqlite_schema WHERE name = 'chunks') WHERE name = 'pages'",
    ),
    "links in a circle": (
        "UPDATE links SET target = 'people/alice-chen', key = 'people/alice-chen'",
    ),
    "pages superseded in a circle": (
        "UPDATE pages SET meta = json_object('superseded_by', slug)",
    ),
    "a model of a billion dimensions": ("UPDATE embedding_models SET dimension = 1000000000",),
    "a model with a name of SQL": ("UPDATE embedding_models SET dimension = '384; DROP TABLE a'",),
    "a model that is not there": ("UPDATE embedding_models SET folder = '/nowhere', name = 'x'",),
    "a version that unpacks to 64 MB": ("UPDATE versions SET content = bomb()",),
    "front matter deeper than any stack": ("UPDATE pages SET meta = printf('%.*c', 90000, '[')",),
    "a page of 70 MB": ("UPDATE pages SET compiled_truth = zeroblob(70000000) WHERE id = 1",),
    "a chunk of 70 MB": ("UPDATE chunks SET text = zeroblob(70000000) WHERE id = 1",),
    "a vector of 70 MB": ("UPDATE page_embeddings_vec_384 SET vector = zeroblob(70000000) "
                           "WHERE slot = 1",),
    "vectors of not a number": ("UPDATE page_embeddings_vec_384 SET vector = "
                                "CAST(replace(hex(zeroblob(384)), '00', 'ÿ~') AS BLOB)",),
    "a slug that leads out of the folder": (
        "UPDATE pages SET slug = '../../../tmp/out', path = '../../../tmp/out.md' WHERE id = 1",
    ),
    "an absolute path": ("UPDATE pages SET path = '/tmp/gbrain-absolute.md' WHERE id = 1",),
    "a folder that is a device": ("UPDATE vaults SET root = '/dev/zero'",),
    "very many settings": (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) "
        "INSERT INTO config SELECT 'x' || i, 'y' FROM n",
    ),
    "text kept as UTF-16": ("PRAGMA encoding = 'UTF-16'",),
    "a newer program's": ("PRAGMA user_version = 9999",),
    "a negative version": ("PRAGMA user_version = -1",),
    "no version at all": ("PRAGMA user_version = 0",),
    "another program's": ("PRAGMA application_id = 1",),
}  # fmt: skip


def craft(statements: tuple[str, ...], path: Path, rng: random.Random) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.create_function("bomb", 0, partial(_bomb, 1 << 26), deterministic=True)
        for statement in statements:
            raw.execute(statement)


def _bomb(size: int) -> bytes:
    packer = zlib.compressobj()
    block = bytes(1 << 20)
    parts = [packer.compress(block) for _ in range(size >> 20)]
    return b"".join([*parts, packer.flush()])


def odd_files(path: Path, rng: random.Random) -> None:
    path.write_bytes(rng.choice([b"", b"SQLite format 3\0", bytes(4096), b"# A page\n", b"\n"]))
