"""Kills real gbrain processes at random instants and checks that nothing acknowledged is lost.

    python tests/faults/test_kills.py KILLS [SEED]

After each kill the file must be sound, its indexes whole and doctor content, and the brain must be
in one of the states that the command goes through: in the last of them if it said it was done.
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

from soundness import NOW, check_sound, texts
from write_commands import ACTS, LOG, Plan, State, World

from gbrain.brain import Brain
from gbrain.importing.importer import _BATCH_PAGES
from gbrain.store.schema import SCHEMA_VERSION

OLD_BRAIN = Path(__file__).parents[2] / "fixtures" / "brains" / "schema-1.db.gz"
OLD_PAGES = 9
MANY = _BATCH_PAGES + 100

Traces = frozenset[tuple[str, int, int]]


class Killed(NamedTuple):
    """A command that was killed; `amid` says that it left something for the next to clear up."""

    name: str
    amid: bool


class Ended(NamedTuple):
    """How a process ended: killed, and whether it had said by then that it was done."""

    killed: bool
    acknowledged: bool


def traces(folder: Path) -> Traces:
    """Names, sizes and times of the files beside the brain."""
    found = []
    for entry in os.scandir(folder):
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        found.append((entry.name, status.st_size, status.st_mtime_ns))
    return frozenset(found)


def run_and_kill(world: World, plan: Plan, seconds: float, changes: int = 4) -> Ended:
    """Runs the command and kills it: at any instant, or soon after one of its first `changes`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gbrain", *plan.words, *_as_document(plan)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "GBRAIN_DB": str(world.brain), "GBRAIN_NOW": NOW},
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(plan.stdin)
    process.stdin.flush()
    if not plan.talks:
        process.stdin.close()
        process.stdin = None
    if world.chance.random() < 0.4:
        _wait(process, lambda: False, world.chance.uniform(0.02, 1.3 * seconds))
    else:
        for _ in range(world.chance.randint(1, changes)):
            before = traces(world.folder)
            _wait(process, lambda before=before: traces(world.folder) != before, 60)
        # Most of what is written is written at once: the fourth power falls there often.
        _wait(process, lambda: False, seconds * world.chance.random() ** 4)
    process.send_signal(signal.SIGKILL)
    said, complained = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGKILL), complained.decode()
    killed = process.returncode != 0
    if plan.talks:
        return Ended(killed, b'"id":2,' in said)
    return Ended(killed, not killed or _is_document(said))


def _as_document(plan: Plan) -> tuple[str, ...]:
    return () if plan.talks or plan.words[0] == "graph" else ("--json",)


def _wait(process: subprocess.Popen[bytes], enough: Callable[[], bool], seconds: float) -> None:
    until = monotonic() + seconds
    while monotonic() < until and process.poll() is None and not enough():
        sleep(0.0005)


def _is_document(said: bytes) -> bool:
    try:
        json.loads(said)
    except ValueError:
        return False
    return True


def left_open(folder: Path) -> bool:
    """Whether a killed process left a log, a journal or an unfinished file."""
    return any(
        size and (name.endswith(("-wal", "-journal")) or name.startswith("."))
        for name, size, _ in traces(folder)
    )


# --- one brain that everything happens to ----------------------------------------------------


def act(world: World, name: str) -> Killed | None:
    """Does one thing, kills it somewhere and checks what is left; None if it ended by itself."""
    prepare, seconds = ACTS[name]
    plan = prepare(world)
    ended = run_and_kill(world, plan, seconds)
    amid = left_open(world.folder)
    if plan.then:
        _run(world, *plan.then)
    before, held = world.state, _held(world)
    allowed = plan.states[-1:] if ended.acknowledged else plan.states
    assert held in allowed, f"{name}: {_difference(held, plan.states[-1])}"
    check_sound(world.brain)
    world.state = held
    if plan.words[0] == "export":
        _check_exported(world, must=ended.acknowledged)
    _check_drawn(world)
    _check_kept(world, before, must=ended.acknowledged and plan.words[0] == "restore")
    if plan.words[0] != "restore":
        _check_history(world, before)
    return Killed(name, amid) if ended.killed else None


def _held(world: World) -> State:
    return State(texts(world.brain), texts(world.copy) if world.copy.exists() else None)


def _difference(held: State, wanted: State) -> str:
    slugs = held.pages.keys() | wanted.pages.keys()
    wrong = sorted(s for s in slugs if held.pages.get(s) != wanted.pages.get(s))
    return f"{wrong} are not as any state has them, or the copy is not"


def _check_kept(world: World, before: State, *, must: bool) -> None:
    """What restore put aside is the brain from before, whole."""
    kept = list(world.folder.glob("brain.db.before-restore-*"))
    assert kept or not must
    for file in kept:
        assert texts(file) == before.pages
        file.unlink()


def _check_exported(world: World, *, must: bool) -> None:
    """Whatever file is there is a page, whole."""
    files = {str(f.relative_to(world.out))[:-3]: f.read_text() for f in world.out.rglob("*.md")}
    assert files.items() <= world.state.pages.items()
    assert files == world.state.pages or not must


