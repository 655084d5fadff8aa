"""A finished file gets its name: nothing that was left beside that name is read into it."""

from __future__ import annotations

import gzip
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from gbrain.brain import Brain
from gbrain.errors import BadBrain, GbrainError
from gbrain.store.atomic_files import atomic_write, new_temporary_path, write_markup
from gbrain.store.brain_files import place_brain, replace_brain
from tests.conftest import Run

PUT = [sys.executable, "-m", "gbrain", "put", "--quiet", "--db"]
OLD = Path(__file__).parents[2] / "fixtures" / "brains" / "schema-1.db.gz"


@pytest.fixture
def log_left(tmp_path: Path) -> Callable[[Path], None]:
    """Leaves beside a name the log of another brain, as a killed process does."""

    def leave(target: Path) -> None:
        other = tmp_path / "other" / target.name
        with Brain.open(other, make=True) as brain:
            for number in range(30):
                brain.put(f"other/{number}", b"# Other\n\n" + b"word " * 500)
            shutil.copy(f"{other}-wal", f"{target}-wal")

    return leave


def well(run: Run, file: Path, pages: int) -> bool:
    stats = run("stats", "--json", "--db", file)
    return run("doctor", "--full", "--db", file).exit_code == 0 and stats.json["pages"] == pages


@pytest.fixture
def there(brain_path: Path) -> Path:
    with Brain.open(brain_path, make=True) as brain:
        brain.put("a", b"# A\n\nApple.\n")
    return brain_path


def test_a_new_brain(run: Run, tmp_path: Path, log_left: Callable[[Path], None]) -> None:
    fresh = tmp_path / "fresh.db"
    log_left(fresh)
    assert run("init", "--db", fresh).exit_code == 0
    assert well(run, fresh, 0)


def test_a_copy_in_the_place_of_another(
    run: Run, there: Path, tmp_path: Path, log_left: Callable[[Path], None]
) -> None:
    copy = tmp_path / "copy.db"
    assert run("backup", copy).exit_code == 0
    log_left(copy)
    assert run("backup", copy, "--force").exit_code == 0
    assert well(run, copy, 1)


def test_a_copy_in_the_place_of_what_is_no_brain(
    run: Run, there: Path, tmp_path: Path, log_left: Callable[[Path], None]
) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(b"a letter")
    log_left(copy)
    assert run("backup", copy, "--force").exit_code == 0
    assert well(run, copy, 1)


def test_a_brain_restored_where_none_is(
    run: Run, there: Path, tmp_path: Path, log_left: Callable[[Path], None]
) -> None:
    gone = tmp_path / "gone.db"
    log_left(gone)
    assert run("restore", there, "--db", gone).exit_code == 0
    assert well(run, gone, 1)


def test_the_copy_before_a_migration(
    run: Run, tmp_path: Path, log_left: Callable[[Path], None]
) -> None:
    brain = tmp_path / "old.db"
    brain.write_bytes(gzip.decompress(OLD.read_bytes()))
    kept = tmp_path / "old.db.schema-1.backup"
    log_left(kept)
    pages = run("stats", "--json", "--db", brain).json["pages"]
    assert well(run, kept, pages)


