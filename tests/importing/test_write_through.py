"""Changes of a page reach its file, byte for byte, whatever happens to the file meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Timer

import pytest

from gbrain.brain import Brain
from gbrain.errors import Conflict
from gbrain.evaluate.selftest import run_selftest
from gbrain.importing import page_files, write_through
from gbrain.store import edited_files
from gbrain.store.atomic_files import TemporaryFile

VAULT = Path(__file__).parents[2] / "fixtures" / "vault"
GARDEN = "Projects/Kitchen Garden.md"


class Killed(BaseException):
    """Stands for a process that ends at once."""


@pytest.fixture
def notes(tmp_path: Path, brain: Brain) -> Path:
    """A folder that the brain imported and may write to."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\none\n\ntwo\n\nthree\n")
    brain.allow_writing(folder)
    brain.import_folder(folder)
    return folder


@pytest.fixture
def vault(tmp_path: Path, brain: Brain) -> Path:
    """A copy of a folder that Obsidian and Logseq wrote."""
    folder = tmp_path / "vault"
    shutil.copytree(VAULT, folder)
    brain.allow_writing(folder)
    assert brain.import_folder(folder).count("create") == 3
    return folder


def in_step(brain: Brain, folder: Path) -> bool:
    """Whether the next sync has nothing to do, and each file has its page's text."""
    report = brain.import_folder(folder, remove_missing=True)
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}
    pages = {page.path: brain.text(page.slug) for page in brain.list()[0] if page.folder_id}
    return (
        not (report.changes or report.problems or report.written)
        and pages.keys() == files
        and all((folder / path).read_bytes() == text.encode() for path, text in pages.items())
    )


def all_texts(brain: Brain, slug: str) -> set[str]:
    return {brain.text(slug, version.version) for version in brain.history(slug)}


# --- every kind of change --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda brain: brain.put("a", b"# A\n\nnew\n"), "# A\n\nnew\n"),
        (
            lambda brain: brain.add_to_timeline("a", "Met Bo", date="2026-04-03"),
            "# A\n\none\n\ntwo\n\nthree\n\n---\n## Timeline\n- 2026-04-03 — Met Bo\n",
        ),
        (
            lambda brain: brain.supersede("a", "b"),
            "---\nsuperseded_by: b\n---\n# A\n\none\n\ntwo\n\nthree\n",
        ),
    ],
)
def test_a_change_is_written_to_the_file(
    brain: Brain, notes: Path, change: Callable[[Brain], object], wanted: str
) -> None:
    brain.put("b", b"# B\n")
    change(brain)
    assert (notes / "a.md").read_text() == wanted
    assert in_step(brain, notes)


def test_a_new_page_gets_a_file_in_the_only_folder(brain: Brain, notes: Path) -> None:
    written = brain.put("ideas/First Idea!", b"# Idea\n")
    file = notes / "ideas/first-idea.md"
    assert written.file is not None
    assert (written.file.path, written.file.outcome) == (str(file), "written")
    brain.capture("Call Alice")
    assert "Call Alice" in (notes / "inbox.md").read_text()
    assert in_step(brain, notes)


