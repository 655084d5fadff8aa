"""A finished file gets its name: nothing that was left beside that name is read into it."""

from __future__ import annotations

import errno
import gzip
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from gbrain.brain import Brain
from gbrain.errors import BadBrain, GbrainError
from gbrain.store.atomic_files import atomic_write, remove_leftovers, temporary_file, write_markup
from gbrain.store.brain_files import find_orphaned_logs, place_brain, replace_brain
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
    assert run("backup", copy, "--force", "--quiet").stderr == ""
    assert [file.name for file in tmp_path.glob("copy.db*")] == ["copy.db"]


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


def test_no_file_is_replaced_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "old"
    path.write_text("old")
    with pytest.raises(FileExistsError), temporary_file(tmp_path) as file:
        file.place(path)
    assert path.read_text() == "old"
    with temporary_file(tmp_path) as file:
        file.place(tmp_path / "new")
    assert (tmp_path / "new").exists()


def test_a_name_that_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_text("old")
    log = tmp_path / "old-wal"
    log.write_text("log")
    with pytest.raises(FileExistsError), temporary_file(tmp_path) as file:
        place_brain(file, path)
    assert (path.read_text(), log.read_text()) == ("old", "log")
    path.chmod(0o400)
    if os.geteuid():
        with pytest.raises(BadBrain, match="is read-only"), temporary_file(tmp_path) as file:
            replace_brain(file, path)


MOVED_WHILE_OPEN = """
import os, sys
from gbrain.brain import Brain
path = sys.argv[1]
brain = Brain.open(path, make=True)
brain.put("only-in-the-log", b"# Only in the log")
os.rename(path, path + ".archive")
print("moved", flush=True)
input()
"""


@pytest.mark.parametrize("words", [["capture", "a thought"], ["init"], ["backup", "{}", "--force"]])
def test_the_log_of_a_moved_brain_is_never_deleted(
    run: Run, sample: Path, tmp_path: Path, words: list[str]
) -> None:
    path = tmp_path / "moved" / "brain.db"
    command = [word.format(path) for word in words]
    command += [] if str(path) in command else ["--db", str(path)]
    log = Path(f"{path}-wal")
    with Popen([sys.executable, "-c", MOVED_WHILE_OPEN, path], stdin=PIPE, stdout=PIPE) as holder:
        assert holder.stdout
        holder.stdout.readline()
        before = log.read_bytes()
        refused = run(*command)
        assert (refused.exit_code, log.read_bytes(), path.exists()) == (1, before, False)
        assert "still uses the brain that was moved away from" in refused.stderr
        holder.kill()
    made = run(*command)
    kept = path.with_name("brain.db.orphaned-wal")
    assert (made.exit_code, kept.read_bytes()) == (0, before)
    assert f"kept as {kept}" in made.stderr
    # Put back together, the archive has all of its pages.
    Path(f"{path}.archive").rename(tmp_path / "again.db")
    kept.rename(tmp_path / "again.db-wal")
    with Brain.open(tmp_path / "again.db") as brain:
        assert [page.slug for page in brain.list()[0]] == ["only-in-the-log"]


