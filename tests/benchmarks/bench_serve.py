"""Measures brain_query of a running `gbrain serve` against a cold `gbrain query` command.

    python tests/benchmarks/bench_serve.py BRAIN [QUESTIONS]

BRAIN must be embedded; it is only read. QUESTIONS is a file with one question per line. Each is
asked both ways in turn, so that both meet the same state of the machine.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

QUESTIONS = (
    "which treatment helps against heart disease",
    "how are stem cells kept alive",
    "what did we decide about backups",
    "who is lukewarm on cloud retrieval",
    "effect of vitamin D on bones",
    "why does the boundary layer heat up",
)


def time_command(gbrain: list[str], brain: Path, question: str) -> float:
    """Return the seconds of a whole process."""
    began = perf_counter()
    command = [*gbrain, "query", question, "--json", "--db", str(brain)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return perf_counter() - began


async def time_call(client: Client, tool: str, question: str) -> float:
    """Return the seconds from the call to its checked result."""
    began = perf_counter()
    result = await client.call_tool(tool, {"query": question})
    assert not result.is_error, result.structured_content
    return perf_counter() - began


async def measure(brain: Path, questions: list[str]) -> None:
    gbrain = [sys.executable, "-m", "gbrain"]
    words = [*gbrain[1:], "serve", "--read-only", "--db", str(brain)]
    began = perf_counter()
    async with Client(stdio_client(StdioServerParameters(command=gbrain[0], args=words))) as client:
        ready = perf_counter() - began
        first = await time_call(client, "brain_query", questions[0])
        taken: dict[str, list[float]] = {"brain_query": [], "brain_search": [], "cold": []}
        for question in questions:
            taken["cold"].append(time_command(gbrain, brain, question))
            for tool in ("brain_query", "brain_search"):
                taken[tool].append(await time_call(client, tool, question))
    times = {name: median(values) for name, values in taken.items()}
    print(f"{len(questions)} questions, medians")
    print(f"ready after            {ready * 1000:8.1f} ms, once")
    print(f"first brain_query      {first * 1000:8.1f} ms, which loads the model")
    print(f"cold gbrain query      {times['cold'] * 1000:8.1f} ms")
    print(f"warm brain_query       {times['brain_query'] * 1000:8.1f} ms")
    print(f"warm brain_search      {times['brain_search'] * 1000:8.1f} ms")
    print(f"cold / warm query      {times['cold'] / times['brain_query']:8.1f} times")


def main() -> None:
    questions = list(QUESTIONS)
    if len(sys.argv) > 2:
        questions = [line for line in Path(sys.argv[2]).read_text().splitlines() if line.strip()]
    anyio.run(partial(measure, Path(sys.argv[1]).absolute(), questions))


if __name__ == "__main__":
    main()