def test_of_two_folders_the_setting_names_the_one_for_new_pages(
    brain: Brain, notes: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    brain.allow_writing(other)
    brain.import_folder(other)
    written = brain.put("one", b"# One\n").file
    assert written is not None
    assert (written.path, written.outcome) == ("", "behind")
    assert "several folders are imported" in (written.message or "")
    brain.set("default_folder", str(other))
    brain.reload_settings()
    brain.put("two", b"# Two\n")
    assert [path.name for path in other.iterdir()] == ["two.md"]


def test_a_page_that_waits_for_a_folder_gets_its_file(
    brain: Brain, notes: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    brain.allow_writing(other)
    brain.import_folder(other)
    brain.set("write_through", "off")
    brain.reload_settings()
    brain.put("on-purpose", b"# Only in the brain\n")
    brain.set("write_through", "on")
    brain.reload_settings()
    brain.capture("Call Alice")
    brain.rename("inbox", "calls")
    brain.capture("Call Bo", name="calls")
    (other / "twin.md").write_text("# Twin\n\nof the file\n")
    brain.put("twin", b"# Twin\n\nof the brain\n")
    brain.import_folder(notes)
    assert not (notes / "calls.md").exists()
    brain.set("default_folder", str(other))
    brain.reload_settings()
    brain.import_folder(other, dry_run=True)
    assert [path.name for path in other.iterdir()] == ["twin.md"]
    report = brain.import_folder(other)
    assert report.written == ["calls"]
    assert report.conflicts == ["twin"]
    assert "Call Alice" in (other / "calls.md").read_text()
    assert "Call Bo" in (other / "calls.md").read_text()
    assert "# Twin\n\nof the brain\n" in all_texts(brain, "twin")
    assert sorted(path.name for path in other.iterdir()) == ["calls.md", "twin.md"]


def test_pages_without_a_folder_stay_in_the_brain(brain: Brain, tmp_path: Path) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    assert brain.put("before", b"# Before any folder\n").file is None
    for folder in folders:
        folder.mkdir()
        (folder / f"{folder.name}.md").write_text("# Note\n")
        brain.allow_writing(folder)
        brain.import_folder(folder)
    brain.forget_folder(folders[0])
    assert brain.import_folder(folders[1]).written == []
    assert [path.name for path in folders[1].iterdir()] == ["second.md"]


def test_a_new_page_that_import_would_ignore_stays_in_the_brain(brain: Brain, notes: Path) -> None:
    (notes / ".gbrainignore").write_text("private/\n")
    assert brain.put("private/diary", b"# Diary\n").file is None
    assert not (notes / "private").exists()
    brain.import_folder(notes, remove_missing=True)
    assert brain.text("private/diary") == "# Diary\n"


def test_write_through_off_leaves_files_alone(brain: Brain, notes: Path) -> None:
    brain.set("write_through", "off")
    brain.reload_settings()
    written = brain.put("a", b"# New\n")
    assert written.file is not None
    assert written.file.outcome == "behind"
    assert brain.put("b", b"# B\n").file is None
    assert [path.name for path in notes.iterdir()] == ["a.md"]
    assert brain.import_folder(notes).written == []
    assert (notes / "a.md").read_text() == "# A\n\none\n\ntwo\n\nthree\n"


def test_a_folder_that_nobody_named_here_is_not_written(brain: Brain, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    brain.import_folder(tmp_path)
    written = brain.put("a", b"# New\n")
    assert written.file is not None
    assert f"gbrain sync {tmp_path}" in (written.file.message or "")
    new = brain.put("b", b"# B\n").file
    assert new is not None
    assert f"gbrain sync {tmp_path}" in (new.message or "")
    brain.import_folder(tmp_path)
    assert not (tmp_path / "b.md").exists()
    assert (tmp_path / "a.md").read_text() == "# A\n"
    brain.allow_writing(tmp_path)
    assert brain.import_folder(tmp_path).written == ["a", "b"]
    assert (tmp_path / "a.md").read_text() == "# New\n"


# --- bytes -----------------------------------------------------------------------------------


def test_a_copy_of_the_brain_writes_no_files(brain: Brain, notes: Path, tmp_path: Path) -> None:
    copied = brain.backup(tmp_path / "copy.db")
    with Brain.open(copied.file) as copy:
        assert copy.put("a", b"# A\n\nchanged in the copy\n").file.outcome == "behind"
        copy.put("new", b"# New\n")
    assert [file.name for file in notes.iterdir()] == ["a.md"]
    assert "one" in (notes / "a.md").read_text()


def test_a_selftest_leaves_the_folder_alone(brain: Brain, vault: Path) -> None:
    brain.embed()
    before = {path: path.read_bytes() for path in vault.rglob("*") if path.is_file()}
    asked = {one.question.kind for one in run_selftest(brain, limit=1).results}
    assert "fresh" in asked, "which writes a note"
    assert before == {path: path.read_bytes() for path in vault.rglob("*") if path.is_file()}


def test_an_entry_touches_no_other_byte_of_an_obsidian_page(brain: Brain, vault: Path) -> None:
    before = (vault / GARDEN).read_bytes()
    brain.add_to_timeline("projects/kitchen-garden", "Beans sown", date="2026-03-09")
    after = (vault / GARDEN).read_bytes()
    assert after == before + "- 2026-03-09 — Beans sown\n".encode()
    brain.supersede("projects/kitchen-garden", "projects/seed-list")
    marked = (vault / GARDEN).read_bytes()
    line = b"superseded_by: projects/seed-list\n"
    assert marked.replace(line, b"") == after
    assert marked.count(line) == 1
    brain.undo_supersede("projects/kitchen-garden")
    assert (vault / GARDEN).read_bytes() == after
    assert in_step(brain, vault)


def test_crlf_byte_order_mark_and_missing_newline_are_kept(brain: Brain, vault: Path) -> None:
    file = vault / "Projects/Seed List.md"
    before = file.read_bytes()
    # An agent reads the page and writes it back with one more line, without the odd bytes.
    text = brain.text("projects/seed-list").removeprefix("\ufeff").replace("\r\n", "\n")
    brain.put(
        "projects/seed-list", text.replace("* lettuce", "* chard\n* lettuce").encode() + b"\n"
    )
    assert file.read_bytes() == before.replace(b"* lettuce", b"* chard\r\n* lettuce")
    brain.supersede("projects/seed-list", "projects/kitchen-garden")
    brain.undo_supersede("projects/seed-list")
    assert file.read_bytes() == before.replace(b"* lettuce", b"* chard\r\n* lettuce")


def test_undo_gives_the_earlier_bytes_back(brain: Brain, notes: Path) -> None:
    (notes / "a.md").write_bytes(b"# A\r\n\r\nfrom Windows")
    brain.import_folder(notes)
    brain.undo("a")
    assert (notes / "a.md").read_bytes() == b"# A\n\none\n\ntwo\n\nthree\n"
    assert in_step(brain, notes)


def test_logseq_blocks_and_properties_are_kept(brain: Brain, vault: Path) -> None:
    file = vault / "journals/2026_03_01.md"
    before = file.read_bytes()
    brain.add_to_timeline("journals/2026_03_01", "Rain", date="2026-03-01")
    after = file.read_bytes()
    assert after.startswith(before + b"\n")
    assert after.endswith("- 2026-03-01 — Rain".encode())
    brain.add_to_timeline("journals/2026_03_01", "Hail", date="2026-03-02")
    assert file.read_bytes() == after + "\n- 2026-03-02 — Hail".encode()


def test_a_merge_keeps_every_other_byte(brain: Brain, vault: Path) -> None:
    before = (vault / GARDEN).read_bytes()
    (vault / GARDEN).write_bytes(before.replace(b"until four", b"until five"))
    written = brain.add_to_timeline("projects/kitchen-garden", "Beans sown", date="2026-03-09")
    assert written.file is not None
    assert written.file.outcome == "merged"
    wanted = before.replace(b"until four", b"until five") + "- 2026-03-09 — Beans sown\n".encode()
    assert (vault / GARDEN).read_bytes() == wanted
    assert in_step(brain, vault)


def test_mode_owner_and_link_are_kept(brain: Brain, notes: Path) -> None:
    (notes / "real.md").write_text("# Real\n")
    (notes / "link.md").symlink_to("real.md")
    os.chmod(notes / "a.md", 0o640)
    if os.geteuid() == 0:
        os.chown(notes / "a.md", 1234, 2345)
    before = (notes / "a.md").stat()
    brain.import_folder(notes)
    brain.put("a", b"# New\n")
    after = (notes / "a.md").stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode, before.st_uid, before.st_gid,
    )  # fmt: skip
    brain.put("link", b"# Through the link\n")
    assert (notes / "link.md").is_symlink()
    assert (notes / "real.md").read_text() == "# Through the link\n"


# --- files that changed, vanished or cannot be written ----------------------------------------


def test_what_both_sides_changed_in_one_place_is_kept_twice(brain: Brain, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\ntheirs\n")
    written = brain.put("a", b"# A\n\nmine\n")
    assert written.file is not None
    assert written.file.outcome == "conflict"
    assert (notes / "a.md").read_text() == brain.text("a") == "# A\n\ntheirs\n"
    assert "# A\n\nmine\n" in all_texts(brain, "a")
    assert [(c.slug, brain.text("a", c.version)) for c in brain.conflicts()] == [
        ("a", "# A\n\nmine\n")
    ]
    assert in_step(brain, notes)


def test_front_matter_that_would_not_parse_is_a_conflict(brain: Brain, notes: Path) -> None:
    brain.put("a", b"---\ntitle: A\n---\n\nText.\n")
    (notes / "a.md").write_text("---\nstatus: open\ntitle: A\n---\n\nText.\n")
    written = brain.put("a", b"---\ntitle: A\nstatus: done\n---\n\nText.\n")
    assert written.file is not None
    assert written.file.outcome == "conflict"
    assert in_step(brain, notes)


@pytest.mark.parametrize("kind", ["read-only", "folder", "no root", "not UTF-8"])
def test_the_next_sync_writes_a_file_that_failed(brain: Brain, notes: Path, kind: str) -> None:
    file, aside = notes / "a.md", notes.with_name("aside")
    if kind == "read-only":
        file.chmod(0o444)
    elif kind == "folder":
        file.rename(aside)
        file.mkdir()
    elif kind == "no root":
        notes.rename(aside)
    else:
        file.write_bytes(b"caf\xe9\n")
    written = brain.put("a", b"# A\n\none\n\nnew\n")
    assert written.file is not None
    assert written.file.outcome == "failed"
    assert "a.md" in (written.file.message or "")
    assert brain.text("a") == "# A\n\none\n\nnew\n"
    if kind == "read-only":
        file.chmod(0o644)
    elif kind == "folder":
        file.rmdir()
        aside.rename(file)
    elif kind == "no root":
        aside.rename(notes)
    else:
        file.write_text("# A\n\none\n\ntwo\n\nthree\n")
    assert brain.import_folder(notes, remove_missing=True).written == ["a"]
    assert file.read_text() == "# A\n\none\n\nnew\n"
    assert in_step(brain, notes)


def test_an_empty_folder_is_taken_for_an_unmounted_disk(brain: Brain, notes: Path) -> None:
    (notes / "a.md").unlink()
    written = brain.put("a", b"# New\n")
    assert written.file is not None
    assert written.file.outcome == "failed"
    assert list(notes.iterdir()) == []


def test_a_changed_page_gets_its_deleted_file_back(brain: Brain, notes: Path) -> None:
    (notes / "b.md").write_text("# B\n")
    (notes / "a.md").unlink()
    brain.put("a", b"# New\n")
    assert (notes / "a.md").read_text() == "# New\n"
    brain.import_folder(notes, remove_missing=True)
    assert in_step(brain, notes)


@pytest.mark.parametrize("way", ["in place", "by rename"])
def test_a_file_saved_in_the_last_moment_is_not_overwritten(
    brain: Brain, notes: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    file = notes / "a.md"
    theirs = "# A\n\none\n\ntwo\n\nTHREE\n"
    real, calls = page_files.copy_attributes, []

    def save_meanwhile(source: Path, target: Path) -> None:
        real(source, target)
        if not calls:
            calls.append(1)
            if way == "in place":
                file.write_text(theirs)
            else:
                (notes / "new").write_text(theirs)
                (notes / "new").rename(file)

    monkeypatch.setattr(page_files, "copy_attributes", save_meanwhile)
    brain.put("a", b"# A\n\nONE\n\ntwo\n\nthree\n")
    assert calls
    assert file.read_text() == "# A\n\nONE\n\ntwo\n\nTHREE\n"
    assert in_step(brain, notes)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files are open")
def test_a_program_that_still_writes_into_the_old_file_wins(
    brain: Brain, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, opened = edited_files.exchange, []

    def open_before(first: Path, second: Path) -> None:
        if opened:
            real(first, second)
            return
        opened.append((notes / "a.md").open("r+"))
        real(first, second)
        assert (notes / "a.md").read_text() == "# A\n\nONE\n\ntwo\n\nthree\n"
        Timer(0.05, write_after).start()

    def write_after() -> None:
        with opened[0] as file:
            file.write("# A\n\none\n\ntwo\n\nTHREE\n")

    monkeypatch.setattr(edited_files, "exchange", open_before)
    written = brain.put("a", b"# A\n\nONE\n\ntwo\n\nthree\n").file
    assert written is not None
    assert written.outcome == "merged"
    assert (notes / "a.md").read_text() == "# A\n\nONE\n\ntwo\n\nTHREE\n"
    assert in_step(brain, notes)


APPEND = """
import sys
with open(sys.argv[1], "a") as file:
    print("open", flush=True)
    sys.stdin.read()
    file.write("four\\n")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files are open")
def test_a_file_that_a_program_has_open_to_write_is_left_to_it(
    brain: Brain, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edited_files, "_WRITER_TIMEOUT_SECONDS", 0.01)
    program = [sys.executable, "-c", APPEND, str(notes / "a.md")]
    with Popen(program, stdin=PIPE, stdout=PIPE) as appending:
        assert appending.stdout is not None
        appending.stdout.readline()
        written = brain.put("a", b"# A\n\nONE\n\ntwo\n\nthree\n").file
        assert written is not None
        assert written.outcome == "failed"
        assert "another program keeps changing the file" in (written.message or "")
    assert brain.import_folder(notes).written == ["a"]
    assert (notes / "a.md").read_text() == "# A\n\nONE\n\ntwo\n\nthree\nfour\n"
    assert in_step(brain, notes)


# --- deletes and renames ---------------------------------------------------------------------


def test_delete_removes_the_file_and_keeps_the_text(brain: Brain, notes: Path) -> None:
    (notes / "b.md").write_text("# B\n")
    brain.import_folder(notes)
    gone = brain.delete("a")
    assert gone.file is not None
    assert (gone.outcome, gone.file.outcome) == ("deleted", "removed")
    assert [path.name for path in notes.iterdir()] == ["b.md"]
    assert brain.text("a", gone.version) == "# A\n\none\n\ntwo\n\nthree\n"
    assert in_step(brain, notes)


def test_a_deleted_page_whose_file_changed_comes_back(brain: Brain, notes: Path) -> None:
    (notes / "a.md").write_text("# Theirs\n")
    gone = brain.delete("a")
    assert gone.file is not None
    assert gone.file.outcome == "kept"
    assert brain.import_folder(notes, remove_missing=True).count("create") == 1
    assert brain.text("a") == "# Theirs\n"


def test_rename_moves_the_file_with_its_changes(brain: Brain, notes: Path) -> None:
    inode = (notes / "a.md").stat().st_ino
    brain.rename("a", "Deep/er/New Name")
    file = notes / "Deep/er/New Name.md"
    assert (file.stat().st_ino, (notes / "a.md").exists()) == (inode, False)
    assert in_step(brain, notes)
    file.write_text("# A\n\none\n\ntwo\n\nTHREE\n")
    brain.rename("deep/er/new-name", "b")
    assert brain.text("b") == (notes / "b.md").read_text() == "# A\n\none\n\ntwo\n\nTHREE\n"
    assert in_step(brain, notes)


def test_a_page_is_not_renamed_onto_another_file(brain: Brain, notes: Path) -> None:
    (notes / "b.md").write_text("# Not imported yet\n")
    with pytest.raises(Conflict, match=r"b\.md already exists"):
        brain.rename("a", "b")
    assert (notes / "b.md").read_text() == "# Not imported yet\n"


def test_a_page_put_again_before_its_old_file_is_gone(brain: Brain, notes: Path) -> None:
    (notes / "b.md").write_text("# B\n")
    brain.import_folder(notes)
    (notes / "a.md").chmod(0o644)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_files, "remove_file", _raise(PermissionError(13, "no")))
        gone = brain.delete("a")
    assert gone.file is not None
    assert gone.file.outcome == "failed"
    brain.put("a", b"# Again\n")
    assert (notes / "a.md").read_text() == "# Again\n"
    assert in_step(brain, notes)


# --- kills -----------------------------------------------------------------------------------


def _raise(error: BaseException) -> Callable[..., None]:
    def fail(*arguments: object, **options: object) -> None:
        raise error

    return fail


STEPS = {
    "before the file": (write_through, "write_page_file"),
    "reading the file": (page_files, "read_file"),
    "writing the file": (page_files, "_write"),
    "before the rename": (page_files, "copy_attributes"),
    "after the rename": (page_files, "flush_folder"),
    "before the record": (write_through, "_record"),
    "moving": (page_files, "move_file"),
    "removing": (page_files, "remove_file"),
    "after removing": (write_through, "take_file_removal"),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("finish", ["sync", "write"])
def test_a_kill_at_any_step_is_finished_later(
    brain: Brain, notes: Path, step: str, finish: str
) -> None:
    texts = ["# A\n\none\n\nmine\n", "# A\n\none\n\nmine again\n"]
    changes: list[Callable[[], object]] = [
        lambda: brain.put("a", texts[0].encode()),
        lambda: brain.put("new", b"# New\n"),
        lambda: brain.rename("a", "moved"),
        lambda: brain.delete("moved"),
    ]
    slugs = ["a", "new", "moved", "moved"]
    (notes / "z.md").write_text("# Z\n")
    brain.import_folder(notes)
    kills = 0
    for change, slug in zip(changes, slugs, strict=True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(*STEPS[step], _raise(Killed()))
            try:
                change()
            except Killed:
                kills += 1
        if slug == "moved" and brain.find("a"):
            # It was killed before anything of the rename was written.
            change()
        if finish == "write" and brain.find(slug):
            brain.add_to_timeline(slug, "Next", date="2026-04-03")
        assert not brain.import_folder(notes, remove_missing=True).problems
        assert in_step(brain, notes)
        assert brain.conflicts() == []
    assert kills
    assert texts[0] in all_texts(brain, "moved") | all_texts(brain, "a")
    assert sorted(path.name for path in notes.iterdir() if path.name[0] != ".") == [
        "new.md", "z.md",
    ]  # fmt: skip


@pytest.mark.parametrize("change", ["delete", "rename"])
def test_the_file_that_a_link_leads_to_stays(brain: Brain, notes: Path, change: str) -> None:
    (notes / "link.md").symlink_to("a.md")
    brain.import_folder(notes)
    if change == "delete":
        brain.delete("link")
    else:
        brain.rename("link", "deep/new")
        assert (notes / "deep" / "new.md").read_text() == "# A\n\none\n\ntwo\n\nthree\n"
    assert not (notes / "link.md").is_symlink()
    assert (notes / "a.md").read_text() == "# A\n\none\n\ntwo\n\nthree\n"
    assert in_step(brain, notes)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_the_file_stops_nothing(brain: Brain, notes: Path) -> None:
    (notes / "b.md").write_text("# B\n")
    brain.import_folder(notes)
    (notes / "a.md").unlink()
    os.mkfifo(notes / "a.md")

    def give_up(number: int, frame: object) -> None:
        raise TimeoutError("opening a pipe blocks until another program writes to it")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(20)
    try:
        written = brain.put("a", b"# A\n\nnew\n")
        assert written.file is not None
        assert written.file.outcome == "failed"
        assert "it is not a regular file" in (written.file.message or "")
        report = brain.import_folder(notes, remove_missing=True)
        assert {problem.path for problem in report.problems} == {"a.md"}
        gone = brain.delete("a").file
        assert gone is not None
        assert gone.outcome == "failed"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert (notes / "a.md").is_fifo()


@pytest.mark.parametrize("change", ["create", "replace", "rename", "delete"])
def test_a_folder_swapped_for_a_link_leads_nothing_out(
    brain: Brain, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Another user of a shared folder replaces it after it was checked, before it is written."""
    text, outside = "# P\n\nold\n", tmp_path / "outside"
    for folder in (outside, notes / "sub"):
        folder.mkdir()
        (folder / "p.md").write_text(text)
    brain.import_folder(notes)

    def swap() -> None:
        if not (notes / "sub").is_symlink():
            (notes / "sub").rename(tmp_path / "moved")
            (notes / "sub").symlink_to(outside)

    reads = 0

    def read_and_swap(target: Path) -> bytes | None:
        nonlocal reads
        reads += 1
        data = read_file(target)
        # A delete looks at the file before the page is deleted.
        if change != "delete" or reads > 1:
            swap()
        return data

    def flush_and_swap(folder: Path, mode: int) -> None:
        make_durable_folder(folder, mode)
        swap()

    read_file, make_durable_folder = page_files.read_file, page_files.make_durable_folder
    if change in ("replace", "delete"):
        monkeypatch.setattr(page_files, "read_file", read_and_swap)
    else:
        monkeypatch.setattr(page_files, "make_durable_folder", flush_and_swap)
    if change == "create":
        result = brain.put("sub/new", b"# New\n").file
    elif change == "replace":
        result = brain.put("sub/p", b"# P\n\nnew\n").file
    elif change == "rename":
        result = brain.rename("a", "sub/a").file
    else:
        result = brain.delete("sub/p").file
    assert (notes / "sub").is_symlink()
    assert result is not None
    if change == "delete":
        # Not the file that the page had.
        assert result.outcome == "kept"
    else:
        assert result.outcome == "failed"
        assert "was replaced with a symbolic link" in (result.message or "")
    assert {file.name: file.read_text() for file in outside.iterdir()} == {"p.md": text}


def test_no_text_is_written_to_a_swapped_folder(
    brain: Brain, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is a link only while the temporary file is created, as in a race."""
    outside, sub = tmp_path / "outside", notes / "sub"
    for folder in (outside, sub):
        folder.mkdir()
    (sub / "p.md").write_text("# P\n\nold\n")
    brain.import_folder(notes)
    made = page_files.temporary_file

    @contextmanager
    def swapped(folder: Path, mode: int) -> Iterator[TemporaryFile]:
        sub.rename(tmp_path / "moved")
        sub.symlink_to(outside)
        with made(folder, mode) as new:
            sub.unlink()
            (tmp_path / "moved").rename(sub)
            yield new

    monkeypatch.setattr(page_files, "temporary_file", swapped)
    for slug in ("sub/p", "sub/new"):
        result = brain.put(slug, b"# Secret\n").file
        assert result is not None
        assert result.outcome == "failed"
    assert [file.read_bytes() for file in outside.iterdir()] == [b"", b""]


def test_a_file_with_another_text_is_not_removed(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("# Saved meanwhile\n")
    with pytest.raises(page_files.FileChanged):
        page_files.remove_file(file, b"# A\n")
    assert file.read_text() == "# Saved meanwhile\n"


def test_a_page_changed_in_the_brain_outlives_its_file(brain: Brain, notes: Path) -> None:
    brain.set("write_through", "off")
    brain.reload_settings()
    brain.put("a", b"# Mine\n")
    brain.set("write_through", "on")
    brain.reload_settings()
    (notes / "a.md").unlink()
    (notes / "b.md").write_text("# B\n")
    report = brain.import_folder(notes, remove_missing=True)
    assert (report.problems, report.written) == ([], ["a"])
    assert (notes / "a.md").read_text() == "# Mine\n"
