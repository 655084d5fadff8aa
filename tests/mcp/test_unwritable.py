"""A brain opened so that it cannot be written, while others may."""

from __future__ import annotations

import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.errors import BadBrain, NotFound
from gbrain.mcp.unwritable import open_unwritable


def test_nothing_can_be_written_not_even_by_sql(sample: Path) -> None:
    before = sha256(sample.read_bytes()).digest()
    with open_unwritable(sample) as brain:
        with pytest.raises(BadBrain) as caught:
            brain.put("a", b"# A\n")
        assert caught.value.code == "read_only"
        for connection in (brain.database.connection, brain.database.another()):
            with pytest.raises(sqlite3.OperationalError, match="readonly database"):
                connection.execute("DELETE FROM pages")
        connection.close()
    assert sha256(sample.read_bytes()).digest() == before


def test_use_is_not_recorded(sample: Path) -> None:
    with Brain.open(sample) as brain:
        brain.set("record_queries", "on")
    with open_unwritable(sample) as brain:
        brain.opened(brain.get("index").id)
        assert brain.query("backup").hits
    with Brain.open(sample) as brain, brain.database.reading() as connection:
        for table in ("page_use", "questions"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_what_others_write_is_seen(sample: Path) -> None:
    with open_unwritable(sample) as reader:
        total = reader.list()[1]
        with Brain.open(sample) as writer:
            writer.put("a", b"# A\n")
        assert reader.list()[1] == total + 1


def test_a_file_that_nobody_may_write_is_read_as_well(sample: Path) -> None:
    sample.chmod(0o400)
    with open_unwritable(sample) as brain:
        assert brain.search("backup").hits
    sample.chmod(0o600)


def test_a_place_with_strange_signs(sample: Path) -> None:
    place = sample.rename(sample.with_name("a #1? 100%.db"))
    with open_unwritable(place) as brain:
        assert brain.list()[1] > 1


def test_an_older_brain_is_left_as_it_is(sample: Path) -> None:
    connection = sqlite3.connect(sample)
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    before = sha256(sample.read_bytes()).digest()
    with pytest.raises(BadBrain) as caught:
        open_unwritable(sample)
    assert caught.value.code == "brain_too_old"
    assert sha256(sample.read_bytes()).digest() == before


def test_no_brain_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        open_unwritable(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []
