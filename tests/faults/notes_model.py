"""A model of folders of notes that gbrain shares with other programs, and what must hold of them.

An `Operation` is one thing that a person or program does, written as words: `put 0 a line 3`.
Operations that happen during it follow after `@` and the number of the access to a file, or
transaction, before which they happen: `sync 0 @7 save 0 b rename-away line 2 1`. The second word
is the machine.

The texts of a note have markers with its number, so that the model knows, whatever the merges:

- A line that a person saved, or that a program was told was written, stays in the file, the brain
  or its history until the person removes it; one that was in the brain stays there.
- A file or page disappears only if somebody deleted or renamed it, and no page or history has a
  line of another note.
- What a person deleted in a folder that is mounted and not ignored is gone after two syncs, and
  does not return.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import traceback
from collections import Counter, defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import RLock
from typing import NamedTuple

from editor_saves import Steps, read_text, save_file
from file_events import in_write_transaction, reported_files, unreported
from marked_texts import Marker, change_text, markers, repeated_markers, template
from notes_machine import LINKED, MOUNTED_FOLDERS, PRIVATE, BrainState, NotesMachine, StoredVersion
from typer.testing import CliRunner

from gbrain.brain import Brain
from gbrain.cli.app import app
from gbrain.errors import GbrainError
from gbrain.importing.import_report import ImportReport
from gbrain.store.backup import restore_brain
from gbrain.store.undo import UndoResult

SLUGS = ("a", "b", "c", "d", "area/e", "area/f", "area/g", "deep/h", "inbox")
_CONFLICT_MARKS = ("<<<<<<< ", ">>>>>>> ")
# Longer than an editor's save, so that a file that is missing for so long is deleted.
_SECOND_LOOK_SECONDS = 3600


class Finding(Exception):
    """Something that must not happen; `kind` is the promise that was broken."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind


class Operation(NamedTuple):
    """Something that happens, and what happens meanwhile: (before which event, words)."""

    words: tuple[str, ...]
    during: tuple[tuple[int, tuple[str, ...]], ...] = ()

    def __str__(self) -> str:
        meanwhile = [f"@{at} {' '.join(words)}" for at, words in self.during]
        return " ".join([" ".join(self.words), *meanwhile])

    @classmethod
    def parse(cls, line: str) -> Operation:
        """Read an operation as `str` writes it."""
        first, *others = line.split("@")
        during = []
        for other in others:
            at, *words = other.split()
            during.append((int(at), tuple(words)))
        return cls(tuple(first.split()), tuple(during))


@dataclass
class Expected:
    """What must be true of one machine."""

    # Lines that were saved and that the brain has not read yet, and those that it has.
    unseen: set[Marker] = field(default_factory=set)
    in_brain: set[Marker] = field(default_factory=set)
    # Lines saved in folders while these are ignored.
    hidden: set[Marker] = field(default_factory=set)
    # Notes that somebody deleted or renamed: page and file may disappear.
    may_go: set[str] = field(default_factory=set)
    # Deleted notes that may not return, and those that must be gone, with the syncs since.
    gone: set[str] = field(default_factory=set)
    # Deleted by a program while the file had just the text of the page.
    deleted_in_step: set[str] = field(default_factory=set)
    must_go: dict[str, int] = field(default_factory=dict)
    pages: dict[str, StoredVersion] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    versions: set[tuple[int, int]] = field(default_factory=set)
    page_slugs: dict[int, str] = field(default_factory=dict)
    backups: list[Path] = field(default_factory=list)
    private: dict[Path, str] = field(default_factory=dict)


