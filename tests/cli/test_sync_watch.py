"""`sync --watch` as a process of its own: files change, and the brain follows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from time import monotonic, sleep
from typing import Any

import pytest

from gbrain.brain import Brain
from gbrain.cli.sync_watch import FolderWatch

PATIENCE = 60


@pytest.fixture
def vault(tmp_path: Path, run, brain_path: Path) -> Path:
    folder = tmp_path / "vault"
    (folder / "dir").mkdir(parents=True)
    (folder / "a.md").write_text("# A\n")
    run("import", folder, "--no-embed", "--quiet")
    return folder


@contextmanager
def following(*words: str) -> Iterator[subprocess.Popen[str]]:
    """The program, watching; it has done its first round."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gbrain", "sync", "--watch", "--json", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "GBRAIN_NOW"},
        # A shell that starts the tests in the background has them ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    # Whoever waits for a line that never comes gets an end of file.
    watchdog = Timer(PATIENCE, process.kill)
    watchdog.start()
    try:
        assert process.stdout
        process.stdout.readline()
        yield process
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


def eventually(wanted: Callable[[], bool]) -> None:
    end = monotonic() + PATIENCE
    while not wanted():
        assert monotonic() < end, "the brain did not follow"
        sleep(0.1)


def texts(path: Path) -> dict[str, str]:
    with Brain.open(path) as brain:
        return {page.slug: brain.text(page.slug) for page in brain.list()[0]}


def test_what_changes_is_taken_in_embedded_and_dropped_until_it_is_terminated(
    vault: Path, brain_path: Path
) -> None:
    with following() as process:
        (vault / "a.md").write_text("# A\n\nRivers freeze late.\n")
        (vault / "dir" / "b.md").write_text("# B\n\nGlaciers move.\n")
        (vault / "c.txt").write_text("no page")
        told = told_until(process, lambda told: sum(r["embedded"] for r in told) >= 2)
        assert set(texts(brain_path)) == {"a", "dir/b"}
        assert jobs(brain_path) == 0
        (vault / "dir" / "b.md").unlink()
        (vault / ".gbrainignore").write_text("private/\n")
        (vault / "private").mkdir()
        (vault / "private" / "p.md").write_text("# P\n")
        (vault / "last.md").write_text("# Last\n")
        told = told_until(process, lambda told: sum(r["deleted"] + r["created"] for r in told) >= 2)
        assert set(texts(brain_path)) == {"a", "last"}
        assert {report["folder"] for report in told} == {str(vault.resolve())}
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert said == f"Watching {vault.resolve()}. Press Ctrl-C to stop.\n"


def told_until(
    process: subprocess.Popen[str], enough: Callable[[list[dict[str, Any]]], bool]
) -> list[dict[str, Any]]:
    """The rounds that the program tells of until there are enough; it must not end before."""
    told: list[dict[str, Any]] = []
    while not enough(told):
        assert process.stdout
        told.append(json.loads(process.stdout.readline()))
    return told


def jobs(path: Path) -> int:
    with Brain.open(path) as brain, brain.database.read_transaction() as connection:
        return int(connection.execute("SELECT count(*) FROM embedding_jobs").fetchone()[0])


def test_a_lock_is_waited_out_and_ctrl_c_interrupts(vault: Path, brain_path: Path) -> None:
    with Brain.open(brain_path) as other:
        other.set("busy_seconds", "0.1")
        with following("--no-embed") as process:
            with other.database.write_transaction():
                (vault / "a.md").write_text("# While locked\n")
                assert process.stderr
                process.stderr.readline()
                assert "is being written by another program. Try" in process.stderr.readline()
            eventually(lambda: texts(brain_path) == {"a": "# While locked\n"})
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)
    assert process.returncode == 130


def test_a_folder_that_vanishes_and_returns_is_followed_again(
    vault: Path, brain_path: Path, tmp_path: Path
) -> None:
    with following("--no-embed", "--quiet") as process:
        vault.rename(tmp_path / "away")
        assert process.stderr
        assert f"There is no folder {vault.resolve()}" in process.stderr.readline()
        assert texts(brain_path) == {"a": "# A\n"}
        (tmp_path / "away").rename(vault)
        (vault / "b.md").write_text("# B\n")
        eventually(lambda: set(texts(brain_path)) == {"a", "b"})


# --- one round -------------------------------------------------------------------------------


def watch(**changes: bool) -> FolderWatch:
    options = {"overwrite": False, "embed": False, "quiet": False, "json": False, **changes}
    return FolderWatch(None, **options)


def test_one_line_a_round_and_each_problem_once(
    vault: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    following, root = watch(), str(vault)
    (vault / "bad.md").write_text("---\na: [\n---\n")
    assert following.import_changes(root, None)
    assert following.import_changes(root, frozenset(["a.md"]))
    (vault / "a.md").write_text("# A2\n")
    assert following.import_changes(root, frozenset(["a.md"]))
    (vault / "bad.md").unlink()
    assert following.import_changes(root, frozenset(["bad.md"]))
    lines = capsys.readouterr().err.splitlines()
    assert [line.removeprefix("12:00:00 ") for line in lines] == [
        "bad.md: line 3: this front matter is not valid YAML",
        "vault: 0 new, 0 changed, 1 unchanged, 1 not imported.",
        "vault: 0 new, 1 changed, 0 unchanged, 1 not imported.",
        "vault: 0 new, 0 changed, 1 unchanged.",
    ]


def test_only_what_changed_is_read(vault: Path, brain_path: Path) -> None:
    (vault / "b.md").write_text("# B\n")
    following, root = watch(), str(vault)
    assert following.import_changes(root, None)
    (vault / "a.md").write_text("# A2\n")
    (vault / "b.md").write_text("# B2\n")
    assert following.import_changes(root, frozenset(["b.md"]))
    assert texts(brain_path) == {"a": "# A\n", "b": "# B2\n"}


def test_a_vault_without_pages_keeps_those_in_the_brain(
    vault: Path, brain_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (vault / "a.md").unlink()
    following = watch()
    assert following.import_changes(str(vault), None)
    assert following.import_changes(str(vault), None)
    assert texts(brain_path) == {"a": "# A\n"}
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_watching_changes_what_a_dry_run_must_not(run, vault: Path) -> None:
    refused = run("sync", "--watch", "--dry-run", "--json")
    assert (refused.exit_code, refused.error["code"]) == (2, "usage")
