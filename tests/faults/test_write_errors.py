"""Lets single calls to the disk fail while commands write, and looks at what is left.

    python tests/faults/test_write_errors.py STEP

Each command runs again and again on a copy of the same folder; in each run another write, flush,
rename or creation fails: with an I/O error, with a full disk from there on, or a write is cut
short. The command must succeed, or say what is wrong; what was there before must be there still.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from errno import EIO, ENOSPC
from pathlib import Path
from time import monotonic

import pytest
from disk_shim import (
    FAIL_FROM_HERE,
    FAIL_ONCE,
    SHORT_WRITE,
    Event,
    Failure,
    Outcome,
    ShimmedPrograms,
    shimmed_programs,
)
from running import FAST_FOLDER
from test_power_loss import Facts, Step, observe

from gbrain.cli.main import EXIT_INTERNAL_ERROR

SETUP = (
    Step(("put", "alpha"), "# Alpha\n\nFirst.\n"),
    Step(("put", "beta"), "# Beta\n\nSee [[alpha]].\n"),
    Step(
        ("import", "ROOT/notes", "--no-embed"),
        files={f"notes/{n}.md": f"# Note {n}\n\nOld.\n" for n in (1, 2)},
    ),
    Step(("export", "ROOT/out")),
    Step(("backup", "ROOT/copy.db")),
    Step(("put", "alpha"), "# Alpha\n\nSecond.\n"),
)
COMMANDS = (
    Step(("put", "alpha"), "# Alpha\n\nThird.\n"),
    Step(("capture", "a line for the inbox")),
    Step(("rename", "beta", "gamma")),
    Step(("delete", "beta")),
    Step(("put", "2"), "# Note 2\n\nWritten to its file.\n", in_parts=True),
    Step(("rename", "2", "deep/two"), in_parts=True),
    Step(("delete", "2"), in_parts=True),
    Step(("config", "set", "rrf_k", "33")),
    Step(("sync", "--no-embed"), in_parts=True),
    Step(("export", "ROOT/out"), in_parts=True),
    Step(("export", "ROOT/site", "--format", "json")),
    Step(("graph", "--html", "ROOT/graph.html")),
    Step(("backup", "ROOT/copy.db", "--force")),
    Step(("backup", "ROOT/copy2.db")),
    Step(("restore", "ROOT/copy.db")),
    Step(("compact",)),
    Step(("doctor", "--repair")),
    Step(("put", "new", "--db", "ROOT/copy3.db"), "# New\n\nIn a new brain.\n"),
)
KINDS = (
    ("I/O error", EIO, FAIL_ONCE),
    ("dead disk", EIO, FAIL_FROM_HERE),
    ("full disk", ENOSPC, FAIL_FROM_HERE),
    ("short write", EIO, SHORT_WRITE),
)


def run(
    programs: ShimmedPrograms, step: Step, root: Path, failure: Failure | None = None
) -> Outcome:
    arguments = [word.replace("ROOT", str(root)) for word in step.arguments]
    return programs.run(*arguments, stdin=step.stdin, root=root, failure=failure)


def prepare(programs: ShimmedPrograms, root: Path) -> None:
    """Fill the folder that every run begins with."""
    for step in SETUP:
        for name, text in step.files.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
        outcome = run(programs, step, root)
        assert outcome.exit_code == 0, outcome
    (root / "notes" / "1.md").write_text("# Note 1\n\nNew.\n")


def check_run(outcome: Outcome, before: Facts, after: Facts, found: Facts, step: Step) -> None:
    """Assert that the command did all it said, or nothing and gave a reason."""
    assert outcome.exit_code != EXIT_INTERNAL_ERROR, outcome.stderr
    assert "Traceback" not in outcome.stderr, outcome.stderr
    # The page is written, and its file is not.
    behind = outcome.exit_code == 1 and "\nCannot " in outcome.stderr
    assert outcome.exit_code == 0 or outcome.stderr.startswith("Error: ") or behind, outcome
    for kind, items in found.items():
        for name in items.keys() | before[kind].keys() | after[kind].keys():
            allowed = [after[kind].get(name)]
            if outcome.exit_code:
                allowed.append(before[kind].get(name))
                if "--db" in step.arguments:
                    # The new brain was created, but not its page.
                    allowed.append({})
            value = items.get(name)
            assert value in allowed, f"{kind}: {name} is {str(value)[:80]!r} after {outcome}"
    if not step.in_parts:
        assert found["pages"] in (before["pages"], after["pages"]), outcome


def check_commands(folder: Path, step_size: int) -> Counter[str]:
    """Let every `step_size`-th call of each command fail in each way; return how many runs."""
    root, start, copy = folder / "root", folder / "root" / "start", folder / "root" / "run"
    copy.mkdir(parents=True, mode=0o700)
    runs, problems = Counter[str](), Counter[str]()
    with shimmed_programs(root, folder) as programs:
        # Every run has the same path: the brain knows where its notes are.
        prepare(programs, copy)
        shutil.copytree(copy, start)
        before = observe(copy)
        for step in COMMANDS:
            fresh(start, copy)
            programs.events()
            outcome = run(programs, step, copy)
            assert outcome.exit_code == 0, outcome
            to_files = calls_to_files(programs.events(), copy)
            after = observe(copy)
            for name, error, kind in KINDS:
                calls = set(calls_to_fail(outcome.calls, step_size, runs.total()))
                if kind in (FAIL_ONCE, SHORT_WRITE):
                    calls |= to_files
                for call in sorted(calls):
                    fresh(start, copy)
                    runs[name] += 1
                    try:
                        failed = run(programs, step, copy, Failure(call, error, kind))
                        check_run(failed, before, after, observe(copy), step)
                    except Exception as problem:
                        what = f"{name}, {' '.join(step.arguments[:2])}, call {call}: {problem}"
                        problems[what[:600]] += 1
    listed = "\n".join(f"{count} × {what}" for what, count in problems.most_common(30))
    assert not problems, f"{problems.total()} problems\n{listed}"
    return runs


def calls_to_fail(calls: int, step_size: int, earlier_runs: int) -> range:
    """Return every `step_size`-th call, at least two, from another first one each time."""
    step = max(1, min(step_size, calls // 2))
    return range(earlier_runs * 37 % step, calls, step)


def calls_to_files(events: list[Event], root: Path) -> set[int]:
    """Return the calls that write and name files of pages; there are few."""
    # A sync is not counted. Calls that failed are, but not recorded: they remove temporary names
    # that are gone, after the file got its own.
    counted = [event for event in events if event.kind != "S"]
    folders = tuple(f"{root}/{name}/" for name in ("notes", "out", "site"))
    return {
        call
        for call, event in enumerate(counted)
        if event.kind in "WRXL" and event.path.startswith(folders)
    }


def fresh(start: Path, copy: Path) -> None:
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(start, copy)


@pytest.mark.parametrize("step_size", [97, pytest.param(1, marks=pytest.mark.slow)])
def test_a_failing_disk_loses_nothing_acknowledged(step_size: int) -> None:
    with tempfile.TemporaryDirectory(dir=FAST_FOLDER) as folder:
        runs = check_commands(Path(folder), step_size)
    assert runs.keys() == {name for name, _, _ in KINDS}


def main() -> None:
    began = monotonic()
    with tempfile.TemporaryDirectory(dir=FAST_FOLDER) as folder:
        runs = check_commands(Path(folder), int(sys.argv[1]))
    for name, count in runs.items():
        print(f"{name:15}{count:6} runs")
    print(f"{runs.total()} runs in {monotonic() - began:.0f} s: refused or done, nothing lost")


if __name__ == "__main__":
    main()
