"""The brain file: private, whole, one file when closed, and never harmed by what it is not."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from hashlib import sha256
from pathlib import Path
from stat import S_IMODE

import pytest

from gbrain.brain import Brain
from gbrain.errors import BadBrain, Conflict, GbrainError, NotFound
from gbrain.store.backup import restore_brain
from gbrain.store.connection import Database, create_brain
from gbrain.store.schema import APPLICATION_ID, SCHEMA_VERSION


def digest(path: Path) -> bytes:
    return sha256(path.read_bytes()).digest()


def mode(path: Path) -> int:
    return S_IMODE(path.stat().st_mode)


def refused(path: Path) -> GbrainError:
    """The error of opening a file, which must be as it was afterwards, alone in its folder."""
    before, beside = digest(path), sorted(path.parent.iterdir())
    with pytest.raises(GbrainError) as caught:
        Brain.open(path).close()
    assert digest(path) == before
    assert sorted(path.parent.iterdir()) == beside
    assert caught.value.hint
    return caught.value


def test_a_brain_is_private_while_open_and_one_file_when_closed(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "brain #1?.db"
    old = os.umask(0)
    try:
        with Brain.open(path, make=True) as brain:
            brain.put("a", b"# A\n")
            open_files = {file.name: mode(file) for file in path.parent.iterdir()}
    finally:
        os.umask(old)
    assert open_files == {
        "brain #1?.db": 0o600,
        "brain #1?.db-wal": 0o600,
        "brain #1?.db-shm": 0o600,
    }
    assert [file.name for file in path.parent.iterdir()] == ["brain #1?.db"]
    assert mode(path) == 0o600


def test_leftovers_of_a_killed_init_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    for left in (".file.0123.gbrain-new", ".file.0123.gbrain-new-journal"):
        (tmp_path / left).touch()
        os.utime(tmp_path / left, (1, 1))
    Brain.open(path, make=True).close()
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_header_identifies_a_brain(brain: Brain) -> None:
    with brain.database.read_transaction() as connection:
        pragmas = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version", "journal_mode", "foreign_keys")
        ]
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert pragmas == [APPLICATION_ID, SCHEMA_VERSION, "wal", 1]
    named = {"pages", "page_embeddings_vec_384", "embedding_models", "embedding_jobs", "config"}
    assert named <= tables


def test_a_missing_file_gives_a_hint_how_to_create_one(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        Brain.open(tmp_path / "none.db")
    assert caught.value.code == "no_brain"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"SQLite format 3\0", b"\0" * 4096],
    ids=["empty", "text", "short", "zeros"],
)
def test_a_file_that_is_no_brain_is_not_changed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.db"
    path.write_bytes(content)
    assert refused(path).code == "not_a_brain"


def test_a_file_that_is_no_brain_is_not_made_into_one(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    path.write_bytes(b"")
    with pytest.raises(BadBrain):
        Brain.open(path, make=True)
    assert path.read_bytes() == b""


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE pages (a)")
    connection.close()
    assert refused(path).code == "not_a_brain"


def test_a_folder_is_no_brain(tmp_path: Path) -> None:
    with pytest.raises(BadBrain) as caught:
        Brain.open(tmp_path)
    assert caught.value.code == "cannot_read"


def closed_brain(path: Path) -> None:
    with Brain.open(path, make=True) as brain:
        brain.put("a", b"# A\n" + b"word " * 20_000)


def newly_made(path: Path) -> None:
    create_brain(path)


@pytest.mark.parametrize("make", [closed_brain, newly_made])
def test_a_brain_of_a_newer_program_is_left_alone(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "brain.db"
    make(path)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.commit()
    connection.close()
    error = refused(path)
    assert error.code == "brain_too_new"
    assert f"schema {SCHEMA_VERSION + 1}, this program knows {SCHEMA_VERSION}" in error.message


@pytest.mark.parametrize("kept", [100, 4096, 5000, 40_000])
def test_a_truncated_brain_is_damaged_and_left_alone(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "brain.db"
    closed_brain(path)
    with path.open("r+b") as file:
        file.truncate(kept)
    assert refused(path).code == "damaged"


def test_an_overwritten_brain_gives_an_error(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    closed_brain(path)
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with pytest.raises(BadBrain) as caught, Brain.open(path) as brain:
        brain.list()
    assert caught.value.code == "damaged"


def test_a_read_only_brain_can_be_read_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    closed_brain(path)
    path.chmod(0o400)
    before = digest(path)
    with Brain.open(path) as brain:
        assert brain.search("word").hits[0].slug == "a"
        with pytest.raises(BadBrain) as caught:
            brain.put("b", b"# B\n")
    assert caught.value.code == "read_only"
    assert digest(path) == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_brain_cannot_be_made_where_a_file_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadBrain) as caught:
        Brain.open(tmp_path / "file" / "brain.db", make=True)
    assert caught.value.code == "cannot_create"


def test_making_a_brain_leaves_an_existing_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    path.write_bytes(b"mine")
    create_brain(path)
    assert path.read_bytes() == b"mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_nothing_behind(brain: Brain) -> None:
    with suppress(ZeroDivisionError), brain.database.write_transaction() as connection:
        connection.execute("INSERT INTO config (key, value) VALUES ('a', 'b')")
        raise ZeroDivisionError
    with brain.database.read_transaction() as connection:
        assert connection.execute("SELECT count(*) FROM config").fetchone() == (0,)


def test_a_brain_with_two_names_is_not_written(tmp_path: Path) -> None:
    path, other = tmp_path / "brain.db", tmp_path / "other.db"
    closed_brain(path)
    os.link(path, other)
    before = digest(path)
    for name in (path, other):
        with Brain.open(name) as brain:
            assert brain.list()[1] == 1
            with pytest.raises(BadBrain) as caught:
                brain.put("b", b"# B\n")
        assert caught.value.code == "hard_link"
    brain_copy = tmp_path / "copy.db"
    create_brain(brain_copy)
    with pytest.raises(BadBrain) as caught:
        restore_brain(path, brain_copy, "20261116T120000Z", 0.1)
    assert (caught.value.code, digest(path)) == ("hard_link", before)
    other.unlink()
    with Brain.open(path) as brain:
        assert brain.put("b", b"# B\n").version == 1


def test_a_read_transaction_sees_one_snapshot(brain: Brain, brain_path: Path) -> None:
    brain.put("a", b"# A\n")
    with brain.database.read_transaction() as connection:
        count = "SELECT count(*) FROM pages"
        assert connection.execute(count).fetchone() == (1,)
        with Brain.open(brain_path) as other:
            other.put("b", b"# B\n")
        assert connection.execute(count).fetchone() == (1,)
    assert brain.list()[1] == 2


def test_a_writer_waits_at_most_busy_seconds(brain: Brain, brain_path: Path) -> None:
    other = Database(brain_path, busy_seconds=0.05)
    with (
        brain.database.write_transaction(),
        pytest.raises(BadBrain) as caught,
        other.write_transaction(),
    ):
        pass
    other.close()
    assert caught.value.code == "locked"


_WRITER = """
import sys
from gbrain.brain import Brain
from gbrain.errors import Conflict
for number in range(25):
    with Brain.open(sys.argv[1], make=True) as brain:
        while True:
            try:
                page = brain.get("count")
            except Exception as error:
                assert error.code == "not_found", error
                text, version = "", 0
            else:
                text, version = brain.text("count"), page.version
            try:
                line = f"- {sys.argv[2]} {number}\\n"
                brain.put("count", (text + line).encode(), expected_version=version)
            except Conflict:
                continue
            break
        brain.put(f"own/{sys.argv[2]}-{number}", f"# Own {number}\\n".encode())
