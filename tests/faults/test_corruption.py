"""Damages brain files in random and in crafted ways and asks every command about them.

    python tests/faults/test_corruption.py COUNT [SEED]

A command on a damaged brain refuses in plain words or answers: never a traceback, never something
that the file brought along, never out of bounds. Where doctor finds nothing wrong, every answer is
that of the sound brain; where its repair succeeds, everything works again.
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
from asking import MEANINGS, NOON, QUICK, READS, WRITES, Said, apart, fresh, load_program, say
from corruptions import RANDOM, Harm, truncate
from crafted import CRAFTED, craft, odd_files

from gbrain.brain import Brain

SAMPLE = Path(__file__).parents[2] / "gbrain" / "sample"
EVERY = READS | MEANINGS | WRITES
# What a command may say of a repaired brain: some of what it held is lost.
GONE = ("no page", "no version", "No folder", "no folder", "shares the slug")


class Base:
    """A sound brain with vectors and history, and what commands say of it."""

    def __init__(self, folder: Path, embedded: Path | None = None) -> None:
        self.folder, self.brain = folder, folder / "brain.db"
        self.vault = SAMPLE
        self._answers: dict[str, str] = {}
        if embedded:
            shutil.copyfile(embedded, self.brain)
        with Brain.open(self.brain, make=True) as brain:
            brain.import_folder(SAMPLE)
            for number in range(4):
                text = f"# Often\n\nWritten {number} times.\n\n{'word ' * 900}"
                brain.put("own/often", text.encode())
            brain.put("own/gone", b"# Gone\n")
            brain.delete("own/gone")
            brain.embed()

    def answer(self, name: str) -> str:
        """What a command that reads says of the sound brain."""
        if name in WRITES:
            return ""
        if name not in self._answers:
            work = self.folder / "sound"
            work.mkdir(exist_ok=True)
            copy = fresh(self.brain, work)
            said = Said(*apart(lambda: say(work, copy, EVERY[name], self.vault)))
            assert (said.code, said.trace) == (0, ""), (name, said)
            self._answers[name] = said.out
        return self._answers[name]


# --- what must hold -------------------------------------------------------------------------------


Faults = list[str]


def orderly(name: str, said: Said) -> Faults:
    """What a command must not do, whatever the brain is."""
    if said.trace:
        return [f"{name}: {said.trace}"]
    if said.code not in (0, 1, 2, 3):
        return [f"{name} exits with {said.code}"]
    # Doctor tells what it found as its answer.
    in_words = ("Error: " in said.err and "Hint: " in said.err) or '"hint": "' in said.err
    # What happened to single files is told a line each.
    in_words = in_words or (said.err and name.startswith(("import", "sync")))
    if said.code and not in_words and "doctor" not in name:
        return [f"{name} refuses without a word: {said}"]
    return []


def judge(base: Base, damaged: Path, work: Path, names: list[str]) -> tuple[str, Faults]:
    """Asks commands about a damaged brain: how it was taken, and what went wrong with that.

    It is refused; or doctor finds the damage, repairs it, or cannot see it; or it is as new.
    """
    answers = {}
    faults: Faults = []
    for name in names:
        copy = fresh(damaged, work)
        said = say(work, copy, EVERY[name], base.vault)
        faults += orderly(name, said)
        faults += [f"{name} ran {ran} things of the file" for ran in what_ran(copy)]
        if name not in WRITES:
            answers[name] = (said.code, said.out)
    copy = fresh(damaged, work)
    found = say(work, copy, READS["doctor --full"], base.vault)
    faults += orderly("doctor --full", found)
    if (found.code, found.out) == (0, base.answer("doctor --full")):
        if unprovable(damaged) != unprovable(base.brain):
            return "unseen", faults
        faults += [
            f"doctor finds nothing, yet {name} says ({code}): {out[:3000]}"
            for name, (code, out) in answers.items()
            if (code, out) != (0, base.answer(name))
        ]
        return "as new", faults
    mended = say(work, copy, ("doctor", "--full", "--repair", "--quiet"), base.vault)
    faults += orderly("doctor --full --repair", mended)
    faults += [f"repair ran {ran} things of the file" for ran in what_ran(copy)]
    if mended.code:
        opened = "integrity" in mended.out
        return ("found" if opened else "refused"), faults
    again = say(work, copy, READS["doctor --full"], base.vault)
    if again.code or "problem" in again.out:
        faults.append(f"repaired: {mended.out}\nand yet: {again.out}{again.err}")
    for name in [name for name in names if name not in MEANINGS]:
        said = say(work, fresh(copy, work / "again"), EVERY[name], base.vault)
        faults += orderly(f"{name} after repair", said)
        about_gone = any(f"{what} " in said.err for what in GONE)
        if said.code and not about_gone:
            faults.append(f"{name} fails after repair: {said} {mended.out}")
    return "repaired", faults


def unprovable(brain: Path) -> list[object]:
    """What a brain holds that follows from nothing else: only a backup tells if it was changed."""
    times = ("pages.created_at", "pages.updated_at", "versions.written_at", "versions.ended_at")
    named = ("versions.slug", "versions.path", "vaults.root", "vaults.added_at", "config.value")
    held: list[object] = []
    with closing(sqlite3.connect(brain)) as raw:
        raw.text_factory = bytes
        for column in (*times, *named, "query_aliases.expansion", "embedding_models.name"):
            rows = f"SELECT {column} FROM {column.partition('.')[0]}"
            held += raw.execute(rows).fetchall()
    return held


def what_ran(brain: Path) -> list[int]:
    """How much of what the file brought along was run, if any."""
    try:
        with closing(sqlite3.connect(brain)) as raw:
            ran = raw.execute("SELECT count(*) FROM ran").fetchone()[0]
    except (sqlite3.Error, UnicodeDecodeError):
        return []
    return [ran] if ran else []


def case(
    base: Base, folder: Path, harm: Harm, chance: random.Random, names: list[str]
) -> tuple[str, Faults]:
    damaged, work = folder / "damaged.db", folder / "work"
    shutil.rmtree(folder, ignore_errors=True)
    (work / "again").mkdir(parents=True)
    shutil.copyfile(base.brain, damaged)
    harm(damaged, chance)
    os.chmod(damaged, 0o600)
    # What the child learns is forgotten: the sound brain is asked before.
    for name in (*names, "doctor --full"):
        base.answer(name)
    try:
        outcome, faults = apart(lambda: judge(base, damaged, work, names))
    except AssertionError as error:
        return "ended", [f"{(work / 'asked').read_text()}: {error}"]
    return outcome, faults


def asked(chance: random.Random, reads: int, writes: int) -> list[str]:
    return chance.sample(list(READS), reads) + chance.sample(list(WRITES), writes)


@pytest.fixture(scope="module")
def base(embedded_sample: Path) -> Iterator[Base]:
    load_program()
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir=QUICK) as place:
        patch.setenv("GBRAIN_NOW", NOON)
        yield Base(Path(place), embedded_sample)


@pytest.mark.parametrize("harm", RANDOM)
def test_a_damaged_brain_is_refused_or_repaired(harm: str, base: Base) -> None:
    chance = random.Random(harm)
    assert case(base, base.folder / "case", RANDOM[harm], chance, asked(chance, 2, 1))[1] == []


@pytest.mark.parametrize("name", CRAFTED)
def test_nothing_that_a_file_brings_along_is_run(name: str, base: Base) -> None:
    chance = random.Random(name)
    harm = partial(craft, CRAFTED[name])
    assert case(base, base.folder / "case", harm, chance, asked(chance, 1, 1))[1] == []


def harms(count: int, pages: int) -> list[tuple[str, str, Harm]]:
    """What the long run does: (name, kind, way) of everything once, and `count` random ways."""
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
    began, taken, faults, commands = monotonic(), Counter[str](), 0, 0
    load_program()
    with tempfile.TemporaryDirectory(dir=QUICK) as place:
        folder = Path(place)
        base = Base(folder)
        ways = harms(count, base.brain.stat().st_size // 4096)
        for number, (name, kind, harm) in enumerate(ways):
            if only and name not in only:
                continue
            chance = random.Random(f"{seed}/{number}")
            names = list(EVERY) if kind == "crafted" else asked(chance, 6, 3)
            if number % 20 == 0 and kind != "crafted":
                names += MEANINGS
            outcome, wrong = case(base, folder / "case", harm, chance, names)
            commands += len(names)
            faults += bool(wrong)
            for one in wrong:
                print(f"--- {name}, case {number} of seed {seed}: {one}", flush=True)
            taken[f"{kind}: {outcome}"] += 1
            if number % 100 == 99:
                print(f"{number + 1} of {len(ways)} in {monotonic() - began:.0f} s", flush=True)
    print("\n".join(f"{count:6} {name}" for name, count in sorted(taken.items())))
    print(f"{taken.total()} brains, {commands} commands and as many after repair, doctor each time")
    print(f"{monotonic() - began:.0f} s, seed {seed}: {faults} brains with faults")


if __name__ == "__main__":
    main()
