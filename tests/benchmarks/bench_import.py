"""Import of a folder against a bare sqlite-utils insert with FTS5 over the same text.

    python tests/benchmarks/bench_import.py DATA [PAGES]

DATA holds real text (corpus.jsonl or Markdown files). Prints seconds, ratios and peak memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from vaults import write_vault

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


def timed(command: list[str]) -> tuple[float, float]:
    """Seconds that a process took, and the megabytes it had at most."""
    began = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return perf_counter() - began, usage.ru_maxrss / 1024


def main() -> None:
    data, count = Path(sys.argv[1]), int((sys.argv[2:] or ["10000"])[0])
    with tempfile.TemporaryDirectory() as place:
        vault = Path(place, "vault")
        size = write_vault(data, vault, count)
        gbrain = [sys.executable, "-m", "gbrain"]
        db = ["--db", f"{place}/brain.db"]
        bare, _ = timed([sys.executable, "-c", BARE, str(vault), f"{place}/bare.db"])
        first, peak = timed([*gbrain, "import", str(vault), "--no-embed", "--quiet", *db])
        second, _ = timed([*gbrain, "import", str(vault), "--no-embed", "--quiet", *db])
        print(f"{count} pages, {size / 1e6:.1f} MB")
        print(f"bare sqlite-utils insert and FTS5   {bare:6.2f} s")
        print(f"gbrain import                       {first:6.2f} s   {first / bare:.2f} x bare")
        print(f"gbrain import again, unchanged      {second:6.2f} s   {second / first:.2f} x first")
        print(f"memory of the import                {peak:6.0f} MB")


if __name__ == "__main__":
    main()
