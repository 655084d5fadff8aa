"""What is deleted here or there, and what only cannot be seen."""

from __future__ import annotations

from pathlib import Path

import pytest
import send2trash

from gbrain.brain import Brain

PAGE = b"# Alice\n\nLikes tea.\n"


@pytest.fixture
def shared(a: Brain, b: Brain, tmp_path: Path) -> tuple[Path, Path]:
    """Return the folders of two machines that have the same two files."""
    folders = tmp_path / "notes a", tmp_path / "notes b"
    for brain, folder in zip((a, b), folders, strict=True):
        folder.mkdir()
        brain.add_folder(folder)
    a.put("people/alice", PAGE)
    a.put("bo", b"# Bo\n")
    a.push()
    b.pull()
    for brain, folder in zip((a, b), folders, strict=True):
        brain.import_folder(folder, remove_missing=True)
        assert (folder / "people" / "alice.md").read_bytes() == PAGE
    return folders


@pytest.fixture
def trash(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the folder to which files go instead of the trash."""
    folder = tmp_path / "trash"
    folder.mkdir()
    monkeypatch.setattr(
        send2trash, "send2trash", lambda path: Path(path).rename(folder / "alice.md")
    )
    return folder


def exchange(first: Brain, second: Brain) -> None:
    first.pull()
    first.push()
    second.pull()


def test_a_file_deleted_on_another_machine_goes_to_the_trash(
    a: Brain, b: Brain, shared: tuple[Path, Path], trash: Path
) -> None:
    a.delete("people/alice")
    assert list(trash.iterdir()) == []
    exchange(a, b)
    assert not (shared[1] / "people" / "alice.md").exists()
    assert (trash / "alice.md").read_bytes() == PAGE
    assert b.text("people/alice", 1).encode() == PAGE


@pytest.mark.parametrize("cause", ["ignored", "ignored and removed", "not mounted"])
def test_what_cannot_be_seen_here_stays_on_other_machines(
    a: Brain, b: Brain, shared: tuple[Path, Path], cause: str
) -> None:
    if cause == "not mounted":
        (shared[0] / "people").rename(shared[0] / ".away")
        (shared[0] / "people").mkdir()
    else:
        (shared[0] / ".gbrainignore").write_text("people/\n")
    a.import_folder(shared[0], remove_missing=True, remove_many=cause == "ignored and removed")
    assert (a.find("people/alice") is None) == (cause == "ignored and removed")
    exchange(a, b)
    assert (shared[1] / "people" / "alice.md").read_bytes() == PAGE
    assert b.text("people/alice").encode() == PAGE


def test_a_page_whose_file_is_ignored_there_loses_no_file(
    a: Brain, b: Brain, shared: tuple[Path, Path]
) -> None:
    (shared[1] / ".gbrainignore").write_text("people/\n")
    a.delete("people/alice")
    exchange(a, b)
    assert b.find("people/alice") is None
    assert (shared[1] / "people" / "alice.md").read_bytes() == PAGE


def test_a_page_restored_from_a_backup_is_not_deleted_by_a_pull(
    run, a: Brain, b: Brain, shared: tuple[Path, Path], trash: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    b.backup(copy)
    a.delete("people/alice")
    exchange(a, b)
    path = b.path
    b.close()
    assert run("restore", copy, "--db", path).exit_code == 0
    with Brain.open(path) as restored:
        report = restored.pull()
        assert (report.deleted, report.conflicts) == ([], ["people/alice"])
        assert restored.text("people/alice").encode() == PAGE
        restored.import_folder(shared[1], remove_missing=True)
        assert (shared[1] / "people" / "alice.md").read_bytes() == PAGE
        # What is deleted later is deleted.
        a.delete("bo")
        a.push()
        assert restored.pull().deleted == ["bo"]
        texts = restored.conflict_texts("people/alice")
        restored.resolve_conflict("people/alice", PAGE, texts)
        restored.push()
    a.pull()
    assert a.text("people/alice").encode() == PAGE


TEXT = "# H\n\nfirst\n\nsecond\n\nlast\n"


@pytest.fixture
def conflict(a: Brain, b: Brain) -> None:
    """Let machine b have a conflict with what machine a has pushed of the page h."""
    for brain in (a, b):
        brain.put("h", TEXT.encode())
    b.put("h", TEXT.replace("first", "first here").encode())
    a.put("h", TEXT.replace("first", "first there").encode())
    a.push()
    assert b.push().conflicts == ["h"]


def test_a_page_in_conflict_that_is_deleted_there_stays_in_conflict(
    conflict: None, a: Brain, b: Brain
) -> None:
    a.delete("h")
    exchange(a, b)
    assert [(each.slug, each.kind) for each in b.conflicts()] == [("h", "deleted_there")]
    b.push()
    assert a.pull().created == []
    assert "first here" in b.text("h")


def test_a_page_in_conflict_that_is_deleted_here_is_deleted_there(
    conflict: None, a: Brain, b: Brain
) -> None:
    b.delete("h")
    assert b.push().deleted == ["h"]
    assert a.pull().deleted == ["h"]
    assert b.conflicts() == []
