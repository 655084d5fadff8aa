"""What commands do to the files of pages, and what they say about it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def notes(run, brain_path, tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\none\n\ntwo\n")
    run("import", folder, "--no-embed")
    return folder


@pytest.fixture
def other_machine(monkeypatch: pytest.MonkeyPatch, notes: Path, tmp_path: Path) -> Path:
    """The folder on a machine where its user has not named it yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other-machine"))
    return notes


def test_a_new_page_waits_until_gbrain_may_write(run, other_machine: Path):
    put = run("put", "new", stdin=b"# New\n")
    assert (put.exit_code, put.stderr.splitlines()[1]) == (
        0,
        "It is only in the brain: gbrain may not write to this folder on this machine yet. gbrain "
        f"sync {other_machine} allows it and writes the file.",
    )
    assert run("sync", "--no-embed", "--json").json["files_written"] == []
    assert run("sync", other_machine, "--no-embed", "--json").json["files_written"] == ["new"]
    assert (other_machine / "new.md").read_text() == "# New\n"


def test_a_missing_folder_is_said_with_what_happens_next(run, notes: Path):
    away = notes.rename(notes.parent / "away")
    failed = run("timeline-add", "a", "Met Bo", "--quiet")
    assert (failed.exit_code, failed.stderr) == (
        1,
        f"Cannot write {notes}/a.md: the folder {notes} does not exist. Check that the disk is "
        "mounted. The brain has the text; gbrain sync writes the file once that is possible.\n",
    )
    away.rename(notes)
    assert run("sync", "--no-embed", "--json").json["files_written"] == ["a"]


def test_with_write_through_off_the_hint_names_the_folder(run, notes: Path):
    run("config", "set", "write_through", "off")
    put = run("put", "a", stdin=b"# Mine\n")
    assert put.stderr.splitlines()[1] == (
        f"The file still has the old text; gbrain export {notes} writes the new one."
    )
    assert run("export", notes).exit_code == 0
    assert (notes / "a.md").read_text() == "# Mine\n"