def test_a_brain_moved_by_this_process_keeps_its_log(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    with Brain.open(path, make=True) as brain:
        brain.put("a", b"# A\n")
        path.rename(tmp_path / "archive.db")
        with pytest.raises(BadBrain, match="still uses the brain that was moved away from"):
            Brain.open(path, make=True)
        assert Path(f"{path}-wal").stat().st_size


def test_two_orphaned_logs_get_two_names(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    for text in ("one", "two"):
        Path(f"{path}-wal").write_text(text)
        Brain.open(path, make=True).close()
        path.unlink()
    kept = [path.with_name(name) for name in ("brain.db.orphaned-wal", "brain.db.orphaned-wal2")]
    assert [file.read_text() for file in kept] == ["one", "two"]
    assert find_orphaned_logs(path) == kept


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize(
    "words",
    [
        ["backup", "{}"],
        ["backup", "{}", "--force"],
        ["init", "--db", "{}"],
        ["capture", "a thought", "--db", "{}"],
        ["restore", "copy.db", "--db", "{}"],
        ["graph", "--html", "{}"],
    ],
    ids=" ".join,
)
def test_no_command_writes_a_part_of_a_brain(
    run: Run,
    there: Path,
    tmp_path: Path,
    words: list[str],
    ending: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    run("backup", "copy.db")
    with Brain.open(there) as brain:
        brain.put("b", b"# B\n")
        part = Path(f"{there}{ending}")
        (tmp_path / "link").symlink_to(part)
        before = Path(f"{there}-wal").read_bytes()
        for name in (part, tmp_path / "link"):
            refused = run(*(word.format(name) for word in words))
            assert refused.exit_code in (1, 2)
            reasons = ("part of a brain", "helper file that SQLite keeps", "not a regular file")
            assert any(reason in refused.stderr for reason in reasons)
        assert Path(f"{there}-wal").read_bytes() == before
    assert well(run, there, 2)


def test_a_second_opening_leaves_the_first_its_locks(run: Run, there: Path) -> None:
    """Without them, another process that ends takes the log away, and all that is written in it."""
    with Brain.open(there) as first:
        first.put("first", b"# First\n")
        Brain.open(there).close()
        assert run("list").exit_code == 0
        subprocess.run([*PUT, there, "other"], input=b"# Other\n", check=True)
        first.put("second", b"# Second\n")
        listed = run("list", "--json").json["pages"]
    assert {page["slug"] for page in listed} == {"a", "first", "other", "second"}
    assert well(run, there, 4)


ENDINGS = ("", "-journal", "-wal", "-shm")


def test_a_missing_folder_has_no_leftovers(tmp_path: Path) -> None:
    remove_leftovers(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_two_processes_with_one_id_write_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in two containers: each file is published whole, and neither clears the other's."""
    monkeypatch.setattr(os, "getpid", lambda: 7)
    with atomic_write(tmp_path / "a") as first:
        first.write(b"first, ")
        first.flush()
        remove_leftovers(tmp_path)
        with atomic_write(tmp_path / "a") as second:
            second.write(b"second")
        assert (tmp_path / "a").read_bytes() == b"second"
        first.write(b"whole")
    assert (tmp_path / "a").read_bytes() == b"first, whole"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_replaced_temporary_file_is_not_published(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    with ExitStack() as writing:
        writing.enter_context(atomic_write(tmp_path / "a")).write(b"new")
        [temporary] = [path for path in tmp_path.iterdir() if path.name != "a"]
        temporary.unlink()
        temporary.write_text("of somebody else")
        with pytest.raises(FileNotFoundError):
            writing.close()
    assert (tmp_path / "a").read_text() == "mine"


@pytest.mark.parametrize("removed", range(len(ENDINGS)))
def test_a_killed_cleanup_is_finished_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removed: int
) -> None:
    for ending in ENDINGS:
        (tmp_path / f".file.0123.gbrain-new{ending}").touch()
        os.utime(tmp_path / f".file.0123.gbrain-new{ending}", (1, 1))
    unlink, left = os.unlink, [None] * removed

    def killed(path: str) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        unlink(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            remove_leftovers(tmp_path)
    assert len(list(tmp_path.iterdir())) == len(ENDINGS) - removed
    remove_leftovers(tmp_path)
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
    [left] = tmp_path.iterdir()
    write_markup(tmp_path / "b.html", "<p>beside it")
    assert left.read_bytes() == b"<p>ha"
    (tmp_path / "b.html").unlink()
    os.utime(left, (1, 1))
    write_markup(tmp_path / "a.html", "<p>whole")
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


@pytest.mark.usefixtures("careless")
def test_others_may_not_write_to_a_new_file(tmp_path: Path) -> None:
    write_markup(tmp_path / "a.html", "<p>")
    assert stat.S_IMODE((tmp_path / "a.html").stat().st_mode) == 0o644


def test_all_of_a_file_is_on_the_disk_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[bool, int | None]] = []

    def fsync(handle: int) -> None:
        status = os.fstat(handle)
        size = None if stat.S_ISDIR(status.st_mode) else status.st_size
        synced.append(((tmp_path / "a").exists(), size))

    monkeypatch.setattr("os.fsync", fsync)
    with atomic_write(tmp_path / "a") as file:
        file.write(b"all of it")
    # First the file without its name, then the folder with it.
    assert synced == [(False, len(b"all of it")), (True, None)]
