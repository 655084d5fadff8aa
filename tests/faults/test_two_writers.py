"""The folder and the brain both write, and processes are killed: no acknowledged text is lost.

Every text that the brain acknowledged, and every text that a file had when gbrain replaced or
removed it, must be in a file, in the brain or in its history.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import sleep

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gbrain.brain import Brain
from gbrain.errors import GbrainError
from gbrain.importing import importer, page_files, write_through
from gbrain.store.history import decompress_version

NOW = "2026-11-18T12:00:00"
START = "# {}\n\none\n\ntwo\n\nthree\n\n## Timeline\n- 2026-01-02 — Began\n"
NAMES = st.sampled_from(["a", "b", "c"])
# Where a process ends, and at which call of this function.
KILLS = st.none() | st.tuples(
    st.sampled_from(
        [
            (page_files, "read_file"),
            (page_files, "_write"),
            (page_files, "_copy_attributes"),
            (page_files, "flush_folder"),
            (page_files, "move_file"),
            (page_files, "remove_file"),
            (write_through, "_record"),
            (write_through, "take_file_removal"),
            (write_through, "write_page_file"),
            (write_through, "apply_import"),
            (importer, "_write_files"),
        ]
    ),
    st.integers(1, 3),
)


class Killed(BaseException):
    """Stands for a process that ends at once."""


def stored_texts(brain: Brain) -> set[str]:
    """Return every text in the brain and in its history."""
    with brain.database.read_transaction() as connection:
        rows = connection.execute("SELECT front_matter || compiled_truth || timeline FROM pages")
        texts = {row[0] for row in rows}
        rows = connection.execute("SELECT content FROM versions")
        return texts | {decompress_version(row[0]) for row in rows}


def file_texts(folder: Path) -> set[str]:
    return {path.read_text() for path in folder.rglob("*.md")}


class TwoWriters(RuleBasedStateMachine):
    """A folder that its user edits, and a brain that writes to it and may be killed."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.notes = self.place / "notes"
        self.notes.mkdir()
        self.patch = pytest.MonkeyPatch()
        self.patch.setenv("XDG_STATE_HOME", str(self.place / "state"))
        self.patch.setenv("GBRAIN_NOW", NOW)
        self.brain = Brain.open(self.place / "brain.db", make=True)
        self.must: set[str] = set()
        self.count = 0

    @initialize()
    def import_notes(self) -> None:
        for name in ("a", "b"):
            (self.notes / f"{name}.md").write_text(START.format(name))
        self.brain.allow_writing(self.notes)
        self.brain.import_folder(self.notes)

    def text(self, place: int, name: str) -> str:
        """Return a new text; those that change another place can be merged."""
        self.count += 1
        try:
            base = self.brain.text(name)
        except GbrainError:
            base = START.format(name)
        lines = base.split("\n")
        lines.insert(min(place, len(lines) - 1), f"{self.count} new")
        return "\n".join(lines)

    def act(
        self, kill: tuple[tuple[object, str], int] | None, change: Callable[[], object]
    ) -> bool:
        """Run a change of the brain, perhaps killed; return whether it was acknowledged."""
        on_disk = file_texts(self.notes)
        done = True
        with pytest.MonkeyPatch.context() as patch:
            if kill:
                (module, name), left = kill
                real = getattr(module, name)

                def end(*arguments: object, **options: object) -> object:
                    nonlocal left
                    left -= 1
                    if left <= 0:
                        raise Killed
                    return real(*arguments, **options)

                patch.setattr(module, name, end)
            try:
                change()
            except (Killed, GbrainError):
                done = False
        # A file that is still there is its user's to change; what is gone must be kept.
        self.must |= on_disk - file_texts(self.notes)
        return done

    @rule(name=NAMES, place=st.integers(2, 9))
    def folder_saves(self, name: str, place: int) -> None:
        file = self.notes / f"{name}.md"
        base = file.read_text() if file.exists() else START.format(name)
        self.count += 1
        lines = base.split("\n")
        lines.insert(min(place, len(lines) - 1), f"{self.count} in the folder")
        file.write_text("\n".join(lines))

    @rule(name=NAMES)
    def folder_deletes(self, name: str) -> None:
        (self.notes / f"{name}.md").unlink(missing_ok=True)

    @rule(name=NAMES, other=NAMES)
    def folder_moves(self, name: str, other: str) -> None:
        file, target = self.notes / f"{name}.md", self.notes / f"{other}.md"
        if file.exists() and not target.exists():
            file.rename(target)

    @rule(name=NAMES, place=st.integers(2, 9), kill=KILLS)
    def brain_puts(self, name: str, place: int, kill: tuple[tuple[object, str], int]) -> None:
        text = self.text(place, name)
        if self.act(kill, lambda: self.brain.put(name, text.encode())):
            self.must.add(text)

    @rule(name=NAMES, kill=KILLS)
    def brain_adds_an_entry(self, name: str, kill: tuple[tuple[object, str], int]) -> None:
        self.count += 1
        self.act(kill, lambda: self.brain.add_to_timeline(name, f"{self.count} happened"))

    @rule(name=NAMES, kill=KILLS)
    def brain_deletes(self, name: str, kill: tuple[tuple[object, str], int]) -> None:
        self.act(kill, lambda: self.brain.delete(name))

    @rule(name=NAMES, other=NAMES, kill=KILLS)
    def brain_renames(self, name: str, other: str, kill: tuple[tuple[object, str], int]) -> None:
        self.act(kill, lambda: self.brain.rename(name, other))

    @rule(kill=KILLS)
    def sync(self, kill: tuple[tuple[object, str], int]) -> None:
        self.act(kill, lambda: self.brain.import_folder(self.notes, remove_missing=True))

    @invariant()
    def nothing_is_lost(self) -> None:
        stored = stored_texts(self.brain)
        lost = self.must - stored - file_texts(self.notes)
        assert not lost, lost
        # What is in the brain once stays there.
        self.must |= stored

    def teardown(self) -> None:
        try:
            if any(self.notes.iterdir()):
                self.brain.import_folder(self.notes, remove_missing=True)
                again = self.brain.import_folder(self.notes, remove_missing=True)
                assert (again.changes, again.problems, again.written) == ([], [], [])
                pages = {p.path: self.brain.text(p.slug) for p in self.brain.list()[0]}
                files = {p.name: p.read_text() for p in self.notes.glob("*.md")}
                assert files == pages
        finally:
            self.brain.close()
            self.patch.undo()
            shutil.rmtree(self.place)


