"""What commands do to the files of pages, and what they say about it."""

from __future__ import annotations

import subprocess
import sys
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
        "Only in the brain so far: gbrain may not write to this folder on this machine yet. gbrain "
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


# --- trash -----------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="the trash is elsewhere")
def test_the_file_of_a_deleted_page_goes_to_the_trash(run, notes: Path, tmp_path: Path):
    run("config", "set", "use_trash", "on")
    (tmp_path / "home").mkdir(exist_ok=True)
    # A process of its own: the library finds the trash once.
    subprocess.run([sys.executable, "-m", "gbrain", "delete", "a"], check=True)
    assert not (notes / "a.md").exists()
    trashed = tmp_path / "home" / "Trash" / "files" / "a.md"
    assert trashed.read_text() == "# A\n\none\n\ntwo\n"
    assert run("undo", "a").exit_code == 0
    assert (notes / "a.md").read_text() == trashed.read_text()


def test_without_a_trash_the_file_stays_until_sync(run, notes: Path, monkeypatch):
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("send2trash.send2trash", refuse)
    run("config", "set", "use_trash", "on")
    deleted = run("delete", "a", "--quiet")
    assert (deleted.exit_code, deleted.stderr) == (
        1,
        f"Cannot delete {notes}/a.md: it cannot be moved to the trash (Permission denied). gbrain "
        "config set use_trash off removes files without it. The page is deleted; gbrain sync "
        "deletes the file once that is possible.\n",
    )
    assert (notes / "a.md").exists()
    run("config", "set", "use_trash", "off")
    (notes / "b.md").write_text("# B\n")
    assert run("sync", "--no-embed").exit_code == 0
    assert [file.name for file in notes.iterdir()] == ["b.md"]


def test_a_renamed_file_does_not_go_to_the_trash(run, notes: Path, monkeypatch):
    monkeypatch.setattr("send2trash.send2trash", lambda path: pytest.fail(path))
    run("config", "set", "use_trash", "on")
    assert run("rename", "a", "b").exit_code == 0
    assert [file.name for file in notes.iterdir()] == ["b.md"]


# --- links -----------------------------------------------------------------------------------


def test_rename_updates_links_in_files_if_asked(run, notes: Path):
    (notes / "b.md").write_text("# B\n\nSee [[a]], [it](a.md) and [[Ay]].\n")
    (notes / "a.md").write_text("---\naliases: [Ay]\n---\n# A\n")
    run("sync", "--no-embed")
    renamed = run("rename", "a", "people/a2")
    assert renamed.stderr == (
        "Renamed a to people/a2, version 3.\n"
        "2 links to the old name left, on b. gbrain sync --update-links changes them.\n"
    )
    again = run("rename", "people/a2", "people/a3", "--update-links", "--json").json
    assert (again["links_to_old_name"], again["links_updated"]) == (0, 2)
    assert (notes / "b.md").read_text() == "# B\n\nSee [[a3]], [it](people/a3.md) and [[Ay]].\n"


def test_a_dry_run_names_the_files_that_sync_would_write(run, notes: Path):
    (notes / "a.md").chmod(0o444)
    run("put", "a", stdin=b"# Mine\n")
    planned = run("sync", "--dry-run")
    assert planned.stdout == "write\ta\t\n"
    assert planned.stderr == "Dry run: 0 new, 0 changed, 1 unchanged, 1 file written.\n"
    assert run("sync", "--dry-run", "--json").json["files_written"] == ["a"]
    (notes / "a.md").chmod(0o644)
    assert run("sync", "--no-embed", "--json").json["files_written"] == ["a"]
    assert run("sync", "--dry-run").stdout == ""


# --- what was left ---------------------------------------------------------------------------


def test_a_page_deleted_without_its_disk_does_not_come_back(run, notes: Path):
    (notes / "b.md").write_text("# B\n")
    run("sync", "--no-embed")
    away = notes.rename(notes.parent / "away")
    notes.mkdir()
    deleted = run("delete", "a", "--quiet")
    assert (deleted.exit_code, deleted.stderr) == (
        1,
        f"Cannot delete {notes}/a.md: the folder that had a.md cannot be seen. Check that its disk "
        "is mounted. The page is deleted; gbrain sync deletes the file once that is possible.\n",
    )
    notes.rmdir()
    away.rename(notes)
    assert run("sync", "--no-embed").exit_code == 0
    assert [file.name for file in notes.iterdir()] == ["b.md"]
    # The last file of a folder may be gone before its page.
    (notes / "b.md").unlink()
    assert run("delete", "b").exit_code == 0


def test_sync_reminds_of_earlier_conflicts_without_failing(run, notes: Path):
    (notes / "a.md").write_text("# Theirs\n")
    assert run("put", "a", stdin=b"# Mine\n").exit_code == 1
    again = run("sync", "--no-embed")
    assert (again.exit_code, again.stderr) == (
        0,
        "0 new, 0 changed, 1 unchanged.\n1 earlier conflict left: gbrain conflicts\n",
    )
    assert run("sync", "--no-embed", "--quiet").stderr == ""
    run("resolve", "a", "--file")
    assert run("sync", "--no-embed").stderr == "0 new, 0 changed, 1 unchanged.\n"


def test_undo_says_where_the_text_of_a_deleted_page_is(run, notes: Path):
    run("delete", "a")
    run("put", "a", stdin=b"# Another\n")
    refused = run("undo", "a", "--json")
    assert refused.exit_code == 1
    assert refused.error["message"] == "a was deleted before it got this text"
    assert "gbrain get a --version N" in refused.error["hint"]
    assert run("get", "a", "--version", "1").stdout == "# A\n\none\n\ntwo\n"


def test_import_of_a_missing_file_says_file(run, notes: Path):
    refused = run("import", notes / "none.md", "--json")
    assert (refused.exit_code, refused.error["message"]) == (
        1,
        f"There is no file {notes}/none.md",
    )


def test_imported_pages_wait_for_the_folder_of_new_pages(run, notes: Path, tmp_path: Path):
    (tmp_path / "other").mkdir()
    run("folders", "add", tmp_path / "other")
    (tmp_path / "minutes.md").write_text("# Minutes\n")
    imported = run("import", tmp_path / "minutes.md", "--no-embed")
    assert imported.stderr.splitlines()[1] == (
        "Only in the brain so far: several folders are imported. Choose one with gbrain config set "
        "default_folder DIR, then gbrain sync."
    )
    lines = b'{"slug": "from-json", "text": "# J"}\n'
    assert "Only in the brain" in run("import", "--stdin", "--no-embed", stdin=lines).stderr
    run("config", "set", "default_folder", notes)
    written = run("sync", "--no-embed", "--json").json["files_written"]
    assert written == ["from-json", "minutes"]
    assert (notes / "minutes.md").read_text() == "# Minutes\n"
