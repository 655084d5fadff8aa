"""The program's commands, run in children of this process and within bounds."""

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

from gbrain.cli.app import COMMANDS, app

# Where writing waits for no disk, if there is such a place.
QUICK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
NOON = "2026-11-16T12:00:00"
# What one command may use: seconds of work, and bytes beyond what is loaded.
SECONDS, MEMORY = 15, 1 << 30

READS: dict[str, tuple[str, ...]] = {
    "search": ("search", "offline notes"),
    "search for a name": ("search", "Alice Chen", "--json"),
    "search within": ("search", "review", "--wing", "meetings", "--since", "2026-01", "--tag", "x"),
    "query": ("query", "who works on offline search?", "--mode", "bm25", "--depth", "auto"),
    "get": ("get", "people/alice-chen"),
    "get as json": ("get", "people/alice-chen", "--json"),
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
    "history": ("history", "own/often"),
    "diff": ("diff", "own/often"),
    "gaps": ("gaps",),
    "explain": ("explain", "alice", "--mode", "bm25", "--json"),
    "export": ("export", "OUT"),
    "settings": ("config", "list"),
    "doctor --full": ("doctor", "--full", "--quiet"),
    "aliases": ("alias", "list"),
    "jobs": ("jobs", "list"),
    "models": ("model", "list"),
}
# These load a model, which takes longer than all the others together.
MEANINGS: dict[str, tuple[str, ...]] = {
    "query by meaning": ("query", "who works on offline search?", "--mode", "hybrid"),
    "dedupe": ("dedupe", "--dry-run", "--quiet"),
    "embed": ("embed", "--all", "--quiet"),
    "as of a day": ("query", "alice", "--as-of", "2026-05-01"),
}
WRITES: dict[str, tuple[str, ...]] = {
    "put": ("put", "people/alice-chen", "--quiet"),
    "put a new page": ("put", "own/new", "--quiet"),
    "timeline-add": ("timeline-add", "people/alice-chen", "Something", "--date", "2026-11-16"),
    "delete": ("delete", "people/alice-chen", "--quiet"),
    "rename": ("rename", "people/alice-chen", "people/alice", "--quiet"),
    "supersede": ("supersede", "own/often", "people/alice-chen"),
    "alias": ("alias", "add", "rag", "retrieval"),
    "import": ("import", "VAULT", "--no-embed", "--quiet"),
    "sync": ("sync", "--no-embed", "--quiet"),
    "backup": ("backup", "OUT/copy.db", "--quiet"),
    "compact": ("compact", "--quiet"),
    "set": ("config", "set", "default_limit", "7"),
    "doctor": ("doctor",),
    "doctor --repair": ("doctor", "--repair", "--quiet"),
}
PAGE = b"# Alice Chen\n\nOther words about [[river]] #new\n\n## Timeline\n- 2026-11-01 - Moved\n"


class Said(NamedTuple):
    """How a command ended: its answer, or its error, or what should never be."""

    code: int
    out: str
    err: str
    trace: str


def load_program() -> None:
    """Loads what commands would load by themselves, so that not every child does it again."""
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


def say(folder: Path, brain: Path, words: tuple[str, ...], vault: Path) -> Said:
    """Asks a command about a brain; what it exports belongs to its answer."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    places = {"OUT": str(out), "VAULT": str(vault), "OUT/copy.db": str(out / "copy.db")}
    (folder / "asked").write_text(" ".join(words))
    said = run([places.get(word, word) for word in words], brain)
    exported = sorted((file.name, file.read_bytes()) for file in out.rglob("*.md"))
    answer = re.sub(r'"took_ms":[^,}]*|"ms":[^,}]*', "", said.out) + repr(exported)
    answer = answer.replace(str(folder), "FOLDER").replace(str(brain), "BRAIN")
    return said._replace(out=answer)


def run(
    words: list[str], brain: Path, *, stdin: bytes = PAGE, first: Callable[[], object] | None = None
) -> Said:
    """Runs a command within its bounds; `first` is done before, both in a process of their own."""
    if first is None:
        return _bounded_run(words, brain, stdin)

    def both() -> tuple[object, ...]:
        first()
        return _bounded_run(words, brain, stdin)

    return Said(*apart(both))


def apart(function: Callable[[], Any]) -> Any:
    """What the function gives, as JSON knows it, from a child of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY,) * 2)
            with open(writing, "w") as pipe:
                json.dump(function(), pipe)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        told = pipe.read()
    status = os.waitpid(child, 0)[1]
    assert told, f"the child ended with {status}"
    return json.loads(told)


def _bounded_run(words: list[str], brain: Path, stdin: bytes) -> Said:
    """What a command says; one that works for longer than it may ends its process."""
    os.environ["GBRAIN_DB"] = str(brain)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    result = CliRunner().invoke(app, words, input=stdin)
    signal.setitimer(signal.ITIMER_PROF, 0)
    trace = ""
    if result.exception and not isinstance(result.exception, SystemExit):
        trace = "".join(traceback.format_exception(result.exception))
    return Said(result.exit_code, result.stdout_bytes.decode(), result.stderr, trace)


def fresh(brain: Path, folder: Path) -> Path:
    """A copy of a brain and of what lies beside it."""
    copy = folder / "b.db"
    for ending in ("", "-wal", "-shm", "-journal"):
        Path(f"{copy}{ending}").unlink(missing_ok=True)
        if os.path.exists(f"{brain}{ending}"):
            shutil.copyfile(f"{brain}{ending}", f"{copy}{ending}")
            os.chmod(f"{copy}{ending}", 0o600)
    return copy