class TestTwoWriters(TwoWriters.TestCase):
    settings = settings(max_examples=12, stateful_step_count=15, deadline=None)


@pytest.mark.slow
class TestTwoWritersLong(TwoWriters.TestCase):
    settings = settings(max_examples=600, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize("kills", [6, pytest.param(150, marks=pytest.mark.slow)])
def test_a_killed_process_loses_no_text(kills: int, tmp_path: Path) -> None:
    rng = random.Random(kills)
    notes, path = tmp_path / "notes", tmp_path / "brain.db"
    notes.mkdir()
    (notes / "a.md").write_text(START.format("a"))
    with closing(Brain.open(path, make=True)) as brain:
        brain.allow_writing(notes)
        brain.import_folder(notes)
    must: set[str] = set()
    killed = 0
    for number in range(20 * kills):
        text = START.format(number)
        process = subprocess.Popen(
            [sys.executable, "-m", "gbrain", "put", "a", "--quiet", "--db", str(path)],
            stdin=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(text.encode())
        process.stdin.close()
        while process.poll() is None and not any(p.name[0] == "." for p in notes.iterdir()):
            sleep(0.0005)
        sleep(0.02 * rng.random() ** 3)
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            must.add(text)
        else:
            killed += 1
        with closing(Brain.open(path)) as brain:
            assert must <= stored_texts(brain)
            assert not brain.import_folder(notes).problems
            assert brain.text("a") == (notes / "a.md").read_text()
            assert brain.conflicts() == []
        for left in notes.glob(".*.gbrain-new"):
            os.utime(left, (1, 1))
        if killed == kills:
            break
    assert killed == kills
