"""Commands that write to a brain, each with the states that it may leave when it is cut short."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gbrain.text.timeline import add_entry

LOG = "# Log\n\n## Timeline\n"
DAY = "2026-11-16"
OWN = 8

Texts = dict[str, str]


class State(NamedTuple):
    """The pages of the brain by slug, and those of its latest copy."""

    pages: Texts
    copy: Texts | None = None


class Plan(NamedTuple):
    """A command, its input, and the states that it goes through; the last one is its aim."""

    words: tuple[str, ...]
    states: tuple[State, ...]
    stdin: bytes = b""
    # Waits for more after its input, and says in lines what it did.
    talks: bool = False
    # What makes good again what may be half done.
    then: tuple[str, ...] = ()


@dataclass
class World:
    """A brain, the folder that it follows, and the state that it is in."""

    folder: Path
    chance: random.Random
    vault: Texts = field(default_factory=dict)
    state: State = field(default_factory=lambda: State({}))

    @property
    def brain(self) -> Path:
        return self.folder / "brain.db"

    @property
    def copy(self) -> Path:
        return self.folder / "copy.db"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    def own(self) -> list[str]:
        return [slug for slug in self.state.pages if slug.startswith("own/")]

    def with_pages(self, *changes: Texts) -> tuple[State, ...]:
        """The present state and what each change makes of the one before."""
        states = [self.state]
        for change in changes:
            states.append(self.state._replace(pages={**states[-1].pages, **change}))
        return tuple(states)

    def without(self, state: State, slugs: set[str]) -> State:
        left = {slug: text for slug, text in state.pages.items() if slug not in slugs}
        return state._replace(pages=left)


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


# --- pages -----------------------------------------------------------------------------------


def put(world: World) -> Plan:
    slug, text = f"own/{world.chance.randint(1, OWN)}", page(world.chance)
    return Plan(("put", slug), world.with_pages({slug: text}), text.encode())


def timeline_add(world: World) -> Plan:
    line = words(world.chance, 6)
    after = add_entry(world.state.pages["log"], DAY, line)
    return Plan(("timeline-add", "log", line, "--date", DAY), world.with_pages({"log": after}))


def capture(world: World) -> Plan:
    line = words(world.chance, 6)
    after = add_entry(world.state.pages["inbox"], DAY, line)
    return Plan(("capture", line), world.with_pages({"inbox": after}))


def delete(world: World) -> Plan:
    if not world.own():
        return put(world)
    slug = world.chance.choice(world.own())
    return Plan(("delete", slug), (world.state, world.without(world.state, {slug})))


def rename(world: World) -> Plan:
    free = [slug for n in range(1, OWN + 1) if (slug := f"own/{n}") not in world.state.pages]
    if not (world.own() and free):
        return delete(world)
    old, new = world.chance.choice(world.own()), world.chance.choice(free)
    renamed = world.without(world.with_pages({new: world.state.pages[old]})[-1], {old})
    return Plan(("rename", old, new), (world.state, renamed))


# --- folders ---------------------------------------------------------------------------------


def change_files(world: World, changed: int, removed: int) -> None:
    for name in world.chance.sample(range(60), changed):
        slug = f"vault/{name}"
        world.vault[slug] = page(world.chance)
        file = world.notes / f"{slug}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(world.vault[slug])
    for slug in world.chance.sample(sorted(world.vault), min(removed, len(world.vault) - 1)):
        del world.vault[slug]
        (world.notes / f"{slug}.md").unlink()


def embedding(world: World) -> tuple[str, ...]:
    return () if world.chance.random() < 0.2 else ("--no-embed",)


def import_(world: World) -> Plan:
    change_files(world, 12, 0)
    arguments = ("import", str(world.notes), *embedding(world))
    return Plan(arguments, world.with_pages(world.vault))


def sync(world: World) -> Plan:
    change_files(world, 12, 4)
    taken_in = world.with_pages(world.vault)
    gone = {s for s in world.state.pages if s.startswith("vault/") and s not in world.vault}
    states = (*taken_in, world.without(taken_in[-1], gone))
    return Plan(("sync", *embedding(world)), states)


# --- the whole brain -------------------------------------------------------------------------


def embed(world: World) -> Plan:
    return Plan(("embed", "--stale", "--limit", "40"), (world.state,))


def compact(world: World) -> Plan:
    return Plan(("compact",), (world.state,))


def backup(world: World) -> Plan:
    copied = world.state._replace(copy=world.state.pages)
    return Plan(("backup", str(world.copy), "--force"), (world.state, copied))


def restore(world: World) -> Plan:
    if world.state.copy is None:
        return backup(world)
    back = world.state._replace(pages=world.state.copy)
    return Plan(("restore", str(world.copy)), (world.state, back))


def config_set(world: World) -> Plan:
    return Plan(
        ("config", "set", "default_limit", str(world.chance.randint(1, 50))), (world.state,)
    )


def repair(world: World) -> Plan:
    """Mends indexes that somebody emptied."""
    with closing(sqlite3.connect(world.brain, isolation_level=None)) as raw:
        for table in ("names", "tags", "links", "chunks_fts_docsize", "pages_fts_idx"):
            raw.execute(f"DELETE FROM {table} WHERE abs(random() % 2) = 0")
    words = ("doctor", "--repair", "--full")
    return Plan(words, (world.state,), then=words)


def export(world: World) -> Plan:
    """Writes all pages anew."""
    for file in world.out.rglob("*.md"):
        file.unlink()
    return Plan(("export", str(world.out)), (world.state,))


def graph(world: World) -> Plan:
    world.out.mkdir(exist_ok=True)
    return Plan(("graph", "--html", str(world.out / "graph.html")), (world.state,))


def serve(world: World) -> Plan:
    """A page written by an agent."""
    slug, text = f"own/{world.chance.randint(1, OWN)}", page(world.chance)
    hello = {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "agent", "version": "0"},
    }  # fmt: skip
    call = {"name": "brain_put", "arguments": {"slug": slug, "content": text}}
    lines = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    )
    said = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return Plan(("serve",), world.with_pages({slug: text}), said, talks=True)


# Seconds that each takes on an idle machine: the kill falls anywhere in that time and a bit beyond.
ACTS: dict[str, tuple[Callable[[World], Plan], float]] = {
    "put": (put, 0.3),
    "timeline-add": (timeline_add, 0.3),
    "capture": (capture, 0.3),
    "delete": (delete, 0.3),
    "rename": (rename, 0.3),
    "import": (import_, 0.6),
    "sync": (sync, 0.6),
    "embed": (embed, 1.5),
    "compact": (compact, 0.5),
    "backup": (backup, 0.3),
    "restore": (restore, 0.5),
    "config set": (config_set, 0.3),
    "repair": (repair, 0.6),
    "export": (export, 0.5),
    "graph": (graph, 0.4),
    "serve": (serve, 1.2),
}
