"""Copies of a brain: whole, sound, private, and made while others write."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.errors import BadBrain
from gbrain.store import copies
from gbrain.store.connection import Database
from gbrain.store.copies import copy_to

WRITER = """
import sys
from gbrain.brain import Brain
with Brain.open(sys.argv[1]) as brain:
    for number in range(10**6):
        brain.put(f"page-{number}", b"# " + b"word " * 2000)
        if number == 20:
            print("writing", flush=True)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_copy_is_a_brain_for_its_owner_alone(brain: Brain, tmp_path: Path) -> None:
    brain.put("a", b"# A\n")
    with brain.database.reading() as connection:
        assert copy_to(connection, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    with Brain.open(tmp_path / "copy.db") as copy:
        assert copy.text("a") == "# A\n"
    assert names(tmp_path) == ["brain.db", "brain.db-shm", "brain.db-wal", "copy.db"]


def test_a_file_that_is_there_stays_unless_it_may_be_replaced(brain: Brain, tmp_path: Path) -> None:
    target = tmp_path / "mine"
    target.write_text("mine")
    with brain.database.reading() as connection:
        with pytest.raises(BadBrain) as caught:
            copy_to(connection, target)
        assert (caught.value.code, target.read_text()) == ("file_exists", "mine")
        copy_to(connection, target, replace=True)
    Database(target).close()
    assert len(names(tmp_path)) == 4


def test_a_place_that_takes_no_file(brain: Brain, tmp_path: Path) -> None:
    with brain.database.reading() as connection, pytest.raises(BadBrain) as caught:
        copy_to(connection, tmp_path / "no" / "folder" / "copy.db")
    assert caught.value.code == "cannot_write"


def test_a_damaged_brain_makes_no_copy(brain_path: Path, tmp_path: Path) -> None:
    with Brain.open(brain_path, make=True) as brain:
        for number in range(50):
            brain.put(f"page-{number}", b"# " + b"word " * 500)
    with brain_path.open("r+b") as file:
        file.seek(40 * 4096)
        file.write(b"\xff" * 8192)
    connection = sqlite3.connect(brain_path)
    with pytest.raises(BadBrain) as caught:
        copy_to(connection, tmp_path / "copy.db")
    connection.close()
    assert caught.value.code == "damaged"
    assert names(tmp_path) == ["brain.db"]


def test_what_a_killed_copy_left_is_cleared_away(brain: Brain, tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for left in ("", "-journal"):
        (tmp_path / f".old.{ended.pid}.gbrain-new{left}").write_text("half")
    (tmp_path / f".old.{'9' * 30}.gbrain-new").write_text("of no process at all")
    (tmp_path / ".old.1.gbrain-new").write_text("being made by a process that lives")
    copy_to(brain.database.connection, tmp_path / "copy.db")
    assert [name for name in names(tmp_path) if name[0] == "."] == [".old.1.gbrain-new"]


def test_copies_are_whole_while_another_process_writes(brain_path: Path, tmp_path: Path) -> None:
    Brain.open(brain_path, make=True).close()
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(brain_path)], stdout=subprocess.PIPE
    )
    try:
        assert writer.stdout
        assert writer.stdout.readline() == b"writing\n"
        for number in range(5):
            with Brain.open(brain_path) as brain, brain.database.reading() as connection:
                count = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
                copy_to(connection, tmp_path / f"{number}.db")
            copy = sqlite3.connect(tmp_path / f"{number}.db")
            assert copy.execute("SELECT count(*) FROM pages").fetchone() == (count,)
            assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            copy.close()
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()


def test_a_brain_that_got_another_version_meanwhile_is_not_copied(
    brain: Brain, tmp_path: Path
) -> None:
    class Older:
        """A connection that saw the version before somebody else raised it."""

        def execute(self, sql: str) -> sqlite3.Cursor:
            return sqlite3.connect(":memory:").execute("SELECT 1")

        def backup(self, copy: sqlite3.Connection) -> None:
            brain.database.connection.backup(copy)

    older: sqlite3.Connection = Older()  # type: ignore[assignment]
    assert not copy_to(older, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_no_room_for_a_copy_before_a_migration_leaves_the_brain_alone(
    brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "gone" / "brain.db"
    with pytest.raises(BadBrain) as caught:
        copies.keep_before_migration(brain.database.connection, path, 1)
    assert caught.value.code == "no_backup"
    assert copies.WITHOUT_COPY in (caught.value.hint or "")
    monkeypatch.setenv(copies.WITHOUT_COPY, "1")
    copies.keep_before_migration(brain.database.connection, path, 1)
