"""A file that is not there is deleted only if somebody deleted it."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.errors import BadPage, NotFound
from gbrain.importing import importer, missing_files, page_files, scan
from gbrain.importing.import_report import ImportReport
from gbrain.store.folders import page_sources

PATHS = ("a.md", "b.md", "work/c.md", "work/deep/d.md")


@pytest.fixture
def notes(tmp_path: Path, brain: Brain) -> Path:
    folder = tmp_path / "notes"
    for path in PATHS:
        write(folder / path)
    brain.allow_writing(folder)
    brain.import_folder(folder)
    return folder


def write(file: Path, text: str | None = None) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text or f"# {file.stem}\n\nAbout {file.stem}.\n")


def sync(brain: Brain, folder: Path, *, delete: bool = False) -> ImportReport:
    return brain.import_folder(folder, remove_missing=True, remove_many=delete)


def did(report: ImportReport) -> list[tuple[str, str]]:
    return [(change.action, change.slug) for change in report.changes]


def slugs(brain: Brain) -> list[str]:
    return [page.slug for page in brain.list()[0]]


def kept(report: ImportReport) -> list[tuple[str, str]]:
    return [(each.slug, each.reason) for each in report.missing]


def unmount(folder: Path) -> Path:
    """Put an empty folder in the place of one, as when its disk is not mounted."""
    away = folder.with_name(".away")
    folder.rename(away)
    folder.mkdir()
    return away


def mount(away: Path, folder: Path) -> None:
    shutil.rmtree(folder)
    away.rename(folder)


def test_a_deleted_file_deletes_its_page(brain: Brain, notes: Path) -> None:
    (notes / "a.md").unlink()
    shutil.rmtree(notes / "work" / "deep")
    assert did(sync(brain, notes)) == [("delete", "a"), ("delete", "work/deep/d")]
    assert slugs(brain) == ["b", "work/c"]


# --- other programs at the same time ---------------------------------------------------------


@pytest.mark.parametrize("change", ["put", "rename"])
def test_what_is_written_while_the_folder_is_listed_stays(
    brain: Brain, notes: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    find_page_files = scan.find_page_files

    def list_and_write(*arguments: object) -> scan.FoundFiles:
        found = find_page_files(*arguments)  # type: ignore[arg-type]
        monkeypatch.setattr(importer, "find_page_files", find_page_files)
        with Brain.open(brain.path) as other:
            if change == "put":
                other.put("new", b"# New\n")
            else:
                other.rename("a", "new")
        return found

    monkeypatch.setattr(importer, "find_page_files", list_and_write)
    sync(brain, notes)
    assert "new" in slugs(brain)
    assert (notes / "new.md").exists()
    assert not sync(brain, notes).changes


def test_an_editor_may_rename_the_file_away_while_it_saves(
    brain: Brain, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "a.md").rename(notes / "a.bak.md")
    monkeypatch.setattr(missing_files, "sleep", lambda _: write(notes / "a.md", "# Saved\n"))
    assert did(sync(brain, notes)) == [("create", "a.bak"), ("update", "a")]
    assert brain.text("a") == "# Saved\n"
    assert len(brain.history("a")) == 2


@pytest.mark.parametrize("step", ["before its stamp", "before it is read"])
def test_a_file_that_vanishes_while_it_is_read_is_left_for_later(
    brain: Brain, notes: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    write(notes / "a.md", "# Saved\n")

    def look_too_late(path: str) -> object:
        if not path.endswith("a.md"):
            return real(path)
        (notes / "a.md").rename(notes / "a.tmp")
        return real(path) if step == "before its stamp" else "1 2 3"

    real = importer.file_stamp
    monkeypatch.setattr(importer, "file_stamp", look_too_late)
    report = sync(brain, notes)
    assert (did(report), report.problems) == ([], [])
    monkeypatch.undo()
    brain.allow_writing(notes)
    (notes / "a.tmp").rename(notes / "a.md")
    assert did(sync(brain, notes)) == [("update", "a")]


def test_a_file_that_returns_before_its_page_is_deleted_keeps_it(
    brain: Brain, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "a.md").unlink()
    look_again = missing_files.look_again

    def look_and_save(*arguments: object) -> object:
        found = look_again(*arguments)  # type: ignore[arg-type]
        write(notes / "a.md", "# Saved\n")
        return found

    monkeypatch.setattr(importer, "look_again", look_and_save)
    assert did(sync(brain, notes)) == []
    assert did(sync(brain, notes)) == [("update", "a")]


def test_a_page_that_changed_meanwhile_outlives_its_file(
    brain: Brain, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "a.md").unlink()

    def put(seconds: float) -> None:
        with Brain.open(brain.path) as other:
            other.put("a", b"# Newer\n")

    monkeypatch.setattr(missing_files, "sleep", put)
    sync(brain, notes)
    assert brain.text("a") == (notes / "a.md").read_text() == "# Newer\n"


def test_a_page_written_meanwhile_is_not_deleted_at_one_look(
    brain: Brain, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "a.md").unlink()
    look_again = missing_files.look_again

    def look_and_put(*arguments: object) -> object:
        found = look_again(*arguments)  # type: ignore[arg-type]
        with Brain.open(brain.path) as other:
            other.put("a", b"# Newer\n")
        (notes / "a.md").unlink()
        return found

    monkeypatch.setattr(importer, "look_again", look_and_put)
    assert did(sync(brain, notes)) == []
    assert brain.text("a") == "# Newer\n"
    monkeypatch.setattr(importer, "look_again", look_again)
    assert did(sync(brain, notes)) == [("delete", "a")]


# --- ignored, not mounted --------------------------------------------------------------------


def test_pages_of_files_ignored_later_stay_and_are_marked(brain: Brain, notes: Path) -> None:
    write(notes / ".gbrainignore", "work/\n")
    for _ in range(2):
        report = sync(brain, notes)
        assert (did(report), report.problems) == ([], [])
        assert kept(report) == [("work/c", "ignored"), ("work/deep/d", "ignored")]
    assert report.missing_lines() == [
        "2 pages kept, ignored now: work/c.md, work/deep/d.md. gbrain sync --delete removes them "
        "from this brain only."
    ]
    assert {folder.missing for folder in brain.registered_folders()} == {2}
    (notes / ".gbrainignore").unlink()
    assert kept(sync(brain, notes)) == []
    assert {folder.missing for folder in brain.registered_folders()} == {0}


def test_pages_of_ignored_files_leave_the_brain_when_asked(brain: Brain, notes: Path) -> None:
    write(notes / ".gbrainignore", "work/\n")
    report = sync(brain, notes, delete=True)
    assert did(report) == [("delete", "work/c"), ("delete", "work/deep/d")]
    assert (notes / "work" / "c.md").exists()
    assert not sync(brain, notes).missing


def test_a_page_of_an_ignored_file_is_neither_written_nor_removed_there(
    brain: Brain, notes: Path
) -> None:
    write(notes / ".gbrainignore", "work/\n")
    before = (notes / "work" / "c.md").read_text()
    brain.put("work/c", b"# Changed\n")
    sync(brain, notes)
    brain.delete("work/deep/d")
    assert (notes / "work" / "c.md").read_text() == before
    assert (notes / "work" / "deep" / "d.md").exists()
    assert brain.text("work/c") == "# Changed\n"
    assert not sync(brain, notes).problems


@pytest.mark.parametrize("kind", ["ignored", "linked", "hidden in the name of a folder"])
def test_a_page_never_gets_the_text_of_an_excluded_file(
    brain: Brain, notes: Path, kind: str
) -> None:
    write(notes / "secrets" / "key.md", "# Key\n\nhunter2\n")
    slug = "secrets/key"
    if kind == "ignored":
        write(notes / ".gbrainignore", "secrets/\n")
    elif kind == "linked":
        (notes / "way").symlink_to(notes / "secrets")
        write(notes / ".gbrainignore", "secrets/\n")
        slug = "way/key"
    else:
        (notes / "secrets").rename(notes / ".secrets")
        with pytest.raises(BadPage, match="hidden"):
            brain.put(".secrets/key.md", b"# Mine\n")
        return
    file = next(notes.rglob("key.md"))
    for text in ("# Mine\n", "# Mine again\n"):
        assert brain.put(slug, text.encode()).file is None
        assert brain.text(slug) == text
    with pytest.raises(BadPage, match="excluded"):
        brain.rename("a", f"{slug}-2")
    brain.delete(slug)
    assert file.read_text() == "# Key\n\nhunter2\n"
    assert "hunter2" not in "".join(brain.text(slug, v.version) for v in brain.history(slug))


@pytest.mark.parametrize("gap", ["no file", "an empty file"])
@pytest.mark.parametrize("command", ["sync", "put", "rename"])
def test_an_ignore_file_that_is_being_saved_still_excludes(
    brain: Brain, notes: Path, monkeypatch: pytest.MonkeyPatch, gap: str, command: str
) -> None:
    write(notes / ".gbrainignore", "secrets/\n")
    write(notes / "secrets" / "key.md", "# Key\n\nhunter2\n")
    sync(brain, notes)
    if gap == "no file":
        (notes / ".gbrainignore").unlink()
    else:
        (notes / ".gbrainignore").write_text("")
    monkeypatch.setattr(scan, "sleep", lambda _: write(notes / ".gbrainignore", "secrets/\n"))
    if command == "put":
        brain.put("secrets/key", b"# Mine\n")
        assert brain.text("secrets/key") == "# Mine\n"
    elif command == "rename":
        with pytest.raises(BadPage, match="excluded"):
            brain.rename("a", "secrets/a")
    else:
        assert did(sync(brain, notes)) == []
    assert "hunter2" in (notes / "secrets" / "key.md").read_text()


def test_an_ignore_file_that_stays_away_excludes_nothing(brain: Brain, notes: Path) -> None:
    write(notes / ".gbrainignore", "secrets/\n")
    write(notes / "secrets" / "key.md")
    sync(brain, notes)
    (notes / ".gbrainignore").unlink()
    assert did(sync(brain, notes)) == [("create", "secrets/key")]


def test_pages_below_a_folder_that_is_not_mounted_stay(brain: Brain, notes: Path) -> None:
    away = unmount(notes / "work")
    for _ in range(2):
        report = sync(brain, notes)
        assert (did(report), report.problems) == ([], [])
        assert kept(report) == [("work/c", "unseen"), ("work/deep/d", "unseen")]
    mount(away, notes / "work")
    assert (did(sync(brain, notes)), kept(sync(brain, notes))) == ([], [])


def test_a_stray_file_does_not_make_an_empty_mount_point_the_folder(
    brain: Brain, notes: Path
) -> None:
    unmount(notes / "work")
    write(notes / "work" / "stray.md")
    for _ in range(2):
        sync(brain, notes)
    assert "work/c" in slugs(brain)
    assert did(sync(brain, notes, delete=True)) == [
        ("delete", "work/c"), ("delete", "work/deep/d"),
    ]  # fmt: skip
    assert not sync(brain, notes).missing


def test_nothing_is_written_below_a_folder_that_is_not_mounted(brain: Brain, notes: Path) -> None:
    away = unmount(notes / "work")
    for slug in ("work/c", "work/new"):
        result = brain.put(slug, b"# From the brain\n").file
        assert result is not None
        assert result.outcome == "failed"
        assert "mounted" in (result.message or "")
    assert list((notes / "work").iterdir()) == []
    brain.delete("work/deep/d")
    mount(away, notes / "work")
    assert not sync(brain, notes).problems
    assert (notes / "work" / "c.md").read_text() == "# From the brain\n"
    assert (notes / "work" / "new.md").read_text() == "# From the brain\n"
    assert not (notes / "work" / "deep" / "d.md").exists()


@pytest.mark.parametrize("files", [0, 1])
def test_an_empty_mount_point_of_a_small_folder_deletes_nothing(
    brain: Brain, notes: Path, files: int
) -> None:
    unmount(notes)
    if files:
        write(notes / "stray.md")
        assert [problem.code for problem in sync(brain, notes).problems] == ["many_missing"]
    else:
        with pytest.raises(BadPage, match="contains no pages"):
            sync(brain, notes)
    assert set(slugs(brain)) >= {"a", "b", "work/c", "work/deep/d"}


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs to mount")
@pytest.mark.parametrize("place", ["", "work"])
def test_a_real_disk_that_is_not_mounted_deletes_nothing(
    brain: Brain, tmp_path: Path, place: str
) -> None:
    notes = tmp_path / "disk notes"
    point = notes / place
    point.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "none", point], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this machine does not let us mount")
    try:
        write(notes / "a.md")
        write(point / "c.md")
        brain.allow_writing(notes)
        brain.import_folder(notes)
        before = slugs(brain)
    finally:
        subprocess.run(["umount", point], check=True)
    if place:
        report = sync(brain, notes)
        assert kept(report) == [("work/c", "unseen")]
        # Some systems remove the empty folder as well.
        point.rmdir()
        assert kept(sync(brain, notes)) == [("work/c", "unseen")]
        result = brain.put("work/c", b"# Written\n").file
        assert result is not None
        assert result.outcome == "failed"
        assert not point.exists()
    else:
        with pytest.raises(BadPage, match="contains no pages"):
            sync(brain, notes)
    assert slugs(brain) == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs to mount")
@pytest.mark.parametrize("place", ["", "work"])
@pytest.mark.parametrize("stray", [True, False])
def test_another_disk_at_the_same_place_deletes_nothing(
    brain: Brain, tmp_path: Path, place: str, stray: bool
) -> None:
    """The first folder of a disk has the same inode on most disks."""
    notes = tmp_path / "disk notes"
    point = notes / place
    point.mkdir(parents=True)
    mount_disk = ["mount", "-t", "tmpfs", "none", point]
    if subprocess.run(mount_disk, capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let us mount")
    try:
        write(notes / "a.md")
        write(point / "c.md")
        write(point / "deep" / "d.md")
        brain.allow_writing(notes)
        brain.import_folder(notes)
        before = set(slugs(brain))
        subprocess.run(["umount", point], check=True)
        subprocess.run(mount_disk, check=True)
        if stray:
            write(point / "stray.md")
        for _ in range(2):
            if place or stray:
                sync(brain, notes)
        assert before <= set(slugs(brain))
    finally:
        subprocess.run(["umount", point], check=True)


def test_an_upgraded_brain_knows_no_mount_point(brain: Brain, notes: Path) -> None:
    """A brain of an older schema remembers no folders."""
    with brain.database.write_transaction() as connection:
        connection.execute("DELETE FROM page_folders")
        connection.execute("UPDATE page_files SET stamp = NULL")
    away = unmount(notes / "work")
    for _ in range(2):
        assert kept(sync(brain, notes)) == [("work/c", "unseen"), ("work/deep/d", "unseen")]
    mount(away, notes / "work")
    assert not sync(brain, notes).changes


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs to mount")
def test_a_part_of_the_same_disk_that_is_not_mounted_deletes_nothing(
    brain: Brain, notes: Path, tmp_path: Path
) -> None:
    (real := tmp_path / "real").mkdir()
    (point := notes / "bound").mkdir()
    bind = ["mount", "--bind", real, point]
    if subprocess.run(bind, capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let us mount")
    try:
        write(point / "e.md")
        write(point / "in" / "f.md")
        sync(brain, notes)
        # A folder that is deleted on a mounted disk is deleted.
        shutil.rmtree(point / "in")
        assert did(sync(brain, notes)) == [("delete", "bound/in/f")]
    finally:
        subprocess.run(["umount", point], check=True)
    assert kept(sync(brain, notes)) == [("bound/e", "unseen")]
    point.rmdir()
    assert kept(sync(brain, notes)) == [("bound/e", "unseen")]


@pytest.mark.parametrize("new", ["A.md", "a.MD", "a.markdown"])
def test_a_file_with_another_spelling_of_its_name_is_still_the_file(
    brain: Brain, notes: Path, new: str
) -> None:
    text = (notes / "a.md").read_text()
    (notes / "a.md").rename(notes / new)
    (notes / new).write_text(f"{text}\nMine.\n")
    assert brain.put("a", f"# Theirs\n{text}".encode()).file is not None
    assert "Mine." in brain.text("a") == (notes / new).read_text()
    assert (notes / "a.md").exists() == (new == "a.md")
    assert not sync(brain, notes).problems
    brain.delete("a")
    assert not (notes / new).exists()
    assert did(sync(brain, notes)) == []


@pytest.mark.parametrize("slug", ["work/c", "work/new"])
def test_the_first_write_after_an_upgrade_fills_no_mount_point(
    brain: Brain, notes: Path, slug: str
) -> None:
    with brain.database.write_transaction() as connection:
        connection.execute("DELETE FROM page_folders")
    away = unmount(notes / "work")
    result = brain.put(slug, b"# Written\n").file
    assert result is not None
    assert result.outcome == "failed"
    sync(brain, notes)
    assert list((notes / "work").iterdir()) == []
    mount(away, notes / "work")
    sync(brain, notes)
    assert {"work/c", "work/deep/d", slug} <= set(slugs(brain))
    assert (notes / f"{slug}.md").read_text() == "# Written\n"


def test_notes_in_a_mount_point_do_not_make_it_the_folder(brain: Brain, notes: Path) -> None:
    away = unmount(notes / "work")
    sync(brain, notes)
    write(notes / "work" / "new.md")
    sync(brain, notes)
    for change in (
        lambda: brain.put("work/c", b"# Important\n"),
        lambda: brain.rename("a", "work/a"),
    ):
        result = change().file
        assert result is not None
        assert result.outcome == "failed"
    mount(away, notes / "work")
    for _ in range(2):
        sync(brain, notes)
    assert {"work/c", "work/new", "work/a"} <= set(slugs(brain))
    assert brain.text("work/c") == (notes / "work" / "c.md").read_text() == "# Important\n"


def test_an_earlier_copy_of_the_folder_deletes_nothing_newer(brain: Brain, notes: Path) -> None:
    """The copy may get the inode that the folder had."""
    copy = notes.with_name("copy")
    shutil.copytree(notes, copy)
    brain.put("newer", b"# Newer\n")
    brain.put("work/newer", b"# Newer\n")
    sync(brain, notes)
    shutil.rmtree(notes)
    shutil.copytree(copy, notes)
    assert did(sync(brain, notes)) == []
    assert {"newer", "work/newer"} <= set(slugs(brain))


def test_a_folder_with_none_of_its_files_deletes_nothing(brain: Brain, notes: Path) -> None:
    for path in PATHS:
        (notes / path).unlink()
    write(notes / "other.md")
    report = sync(brain, notes)
    assert [problem.code for problem in report.problems] == ["many_missing"]
    assert set(slugs(brain)) >= {"a", "b", "work/c", "work/deep/d"}


# --- what waits for its file -----------------------------------------------------------------


def fail_to(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(page_files, change, fail)


def test_a_removal_that_waited_spares_a_new_file_with_the_same_text(
    brain: Brain, notes: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fail_to("remove_file", patch)
        brain.delete("a")
    text = (notes / "a.md").read_text()
    (notes / "a.md").rename(notes.parent / "a.md")
    write(notes / "a.md", text)
    assert did(sync(brain, notes)) == [("create", "a")]
    assert (notes / "a.md").read_text() == text


def test_a_removal_that_waited_spares_a_file_with_an_earlier_text(
    brain: Brain, notes: Path
) -> None:
    template = (notes / "a.md").read_text()
    brain.put("a", b"# Filled\n")
    with pytest.MonkeyPatch.context() as patch:
        fail_to("remove_file", patch)
        brain.delete("a")
    (notes / "a.md").unlink()
    write(notes / "a.md", template)
    sync(brain, notes)
    assert (notes / "a.md").read_text() == template


def test_a_rename_that_waited_takes_no_other_file(brain: Brain, notes: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fail_to("move_file", patch)
        brain.rename("a", "moved")
    (notes / "a.md").unlink()
    write(notes / "a.md", "# Something else\n")
    sync(brain, notes)
    assert brain.text("a") == (notes / "a.md").read_text() == "# Something else\n"
    assert brain.text("moved") == (notes / "moved.md").read_text()
    assert "About a." in brain.text("moved")


def test_a_page_whose_file_cannot_be_moved_yet_stays(brain: Brain, notes: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fail_to("move_file", patch)
        brain.rename("a", "moved")
        sync(brain, notes)
    assert "moved" in slugs(brain)
    assert not sync(brain, notes).changes
    assert (notes / "moved.md").read_text() == brain.text("moved")


def test_a_forgotten_folder_does_not_bring_deleted_pages_back(brain: Brain, notes: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fail_to("remove_file", patch)
        brain.delete("a")
    brain.forget_folder(notes)
    brain.import_folder(notes)
    sync(brain, notes)
    assert "a" not in slugs(brain)
    assert not (notes / "a.md").exists()


# --- folders that move, brains that are restored ----------------------------------------------


def test_a_folder_with_few_of_the_files_is_not_the_moved_one(brain: Brain, notes: Path) -> None:
    other = notes.with_name("other")
    write(other / "a.md")
    with pytest.raises(NotFound, match="1 of the 4 files"):
        brain.move_folder(notes, other)


def test_files_that_a_moved_folder_lacks_are_written_again(brain: Brain, notes: Path) -> None:
    other = notes.with_name("other")
    notes.rename(other)
    (other / "a.md").unlink()
    assert brain.move_folder(notes, other).found == 3
    assert did(sync(brain, other)) == []
    assert (other / "a.md").read_text() == brain.text("a")


def test_a_page_restored_from_a_backup_stays(
    run, brain: Brain, notes: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    brain.backup(copy)
    brain.delete("a")
    (notes / "b.md").unlink()
    sync(brain, notes)
    path = brain.path
    brain.close()
    assert run("restore", copy, "--db", path).exit_code == 0
    with Brain.open(path) as restored:
        report = sync(restored, notes)
        assert (did(report), report.written) == ([], ["a", "b"])
        assert slugs(restored) == ["a", "b", "work/c", "work/deep/d"]
    assert (notes / "a.md").exists()
    assert (notes / "b.md").exists()


@pytest.mark.parametrize("stamp", [True, False])
def test_a_removal_in_a_backup_is_not_repeated(
    run, brain: Brain, notes: Path, tmp_path: Path, stamp: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fail_to("remove_file", patch)
        brain.delete("a")
    if not stamp:
        # As a brain of an older schema has it.
        with brain.database.write_transaction() as connection:
            connection.execute("UPDATE file_removals SET stamp = NULL")
    copy = tmp_path / "copy.db"
    brain.backup(copy)
    sync(brain, notes)
    assert not (notes / "a.md").exists()
    write(notes / "a.md")
    path = brain.path
    brain.close()
    run("restore", copy, "--db", path)
    with Brain.open(path) as restored:
        assert did(sync(restored, notes)) == [("create", "a")]
    assert (notes / "a.md").exists()


def test_a_page_restored_from_an_older_brain_stays(run, tmp_path: Path) -> None:
    packed = Path(__file__).parents[2] / "fixtures" / "brains" / "schema-15.db.gz"
    copy, path = tmp_path / "copy.db", tmp_path / "brain.db"
    copy.write_bytes(gzip.decompress(packed.read_bytes()))
    with closing(sqlite3.connect(copy)) as older, older:
        older.execute("INSERT OR IGNORE INTO vaults (root, added_at) VALUES ('/notes', '2026')")
        older.execute("UPDATE pages SET vault_id = 1, source_sha256 = sha256")
    assert run("restore", copy, "--db", path).exit_code == 0
    with Brain.open(path) as restored, restored.database.read_transaction() as connection:
        assert not any(known.seen for known in page_sources(connection).values())


def test_a_chain_of_renames_while_the_disk_is_away_keeps_every_page(
    brain: Brain, notes: Path
) -> None:
    texts = brain.text("a"), brain.text("b")
    away = unmount(notes)
    brain.rename("a", "first")
    brain.rename("b", "a")
    mount(away, notes)
    sync(brain, notes)
    sync(brain, notes)
    assert (brain.text("first"), brain.text("a")) == texts
    assert ((notes / "first.md").read_text(), (notes / "a.md").read_text()) == texts


def test_a_moved_folder_follows_deletions_in_its_folders(brain: Brain, notes: Path) -> None:
    notes.rename(other := notes.with_name("other"))
    brain.move_folder(notes, other)
    (other / "work" / "deep" / "d.md").unlink()
    assert did(sync(brain, other)) == [("delete", "work/deep/d")]


def test_a_page_deleted_while_it_is_put_gets_a_file_again(
    brain: Brain, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_page = Brain.change_page

    def delete_first(*arguments: object, **options: object) -> object:
        monkeypatch.setattr(Brain, "change_page", change_page)
        with Brain.open(brain.path) as other:
            other.delete("a")
        return change_page(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Brain, "change_page", delete_first)
    brain.put("a", b"# Again\n")
    assert (notes / "a.md").read_text() == "# Again\n"
    assert not sync(brain, notes).changes


def test_a_disk_without_notes_is_known_when_it_is_not_mounted(brain: Brain, notes: Path) -> None:
    (notes / "new").mkdir()
    sync(brain, notes)
    away = unmount(notes / "new")
    result = brain.put("new/page", b"# Page\n").file
    assert result is not None
    assert result.outcome == "failed"
    mount(away, notes / "new")
    assert sync(brain, notes).written == ["new/page"]


def test_a_rename_into_a_folder_that_is_not_mounted_waits(brain: Brain, notes: Path) -> None:
    write(notes / "work" / "more.md")
    sync(brain, notes)
    away = unmount(notes / "work")
    result = brain.rename("a", "work/a").file
    assert result is not None
    assert result.outcome == "failed"
    sync(brain, notes)
    assert list((notes / "work").iterdir()) == []
    mount(away, notes / "work")
    sync(brain, notes)
    assert (notes / "work" / "a.md").read_text() == brain.text("work/a")
    assert slugs(brain) == ["b", "work/a", "work/c", "work/deep/d", "work/more"]


def test_a_page_deleted_before_its_folder_is_forgotten_does_not_return(
    brain: Brain, notes: Path
) -> None:
    away = unmount(notes / "work")
    brain.delete("work/c")
    brain.forget_folder(notes)
    sync(brain, notes)
    mount(away, notes / "work")
    sync(brain, notes)
    assert "work/c" not in slugs(brain)
    assert not (notes / "work" / "c.md").exists()


def test_a_file_that_a_moved_folder_lacks_with_its_folder_is_written_again(
    brain: Brain, notes: Path
) -> None:
    shutil.rmtree(notes / "work" / "deep")
    notes.rename(other := notes.with_name("other"))
    brain.move_folder(notes, other)
    sync(brain, other)
    assert (other / "work" / "deep" / "d.md").read_text() == brain.text("work/deep/d")


def test_an_import_while_a_folder_is_not_mounted_does_not_make_it_the_folder(
    brain: Brain, notes: Path
) -> None:
    away = unmount(notes / "work")
    brain.import_folder(notes)
    assert kept(sync(brain, notes)) == [("work/c", "unseen"), ("work/deep/d", "unseen")]
    mount(away, notes / "work")
    assert not sync(brain, notes).changes


def test_a_page_deleted_while_its_folder_is_away_does_not_return(brain: Brain, notes: Path) -> None:
    away = unmount(notes / "work" / "deep")
    brain.delete("work/deep/d")
    for _ in range(3):
        sync(brain, notes)
    mount(away, notes / "work" / "deep")
    sync(brain, notes)
    assert "work/deep/d" not in slugs(brain)
    assert not (notes / "work" / "deep" / "d.md").exists()


def test_a_folder_that_was_made_again_is_written_to(brain: Brain, notes: Path) -> None:
    brain.delete("work/deep/d")
    unmount(notes / "work" / "deep")
    sync(brain, notes)
    result = brain.put("work/deep/new", b"# New\n").file
    assert result is not None
    assert result.outcome == "written"
