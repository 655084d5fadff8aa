"""`gbrain folders`: folders that are added, moved and forgotten, here or on another machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.trust import _file


@pytest.fixture
def notes(tmp_path: Path, run, brain_path: Path) -> Path:
    folder = tmp_path.resolve() / "notes"
    (folder / "dir").mkdir(parents=True)
    (folder / "a.md").write_text("# A\n")
    (folder / "dir" / "b.md").write_text("# B\n")
    run("import", folder, "--no-embed", "--quiet")
    return folder


def state(path: Path) -> list[object]:
    with Brain.open(path) as brain, brain.database.read_transaction() as connection:
        tables = ("pages", "versions", "chunks", "embedding_jobs")
        return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]


def test_a_moved_folder_is_in_step_after_one_command(run, notes: Path, brain_path: Path) -> None:
    new = notes.with_name("Documents")
    run("config", "set", "default_folder", notes)
    before = state(brain_path)
    notes.rename(new)
    moved = run("folders", "move", notes, new)
    assert moved.stderr == f"{notes} is now {new}: 2 of 2 pages have their file there.\n"
    synced = run("sync", "--no-embed", "--json").json
    assert (synced["changes"], synced["problems"], synced["unchanged"]) == ([], [], 2)
    assert state(brain_path) == before
    assert run("folders").stdout == f"{new}\t2\t\twritten\tdefault\t\n"
    assert run("capture", "Met Bo.", "--to", "a").exit_code == 0
    assert "Met Bo." in (new / "a.md").read_text()


def test_sync_and_import_say_that_a_folder_was_moved(run, notes: Path, brain_path: Path) -> None:
    new = notes.with_name("new notes")
    notes.rename(new)
    (new / "c.md").write_text("# C\n")
    missing = run("sync", "--no-embed", "--json")
    assert (missing.exit_code, missing.error["code"]) == (1, "no_folder")
    assert f"gbrain folders move {notes} NEW" in missing.error["hint"]
    before = state(brain_path)
    for command in ("import", "sync"):
        refused = run(command, new, "--no-embed", "--json")
        assert (refused.exit_code, refused.error["code"]) == (1, "folder_moved")
        assert refused.error["hint"].endswith(f"gbrain folders move {notes} '{new}'")
    assert state(brain_path) == before
    assert run("folders", "move", notes, new, "--json").json == {
        "folder": str(new), "moved_from": str(notes), "pages": 2, "found": 2,
    }  # fmt: skip
    assert run("sync", "--no-embed", "--json").json["created"] == 1


def test_a_brain_on_another_machine_writes_files_again(run, notes: Path, brain_path: Path) -> None:
    shutil.copytree(notes, there := notes.with_name("there"))
    shutil.rmtree(notes)
    _file().unlink()
    assert run("folders", "list", "--json").json["folders"] == [
        {
            "folder": str(notes),
            "pages": 2,
            "missing": 0,
            "exists": False,
            "writable": False,
            "default": False,
        }
    ]  # fmt: skip
    run("folders", "move", notes, there)
    assert run("folders").stdout == f"{there}\t2\t\twritten\tdefault\t\n"


def test_a_folder_imported_twice_is_one_after_the_move(run, notes: Path) -> None:
    shutil.copytree(notes, new := notes.with_name("new"))
    (new / "c.md").write_text("# C\n")
    assert run("import", new, "--no-embed", "--json").json["created"] == 1
    shutil.rmtree(notes)
    assert run("folders", "move", notes, new, "--json").json["found"] == 2
    assert run("folders").stdout == f"{new}\t3\t\twritten\tdefault\t\n"
    assert run("sync", "--no-embed", "--json").json["unchanged"] == 3


def test_a_folder_without_the_files_is_refused(run, notes: Path, tmp_path: Path) -> None:
    (empty := tmp_path / "empty").mkdir()
    refused = run("folders", "move", notes, empty, "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "no_folder")
    assert refused.error["hint"] == "Give the folder that contains a.md, or copy the files first."
    unknown = run("folders", "move", empty, notes, "--json")
    assert unknown.error["hint"] == f"Its folders are: {notes}."
    assert run("folders", "move", notes, tmp_path / "nowhere", "--json").exit_code == 1


def test_a_forgotten_folder_leaves_its_pages_and_files(run, notes: Path) -> None:
    assert run("folders", "forget", notes, "--json").json == {"folder": str(notes), "pages": 2}
    assert run("folders").stdout == ""
    assert run("list", "--json").json["total"] == 2
    run("capture", "Met Bo.", "--to", "a")
    assert (notes / "a.md").read_text() == "# A\n"
    assert run("folders", "forget", notes, "--json").error["code"] == "no_folder"


def test_an_added_folder_is_imported_by_sync(run, tmp_path: Path, brain_path: Path) -> None:
    (folder := tmp_path.resolve() / "more").mkdir()
    (folder / "c.md").write_text("# C\n")
    for added in (True, False):
        assert run("folders", "add", folder, "--json").json == {
            "folder": str(folder), "added": added,
        }  # fmt: skip
    assert run("sync", "--no-embed", "--json").json["created"] == 1


@pytest.mark.parametrize("command", ["import", "sync", "folders add"])
def test_a_folder_inside_an_imported_one_is_refused(
    run, notes: Path, brain_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes)
    link = notes.with_name("link")
    link.symlink_to(notes / "dir")
    before = state(brain_path)
    for inner in (notes / "dir", link, "dir"):
        refused = run(*command.split(), inner, "--json")
        assert (refused.exit_code, refused.error["code"]) == (1, "folder_nested")
        assert refused.error["message"].startswith(f"{notes}/dir is inside {notes}, which is")
        assert refused.error["hint"] == f"gbrain sync {notes} imports its changes."
    outer = run(*command.split(), notes.parent, "--json")
    assert (outer.exit_code, outer.error["code"]) == (1, "folder_nested")
    assert outer.error["hint"].endswith(f"gbrain folders forget {notes}")
    assert run(*command.split(), "/", "--json").error["code"] == "bad_folder"
    assert state(brain_path) == before


def test_a_folder_cannot_be_moved_into_another(run, notes: Path, brain_path: Path) -> None:
    other = notes.with_name("other")
    other.mkdir()
    (other / "c.md").write_text("# C\n")
    run("import", other, "--no-embed")
    (notes / "dir" / "c.md").write_text("# C\n")
    refused = run("folders", "move", other, notes / "dir", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "folder_nested")
    # Its own earlier path does not count.
    (notes / "dir" / "a.md").write_text("# A\n")
    assert run("folders", "move", notes, notes / "dir").exit_code == 0


def test_the_default_folder_must_be_imported(
    run, notes: Path, brain_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes.parent)
    refused = run("config", "set", "default_folder", "nope", "--json")
    assert refused.exit_code == 1
    assert refused.error["hint"] == f"The imported folders are: {notes}."
    assert run("config", "set", "default_folder", "notes").exit_code == 0
    assert run("config", "get", "default_folder").stdout == f"{notes}\n"


def test_a_file_of_a_missing_folder_is_deleted_later(run, notes: Path, brain_path: Path) -> None:
    away = notes.with_name("away")
    notes.rename(away)
    deleted = run("delete", "a")
    assert deleted.exit_code == 1
    assert f"Cannot delete {notes}/a.md: the folder {notes} does not exist." in deleted.stderr
    assert "gbrain sync deletes the file" in deleted.stderr
    away.rename(notes)
    assert run("sync", "--no-embed").exit_code == 0
    assert not (notes / "a.md").exists()


def test_put_says_which_slug_and_file_a_name_got(run, notes: Path, brain_path: Path) -> None:
    written = run("put", "Bad Slug!!", stdin=b"# X\n")
    assert written.stderr == (f"bad-slug: created, version 1\nIts file is {notes}/bad-slug.md.\n")
    assert (notes / "bad-slug.md").read_text() == "# X\n"


def test_folders_takes_the_options_of_folders_list(run, notes: Path, tmp_path: Path) -> None:
    assert run("folders", "--json").json == run("folders", "list", "--json").json
    other = tmp_path / "other.db"
    run("put", "a", "--db", other, stdin=b"# A\n")
    assert run("folders", "--json", "--db", other).json == {"folders": []}
    refused = run("folders", "--json", "forget", notes)
    assert (refused.exit_code, refused.error["code"]) == (2, "usage")
    assert run("folders", "--json").json["folders"][0]["folder"] == str(notes)


def test_a_forgotten_folder_is_no_longer_the_default(run, notes: Path, tmp_path: Path) -> None:
    other = tmp_path.resolve() / "other"
    other.mkdir()
    (other / "c.md").write_text("# C\n")
    run("import", other, "--no-embed")
    run("config", "set", "default_folder", other)
    assert run("folders", "forget", other).stderr == (
        f"Forgot {other}. 1 page of it stays in the brain.\n"
        "New pages had their files there; default_folder is no longer set.\n"
    )
    run("put", "new", stdin=b"# New\n")
    assert (notes / "new.md").exists()


def test_status_names_folders_with_pages_without_a_file(run, notes: Path) -> None:
    (notes / ".gbrainignore").write_text("dir/\n")
    run("sync", "--no-embed")
    said = f"{notes}: 1 page kept without a file. gbrain sync says why.\n"
    assert run("status").stderr.endswith(said)
    assert run("folders").stdout == f"{notes}\t2\t\twritten\tdefault\t1\n"
