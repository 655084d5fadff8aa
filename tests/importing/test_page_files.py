"""A file that an editor saves while gbrain replaces, creates, moves or removes it loses no text.

The editor begins and finishes its save at every pair of moments: before and after each system call
that gives or takes a name, and each look at the content.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from itertools import count
from pathlib import Path
from subprocess import Popen
from time import sleep
from typing import IO, NamedTuple

import pytest

from gbrain.brain import Brain
from gbrain.errors import GbrainError
from gbrain.importing import page_files
from gbrain.store import atomic_files, atomic_rename, edited_files
from gbrain.store.atomic_files import AtomicWrites
from gbrain.store.history import decompress_version

OLD, NEW, SAVED = b"# A\n\nold\n", b"# A\n\nnew, by gbrain\n", b"# A\n\nsaved by the editor\n"


class Killed(BaseException):
    """Stands for a process that ends at once."""


# --- editors ---------------------------------------------------------------------------------

# A save in two halves: what the first half returns is given to the second.
Save = tuple[Callable[[Path], object], Callable[[Path, object], None]]


def open_in_place(file: Path) -> IO[bytes]:
    try:
        return file.open("r+b")
    except FileNotFoundError:
        return file.open("w+b")


def write_and_close(file: Path, opened: object) -> None:
    assert hasattr(opened, "write")
    with opened:
        opened.write(SAVED)
        opened.truncate()


def write_beside(file: Path, *, flush: bool = False) -> Path:
    new = file.with_name("new~")
    with new.open("wb") as opened:
        opened.write(SAVED)
        if flush:
            os.fsync(opened.fileno())
    return new


def rename_over(file: Path, new: object) -> None:
    os.replace(str(new), file)


def rename_away(file: Path) -> None:
    if file.exists():
        os.replace(file, file.with_name("backup~"))


SAVES: dict[str, Save] = {
    "in place": (open_in_place, write_and_close),
    "rename over": (write_beside, rename_over),
    "rename away and write": (rename_away, lambda file, _: file.write_bytes(SAVED) and None),
    "write, fsync, rename": (lambda file: write_beside(file, flush=True), rename_over),
    "truncate and write": (lambda file: file.open("w+b"), write_and_close),
}


class Editor:
    """Saves the file: begins at one moment and finishes at another, counted from 1."""

    def __init__(self, file: Path, save: Save, begin: int, finish: int) -> None:
        self.file, self.save, self.begin, self.finish = file, save, begin, finish
        self.moments = 0
        self.kill_at = 0
        self._half_done: object = None
        self._busy = False

    def moment(self) -> None:
        """Do what is due now; the editor's own calls are no moments."""
        if self._busy:
            return
        self.moments += 1
        with self.uninterrupted():
            if self.moments == self.begin:
                self._half_done = self.save[0](self.file)
            if self.moments == self.finish:
                self.save[1](self.file, self._half_done)
        if self.moments == self.kill_at:
            raise Killed

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        busy, self._busy = self._busy, True
        try:
            yield
        finally:
            self._busy = busy

    def complete(self) -> bool:
        """Finish a save that was begun; return whether there was one."""
        if self.begin <= self.moments < self.finish:
            self.save[1](self.file, self._half_done)
        return self.begin <= self.moments


MOMENTS = (
    (edited_files, "exchange"),
    (edited_files, "rename_exclusive"),
    (edited_files, "_has_writer"),
    (atomic_files, "rename_exclusive"),
    (page_files, "rename_exclusive"),
    (page_files, "read_file"),
    (page_files, "flush_folder"),
    (os, "rename"),
    (os, "replace"),
    (os, "link"),
    (os, "unlink"),
)


