"""Commands that write to a brain, each with the states that it may leave when it is killed."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gbrain.brain import Brain
from gbrain.text.timeline import add_entry

LOG = "# Log\n\n## Timeline\n"
DAY = "2026-11-16"
OWN = 8

Texts = dict[str, str]


class State(NamedTuple):
    """The pages of the brain by slug, and those of its latest copy."""

    pages: Texts
    copy: Texts | None = None


class PlannedCommand(NamedTuple):
    """A command, its input, and the states that it goes through; the last one is its result."""

    arguments: tuple[str, ...]
    states: tuple[State, ...]
    stdin: bytes = b""
    # It waits for more input and prints a line for each message.
    interactive: bool = False
    # A command that completes what may be half done.
    cleanup: tuple[str, ...] = ()


@dataclass
class Scenario:
    """A brain, the folder that it imports, and its state."""

    folder: Path
    rng: random.Random
    files: Texts = field(default_factory=dict)
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
        """Return the present state and the states after each of the changes."""
        states = [self.state]
        for change in changes:
            states.append(self.state._replace(pages={**states[-1].pages, **change}))
        return tuple(states)

    def without(self, state: State, slugs: set[str]) -> State:
        left = {slug: text for slug, text in state.pages.items() if slug not in slugs}
        return state._replace(pages=left)


def random_words(rng: random.Random, count: int) -> str:
    letters = "bcdfghklmnprstvw"
    return " ".join(
        "".join(rng.choice(letters) + rng.choice("aeiou") for _ in range(rng.randint(1, 4)))
        for _ in range(count)
    )


def page(rng: random.Random) -> str:
    sections = "\n".join(
        f"## {random_words(rng, 2)}\n\n{random_words(rng, rng.randint(5, 20))}\n"
        for _ in range(rng.randint(0, 2))
    )
    opening = f"# {random_words(rng, 2)}\n\n{random_words(rng, 8)} [[{random_words(rng, 1)}]]"
    return f"{opening}\n\n{sections}"


# --- pages -----------------------------------------------------------------------------------


def put(scenario: Scenario) -> PlannedCommand:
    slug, text = f"own/{scenario.rng.randint(1, OWN)}", page(scenario.rng)
    return PlannedCommand(("put", slug), scenario.with_pages({slug: text}), text.encode())


def timeline_add(scenario: Scenario) -> PlannedCommand:
    line = random_words(scenario.rng, 6)
    after = add_entry(scenario.state.pages["log"], DAY, line)
    return PlannedCommand(
        ("timeline-add", "log", line, "--date", DAY), scenario.with_pages({"log": after})
    )


def capture(scenario: Scenario) -> PlannedCommand:
    line = random_words(scenario.rng, 6)
    after = add_entry(scenario.state.pages["inbox"], DAY, line)
    return PlannedCommand(("capture", line), scenario.with_pages({"inbox": after}))


def delete(scenario: Scenario) -> PlannedCommand:
    if not scenario.own():
        return put(scenario)
    slug = scenario.rng.choice(scenario.own())
    return PlannedCommand(
        ("delete", slug), (scenario.state, scenario.without(scenario.state, {slug}))
    )


def rename(scenario: Scenario) -> PlannedCommand:
    free = [slug for n in range(1, OWN + 1) if (slug := f"own/{n}") not in scenario.state.pages]
    if not (scenario.own() and free):
        return delete(scenario)
    old, new = scenario.rng.choice(scenario.own()), scenario.rng.choice(free)
    renamed = scenario.without(scenario.with_pages({new: scenario.state.pages[old]})[-1], {old})
    return PlannedCommand(("rename", old, new), (scenario.state, renamed))


# --- folders ---------------------------------------------------------------------------------


def change_files(scenario: Scenario, changed: int, removed: int) -> None:
    for name in scenario.rng.sample(range(60), changed):
        slug = f"notes/{name}"
        scenario.files[slug] = page(scenario.rng)
        file = scenario.notes / f"{slug}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(scenario.files[slug])
    for slug in scenario.rng.sample(sorted(scenario.files), min(removed, len(scenario.files) - 1)):
        del scenario.files[slug]
        (scenario.notes / f"{slug}.md").unlink()


def embed_option(scenario: Scenario) -> tuple[str, ...]:
    return () if scenario.rng.random() < 0.2 else ("--no-embed",)


def import_(scenario: Scenario) -> PlannedCommand:
    change_files(scenario, 12, 0)
    arguments = ("import", str(scenario.notes), *embed_option(scenario))
    return PlannedCommand(arguments, scenario.with_pages(scenario.files))


def sync(scenario: Scenario) -> PlannedCommand:
    change_files(scenario, 12, 4)
    imported = scenario.with_pages(scenario.files)
    gone = {s for s in scenario.state.pages if s.startswith("notes/") and s not in scenario.files}
    states = (*imported, scenario.without(imported[-1], gone))
    return PlannedCommand(("sync", *embed_option(scenario)), states)


# --- the whole brain -------------------------------------------------------------------------


def embed(scenario: Scenario) -> PlannedCommand:
    """Embed pages that were imported just now: without work it would end before it is killed."""
    change_files(scenario, 12, 0)
    with Brain.open(scenario.brain) as brain:
        brain.import_folder(scenario.notes)
    scenario.state = scenario.with_pages(scenario.files)[-1]
    return PlannedCommand(("embed", "--stale", "--limit", "40"), (scenario.state,))


def compact(scenario: Scenario) -> PlannedCommand:
    return PlannedCommand(("compact",), (scenario.state,))


def backup(scenario: Scenario) -> PlannedCommand:
    copied = scenario.state._replace(copy=scenario.state.pages)
    return PlannedCommand(("backup", str(scenario.copy), "--force"), (scenario.state, copied))


def restore(scenario: Scenario) -> PlannedCommand:
    if scenario.state.copy is None:
        return backup(scenario)
    back = scenario.state._replace(pages=scenario.state.copy)
    return PlannedCommand(("restore", str(scenario.copy)), (scenario.state, back))


def config_set(scenario: Scenario) -> PlannedCommand:
    return PlannedCommand(
        ("config", "set", "default_limit", str(scenario.rng.randint(1, 50))), (scenario.state,)
    )


def repair(scenario: Scenario) -> PlannedCommand:
    """Repair indexes that lost half of their rows."""
    with closing(sqlite3.connect(scenario.brain, isolation_level=None)) as raw:
        for table in ("names", "tags", "links", "chunks_fts_docsize", "pages_fts_idx"):
            raw.execute(f"DELETE FROM {table} WHERE abs(random() % 2) = 0")
    arguments = ("doctor", "--repair", "--full")
    return PlannedCommand(arguments, (scenario.state,), cleanup=arguments)


def export(scenario: Scenario) -> PlannedCommand:
    """Export all pages into an empty folder."""
    for file in scenario.out.rglob("*.md"):
        file.unlink()
    return PlannedCommand(("export", str(scenario.out)), (scenario.state,))


def graph(scenario: Scenario) -> PlannedCommand:
    scenario.out.mkdir(exist_ok=True)
    return PlannedCommand(("graph", "--html", str(scenario.out / "graph.html")), (scenario.state,))


def serve(scenario: Scenario) -> PlannedCommand:
    """Write a page through `gbrain serve`."""
    slug, text = f"own/{scenario.rng.randint(1, OWN)}", page(scenario.rng)
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
    messages = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return PlannedCommand(("serve",), scenario.with_pages({slug: text}), messages, interactive=True)


# Each with its seconds on an idle machine: it is killed at any time in these or a bit later.
COMMANDS: dict[str, tuple[Callable[[Scenario], PlannedCommand], float]] = {
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
