"""The tables of a brain after the last migration, and which objects gbrain did not create."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

APPLICATION_ID = 0x67627261  # "gbra"
SCHEMA_VERSION = 16
# How the keyword indexes read text: words are stemmed, case and accents do not count.
KEYWORD_TOKENIZER = "tokenize='porter unicode61'"
KEYWORD_INDEXES = ("pages_fts", "chunks_fts", "questions_fts")
# Tables whose rows follow from the texts of pages and can be rebuilt from them.
DERIVED_TABLES = (
    "names", "tags", "links", "spaced_pages", "spaced_chunks", "chunks", "page_questions",
)  # fmt: skip

# Small columns first and long texts last, so that listing pages never reads their text.
TABLES_1 = """
CREATE TABLE vaults (
    id INTEGER PRIMARY KEY,
    root TEXT NOT NULL UNIQUE,
    added_at TEXT NOT NULL
);
CREATE TABLE pages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    slug TEXT NOT NULL UNIQUE,
    path TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    type TEXT,
    wing TEXT NOT NULL,
    wing_reason TEXT NOT NULL,
    room TEXT NOT NULL,
    room_reason TEXT NOT NULL,
    date TEXT,
    first_day TEXT,
    last_day TEXT,
    version INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    bytes INTEGER NOT NULL,
    vault_id INTEGER REFERENCES vaults(id),
    source_sha256 BLOB,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    tags TEXT NOT NULL,
    aliases TEXT NOT NULL,
    meta TEXT NOT NULL,
    front_matter TEXT NOT NULL,
    compiled_truth TEXT NOT NULL,
    timeline TEXT NOT NULL
);
CREATE INDEX pages_wing ON pages(wing, room);
CREATE TABLE versions (
    page_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    slug TEXT NOT NULL,
    path TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    bytes INTEGER NOT NULL,
    written_at TEXT NOT NULL,
    ended_at TEXT NOT NULL,
    ending TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (page_id, version)
) WITHOUT ROWID;
CREATE INDEX versions_slug ON versions(slug, version);
CREATE TABLE names (
    key TEXT NOT NULL,
    page_id INTEGER NOT NULL REFERENCES pages(id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    reversed TEXT NOT NULL,
    PRIMARY KEY (key, page_id, kind)
) WITHOUT ROWID;
CREATE INDEX names_page ON names(page_id);
CREATE INDEX names_reversed ON names(reversed);
CREATE TABLE tags (
    tag TEXT NOT NULL COLLATE NOCASE,
    page_id INTEGER NOT NULL REFERENCES pages(id) ON DELETE CASCADE,
    PRIMARY KEY (tag, page_id)
) WITHOUT ROWID;
CREATE INDEX tags_page ON tags(page_id);
CREATE TABLE links (
    page_id INTEGER NOT NULL REFERENCES pages(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    line INTEGER NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    key TEXT NOT NULL,
    heading TEXT,
    label TEXT,
    PRIMARY KEY (page_id, position)
) WITHOUT ROWID;
CREATE INDEX links_key ON links(key);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    page_id INTEGER NOT NULL REFERENCES pages(id) ON DELETE CASCADE,
    section INTEGER NOT NULL,
    part INTEGER NOT NULL,
    kind TEXT NOT NULL,
    date TEXT,
    first_day TEXT,
    last_day TEXT,
    byte_start INTEGER NOT NULL,
    byte_stop INTEGER NOT NULL,
    first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    hash BLOB NOT NULL,
    heading_path TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX chunks_page ON chunks(page_id, section, part);
CREATE INDEX chunks_hash ON chunks(hash);
CREATE INDEX chunks_day ON chunks(first_day) WHERE first_day IS NOT NULL;
CREATE VIEW chunk_search AS
    SELECT chunks.id AS id, pages.title AS title, heading_path, text
    FROM chunks JOIN pages ON pages.id = chunks.page_id;
CREATE VIRTUAL TABLE pages_fts USING fts5(
    title, slug, compiled_truth, timeline, tags, aliases,
    content='pages', content_rowid='id', tokenize='porter unicode61'
);
CREATE VIRTUAL TABLE chunks_fts USING fts5(
    title, heading_path, text,
    content='chunk_search', content_rowid='id', tokenize='porter unicode61'
);
INSERT INTO pages_fts (pages_fts, rank) VALUES ('hashsize', 16777216);
INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('hashsize', 16777216);
CREATE TABLE query_aliases (
    word TEXT NOT NULL,
    expansion TEXT NOT NULL,
    PRIMARY KEY (word, expansion)
) WITHOUT ROWID;
CREATE TABLE config (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE embedding_models (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    identity TEXT NOT NULL UNIQUE,
    sha256 TEXT NOT NULL,
    pooling TEXT NOT NULL,
    query_prefix TEXT NOT NULL,
    passage_prefix TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    max_tokens INTEGER NOT NULL,
    description TEXT NOT NULL,
    folder TEXT,
    files_stamp TEXT,
    active INTEGER NOT NULL DEFAULT 0,
    added_at TEXT NOT NULL
);
CREATE TABLE embedding_jobs (
    hash BLOB PRIMARY KEY,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at REAL NOT NULL DEFAULT 0,
    claimed_by TEXT,
    error TEXT,
    enqueued_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX embedding_jobs_due ON embedding_jobs(due_at);
"""

# The usage log, what is learned from it, and the questions that pages answer.
TABLES_2 = """
CREATE TABLE questions (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL,
    asked_at TEXT NOT NULL,
    mode TEXT NOT NULL,
    verdict TEXT NOT NULL,
    hits INTEGER NOT NULL
);
CREATE TABLE question_hits (
    question_id INTEGER NOT NULL REFERENCES questions(id) ON DELETE CASCADE,
    rank INTEGER NOT NULL,
    page_id INTEGER NOT NULL,
    features TEXT NOT NULL,
    opened_at TEXT,
    PRIMARY KEY (question_id, rank)
) WITHOUT ROWID;
CREATE TABLE page_use (
    page_id INTEGER PRIMARY KEY REFERENCES pages(id) ON DELETE CASCADE,
    opens INTEGER NOT NULL,
    last_opened TEXT NOT NULL
);
CREATE TABLE last_answer (
    rank INTEGER PRIMARY KEY,
    slug TEXT NOT NULL,
    line INTEGER
);
CREATE TABLE baselines (
    id INTEGER PRIMARY KEY,
    made_at TEXT NOT NULL,
    model TEXT,
    results TEXT NOT NULL
);
CREATE TABLE learned (
    name TEXT PRIMARY KEY,
    made_at TEXT NOT NULL,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE page_questions (
    page_id INTEGER PRIMARY KEY REFERENCES pages(id) ON DELETE CASCADE,
    questions TEXT NOT NULL
);
CREATE VIRTUAL TABLE questions_fts USING fts5(
    questions, content='page_questions', content_rowid='page_id', tokenize='porter unicode61'
);
"""

# Settings renamed since schema 2; a brain that stores an old name keeps its value.
RENAMED_SETTINGS_3 = """
UPDATE OR REPLACE config SET key = 'chunk_bonus' WHERE key = 'passage_bonus';
UPDATE OR REPLACE config SET key = 'chunk_k' WHERE key = 'passage_k';
"""

# Files of registered folders that a killed or failed write left behind, and pages whose text and
# file changed in ways that could not be merged. `page_id` of a removal may be a deleted page.
TABLES_6 = """
CREATE TABLE file_removals (
    vault_id INTEGER NOT NULL REFERENCES vaults(id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    page_id INTEGER NOT NULL,
    sha256 BLOB,
    PRIMARY KEY (vault_id, path)
) WITHOUT ROWID;
CREATE TABLE conflicts (
    page_id INTEGER NOT NULL REFERENCES pages(id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    base_sha256 BLOB,
    found_at TEXT NOT NULL,
    PRIMARY KEY (page_id, version)
) WITHOUT ROWID;
"""

# Shared stores that the brain is connected to; for each page what it and the remote had in common
# last (no hash: deleted), with the model whose vectors the remote has; pages that did not merge.
TABLES_7 = """
CREATE TABLE remotes (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    url TEXT NOT NULL,
    identity TEXT,
    parts TEXT,
    sequence INTEGER NOT NULL DEFAULT 0,
    vector_sequence INTEGER NOT NULL DEFAULT 0,
    pulled_at TEXT,
    added_at TEXT NOT NULL
);
CREATE TABLE remote_pages (
    remote_id INTEGER NOT NULL REFERENCES remotes(id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    version INTEGER NOT NULL,
    sha256 BLOB,
    vectors INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (remote_id, slug)
) WITHOUT ROWID;
CREATE TABLE remote_conflicts (
    remote_id INTEGER NOT NULL REFERENCES remotes(id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER,
    base_sha256 BLOB,
    found_at TEXT NOT NULL,
    PRIMARY KEY (remote_id, slug)
) WITHOUT ROWID;
"""

# Texts in scripts without spaces, as the keyword indexes get them (text/unspaced.py): FTS5 compares
# an index with the texts of its view, and marks matches in them. Others are indexed as they are.
TABLES_9 = """
CREATE TABLE spaced_pages (
    page_id INTEGER PRIMARY KEY REFERENCES pages(id) ON DELETE CASCADE,
    title TEXT NOT NULL,
    slug TEXT NOT NULL,
    compiled_truth TEXT NOT NULL,
    timeline TEXT NOT NULL,
    tags TEXT NOT NULL,
    aliases TEXT NOT NULL
);
CREATE TABLE spaced_chunks (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks(id) ON DELETE CASCADE,
    title TEXT NOT NULL,
    heading_path TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE VIEW page_search AS
    SELECT pages.id AS id, coalesce(spaced.title, pages.title) AS title,
    coalesce(spaced.slug, pages.slug) AS slug,
    coalesce(spaced.compiled_truth, pages.compiled_truth) AS compiled_truth,
    coalesce(spaced.timeline, pages.timeline) AS timeline,
    coalesce(spaced.tags, pages.tags) AS tags, coalesce(spaced.aliases, pages.aliases) AS aliases
    FROM pages LEFT JOIN spaced_pages AS spaced ON spaced.page_id = pages.id;
DROP VIEW chunk_search;
CREATE VIEW chunk_search AS
    SELECT chunks.id AS id, coalesce(spaced.title, pages.title) AS title,
    coalesce(spaced.heading_path, chunks.heading_path) AS heading_path,
    coalesce(spaced.text, chunks.text) AS text
    FROM chunks JOIN pages ON pages.id = chunks.page_id
    LEFT JOIN spaced_chunks AS spaced ON spaced.chunk_id = chunks.id;
DROP TABLE pages_fts;
CREATE VIRTUAL TABLE pages_fts USING fts5(
    title, slug, compiled_truth, timeline, tags, aliases,
    content='page_search', content_rowid='id', tokenize='porter unicode61'
);
INSERT INTO pages_fts (pages_fts, rank) VALUES ('hashsize', 16777216);
"""

# Vectors of one dimension: exact ones by slot, the small codes that a query scans, about a thousand
# in each row, and in a large brain one bit for each number of a code.
VECTOR_TABLES = """
CREATE TABLE IF NOT EXISTS page_embeddings_vec_{dim} (
    model_id INTEGER NOT NULL REFERENCES embedding_models(id),
    slot INTEGER NOT NULL,
    hash BLOB,
    vector BLOB NOT NULL,
    PRIMARY KEY (model_id, slot),
    UNIQUE (model_id, hash)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS page_embeddings_codes_{dim} (
    model_id INTEGER NOT NULL REFERENCES embedding_models(id),
    segment INTEGER NOT NULL,
    codes BLOB NOT NULL,
    PRIMARY KEY (model_id, segment)
);
CREATE TABLE IF NOT EXISTS page_embeddings_bits_{dim} (
    model_id INTEGER NOT NULL REFERENCES embedding_models(id),
    segment INTEGER NOT NULL,
    bits BLOB NOT NULL,
    PRIMARY KEY (model_id, segment)
);
"""
# The page and the slot of each chunk that has a vector, by chunk id.
VECTOR_TABLE_13 = """
CREATE TABLE IF NOT EXISTS page_embeddings_chunks_{dim} (
    model_id INTEGER NOT NULL REFERENCES embedding_models(id),
    segment INTEGER NOT NULL,
    pairs BLOB NOT NULL,
    PRIMARY KEY (model_id, segment)
);
"""
VECTOR_TABLES += VECTOR_TABLE_13
# A brain that cannot be upgraded, because it is read-only, may still have the index of version 12.
_VECTOR_INDEX_12 = """
CREATE INDEX page_embeddings_hash_{dim}
    ON page_embeddings_vec_{dim}(model_id, hash, slot);
"""

# The pages whose text may have a task: a checkbox or a word of Logseq. SQLite keeps the list.
MAY_HAVE_TASKS = " OR ".join(
    f"{column} GLOB '*{part}*'"
    for column in ("compiled_truth", "timeline")
    for part in ("[[][ xX/-]]", "TODO", "DOING", "NOW", "LATER", "DONE", "CANCEL")
)
INDEXES_10 = f"""
CREATE INDEX pages_tasks ON pages(slug) WHERE {MAY_HAVE_TASKS};
CREATE INDEX pages_updated ON pages(updated_at);
"""

# Indexes that contain all that a filter by date reads.
INDEXES_8 = """
CREATE INDEX chunks_days ON chunks(first_day, last_day, page_id) WHERE first_day IS NOT NULL;
CREATE INDEX pages_days ON pages(first_day, last_day) WHERE first_day IS NOT NULL;
"""

# The same for a filter that starts on a day: without them all earlier entries would be read.
INDEXES_11 = """
CREATE INDEX chunks_last_day ON chunks(last_day, first_day, page_id) WHERE first_day IS NOT NULL;
CREATE INDEX pages_last_day ON pages(last_day, first_day) WHERE first_day IS NOT NULL;
"""

# Indexes that contain all that a filter by type or room reads.
INDEXES_13 = """
CREATE INDEX pages_type ON pages(type COLLATE NOCASE) WHERE type IS NOT NULL;
CREATE INDEX pages_room ON pages(room);
"""

# The last change of a remote that the brain has, the one with the number `remotes.sequence`. A
# store that lacks it was restored from a backup, even if others have written to it since.
TABLES_15 = """
CREATE TABLE remote_changes (
    remote_id INTEGER PRIMARY KEY REFERENCES remotes(id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    version INTEGER NOT NULL,
    written_at INTEGER NOT NULL
);
"""

# The order of all writes (`version` is the one written) and deletions (the last one); times cannot
# give it, because clocks are set back.
# How the file of each page, and the folders of these files, were when gbrain last saw them. Without
# a row a file was not seen since the brain came from a backup; `missing` says why a page without a
# file was not deleted.
# The hash of the ignore file with which each folder was imported last.
# The pages that a limited token wrote: their titles and aliases lead no write of the owner there.
# The remotes that were not pulled from since the brain came from a backup.
# A removal names its folder by its path, so that it outlives a folder that is forgotten.
TABLES_16 = """
CREATE TABLE changes (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    page_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    deleted INTEGER NOT NULL
);
CREATE INDEX changes_page ON changes(page_id, version);
INSERT INTO changes (page_id, version, deleted)
    SELECT page_id, version, deleted FROM (
        SELECT id AS page_id, version, updated_at AS time, 0 AS deleted FROM pages
        UNION ALL SELECT page_id, version, written_at, 0 FROM versions
        UNION ALL SELECT page_id, version, ended_at, 1 FROM versions WHERE ending = 'deleted'
    ) ORDER BY time, page_id, version, deleted;
CREATE TABLE page_files (
    page_id INTEGER PRIMARY KEY REFERENCES pages(id) ON DELETE CASCADE,
    stamp TEXT,
    folder TEXT,
    missing TEXT
);
INSERT INTO page_files (page_id) SELECT id FROM pages
    WHERE vault_id IS NOT NULL AND source_sha256 IS NOT NULL;
CREATE TABLE page_folders (
    vault_id INTEGER NOT NULL REFERENCES vaults(id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    identity TEXT NOT NULL,
    PRIMARY KEY (vault_id, path)
) WITHOUT ROWID;
CREATE TABLE folder_rules (
    vault_id INTEGER PRIMARY KEY REFERENCES vaults(id) ON DELETE CASCADE,
    sha256 BLOB NOT NULL
);
CREATE TABLE token_pages (
    page_id INTEGER PRIMARY KEY REFERENCES pages(id) ON DELETE CASCADE
);
CREATE TABLE restored_remotes (
    remote_id INTEGER PRIMARY KEY REFERENCES remotes(id) ON DELETE CASCADE
);
ALTER TABLE file_removals RENAME TO file_removals_15;
CREATE TABLE file_removals (
    root TEXT NOT NULL,
    path TEXT NOT NULL,
    page_id INTEGER NOT NULL,
    sha256 BLOB,
    stamp TEXT,
    from_elsewhere INTEGER NOT NULL,
    PRIMARY KEY (root, path)
) WITHOUT ROWID;
INSERT INTO file_removals (root, path, page_id, sha256, from_elsewhere)
    SELECT root, path, page_id, sha256, 0 FROM file_removals_15 JOIN vaults ON vaults.id = vault_id;
DROP TABLE file_removals_15;
"""

# Keywords with which a table definition can compute a value or depend on another table.
_COMPUTING_KEYWORDS = frozenset(
    "AS CHECK COLLATE CONSTRAINT DEFAULT FOREIGN GENERATED REFERENCES VIRTUAL WHERE".split()
)
# As SQLite and sqlite-utils write them today; other spellings are examined more closely.
_LIBRARY_STATEMENTS = (
    "CREATE TABLE sqlite_sequence(name,seq)",
    'CREATE TABLE "_sqlite_migrations" (\n   "id" INTEGER PRIMARY KEY,\n   "migration_set" TEXT,\n'
    '   "name" TEXT,\n   "applied_at" TEXT\n)',
    'CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"\n'
    '    ON "_sqlite_migrations" ("migration_set", "name")',
)
_INDEX_TABLE_ENDINGS = (
    "_data'(id INTEGER PRIMARY KEY, block BLOB)",
    "_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID",
    "_docsize'(id INTEGER PRIMARY KEY, sz BLOB)",
    "_config'(k PRIMARY KEY, v) WITHOUT ROWID",
)

SELECT_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
SchemaRow = tuple[str, str, str, str | None]


def own_objects(names: Iterable[str] = ()) -> dict[str, str]:
    """Return the SQL of every table, index and view of a brain, by name.

    `names` are the objects in the file: they tell which vector tables belong to its models.
    """
    return {_object_name(sql): sql for sql in _own_statements(names)}


def _own_statements(names: Iterable[str]) -> list[str]:
    numbers = {name.rpartition("_")[2] for name in names if name.startswith("page_embeddings_")}
    # SQLite stores the statement without these words.
    vectors = VECTOR_TABLES.replace("IF NOT EXISTS ", "") + _VECTOR_INDEX_12
    of_models = "".join(vectors.format(dim=n) for n in numbers if n.isdecimal())
    script = TABLES_1 + TABLES_2 + TABLES_6 + TABLES_7 + INDEXES_8 + TABLES_9 + INDEXES_10
    script += INDEXES_11 + INDEXES_13 + TABLES_15 + TABLES_16
    script += of_models
    return [sql for part in script.split(";\n") if (sql := part.strip())[:6] == "CREATE"]


def _object_name(statement: str) -> str:
    words = statement.split(maxsplit=4)
    return words[3] if words[1] == "VIRTUAL" else words[2]


def find_foreign_objects(rows: Iterable[SchemaRow]) -> list[tuple[str, str]]:
    """Return (kind, name) of objects gbrain did not create that could run when it uses the file.

    These are triggers, indexes on its tables, and objects with the name of one of gbrain's but
    another definition. Other tables and views are never used, so they may exist. `rows` are those
    of sqlite_schema: type, name, table, SQL.
    """
    known = list(rows)
    names = [name for _, name, _, _ in known]
    usual = _usual_statements(names)
    unusual = [row for row in known if row[3] not in usual and not _is_library_object(*row)]
    own = own_objects(names) if unusual else {}
    return [
        (kind, name)
        for kind, name, table, _ in unusual
        if kind == "trigger"
        or any(
            one in own or _is_library_name(one)
            for one in (name.lower(), *((table.lower(),) if kind == "index" else ()))
        )
    ]


def _usual_statements(names: Iterable[str]) -> set[str]:
    """Return the statements of an unchanged brain; only others need a closer look."""
    own = _own_statements(names)
    indexes = [_object_name(sql) for sql in own if sql.startswith("CREATE VIRTUAL")]
    parts = (f"CREATE TABLE '{index}{rest}" for index in indexes for rest in _INDEX_TABLE_ENDINGS)
    return {*own, *parts, *_LIBRARY_STATEMENTS}


def _is_library_name(name: str) -> bool:
    """Return whether SQLite, its keyword index or sqlite-utils uses such a name."""
    return "_fts_" in name or name.startswith(("sqlite_", "_sqlite_"))


def _is_library_object(kind: str, name: str, table: str, sql: str | None) -> bool:
    """Return whether SQLite or sqlite-utils may have created the object.

    Its spelling may differ between versions, but none of their tables computes anything.
    """
    if kind == "index":
        return sql is None or (table == "_sqlite_migrations" and _has_only_columns(sql))
    return kind == "table" and _is_library_name(name) and _has_only_columns(sql or "")


def _has_only_columns(sql: str) -> bool:
    """Return whether a table definition only lists columns with their types and keys."""
    import re
    from itertools import pairwise

    tokens = re.findall(r"\w+|[^\w\s]", sql.upper())
    called = [before for before, token in pairwise(tokens) if token == "("]
    signs = {token for token in tokens if not token.replace("_", "a").isalnum()}
    return (
        signs <= set("(),'\"")
        and _COMPUTING_KEYWORDS.isdisjoint(tokens)
        and all(before == "KEY" for before in called[1:])
    )


def integrity_errors(connection: sqlite3.Connection, *, full: bool) -> list[str]:
    """Return what SQLite's own check reports; `full` also compares every index with its table."""
    pragma = "integrity_check" if full else "quick_check"
    reported = [row[0] for row in connection.execute(f"PRAGMA {pragma}")]
    # Newer versions of SQLite check the keyword indexes too; doctor has separate checks for those.
    return [
        line
        for text in reported
        if text != "ok" and "fts5" not in text.lower()
        for line in text.splitlines()
    ]
