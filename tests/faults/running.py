"""Runs gbrain commands in child processes with limits on time and memory."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from gbrain.brain import open_models
from gbrain.cli.app import COMMANDS, app

# Memory instead of a disk, if the system has it.
FAST_FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
NOON = "2026-11-16T12:00:00"
# Limits of one command: processor seconds, and memory beyond what is loaded.
MAX_SECONDS, MAX_MEMORY_BYTES = 15, 1 << 30

READ_COMMANDS: dict[str, tuple[str, ...]] = {
    "search": ("search", "offline notes"),
    "search for a name": ("search", "Alice Chen", "--json"),
    "search within": ("search", "review", "--wing", "meetings", "--since", "2026-01", "--tag", "x"),
    "query": ("query", "who works on offline search?", "--mode", "bm25", "--depth", "auto"),
    "get": ("get", "people/alice-chen"),
    "get as json": ("get", "people/alice-chen", "--json"),
    "get by title": ("get", "Alice Chen"),
    "get a version": ("get", "own/often", "--version", "1"),
    "list": ("list",),
    "list where": ("list", "--where", "status=active", "--json"),
    "stats": ("stats",),
    "tags": ("tags",),
    "links": ("links", "people/alice-chen"),
    "backlinks": ("backlinks", "people/alice-chen"),
    "graph": ("graph", "people/alice-chen"),
    "why": ("why", "people/alice-chen"),
    "timeline": ("timeline",),
    "timeline of a page": ("timeline", "people/alice-chen"),
    "tasks": ("tasks", "--all"),
    "today": ("today", "2026-04-03"),
    "history": ("history", "own/often"),
    "diff": ("diff", "own/often"),
    "gaps": ("gaps",),
    "explain": ("explain", "alice", "--mode", "bm25", "--json"),
    "export": ("export", "OUT"),
    "settings": ("config", "list"),
    "doctor --full": ("doctor", "--full", "--quiet", "--json"),
    "aliases": ("alias", "list"),
    "jobs": ("jobs", "list"),
    "models": ("model", "list"),
}
# These load a model, which takes longer than all others together.
MODEL_COMMANDS: dict[str, tuple[str, ...]] = {
    "hybrid query": ("query", "who works on offline search?", "--mode", "hybrid"),
    "dedupe": ("dedupe", "--dry-run", "--quiet"),
    "embed": ("embed", "--all", "--quiet"),
    "as of a day": ("query", "alice", "--as-of", "2026-05-01"),
}
WRITE_COMMANDS: dict[str, tuple[str, ...]] = {
    "put": ("put", "people/alice-chen", "--quiet"),
    "put a new page": ("put", "own/new", "--quiet"),
    "timeline-add": ("timeline-add", "people/alice-chen", "Something", "--date", "2026-11-16"),
    "delete": ("delete", "people/alice-chen", "--quiet"),
    "rename": ("rename", "people/alice-chen", "people/alice", "--quiet"),
    "supersede": ("supersede", "own/often", "people/alice-chen"),
    "undo": ("undo", "own/often", "--quiet"),
    "undelete": ("undo", "own/gone", "--quiet"),
    "done": ("done", "5323", "--quiet"),
    "alias": ("alias", "add", "rag", "retrieval"),
    "import": ("import", "NOTES", "--no-embed", "--quiet"),
    "sync": ("sync", "--no-embed", "--quiet"),
    "backup": ("backup", "OUT/copy.db", "--quiet"),
    "compact": ("compact", "--quiet"),
    "set": ("config", "set", "default_limit", "7"),
    "doctor": ("doctor",),
    "doctor --repair": ("doctor", "--repair", "--quiet"),
}
PAGE = b"# Alice Chen\n\nOther words about [[river]] #new\n\n## Timeline\n- 2026-11-01 - Moved\n"


class CommandResult(NamedTuple):
    """Exit code and output of a command; `trace` is the traceback of an unhandled exception."""

    code: int
    out: str
    err: str
    trace: str


def load_program() -> None:
    """Import what commands import, so that not every child process does it again."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in {module for module, _ in COMMANDS.values()} - {"serve"}:
        import_module(f"gbrain.cli.{name}")
    for name in (
        "numpy",
        "sqlite_utils",
        "gbrain.importing.importer",
        "gbrain.store.doctor.examine",
        "gbrain.importing.export",
    ):
        import_module(name)


def run_on_copy(
    folder: Path, brain: Path, arguments: tuple[str, ...], notes: Path
) -> CommandResult:
    """Run a command on a brain; files that it exports become part of its output."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    places = {"OUT": str(out), "NOTES": str(notes), "OUT/copy.db": str(out / "copy.db")}
    (folder / "last-command").write_text(" ".join(arguments))
    said = run([places.get(word, word) for word in arguments], brain)
    exported = sorted((file.name, file.read_bytes()) for file in out.rglob("*.md"))
    answer = re.sub(r'"took_ms":[^,}]*|"ms":[^,}]*', "", said.out) + repr(exported)
    answer = answer.replace(str(folder), "FOLDER").replace(str(brain), "BRAIN")
    return said._replace(out=answer)


def run(
    arguments: list[str],
    brain: Path,
    *,
    stdin: bytes = PAGE,
    first: Callable[[], object] | None = None,
) -> CommandResult:
    """Run a command with limits; with `first`, call that before, both in a child process."""
    if first is None:
        return _bounded_run(arguments, brain, stdin)

    def both() -> tuple[object, ...]:
        first()
        return _bounded_run(arguments, brain, stdin)

    return CommandResult(*in_child_process(both))


def in_child_process(function: Callable[[], Any]) -> Any:
    """Call the function in a child process; return its result after a round trip through JSON."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MAX_MEMORY_BYTES,) * 2)
            # A model that another test keeps open has threads, and those are not in this process.
            open_models._open.clear()
            with open(writing, "w") as pipe:
                json.dump(function(), pipe)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        received = pipe.read()
    status = os.waitpid(child, 0)[1]
    assert received, f"the child ended with {status}"
    return json.loads(received)


def _bounded_run(arguments: list[str], brain: Path, stdin: bytes) -> CommandResult:
    """Run a command; one that exceeds its processor time ends the process."""
    os.environ["GBRAIN_DB"] = str(brain)
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    result = CliRunner().invoke(app, arguments, input=stdin)
    signal.setitimer(signal.ITIMER_PROF, 0)
    trace = ""
    if result.exception and not isinstance(result.exception, SystemExit):
        trace = "".join(traceback.format_exception(result.exception))
    return CommandResult(result.exit_code, result.stdout_bytes.decode(), result.stderr, trace)


def copy_brain(brain: Path, folder: Path) -> Path:
    """Copy a brain and its log files into the folder; return the copy."""
    copy = folder / "b.db"
    for ending in ("", "-wal", "-shm", "-journal"):
        Path(f"{copy}{ending}").unlink(missing_ok=True)
        if os.path.exists(f"{brain}{ending}"):
            shutil.copyfile(f"{brain}{ending}", f"{copy}{ending}")
            os.chmod(f"{copy}{ending}", 0o600)
    return copy