def watch_moments(patch: pytest.MonkeyPatch, editor: Editor, *, whole_renames: bool) -> None:
    """Let the editor work before and after each of these calls."""

    def hook(real: Callable[..., object], name: str) -> Callable[..., object]:
        @wraps(real)
        def hooked(*arguments: object, **options: object) -> object:
            editor.moment()
            with ExitStack() as stack:
                if whole_renames and name == "rename_exclusive":
                    stack.enter_context(editor.uninterrupted())
                result = real(*arguments, **options)
            editor.moment()
            return result

        return hooked

    for module, name in MOMENTS:
        patch.setattr(module, name, hook(getattr(module, name), name))


# --- systems ---------------------------------------------------------------------------------


def refuse_links(*_: object, **__: object) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


def make_system(patch: pytest.MonkeyPatch, system: str) -> None:
    """Take system calls away."""
    patch.setattr(edited_files, "_WRITER_TIMEOUT_SECONDS", 0.0)
    if system != "exchange":
        patch.setattr(atomic_rename, "_system_call", lambda: None)
    if system == "no hard links":
        patch.setattr(os, "link", refuse_links)


SYSTEMS = ("exchange", "hard links", "no hard links")


# --- operations ------------------------------------------------------------------------------


def replace(folder: Path) -> None:
    page_files.replace_file(folder / "a.md", OLD, NEW)


def create(folder: Path) -> None:
    page_files.create_file(folder / "a.md", NEW)


def move(folder: Path) -> None:
    page_files.move_file(folder / "a.md", folder / "b.md")


def move_to_folder(folder: Path) -> None:
    page_files.move_file(folder / "a.md", folder / "deep" / "b.md")


def remove(folder: Path) -> None:
    page_files.remove_file(folder / "a.md", OLD)


def trash(folder: Path) -> None:
    page_files.remove_file(folder / "a.md", OLD, use_trash=True)


def remove_link(folder: Path) -> None:
    page_files.remove_link(str(folder), "a.md")


def export(folder: Path) -> None:
    with AtomicWrites() as batch:
        batch.write(folder / "a.md", NEW, OLD)
        for error in batch.publish().values():
            raise error


def export_new(folder: Path) -> None:
    with AtomicWrites() as batch:
        batch.write(folder / "a.md", NEW, None)
        for error in batch.publish().values():
            raise error


OPERATIONS = (
    replace, create, move, move_to_folder, remove, trash, remove_link, export, export_new,
)  # fmt: skip


class Outcome(NamedTuple):
    """What is left after an operation during which the editor saved."""

    saved: bool
    moments: int
    error: BaseException | None
    texts: dict[str, bytes]


