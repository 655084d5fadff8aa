"""Measures the import of a folder against a sqlite-utils insert with FTS5 of the same text.

    python tests/benchmarks/bench_import.py DATA [PAGES]

DATA has real text (corpus.jsonl or Markdown files). Prints seconds, ratios and peak memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from generated_notes import write_notes

BARE = """
import sys, sqlite_utils
from pathlib import Path
root, target = Path(sys.argv[1]), sys.argv[2]
rows = (
    {"slug": str(p.relative_to(root)), "title": p.stem, "body": p.read_text()}
    for p in sorted(root.rglob("*.md"))
)
db = sqlite_utils.Database(target)
db["pages"].insert_all(rows, pk="slug")
db["pages"].enable_fts(["title", "body"], tokenize="porter")
"""


def time_process(command: list[str]) -> tuple[float, float]:
    """Return the seconds that a process took and its peak memory in megabytes."""
    began = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return perf_counter() - began, usage.ru_maxrss / 1024


def main() -> None:
    data, count = Path(sys.argv[1]), int((sys.argv[2:] or ["10000"])[0])
    with tempfile.TemporaryDirectory() as place:
        notes = Path(place, "notes")
        size = write_notes(data, notes, count)
        gbrain = [sys.executable, "-m", "gbrain"]
        db = ["--db", f"{place}/brain.db"]
        bare, _ = time_process([sys.executable, "-c", BARE, str(notes), f"{place}/bare.db"])
        first, peak = time_process([*gbrain, "import", str(notes), "--no-embed", "--quiet", *db])
        second, _ = time_process([*gbrain, "import", str(notes), "--no-embed", "--quiet", *db])
        print(f"{count} pages, {size / 1e6:.1f} MB")
        print(f"bare sqlite-utils insert and FTS5   {bare:6.2f} s")
        print(f"gbrain import                       {first:6.2f} s   {first / bare:.2f} x bare")
        print(f"gbrain import again, unchanged      {second:6.2f} s   {second / first:.2f} x first")
        print(f"memory of the import                {peak:6.0f} MB")


if __name__ == "__main__":
    main()
