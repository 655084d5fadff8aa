"""Cuts the power at every change that commands make to the disk, and looks at what is left.

    python tests/faults/test_power_loss.py STATES_PER_CHANGE [SEED]

Commands run once, under a library that records their writes, flushes and renames. From the record
the files are built again as a power loss may leave them after each change (`crash_states.py`).
There the brain must open and be intact, hold what was acknowledged, and take a new page.
"""

from __future__ import annotations

import gzip
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import pytest
from crash_states import Disk, State
from disk_shim import Event, ShimmedPrograms, shimmed_programs
from running import FAST_FOLDER
from soundness import page_texts

from gbrain.brain import Brain
from gbrain.store.atomic_files import SQLITE_SUFFIXES

OLD_BRAINS = Path(__file__).parents[2] / "fixtures" / "brains"
LONG = "word " * 3000

Facts = dict[str, dict[str, object]]


class Step(NamedTuple):
    """A command with its input, and the files that it finds."""

    arguments: tuple[str, ...]
    stdin: str = ""
    files: dict[str, str] = {}  # noqa: RUF012
    # It writes in more than one transaction: some pages may be written and others not.
    in_parts: bool = False


STEPS = (
    Step(("put", "alpha"), "# Alpha\n\nFirst.\n"),
    Step(("put", "alpha"), f"# Alpha\n\n{LONG}\n"),
    Step(("capture", "a line for the inbox")),
    Step(("put", "beta"), "# Beta\n\nSee [[alpha]].\n"),
    Step(("rename", "beta", "gamma")),
    Step(("config", "set", "rrf_k", "33")),
    Step(("backup", "ROOT/copy.db")),
    Step(("delete", "gamma")),
    Step(
        ("import", "ROOT/notes", "--no-embed"),
        files={f"notes/{n}.md": f"# Note {n}\n\nText {n}.\n" for n in range(6)},
        in_parts=True,
    ),
    Step(("sync", "--no-embed"), files={"notes/1.md": "# Note 1\n\nNew.\n"}, in_parts=True),
    Step(("put", "1"), "# Note 1\n\nWritten to its file.\n"),
    Step(("rename", "2", "deep/two")),
    Step(("delete", "3")),
    Step(("undo", "3")),
    Step(("export", "ROOT/out")),
    Step(("put", "alpha"), "# Alpha\n\nSecond.\n"),
    Step(("export", "ROOT/out")),
    Step(("export", "ROOT/site", "--format", "json")),
    Step(("graph", "--html", "ROOT/graph.html")),
    Step(("backup", "ROOT/copy.db", "--force")),
    Step(("put", "delta"), "# Delta\n\nAfter the backup.\n"),
    Step(("compact",)),
    Step(("restore", "ROOT/copy.db")),
    Step(("put", "epsilon"), "# Epsilon\n\nAfter the restore.\n"),
    Step(("doctor", "--repair")),
)


class CommandRecord(NamedTuple):
    """A command that ran: the changes it made, and what the folder held before and after it."""

    step: Step
    events: list[Event]
    before: Facts
    after: Facts


class Recording(NamedTuple):
    """Commands one after the other on one folder, and the disk before the first."""

    root: str
    files: dict[str, bytes]
    commands: list[CommandRecord]


def observe(folder: Path) -> Facts:
    """Return what the files of a folder hold; the brain and its copies must be intact."""
    facts: Facts = {name: {} for name in ("pages", "versions", "settings", "copies", "files")}
    if not folder.exists():
        return facts
    brain = folder / "brain.db"
    if brain.exists():
        with Brain.open(brain) as opened:
            connection = opened.database.connection
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            slugs = [page.slug for page in opened.list()[0]]
            facts["pages"] = {slug: opened.text(slug) for slug in slugs}
            facts["settings"] = dict(opened.stored_settings)
            facts["versions"] = {
                f"{slug}@{version.version}": opened.text(slug, version.version)
                for slug in slugs
                for version in opened.history(slug)
            }
    for file in sorted(folder.rglob("*")):
        name = str(file.relative_to(folder))
        if file.name.endswith((".gbrain-new", ".gbrain-old", *SQLITE_SUFFIXES)):
            continue
        if name.startswith(("brain.db.", "copy")):
            with closing(sqlite3.connect(file)) as raw:
                assert raw.execute("PRAGMA quick_check").fetchall() == [("ok",)]
            facts["copies"][name] = page_texts(file)
        elif name.startswith(("out/", "site/", "notes/", "graph")) and file.is_file():
            facts["files"][name] = file.read_bytes()
    return facts


def record(programs: ShimmedPrograms, steps: tuple[Step, ...], scratch: Path) -> Recording:
    """Run the commands one after the other and return what they did."""
    root = programs.root
    disk_files = {str(file): file.read_bytes() for file in root.rglob("*") if file.is_file()}
    recorded, after = [], observe_copy(root, scratch)
    for step in steps:
        for name, text in step.files.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
        before = observe_copy(root, scratch) if step.files else after
        arguments = [word.replace("ROOT", str(root)) for word in step.arguments]
        outcome = programs.run(*arguments, stdin=step.stdin)
        assert outcome.exit_code == 0, (step, outcome)
        events, after = programs.events(), observe_copy(root, scratch)
        recorded.append(CommandRecord(step, events, before, after))
    return Recording(str(root), disk_files, recorded)


