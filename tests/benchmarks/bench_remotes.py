"""Push a brain to a PostgreSQL server, index it there, clone it, and pull with nothing new.

    python tests/benchmarks/bench_remotes.py BRAIN [STEP...] [--url URL --folder FOLDER]

BRAIN is copied, never written. The steps are push, index, again (a push with nothing new), clone,
pull and check; without any, all of them run, on a server of their own. With --url, an empty
database on this machine, and --folder, where the copies stay, each can be run when the machine is
quiet. Prints wall time, and the CPU time of this process and its children and that of the server.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))
from postgres_server import start_server

from gbrain.brain import Brain
from gbrain.brain.replicas import clone_brain
from gbrain.remotes.indexing import index_pages
from gbrain.store.postgres import indexes
from gbrain.store.postgres.connection import SharedStore

IDLE_PULLS = 50


def cpu_seconds() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def server_process(url: str) -> int:
    """Return the process of a server on this machine: the parent of the one for a connection."""
    with SharedStore(url) as store:
        stat = Path(f"/proc/{store.connection.info.backend_pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def server_seconds(process: int) -> float:
    """Return the CPU time of the server: its processes, and those that have ended."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if stat.parent.name == str(process):
            ticks += sum(map(int, fields[11:15]))
        elif fields[1] == str(process):
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


class Steps:
    """The steps by their names; the copies of the brain are in `folder`."""

    def __init__(self, url: str, folder: Path, brain: Path, prefix: str | None) -> None:
        self._url, self._prefix = url, prefix
        self._original = brain
        self._source, self._clone = folder / "source.db", folder / "clone.db"
        self._server = server_process(url)

    def measure(self, what: str, work: Callable[[], object]) -> None:
        began, cpu, there = time.monotonic(), cpu_seconds(), server_seconds(self._server)
        result = work()
        print(
            f"{what:<24} {time.monotonic() - began:7.1f} s  {cpu_seconds() - cpu:7.1f} s CPU here  "
            f"{server_seconds(self._server) - there:7.1f} s CPU there  {result or ''}",
            flush=True,
        )

    def push(self) -> None:
        shutil.copy(self._original, self._source)
        with Brain.open(self._source) as brain:
            brain.add_remote("team", self._url)
            self.measure("push", lambda: self._push(brain))

    def again(self) -> None:
        with Brain.open(self._source) as brain:
            self.measure("push again", lambda: self._push(brain))

    def _push(self, brain: Brain) -> str:
        report = brain.push("team", slug_prefix=self._prefix)
        return f"{len(report.pushed):,} pages, {report.vectors:,} vectors"

    def index(self) -> None:
        with SharedStore(self._url) as store:
            self.measure("search tables", lambda: index_pages(store))
            create = indexes._create_index

            def create_measured(store: SharedStore, missing: Any) -> None:
                self.measure(missing.name, lambda: create(store, missing))

            with patch.object(indexes, "_create_index", create_measured):
                indexes.create_indexes(store)

    def clone(self) -> None:
        self._clone.unlink(missing_ok=True)
        self.measure("clone", lambda: f"{len(clone_brain(self._url, self._clone).created):,} pages")
        with SharedStore(self._url) as store:
            size = store.connection.execute(
                "SELECT pg_size_pretty(pg_database_size(current_database()))"
            ).fetchone()
        print(f"database {size and size[0]}, clone {self._clone.stat().st_size / 1e6:,.0f} MB")

    def pull(self) -> None:
        with Brain.open(self._clone) as brain:
            whole = median_ms(brain.pull)
        connect = median_ms(lambda: SharedStore(self._url).close())
        print(f"idle pull {whole:.1f} ms (median of {IDLE_PULLS}), {connect:.1f} of it to connect")

    def check(self) -> None:
        with Brain.open(self._source) as brain:
            self.measure(
                "status --check", lambda: f"{brain.remote_status('team', check=True).problems}"
            )


STEPS = ("push", "index", "again", "clone", "pull", "check")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("brain", type=Path)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(STEPS))
    parser.add_argument("--prefix", help="push only slugs that start with it")
    parser.add_argument("--url")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if unknown := set(options.steps).difference(STEPS):
        parser.error(f"no such step: {', '.join(unknown)}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        # What is added there is trusted there only.
        os.environ["XDG_STATE_HOME"] = os.environ["XDG_DATA_HOME"] = str(folder)
        with database(options.url) as url:
            steps = Steps(url, folder, options.brain, options.prefix)
            for name in options.steps or STEPS:
                getattr(steps, name)()


@contextmanager
def database(url: str | None) -> Iterator[str]:
    """Yield the URL of a database: the given one, or one on a server of its own."""
    if url:
        yield url
        return
    with start_server(max_wal_size="4GB") as server:
        server.execute("CREATE DATABASE notes")
        yield server.socket_url("notes")


def median_ms(work: Callable[[], object]) -> float:
    times = []
    for _ in range(IDLE_PULLS):
        began = time.monotonic()
        work()
        times.append(time.monotonic() - began)
    return median(times) * 1000


if __name__ == "__main__":
    main()
