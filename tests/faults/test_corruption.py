"""Damages brain files in random and in crafted ways and runs every command on them.

    python tests/faults/test_corruption.py COUNT [SEED]

A command on a damaged brain prints a clear error or an answer: never a traceback, never more than
its limits of time and memory, and nothing in the file is executed. If doctor finds no problem,
every answer is that of the sound brain; after a successful repair, all commands work again.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from time import monotonic

import pytest
from corruptions import RANDOM, Corruption, truncate
from crafted import CRAFTED, craft, odd_files
from running import (
    FAST_FOLDER,
    MODEL_COMMANDS,
    NOON,
    READ_COMMANDS,
    WRITE_COMMANDS,
    CommandResult,
    copy_brain,
    in_child_process,
    load_program,
    run_on_copy,
)

from gbrain.brain import Brain

SAMPLE = Path(__file__).parents[2] / "gbrain" / "sample"
SLOW = pytest.mark.slow
ALL_COMMANDS = READ_COMMANDS | MODEL_COMMANDS | WRITE_COMMANDS
# Errors that are right after a repair, as some pages are lost.
REPAIR = ("doctor", "--full", "--repair", "--quiet", "--json")
MISSING_MESSAGES = (
    "no page",
    "was deleted on",
    "no version",
    "no task",
    "no earlier text",
    "No folder",
    "no folder",
    "shares the slug",
)


class SoundBrain:
    """A sound brain with vectors and history, and the output of commands on it."""

    def __init__(self, folder: Path, embedded: Path | None = None) -> None:
        self.folder, self.brain = folder, folder / "brain.db"
        self.notes = folder / "notes"
        self.compared = False
        self._outputs: dict[str, str] = {}
        # Commands may write to the folder: not to that of the package.
        shutil.copytree(SAMPLE, self.notes)
        if embedded:
            shutil.copyfile(embedded, self.brain)
        with Brain.open(self.brain, make=True) as brain:
            if embedded:
                brain.move_folder(SAMPLE, self.notes)
            brain.import_folder(self.notes)
            for number in range(4):
                text = f"# Often\n\nWritten {number} times.\n\n{'word ' * 900}"
                brain.put("own/often", text.encode())
            brain.put("own/gone", b"# Gone\n")
            brain.delete("own/gone")
            brain.embed()

    def expected_output(self, name: str) -> str:
        """Return the output of a command on the sound brain; empty for commands that write."""
        if name in WRITE_COMMANDS:
            return ""
        if name not in self._outputs:
            work = self.folder / "sound"
            work.mkdir(exist_ok=True)
            copy = copy_brain(self.brain, work)
            result = CommandResult(
                *in_child_process(lambda: run_on_copy(work, copy, ALL_COMMANDS[name], self.notes))
            )
            assert (result.code, result.trace) == (0, ""), (name, result)
            self._outputs[name] = result.out
        return self._outputs[name]


# --- what must hold -------------------------------------------------------------------------------


Failures = list[str]


def find_misbehaviour(name: str, result: CommandResult) -> Failures:
    """Return what a command did that it must not do with any brain."""
    if result.trace:
        return [f"{name}: {result.trace}"]
    if result.code not in (0, 1, 2, 3):
        return [f"{name} exits with {result.code}"]
    # Doctor prints its findings on standard output.
    in_words = ("Error: " in result.err and "Hint: " in result.err) or '"hint": "' in result.err
    # Problems with single files are printed one per line.
    in_words = in_words or (result.err and name.startswith(("import", "sync")))
    if result.code and not in_words and "doctor" not in name:
        return [f"{name} fails without a message: {result}"]
    return []


def run_commands_on(
    base: SoundBrain, damaged: Path, work: Path, names: list[str]
) -> tuple[str, Failures]:
    """Run commands on a damaged brain; return the outcome and the failures.

    Outcomes: refused, found (by doctor), repaired, unseen (not noticeable), or as new.
    """
    outputs = {}
    failures: Failures = []
    for name in names:
        copy = copy_brain(damaged, work)
        result = run_on_copy(work, copy, ALL_COMMANDS[name], base.notes)
        failures += find_misbehaviour(name, result)
        failures += [f"{name} ran {ran} statements of the file" for ran in count_executed(copy)]
        if name not in WRITE_COMMANDS:
            outputs[name] = (result.code, result.out)
    copy = copy_brain(damaged, work)
    found = run_on_copy(work, copy, READ_COMMANDS["doctor --full"], base.notes)
    failures += find_misbehaviour("doctor --full", found)
    if (found.code, found.out) == (0, base.expected_output("doctor --full")):
        if underivable_values(damaged) != underivable_values(base.brain):
            return "unseen", failures
        failures += [
            f"doctor finds nothing, yet {name} says ({code}): {out[:3000]}"
            for name, (code, out) in outputs.items()
            if (code, out) != (0, base.expected_output(name))
        ]
        return "as new", failures
    repaired = run_on_copy(work, copy, REPAIR, base.notes)
    failures += find_misbehaviour("doctor --full --repair", repaired)
    failures += [f"repair executed {ran} statements of the file" for ran in count_executed(copy)]
    if repaired.code:
        opened = "integrity" in repaired.out
        return ("found" if opened else "refused"), failures
    again = run_on_copy(work, copy, READ_COMMANDS["doctor --full"], base.notes)
    if again.code or "problem" in again.out:
        failures.append(f"repaired: {repaired.out}\nand yet: {again.out}{again.err}")
    for name in [name for name in names if name not in MODEL_COMMANDS]:
        result = run_on_copy(work, copy_brain(copy, work / "again"), ALL_COMMANDS[name], base.notes)
        failures += find_misbehaviour(f"{name} after repair", result)
        about_gone = any(f"{what} " in result.err for what in MISSING_MESSAGES)
        if result.code and not about_gone:
            failures.append(f"{name} fails after repair: {result} {repaired.out}")
    return "repaired", failures


def underivable_values(brain: Path) -> list[object]:
    """Return values that cannot be derived: only a backup could tell whether they changed."""
    times = ("pages.created_at", "pages.updated_at", "versions.written_at", "versions.ended_at")
    named = ("versions.slug", "versions.path", "vaults.root", "vaults.added_at", "config.value")
    values: list[object] = []
    with closing(sqlite3.connect(brain)) as raw:
        raw.text_factory = bytes
        for column in (*times, *named, "query_aliases.expansion", "embedding_models.name"):
            rows = f"SELECT {column} FROM {column.partition('.')[0]}"
            values += raw.execute(rows).fetchall()
    return values


def count_executed(brain: Path) -> list[int]:
    """Return the number of executed statements of the file, as a list; empty for none."""
    try:
        with closing(sqlite3.connect(brain)) as raw:
            ran = raw.execute("SELECT count(*) FROM ran").fetchone()[0]
    except (sqlite3.Error, UnicodeDecodeError):
        return []
    return [ran] if ran else []


def run_case(
    base: SoundBrain, folder: Path, corruption: Corruption, rng: random.Random, names: list[str]
) -> tuple[str, Failures]:
    damaged, work = folder / "damaged.db", folder / "work"
    shutil.rmtree(folder, ignore_errors=True)
    (work / "again").mkdir(parents=True)
    shutil.copyfile(base.brain, damaged)
    corruption(damaged, rng)
    os.chmod(damaged, 0o600)
    # Results of a child process are lost, so the sound brain is asked before.
    for name in (*names, "doctor --full"):
        base.expected_output(name)
    try:
        outcome, failures = in_child_process(lambda: run_commands_on(base, damaged, work, names))
    except AssertionError as error:
        return "ended", [f"{(work / 'last-command').read_text()}: {error}"]
    return outcome, failures


def choose_commands(rng: random.Random, reads: int, writes: int) -> list[str]:
    return rng.sample(list(READ_COMMANDS), reads) + rng.sample(list(WRITE_COMMANDS), writes)


@pytest.fixture(scope="module")
def sound_brain(embedded_sample: Path) -> Iterator[SoundBrain]:
    load_program()
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(dir=FAST_FOLDER) as folder_path,
    ):
        patch.setenv("GBRAIN_NOW", NOON)
        yield SoundBrain(Path(folder_path), embedded_sample)


@pytest.fixture
def base(sound_brain: SoundBrain, shared_models: None) -> SoundBrain:
    """Embed here what doctor embeds, so that not every child process does it again."""
    if not sound_brain.compared:
        with Brain.open(sound_brain.brain) as brain:
            assert brain.count_foreign_vectors()[0] == 0
        sound_brain.compared = True
    return sound_brain


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=SLOW) for n in range(1, 20))])
@pytest.mark.parametrize("name", RANDOM)
def test_a_damaged_brain_is_refused_or_repaired(name: str, seed: int, base: SoundBrain) -> None:
    rng = random.Random(f"{name}{seed or ''}")
    commands = choose_commands(rng, 2, 1)
    assert run_case(base, base.folder / "case", RANDOM[name], rng, commands)[1] == []


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=SLOW)])
@pytest.mark.parametrize("name", CRAFTED)
def test_nothing_in_a_crafted_file_is_executed(name: str, every: bool, base: SoundBrain) -> None:
    rng = random.Random(name)
    commands = list(ALL_COMMANDS) if every else choose_commands(rng, 1, 1)
    corruption = partial(craft, CRAFTED[name])
    assert run_case(base, base.folder / "case", corruption, rng, commands)[1] == []


def list_corruptions(count: int, pages: int) -> list[tuple[str, str, Corruption]]:
    """Return (name, kind, corruption) of each crafted case once and of `count` random ones."""
    names = [list(RANDOM)[number % len(RANDOM)] for number in range(count)]
    return [
        *((name, "crafted", partial(craft, what)) for name, what in CRAFTED.items()),
        *((f"cut after {kept}", "cut", partial(truncate, pages=kept)) for kept in range(pages)),
        *(("odd file", "odd file", odd_files) for _ in range(5)),
        *((name, name, RANDOM[name]) for name in names),
    ]


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    only = sys.argv[3:]
    os.environ |= {"GBRAIN_NOW": NOON, "NO_COLOR": "1", "COLUMNS": "100", "TZ": "UTC"}
    began, outcomes, failures, commands = monotonic(), Counter[str](), 0, 0
    load_program()
    with tempfile.TemporaryDirectory(dir=FAST_FOLDER) as folder_path:
        folder = Path(folder_path)
        base = SoundBrain(folder)
        corruptions = list_corruptions(count, base.brain.stat().st_size // 4096)
        for number, (name, kind, corruption) in enumerate(corruptions):
            if only and name not in only:
                continue
            rng = random.Random(f"{seed}/{number}")
            names = list(ALL_COMMANDS) if kind == "crafted" else choose_commands(rng, 6, 3)
            if number % 20 == 0 and kind != "crafted":
                names += MODEL_COMMANDS
            outcome, failed = run_case(base, folder / "case", corruption, rng, names)
            commands += len(names)
            failures += bool(failed)
            for one in failed:
                print(f"--- {name}, case {number} of seed {seed}: {one}", flush=True)
            outcomes[f"{kind}: {outcome}"] += 1
            if number % 100 == 99:
                print(
                    f"{number + 1} of {len(corruptions)} in {monotonic() - began:.0f} s", flush=True
                )
    print("\n".join(f"{count:6} {name}" for name, count in sorted(outcomes.items())))
    print(
        f"{outcomes.total()} brains, {commands} commands and as many after repair, doctor each time"
    )
    print(f"{monotonic() - began:.0f} s, seed {seed}: {failures} brains with failures")


if __name__ == "__main__":
    main()