def visible_texts(folder: Path) -> dict[str, bytes]:
    """Return the texts of all files that a user sees, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def hidden_names(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".*")]


def run(
    folder: Path,
    operation: Callable[[Path], None],
    system: str,
    save: str,
    begin: int,
    finish: int,
    kill_at: int = 0,
) -> Outcome:
    """Run an operation in an empty folder, while the editor saves."""
    for left in sorted(folder.rglob("*"), reverse=True):
        left.rmdir() if left.is_dir() and not left.is_symlink() else left.unlink()
    file, trashed = folder / "a.md", folder / "Trash"
    trashed.mkdir()
    if operation is remove_link:
        (folder / "real.md").write_bytes(OLD)
        file.symlink_to("real.md")
    elif operation not in (create, export_new):
        file.write_bytes(OLD)
    editor = Editor(file, SAVES[save], begin, finish)
    editor.kill_at = kill_at
    error = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("send2trash.send2trash", lambda path: os.rename(path, trashed / "a.md"))
        make_system(patch, system)
        watch_moments(patch, editor, whole_renames=system == "no hard links")
        try:
            operation(folder)
        except (OSError, GbrainError, Killed) as raised:
            error = raised
    saved = editor.complete()
    return Outcome(saved, editor.moments, error, visible_texts(folder))


def pairs(moments: Callable[[int, int], Outcome]) -> Iterator[tuple[int, int, Outcome]]:
    """Run with every pair of moments of begin and finish, until the save comes too late."""
    for begin in count(1):
        for finish in count(begin):
            outcome = moments(begin, finish)
            if outcome.moments < begin:
                return
            yield begin, finish, outcome
            if outcome.moments < finish:
                break


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files are open")
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
@pytest.mark.parametrize("save", SAVES)
def test_a_save_at_any_moment_is_never_lost(
    tmp_path: Path, operation: Callable[[Path], None], system: str, save: str
) -> None:
    runs = 0
    for begin, finish, outcome in pairs(
        lambda begin, finish: run(tmp_path, operation, system, save, begin, finish)
    ):
        runs += 1
        when = f"from {begin} to {finish} of {outcome.moments}: {outcome}"
        assert outcome.saved
        assert SAVED in outcome.texts.values(), when
        assert hidden_names(tmp_path) == [], when
        if system == "exchange" and operation in (replace, export):
            assert outcome.texts["a.md"] == SAVED, when
        noticed = begin == finish and save != "rename away and write"
        if noticed and outcome.texts.get("Trash/a.md") == SAVED:
            assert isinstance(outcome.error, GbrainError), when
    assert runs >= 6


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_a_kill_at_any_moment_leaves_every_text(
    tmp_path: Path, operation: Callable[[Path], None], system: str
) -> None:
    """The editor saves at any moment before the kill or after it, or never."""
    kills = 0
    for save in ("rename over", "truncate and write"):
        for kill_at in count(1):
            outcome = None
            for moment in range(kill_at + 2):
                begin = moment or sys.maxsize
                outcome = run(tmp_path, operation, system, save, begin, begin, kill_at)
                if not isinstance(outcome.error, Killed):
                    continue
                kills += 1
                saved = outcome.saved
                if moment > kill_at:
                    saved = True
                    (tmp_path / "a.md").write_bytes(SAVED)
                with pytest.MonkeyPatch.context() as patch:
                    make_system(patch, system)
                    page_files.recover_folder(tmp_path)
                texts = visible_texts(tmp_path)
                when = f"{save} at {moment}, killed at {kill_at}: {texts}"
                assert not [name for name in hidden_names(tmp_path) if "old" in name], when
                if saved:
                    assert SAVED in texts.values(), when
                elif operation in (replace, export):
                    assert texts["a.md"] in (OLD, NEW), when
                elif operation in (move, move_to_folder):
                    assert OLD in texts.values(), when
            if not isinstance(outcome.error, Killed):
                break
    assert kills >= 10


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("operation", [replace, remove, move, export], ids=lambda one: one.__name__)
def test_of_two_saves_none_is_lost(
    tmp_path: Path, operation: Callable[[Path], None], system: str
) -> None:
    """A second program saves a text that does not contain the first one's."""
    first, replaced = b"# A\n\nsaved by another program\n", 0

    def save_first(file: Path) -> None:
        write_beside(file).write_bytes(first)
        os.replace(file.with_name("new~"), file)

    def save_second(file: Path, _: object) -> None:
        nonlocal replaced
        # Then it is the second program that replaces the text of the first one.
        replaced = file.exists() and file.read_bytes() == first
        rename_over(file, write_beside(file))

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SAVES, "twice", (save_first, save_second))
        runs = 0
        for begin, finish, outcome in pairs(
            lambda begin, finish: run(tmp_path, operation, system, "twice", begin, finish)
        ):
            runs += 1
            when = f"at {begin} and {finish} of {outcome.moments}: {outcome}"
            assert SAVED in outcome.texts.values(), when
            assert replaced or first in outcome.texts.values(), when
            assert hidden_names(tmp_path) == [], when
            if system == "exchange" and operation in (replace, export):
                assert outcome.texts["a.md"] == SAVED, when
    assert runs >= 6


