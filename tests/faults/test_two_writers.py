"""The folder and the brain both write, and processes are killed: no acknowledged text is lost.

Every text that the brain acknowledged, and every text that a file had when gbrain replaced or
removed it, must be in a file, in the brain or in its history. Lines that the folder's user added
are in the file and in the page after the next change or sync; so is what the brain added, unless
the page has a conflict.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import ClassVar

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
VAULT = Path(__file__).parents[2] / "fixtures" / "vault"
NUMBERS = st.integers(0, 2)
PLACES = st.integers(1, 8)
EDITS = st.none() | PLACES
Kill = tuple[tuple[object, str], int] | None
# Where a process ends, and at which call of this function.
KILLS = st.none() | st.tuples(
    st.sampled_from(
        [
            (page_files, "read_file"),
            (page_files, "_write"),
            (page_files, "copy_attributes"),
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


def read(file: Path) -> str:
    """Return the text of a file with its line ends."""
    return file.read_bytes().decode()


def file_texts(folder: Path) -> set[str]:
    return {read(path) for path in folder.rglob("*.md")}


def insert_line(text: str, place: int, line: str) -> str:
    """Return the text with one more line, with its line ends, below the front matter."""
    lines = text.split("\n")
    end = "\r" if "\r\n" in text else ""
    first_blank = next((n for n, each in enumerate(lines) if not each.strip()), 0)
    lines.insert(min(first_blank + place, len(lines) - 1), line + end)
    return "\n".join(lines)


class TwoWriters(RuleBasedStateMachine):
    """A folder that its user edits, and a brain that writes to it and may be killed."""

    # The files that pages may have, by slug; the last one does not exist at first.
    files: ClassVar[list[tuple[str, str]]] = [("a", "a.md"), ("b", "b.md"), ("c", "c.md")]

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
        # Lines that the folder's user added and that no sync has seen yet, by file.
        self.unseen: dict[str, set[str]] = defaultdict(set)
        self.count = 0

    @initialize()
    def import_notes(self) -> None:
        self.write_notes()
        self.brain.allow_writing(self.notes)
        self.brain.import_folder(self.notes)

    def write_notes(self) -> None:
        for slug, path in self.files[:2]:
            (self.notes / path).write_text(START.format(slug))

    def text(self, place: int, slug: str) -> tuple[str, str]:
        """Return a new text and the line that is new; those at other places can be merged."""
        self.count += 1
        line = f"{self.count} new"
        try:
            base = self.brain.text(f"{slug}.md")
        except GbrainError:
            base = START.format(slug)
        return insert_line(base, place, line), line

    def act(self, kill: Kill, change: Callable[[], object]) -> bool:
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

    def check_merged(self, slug: str, line: str | None = None) -> None:
        """Check that a page is in step and has what its file got, and a line of the brain.

        A conflict keeps the file's text, so the brain's line may be in the history only.
        """
        page, text = self.brain.get(f"{slug}.md"), self.brain.text(f"{slug}.md")
        if not any(self.notes.iterdir()):
            # Nothing is written to an empty folder: its disk may not be mounted.
            return
        assert text == read(self.notes / page.path)
        for unseen in self.unseen.pop(page.path, ()):
            assert f"{unseen}\n" in text.replace("\r\n", "\n"), unseen
        if line and slug not in {conflict.slug for conflict in self.brain.conflicts()}:
            assert line in text

    # --- the folder ----------------------------------------------------------------------

    @rule(number=NUMBERS, place=PLACES)
    def folder_saves(self, number: int, place: int) -> None:
        self.save_file(number, place)

    def edit_file(self, number: int, place: int | None) -> None:
        """Let the folder's user save the file just before the brain changes, if it exists."""
        if place and (self.notes / self.files[number][1]).exists():
            self.save_file(number, place)

    def save_file(self, number: int, place: int) -> None:
        slug, path = self.files[number]
        file = self.notes / path
        self.count += 1
        line = f"{self.count} in the folder"
        text = insert_line(read(file) if file.exists() else START.format(slug), place, line)
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text.encode())
        self.unseen[path].add(line)

    @rule(number=NUMBERS)
    def folder_deletes(self, number: int) -> None:
        path = self.files[number][1]
        (self.notes / path).unlink(missing_ok=True)
        self.unseen.pop(path, None)

    @rule(number=NUMBERS, other=NUMBERS)
    def folder_moves(self, number: int, other: int) -> None:
        path, new = self.files[number][1], self.files[other][1]
        if (self.notes / path).exists() and not (self.notes / new).exists():
            (self.notes / new).parent.mkdir(exist_ok=True)
            (self.notes / path).rename(self.notes / new)
            self.unseen[new] = self.unseen.pop(path, set())

    # --- the brain -----------------------------------------------------------------------

    @rule(number=NUMBERS, place=PLACES, kill=KILLS)
    def brain_puts(self, number: int, place: int, kill: Kill) -> None:
        self.put_page(number, place, kill)

    def put_page(self, number: int, place: int, kill: Kill) -> None:
        slug, path = self.files[number]
        text, line = self.text(place, slug)
        if self.act(kill, lambda: self.brain.put(path, text.encode())):
            self.must.add(text)
            self.check_merged(slug, line)

    @rule(number=NUMBERS, place=PLACES, offset=st.integers(0, 2), kill=KILLS)
    def both_write(self, number: int, place: int, offset: int, kill: Kill) -> None:
        """Change a page and its file before any of them is read again."""
        self.save_file(number, place)
        self.put_page(number, place + offset, kill)

    @rule(number=NUMBERS, kill=KILLS)
    def brain_adds_an_entry(self, number: int, kill: Kill) -> None:
        slug, path = self.files[number]
        self.count += 1
        line = f"{self.count} happened"
        if self.act(kill, lambda: self.brain.add_to_timeline(path, line)):
            assert any(line in text for text in stored_texts(self.brain))
            self.check_merged(slug, line)

    @rule(number=NUMBERS, place=EDITS, kill=KILLS)
    def brain_deletes(self, number: int, place: int | None, kill: Kill) -> None:
        path = self.files[number][1]
        self.edit_file(number, place)
        self.act(kill, lambda: self.brain.delete(path))
        self.unseen.pop(path, None)

    @rule(number=NUMBERS, other=NUMBERS, place=EDITS, kill=KILLS)
    def brain_renames(self, number: int, other: int, place: int | None, kill: Kill) -> None:
        path, new = self.files[number][1], self.files[other][1]
        self.edit_file(number, place)
        self.act(kill, lambda: self.brain.rename(path, new))
        self.unseen.clear()

    @rule(number=NUMBERS, redo=st.booleans(), place=EDITS, kill=KILLS)
    def brain_undoes(self, number: int, redo: bool, place: int | None, kill: Kill) -> None:
        path = self.files[number][1]
        self.edit_file(number, place)
        self.act(kill, lambda: self.brain.undo(path, redo=redo))
        self.unseen.clear()

    @rule(number=NUMBERS, keep_file=st.booleans(), kill=KILLS)
    def brain_resolves(self, number: int, keep_file: bool, kill: Kill) -> None:
        slug = self.files[number][0]

        def resolve() -> None:
            texts = self.brain.conflict_texts(slug)
            chosen = texts.theirs if keep_file else texts.brain
            self.brain.resolve_conflict(slug, chosen.encode(), texts)

        self.act(kill, resolve)
        self.unseen.clear()

    @rule(kill=KILLS)
    def sync(self, kill: Kill) -> None:
        if self.act(kill, lambda: self.brain.import_folder(self.notes, remove_missing=True)):
            for page in self.brain.list()[0]:
                self.check_merged(page.slug)

    @rule(kill=KILLS)
    def sync_overwrites_pages(self, kill: Kill) -> None:
        self.act(kill, lambda: self.brain.import_folder(self.notes, overwrite=True))

    @rule(number=NUMBERS, place=EDITS, kill=KILLS)
    def export_overwrites_files(self, number: int, place: int | None, kill: Kill) -> None:
        self.edit_file(number, place)
        self.act(kill, lambda: self.brain.export(self.notes, force=True))
        self.unseen.clear()

    # --- what must hold ------------------------------------------------------------------

    @invariant()
    def nothing_is_lost(self) -> None:
        stored = stored_texts(self.brain)
        lost = self.must - stored - file_texts(self.notes)
        assert not lost, lost
        # What is in the brain once stays there.
        self.must |= stored

    def teardown(self) -> None:
        try:
            if file_texts(self.notes):
                self.brain.import_folder(self.notes, remove_missing=True)
                again = self.brain.import_folder(self.notes, remove_missing=True)
                assert (again.changes, again.problems, again.written) == ([], [], [])
                pages = {p.path: self.brain.text(p.slug) for p in self.brain.list()[0]}
                files = {p.relative_to(self.notes).as_posix(): p for p in self.notes.rglob("*.md")}
                assert {path: read(file) for path, file in files.items()} == pages
        finally:
            self.brain.close()
            self.patch.undo()
            shutil.rmtree(self.place)


class VaultWriters(TwoWriters):
    """The same with notes of Obsidian and Logseq: CRLF, a byte order mark, embeds, blocks."""

    files: ClassVar[list[tuple[str, str]]] = [
        ("projects/kitchen-garden", "Projects/Kitchen Garden.md"),
        ("projects/seed-list", "Projects/Seed List.md"),
        ("journals/2026_03_01", "journals/2026_03_01.md"),
    ]

    def write_notes(self) -> None:
        shutil.copytree(VAULT, self.notes, dirs_exist_ok=True)


class TestTwoWriters(TwoWriters.TestCase):
    settings = settings(max_examples=12, stateful_step_count=15, deadline=None)


class TestVaultWriters(VaultWriters.TestCase):
    settings = settings(max_examples=6, stateful_step_count=15, deadline=None)


@pytest.mark.slow
class TestTwoWritersLong(TwoWriters.TestCase):
    settings = settings(max_examples=600, stateful_step_count=40, deadline=None)


@pytest.mark.slow
class TestVaultWritersLong(VaultWriters.TestCase):
    settings = settings(max_examples=200, stateful_step_count=40, deadline=None)


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
