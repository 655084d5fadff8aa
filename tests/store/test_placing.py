"""A finished file gets its name: nothing that was left beside that name is read into it."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from gbrain.brain import Brain
from gbrain.errors import BadBrain
from gbrain.store.placing import place, take_over
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
        assert (refused.exit_code, "has " in refused.stderr) == (1, True)
        brain.put("b", b"# B\n")
    assert well(run, copy, 2)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_what_is_no_file_is_not_replaced(run: Run, there: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert run("backup", pipe, "--force").stderr.startswith(f"Error: {pipe} is no file\n")
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
        place(building, path)
    assert (path.read_text(), log.read_text()) == ("old", "log")
    path.chmod(0o400)
    if os.geteuid():
        with pytest.raises(BadBrain, match="is read-only"):
            take_over(building, path)


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
