"""Kills real gbrain processes at random instants and checks that nothing acknowledged is lost.

    python tests/faults/test_kills.py KILLS [SEED]

After each kill the file must be sound, its indexes whole and doctor content, and every page must
hold what was last acknowledged or what the killed command was about to write, never anything else.
"""

from __future__ import annotations

import gzip
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

from gbrain.brain import Brain
from gbrain.store.health import examine
from gbrain.store.schema import SCHEMA_VERSION
from gbrain.text.entries import add_entry

OLD_BRAIN = Path(__file__).parents[2] / "fixtures" / "brains" / "schema-1.db.gz"
NOW = "2026-11-16T12:00:00"

# Passages wait to be embedded, and pages link to pages that nobody wrote: neither is a fault.
EXPECTED = {"missing_vectors", "links"}

LOG = "# Log\n\n## Timeline\n"

Texts = dict[str, str]


@dataclass
class World:
    """A brain, the vault it follows, and what each page may hold now."""

    folder: Path
    chance: random.Random
    vault: Texts = field(default_factory=dict)
    allowed: dict[str, set[str | None]] = field(default_factory=dict)

    @property
    def brain(self) -> Path:
        return self.folder / "brain.db"

    @property
    def notes(self) -> Path:
        return self.folder / "notes"


def gbrain(world: World, *arguments: str, stdin: bytes = b"") -> subprocess.Popen[bytes]:
    environment = {**os.environ, "GBRAIN_DB": str(world.brain), "GBRAIN_NOW": NOW}
    process = subprocess.Popen(
        [sys.executable, "-m", "gbrain", *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env=environment,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(stdin)
    process.stdin.close()
    return process


def killed_after(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether the process was killed before it ended by itself; a failure of its own is raised."""
    until = monotonic() + seconds
    while monotonic() < until and process.poll() is None:
        sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stderr is not None
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.returncode in (0, -signal.SIGKILL), said
    return process.returncode != 0


def words(chance: random.Random, count: int) -> str:
    letters = "bcdfghklmnprstvw"
    return " ".join(
        "".join(
            chance.choice(letters) + chance.choice("aeiou") for _ in range(chance.randint(1, 4))
        )
        for _ in range(count)
    )


def page(chance: random.Random) -> str:
    sections = "\n".join(
        f"## {words(chance, 2)}\n\n{words(chance, chance.randint(5, 60))}\n"
        for _ in range(chance.randint(0, 4))
    )
    return f"# {words(chance, 2)}\n\n{words(chance, 20)} [[{words(chance, 1)}]]\n\n{sections}"


# --- what is done, and what each page may hold if it is cut short ---------------------------------

Act = Callable[[World], tuple[list[str], bytes, Texts]]


def put(world: World) -> tuple[list[str], bytes, Texts]:
    slug, text = f"own/{world.chance.randint(1, 8)}", page(world.chance)
    return ["put", slug, "--quiet"], text.encode(), {slug: text}


def timeline_add(world: World) -> tuple[list[str], bytes, Texts]:
    line, (before,) = words(world.chance, 6), world.allowed["own/log"]
    assert before is not None
    after = add_entry(before, "2026-11-16", line)
    arguments = ["timeline-add", "own/log", line, "--date", "2026-11-16", "--quiet"]
    return arguments, b"", {"own/log": after}


def change_vault(world: World) -> Texts:
    for name in world.chance.sample(range(60), 12):
        slug = f"vault/{name}"
        world.vault[slug] = page(world.chance)
        file = world.notes / f"{slug}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(world.vault[slug])
    return dict(world.vault)


def import_(world: World) -> tuple[list[str], bytes, Texts]:
    return ["import", str(world.notes), "--no-embed", "--quiet"], b"", change_vault(world)


def sync(world: World) -> tuple[list[str], bytes, Texts]:
    return ["sync", "--no-embed", "--quiet"], b"", change_vault(world)


def embed(world: World) -> tuple[list[str], bytes, Texts]:
    return ["embed", "--stale", "--quiet", "--limit", "40"], b"", {}


def compact(world: World) -> tuple[list[str], bytes, Texts]:
    return ["compact", "--quiet"], b"", {}


# Seconds that each takes on an idle machine: the kill falls anywhere in that time and a bit beyond.
ACTS: dict[str, tuple[Act, float]] = {
    "put": (put, 0.3),
    "timeline-add": (timeline_add, 0.3),
    "import": (import_, 0.6),
    "sync": (sync, 0.6),
    "embed": (embed, 1.5),
    "compact": (compact, 0.5),
}


def act(world: World, name: str) -> bool:
    """Does one thing, kills it somewhere, and notes what pages may hold; says if it was killed."""
    prepare, seconds = ACTS[name]
    arguments, stdin, texts = prepare(world)
    process = gbrain(world, *arguments, stdin=stdin)
    killed = killed_after(process, world.chance.uniform(0.02, 1.3 * seconds))
    for slug, text in texts.items():
        held = world.allowed.setdefault(slug, {None})
        world.allowed[slug] = held | {text} if killed else {text}
    return killed


def check(world: World) -> None:
    """The file is sound, doctor finds nothing, and every page holds what it may hold."""
    raw = sqlite3.connect(world.brain)
    assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    for table in ("pages_fts", "chunks_fts"):
        raw.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    raw.rollback()
    raw.close()
    with Brain.open(world.brain) as brain:
        for name, finding in examine(brain.database, NOW, full=True):
            assert finding.status in ("ok", "note") or name in EXPECTED, (name, finding)
        held = {stored.slug: brain.text(stored.slug) for stored in brain.list()[0]}
    for slug, allowed in world.allowed.items():
        assert held.get(slug) in allowed, f"{slug} holds what nobody wrote"
        world.allowed[slug] = {held.get(slug)}
    assert set(held) <= set(world.allowed), "a page appeared from nowhere"


def finish(world: World) -> None:
    """What was cut short is completed by the same commands, run to their end."""
    for arguments in (["import", str(world.notes), "--no-embed"], ["embed", "--stale"]):
        process = gbrain(world, *arguments, "--quiet")
        assert not killed_after(process, 600)
    with Brain.open(world.brain) as brain:
        for slug, text in world.vault.items():
            assert brain.text(slug) == text
        assert dict(examine(brain.database, NOW))["missing_vectors"].status == "ok"


def migrate(folder: Path, chance: random.Random) -> bool:
    """Opens a brain of the first schema and kills that; the next to open it finds it whole."""
    world = World(folder, chance)
    for left in folder.glob("brain.db*"):
        left.unlink()
    world.brain.touch(0o600)
    world.brain.write_bytes(gzip.decompress(OLD_BRAIN.read_bytes()))
    killed = killed_after(gbrain(world, "list"), chance.uniform(0.05, 0.4))
    with Brain.open(world.brain) as brain:
        version = brain.database.connection.execute("PRAGMA user_version").fetchone()[0]
        assert (version, len(brain.list()[0])) == (SCHEMA_VERSION, 9)
        for name, finding in examine(brain.database, NOW, full=True):
            assert finding.status in ("ok", "note") or name in EXPECTED, (name, finding)
    return killed


def rounds(kills: int, seed: int) -> Iterator[str]:
    """Acts until so many were killed; yields the name of each that was."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        world = World(Path(place) / "one", chance)
        world.folder.mkdir()
        old = Path(place) / "old"
        old.mkdir()
        with Brain.open(world.brain, make=True) as brain:
            brain.put("own/log", LOG.encode())
            world.notes.mkdir()
            brain.take_in(world.notes)
        world.allowed["own/log"] = {LOG}
        done = 0
        while done < kills:
            name = chance.choice([*ACTS, "migration"])
            killed = migrate(old, chance) if name == "migration" else act(world, name)
            if name != "migration":
                check(world)
            if killed:
                done += 1
                yield name
        finish(world)


def test_nothing_acknowledged_is_lost() -> None:
    killed = Counter(rounds(50, seed=2026))
    assert killed.total() == 50
    assert set(killed) >= {"put", "import", "sync", "embed"}


def main() -> None:
    kills = int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    began, seen = monotonic(), Counter[str]()
    for name in rounds(kills, seed):
        seen[name] += 1
        if seen.total() % 50 == 0:
            print(f"{seen.total()} kills in {monotonic() - began:.0f} s", flush=True)
    print(", ".join(f"{name} {count}" for name, count in sorted(seen.items())))
    print(f"{seen.total()} kills in {monotonic() - began:.0f} s, seed {seed}: nothing lost")


if __name__ == "__main__":
    main()
