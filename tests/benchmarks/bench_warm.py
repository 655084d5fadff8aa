"""Measures commands that a warm process answers against the same commands alone.

    python tests/benchmarks/bench_warm.py BRAIN [QUERIES]

BRAIN is a brain file with vectors, such as bench_cold.py builds. Install gbrain with a current pip,
pipx or uv: the script that pip 23 writes imports `re`, which takes half as long as the start of
Python. With QUERIES, so many commands of all kinds are answered at the end, and the memory of the
process is printed as it goes.
"""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

from bench_cold import QUERIES

import gbrain
from gbrain.server.background import start_and_wait, stop_background, warm_status

ROUNDS = 11
CLIENTS = 8


def measure(command: list[str], environment: dict[str, str]) -> float:
    """Return the seconds of one process."""
    began = perf_counter()
    subprocess.run(
        command,
        check=True,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return perf_counter() - began


def main() -> None:
    brain = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        # As after an installation: commands load byte code that was compiled before.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        compileall.compile_dir(Path(gbrain.__file__).parent, quiet=2)
        status = start_and_wait(brain, idle_minutes=600)
        print(f"memory before the first command: {status['memory_bytes'] / 1e6:.0f} MB")
        try:
            compare_commands(brain)
            ask_at_once(brain)
            for count in sys.argv[2:]:
                ask_many(brain, int(count))
        finally:
            stop_background(brain)


def compare_commands(brain: Path) -> None:
    """Print the medians; warm and cold commands take turns, so that all meet slow minutes."""
    program = [str(Path(sys.executable).with_name("gbrain"))]
    cold, warm = {**os.environ, "XDG_RUNTIME_DIR": "/none"}, dict(os.environ)
    kinds = {
        "search": ["search"],
        "query": ["query"],
        "query --depth auto": ["query", "--depth", "auto"],
    }
    taken: dict[str, list[float]] = {}
    for text in islice(cycle(QUERIES), ROUNDS):
        bare = measure([sys.executable, "-c", "pass"], cold)
        taken.setdefault("python -c pass", []).append(bare)
        for name, words in kinds.items():
            command = [*program, *words, text, "--db", str(brain)]
            taken.setdefault(f"cold {name}", []).append(measure(command, cold))
            taken.setdefault(f"warm {name}", []).append(measure(command, warm))
    seconds = {name: median(times) for name, times in taken.items()}
    print(f"python -c pass: {seconds['python -c pass'] * 1000:.0f} ms")
    for name in kinds:
        ours, alone = seconds[f"warm {name}"], seconds[f"cold {name}"]
        print(
            f"{name}: warm {ours * 1000:.0f} ms, {ours / seconds['python -c pass']:.1f} x "
            f"python -c pass; {alone / ours:.1f} times faster than cold ({alone * 1000:.0f} ms)"
        )


def ask_at_once(brain: Path) -> None:
    """Print how long commands take that come from several clients at the same time."""
    program = str(Path(sys.executable).with_name("gbrain"))

    def ask(text: str) -> float:
        return measure([program, "query", text, "--db", str(brain)], dict(os.environ))

    before = warm_status(brain) or {}
    with ThreadPoolExecutor(CLIENTS) as clients:
        times = list(clients.map(ask, islice(cycle(QUERIES), 10 * CLIENTS)))
    after = warm_status(brain) or {}
    print(
        f"{CLIENTS} clients at once, query: p50 {median(times) * 1000:.0f} ms, "
        f"p95 {quantiles(times, n=20)[-1] * 1000:.0f} ms; "
        f"{after['answered'] - before['answered']} of {len(times)} were answered warm"
    )


def ask_many(brain: Path, count: int) -> None:
    """Print the memory of the process while it answers `count` mixed commands."""
    from gbrain.server.client import exchange, find_socket, request_fields
    from gbrain.server.protocol import RUN

    commands = (
        ["search", "{}"], ["query", "{}"], ["query", "{}", "--depth", "auto"], ["list", "-n", "50"],
        ["query", "{}", "--json"], ["tags"], ["timeline", "--json"], ["stats"],
    )  # fmt: skip
    path = find_socket(str(brain))
    assert path
    for number, words in enumerate(islice(cycle(commands), count), 1):
        text = f"{QUERIES[number % len(QUERIES)]} {number % 97}"
        # On a busy machine the process may be silent for longer than a command waits.
        with suppress(TimeoutError):
            exchange(path, request_fields(RUN, [word.format(text) for word in words]))
        if number % max(1, count // 8) == 0:
            status = warm_status(brain) or {}
            print(f"after {number} commands: {status['memory_bytes'] / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
