"""Push a brain to a PostgreSQL server of its own, clone it, and pull with nothing new.

    python tests/benchmarks/bench_remotes.py BRAIN [--prefix SLUGS]

BRAIN is copied, never written. Prints wall time, and the CPU time of this process and its children
and that of the server.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))
from postgres_server import Server, start_server

from gbrain.brain import Brain
from gbrain.brain.replicas import clone_brain
from gbrain.store.postgres.connection import SharedStore

IDLE_PULLS = 50


def cpu_seconds() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def server_seconds(server: Server) -> float:
    """Return the CPU time of the server: its processes, and those that have ended."""
    assert server.process is not None
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if stat.parent.name == str(server.process.pid):
            ticks += sum(map(int, fields[11:15]))
        elif fields[1] == str(server.process.pid):
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(what: str, server: Server, work: Callable[[], str]) -> None:
    began, cpu, there = time.monotonic(), cpu_seconds(), server_seconds(server)
    result = work()
    print(
        f"{what:<14} {time.monotonic() - began:7.1f} s  {cpu_seconds() - cpu:7.1f} s CPU here  "
        f"{server_seconds(server) - there:7.1f} s CPU there  {result}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("brain", type=Path)
    parser.add_argument("--prefix", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, start_server(max_wal_size="4GB") as server:
        os.environ["XDG_STATE_HOME"] = os.environ["XDG_DATA_HOME"] = folder
        server.execute("CREATE DATABASE notes")
        url = server.socket_url("notes")
        source, clone = Path(folder, "source.db"), Path(folder, "clone.db")
        shutil.copy(options.brain, source)
        with Brain.open(source) as brain:
            brain.add_remote("team", url)

            def push() -> str:
                report = brain.push(slug_prefix=options.prefix)
                return f"{len(report.pushed):,} pages, {report.vectors:,} vectors"

            measure("push", server, push)
            measure("index", server, lambda: str(brain.index_remote() or ""))
            measure("push again", server, push)
        measure("clone", server, lambda: f"{len(clone_brain(url, clone).created):,} pages")
        size = server.execute("SELECT pg_size_pretty(pg_database_size('notes'))")
        print(f"database {size[0][0]}, clone {clone.stat().st_size / 1e6:,.0f} MB")
        with Brain.open(clone) as brain:
            pull, connect = median_ms(brain.pull), median_ms(lambda: SharedStore(url).close())
        print(f"idle pull      {pull:.1f} ms (median of {IDLE_PULLS}), {connect:.1f} to connect")


def median_ms(work: Callable[[], object]) -> float:
    times = []
    for _ in range(IDLE_PULLS):
        began = time.monotonic()
        work()
        times.append(time.monotonic() - began)
    return median(times) * 1000


if __name__ == "__main__":
    main()
