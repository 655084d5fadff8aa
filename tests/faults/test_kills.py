"""Kills real gbrain processes at random moments and checks that nothing acknowledged is lost.

    python tests/faults/test_kills.py KILLS [SEED]

After each kill the file and its indexes must be sound, and the brain must be in one of the states
that the command goes through: in the last of them if the command said that it was done.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

import pytest
from soundness import NOW, check_sound, page_texts
from write_commands import COMMANDS, LOG, PlannedCommand, Scenario, State

from gbrain.brain import Brain
from gbrain.importing.importer import _BATCH_PAGES
from gbrain.store.schema import SCHEMA_VERSION

OLD_BRAIN = Path(__file__).parents[2] / "fixtures" / "brains" / "schema-1.db.gz"
OLD_PAGES = 9
MANY = _BATCH_PAGES + 100

FileStamps = frozenset[tuple[str, int, int]]


class Kill(NamedTuple):
    """A killed command; `during_write` if it left a log or an unfinished file."""

    name: str
    during_write: bool


class KilledProcess(NamedTuple):
    """Whether the process was killed, and whether it had said before that it was done."""

    killed: bool
    acknowledged: bool


def file_stamps(folder: Path) -> FileStamps:
    """Return names, sizes and times of the files beside the brain."""
    found = []
    for entry in os.scandir(folder):
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        found.append((entry.name, status.st_size, status.st_mtime_ns))
    return frozenset(found)


def run_and_kill(
    scenario: Scenario, plan: PlannedCommand, seconds: float, changes: int = 4
) -> KilledProcess:
    """Run a command and kill it at any moment, or soon after one of its first `changes`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gbrain", *plan.arguments, *_json_option(plan)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "GBRAIN_DB": str(scenario.brain), "GBRAIN_NOW": NOW},
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(plan.stdin)
    process.stdin.flush()
    if not plan.interactive:
        process.stdin.close()
        process.stdin = None
    if scenario.rng.random() < 0.4:
        _wait(process, lambda: False, scenario.rng.uniform(0.02, 1.3 * seconds))
    else:
        for _ in range(scenario.rng.randint(1, changes)):
            before = file_stamps(scenario.folder)
            _wait(process, lambda before=before: file_stamps(scenario.folder) != before, 60)
        # Most writes follow each other quickly: the fourth power makes short delays likely.
        _wait(process, lambda: False, seconds * scenario.rng.random() ** 4)
    process.send_signal(signal.SIGKILL)
    output, errors = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGKILL), errors.decode()
    # Only files that nobody has written to for an hour are removed by the next command.
    for left in scenario.folder.rglob(".*.gbrain-new*"):
        os.utime(left, (1, 1))
    killed = process.returncode != 0
    if plan.interactive:
        return KilledProcess(killed, b'"id":2,' in output)
    return KilledProcess(killed, not killed or _is_json(output))


def _json_option(plan: PlannedCommand) -> tuple[str, ...]:
    return () if plan.interactive or plan.arguments[0] == "graph" else ("--json",)


def _wait(process: subprocess.Popen[bytes], enough: Callable[[], bool], seconds: float) -> None:
    until = monotonic() + seconds
    while monotonic() < until and process.poll() is None and not enough():
        sleep(0.0005)


def _is_json(output: bytes) -> bool:
    try:
        json.loads(output)
    except ValueError:
        return False
    return True


def has_unfinished_files(folder: Path) -> bool:
    """Return whether a killed process left a log, a journal or an unfinished file."""
    return any(
        size and (name.endswith(("-wal", "-journal")) or name.startswith("."))
        for name, size, _ in file_stamps(folder)
    )


# --- one brain for all commands ----------------------------------------------------


