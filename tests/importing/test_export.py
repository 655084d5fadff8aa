"""Pages back into files, byte for byte, and never a byte outside of the folder."""

from __future__ import annotations

import json
import os
import sqlite3
from io import BytesIO
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.errors import BadPage, BadSetting, GbrainError

AWKWARD = Path(__file__).parents[2] / "fixtures" / "awkward"


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, and every empty folder as None."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_unusual_pages_are_exported_byte_for_byte(brain: Brain, tmp_path: Path) -> None:
    report = brain.import_folder(AWKWARD)
    assert report.problems == []
    assert brain.export(tmp_path / "out") == (len(files(AWKWARD)), 0)
    assert files(tmp_path / "out") == files(AWKWARD)


@pytest.mark.parametrize("way", ["put", "rename", "lines", "capture"])
def test_every_accepted_name_can_be_exported(brain: Brain, tmp_path: Path, way: str) -> None:
    names = ["a\0b", "esc\x1b[31mape", "new\nline", "r\u202etl", "x" * 300, "\u00e9" * 130]
    accepted = 0
    for name in names:
        try:
            if way == "put":
                brain.put(name, b"# Page\n")
            elif way == "rename":
                brain.put("before", b"# Page\n")
                brain.rename("before", name)
            elif way == "lines":
                line = json.dumps({"path": f"{name}.md", "text": "# Page\n"}).encode()
                if brain.import_jsonl(BytesIO(line)).problems:
                    continue
            else:
                brain.set("capture_page", name)
                brain.reload_settings()
                brain.capture("a thought")
        except (BadPage, BadSetting):
            continue
        accepted += 1
    assert accepted >= (1 if way == "capture" else 4)
    brain.export(tmp_path / "out")
    written = [path.name for path in (tmp_path / "out").iterdir()]
    assert len(written) == brain.list()[1]
    assert all(name.isprintable() for name in written)


def test_a_second_export_writes_nothing(brain: Brain, tmp_path: Path) -> None:
    brain.put("a", b"# A\n")
    brain.put("dir/b", b"# B\n")
    assert brain.export(tmp_path / "out") == (2, 0)
    written = (tmp_path / "out" / "a.md").stat().st_mtime_ns
    assert brain.export(tmp_path / "out") == (0, 2)
    assert (tmp_path / "out" / "a.md").stat().st_mtime_ns == written


def test_files_with_an_earlier_version_are_overwritten(brain: Brain, tmp_path: Path) -> None:
    brain.put("a", b"old")
    brain.put("a", b"# A\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.md").write_bytes(b"old")
    (tmp_path / "out" / "other.txt").write_bytes(b"mine")
    assert brain.export(tmp_path / "out") == (1, 0)
    assert files(tmp_path / "out") == {"a.md": b"# A\n", "other.txt": b"mine"}


def test_a_file_changed_by_hand_is_not_overwritten(brain: Brain, tmp_path: Path) -> None:
    brain.put("a", b"# A\n")
    brain.put("b", b"# B\n")
    (tmp_path / "a.md").write_bytes(b"by hand")
    with pytest.raises(GbrainError) as caught:
        brain.export(tmp_path)
    assert (caught.value.code, "--force" in caught.value.hint) == ("file_changed", True)
    assert caught.value.message == (
        f"{tmp_path}/a.md was not written by gbrain and was left alone; 1 page written"
    )
    assert (tmp_path / "a.md").read_bytes() == b"by hand"
    assert (tmp_path / "b.md").read_bytes() == b"# B\n"
    assert brain.export(tmp_path, force=True) == (1, 1)
    assert (tmp_path / "a.md").read_bytes() == b"# A\n"


def test_sync_treats_exported_files_as_imported(brain: Brain, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"# A\n")
    brain.import_folder(tmp_path)
    brain.put("a", b"# A, in the brain\n")
    brain.put("mine", b"# Mine\n")
    brain.export(tmp_path)
    brain.put("mine", b"# Mine, later\n")
    report = brain.import_folder(tmp_path)
    assert (report.changes, report.problems, report.unchanged) == ([], [], 2)
    (tmp_path / "a.md").write_bytes(b"# A, by hand\n")
    report = brain.import_folder(tmp_path)
    assert ([change.slug for change in report.changes], report.problems) == (["a"], [])
    assert brain.text("mine") == "# Mine, later\n"


@pytest.mark.parametrize(
    "path",
    [
        "../evil.md",
        "a/../../evil.md",
        "/tmp/evil.md",
        "..",
        "",
        ".",
        "a/../b.md",
        "a\0b.md",
        "//x.md",
        ".git/config",
        ".git/hooks/pre-commit",
        "a.md/.bashrc",
    ],
)
def test_a_stored_path_outside_the_target_is_refused(
    brain_path: Path, tmp_path: Path, path: str
) -> None:
    with Brain.open(brain_path, make=True) as brain:
        brain.put("page", b"# A\n")
    with sqlite3.connect(brain_path) as connection:
        connection.execute("UPDATE pages SET path = ?", (path,))
    connection.close()
    outside = tmp_path / "outside"
    with Brain.open(brain_path) as brain, pytest.raises(GbrainError) as caught:
        brain.export(outside / "out")
    assert caught.value.code == "outside"
    assert everything(outside) <= {"out", "out/a"}


