"""Two writers, an embedder, a watcher and eight readers share one brain and lose nothing.

    python tests/faults/test_concurrency.py SECONDS [SEED]

Run as a program, the readers first have the brain to themselves for as long; the times of both
are printed side by side.
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

import pytest
from concurrency import GONE, LOG, SHARED, stamp_of, stamped_page, write_files
from concurrency_readers import READERS
from soundness import check_sound, page_texts

from gbrain.brain import Brain
from gbrain.store.history import list_versions

Reports = list[dict[str, Any]]
MEMBER = Path(__file__).with_name("concurrency_member.py")
WRITERS = (("writer", 1), ("writer", 2), ("embedder", 3))
READING = (*(("reader", number) for number in range(len(READERS))), ("commands", 10), ("agent", 11))


class MixedRun(NamedTuple):
    """The reports of writers and of readers."""

    written: Reports
    read: Reports


def make_brain(folder: Path) -> Path:
    path = folder / "brain.db"
    (folder / "copies").mkdir()
    for number in (1, 2):
        write_files(folder / f"folder-{number}", f"notes-{number}", f"c{number}x0")
    write_files(folder / "watched", "watched", "c3x0")
    with Brain.open(path, make=True) as brain:
        brain.put(LOG, b"# Log\n\n## Timeline\n")
        for slug in SHARED:
            brain.put(slug, b"# Count\n\n0\n")
        own = [f"own-{number}/{page}" for number in (1, 2) for page in range(1, 5)]
        for slug in (*GONE, *own):
            brain.put(slug, stamped_page(slug, "c0x0").encode())
        for name in ("folder-1", "folder-2", "watched"):
            brain.import_folder(folder / name)
        brain.embed()
    return path


def run_roles(folder: Path, roles: Iterable[tuple[str, int]], seconds: float, seed: int) -> Reports:
    """Run the roles at the same time; fails with the errors of those that fail."""
    environment = {**os.environ, "GBRAIN_DB": str(folder / "brain.db")}
    running = []
    (folder / "reports").mkdir(exist_ok=True)
    for role, number in roles:
        arguments = [
            sys.executable,
            str(MEMBER),
            role,
            str(folder),
            *map(str, (number, seed, seconds)),
        ]
        out = (folder / "reports" / f"{role}-{number}").open("wb")
        process = subprocess.Popen(arguments, stdout=out, stderr=subprocess.PIPE, env=environment)
        running.append((role, number, process, out))
    reports: Reports = []
    failures = []
    for role, number, process, out in running:
        _, errors = process.communicate(timeout=seconds + 120)
        out.close()
        if process.returncode:
            failures.append(f"{role} {number}: {errors.decode()}")
        lines = Path(out.name).read_text().splitlines()
        reports += [{"role": role, "number": number, **json.loads(line)} for line in lines]
    assert not failures, "\n".join(failures)
    return reports


def start_watcher(folder: Path) -> subprocess.Popen[bytes]:
    arguments = ["sync", str(folder / "watched"), "--watch", "--no-embed", "--quiet"]
    environment = {**os.environ, "GBRAIN_DB": str(folder / "brain.db")}
    return subprocess.Popen(
        [sys.executable, "-m", "gbrain", *arguments], env=environment, stderr=subprocess.PIPE
    )


def run_writers_and_readers(folder: Path, seconds: float, seed: int) -> MixedRun:
    watching = start_watcher(folder)
    try:
        reports = run_roles(folder, (*WRITERS, *READING), seconds, seed)
    finally:
        watching.send_signal(signal.SIGTERM)
        _, errors = watching.communicate(timeout=60)
    assert (watching.returncode, errors) == (0, b"")
    roles = {role for role, _ in WRITERS}
    return MixedRun(
        [line for line in reports if line["role"] in roles],
        [line for line in reports if line["role"] not in roles],
    )


# --- what must be true afterwards -------------------------------------------------------------


def check_nothing_lost(path: Path, written: Reports) -> None:
    held = page_texts(path)
    last: dict[str, str] = {}
    puts: Counter[str] = Counter()
    for line in written:
        if "stamp" in line:
            puts.update(line["slugs"])
            last |= dict.fromkeys(line["slugs"], line["stamp"])
    assert last
    for slug, stamp in last.items():
        if slug not in GONE:
            assert stamp_of(held[slug]) == stamp, f"the last write of {slug} is lost"
    lines = [line["line"] for line in written if "line" in line]
    logged = re.findall(r"said c\d+x\d+", held[LOG])
    assert sorted(logged) == sorted(lines), "lines of the timeline are lost or doubled"
    with Brain.open(path) as brain, brain.database.read_transaction() as connection:
        assert puts
        for slug in SHARED:
            ups = sum(line["kind"] == "count_up" and line["slug"] == slug for line in written)
            assert held[slug].split()[-1] == str(ups), f"an update of {slug} is lost"
        for slug, count in puts.items():
            # One more: the page existed before.
            assert len(list_versions(connection, slug)) == count + 1, f"a version of {slug} is lost"


def check_pending_work(folder: Path, path: Path) -> None:
    """The next import and embed finish pending work, and the brain is sound."""
    with Brain.open(path) as brain:
        brain.import_folder(folder / "watched", remove_missing=True)
        brain.embed()
        assert brain.embed().done == 0
    watched = {slug: text for slug, text in page_texts(path).items() if slug.startswith("watched/")}
    assert watched
    for slug, text in watched.items():
        assert (folder / "watched" / f"{slug}.md").read_text() == text
    check_sound(path)
    check_sound(folder / "copies" / "brain.db")


@pytest.mark.parametrize("seconds", [1, pytest.param(60, marks=pytest.mark.slow)])
def test_writers_and_readers_share_a_brain(tmp_path: Path, seconds: float) -> None:
    path = make_brain(tmp_path)
    result = run_writers_and_readers(tmp_path, seconds, 0)
    assert report_kinds(result.written) >= {
        "put", "count_up", "timeline_add", "import_", "embed", "compact", "backup",
    }  # fmt: skip
    assert {"search", "query", "get", "list_pages", "export", "brain_query"} <= report_kinds(
        result.read
    )
    check_nothing_lost(path, result.written)
    check_pending_work(tmp_path, path)


def report_kinds(reports: Reports) -> set[str]:
    return {line["kind"] for line in reports}


# --- the long run ------------------------------------------------------------------------------


def milliseconds_by_kind(reports: Reports) -> dict[str, list[float]]:
    found = defaultdict(list)
    for line in reports:
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
        alone = milliseconds_by_kind(run_roles(folder, READING, seconds, seed))
        result = run_writers_and_readers(folder, seconds, seed)
        check_nothing_lost(path, result.written)
        check_pending_work(folder, path)
    print(f"{'':16}{'alone, ms':>18}{'with writers, ms':>18}")
    print(f"{'':16}{'p50':>9}{'p95':>9}{'p50':>9}{'p95':>9}{'times':>9}{'':>9}")
    for busy in (milliseconds_by_kind(result.read), milliseconds_by_kind(result.written)):
        for kind in sorted(busy):
            counts = f"{len(alone.get(kind, ())):9}{len(busy[kind]):9}"
            print(f"{kind:16}{p50_p95(alone.get(kind, []))}{p50_p95(busy[kind])}{counts}")
    print(
        f"{len(result.written)} acknowledged writes and {len(result.read)} reads in "
        f"{seconds:.0f} s, seed {seed}: nothing lost, no half page"
    )


if __name__ == "__main__":
    main()
