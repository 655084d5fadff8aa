"""`sync --watch` as a process of its own: files change, and the brain follows."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Timer
from time import monotonic, sleep
from typing import Any

import pytest

from gbrain.brain import Brain
from gbrain.cli.import_export import ImportOptions
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
def following(*words: str, patience: float = PATIENCE) -> Iterator[subprocess.Popen[str]]:
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
    watchdog = Timer(patience, process.kill)
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


def test_changes_are_imported_embedded_and_removed_until_sigterm(
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


@pytest.mark.parametrize("edits", [12, pytest.param(300, marks=pytest.mark.slow)])
def test_no_edit_is_missed_whatever_happens_to_the_folders(
    edits: int, vault: Path, run, brain_path: Path, tmp_path: Path
) -> None:
    """Each edit happens just after a folder was swapped or came back, or the brain was restored."""
    second = tmp_path / "second"
    roots = [vault, second]
    for root in roots:
        for number in range(5):
            file = root / "dir" / f"{root.name}-{number}.md"
            file.parent.mkdir(exist_ok=True, parents=True)
            file.write_text(f"# {root.name} {number}\n")
    run("import", *roots, "--no-embed", "--quiet")
    backup = tmp_path / "backup.db"
    run("backup", backup)
    chance = Random(edits)
    with following("--no-embed", "--quiet", patience=PATIENCE + edits) as process:
        for number in range(edits):
            root = chance.choice(roots)
            match chance.randrange(6):
                case 0:
                    swap_folder(root, tmp_path / f"old-{number}")
                case 1:
                    swap_folder(root / "dir", tmp_path / f"old-{number}")
                case 2:
                    second.rename(tmp_path / "away")
                    sleep(chance.random())
                    (tmp_path / "away").rename(second)
                case 3 if number % 5 == 0:
                    assert run("restore", backup).exit_code == 0
            files = sorted(root.rglob("*.md"))
            assert files
            chance.choice(files).write_text(f"# Edit {number}\n")
            sleep(chance.random() / 5)
        # Idle by now: the restored brain must be noticed without another edit.
        sleep(1.5)
        assert run("restore", backup).exit_code == 0
        wanted = {
            file.relative_to(root).with_suffix("").as_posix(): file.read_text()
            for root in roots
            for file in root.rglob("*.md")
        }
        eventually(lambda: texts(brain_path) == wanted)
        assert process.poll() is None


def swap_folder(folder: Path, old: Path) -> None:
    """Replace the folder by a copy of itself in which one file was edited."""
    new = old.with_name(f"new-{old.name}")
    shutil.copytree(folder, new)
    file = sorted(new.rglob("*.md"))[0]
    file.write_text(f"# In {old.name}\n")
    folder.rename(old)
    new.rename(folder)


# --- one round -------------------------------------------------------------------------------


def watch(**changes: bool) -> FolderWatch:
    return FolderWatch(None, ImportOptions(**{"embed": False, **changes}))


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


def test_a_folder_without_most_files_is_reported_once(
    run, vault: Path, brain_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(12):
        (vault / f"n{number}.md").write_text(f"# Note {number}\n")
    run("sync", "--no-embed", "--quiet")
    for number in range(12):
        (vault / f"n{number}.md").unlink()
    following, root = watch(quiet=True), str(vault.resolve())
    for changed in (None, frozenset(["n1.md"]), frozenset(["a.md"])):
        assert following.import_changes(root, changed)
    (vault / "a.md").write_text("# Still watched\n")
    assert following.import_changes(root, frozenset(["a.md"]))
    assert len(texts(brain_path)) == 13
    assert texts(brain_path)["a"] == "# Still watched\n"
    lines = capsys.readouterr().err.splitlines()
    assert [line.count("12 of 13 pages have no file any more") for line in lines] == [1]


def test_files_of_a_folder_that_was_moved_here_are_read(
    vault: Path, brain_path: Path, tmp_path: Path
) -> None:
    (vault / "dir" / "b.md").write_text("# B\n")
    following, root = watch(), str(vault.resolve())
    assert following.import_changes(root, None)
    swap_folder(vault / "dir", tmp_path / "old")
    assert following.import_changes(root, frozenset(["dir"]))
    assert texts(brain_path) == {"a": "# A\n", "dir/b": "# In old\n"}


def test_files_are_read_again_after_a_restore(
    run, vault: Path, brain_path: Path, tmp_path: Path
) -> None:
    assert run("backup", tmp_path / "backup.db").exit_code == 0
    following, root = watch(), str(vault.resolve())
    (vault / "a.md").write_text("# Edited\n")
    assert following.import_changes(root, None)
    assert run("restore", tmp_path / "backup.db").exit_code == 0
    assert texts(brain_path) == {"a": "# A\n"}
    assert following.import_changes(root, frozenset())
    assert texts(brain_path) == {"a": "# Edited\n"}


def test_edits_made_while_an_import_fails_are_read_later(vault: Path, brain_path: Path) -> None:
    following, root = watch(), str(vault.resolve())
    assert following.import_changes(root, None)
    (vault / ".gbrainignore").write_bytes(b"\xff\n")
    (vault / "a.md").write_text("# Edited\n")
    assert following.import_changes(root, frozenset(["a.md"]))
    (vault / ".gbrainignore").unlink()
    assert following.import_changes(root, frozenset([".gbrainignore"]))
    assert texts(brain_path) == {"a": "# Edited\n"}


def test_watching_changes_what_a_dry_run_must_not(run, vault: Path) -> None:
    refused = run("sync", "--watch", "--dry-run", "--json")
    assert (refused.exit_code, refused.error["code"]) == (2, "usage")