class SharedNotes:
    """Machines with notes, their brains, editors that are saving, and what must hold."""

    def __init__(
        self,
        folder: Path,
        empty_brain: Path,
        *,
        machines: int = 1,
        link_inside: bool = False,
        mounts: bool = False,
        remote: str | None = None,
    ) -> None:
        self.folder = folder
        self.machines = [
            NotesMachine(
                folder / f"machine{n}", n, empty_brain, link_inside=link_inside, mounts=mounts
            )
            for n in range(machines)
        ]
        self.expected = [Expected() for _ in self.machines]
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)
        self._tick()
        self.faults: Counter[str] = Counter()
        self.operations = 0
        # Where each note has been, by number, and the note of each file, by machine and slug.
        self.slugs_of: dict[int, set[str]] = defaultdict(set)
        self.note_of: dict[tuple[int, str], int] = {}
        self.private_notes: set[int] = set()
        self.renames: set[tuple[str, str]] = set()
        self._notes = self._markers = 0
        self._events = 0
        self._during: list[tuple[int, tuple[str, ...]]] = []
        self._depth = 0
        # One person has one editor for each file, and removes none that is being saved.
        self._person = RLock()
        self._saving: dict[tuple[int, str], _Save] = {}
        # What was deleted and written by the operation that runs, in this order.
        self._log: list[tuple[str, int, str]] = []
        self._pulled = False
        self._restored: set[int] = set()
        for machine in self.machines:
            self._start(machine, remote)

    def _start(self, machine: NotesMachine, remote: str | None) -> None:
        files = [machine.root / PRIVATE / "x.md", machine.elsewhere / "y.md"]
        for file in files:
            self._notes += 1
            self.private_notes.add(self._notes)
            text = change_text(None, "line", 1, self._marker(self._notes))
            file.write_text(text)
            self.expected[machine.number].private[file] = text
        with machine.environment():
            machine.brain.allow_writing(machine.root)
            if remote:
                machine.brain.add_remote("team", remote)
        # The second machine gets the notes of the first one with the first pull.
        for slug in SLUGS[:-1] if machine.number == 0 else ("area/o", "deep/p"):
            text: str | None = None
            note = self._new_note(machine, slug)
            for way in ("line", "entry", "task"):
                marker = self._marker(note)
                text = change_text(text, way, 1, marker)
                self.expected[machine.number].unseen.add(marker)
            machine.file(slug).write_text(text or "")
        self._import(machine)
        self.check()

    def remove(self) -> None:
        for machine in self.machines:
            machine.remove()

    # --- running -------------------------------------------------------------------------

    def run(self, operations: Sequence[Operation]) -> None:
        """Run operations and then let everything come to rest; raise Finding."""
        for operation in operations:
            self.execute(operation)
        self.rest()

    def execute(self, operation: Operation) -> None:
        """Run one operation with what happens meanwhile, and check what must hold."""
        name = operation.words[0]
        self._events = 0
        self._during = [
            (at, words)
            for at, words in sorted(operation.during)
            if name not in _ALONE and (name != "restore" or words[0] in FILE_OPERATIONS)
        ]
        with reported_files(str(self.folder), self._meanwhile, self._finish_saves):
            self._do(operation.words)
        self._finish_saves()
        self.check()

    def _do(self, words: tuple[str, ...]) -> None:
        name, machine, *arguments = words
        self.operations += 1
        self.faults[name if self._depth == 0 else f"{name} meanwhile"] += 1
        chosen = self.machines[int(machine)]
        self._depth += 1
        try:
            quiet = unreported() if name in FILE_OPERATIONS else nullcontext()
            alone = self._person if name in ("new", "rm", "mv", "cp") else nullcontext()
            with chosen.environment(), quiet, alone:
                getattr(self, f"do_{name.replace('-', '_')}")(chosen, *arguments)
        except GbrainError:
            self.faults["refused"] += 1
        except Finding:
            raise
        except Exception:
            raise Finding("crash", traceback.format_exc()) from None
        finally:
            self._depth -= 1

    def _finish_saves(self) -> None:
        """Let editors end what they save: it takes some milliseconds, gbrain waits for longer."""
        for save in list(self._saving.values()):
            save.finish()

    def _meanwhile(self) -> None:
        """Let editors go on, and others do what is due."""
        self._events += 1
        for save in list(self._saving.values()):
            save.advance()
        while self._during and self._during[0][0] <= self._events:
            words = self._during.pop(0)[1]
            if words[0] not in FILE_OPERATIONS and in_write_transaction():
                # It would wait for the end of the transaction.
                self._during.insert(0, (self._events + 1, words))
                return
            self._do(words)

    def wait_in_save(self) -> None:
        """Wait as long as an editor takes between two steps of a save."""

    def _brain(self, machine: NotesMachine) -> Brain:
        """Return the brain as this program has it open; what happens meanwhile is another one."""
        return machine.brain if self._depth == 1 else machine.other

    def _tick(self) -> None:
        self.now += timedelta(seconds=1)
        os.environ["GBRAIN_NOW"] = self.now.isoformat()

    # --- notes ---------------------------------------------------------------------------

    def _marker(self, note: int) -> Marker:
        self._markers += 1
        return Marker(note, self._markers)

    def _new_note(self, machine: NotesMachine, slug: str) -> int:
        self._notes += 1
        self.slugs_of[self._notes].add(slug)
        self.note_of[machine.number, slug] = self._notes
        return self._notes

    def _note(self, machine: NotesMachine, slug: str, text: str | None) -> int:
        """Return the number of the note with this text at this place."""
        known = [m for m in markers(text or "") if slug in self.slugs_of[m.note]]
        if known:
            return max(known, key=lambda marker: marker.number).note
        found = self.note_of.get((machine.number, slug)) if text is not None else None
        return found or self._new_note(machine, slug)

    def _new_text(
        self, machine: NotesMachine, slug: str, text: str | None, way: str, place: str
    ) -> tuple[str, Marker]:
        marker = self._marker(self._note(machine, slug, text))
        return change_text(text, way, int(place), marker), marker

    def _record_rename(self, machine: NotesMachine, old: str, new: str) -> None:
        for slugs in self.slugs_of.values():
            if old in slugs:
                slugs.add(new)
        self.renames |= {(old, new)} | {(first, new) for first, last in self.renames if last == old}
        if (machine.number, old) in self.note_of:
            self.note_of[machine.number, new] = self.note_of.pop((machine.number, old))

    def _made(self, machine: NotesMachine, slug: str) -> None:
        """Record that a person or program wrote a note."""
        self._log.append(("made", machine.number, slug))
        for expected in self.expected:
            expected.gone.discard(slug)
        self.expected[machine.number].must_go.pop(slug, None)
        self.expected[machine.number].deleted_in_step.discard(slug)

    def _deleted(self, machine: NotesMachine, slug: str) -> None:
        self._log.append(("deleted", machine.number, slug))
        self.expected[machine.number].may_go.add(slug)

    # --- what the person does --------------------------------------------------------------

    def do_save(
        self, machine: NotesMachine, slug: str, way: str, change: str, place: str, pace: str = "1"
    ) -> None:
        """Save a note in an editor; meanwhile, gbrain gets on by `pace` events for each step."""
        with self._person:
            if not machine.is_mounted(slug) or not self._is_idle(machine, slug):
                return
            save = _Save(self, machine, slug, way, change, place, int(pace))
            self.faults[f"saves {way}"] += 1
            self._saving[machine.number, slug] = save
            save.step()
        if self._depth == 1:
            save.finish()

    def do_new(self, machine: NotesMachine, slug: str, number: str) -> None:
        """Write a new note from a template."""
        file = machine.file(slug)
        if machine.is_mounted(slug) and not file.exists() and self._is_idle(machine, slug):
            self._new_note(machine, slug)
            file.parent.mkdir(exist_ok=True)
            file.write_text(template(int(number)))
            self._made(machine, slug)

    def do_rm(self, machine: NotesMachine, slug: str) -> None:
        text = self._take(machine, slug)
        if text is not None:
            is_certain = machine.is_visible(slug) and self._is_in_step(machine, slug)
            machine.file(slug).unlink()
            self._deleted(machine, slug)
            if is_certain:
                self.expected[machine.number].must_go[slug] = 0

    def do_mv(self, machine: NotesMachine, slug: str, new: str) -> None:
        file = machine.file(new)
        free = machine.is_mounted(new) and not file.exists() and self._is_idle(machine, new)
        text = self._take(machine, slug) if free and slug != new else None
        if text is not None:
            is_certain = machine.is_visible(slug) and self._is_in_step(machine, slug)
            file.parent.mkdir(exist_ok=True)
            # Between file systems mv copies the file.
            shutil.move(machine.file(slug), file)
            self.expected[machine.number].unseen |= self._unread(machine, text)
            self.expected[machine.number].hidden -= markers(text)
            self._record_rename(machine, slug, new)
            self._deleted(machine, slug)
            self._made(machine, new)
            if is_certain:
                self.expected[machine.number].must_go[slug] = 0

    def do_cp(self, machine: NotesMachine, slug: str, new: str) -> None:
        source, file = machine.file(slug), machine.file(new)
        mounted = machine.is_mounted(slug) and machine.is_mounted(new)
        idle = self._is_idle(machine, slug) and self._is_idle(machine, new)
        if mounted and idle and source.exists() and not file.exists():
            text = source.read_text()
            self._new_note(machine, new)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
            for marker in markers(text):
                self.slugs_of[marker.note].add(new)
            self.expected[machine.number].hidden -= markers(text)
            self._made(machine, new)

    def _is_idle(self, machine: NotesMachine, slug: str) -> bool:
        return (machine.number, slug) not in self._saving

    def _take(self, machine: NotesMachine, slug: str) -> str | None:
        """Return the text of a file that the person is about to remove; None if that cannot be."""
        if not machine.is_mounted(slug) or not self._is_idle(machine, slug):
            return None
        text = read_text(machine.file(slug))
        # Also what was saved just before, while gbrain exchanges the file.
        unseen = self.expected[machine.number].unseen
        unseen -= {m for m in unseen if m in markers(text or "") or slug in self.slugs_of[m.note]}
        return text

    def _unread(self, machine: NotesMachine, text: str) -> frozenset[Marker]:
        return markers(text) - self.expected[machine.number].in_brain

    def _is_in_step(self, machine: NotesMachine, slug: str) -> bool:
        """Tell whether the brain has nothing that its file lacks."""
        query = "SELECT 1 FROM pages WHERE slug = ? AND sha256 = source_sha256"
        with closing(sqlite3.connect(machine.path, timeout=0)) as connection:
            try:
                return bool(connection.execute(query, (slug,)).fetchall())
            except sqlite3.OperationalError:
                # It is being restored.
                return False

    def do_ignore(self, machine: NotesMachine, part: str) -> None:
        if "" not in machine.away:
            machine.set_ignored(part, True)

    def do_unignore(self, machine: NotesMachine, part: str) -> None:
        if "" not in machine.away:
            machine.set_ignored(part, False)
            hidden = self.expected[machine.number].hidden
            hidden -= {m for m in hidden if any(s.startswith(part) for s in self.slugs_of[m.note])}

    def do_unmount(self, machine: NotesMachine, part: str) -> None:
        if part != "all" and not any(s.startswith(f"{part}/") for s in machine.files()):
            # Nobody could tell an empty folder that gbrain has not seen from a mount point.
            return
        if not any(number == machine.number for number, _ in self._saving):
            machine.unmount("" if part == "all" else part)

    def do_mount(self, machine: NotesMachine, part: str) -> None:
        machine.mount("" if part == "all" else part)

    def do_clock(self, machine: NotesMachine, seconds: str) -> None:
        self.now += timedelta(seconds=int(seconds))

    # --- what programs do --------------------------------------------------------------------

    def do_put(self, machine: NotesMachine, slug: str, way: str, place: str) -> None:
        self._put(machine, slug, way, place)

    def _put(
        self, machine: NotesMachine, slug: str, way: str, place: str, base: str | None = None
    ) -> None:
        self._tick()
        brain = self._brain(machine)
        with suppress(GbrainError):
            base = brain.text(f"{slug}.md")
        text, marker = self._new_text(machine, slug, base, way, place)
        brain.put(slug, text.encode())
        self._acknowledge(machine, slug, marker)

    def _acknowledge(self, machine: NotesMachine, slug: str, marker: Marker) -> None:
        self._made(machine, slug)
        self.expected[machine.number].in_brain.add(marker)

    def do_put_template(self, machine: NotesMachine, slug: str, number: str) -> None:
        """Replace the text of a page with one that other pages have, too."""
        self._tick()
        self.note_of.setdefault((machine.number, slug), 0) or self._new_note(machine, slug)
        self._brain(machine).put(slug, template(int(number)).encode())
        self._made(machine, slug)

    def do_put_private(self, machine: NotesMachine, slug: str, way: str, place: str) -> None:
        """Write a page whose path gbrain may not read: ignored, or behind a link."""
        self._put(machine, slug, way, place)

    def do_edit(self, machine: NotesMachine, slug: str, way: str, place: str) -> None:
        """Read a page with what is new in its file, then write it if nobody else did."""
        self._tick()
        brain = self._brain(machine)
        if slug not in machine.slugs():
            return
        brain.import_file(slug)
        version, base = brain.get(f"{slug}.md").version, brain.text(f"{slug}.md")
        text, marker = self._new_text(machine, slug, base, way, place)
        brain.put(slug, text.encode(), expected_version=version)
        self._acknowledge(machine, slug, marker)

    def do_capture(self, machine: NotesMachine, slug: str) -> None:
        self._tick()
        brain = self._brain(machine)
        inbox = slug == "inbox"
        if not inbox and slug not in machine.slugs():
            return
        base = None
        with suppress(GbrainError):
            base = brain.text(f"{slug}.md")
        marker = self._marker(self._note(machine, slug, base))
        brain.capture(f"Heard {marker}", name=None if inbox else slug)
        self._acknowledge(machine, slug, marker)

    def do_capture_lost(self, machine: NotesMachine, slug: str) -> None:
        """Capture to a page that does not exist: the text must be where the message says."""
        self._tick()
        if self._depth > 1:
            return
        # A name of its own: a page may be found by the last part of its slug.
        name = f"nowhere/new-{slug.replace('/', '-')}"
        marker = self._marker(self._new_note(machine, name))
        command = [
            "capture",
            "--to",
            name,
            f"Heard {marker}",
            "--db",
            str(machine.path),
        ]
        said = CliRunner().invoke(app, command)
        told = said.output.replace("\n", " ")
        places = [word.strip("'\".,:;()") for word in told.split()]
        texts = [read_text(Path(place)) or "" for place in places if os.path.isfile(place)]
        texts += [each.text for each in machine.state().texts()]
        if not any(str(marker) in text for text in texts):
            raise Finding("text lost", f"capture --to {name} said: {told}")
        self.slugs_of[marker.note].add("inbox")

    def do_timeline(self, machine: NotesMachine, slug: str, day: str) -> None:
        self._tick()
        if slug in machine.slugs():
            brain = self._brain(machine)
            marker = self._marker(self._note(machine, slug, brain.text(f"{slug}.md")))
            brain.add_to_timeline(slug, f"Saw {marker}", date=f"2026-01-{int(day) % 28 + 1:02}")
            self._acknowledge(machine, slug, marker)

    def do_done(self, machine: NotesMachine, slug: str) -> None:
        """Tick the first open task of a page."""
        self._tick()
        if slug in machine.slugs():
            brain = self._brain(machine)
            open_tasks = brain.tasks(slug)
            if open_tasks:
                brain.finish_task(open_tasks[0].number)
                self._made(machine, slug)

    def do_delete(self, machine: NotesMachine, slug: str) -> None:
        self._tick()
        if slug in machine.slugs():
            in_step = self._depth == 1 and not machine.is_ignored(slug) and not self._during
            in_step = in_step and self._is_in_step(machine, slug)
            same = in_step and machine.files().get(slug) == machine.state().pages[slug].text
            self._brain(machine).delete(slug)
            self._deleted(machine, slug)
            if same:
                self.expected[machine.number].deleted_in_step.add(slug)

    def do_rename(self, machine: NotesMachine, slug: str, new: str) -> None:
        self._tick()
        if slug in machine.slugs() and slug != new:
            self._brain(machine).rename(slug, new)
            self._record_rename(machine, slug, new)
            self._deleted(machine, slug)
            self._made(machine, new)

    def do_undo(self, machine: NotesMachine, slug: str) -> None:
        self._tick()
        known = None if slug == "-" else slug
        if known is None or known in machine.slugs() | self.expected[machine.number].gone:
            self._record_undo(machine, self._brain(machine).undo(known))

    def _record_undo(self, machine: NotesMachine, done: UndoResult) -> None:
        now, then = done.before.slug, done.slug
        if done.outcome == "deleted":
            self._deleted(machine, now)
            return
        if now != then:
            self._record_rename(machine, now, then)
            self._deleted(machine, now)
        if then in machine.files() or then in self.expected[machine.number].gone:
            self._made(machine, then)

    def do_undo_order(self, machine: NotesMachine, slug: str, other: str, seconds: str) -> None:
        """Undo takes back what was written last, whatever the clock said."""
        brain = self._brain(machine)
        if self._depth > 1 or slug == other or not {slug, other} <= machine.slugs():
            return
        texts = []
        for name in (other, slug, slug):
            self._tick()
            text, marker = self._new_text(machine, name, brain.text(f"{name}.md"), "line", "1")
            written = brain.put(name, text.encode())
            if name in machine.files():
                self._acknowledge(machine, name, marker)
            if written.outcome != "updated" or (written.file and written.file.outcome != "written"):
                return
            texts.append(brain.text(f"{name}.md"))
            self.now -= timedelta(seconds=int(seconds))
        self._tick()
        for name in (slug, None):
            done = brain.undo(name)
            self._record_undo(machine, done)
            if done.slug != slug:
                raise Finding("wrong undo", f"undo took back {done.slug}, not {slug}")
        # Twice: the second undo went one change further back.
        changed = set(markers(texts[1])) & set(markers(brain.text(f"{slug}.md")))
        if self._last_marker(texts[1]) in changed or self._last_marker(texts[2]) in markers(
            brain.text(f"{slug}.md")
        ):
            raise Finding("wrong undo", f"undo of {slug} left what was written last")

    def _last_marker(self, text: str) -> Marker:
        return max(markers(text), key=lambda marker: marker.number)

    def do_sync(self, machine: NotesMachine) -> None:
        self._tick()
        expected = self.expected[machine.number]
        waiting = set(expected.must_go)
        report = self._import(machine, remove_missing=True)
        asked = {problem.code for problem in report.problems}
        for slug in waiting & expected.must_go.keys():
            if not machine.is_visible(slug) or machine.away or "many_missing" in asked:
                continue
            expected.must_go[slug] += 1

    def do_import(self, machine: NotesMachine) -> None:
        self._tick()
        self._import(machine)

    def _import(self, machine: NotesMachine, *, remove_missing: bool = False) -> ImportReport:
        brain = self._brain(machine) if self._depth else machine.brain
        with machine.environment():
            return brain.import_folder(machine.root, remove_missing=remove_missing)

    def do_resolve(self, machine: NotesMachine, slug: str, side: str) -> None:
        self._tick()
        if slug in machine.slugs():
            brain = self._brain(machine)
            texts = brain.conflict_texts(slug)
            chosen = texts.theirs if side == "file" else texts.brain
            brain.resolve_conflict(slug, chosen.encode() if chosen is not None else None, texts)
            (self._made if chosen is not None else self._deleted)(machine, slug)

    def do_forget(self, machine: NotesMachine) -> None:
        """Forget the folder and import it again."""
        self._tick()
        if machine.away:
            # What is not mounted would not be known to gbrain any more.
            return
        brain = self._brain(machine)
        brain.forget_folder(machine.root)
        self.expected[machine.number].must_go.clear()
        brain.allow_writing(machine.root)
        self._import(machine)

    def do_move_folder(self, machine: NotesMachine) -> None:
        """Move all notes to another place and tell gbrain, then back."""
        self._tick()
        if machine.away or self._depth > 1:
            return
        brain, other = self._brain(machine), machine.folder / "moved"
        with unreported():
            os.rename(machine.root, other)
        # What was removed before is not told from what was left behind.
        self.expected[machine.number].must_go.clear()
        moved = False
        try:
            brain.move_folder(machine.root, other)
            moved = True
            brain.import_folder(other, remove_missing=True)
        finally:
            with unreported():
                os.rename(other, machine.root)
        if moved:
            brain.move_folder(other, machine.root)

    def do_move_part(self, machine: NotesMachine, slug: str) -> None:
        """Say that the notes are in a folder that has a copy of one of them only."""
        self._tick()
        text = read_text(machine.file(slug))
        if machine.away or self._depth > 1 or text is None:
            return
        brain, part = self._brain(machine), machine.folder / "part"
        (part / slug).parent.mkdir(parents=True)
        (part / f"{slug}.md").write_text(text)
        try:
            brain.move_folder(machine.root, part)
            brain.import_folder(part, remove_missing=True)
            brain.move_folder(part, machine.root)
        finally:
            shutil.rmtree(part)

    def do_backup(self, machine: NotesMachine) -> None:
        backups = self.expected[machine.number].backups
        if len(backups) < 3:
            target = machine.folder / "backups" / f"{len(backups)}.db"
            target.parent.mkdir(mode=0o700, exist_ok=True)
            self._brain(machine).backup(target)
            backups.append(target)

    def do_restore(self, machine: NotesMachine, number: str) -> None:
        """Bring a backup back; what was only in the brain is in the file that restore keeps."""
        self._tick()
        expected = self.expected[machine.number]
        if not expected.backups or self._depth > 1:
            return
        machine.close()
        backup = expected.backups[int(number) % len(expected.backups)]
        done = restore_brain(machine.path, backup, self.now.strftime("%Y%m%dT%H%M%SZ"), 1.0)
        machine.open()
        if done.kept:
            done.kept.unlink()
        self._restored.add(machine.number)

    def do_push(self, machine: NotesMachine) -> None:
        self._tick()
        self._pulled = True
        self._brain(machine).push()

    def do_pull(self, machine: NotesMachine) -> None:
        self._tick()
        self._pulled = True
        self._brain(machine).pull()

    # --- what must hold --------------------------------------------------------------------

    def check(self) -> None:
        """Check what must hold of each machine after an operation; raise Finding."""
        for machine in self.machines:
            self._check_machine(machine)
        # Of what was deleted and written at the same time, either may have been the last.
        deleted = {(number, slug) for kind, number, slug in self._log if kind == "deleted"}
        for kind, number, slug in self._log:
            if kind == "made" and (number, slug) not in deleted:
                self.expected[number].may_go.discard(slug)
        self._log.clear()
        self._pulled = False
        self._restored.clear()

    def _check_machine(self, machine: NotesMachine) -> None:
        expected, state, files = self.expected[machine.number], machine.state(), machine.files()
        restored = machine.number in self._restored
        self._check_lines(machine, state, files, restored)
        self._check_owners(machine, state, files, restored)
        self._check_existence(machine, state, files, restored)
        for file, text in expected.private.items():
            if read_text(machine.stored(file)) != text:
                raise Finding("private file changed", str(file.relative_to(machine.folder)))
        expected.pages, expected.files = state.pages, files
        expected.versions = {(v.page_id, v.version) for v in state.versions}
        if restored:
            # What was created since has no number any more.
            expected.page_slugs.clear()
        expected.page_slugs |= {page.page_id: slug for slug, page in state.pages.items()}

    def _check_lines(
        self, machine: NotesMachine, state: BrainState, files: dict[str, str], restored: bool
    ) -> None:
        expected = self.expected[machine.number]
        in_brain = {marker for each in state.texts() for marker in markers(each.text)}
        in_files = {marker for text in files.values() for marker in markers(text)}
        if restored:
            expected.in_brain = in_brain
            expected.unseen |= in_files
        lost = expected.in_brain - in_brain
        if lost:
            raise Finding("text lost", f"{_shown(lost)} not in the brain any more")
        expected.in_brain = in_brain
        expected.unseen -= in_brain
        lost = expected.unseen - in_files
        if lost:
            raise Finding("text lost", f"{_shown(lost)} in no file, and not in the brain")
        expected.hidden -= {m for m in expected.hidden if m not in in_files}
        if expected.hidden & in_brain:
            raise Finding("ignored file read", _shown(expected.hidden & in_brain))
        private = {m for m in in_brain | in_files if m.note in self.private_notes}
        if private:
            raise Finding("private file read", _shown(private))
        for name, texts in (
            ("page", {slug: page.text for slug, page in state.pages.items()}),
            ("file", files),
        ):
            before = expected.files if name == "file" else expected.pages
            for slug, text in texts.items():
                if before.get(slug) == text:
                    continue
                if repeated_markers(text):
                    shown = _shown(set(repeated_markers(text)))
                    raise Finding("line doubled", f"{shown} in the {name} {slug}")
                if any(mark in text for mark in _CONFLICT_MARKS):
                    raise Finding("conflict marks", f"in the {name} {slug}")

    def _check_owners(
        self, machine: NotesMachine, state: BrainState, files: dict[str, str], restored: bool
    ) -> None:
        """Check that no page has text or history of another note."""
        expected = self.expected[machine.number]
        for version in state.versions:
            if (version.page_id, version.version) not in expected.versions:
                self._check_owner(version.slug, version.text, "history of")
        for slug, page in state.pages.items():
            if expected.pages.get(slug) != page:
                self._check_owner(slug, page.text, "page")
            old = None if restored else expected.page_slugs.get(page.page_id)
            if old is not None and old != slug:
                self._check_rename(state, page, old)
        for slug, text in files.items():
            if expected.files.get(slug) != text:
                self._check_owner(slug, text, "file of")

    def _check_owner(self, slug: str, text: str, what: str) -> None:
        # A file that was saved while another one got its name is next to that.
        own = slug.partition("-kept")[0]
        foreign = {m for m in markers(text) if own not in self.slugs_of[m.note]}
        if foreign:
            raise Finding("foreign text", f"{_shown(foreign)} in the {what} {slug}")

    def _check_rename(self, state: BrainState, page: StoredVersion, old: str) -> None:
        """Check that a page that has another slug was renamed, or that nobody could tell."""
        known = any({old, page.slug} <= slugs for slugs in self.slugs_of.values())
        if known or (old, page.slug) in self.renames:
            return
        past = [v for v in state.versions if v.page_id == page.page_id and v.slug == old]
        others = {v.text for v in state.texts() if v.page_id != page.page_id}
        last = max(past, key=lambda version: version.version).text if past else None
        if last == page.text and last not in others:
            # A file with the same text, which no other page has or had.
            self._record_rename(self.machines[0], old, page.slug)
            return
        raise Finding("foreign history", f"{page.slug} has the history of {old}")

    def _check_existence(
        self, machine: NotesMachine, state: BrainState, files: dict[str, str], restored: bool
    ) -> None:
        expected = self.expected[machine.number]
        now_at = {page.page_id: slug for slug, page in state.pages.items()}
        deleted = {s for kind, n, s in self._log if kind == "deleted" and n == machine.number}
        if restored:
            # The person wants them back.
            expected.may_go -= state.pages.keys() - expected.pages.keys()
            # Or the state in which others are deleted, whose removal may still wait.
            expected.may_go |= expected.pages.keys() - state.pages.keys()
            expected.gone -= state.pages.keys()
            expected.deleted_in_step.clear()
            expected.must_go.clear()
        else:
            for slug in expected.pages.keys() - state.pages.keys():
                moved = expected.pages[slug].page_id in now_at
                if slug not in expected.may_go and not moved:
                    raise Finding("page vanished", f"{slug} on machine {machine.number}")
                for other in self.expected:
                    other.may_go.add(slug)
                if slug not in files or slug in expected.deleted_in_step:
                    expected.gone.add(slug)
            appeared = state.pages.keys() - expected.pages.keys()
            returned = appeared & expected.gone
            if returned and not self._pulled:
                raise Finding("deleted page returned", ", ".join(sorted(returned)))
            expected.gone -= returned
            if not self._pulled:
                # What another machine deleted may be on its way.
                expected.may_go -= appeared - deleted
        for slug in expected.files.keys() - files.keys():
            if slug not in expected.may_go:
                raise Finding("file vanished", f"{slug} on machine {machine.number}")
            pulled = self._pulled and slug not in state.pages and slug in expected.pages
            if pulled and slug not in deleted and expected.files[slug] not in machine.trash():
                raise Finding("file not in the trash", f"{slug} on machine {machine.number}")
        for slug, syncs in expected.must_go.items():
            if syncs >= 2 and slug in state.pages and slug not in files:
                raise Finding("never deleted", f"{slug} after {syncs} syncs")

    def rest(self) -> None:
        """Let everything come to rest and check that files and pages agree."""
        for machine in self.machines:
            for part in ("all", *MOUNTED_FOLDERS):
                self.do_mount(machine, part)
            for part in MOUNTED_FOLDERS:
                self.do_unignore(machine, part)
        self.check()
        for _ in range(2):
            for machine in self.machines:
                self.now += timedelta(seconds=_SECOND_LOOK_SECONDS)
                self.execute(Operation(("sync", str(machine.number))))
        if len(self.machines) > 1:
            self._exchange()
        for machine in self.machines:
            self._check_agreement(machine)

    def _exchange(self) -> None:
        # A conflict that a pull settles is pushed in the second round, and pulled in the third.
        for _ in range(3):
            for machine in self.machines:
                for name in ("push", "pull", "sync"):
                    self.now += timedelta(seconds=_SECOND_LOOK_SECONDS)
                    self.execute(Operation((name, str(machine.number))))
        open_conflicts = {
            conflict.slug for machine in self.machines for conflict in machine.brain.conflicts()
        }
        first, *others = [machine.state().pages for machine in self.machines]
        for other in others:
            for slug in (first.keys() | other.keys()) - open_conflicts:
                texts = [side[slug].text if slug in side else None for side in (first, other)]
                if texts[0] != texts[1] and slug.partition("/")[0] not in (PRIVATE, LINKED):
                    raise Finding("machines differ", slug)

    def _check_agreement(self, machine: NotesMachine) -> None:
        """Check that pages and files agree, or that the difference is recorded."""
        with machine.environment():
            conflicts = {conflict.slug for conflict in machine.brain.conflicts()}
        state, files = machine.state(), machine.files()
        rows = machine.brain.database.connection.execute(
            "SELECT slug FROM pages WHERE vault_id IS NOT NULL"
        ).fetchall()
        with_file = {row[0] for row in rows}
        for slug in (with_file | files.keys()) - conflicts:
            if slug.partition("/")[0] in (PRIVATE, LINKED):
                continue
            page = state.pages.get(slug)
            if slug not in files and slug in self.expected[machine.number].may_go:
                # Removed where nobody could tell; sync says that it is missing.
                continue
            if page is None or files.get(slug) != page.text:
                there = "no page" if page is None else "no file" if slug not in files else "differ"
                raise Finding("not in step", f"{slug} on machine {machine.number}: {there}")


