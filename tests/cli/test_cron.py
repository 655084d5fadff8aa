"""Under cron: no home, no terminal, nobody to ask, others at work in the same brain."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.paths import default_path

Cron = Callable[..., subprocess.CompletedProcess[str]]
PROGRAM = [sys.executable, "-m", "gbrain"]

unknown_user = pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run(["unshare", "--user", "--map-user=12345", "true"]).returncode != 0,
    reason="user namespaces are not allowed here",
)


@pytest.fixture
def cron(tmp_path: Path) -> Cron:
    """`cron("embed", "--stale")` runs the program with an empty environment and no terminal."""

    def run(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *map(str, words)],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def busy(sample: Path) -> Iterator[Path]:
    """The brain of this test while another program writes to it; patience is a second."""
    with Brain.open(sample) as brain, brain.database.write_transaction() as connection:
        connection.execute("INSERT OR REPLACE INTO config VALUES ('busy_seconds', '0.5')")
    with closing(sqlite3.connect(sample, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield sample


def test_embedding_needs_no_home_no_terminal_and_no_colour(cron: Cron, brain_path: Path) -> None:
    with Brain.open(brain_path, make=True) as brain:
        brain.put("birds", "Der Kranich 🐦 steht im Moor.".encode())
    done = cron("embed", "--stale", "--quiet", "--db", brain_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    nothing = cron("embed", "--stale", "--db", brain_path)
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert nothing.stderr == "0 chunks embedded.\n"
    counted = json.loads(cron("stats", "--json", "--db", brain_path).stdout)
    assert counted["vectors"] == counted["chunks"] == 1
    assert "🐦" in cron("search", "Kranich", "--db", brain_path).stdout


def test_nothing_in_a_pipe_is_coloured(cron: Cron, sample: Path) -> None:
    for words in (("search", "river"), ("stats",), ("config", "list"), ("doctor",), ("--help",)):
        shown = cron(*words, GBRAIN_DB=str(sample))
        assert shown.returncode == 0
        assert "\x1b" not in shown.stdout + shown.stderr


def test_two_at_once_share_the_work(brain_path: Path) -> None:
    with Brain.open(brain_path, make=True) as brain:
        for number in range(40):
            brain.put(f"notes/{number}", f"Heron number {number} stands in the marsh.".encode())
    command = [*PROGRAM, "embed", "--stale", "--json", "--db", str(brain_path)]
    both = [
        subprocess.Popen(command, env={}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    ended = [(process.communicate(), process.returncode) for process in both]
    assert [code for _, code in ended] == [0, 0]
    assert [errors for (_, errors), _ in ended] == [b"", b""]
    done = [json.loads(output)["embedded"] for (output, _), _ in ended]
    with Brain.open(brain_path) as brain, brain.database.read_transaction() as connection:
        chunks = connection.execute("SELECT count(DISTINCT hash) FROM chunks").fetchone()[0]
        assert connection.execute("SELECT count(*) FROM embedding_jobs").fetchone()[0] == 0
    assert sum(done) == chunks == 40


@pytest.mark.parametrize(
    "words",
    [
        ("put", "ideas/new", "page.md"),
        ("embed", "--stale", "--quiet"),
        ("delete", "index"),
        ("timeline-add", "index", "Something"),
    ],
    ids=lambda words: words[0],
)
def test_a_lock_is_waited_for_and_no_longer(
    cron: Cron, busy: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "page.md").write_text("# New\n")
    refused = cron(*words, GBRAIN_DB=str(busy), XDG_STATE_HOME=str(tmp_path))
    assert (refused.returncode, refused.stdout) == (1, "")
    hint = "Try again in a moment; the setting busy_seconds is how long gbrain waits."
    # Text that was given is kept; that of a file is in the file.
    kept = r"Your text is kept in .+/index\.md\. " if words[0] == "timeline-add" else ""
    assert re.fullmatch(
        f"Error: {re.escape(str(busy))} is being written by another program\n"
        f"Hint: {kept}{re.escape(hint)}\n",
        refused.stderr,
    )
    told = cron(*words, "--json", GBRAIN_DB=str(busy), XDG_STATE_HOME=str(tmp_path))
    assert told.returncode == 1
    assert json.loads(told.stderr)["error"]["code"] == "locked"


def test_a_lock_that_goes_away_is_waited_out(cron: Cron, sample: Path, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# New\n")
    with closing(sqlite3.connect(sample, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = subprocess.Popen([*PROGRAM, "put", "new", "page.md", "-q"], cwd=tmp_path)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(timeout=2)
        other.execute("COMMIT")
        assert waiting.wait(timeout=20) == 0


def test_reading_does_not_wait(cron: Cron, busy: Path) -> None:
    found = cron("query", "river ai", "--json", GBRAIN_DB=str(busy))
    assert found.returncode == 0
    assert json.loads(found.stdout)["results"][0]["slug"] == "companies/river-ai"
    assert cron("get", "index", GBRAIN_DB=str(busy)).returncode == 0
    assert cron("list", "-n", "1", GBRAIN_DB=str(busy)).returncode == 0


@unknown_user
def test_somebody_without_a_home_is_told_what_to_do(sample: Path) -> None:
    nobody = ["unshare", "--user", "--map-user=12345", *PROGRAM]
    lost = subprocess.run([*nobody, "list"], env={}, capture_output=True, text=True, check=False)
    assert lost.returncode == 2
    assert lost.stderr == (
        "Error: There is no home folder to look for the brain in\n"
        "Hint: Give the brain with --db or $GBRAIN_DB.\n"
    )
    named = subprocess.run([*nobody, "list", "--db", sample], env={}, capture_output=True)
    assert named.returncode == 0


def test_the_home_is_asked_for_only_when_it_is_needed(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GBRAIN_DB", str(tmp_path / "brain.db"))
    assert default_path() == tmp_path / "brain.db"
    monkeypatch.delenv("GBRAIN_DB")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert default_path() == tmp_path / "gbrain" / "brain.db"
    assert os.environ.get("GBRAIN_DB") is None