def observe_copy(root: Path, scratch: Path) -> Facts:
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(root, scratch)
    try:
        return observe(scratch)
    finally:
        shutil.rmtree(scratch)


class Crash(NamedTuple):
    """A state after a power loss, the command during which it came, and whether that had ended."""

    state: State
    command: CommandRecord
    number: int
    ended: bool


def crashes(recording: Recording, rng: random.Random, extra: int, share: float) -> Iterator[Crash]:
    """Yield the states after a power loss at a share of all changes, and at the last of a command.

    Every state comes once for each command.
    """
    disk = Disk(recording.root)
    for path, data in recording.files.items():
        disk.add_safe_file(path, data)
    for command in recording.commands:
        for name, text in command.step.files.items():
            disk.add_safe_file(f"{recording.root}/{name}", text.encode())
        seen = set()
        for number, event in enumerate(command.events, 1):
            disk.add(event)
            ended = number == len(command.events)
            if not ended and rng.random() >= share:
                continue
            for state in disk.states(rng, extra):
                if (key := (ended, state.digest())) not in seen:
                    seen.add(key)
                    yield Crash(state, command, number, ended)


def check_crash(crash: Crash, root: str, folder: Path) -> None:
    """Assert that what was acknowledged is there, and that nothing is half done."""
    crash.state.write(root, folder)
    found = observe(folder)
    before, after = crash.command.before, crash.command.after
    for kind, items in found.items():
        for name in items.keys() | before[kind].keys() | after[kind].keys():
            allowed = [after[kind].get(name)]
            if not crash.ended:
                allowed.append(before[kind].get(name))
            assert items.get(name) in allowed, f"{kind}: {name} is {str(items.get(name))[:80]!r}"
    if not crash.command.step.in_parts:
        assert found["pages"] in (before["pages"], after["pages"])
    common = set(before["pages"].values()) & set(after["pages"].values())
    with Brain.open(folder / "brain.db", make=True) as brain:
        brain.put("new", b"# New\n")
        for root in brain.folder_roots():
            if not Path(root).is_relative_to(folder):
                # An old brain's, which was never on this computer.
                continue
            brain.import_folder(Path(root), remove_missing=True)
            left = {brain.text(page.slug) for page in brain.list()[0]}
            assert common <= left, f"sync lost {common - left}"


def check_all(recording: Recording, extra: int, seed: int, share: float = 1.0) -> Counter[str]:
    """Check the states at a share of all changes; return how many for each command."""
    rng, checked = random.Random(seed), Counter[str]()
    failures: Counter[str] = Counter()
    # At the same path: the brain knows where its notes are.
    folder = Path(recording.root)
    for crash in crashes(recording, rng, extra, share):
        name = " ".join(crash.command.step.arguments[:2])
        checked[name] += 1
        shutil.rmtree(folder, ignore_errors=True)
        try:
            check_crash(crash, recording.root, folder)
        except Exception as error:
            failures[f"{name}, change {crash.number}: {type(error).__name__}: {error}"[:300]] += 1
    assert not failures, "\n".join(f"{count} × {what}" for what, count in failures.most_common(40))
    return checked


def record_session(folder: Path) -> Iterator[Recording]:
    """Yield a session of all commands, then the upgrade of a brain of each older schema."""
    root = folder / "root"
    root.mkdir(mode=0o700)
    with shimmed_programs(root, folder) as programs:
        yield record(programs, STEPS, folder / "scratch")
        for old in sorted(OLD_BRAINS.glob("*.gz")):
            shutil.rmtree(root)
            root.mkdir(mode=0o700)
            programs.events()
            (root / "brain.db").write_bytes(gzip.decompress(old.read_bytes()))
            (root / "brain.db").chmod(0o600)
            steps = (Step(("config", "set", "rrf_k", "33")),)
            yield record(programs, steps, folder / "scratch")


@pytest.mark.parametrize(
    ("extra", "share"), [(0, 0.01), pytest.param(6, 1.0, marks=pytest.mark.slow)]
)
def test_a_power_loss_loses_nothing_acknowledged(extra: int, share: float) -> None:
    with tempfile.TemporaryDirectory(dir=FAST_FOLDER) as folder:
        checked = Counter[str]()
        for recording in record_session(Path(folder)):
            checked += check_all(recording, extra, 2026, share)
    assert len(checked) >= len({step.arguments[:2] for step in STEPS})


def main() -> None:
    extra, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    began, checked = monotonic(), Counter[str]()
    with tempfile.TemporaryDirectory(dir=FAST_FOLDER) as folder:
        for recording in record_session(Path(folder)):
            checked += check_all(recording, extra, seed)
    for name, count in sorted(checked.items()):
        print(f"{name:40}{count:6} states")
    print(f"{checked.total()} states in {monotonic() - began:.0f} s, seed {seed}: nothing lost")


if __name__ == "__main__":
    main()