def _shown(found: AbstractSet[Marker]) -> str:
    return ", ".join(str(marker) for marker in sorted(found))


# Operations that touch no brain.
FILE_OPERATIONS = frozenset(
    {"save", "new", "rm", "mv", "cp", "ignore", "unignore", "unmount", "mount", "clock"}
)


# Operations during which nothing else happens: they move all notes away, or count changes.
_ALONE = frozenset({"move-folder", "move-part", "undo-order"})


class _Save:
    """An editor that is saving a note, one step after the other."""

    def __init__(
        self,
        notes: SharedNotes,
        machine: NotesMachine,
        slug: str,
        way: str,
        change: str,
        place: str,
        pace: int,
    ) -> None:
        self.notes, self.machine, self.slug = notes, machine, slug
        self.pace = self.left = max(pace, 1)
        self.marker: Marker | None = None

        def changed(text: str | None) -> str:
            new, self.marker = notes._new_text(machine, slug, text, change, place)
            return new

        self.steps: Steps = save_file(machine.file(slug), way, changed, lambda: None)

    def advance(self) -> None:
        self.left -= 1
        if self.left <= 0:
            self.left = self.pace
            self.step()

    def step(self) -> None:
        try:
            next(self.steps)
        except StopIteration:
            self._end()
        except OSError:
            # The folder was removed or the temporary file is gone: the editor tells its user.
            del self.notes._saving[self.machine.number, self.slug]

    def _end(self) -> None:
        assert self.marker
        del self.notes._saving[self.machine.number, self.slug]
        expected = self.notes.expected[self.machine.number]
        expected.unseen.add(self.marker)
        if self.machine.is_ignored(self.slug):
            expected.hidden.add(self.marker)
        self.notes._made(self.machine, self.slug)

    def finish(self) -> None:
        while self.notes._saving.get((self.machine.number, self.slug)) is self:
            self.notes.wait_in_save()
            self.step()


def replay(lines: str, folder: Path, empty_brain: Path, **setup: object) -> None:
    """Run operations written one on each line; raise Finding."""
    operations = [Operation.parse(line) for line in lines.splitlines() if line.strip()]
    notes = SharedNotes(folder, empty_brain, **setup)  # type: ignore[arg-type]
    try:
        notes.run(operations)
    finally:
        notes.remove()