def test_a_copy_that_somebody_has_open_is_left_alone(run: Run, there: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    run("backup", copy)
    with Brain.open(copy) as brain:
        refused = run("backup", copy, "--force")
        assert (refused.exit_code, "is open in another program" in refused.stderr) == (1, True)
        brain.put("b", b"# B\n")
    assert well(run, copy, 2)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_what_is_no_file_is_not_replaced(run: Run, there: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert run("backup", pipe, "--force").stderr.startswith(f"Error: {pipe} is not a file\n")
    for words in (["stats"], ["init"], ["restore", str(there)]):
        assert run(*words, "--db", pipe).exit_code == 1
    assert run("restore", pipe).exit_code == 1


def test_names_are_given_one_at_a_time(
    run: Run, tmp_path: Path, log_left: Callable[[Path], None]
) -> None:
    """Several make the same brain at once: nobody's log is taken for the one that was left."""
    path = tmp_path / "brain.db"
    log_left(path)
    puts = [Popen([*PUT, path, f"page-{number}"], stdin=PIPE) for number in range(4)]
    for put in puts:
        put.communicate(b"# Page\n")
    assert [put.returncode for put in puts] == [0, 0, 0, 0]
    assert well(run, path, 4)


def test_a_name_that_is_taken(tmp_path: Path) -> None:
    building, path = tmp_path / "new", tmp_path / "old"
    building.write_text("new")
    path.write_text("old")
    log = tmp_path / "old-wal"
    log.write_text("log")
    with pytest.raises(FileExistsError):
        place_brain(building, path)
    assert (path.read_text(), log.read_text()) == ("old", "log")
    path.chmod(0o400)
    if os.geteuid():
        with pytest.raises(BadBrain, match="is read-only"):
            replace_brain(building, path)


def test_a_second_opening_leaves_the_first_its_locks(run: Run, there: Path) -> None:
    """Without them, another process that ends takes the log away, and all that is written in it."""
    with Brain.open(there) as first:
        first.put("first", b"# First\n")
        Brain.open(there).close()
        subprocess.run([*PUT, there, "other"], input=b"# Other\n", check=True)
        first.put("second", b"# Second\n")
        listed = run("list", "--json").json["pages"]
    assert {page["slug"] for page in listed} == {"a", "first", "other", "second"}
    assert well(run, there, 4)


ENDINGS = ("", "-journal", "-wal", "-shm")
NO_PROCESS = 2**31


def test_it_is_named_after_what_it_becomes_and_who_makes_it(tmp_path: Path) -> None:
    assert new_temporary_path(tmp_path / "a.db") == tmp_path / f".a.db.{os.getpid()}.gbrain-new"


def test_a_folder_that_is_not_there_holds_nothing_to_clear(tmp_path: Path) -> None:
    assert new_temporary_path(tmp_path / "none" / "a.db").parent == tmp_path / "none"


@pytest.mark.parametrize("removed", range(len(ENDINGS)))
def test_whoever_is_killed_while_clearing_up_leaves_it_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removed: int
) -> None:
    for ending in ENDINGS:
        (tmp_path / f".a.db.{NO_PROCESS}.gbrain-new{ending}").touch()
    unlink, left = os.unlink, [None] * removed

    def killed(path: str) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        unlink(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            new_temporary_path(tmp_path / "b.db")
    assert len(list(tmp_path.iterdir())) == len(ENDINGS) - removed
    new_temporary_path(tmp_path / "b.db")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def careless() -> Iterator[None]:
    """A umask that takes no rights away."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_a_drawing_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    write_markup(file, "<p>one")
    file.chmod(0o640)
    write_markup(file, "<p>two")
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("<p>two", 0o640)
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


def test_a_part_of_a_brain_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(GbrainError, match="this name for a part of a brain"):
        write_markup(tmp_path / "brain.db-wal", "<p>")


@pytest.mark.parametrize("name", ["brain.db", "notes.md"])
def test_another_file_is_left_as_it_is(run: Run, sample: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.md").write_text("# Years of work\n")
    before = (tmp_path / name).read_bytes()
    ran = run("graph", "--html", tmp_path / name)
    assert ran.exit_code == 1
    assert ran.stderr.startswith(f"Error: Cannot write {tmp_path / name}: ")
    assert (tmp_path / name).read_bytes() == before


def test_a_link_or_a_pipe_is_not_written_to(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.html"
    elsewhere.write_text("<p>mine")
    (tmp_path / "link.html").symlink_to(elsewhere)
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "folder.html").mkdir()
    for name in ("link.html", "pipe.html", "folder.html"):
        with pytest.raises(GbrainError, match="not a regular file"):
            write_markup(tmp_path / name, "<p>")
    assert elsewhere.read_text() == "<p>mine"


def test_a_disk_that_fills_leaves_the_earlier_one(tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    write_markup(file, "<svg/>")
    kept = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(GbrainError, match="Cannot write"):
            write_markup(file, "<svg>" + 100_000 * " ")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, kept)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.svg": "<svg/>"}


def test_what_a_killed_process_left_is_cleared(tmp_path: Path) -> None:
    if not (child := os.fork()):
        with atomic_write(tmp_path / "a.html") as file:
            file.write(b"<p>ha")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert [path.name for path in tmp_path.iterdir()] == [f".file.{child}.gbrain-new"]
    write_markup(tmp_path / "a.html", "<p>whole")
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


@pytest.mark.usefixtures("careless")
def test_others_may_not_write_to_a_new_file(tmp_path: Path) -> None:
    write_markup(tmp_path / "a.html", "<p>")
    assert stat.S_IMODE((tmp_path / "a.html").stat().st_mode) == 0o644


def test_all_of_a_file_is_on_the_disk_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []

    def fsync(handle: int) -> None:
        assert not (tmp_path / "a").exists()
        synced.append(os.fstat(handle).st_size)

    monkeypatch.setattr("os.fsync", fsync)
    with atomic_write(tmp_path / "a") as file:
        file.write(b"all of it")
    assert synced == [len(b"all of it")]
