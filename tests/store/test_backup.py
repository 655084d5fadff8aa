"""Putting a copy back, also over a damaged brain; and making the file small."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
from collections import namedtuple
from contextlib import closing
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.errors import BadBrain, GbrainError, NotFound, UsageError
from gbrain.store import backup as copies
from gbrain.store.backup import copy_brain, restore_brain
from gbrain.store.compact import compact_brain
from gbrain.store.connection import Database

MOMENT = "20261116T120000Z"
BRAINS = Path(__file__).parents[2] / "fixtures" / "brains"
HOLDER = "import sys; from gbrain.brain import Brain; b = Brain.open(sys.argv[1]); input(b.list())"


def slugs(path: Path) -> list[str]:
    with Brain.open(path) as brain:
        return [page.slug for page in brain.list()[0]]


@pytest.fixture
def copy(brain_path: Path, tmp_path: Path) -> Path:
    """A copy with one page; the brain has got another since."""
    target = tmp_path / "copy.db"
    with Brain.open(brain_path, make=True) as brain:
        brain.put("old", b"# Old\n")
        copy_brain(brain.database.connection, target)
        brain.put("new", b"# New\n")
    return target


def test_a_restore_keeps_the_previous_brain(brain_path: Path, copy: Path) -> None:
    before = copy.read_bytes()
    done = restore_brain(brain_path, copy, MOMENT, 1)
    assert done.kept
    assert (done.pages, done.kept.name) == (1, f"brain.db.before-restore-{MOMENT}")
    assert slugs(brain_path) == ["old"]
    assert slugs(done.kept) == ["new", "old"]
    assert done.kept.stat().st_mode & 0o777 == brain_path.stat().st_mode & 0o777 == 0o600
    assert copy.read_bytes() == before


def test_a_second_restore_in_the_same_second_keeps_both(brain_path: Path, copy: Path) -> None:
    kept = [restore_brain(brain_path, copy, MOMENT, 1).kept for _ in range(2)]
    assert [path.name for path in kept if path] == [
        f"brain.db.before-restore-{MOMENT}",
        f"brain.db.before-restore-{MOMENT}-2",
    ]


def test_a_backup_is_restored_where_no_brain_exists(copy: Path, tmp_path: Path) -> None:
    target = tmp_path / "new folder" / "brain.db"
    assert restore_brain(target, copy, MOMENT, 1) == (1, None, False)
    assert slugs(target) == ["old"]
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_brain_that_another_program_has_open_is_left_alone(brain_path: Path, copy: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(brain_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout
        assert holder.stdout.read(1)
        with pytest.raises(BadBrain) as caught:
            restore_brain(brain_path, copy, MOMENT, 0.2)
        assert caught.value.code == "in_use"
        holder.communicate(b"\n")
    assert slugs(brain_path) == ["new", "old"]
    assert restore_brain(brain_path, copy, MOMENT, 0.2).pages == 1


@pytest.mark.parametrize("damage", ["header", "middle", "cut", "text"])
def test_a_damaged_brain_is_kept_as_it_is_and_replaced(
    brain_path: Path, copy: Path, damage: str
) -> None:
    data = brain_path.read_bytes()
    damaged = {
        "header": b"\0" * 100 + data[100:],
        "middle": data[:8192] + b"\xff" * 8192 + data[16384:],
        "cut": data[: len(data) // 2],
        "text": b"these are my notes\n" * 400,
    }[damage]
    brain_path.write_bytes(damaged)
    kept = restore_brain(brain_path, copy, MOMENT, 1).kept
    assert slugs(brain_path) == ["old"]
    assert kept
    # SQLite counts each opening in the header of what it can open.
    assert kept.read_bytes()[200:] == damaged[200:]
    assert sorted(brain_path.parent.glob("brain.db-*")) == []


def test_an_empty_file_is_replaced(brain_path: Path, copy: Path) -> None:
    brain_path.write_bytes(b"")
    restore_brain(brain_path, copy, MOMENT, 1)
    assert slugs(brain_path) == ["old"]


def test_the_log_of_a_damaged_brain_is_not_applied(brain_path: Path, copy: Path) -> None:
    log = Path(f"{brain_path}-wal")
    with Brain.open(brain_path) as brain:
        brain.put("late", b"# Late\n")
        left = log.read_bytes()
    brain_path.write_bytes(b"\0" * 4096)
    log.write_bytes(left)
    kept = restore_brain(brain_path, copy, MOMENT, 1).kept
    assert slugs(brain_path) == ["old"]
    assert Path(f"{kept}-wal").read_bytes() == left


def spoil(copy: Path, sql: str) -> None:
    with closing(sqlite3.connect(copy)) as connection:
        connection.executescript(sql)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("PRAGMA user_version = 99", "it was written by a newer gbrain"),
        (
            "CREATE TRIGGER t AFTER INSERT ON tags BEGIN SELECT 1; END",
            "it contains a trigger t that gbrain did not create",
        ),
        (
            "DROP TABLE pages; CREATE VIEW pages AS SELECT 1 AS id",
            "it contains a view pages that gbrain did not create",
        ),
        ("DROP TABLE pages", "it has no pages table"),
        ("DROP TABLE tags", "tags is missing"),
    ],
)
def test_a_backup_with_an_altered_schema_is_refused(
    brain_path: Path, copy: Path, sql: str, reason: str
) -> None:
    spoil(copy, sql)
    with pytest.raises(BadBrain) as caught:
        restore_brain(brain_path, copy, MOMENT, 1)
    assert caught.value.code == "bad_backup"
    assert caught.value.message == f"{copy} cannot be restored: {reason}"
    assert slugs(brain_path) == ["new", "old"]


def test_a_file_that_is_no_intact_brain_is_not_restored(brain_path: Path, copy: Path) -> None:
    data = copy.read_bytes()
    copy.write_bytes(data[:40960] + b"\xff" * 8192 + data[49152:])
    with pytest.raises(BadBrain):
        restore_brain(brain_path, copy, MOMENT, 1)
    copy.write_text("no brain")
    with pytest.raises(BadBrain):
        restore_brain(brain_path, copy, MOMENT, 1)
    with pytest.raises(NotFound):
        restore_brain(brain_path, copy.with_name("none"), MOMENT, 1)
    with pytest.raises(UsageError):
        restore_brain(brain_path, brain_path, MOMENT, 1)
    assert slugs(brain_path) == ["new", "old"]


def test_restoring_an_older_schema_leaves_the_backup_unchanged(
    brain_path: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old.db"
    old.write_bytes(gzip.decompress((BRAINS / "schema-1.db.gz").read_bytes()))
    before = old.read_bytes()
    Brain.open(brain_path, make=True).close()
    done = restore_brain(brain_path, old, MOMENT, 1)
    assert len(slugs(brain_path)) == done.pages > 0
    assert old.read_bytes() == before


def test_a_backup_with_another_page_size_is_restored(brain_path: Path, copy: Path) -> None:
    spoil(copy, "PRAGMA journal_mode = DELETE; PRAGMA page_size = 8192; VACUUM")
    restore_brain(brain_path, copy, MOMENT, 1)
    assert slugs(brain_path) == ["old"]


REWRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for line in sys.stdin:
    connection.execute("UPDATE config SET value = ? || hex(randomblob(8000))", (line[:1],))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    print("written", flush=True)
"""


