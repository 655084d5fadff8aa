"""The program's commands, each run in a child of this process within bounds."""

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
from typing import NamedTuple, TextIO

from typer.testing import CliRunner

from gbrain.cli.app import COMMANDS, app

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
    for name in ("numpy", "sqlite_utils", "gbrain.ingest", "gbrain.store.health", "gbrain.export"):
        import_module(name)


def say(folder: Path, brain: Path, words: tuple[str, ...], vault: Path) -> Said:
    """Asks a command about a brain; what it exports belongs to its answer."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    places = {"OUT": str(out), "VAULT": str(vault), "OUT/copy.db": str(out / "copy.db")}
    said = run([places.get(word, word) for word in words], brain, folder / "said.json")
    exported = sorted((file.name, file.read_bytes()) for file in out.rglob("*.md"))
    answer = re.sub(r'"took_ms":[^,}]*|"ms":[^,}]*', "", said.out) + repr(exported)
    answer = answer.replace(str(folder), "FOLDER").replace(str(brain), "BRAIN")
    return said._replace(out=answer)


def run(
    words: list[str],
    brain: Path,
    told: Path,
    *,
    stdin: bytes = PAGE,
    first: Callable[[], object] = lambda: None,
) -> Said:
    """Runs a command in a child of this process, which does something else `first`.

    What it said goes through the file `told`.
    """
    told.write_bytes(b"")
    child = os.fork()
    if child == 0:
        _bounded_run(told.open("w"), brain, words, stdin, first)
    status = os.waitpid(child, 0)[1]
    if not os.WIFEXITED(status):
        return Said(-1, "", "", f"ended by signal {status}")
    return Said(**json.loads(told.read_bytes()))


def _bounded_run(
    told: TextIO, brain: Path, words: list[str], stdin: bytes, first: Callable[[], object]
) -> None:
    os.environ["GBRAIN_DB"] = str(brain)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY,) * 2)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(10 * SECONDS)
    code, out, err, trace = 0, "", "", ""
    try:
        first()
        result = CliRunner().invoke(app, words, input=stdin)
        code, out, err = result.exit_code, result.stdout_bytes.decode(), result.stderr
        if result.exception and not isinstance(result.exception, SystemExit):
            trace = "".join(traceback.format_exception(result.exception))
    except BaseException:
        trace = traceback.format_exc()
    json.dump({"code": code, "out": out, "err": err, "trace": trace}, told)
    told.flush()
    os._exit(0)


def fresh(brain: Path, folder: Path) -> Path:
    """A copy of a brain and of what lies beside it."""
    copy = folder / "b.db"
    for ending in ("", "-wal", "-shm", "-journal"):
        Path(f"{copy}{ending}").unlink(missing_ok=True)
        if os.path.exists(f"{brain}{ending}"):
            shutil.copyfile(f"{brain}{ending}", f"{copy}{ending}")
            os.chmod(f"{copy}{ending}", 0o600)
    return copy