def test_a_symlink_out_of_the_target_is_never_followed(brain: Brain, tmp_path: Path) -> None:
    outside, out = tmp_path / "outside", tmp_path / "out"
    outside.mkdir()
    out.mkdir()
    (out / "people").symlink_to(outside)
    brain.put("people/new/alice", b"# Alice\n")
    with pytest.raises(GbrainError) as caught:
        brain.export(out)
    assert caught.value.code == "outside"
    assert everything(outside) == set()


def test_a_symlinked_file_is_not_written_through(brain: Brain, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "mine.md").write_bytes(b"mine")
    (out / "a.md").symlink_to(tmp_path / "mine.md")
    brain.put("a", b"# A\n")
    with pytest.raises(GbrainError) as caught:
        brain.export(out)
    assert caught.value.code == "outside"
    assert (tmp_path / "mine.md").read_bytes() == b"mine"


def test_the_target_folder_may_be_a_symlink(brain: Brain, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    brain.put("a", b"# A\n")
    brain.export(tmp_path / "out")
    assert files(tmp_path / "real") == {"a.md": b"# A\n"}


def test_a_target_that_is_a_file_is_a_clear_error(brain: Brain, tmp_path: Path) -> None:
    brain.put("a", b"# A\n")
    (tmp_path / "out").write_bytes(b"mine")
    with pytest.raises(GbrainError) as caught:
        brain.export(tmp_path / "out")
    assert caught.value.code == "cannot_write"
    assert caught.value.hint == "Nothing was written. Export to another folder."
    assert (tmp_path / "out").read_bytes() == b"mine"


@pytest.mark.parametrize(
    "name", ["知" * 84, "a" * 252, "🚀" * 63], ids=["3-byte", "1-byte", "4-byte"]
)
def test_the_longest_possible_file_names_are_written(
    brain: Brain, tmp_path: Path, name: str
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / f"{name}.md").write_bytes(b"# Long\n")
    assert brain.import_folder(vault).problems == []
    brain.export(tmp_path / "out")
    assert files(tmp_path / "out") == files(vault)


def test_a_page_that_cannot_be_written_blocks_no_other(brain: Brain, tmp_path: Path) -> None:
    for name in ("a", "middle", "z"):
        brain.put(name, f"# {name.upper()}\n".encode())
    # An older gbrain accepted names that no file system takes.
    with brain.database.write_transaction() as connection:
        connection.execute("UPDATE pages SET path = ? WHERE slug = 'middle'", (f"{'m' * 300}.md",))
    with pytest.raises(GbrainError) as caught:
        brain.export(tmp_path / "out")
    assert caught.value.code == "cannot_write"
    assert files(tmp_path / "out") == {"a.md": b"# A\n", "z.md": b"# Z\n"}


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_file_permissions_are_kept(brain: Brain, tmp_path: Path, umask: int) -> None:
    brain.put("private", b"old")
    brain.put("private", b"# Mine\n")
    brain.put("new", b"# New\n")
    out = tmp_path / "out"
    out.mkdir()
    (out / "private.md").write_bytes(b"old")
    (out / "private.md").chmod(0o600)
    before = os.umask(umask)
    try:
        assert brain.export(out) == (2, 0)
    finally:
        os.umask(before)
    assert mode(out / "private.md") == 0o600
    assert mode(out / "new.md") == 0o644 & ~umask, "others may read it, and never write"


def test_a_symlink_at_the_temporary_file_is_not_followed(brain: Brain, tmp_path: Path) -> None:
    brain.put("a", b"# A\n")
    out, outside = tmp_path / "out", tmp_path / "outside"
    out.mkdir()
    outside.write_bytes(b"mine")
    (out / f".gbrain-{os.getpid()}.new").symlink_to(outside)
    brain.export(out)
    assert outside.read_bytes() == b"mine"
    assert (out / "a.md").read_bytes() == b"# A\n"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root may change owners")
def test_the_owner_of_a_file_is_kept(brain: Brain, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    os.chown(tmp_path / "a.md", 1234, 1235)
    brain.import_folder(tmp_path)
    brain.put("a", b"# New\n")
    assert brain.export(tmp_path) == (1, 0)
    status = (tmp_path / "a.md").stat()
    assert (status.st_uid, status.st_gid) == (1234, 1235)


def test_force_leaves_a_file_that_no_version_can_keep(brain: Brain, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    brain.import_folder(tmp_path)
    brain.put("a", b"# New\n")
    (tmp_path / "a.md").write_bytes(b"\xff\xfe not UTF-8")
    with pytest.raises(GbrainError, match=r"a\.md is not UTF-8, so the history .* left alone"):
        brain.export(tmp_path, force=True)
    assert [(file.action, file.path) for file in brain.plan_export(tmp_path, force=True)] == [
        ("refuse", "a.md")
    ]
    assert (tmp_path / "a.md").read_bytes() == b"\xff\xfe not UTF-8"


@pytest.mark.parametrize("exists", [True, False])
def test_a_file_saved_during_the_export_is_left_alone(
    brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    file = tmp_path / "a.md"
    if exists:
        file.write_text("# A\n")
        brain.import_folder(tmp_path)
    brain.put("a", b"# New\n")
    monkeypatch.setattr(os, "sync", lambda: file.write_text("# Saved meanwhile\n"))
    with pytest.raises(GbrainError, match=r"a\.md was changed meanwhile and was left alone; 0"):
        brain.export(tmp_path)
    assert file.read_text() == "# Saved meanwhile\n"
    assert everything(tmp_path) >= {"a.md"}