def _check_drawn(world: World) -> None:
    drawn = world.out / "graph.html"
    assert not drawn.exists() or drawn.read_text().rstrip().endswith("</html>")


def _check_history(world: World, before: State) -> None:
    with Brain.open(world.brain) as brain:
        for slug, text in before.pages.items():
            if world.state.pages.get(slug, text) != text:
                assert brain.text(slug, brain.get(slug).version - 1) == text


def finish(world: World) -> None:
    """What was cut short is completed by the same commands, run to their end."""
    for words in (
        ("sync", "--no-embed"), ("embed", "--stale"), ("backup", str(world.copy), "--force"),
        ("doctor", "--full"), ("export", str(world.out), "--force"),
    ):  # fmt: skip
        _run(world, *words)
    left = list(world.out.rglob(".*"))
    assert not left, left
    assert {s: t for s, t in texts(world.brain).items() if s.startswith("vault/")} == world.vault
    assert _names(world) == ["brain.db", "copy.db", "notes", "out"], _names(world)


def _names(world: World) -> list[str]:
    return sorted(file.name for file in world.folder.iterdir())


def _run(world: World, *words: str) -> None:
    environment = {**os.environ, "GBRAIN_DB": str(world.brain), "GBRAIN_NOW": NOW}
    subprocess.run(
        [sys.executable, "-m", "gbrain", *words], env=environment, check=True, capture_output=True
    )


# --- brains that begin ------------------------------------------------------------------------


def first_import(world: World) -> Killed | None:
    """Makes a brain of many files; it holds whole lots of them, and the next run the rest."""
    _clear(world)
    plan = Plan(("import", str(world.notes), "--no-embed"), ())
    ended = run_and_kill(world, plan, 1.0, changes=8)
    amid = left_open(world.folder)
    if world.brain.exists():
        check_sound(world.brain)
        assert len(texts(world.brain)) in ([MANY] if ended.acknowledged else [0, 1000, MANY])
    _run(world, *plan.words)
    assert len(texts(world.brain)) == MANY
    assert _names(world) == ["brain.db", "notes"], _names(world)
    return Killed("first import", amid) if ended.killed else None


def migrate(world: World) -> Killed | None:
    """Opens a brain of the first schema and kills that; the next to open it finds it whole."""
    _clear(world)
    world.brain.touch(0o600)
    world.brain.write_bytes(gzip.decompress(OLD_BRAIN.read_bytes()))
    before = texts(world.brain)
    ended = run_and_kill(world, Plan(("list",), ()), 0.35, changes=12)
    amid = left_open(world.folder)
    for copy in world.folder.glob("*.backup"):
        assert texts(copy) == before
    assert texts(world.brain) == before
    check_sound(world.brain)
    with Brain.open(world.brain) as brain:
        version = brain.database.connection.execute("PRAGMA user_version").fetchone()[0]
        assert (version, len(before)) == (SCHEMA_VERSION, OLD_PAGES)
    return Killed("migration", amid) if ended.killed else None


def _clear(world: World) -> None:
    for left in world.folder.iterdir():
        if left.is_file():
            left.unlink()


# --- all of it --------------------------------------------------------------------------------


def rounds(kills: int, seed: int) -> Iterator[Killed]:
    """Acts until so many were killed, and each kind once; yields those that were."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        world, first, old = (_world(Path(place) / name, chance) for name in ("one", "new", "old"))
        with Brain.open(world.brain, make=True) as brain:
            for slug in ("log", "inbox"):
                brain.put(slug, LOG.encode())
            brain.import_folder(world.notes)
        world.state = State({"log": LOG, "inbox": LOG})
        for number in range(MANY):
            (first.notes / f"{number}.md").write_text(f"# Page {number}\n\nOf many.\n")
        begins = {"first import": lambda: first_import(first), "migration": lambda: migrate(old)}
        missing, done = {*ACTS, *begins}, 0
        while done < kills or missing:
            name = chance.choice([*ACTS, *begins])
            if done >= kills and name not in missing:
                continue
            killed = begins[name]() if name in begins else act(world, name)
            if killed:
                done += 1
                missing.discard(name)
                yield killed
        finish(world)


def _world(folder: Path, chance: random.Random) -> World:
    world = World(folder, chance)
    world.notes.mkdir(parents=True)
    return world


def test_nothing_acknowledged_is_lost() -> None:
    killed = Counter(kill.name for kill in rounds(50, seed=2026))
    assert killed.total() >= 50
    assert set(killed) >= {"put", "import", "sync", "embed", "timeline-add", "compact", "migration"}


def main() -> None:
    kills = int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    began, seen, amid = monotonic(), Counter[str](), Counter[str]()
    for kill in rounds(kills, seed):
        seen[kill.name] += 1
        amid[kill.name] += kill.amid
        if seen.total() % 50 == 0:
            print(f"{seen.total()} kills in {monotonic() - began:.0f} s", flush=True)
    for name, count in sorted(seen.items()):
        print(f"{name:14}{count:5} kills, {amid[name]:4} of them amid a write")
    print(
        f"{seen.total()} kills ({amid.total()} amid a write) in {monotonic() - began:.0f} s, "
        f"seed {seed}: nothing lost"
    )


if __name__ == "__main__":
    main()
