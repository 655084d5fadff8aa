"""Checks that a brain file is sound after any fault."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from gbrain.brain import Brain
from gbrain.store.doctor.examine import examine

NOW = "2026-11-16T12:00:00"


def check_sound(path: Path) -> None:
    """Assert that SQLite, FTS5 and doctor find no problem, and that other users cannot read it."""
    beside = [file for file in path.parent.iterdir() if file.is_file()]
    open_to_others = [file.name for file in beside if os.stat(file).st_mode & 0o077]
    assert not open_to_others, open_to_others
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
        indexes = raw.execute("SELECT name FROM sqlite_schema WHERE sql LIKE '%USING fts5%'")
        for (table,) in indexes.fetchall():
            raw.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    with Brain.open(path) as brain:
        findings = list(examine(brain.database, NOW, full=True))
        assert findings
        for name, finding in findings:
            assert finding.status in ("ok", "note"), (name, finding)


def page_texts(path: Path) -> dict[str, str]:
    """Return the text of every page by slug, read without gbrain."""
    with closing(sqlite3.connect(path)) as raw:
        rows = raw.execute("SELECT slug, front_matter || compiled_truth || timeline FROM pages")
        return dict(rows.fetchall())