def test_a_save_is_kept_though_a_program_overwrites_it_unseen(
    brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It read the file in the moment in which that had the text of the brain."""
    file, real, calls, seen = tmp_path / "notes" / "a.md", edited_files.exchange, 0, ""
    file.parent.mkdir()
    file.write_text("# A\n\none\n\ntwo\n\nthree\n")
    brain.allow_writing(file.parent)
    brain.import_folder(file.parent)
    saved = "# A\n\none\n\ntwo\n\nTHREE\n"

    def exchange(first: Path, second: Path) -> None:
        nonlocal calls, seen
        calls += 1
        if calls == 1:
            file.write_text(saved)
        real(first, second)
        if calls == 1:
            seen = file.read_text()
        elif calls == 2:
            assert file.read_text() == saved
            file.write_text(seen + "four\n")

    monkeypatch.setattr(edited_files, "exchange", exchange)
    brain.put("a", b"# A\n\nONE\n\ntwo\n\nthree\n")
    assert calls >= 2
    assert saved in {brain.text("a", version.version) for version in brain.history("a")}
    assert file.read_text() == brain.text("a") == "# A\n\nONE\n\ntwo\n\nthree\nfour\n"


def test_a_save_during_an_export_is_in_the_history_too(
    brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, real = tmp_path / "out" / "a.md", edited_files.exchange
    brain.put("a", OLD)
    brain.export(file.parent)
    brain.put("a", NEW)

    def exchange(first: Path, second: Path) -> None:
        if file.read_bytes() == OLD:
            file.write_bytes(SAVED)
        real(first, second)

    monkeypatch.setattr(edited_files, "exchange", exchange)
    with pytest.raises(GbrainError, match="was changed meanwhile and was left alone"):
        brain.export(file.parent)
    assert file.read_bytes() == SAVED
    assert brain.text("a") == NEW.decode()
    assert SAVED.decode() in {brain.text("a", each.version) for each in brain.history("a")}


# --- what a killed process left --------------------------------------------------------------


def test_sync_merges_a_save_that_a_killed_process_held(
    brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\none\n\ntwo\n\nthree\n")
    brain.allow_writing(notes)
    brain.import_folder(notes)
    real = edited_files.exchange

    def save_and_die(first: Path, second: Path) -> None:
        (notes / "a.md").write_text("# A\n\none\n\ntwo\n\nTHREE\n")
        real(first, second)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(edited_files, "exchange", save_and_die)
        with pytest.raises(Killed):
            brain.put("a", b"# A\n\nONE\n\ntwo\n\nthree\n")
    assert (notes / "a.md").read_text() == "# A\n\nONE\n\ntwo\n\nthree\n"
    report = brain.import_folder(notes, remove_missing=True)
    assert (report.merged, report.problems) == (["a"], [])
    assert (notes / "a.md").read_text() == "# A\n\nONE\n\ntwo\n\nTHREE\n"
    assert [path.name for path in notes.iterdir()] == ["a.md"]


def set_aside(file: Path, *known: bytes) -> Path:
    """Leave a file as a process does that is killed while it removes it."""
    return edited_files._set_aside(file, tuple(edited_files._digest_of(text) for text in known))


@pytest.mark.parametrize("name", ["a.md", "a\nb.md", ".a.md", "no ending", "\u00e9" * 60 + ".md"])
def test_a_file_that_was_set_aside_gets_its_name_back(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(SAVED)
    set_aside(file, OLD)
    assert not file.exists()
    assert edited_files.recover_files(tmp_path) == [file]
    assert file.read_bytes() == SAVED
    assert len(list(tmp_path.iterdir())) == 1


def test_of_the_longest_names_the_end_is_kept(tmp_path: Path) -> None:
    file = tmp_path / ("\u77e5" * 84 + ".md")
    file.write_bytes(SAVED)
    set_aside(file, OLD, NEW)
    [recovered] = edited_files.recover_files(tmp_path)
    assert recovered.read_bytes() == SAVED
    assert recovered.suffix == ".md"
    assert file.name.endswith(recovered.name)


def test_a_file_without_a_free_name_gets_one_that_its_user_sees(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    for text in (b"1", b"2", b"3"):
        file.write_bytes(text)
        set_aside(file)
    file.write_bytes(SAVED)
    edited_files.recover_files(tmp_path)
    kept = {f"a (kept{number}).md" for number in ("", " 2", " 3")}
    texts = visible_texts(tmp_path)
    assert texts.keys() == {"a.md", *kept}
    assert {texts[name] for name in kept} == {b"1", b"2", b"3"}
    assert texts["a.md"] == SAVED


def test_a_known_text_is_dropped_where_there_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    for text in (OLD, NEW):
        file.write_bytes(text)
        set_aside(file, OLD, NEW)
    file.write_bytes(SAVED)
    assert edited_files.recover_files(tmp_path) == []
    assert visible_texts(tmp_path) == {"a.md": SAVED}
    assert hidden_names(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be locked")
def test_what_a_running_process_set_aside_is_left_to_it(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(SAVED)
    with edited_files._busy(tmp_path):
        hidden = set_aside(file)
        assert edited_files.recover_files(tmp_path) == []
        assert list(tmp_path.iterdir()) == [hidden]
    assert edited_files.recover_files(tmp_path) == [file]


def test_where_folders_cannot_be_locked_the_age_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    file = tmp_path / "a.md"
    file.write_bytes(SAVED)
    os.utime(file, (1, 1))
    hidden = set_aside(file)
    monkeypatch.setattr("fcntl.flock", refuse)
    assert edited_files.recover_files(tmp_path) == []
    assert list(tmp_path.iterdir()) == [hidden]
    hour_later = edited_files.time() + 3601
    monkeypatch.setattr(edited_files, "time", lambda: hour_later)
    assert edited_files.recover_files(tmp_path) == [file]


def test_recovery_leaves_other_files_alone(tmp_path: Path) -> None:
    for name in (".mine.gbrain-old", ".a.md.123.gbrain-old", "a.gbrain-old"):
        (tmp_path / name).write_text("of somebody else")
    before = sorted(tmp_path.iterdir())
    assert page_files.recover_folder(tmp_path) == []
    assert sorted(tmp_path.iterdir()) == before


# --- a real editor ---------------------------------------------------------------------------

EDITOR = """
import os, random, sys, time
file, log, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
chance, until, number = random.Random(7), time.monotonic() + seconds, 0

def read():
    # A file that is gone for a moment is read again; one that stays gone is created anew.
    for _ in range(50):
        try:
            with open(file) as opened:
                return opened.read()
        except FileNotFoundError:
            time.sleep(0.002)
    return "# A\\n"

def pause(seconds):
    time.sleep(chance.random() * seconds)

def in_place(line):
    with open(file, "r+") as opened:
        text = opened.read()
        pause(0.003)
        opened.seek(0)
        opened.write(text + line)
        opened.truncate()

def rename_over(line, flush=False):
    text = read()
    with open(file + "~new", "w") as opened:
        opened.write(text + line)
        if flush:
            opened.flush()
            os.fsync(opened.fileno())
    os.replace(file + "~new", file)

def rename_away(line):
    text = read()
    if os.path.exists(file):
        os.replace(file, file + "~")
    pause(0.003)
    with open(file, "w") as opened:
        opened.write(text + line)

def truncate(line):
    text = read()
    with open(file, "w") as opened:
        pause(0.003)
        opened.write(text + line)

ways = [in_place, rename_over, rename_away, lambda line: rename_over(line, True), truncate]
with open(log, "w") as acknowledged:
    while time.monotonic() < until:
        number += 1
        line = f"saved {number}\\n"
        try:
            ways[number % 5](line)
        except FileNotFoundError:
            # The user is told; the text is still in the editor.
            continue
        acknowledged.write(line)
        pause(0.04)
"""


def put_again(brain: Brain, number: int) -> None:
    lines = brain.text("a").split("\n") if brain.find("a") else ["# A"]
    brain.put("a", "\n".join([lines[0], f"put {number}", *lines[1:300]]).encode())


def delete_again(brain: Brain, _: int) -> None:
    if brain.find("a"):
        brain.delete("a")


def rename_again(brain: Brain, number: int) -> None:
    if brain.find("a"):
        brain.rename("a", f"renamed/{number}")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files are open")
@pytest.mark.parametrize("system", ["exchange", "hard links"])
@pytest.mark.parametrize(
    ("change", "seconds"),
    [
        (put_again, 1.5),
        (delete_again, 1.5),
        pytest.param(put_again, 30.0, marks=pytest.mark.slow),
        pytest.param(delete_again, 30.0, marks=pytest.mark.slow),
        pytest.param(rename_again, 30.0, marks=pytest.mark.slow),
    ],
)
def test_a_real_editor_beside_real_changes_loses_nothing(
    brain: Brain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Brain, int], None],
    seconds: float,
    system: str,
) -> None:
    notes, log = tmp_path / "notes", tmp_path / "log"
    notes.mkdir()
    for name in ("a", "z"):
        (notes / f"{name}.md").write_text(f"# {name.upper()}\n\n")
    brain.allow_writing(notes)
    brain.import_folder(notes)
    with monkeypatch.context() as patch:
        if system != "exchange":
            patch.setattr(atomic_rename, "_system_call", lambda: None)
        for module, name in MOMENTS:
            if name in ("exchange", "rename_exclusive", "rename", "unlink"):
                patch.setattr(module, name, slow_down(getattr(module, name)))
        program = [sys.executable, "-c", EDITOR, str(notes / "a.md"), str(log), str(seconds)]
        with Popen(program) as editor:
            for number in count(1):
                if editor.poll() is not None:
                    break
                with suppress(GbrainError):
                    change(brain, number)
                brain.import_folder(notes)
        assert editor.returncode == 0
    brain.import_folder(notes)
    with brain.database.read_transaction() as connection:
        rows = connection.execute("SELECT content FROM versions")
        texts = [decompress_version(row[0]) for row in rows]
    texts += [brain.text(page.slug) for page in brain.list()[0]]
    texts += [text.decode() for text in visible_texts(notes).values()]
    acknowledged = set(log.read_text().split("\n"))
    assert len(acknowledged) > 1
    assert acknowledged <= {line for text in texts for line in text.split("\n")}
    assert hidden_names(notes) == []


def slow_down(real: Callable[..., object]) -> Callable[..., object]:
    """Let a call take five milliseconds, as on a disk at work."""

    @wraps(real)
    def slow(*arguments: object, **options: object) -> object:
        sleep(0.0025)
        result = real(*arguments, **options)
        sleep(0.0025)
        return result

    return slow


def test_a_save_gets_its_name_back_though_the_new_file_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delete by another process sees the new text, which it knows, while a save is put back."""
    target = tmp_path / "a.md"
    target.write_bytes(b"old")
    exchange, rename_exclusive = edited_files.exchange, edited_files.rename_exclusive

    def save_and_exchange(one: Path, other: Path) -> None:
        monkeypatch.setattr(edited_files, "exchange", exchange)
        target.write_bytes(b"saved")
        exchange(one, other)

    def rename_and_remove(source: Path, name: Path) -> None:
        try:
            rename_exclusive(source, name)
        except FileExistsError:
            target.unlink(missing_ok=True)
            raise

    monkeypatch.setattr(edited_files, "exchange", save_and_exchange)
    monkeypatch.setattr(edited_files, "rename_exclusive", rename_and_remove)
    with pytest.raises(edited_files.FileChanged) as changed:
        page_files.replace_file(target, b"old", b"new")
    assert changed.value.content == b"saved"
    assert target.read_bytes() == b"saved"
    assert list(tmp_path.iterdir()) == [target]