def test_a_restore_of_a_file_being_written_is_intact(
    brain_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is written again between its check and its copy, and fits into no cache."""
    source = tmp_path / "source.db"
    with Brain.open(source, make=True) as brain, brain.database.write_transaction() as connection:
        connection.executemany(
            "INSERT INTO config VALUES (?, '0' || hex(randomblob(8000)))",
            [(f"key-{number}",) for number in range(400)],
        )
    find_errors = copies.integrity_errors

    def write_after_check(connection: sqlite3.Connection, *, full: bool) -> list[str]:
        found = find_errors(connection, full=full)
        assert writer.stdin
        assert writer.stdout
        writer.stdin.write(b"1\n")
        writer.stdin.flush()
        assert writer.stdout.readline() == b"written\n"
        return found

    monkeypatch.setattr(copies, "integrity_errors", write_after_check)
    with subprocess.Popen(
        [sys.executable, "-c", REWRITER, str(source)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as writer:
        restore_brain(brain_path, source, MOMENT, 1)
        writer.communicate()
    with closing(sqlite3.connect(brain_path)) as restored:
        assert restored.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rounds = restored.execute("SELECT DISTINCT substr(value, 1, 1) FROM config").fetchall()
    assert rounds == [("0",)]


def test_a_restore_through_a_link_reads_the_log(brain_path: Path, tmp_path: Path) -> None:
    source, link = tmp_path / "folder" / "source.db", tmp_path / "link.db"
    link.symlink_to(source)
    with Brain.open(link, make=True) as brain:
        assert brain.path == source
        for number in range(4):
            brain.put(f"page-{number}", b"# Page\n")
        assert Path(f"{source}-wal").stat().st_size
        assert restore_brain(brain_path, link, MOMENT, 1).pages == 4
        # A reader who cannot write the file sees the log, too.
        source.chmod(0o400)
        assert len(slugs(link)) == 4
    assert sorted(tmp_path.iterdir()) == [brain_path, source.parent, link]


def test_a_backup_through_a_link_keeps_the_link(brain: Brain, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "disk" / "copy.db")
    for replace in (False, True):
        done = brain.backup(tmp_path / "link.db", replace=replace)
        assert done.file == tmp_path / "disk" / "copy.db"
    assert (tmp_path / "link.db").is_symlink()


# --- compact ---------------------------------------------------------------------------------


def test_compact_shrinks_the_file_and_keeps_all_pages(brain: Brain) -> None:
    for number in range(60):
        brain.put(f"page-{number}", f"# Page {number}\n".encode() + b"river " * 3000)
    for number in range(5, 60):
        brain.delete(f"page-{number}")
    with brain.database.write_transaction() as connection:
        connection.execute("DELETE FROM versions")
    done = compact_brain(brain.database)
    assert done.bytes_after < done.bytes_before / 2
    assert done.bytes_after == brain.database.path.stat().st_size
    assert not done.waits
    assert len(brain.search("river").hits) == 5
    segments = "SELECT count(DISTINCT segid) FROM pages_fts_idx"
    assert brain.database.connection.execute(segments).fetchone()[0] <= 1


def test_compact_drops_vectors_and_jobs_of_deleted_pages(
    embedded_sample: Path, brain_path: Path
) -> None:
    shutil.copy(embedded_sample, brain_path)
    with Brain.open(brain_path) as brain:
        brain.put("fresh", b"# Fresh\n\nNot embedded yet.\n")
        brain.delete("fresh")
        brain.delete("people/alice-chen")
        done = compact_brain(brain.database)
        assert (done.vectors_dropped > 0, done.jobs_dropped) == (True, 1)
        assert compact_brain(brain.database)[2:] == (0, 0, False)
        assert "people/noor-haddad" in [hit.slug for hit in brain.query("cloud RAG").hits]


def test_the_file_shrinks_after_a_reader_has_closed_it(brain: Brain) -> None:
    for number in range(20):
        brain.put("page", b"# Page\n" + f"{number} ".encode() * 20_000)
    brain.set("busy_seconds", "0.1")
    with Brain.open(brain.database.path) as other, Brain.open(brain.database.path) as reader:
        with reader.database.read_transaction() as connection:
            text = connection.execute("SELECT compiled_truth FROM pages").fetchone()
            assert compact_brain(other.database).waits
            assert connection.execute("SELECT compiled_truth FROM pages").fetchone() == text
        assert not compact_brain(other.database).waits


def test_compact_waits_busy_seconds_for_a_writer(brain: Brain) -> None:
    brain.put("a", b"# A\n")
    brain.set("busy_seconds", "0.1")
    with (
        Brain.open(brain.database.path) as other,
        brain.database.write_transaction(),
        pytest.raises(BadBrain) as caught,
    ):
        compact_brain(other.database)
    assert caught.value.code == "locked"
    assert compact_brain(brain.database).bytes_after > 0


def test_compact_refuses_to_start_on_a_full_disk(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    Usage = namedtuple("Usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(10**9, 10**9, 1000))
    with pytest.raises(GbrainError) as caught:
        compact_brain(brain.database)
    assert caught.value.code == "no_room"
    assert "1000" not in caught.value.message
    assert "0 MB are free" in caught.value.message


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


def test_a_backup_is_readable_only_by_its_owner(brain: Brain, tmp_path: Path) -> None:
    brain.put("a", b"# A\n")
    with brain.database.read_transaction() as connection:
        assert copy_brain(connection, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    with Brain.open(tmp_path / "copy.db") as copy:
        assert copy.text("a") == "# A\n"
    assert names(tmp_path) == ["brain.db", "brain.db-shm", "brain.db-wal", "copy.db"]


def test_a_backup_replaces_a_file_only_with_force(brain: Brain, tmp_path: Path) -> None:
    target = tmp_path / "mine"
    target.write_text("mine")
    with brain.database.read_transaction() as connection:
        with pytest.raises(BadBrain) as caught:
            copy_brain(connection, target)
        assert (caught.value.code, target.read_text()) == ("file_exists", "mine")
        copy_brain(connection, target, replace=True)
    Database(target).close()
    assert len(names(tmp_path)) == 4


def test_a_backup_into_a_missing_folder_is_refused(brain: Brain, tmp_path: Path) -> None:
    with brain.database.read_transaction() as connection, pytest.raises(BadBrain) as caught:
        copy_brain(connection, tmp_path / "no" / "folder" / "copy.db")
    assert caught.value.code == "cannot_write"


def test_a_damaged_brain_is_not_backed_up(brain_path: Path, tmp_path: Path) -> None:
    with Brain.open(brain_path, make=True) as brain:
        for number in range(50):
            brain.put(f"page-{number}", b"# " + b"word " * 500)
    with brain_path.open("r+b") as file:
        file.seek(40 * 4096)
        file.write(b"\xff" * 8192)
    connection = sqlite3.connect(brain_path)
    with pytest.raises(BadBrain) as caught:
        copy_brain(connection, tmp_path / "copy.db")
    connection.close()
    assert caught.value.code == "damaged"
    assert names(tmp_path) == ["brain.db"]


def test_leftovers_of_a_killed_backup_are_removed(brain: Brain, tmp_path: Path) -> None:
    for left in ("", "-journal"):
        (tmp_path / f".old.1.gbrain-new{left}").write_text("half")
        os.utime(tmp_path / f".old.1.gbrain-new{left}", (1, 1))
    # Of a process in another container, which may have the id of one that ended here.
    (tmp_path / f".young.{'9' * 30}.gbrain-new").write_text("being written")
    (tmp_path / ".busy.gbrain-new").write_text("whose journal is being written")
    os.utime(tmp_path / ".busy.gbrain-new", (1, 1))
    (tmp_path / ".busy.gbrain-new-journal").write_text("young")
    copy_brain(brain.database.connection, tmp_path / "copy.db")
    assert [name for name in names(tmp_path) if name[0] == "."] == [
        ".busy.gbrain-new",
        ".busy.gbrain-new-journal",
        f".young.{'9' * 30}.gbrain-new",
    ]


def test_backups_are_complete_while_another_process_writes(
    brain_path: Path, tmp_path: Path
) -> None:
    Brain.open(brain_path, make=True).close()
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(brain_path)], stdout=subprocess.PIPE
    )
    try:
        assert writer.stdout
        assert writer.stdout.readline() == b"writing\n"
        for number in range(5):
            with Brain.open(brain_path) as brain, brain.database.read_transaction() as connection:
                count = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
                copy_brain(connection, tmp_path / f"{number}.db")
            copy = sqlite3.connect(tmp_path / f"{number}.db")
            assert copy.execute("SELECT count(*) FROM pages").fetchone() == (count,)
            assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            copy.close()
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()


def test_a_brain_upgraded_meanwhile_is_not_copied(brain: Brain, tmp_path: Path) -> None:
    class Older:
        """A connection that saw the version before somebody else raised it."""

        def execute(self, sql: str) -> sqlite3.Cursor:
            return sqlite3.connect(":memory:").execute("SELECT 1")

        def backup(self, copy: sqlite3.Connection) -> None:
            brain.database.connection.backup(copy)

    older: sqlite3.Connection = Older()  # type: ignore[assignment]
    assert not copy_brain(older, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_a_failed_backup_before_a_migration_is_an_error(
    brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "gone" / "brain.db"
    with pytest.raises(BadBrain) as caught:
        copies.backup_before_migration(brain.database.connection, path, 1)
    assert caught.value.code == "no_backup"
    assert copies.SKIP_BACKUP_VARIABLE in (caught.value.hint or "")
    monkeypatch.setenv(copies.SKIP_BACKUP_VARIABLE, "1")
    copies.backup_before_migration(brain.database.connection, path, 1)
