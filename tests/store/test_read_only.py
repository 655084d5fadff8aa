"""Brains that are opened read-only: SQLite refuses writes, and the file stays as it is."""

from __future__ import annotations

import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.errors import BadBrain, NotFound


def test_every_write_is_refused_even_by_sql(sample: Path) -> None:
    before = sha256(sample.read_bytes()).digest()
    with Brain.open(sample, read_only=True) as brain:
        with pytest.raises(BadBrain) as caught:
            brain.put("a", b"# A\n")
        assert caught.value.code == "read_only"
        for connection in (brain.database.connection, brain.database.open_second_connection()):
            with pytest.raises(sqlite3.OperationalError, match="readonly database"):
                connection.execute("DELETE FROM pages")
        connection.close()
    assert sha256(sample.read_bytes()).digest() == before


def test_use_is_not_recorded(sample: Path) -> None:
    with Brain.open(sample) as brain:
        brain.set("record_queries", "on")
    with Brain.open(sample, read_only=True) as brain:
        brain.record_open(brain.get("index").id)
        assert brain.query("backup").hits
    with Brain.open(sample) as brain, brain.database.read_transaction() as connection:
        for table in ("page_use", "questions"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_writes_of_other_programs_are_seen(sample: Path) -> None:
    with Brain.open(sample, read_only=True) as reader:
        total = reader.list()[1]
        with Brain.open(sample) as writer:
            writer.put("a", b"# A\n")
        assert reader.list()[1] == total + 1


def test_a_file_without_write_permission_is_read(sample: Path) -> None:
    sample.chmod(0o400)
    with Brain.open(sample, read_only=True) as brain:
        assert brain.search("backup").hits
    sample.chmod(0o600)


def test_a_path_with_special_characters_is_opened(sample: Path) -> None:
    place = sample.rename(sample.with_name("a #1? 100%.db"))
    with Brain.open(place, read_only=True) as brain:
        assert brain.list()[1] > 1


def test_a_brain_of_an_older_schema_is_not_migrated(sample: Path) -> None:
    connection = sqlite3.connect(sample)
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    before = sha256(sample.read_bytes()).digest()
    with pytest.raises(BadBrain) as caught:
        Brain.open(sample, read_only=True)
    assert caught.value.code == "brain_too_old"
    assert sha256(sample.read_bytes()).digest() == before


def test_a_missing_brain_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        Brain.open(tmp_path / "none.db", read_only=True)
    assert list(tmp_path.iterdir()) == []
