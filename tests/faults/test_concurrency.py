"""Two writers, an embedder, a watcher and eight readers at one brain: nothing lost, nothing half.

    python tests/faults/test_concurrency.py SECONDS [SEED]

By hand the readers first have the brain to themselves for as long, and the times of both are
printed side by side.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

from concurrency import GONE, LOG, SHARED, counted, stamp_of, write_files
from concurrency_readers import READERS
from soundness import check_sound, texts

from gbrain.brain import Brain
from gbrain.store.history import list_versions

Told = list[dict[str, Any]]
MEMBER = Path(__file__).with_name("concurrency_member.py")
WRITERS = (("writer", 1), ("writer", 2), ("embedder", 3))
READING = (*(("reader", number) for number in range(len(READERS))), ("commands", 10), ("agent", 11))


class Result(NamedTuple):
    """What writers and readers told of themselves."""

    written: Told
    read: Told


def make_brain(folder: Path) -> Path:
    path = folder / "brain.db"
    (folder / "copies").mkdir()
    for number in (1, 2):
        write_files(folder / f"vault-{number}", f"notes-{number}", f"c{number}x0")
    write_files(folder / "watched", "watched", "c3x0")
    with Brain.open(path, make=True) as brain:
        brain.put(LOG, b"# Log\n\n## Timeline\n")
        for slug in SHARED:
            brain.put(slug, b"# Count\n\n0\n")
        own = [f"own-{number}/{page}" for number in (1, 2) for page in range(1, 5)]
        for slug in (*GONE, *own):
            brain.put(slug, counted(slug, "c0x0").encode())
        for name in ("vault-1", "vault-2", "watched"):
            brain.import_folder(folder / name)
        brain.embed()
    return path


def together(folder: Path, roles: Iterable[tuple[str, int]], seconds: float, seed: int) -> Told:
    """Runs the roles side by side; what one of them fails with is raised."""
    environment = {**os.environ, "GBRAIN_DB": str(folder / "brain.db")}
    running = []
    (folder / "told").mkdir(exist_ok=True)
    for role, number in roles:
        words = [sys.executable, str(MEMBER), role, str(folder), *map(str, (number, seed, seconds))]
        out = (folder / "told" / f"{role}-{number}").open("wb")
        process = subprocess.Popen(words, stdout=out, stderr=subprocess.PIPE, env=environment)
        running.append((role, number, process, out))
    told: Told = []
    failures = []
    for role, number, process, out in running:
        _, complained = process.communicate(timeout=seconds + 120)
        out.close()
        if process.returncode:
            failures.append(f"{role} {number}: {complained.decode()}")
        lines = Path(out.name).read_text().splitlines()
        told += [{"role": role, "number": number, **json.loads(line)} for line in lines]
    assert not failures, "\n".join(failures)
    return told


def watcher(folder: Path) -> subprocess.Popen[bytes]:
    words = ["sync", str(folder / "watched"), "--watch", "--no-embed", "--quiet"]
    environment = {**os.environ, "GBRAIN_DB": str(folder / "brain.db")}
    return subprocess.Popen(
        [sys.executable, "-m", "gbrain", *words], env=environment, stderr=subprocess.PIPE
    )


def all_at_once(folder: Path, seconds: float, seed: int) -> Result:
    watching = watcher(folder)
    try:
        told = together(folder, (*WRITERS, *READING), seconds, seed)
    finally:
        watching.send_signal(signal.SIGTERM)
        _, complained = watching.communicate(timeout=60)
    assert (watching.returncode, complained) == (0, b"")
    roles = {role for role, _ in WRITERS}
    return Result(
        [line for line in told if line["role"] in roles],
        [line for line in told if line["role"] not in roles],
    )


# --- what must be there afterwards -------------------------------------------------------------


def check_nothing_lost(path: Path, written: Told) -> None:
    held = texts(path)
    last: dict[str, str] = {}
    puts: Counter[str] = Counter()
    for line in written:
        if "stamp" in line:
            puts.update(line["slugs"])
            last |= dict.fromkeys(line["slugs"], line["stamp"])
    for slug, stamp in last.items():
        if slug not in GONE:
            assert stamp_of(held[slug]) == stamp, f"the last write of {slug} is lost"
    lines = [line["line"] for line in written if "line" in line]
    said = re.findall(r"said c\d+x\d+", held[LOG])
    assert sorted(said) == sorted(lines), "lines of the timeline are lost or doubled"
    with Brain.open(path) as brain, brain.database.read_transaction() as connection:
        for slug in SHARED:
            ups = sum(line["kind"] == "count_up" and line["slug"] == slug for line in written)
            assert held[slug].split()[-1] == str(ups), f"an update of {slug} is lost"
        for slug, count in puts.items():
            # One more: it was there at the beginning.
            assert len(list_versions(connection, slug)) == count + 1, f"a version of {slug} is lost"


def check_rest(folder: Path, path: Path) -> None:
    """What was left to do is done by the next who comes, and the brain is well."""
    with Brain.open(path) as brain:
        brain.import_folder(folder / "watched", drop=True)
        brain.embed()
        assert brain.embed().done == 0
    for slug, text in texts(path).items():
        if slug.startswith("watched/"):
            assert (folder / "watched" / f"{slug}.md").read_text() == text
    check_sound(path)
    check_sound(folder / "copies" / "brain.db")


def test_writers_an_embedder_and_readers_share_a_brain(tmp_path: Path) -> None:
    path = make_brain(tmp_path)
    result = all_at_once(tmp_path, 6, 0)
    assert kinds(result.written) >= {
        "put", "count_up", "timeline_add", "import_", "embed", "compact", "backup",
    }  # fmt: skip
    assert {"search", "query", "get", "listing", "export", "brain_query"} <= kinds(result.read)
    check_nothing_lost(path, result.written)
    check_rest(tmp_path, path)


def kinds(told: Told) -> set[str]:
    return {line["kind"] for line in told}


# --- the long run ------------------------------------------------------------------------------


def times(told: Told) -> dict[str, list[float]]:
    found = defaultdict(list)
    for line in told:
        found[line["kind"]].append(line["ms"])
    return found


def p50_p95(values: list[float]) -> str:
    if len(values) < 2:
        return f"{'':>9}{'':>9}"
    cuts = quantiles(values, n=20, method="inclusive")
    return f"{cuts[9]:9.1f}{cuts[18]:9.1f}"


def main() -> None:
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        path = make_brain(folder)
        quiet = times(together(folder, READING, seconds, seed))
        result = all_at_once(folder, seconds, seed)
        check_nothing_lost(path, result.written)
        check_rest(folder, path)
    print(f"{'':16}{'alone, ms':>18}{'with writers, ms':>18}")
    print(f"{'':16}{'p50':>9}{'p95':>9}{'p50':>9}{'p95':>9}{'times':>9}{'':>9}")
    for busy in (times(result.read), times(result.written)):
        for kind in sorted(busy):
            counts = f"{len(quiet.get(kind, ())):9}{len(busy[kind]):9}"
            print(f"{kind:16}{p50_p95(quiet.get(kind, []))}{p50_p95(busy[kind])}{counts}")
    print(
        f"{len(result.written)} acknowledged writes and {len(result.read)} reads in "
        f"{seconds:.0f} s, seed {seed}: nothing lost, nothing half"
    )


if __name__ == "__main__":
    main()
