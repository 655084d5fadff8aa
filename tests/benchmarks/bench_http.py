"""Measures a running `gbrain serve --http` against cold `gbrain` commands.

    python tests/benchmarks/bench_http.py BRAIN [SLUG_PREFIX]

BRAIN must be embedded; it is only read. Each question is asked in turns over HTTP and as a command,
so that both meet the same state of the machine. Then several clients ask at once, and a token that
is limited to SLUG_PREFIX asks: its first request copies the pages within the limits.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from urllib.parse import quote

QUESTIONS = (
    "which treatment helps against heart disease",
    "how are stem cells kept alive",
    "what did we decide about backups",
    "who is lukewarm on cloud retrieval",
    "effect of vitamin D on bones",
    "why does the boundary layer heat up",
)
GBRAIN = (sys.executable, "-m", "gbrain")
ROUNDS = 4
CLIENTS = 8
REQUESTS = 400


def timed(call: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    began = perf_counter()
    call()
    return perf_counter() - began


def run(words: list[str], brain: Path, environment: dict[str, str]) -> str:
    command = [*GBRAIN, *words, "--db", str(brain)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return done.stdout


class Http:
    """A connection that is kept open, as clients do."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def search(self, question: str) -> None:
        self._ask("GET", f"/api/search?q={quote(question)}", None)

    def query(self, question: str) -> None:
        self._ask("POST", "/api/query", json.dumps({"query": question}))

    def _ask(self, method: str, path: str, body: str | None) -> None:
        self._connection.request(method, path, body, self._headers)
        response = self._connection.getresponse()
        data = response.read()
        assert response.status == 200, data


def measure(brain: Path, prefix: str, environment: dict[str, str]) -> None:
    began = perf_counter()
    server = subprocess.Popen(
        [*GBRAIN, "serve", "--http", "127.0.0.1:0", "--read-only", "--db", str(brain)],
        stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert server.stderr is not None
    port = int(server.stderr.readline().partition("127.0.0.1:")[2].partition("/")[0])
    ready = perf_counter() - began
    try:
        token = run(["token", "add", "bench", "--quiet"], brain, environment).strip()
        words = ["token", "add", "limited", "--quiet", "--slug-prefix", prefix]
        limited = run(words, brain, environment).strip()
        client = Http(port, token)
        first = timed(lambda: client.query(QUESTIONS[0]))
        taken: dict[str, list[float]] = {}

        def add(name: str, call: Callable[[], object]) -> None:
            taken.setdefault(name, []).append(timed(call))

        for _ in range(ROUNDS):
            for question in QUESTIONS:
                for name in ("search", "query"):
                    words = [name, question, "--json"]
                    add(f"cold {name}", partial(run, words, brain, environment))
                add("HTTP search", partial(client.search, question))
                add("HTTP query", partial(client.query, question))
        print(f"ready after {ready * 1000:.0f} ms")
        print(f"first query {first * 1000:.0f} ms, which loads the model")
        for name, values in taken.items():
            print(f"{name:12} {shape(values)}")
        for what in ("search", "query"):
            ratio = median(taken[f"cold {what}"]) / median(taken[f"HTTP {what}"])
            print(f"{what}: HTTP is {ratio:.1f} times faster than the cold command")
        for what in ("search", "query"):
            measure_load(port, token, what, server.pid)
        other = Http(port, limited)
        copying = timed(lambda: other.search(QUESTIONS[0]))
        again = [timed(partial(other.search, question)) for question in QUESTIONS * ROUNDS]
        print(f"limited to {prefix}: first request {copying * 1000:.0f} ms, then {shape(again)}")
    finally:
        server.terminate()
        server.wait()


def measure_load(port: int, token: str, what: str, server: int) -> None:
    """Let several clients ask at once; also print the processor time of the server."""

    def work(number: int) -> list[float]:
        client = Http(port, token)
        ask = client.search if what == "search" else client.query
        asked = [QUESTIONS[n % len(QUESTIONS)] for n in range(number, number + REQUESTS // CLIENTS)]
        return [timed(partial(ask, question)) for question in asked]

    began, busy = perf_counter(), processor_seconds(server)
    with ThreadPoolExecutor(CLIENTS) as pool:
        values = [value for each in pool.map(work, range(CLIENTS)) for value in each]
    rate = len(values) / (perf_counter() - began)
    busy = (processor_seconds(server) - busy) / len(values)
    print(
        f"{CLIENTS} clients, {what}: {rate:.0f} requests/s, {shape(values)}, "
        f"{busy * 1000:.0f} ms of processor time each"
    )


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has used."""
    numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def shape(values: list[float]) -> str:
    p95 = quantiles(values, n=20)[-1]
    return f"p50 {median(values) * 1000:.1f} ms, p95 {p95 * 1000:.1f} ms"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_STATE_HOME": folder, "XDG_CACHE_HOME": folder}
        prefix = sys.argv[2] if len(sys.argv) > 2 else "people/"
        measure(Path(sys.argv[1]).absolute(), prefix, environment)


if __name__ == "__main__":
    main()
