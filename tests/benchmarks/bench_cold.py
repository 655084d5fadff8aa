"""Measures cold commands on a large brain against a process that only imports their libraries.

    python tests/benchmarks/bench_cold.py DATA BRAIN [PAGES]

DATA has real text; BRAIN is built on the first run and kept. Its chunks get the vectors of a few
thousand real texts, each with a little noise, so that building takes minutes and not hours.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

from generated_notes import generate_pages, read_sentences

from gbrain.brain import Brain, timestamp
from gbrain.store import vectors
from gbrain.store.page_writer import write_page
from gbrain.text.page import parse_page

QUERIES = (
    "stem cell therapy for heart disease",
    "how to configure github actions for python",
    "support group meeting yesterday",
    "boundary layer heat transfer",
)


def build(data: Path, path: Path, count: int, *, embedded: bool = True) -> None:
    """Write a brain of `count` generated pages, with vectors if it is to be `embedded`."""
    brain = Brain.open(path, make=True)
    batch = []
    for number, (name, text) in enumerate(generate_pages(data, count), 1):
        batch.append(parse_page(name, text.encode()))
        if number % 500 == 0 or number == count:
            with brain.database.write_transaction() as connection:
                for page in batch:
                    write_page(connection, page, timestamp())
            batch = []
    if embedded:
        add_vectors(brain, data)
    else:
        # A later import would embed all that waits; the first use of a model queues every chunk.
        brain.active_model()
        brain.clear_jobs()
    brain.close()


def add_vectors(brain: Brain, data: Path) -> None:
    import numpy as np

    rng = np.random.default_rng(5)
    space = brain.active_model().space
    real = np.array(list(brain.embedder.embed_chunks(read_sentences(data)[::40][:2000])))
    with brain.database.read_transaction() as connection:
        hashes = [row[0] for row in connection.execute("SELECT DISTINCT hash FROM chunks")]
    for start in range(0, len(hashes), 4096):
        group = hashes[start : start + 4096]
        rows = real[rng.integers(len(real), size=len(group))]
        rows = rows + rng.normal(scale=0.02, size=rows.shape)
        rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        with brain.database.write_transaction() as connection:
            vectors.store_vectors(connection, space, list(zip(group, rows, strict=True)))
            connection.execute("DELETE FROM embedding_jobs")


def time_processes(commands: dict[str, list[str]], rounds: int = 11) -> dict[str, float]:
    """Return the median seconds of each process; they take turns, so that all meet slow minutes."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            began = perf_counter()
            subprocess.run(command, check=True, env=environment, **quiet)
            taken[name].append(perf_counter() - began)
    return {name: median(seconds) for name, seconds in taken.items()}


def main() -> None:
    data, path = Path(sys.argv[1]), Path(sys.argv[2])
    if not path.exists():
        build(data, path, int((sys.argv[3:] or ["50000"])[0]))
    with Brain.open(path) as brain, brain.database.read_transaction() as connection:
        count = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
        chunks = connection.execute("SELECT count(*) FROM chunks").fetchone()[0]
    print(f"{count} pages, {chunks} chunks, {path.stat().st_size / 1e6:.0f} MB")
    gbrain = str(Path(sys.executable).with_name("gbrain"))
    baselines = {
        "search": "import typer, sqlite3",
        "query": "import typer, numpy, onnxruntime, tokenizers",
    }
    commands = {imports: [sys.executable, "-c", imports] for imports in baselines.values()}
    for text in QUERIES:
        commands[f"search {text}"] = [gbrain, "search", text, "--db", str(path)]
        commands[f"query {text}"] = [gbrain, "query", text, "--depth", "auto", "--db", str(path)]
    seconds = time_processes(commands)
    for name, taken in seconds.items():
        baseline = baselines.get(name.partition(" ")[0])
        ratio = f", {taken / seconds[baseline]:.2f} x {baseline}" if baseline else ""
        print(f"{name}: {taken * 1000:.0f} ms{ratio}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"largest process: {peak:.0f} MB")
    print_stage_times(path)


def print_stage_times(path: Path) -> None:
    """Print the milliseconds of each stage in a warm process."""
    with Brain.open(path) as brain:
        slug = brain.list(limit=1)[0][0].slug
        brain.query(QUERIES[0])
        for text in (slug, *QUERIES):
            answer = min(
                (brain.query(text, depth="auto") for _ in range(5)), key=lambda a: a.took_ms
            )
            stages = ", ".join(f"{stage.name} {stage.ms:.1f}" for stage in answer.trace.stages)
            print(f"{text!r}, ms: {stages}; all {answer.took_ms:.1f}")


if __name__ == "__main__":
    main()