"""


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each opens and closes the brain anew for each line, from before there is one."""
    path = tmp_path / "brain.db"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path), name],
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        for name in ("left", "right")
    ]
    complaints = [writer.communicate()[1].decode() for writer in writers]
    assert complaints == ["", ""]
    with Brain.open(path) as brain:
        lines = brain.text("count").splitlines()
        assert sorted(lines) == sorted(
            f"- {name} {number}" for name in ("left", "right") for number in range(25)
        )
        assert brain.get("count").version == 50
        assert brain.list()[1] == 51
    assert list(tmp_path.iterdir()) == [path]


def test_a_lost_update_is_refused(brain: Brain, brain_path: Path) -> None:
    brain.put("a", b"one")
    with Brain.open(brain_path) as other:
        other.put("a", b"two", expected_version=1)
    with pytest.raises(Conflict, match="a is at version 2, not at version 1"):
        brain.put("a", b"three", expected_version=1)
    assert brain.text("a") == "two"


# --- opened read-only -------------------------------------------------------------------------


def test_every_write_is_refused_even_by_sql(sample: Path) -> None:
    before = digest(sample)
    with Brain.open(sample, read_only=True) as brain:
        with pytest.raises(BadBrain) as caught:
            brain.put("a", b"# A\n")
        assert caught.value.code == "read_only"
        for connection in (brain.database.connection, brain.database.open_second_connection()):
            with pytest.raises(sqlite3.OperationalError, match="readonly database"):
                connection.execute("DELETE FROM pages")
        connection.close()
    assert digest(sample) == before


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


