"""Measures the vector lane in a fresh process, by size, against one float32 row per vector.

    python tests/benchmarks/bench_vectors.py DATA FOLDER [COUNT...]

Vectors are those of real sentences below DATA with a little noise; FOLDER keeps the brains. Prints
time, memory, file size and recall@10 against exact float32 search, and plots time by size.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path
from statistics import median

from gbrain.output.plots import Point, plot_text

LANE = """
import json, resource, sys, time
from gbrain.brain import Brain
import numpy as np
from gbrain.config import Settings
from gbrain.search.lanes import vector
from gbrain.store.vectors import active_space
from gbrain.types import Query, Scope
query = np.load(sys.argv[2])
began = time.perf_counter()
brain = Brain.open(sys.argv[1])
brain.database.enable_mmap()
connection, second = brain.database.connection, brain.database.open_second_connection()
found = vector.search((connection, second), active_space(connection), query,
                      Query("", (), Scope(), 10), Settings())
took = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([took, peak, [chunk.chunk_id for chunk in found.chunks[:10]]]))
"""
ROWS = """
import json, resource, sqlite3, sys, time
import numpy as np
query = np.load(sys.argv[2])
began = time.perf_counter()
rows = sqlite3.connect(sys.argv[1]).execute("SELECT id, vector FROM vectors").fetchall()
joined = np.frombuffer(b"".join(row[1] for row in rows), np.float32)
cosines = joined.reshape(-1, len(query)) @ query
best = np.argsort(-cosines)[:10]
took = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([took, peak, [rows[at][0] for at in best]]))
"""


def build(data: Path, folder: Path, count: int) -> None:
    import numpy as np
    from generated_notes import read_sentences

    from gbrain.brain import Brain, timestamp
    from gbrain.store import vectors

    rng = np.random.default_rng(5)
    brain = Brain.open(folder / f"{count}.db", make=True)
    space = brain.active_model().space
    stock = read_sentences(data)[::40][:2000]
    real = np.array(list(brain.embedder.embed_chunks(stock)))
    np.save(folder / "queries.npy", np.array([brain.embedder.embed_query(t) for t in stock[:5]]))
    plain = sqlite3.connect(folder / f"{count}-rows.db")
    plain.execute("CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB)")
    for start in range(0, count, 4096):
        numbers = range(start + 1, min(start + 4096, count) + 1)
        rows = real[rng.integers(len(real), size=len(numbers))]
        rows = rows + rng.normal(scale=0.02, size=rows.shape)
        rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        hashes = [blake2b(str(number).encode(), digest_size=16).digest() for number in numbers]
        with brain.database.write_transaction() as connection:
            _insert_pages(connection, numbers, hashes, timestamp())
            vectors.store_vectors(connection, space, list(zip(hashes, rows, strict=True)))
        plain.executemany(
            "INSERT INTO vectors VALUES (?, ?)",
            [(number, row.tobytes()) for number, row in zip(numbers, rows, strict=True)],
        )
        plain.commit()
    brain.close()


def _insert_pages(
    connection: sqlite3.Connection, numbers: range, hashes: list[bytes], now: str
) -> None:
    connection.executemany(
        "INSERT INTO pages (id, slug, path, title, wing, wing_reason, room, room_reason, version, "
        "sha256, bytes, created_at, updated_at, tags, aliases, meta, front_matter, "
        "compiled_truth, timeline) "
        "VALUES (?1, 'p' || ?1, 'p' || ?1, '', '', '', '', '', 1, x'00', 0, ?2, ?2, '', '', '{}', "
        "'', '', '')",
        [(number, now) for number in numbers],
    )
    connection.executemany(
        "INSERT INTO chunks (id, page_id, section, part, kind, byte_start, byte_stop, first_line, "
        "last_line, hash, heading_path, text) "
        "VALUES (?1, ?1, 0, 0, 'truth', 0, 0, 1, 1, ?2, '[]', '')",
        list(zip(numbers, hashes, strict=True)),
    )


def run_in_new_process(script: str, file: Path, query: Path) -> tuple[float, float, list[int]]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", script, str(file), str(query)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    took, peak, best = json.loads(shown.stdout)
    return took, peak, best


def main() -> None:
    import numpy as np

    data, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    points: list[Point] = []
    print("  vectors    lane   float32 rows   ratio   recall@10   memory      file")
    for count in [int(word) for word in sys.argv[3:]] or [10_000, 150_000]:
        if not (folder / f"{count}-rows.db").exists():
            build(data, folder, count)
        lane, rows, kept, peak = [], [], [], 0.0
        for number, query in enumerate(np.load(folder / "queries.npy")):
            place = folder / f"query-{number}.npy"
            np.save(place, query)
            took, peak, found = run_in_new_process(LANE, folder / f"{count}.db", place)
            plain, _, exact = run_in_new_process(ROWS, folder / f"{count}-rows.db", place)
            lane.append(took)
            rows.append(plain)
            kept.append(len(set(found) & set(exact)) / 10)
        size = (folder / f"{count}.db").stat().st_size / 1e6
        print(
            f"{count:9,}{median(lane) * 1000:5.0f} ms{median(rows) * 1000:12.0f} ms"
            f"{median(rows) / median(lane):8.1f}{sum(kept) / len(kept):12.3f}"
            f"{peak:6.0f} MB{size:7.0f} MB",
            flush=True,
        )
        points.append(Point(f"{count:,} vectors", count, median(lane) * 1000))
    print(plot_text(points, "vectors", "ms"))


if __name__ == "__main__":
    main()