def run_one(scenario: Scenario, name: str) -> Kill | None:
    """Run and kill one command and check what is left; None if it ended by itself."""
    prepare, seconds = COMMANDS[name]
    plan = prepare(scenario)
    process = run_and_kill(scenario, plan, seconds)
    during_write = has_unfinished_files(scenario.folder)
    if plan.cleanup:
        _run(scenario, *plan.cleanup)
    before, stored = scenario.state, _stored_state(scenario)
    allowed = plan.states[-1:] if process.acknowledged else plan.states
    assert stored in allowed, f"{name}: {_difference(stored, plan.states[-1])}"
    check_sound(scenario.brain)
    scenario.state = stored
    if plan.arguments[0] == "export":
        _check_exported(scenario, must=process.acknowledged)
    _check_drawn(scenario)
    _check_kept(scenario, before, must=process.acknowledged and plan.arguments[0] == "restore")
    if plan.arguments[0] != "restore":
        _check_history(scenario, before)
    return Kill(name, during_write) if process.killed else None


def _stored_state(scenario: Scenario) -> State:
    return State(
        page_texts(scenario.brain), page_texts(scenario.copy) if scenario.copy.exists() else None
    )


def _difference(stored: State, wanted: State) -> str:
    slugs = stored.pages.keys() | wanted.pages.keys()
    wrong = sorted(s for s in slugs if stored.pages.get(s) != wanted.pages.get(s))
    return f"{wrong} differ from all allowed states, or the copy does"


def _check_kept(scenario: Scenario, before: State, *, must: bool) -> None:
    """The file that restore keeps is the complete brain from before."""
    kept = list(scenario.folder.glob("brain.db.before-restore-*"))
    assert kept or not must
    for file in kept:
        assert page_texts(file) == before.pages
        file.unlink()


def _check_exported(scenario: Scenario, *, must: bool) -> None:
    """Every exported file is a complete page."""
    files = {
        str(f.relative_to(scenario.out))[:-3]: f.read_text() for f in scenario.out.rglob("*.md")
    }
    assert files.items() <= scenario.state.pages.items()
    assert files == scenario.state.pages or not must


def _check_drawn(scenario: Scenario) -> None:
    drawn = scenario.out / "graph.html"
    assert not drawn.exists() or drawn.read_text().rstrip().endswith("</html>")


def _check_history(scenario: Scenario, before: State) -> None:
    with Brain.open(scenario.brain) as brain:
        for slug, text in before.pages.items():
            if scenario.state.pages.get(slug, text) != text:
                assert brain.text(slug, brain.get(slug).version - 1) == text


def finish(scenario: Scenario) -> None:
    """Complete the killed work by running the same commands to their end."""
    for arguments in (
        ("sync", "--no-embed"), ("embed", "--stale"), ("backup", str(scenario.copy), "--force"),
        ("doctor", "--full"), ("export", str(scenario.out), "--force"),
    ):  # fmt: skip
        _run(scenario, *arguments)
    left = list(scenario.out.rglob(".*"))
    assert not left, left
    assert {
        s: t for s, t in page_texts(scenario.brain).items() if s.startswith("notes/")
    } == scenario.files
    assert _names(scenario) == ["brain.db", "copy.db", "notes", "out"], _names(scenario)


def _names(scenario: Scenario) -> list[str]:
    return sorted(file.name for file in scenario.folder.iterdir())


def _run(scenario: Scenario, *arguments: str) -> None:
    environment = {**os.environ, "GBRAIN_DB": str(scenario.brain), "GBRAIN_NOW": NOW}
    subprocess.run(
        [sys.executable, "-m", "gbrain", *arguments],
        env=environment,
        check=True,
        capture_output=True,
    )


# --- new and old brains ------------------------------------------------------------------------


