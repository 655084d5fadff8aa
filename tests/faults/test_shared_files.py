"""Random people, editors, disks and programs share folders of notes with gbrain.

See `notes_model.py` for what must hold. A finding is printed as the shortest list of operations
that shows it, which `replay` runs again.

    python tests/faults/test_shared_files.py OPERATIONS [SEED]

Most episodes run in one process, where what happens meanwhile happens before a chosen access to a
file. In each twelfth, two machines share a remote; in each two hundredth, editors and programs
really run at the same time, on a slow disk.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from concurrent_notes import ConcurrentNotes
from editor_saves import WAYS_TO_SAVE
from marked_texts import WAYS_TO_CHANGE
from notes_machine import MOUNTED_FOLDERS, use_own_mounts
from notes_model import FILE_OPERATIONS, SLUGS, Finding, Operation, SharedNotes
from postgres_server import FAST, start_server
from running import FAST_FOLDER
from slow_brains import compile_slow_disk

from gbrain.store.connection import create_brain

if TYPE_CHECKING:
    from postgres_server import Server

NotesT = TypeVar("NotesT", bound=SharedNotes)
_OPERATIONS_PER_EPISODE = 50
_ROUNDS = 6
# A put or sync has about so many accesses to files and transactions.
_MAX_EVENTS = 30
_MAX_SHRINKING_RUNS = 400
_PERSON = {
    "save": 14, "new": 3, "rm": 3, "mv": 3, "cp": 1, "ignore": 1, "unignore": 1, "unmount": 1,
    "mount": 2, "clock": 1,
}  # fmt: skip
_PROGRAMS = {
    "put": 10, "put-template": 2, "put-private": 1, "edit": 2, "capture": 3, "capture-lost": 1,
    "timeline": 2, "done": 2, "delete": 3, "rename": 3, "undo": 3, "undo-order": 1, "sync": 14,
    "import": 1, "resolve": 1, "forget": 1, "move-folder": 1, "move-part": 1, "backup": 1,
    "restore": 1,
}  # fmt: skip
_MEANWHILE = {
    "save": 20, "new": 2, "rm": 2, "mv": 2, "put": 4, "delete": 2, "rename": 2, "capture": 1,
    "undo": 1, "sync": 2,
}  # fmt: skip
# All that write, move or remove the file of one page.
_COMMANDS = (
    "put 0 a line 1", "edit 0 a entry 1", "timeline 0 a 3", "undo 0 a", "sync 0", "delete 0 a",
    "rename 0 a inbox",
)  # fmt: skip
_SHORT_COMMANDS = ("delete", "rename")
_EXCHANGES = {"push": 8, "pull": 8}
_CONCURRENT_PROGRAMS = {
    "put": 6, "capture": 2, "timeline": 2, "done": 2, "edit": 2, "delete": 1, "rename": 1,
    "undo": 1, "sync": 5,
}  # fmt: skip
_CONCURRENT_PERSON = {"save": 16, "new": 1, "rm": 1, "mv": 1}
_SLOW_MILLISECONDS = 10


# Short lists of operations with which the model found something, before it was repaired.
_FOUND = (
    "put-private 0 secrets/x line 3",
    "put-private 0 linked/e tick 0",
    "unmount 0 area / sync 0",
    "unmount 0 all / capture 0 inbox",
    "unmount 0 all / rename 0 deep/h inbox / rename 0 area/g deep/h",
    "unmount 0 all / done 0 area/g @1 rename 0 area/g inbox / put-template 0 area/g 0",
    "unmount 0 all / put 0 deep/h entry 2 @1 delete 0 deep/h / put-template 0 deep/h 0",
    "rm 0 area/e / sync 0 / unmount 0 all / put 0 area/e task 1",
    "ignore 0 deep / sync 0",
    "ignore 0 area / save 0 area/e rename-over tick 0 / put 0 area/e task 2",
    "rm 0 deep/h / sync 0 / put 0 deep/h entry 1 / ignore 0 deep / delete 0 area/e / "
    "save 0 area/e rename-away entry 1 / capture 0 a @15 sync 0",
    "capture-lost 0 d",
    "undo-order 0 area/f a 5",
    "move-part 0 area/e",
    "move-folder 0 / rm 0 deep/h",
    "backup 0 / delete 0 a / restore 0 0",
    "backup 0 / rm 0 c / sync 0 / restore 0 1",
    "sync 0 @6 save 0 b rename-away line 3 4",
    "done 0 c @14 save 0 a rename-away task 2 4 @15 sync 0",
    "timeline 0 area/e 18 @9 save 0 area/e flush-rename tick 3 1",
    "put 0 b task 2 @10 save 0 b in-place entry 2 8",
    "delete 0 inbox @4 save 0 inbox flush-rename tick 2 1",
    "delete 0 area/f @6 save 0 area/f flush-rename task 3 4 @11 put 0 area/f line 2",
    "rename 0 d inbox @5 save 0 d flush-rename tick 1 1",
    "timeline 0 area/f 9 / save 0 area/f rename-away reword 3 / forget 0",
    "rm 0 area/e / sync 0 / unmount 0 area / rename 0 a area/e / sync 0",
    "unmount 0 area / import 0 / sync 0",
    "unmount 0 deep / delete 0 deep/h / sync 0 / sync 0",
    # Removals and renames that wait for a disk to be mounted are those of one file.
    "put-template 0 a 0 / put 0 a line 1 / unmount 0 all / delete 0 a / mount 0 all / rm 0 a / "
    "new 0 a 0",
    "unmount 0 all / rename 0 a inbox / mount 0 all / rm 0 a / new 0 a 0",
    "unmount 0 area / delete 0 area/e / mount 0 area / forget 0",
    "backup 0 / restore 0 0 / unmount 0 all / delete 0 a / backup 0 / mount 0 all / sync 0 / "
    "undo 0 a / restore 0 1",
    # Notes from one template are no renamed ones.
    "put-template 0 a 0 / put-template 0 b 0 / new 0 inbox 0 / rm 0 a",
    "put-template 0 a 0 / put 0 a line 1 / new 0 inbox 0 / rm 0 a",
)


class Generator:
    """Chooses random operations; each episode has other ones more often than the rest."""

    def __init__(self, seed: int, machines: int = 1) -> None:
        self.rng = random.Random(seed)
        self.slugs: Sequence[str] = SLUGS
        self.machines = machines
        # Only some operations, so that they meet each other in more ways.
        self.often: dict[str, float] = {}
        everything = {**_PERSON, **_PROGRAMS, **(_EXCHANGES if machines > 1 else {})}
        for name, weight in everything.items():
            self.often[name] = weight * self.rng.choice([0, 1, 1, 3])
        self.often["sync"] = max(self.often["sync"], 5)
        self.often["save"] = max(self.often["save"], 5)
        self.is_disturbed = self.rng.random() < 0.7

    def operations(self, count: int) -> list[Operation]:
        return [self._operation() for _ in range(count)]

    def _operation(self) -> Operation:
        words = self._words(self.often, meanwhile=False)
        during: list[tuple[int, tuple[str, ...]]] = []
        if self.is_disturbed and words[0] not in FILE_OPERATIONS:
            while self.rng.random() < 0.6 and len(during) < 4:
                at = int(_MAX_EVENTS * self.rng.random() ** 1.2) + 1
                same = words[2] if len(words) > 2 and words[2] in SLUGS else None
                during.append((at, self._words(_MEANWHILE, meanwhile=True, same=same)))
        return Operation(words, tuple(sorted(during)))

    def _words(
        self, weights: Mapping[str, float], *, meanwhile: bool, same: str | None = None
    ) -> tuple[str, ...]:
        rng = self.rng
        [name] = rng.choices(list(weights), list(weights.values()))
        machine = str(rng.randrange(self.machines))
        slug = same if same and rng.random() < 0.6 else rng.choice(self.slugs)
        change = (rng.choice(WAYS_TO_CHANGE), str(rng.randrange(4)))
        part = rng.choice(MOUNTED_FOLDERS)
        arguments: dict[str, Callable[[], tuple[str, ...]]] = {
            "save": lambda: (
                slug, rng.choice(list(WAYS_TO_SAVE)), *change,
                *([str(rng.choice([1, 2, 4, 8]))] if meanwhile else []),
            ),
            "new": lambda: (slug, str(rng.randrange(2))),
            "mv": lambda: (slug, rng.choice(self.slugs)),
            "cp": lambda: (slug, rng.choice(self.slugs)),
            "ignore": lambda: (part,),
            "unignore": lambda: (part,),
            "unmount": lambda: (rng.choice([*MOUNTED_FOLDERS, "all"]),),
            "mount": lambda: (rng.choice([*MOUNTED_FOLDERS, "all"]),),
            "clock": lambda: (rng.choice(["-86400", "-60", "60", "864000"]),),
            "put": lambda: (slug, *change),
            "put-template": lambda: (slug, str(rng.randrange(2))),
            "put-private": lambda: (rng.choice(["secrets/x", "linked/y", "linked/e"]), *change),
            "edit": lambda: (slug, *change),
            "timeline": lambda: (slug, str(rng.randrange(28))),
            "rename": lambda: (slug, rng.choice(self.slugs)),
            "undo": lambda: (rng.choice([slug, slug, "-"]),),
            "undo-order": lambda: (slug, rng.choice(self.slugs), rng.choice(["5", "3600"])),
            "resolve": lambda: (slug, rng.choice(["file", "brain"])),
            "restore": lambda: (str(rng.randrange(3)),),
        }  # fmt: skip
        without = ("sync", "import", "forget", "move-folder", "backup", "push", "pull")
        if name in without:
            return (name, machine)
        return (name, machine, *(arguments[name]() if name in arguments else (slug,)))

    def rounds(self, count: int) -> tuple[list[list[list[Operation]]], list[Operation]]:
        """Return rounds of operations of two programs and two editors, and one after each."""
        between = [self._operation()._replace(during=()) for _ in range(count)]
        # So few that all of them meet.
        self.slugs = self.rng.sample(SLUGS, 3)
        programs, person = (_CONCURRENT_PROGRAMS, 6), (_CONCURRENT_PERSON, 15)
        together = [
            [
                [Operation(self._words(weights, meanwhile=False)) for _ in range(operations)]
                for weights, operations in (programs, programs, person, person)
            ]
            for _ in range(count)
        ]
        return together, between


class Runner:
    """Runs episodes, each with a new brain in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.empty_brain = folder / "empty" / "brain.db"
        self.empty_brain.parent.mkdir(mode=0o700)
        create_brain(self.empty_brain)
        self.operations = 0
        self.faults: Counter[str] = Counter()

    def run(self, operations: Sequence[Operation], setup: Mapping[str, Any]) -> Finding | None:
        """Run an episode and return what it found."""
        place = Path(tempfile.mkdtemp(dir=self.folder))
        with closing_notes(SharedNotes(place, self.empty_brain, **setup)) as notes:
            try:
                notes.run(operations)
            except Finding as finding:
                return finding
            finally:
                self.operations += notes.operations
                self.faults += notes.faults
        return None

    def run_concurrently(self, seed: int, library: Path, rounds: int) -> Finding | None:
        """Run an episode in which editors and programs are threads and processes."""
        place = Path(tempfile.mkdtemp(dir=self.folder))
        together, between = Generator(seed).rounds(rounds)
        with closing_notes(
            ConcurrentNotes(place, self.empty_brain, library, _SLOW_MILLISECONDS)
        ) as notes:
            try:
                notes.run_rounds(together, between, seed)
            except Finding as finding:
                return finding
            finally:
                self.operations += notes.operations
                self.faults += notes.faults + Counter({"concurrent": notes.operations})
        return None

    def shrink(
        self, operations: Sequence[Operation], setup: Mapping[str, Any], kind: str
    ) -> list[Operation]:
        """Return as few of the operations as show the same kind of finding."""
        before = self.operations, self.faults.copy()
        left = _MAX_SHRINKING_RUNS

        def shows(shorter: Sequence[Operation]) -> bool:
            nonlocal left
            left -= 1
            found = self.run(shorter, setup)
            return found is not None and found.kind == kind

        kept = list(operations)
        size = max(len(kept) // 2, 1)
        while size and left > 0:
            at = 0
            while at < len(kept) and left > 0:
                shorter = kept[:at] + kept[at + size :]
                if shows(shorter):
                    kept = shorter
                else:
                    at += size
            size //= 2
        for at, operation in enumerate(kept):
            for number in reversed(range(len(operation.during))):
                during = kept[at].during
                fewer = kept[at]._replace(during=during[:number] + during[number + 1 :])
                shorter = [*kept[:at], fewer, *kept[at + 1 :]]
                if left > 0 and shows(shorter):
                    kept = shorter
        self.operations, self.faults = before
        return kept


@contextmanager
def closing_notes(notes: NotesT) -> Iterator[NotesT]:
    """Yield the notes, and delete their folder at the end."""
    try:
        yield notes
    finally:
        notes.remove()
        shutil.rmtree(notes.folder)


def make_setup(seed: int, mounts: bool = False) -> dict[str, Any]:
    """Return how the machines of an episode are set up."""
    rng = random.Random(seed)
    return {"link_inside": rng.random() < 0.5, "mounts": mounts and rng.random() < 0.5}


def describe(finding: Finding, operations: Sequence[Operation], setup: Mapping[str, Any]) -> str:
    lines = [f"{finding} ({', '.join(f'{name}={value}' for name, value in setup.items())})"]
    return "\n".join([*lines, *(f"    {operation}" for operation in operations)])


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a folder in memory, with the environment of an episode."""
    kept = dict(os.environ)
    os.environ["TZ"] = "UTC"
    with tempfile.TemporaryDirectory(prefix="gbrain-shared-", dir=FAST_FOLDER) as folder:
        os.environ["HOME"] = os.environ["XDG_CACHE_HOME"] = folder
        try:
            yield Path(folder)
        finally:
            os.environ.clear()
            os.environ.update(kept)


@pytest.mark.parametrize("lines", _FOUND)
def test_what_was_found_stays_repaired(lines: str) -> None:
    operations = [Operation.parse(line) for line in lines.split(" / ")]
    with scratch_folder() as folder:
        found = Runner(folder).run(operations, {"link_inside": "linked/e" in lines})
    assert found is None, str(found)


@pytest.mark.parametrize("episodes", [8, pytest.param(400, marks=pytest.mark.slow)])
def test_notes_shared_with_other_programs_lose_nothing(episodes: int) -> None:
    with scratch_folder() as folder:
        runner = Runner(folder)
        for seed in range(episodes):
            setup = make_setup(seed)
            operations = Generator(seed).operations(_OPERATIONS_PER_EPISODE)
            found = runner.run(operations, setup)
            assert found is None, describe(
                found, runner.shrink(operations, setup, found.kind), setup
            )
        assert runner.operations > episodes * _OPERATIONS_PER_EPISODE


def saves_during_commands(
    commands: Sequence[str], ways: Iterable[str], paces: Sequence[int]
) -> Iterator[list[Operation]]:
    """Yield these ways to save a note at each moment of commands that write its file."""
    for command in commands:
        moments = range(1, _MAX_EVENTS if command.split()[0] not in _SHORT_COMMANDS else 20)
        for way, pace, at in product(ways, paces, moments):
            line = f"{command} @{at} save 0 a {way} line 2 {pace}"
            yield [Operation.parse("put 0 a task 1"), Operation.parse(line)]


@pytest.mark.parametrize(
    ("commands", "ways", "paces"),
    [
        (_COMMANDS[-2:], ("in-place", "rename-over"), (2,)),
        pytest.param(_COMMANDS, WAYS_TO_SAVE, (1, 3, 100), marks=pytest.mark.slow),
    ],
    ids=["short", "long"],
)
def test_a_save_at_any_moment_of_a_command_is_kept(
    commands: Sequence[str], ways: Iterable[str], paces: Sequence[int]
) -> None:
    with scratch_folder() as folder:
        runner = Runner(folder)
        for operations in saves_during_commands(commands, ways, paces):
            found = runner.run(operations, {})
            assert found is None, describe(found, operations, {})
        assert runner.faults["save meanwhile"] > 40


@pytest.mark.parametrize("episodes", [2, pytest.param(60, marks=pytest.mark.slow)])
def test_notes_of_two_machines_with_a_remote_lose_nothing(
    new_database: Callable[[], str], postgres_server: Server, episodes: int
) -> None:
    with scratch_folder() as folder:
        runner = Runner(folder)
        for seed in range(episodes):
            url = postgres_server.socket_url(new_database())
            setup = make_setup(seed) | {"machines": 2, "remote": url}
            operations = Generator(seed, machines=2).operations(_OPERATIONS_PER_EPISODE)
            found = runner.run(operations, setup)
            assert found is None, describe(found, operations, setup)
        assert runner.faults["pull"]


@pytest.mark.slow
@pytest.mark.parametrize("episodes", [1, 40])
def test_editors_and_programs_at_the_same_time_lose_nothing(episodes: int) -> None:
    with scratch_folder() as folder:
        runner, library = Runner(folder), compile_slow_disk(folder)
        for seed in range(episodes):
            found = runner.run_concurrently(seed, library, rounds=3)
            assert found is None, f"{found}, seed {seed}"
        assert runner.faults["sync"]


def main() -> None:
    wanted, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    mounts = use_own_mounts()
    began = monotonic()
    findings: Counter[str] = Counter()
    with scratch_folder() as folder, start_server(**FAST) as server:
        runner, library = Runner(folder), compile_slow_disk(folder)
        while runner.operations < wanted:
            setup = make_setup(seed, mounts)
            machines = 1
            if seed % 12 == 11:
                machines = 2
                server.empty_database("postgres")
                setup |= {"machines": machines, "remote": server.socket_url("postgres")}
            operations = Generator(seed, machines).operations(_OPERATIONS_PER_EPISODE)
            if seed % 200 == 199:
                found = runner.run_concurrently(seed, library, _ROUNDS)
            else:
                found = runner.run(operations, setup)
            if found:
                findings[found.kind] += 1
                if findings[found.kind] <= 3:
                    shown = operations
                    if machines == 1 and seed % 200 != 199:
                        shown = runner.shrink(operations, setup, found.kind)
                    print(f"seed {seed}: {describe(found, shown, setup)}", flush=True)
            seed += 1
            if seed % 100 == 0:
                print(f"{runner.operations} operations, {findings.total()} findings", flush=True)
        seconds = monotonic() - began
        print(
            f"{runner.operations} operations in {seconds:.0f} s; {sum(findings.values())} findings"
        )
        for name, count in [*findings.most_common(), *runner.faults.most_common()]:
            print(f"{count:8} {name}")


if __name__ == "__main__":
    main()