def unwritable(path: Path) -> None:
    path.chmod(0o400)
    for ending in ("-wal", "-shm"):
        assert not Path(f"{path}{ending}").exists()


def write_elsewhere(path: Path, slug: str) -> None:
    """Write a page as another user does, who can write the file."""
    path.chmod(0o600)
    with Brain.open(path) as writer:
        writer.put(slug, b"# Page\n" + b"word " * 20_000)
    path.chmod(0o400)


@pytest.mark.parametrize("read_only", [True, False])
def test_an_unwritable_file_shows_what_others_write(sample: Path, read_only: bool) -> None:
    unwritable(sample)
    with Brain.open(sample, read_only=read_only) as reader:
        total = reader.list()[1]
        for number in range(3):
            write_elsewhere(sample, f"new-{number}")
            assert reader.list()[1] == total + number + 1
            assert reader.search(f"new-{number}").hits
        with Brain.open(sample) as second:
            assert second.list()[1] == total + 3


def test_a_change_during_an_unlocked_read_is_an_error(sample: Path) -> None:
    unwritable(sample)
    with Brain.open(sample) as reader:
        with ExitStack() as reading:
            connection = reading.enter_context(reader.database.read_transaction())
            connection.execute("SELECT count(*) FROM pages").fetchone()
            write_elsewhere(sample, "new")
            with pytest.raises(BadBrain) as caught:
                reading.close()
        assert caught.value.code == "locked"
        with ExitStack() as reading:
            reading.enter_context(reader.database.read_transaction())
            write_elsewhere(sample, "second")
            for read in (reader.database.open_second_connection, reading.close):
                with pytest.raises(BadBrain) as caught:
                    read()
                assert caught.value.code == "locked"
        assert reader.get("second").version == 1


def test_an_unwritable_file_with_a_live_writer_is_locked(sample: Path) -> None:
    """The log is empty while the writer has written nothing; the file must not be immutable."""
    with Brain.open(sample) as writer:
        sample.chmod(0o400)
        assert Path(f"{sample}-wal").stat().st_size == 0
        with Brain.open(sample) as reader:
            with reader.database.read_transaction() as connection:
                count = "SELECT count(*) FROM pages"
                before = connection.execute(count).fetchone()
                writer.put("new", b"# New\n" + b"word " * 20_000)
                writer.database.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                assert connection.execute(count).fetchone() == before
            assert reader.list()[1] == before[0] + 1


def test_a_path_with_special_characters_is_opened(sample: Path) -> None:
    place = sample.rename(sample.with_name("a #1? 100%.db"))
    with Brain.open(place, read_only=True) as brain:
        assert brain.list()[1] > 1


def test_a_brain_of_an_older_schema_is_not_migrated(sample: Path) -> None:
    connection = sqlite3.connect(sample)
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    before = digest(sample)
    with pytest.raises(BadBrain) as caught:
        Brain.open(sample, read_only=True)
    assert caught.value.code == "brain_too_old"
    assert digest(sample) == before


def test_a_missing_brain_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        Brain.open(tmp_path / "none.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_power_loss_as_a_brain_gets_its_name_does_no_harm(tmp_path: Path) -> None:
    path, left = tmp_path / "brain.db", tmp_path / ".file.0123456789abcdef.gbrain-new"
    closed_brain(path)
    os.link(path, left)
    with Brain.open(path) as brain:
        brain.put("b", b"# B\n")
    assert not left.exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is of Linux")
def test_a_file_that_cannot_be_read_at_all_is_an_error() -> None:
    with pytest.raises(GbrainError, match="failed to read"):
        Brain.open(Path("/proc/self/mem"))