def first_import(scenario: Scenario) -> Kill | None:
    """Kill an import of many files: complete batches are stored, the next run adds the rest."""
    _clear(scenario)
    plan = PlannedCommand(("import", str(scenario.notes), "--no-embed"), ())
    process = run_and_kill(scenario, plan, 1.0, changes=8)
    during_write = has_unfinished_files(scenario.folder)
    if scenario.brain.exists():
        check_sound(scenario.brain)
        assert len(page_texts(scenario.brain)) in (
            [MANY] if process.acknowledged else [0, 1000, MANY]
        )
    _run(scenario, *plan.arguments)
    assert len(page_texts(scenario.brain)) == MANY
    assert _names(scenario) == ["brain.db", "notes"], _names(scenario)
    return Kill("first import", during_write) if process.killed else None


def migrate(scenario: Scenario) -> Kill | None:
    """Kill the migration of a brain with the first schema; the next process completes it."""
    _clear(scenario)
    scenario.brain.touch(0o600)
    scenario.brain.write_bytes(gzip.decompress(OLD_BRAIN.read_bytes()))
    before = page_texts(scenario.brain)
    process = run_and_kill(scenario, PlannedCommand(("list",), ()), 0.35, changes=12)
    during_write = has_unfinished_files(scenario.folder)
    for copy in scenario.folder.glob("*.backup"):
        assert page_texts(copy) == before
    assert page_texts(scenario.brain) == before
    check_sound(scenario.brain)
    with Brain.open(scenario.brain) as brain:
        version = brain.database.connection.execute("PRAGMA user_version").fetchone()[0]
        assert (version, len(before)) == (SCHEMA_VERSION, OLD_PAGES)
    return Kill("migration", during_write) if process.killed else None


def _clear(scenario: Scenario) -> None:
    for left in scenario.folder.iterdir():
        if left.is_file():
            left.unlink()


# --- all of it --------------------------------------------------------------------------------


def kill_commands(kills: int, seed: int) -> Iterator[Kill]:
    """Run each command until it was killed, then any until `kills` were; yield the kills."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        scenario, new, old = (
            _make_scenario(Path(folder) / name, rng) for name in ("one", "new", "old")
        )
        with Brain.open(scenario.brain, make=True) as brain:
            for slug in ("log", "inbox"):
                brain.put(slug, LOG.encode())
            brain.import_folder(scenario.notes)
        scenario.state = State({"log": LOG, "inbox": LOG})
        for number in range(MANY):
            (new.notes / f"{number}.md").write_text(f"# Page {number}\n\nOf many.\n")
        first_commands = {
            "first import": lambda: first_import(new),
            "migration": lambda: migrate(old),
        }
        names, done = [*COMMANDS, *first_commands], 0
        missing = rng.sample(names, len(names))
        while done < kills or missing:
            name = missing[0] if missing else rng.choice(names)
            killed = first_commands[name]() if name in first_commands else run_one(scenario, name)
            if killed:
                done += 1
                missing = missing[1:]
                yield killed
        finish(scenario)


def _make_scenario(folder: Path, rng: random.Random) -> Scenario:
    scenario = Scenario(folder, rng)
    scenario.notes.mkdir(parents=True)
    return scenario


@pytest.mark.parametrize("kills", [10, pytest.param(300, marks=pytest.mark.slow)])
def test_nothing_acknowledged_is_lost(kills: int) -> None:
    killed = Counter(kill.name for kill in kill_commands(kills, seed=2026))
    assert killed.total() >= kills
    assert set(killed) >= {"put", "import", "sync", "embed", "timeline-add", "compact", "migration"}


def main() -> None:
    kills = int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    began, seen, during_write = monotonic(), Counter[str](), Counter[str]()
    for kill in kill_commands(kills, seed):
        seen[kill.name] += 1
        during_write[kill.name] += kill.during_write
        if seen.total() % 50 == 0:
            print(f"{seen.total()} kills in {monotonic() - began:.0f} s", flush=True)
    for name, count in sorted(seen.items()):
        print(f"{name:14}{count:5} kills, {during_write[name]:4} of them during a write")
    print(
        f"{seen.total()} kills ({during_write.total()} during a write) in "
        f"{monotonic() - began:.0f} s, seed {seed}: nothing lost"
    )


if __name__ == "__main__":
    main()
