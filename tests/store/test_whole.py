"""A drawing is there whole or not at all, and takes no other file's place."""

from __future__ import annotations

import os
import resource
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from gbrain.errors import GbrainError
from gbrain.store.whole import whole_file, write_drawing
from tests.conftest import Run


@pytest.fixture
def careless() -> Iterator[None]:
    """A umask that takes no rights away."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_a_drawing_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    write_drawing(file, "<p>one")
    file.chmod(0o640)
    write_drawing(file, "<p>two")
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("<p>two", 0o640)
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


def test_a_part_of_a_brain_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(GbrainError, match="a name for a part of a brain"):
        write_drawing(tmp_path / "brain.db-wal", "<p>")


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
        with pytest.raises(GbrainError, match="something that is no file has this name"):
            write_drawing(tmp_path / name, "<p>")
    assert elsewhere.read_text() == "<p>mine"


def test_a_disk_that_fills_leaves_the_earlier_one(tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    write_drawing(file, "<svg/>")
    kept = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(GbrainError, match="Cannot write"):
            write_drawing(file, "<svg>" + 100_000 * " ")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, kept)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.svg": "<svg/>"}


def test_what_a_killed_process_left_is_cleared(tmp_path: Path) -> None:
    if not (child := os.fork()):
        with whole_file(tmp_path / "a.html") as file:
            file.write(b"<p>ha")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert [path.name for path in tmp_path.iterdir()] == [f".file.{child}.gbrain-new"]
    write_drawing(tmp_path / "a.html", "<p>whole")
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


@pytest.mark.usefixtures("careless")
def test_others_may_not_write_to_a_new_file(tmp_path: Path) -> None:
    write_drawing(tmp_path / "a.html", "<p>")
    assert stat.S_IMODE((tmp_path / "a.html").stat().st_mode) == 0o644


def test_all_of_a_file_is_on_the_disk_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []

    def fsync(handle: int) -> None:
        assert not (tmp_path / "a").exists()
        synced.append(os.fstat(handle).st_size)

    monkeypatch.setattr("os.fsync", fsync)
    with whole_file(tmp_path / "a") as file:
        file.write(b"all of it")
    assert synced == [len(b"all of it")]
