"""A command runs only if its user set it here or agreed to it, wherever the brain file is from."""

from __future__ import annotations

import os
import shlex
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.errors import GbrainError
from tests.cli.conftest import AtTerminal
from tests.conftest import Run

ASKED = ("query", "how do notes outlive a device")


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """A file that is there once the command has run."""
    return tmp_path / "ran"


@pytest.fixture
def command(ran: Path) -> str:
    program = (
        f"import sys, json; open({str(ran)!r}, 'w').close(); "
        "print(json.dumps([1] * len(json.load(sys.stdin)['passages'])))"
    )
    return shlex.join([sys.executable, "-c", program])


@pytest.fixture
def mine(run: Run, sample: Path, command: str) -> Path:
    """A brain whose user has set a command, as `config set` does."""
    assert run("config", "set", "rerank", "command").exit_code == 0
    assert run("config", "set", "rerank_command", command).exit_code == 0
    return sample


@pytest.fixture
def foreign(mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same file in the hands of somebody else."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "somebody"))
    return mine


def test_what_its_user_set_is_run(run: Run, mine: Path, ran: Path) -> None:
    assert run(*ASKED).exit_code == 0
    assert ran.exists()


def test_what_came_with_a_file_is_not_run(run: Run, foreign: Path, ran: Path, command: str) -> None:
    found = run(*ASKED, "--json")
    assert (found.exit_code, found.error["code"]) == (1, "unknown_command")
    assert found.error["message"].endswith(f"that you have not approved: {command}")
    assert "gbrain config reset rerank_command" in found.error["hint"]
    assert run("explain", ASKED[1]).exit_code == 1
    assert run("query", "-", stdin=b"notes\n").json["error"]["code"] == "unknown_command"
    assert not ran.exists()


def test_what_needs_no_command_asks_for_none(run: Run, foreign: Path, ran: Path) -> None:
    assert run("search", "notes").exit_code == 0
    assert run("query", "notes", "--mode", "bm25").exit_code == 0
    assert run("query", "notes", "--profile", "default").exit_code == 0
    assert run("list").exit_code == 0
    assert not ran.exists()


def test_setting_it_again_is_consent_and_reset_is_the_end(
    run: Run, foreign: Path, ran: Path, command: str
) -> None:
    assert run("config", "set", "rerank_command", command).exit_code == 0
    assert run(*ASKED).exit_code == 0
    assert ran.exists()
    assert run("config", "reset", "rerank_command").exit_code == 0
    found = run(*ASKED)
    assert found.exit_code == 0
    assert "rerank_command is empty" in found.stderr


def test_a_person_is_asked_once(
    run: Run, foreign: Path, ran: Path, at_terminal: AtTerminal
) -> None:
    code, shown = at_terminal(*ASKED, "--no-pager", keys="n\n", columns=1000)
    assert (code, ran.exists()) == (1, False)
    assert "is set to run a command that you have not approved" in shown
    code, shown = at_terminal(*ASKED, "--no-pager", keys="y\n", columns=1000)
    assert (code, ran.exists()) == (0, True)
    ran.unlink()
    assert run(*ASKED).exit_code == 0
    assert ran.exists()


def test_a_copy_of_ones_own_brain_needs_no_consent(
    run: Run, mine: Path, ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("backup", tmp_path / "copy.db").exit_code == 0
    assert run("restore", tmp_path / "copy.db").exit_code == 0
    assert run(*ASKED).exit_code == 0
    assert ran.exists()
    ran.unlink()
    assert run(*ASKED, "--as-of", "2026-11-16").exit_code == 0
    assert ran.exists()


def test_another_brain_with_the_same_command_asks(
    run: Run, mine: Path, ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.db"
    with Brain.open(other, make=True) as brain:
        brain.import_folder(Path(__file__).parents[2] / "gbrain" / "sample")
    with closing(sqlite3.connect(mine)) as there, closing(sqlite3.connect(other)) as here, here:
        here.executemany("INSERT INTO config VALUES (?, ?)", there.execute("SELECT * FROM config"))
    assert run(*ASKED, "--db", other).exit_code == 1
    assert not ran.exists()


def test_a_command_that_was_changed_in_the_file_asks(run: Run, mine: Path, ran: Path) -> None:
    with closing(sqlite3.connect(mine)) as connection, connection:
        connection.execute("UPDATE config SET value = value || ' x' WHERE key = 'rerank_command'")
    assert run(*ASKED).exit_code == 1
    assert not ran.exists()


def test_a_brain_without_an_identity_asks_too(run: Run, mine: Path, ran: Path) -> None:
    with closing(sqlite3.connect(mine)) as connection, connection:
        connection.execute("DROP TABLE _sqlite_migrations")
    assert run(*ASKED).exit_code == 1
    assert not ran.exists()


SCORES = "import json, sys; print(json.dumps([1] * len(json.load(sys.stdin)['passages'])))"


@pytest.mark.parametrize(
    "command",
    ["python3 rerank.py", "./rerank.py", "python3 -m rerank", "python3 -c 'import rerank'"],
)
def test_a_command_never_runs_a_file_of_another_folder(
    run: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir()
        script = tmp_path / name / "rerank.py"
        mark = f"open({str(tmp_path / f'ran-{name}')!r}, 'w').close()"
        script.write_text(f"#!{sys.executable}\n{mark}\n{SCORES}\n")
        script.chmod(0o700)
    monkeypatch.chdir(tmp_path / "mine")
    assert run("config", "set", "rerank", "command").exit_code == 0
    assert run("config", "set", "rerank_command", command).exit_code == 0
    monkeypatch.chdir(tmp_path / "theirs")
    assert run(*ASKED).exit_code == 0
    assert not (tmp_path / "ran-theirs").exists()
    # A file that the command names is found again; a module of the folder is not.
    assert (tmp_path / "ran-mine").exists() == ("rerank.py" in command)


def test_a_command_is_stored_with_absolute_paths(
    run: Run, brain_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Brain.open(brain_path, make=True).close()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my file.py").touch()
    words = ["sort", "my file.py", "--rules=my file.py", "-n", "other.py"]
    assert run("config", "set", "rerank_command", shlex.join(words)).exit_code == 0
    stored = shlex.split(run("config", "get", "rerank_command").stdout)
    assert stored[1:] == [f"{tmp_path}/my file.py", f"--rules={tmp_path}/my file.py", *words[3:]]
    assert os.path.isabs(stored[0])
    for wrong in ("no-such-program x", "./missing.py", "sort 'unclosed"):
        refused = run("config", "set", "rerank_command", wrong, "--json")
        assert (refused.exit_code, refused.error["code"]) == (1, "bad_setting")
    assert shlex.split(run("config", "get", "rerank_command").stdout) == stored


def test_the_list_is_the_users_alone(run: Run, mine: Path, ran: Path, tmp_path: Path) -> None:
    (kept,) = tmp_path.rglob("agreed")
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    kept.chmod(0o666)
    assert run(*ASKED).exit_code == 1, "anybody may have written that list"
    assert not ran.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_list_of_somebody_elses_counts_for_nothing(
    run: Run, mine: Path, ran: Path, tmp_path: Path
) -> None:
    (kept,) = tmp_path.rglob("agreed")
    os.chown(kept, 12345, 12345)
    assert run(*ASKED).exit_code == 1
    assert not ran.exists()


def test_the_library_refuses_too(foreign: Path, ran: Path) -> None:
    with Brain.open(foreign) as brain, pytest.raises(GbrainError, match="you have not approved"):
        brain.query("notes")
    assert not ran.exists()


def test_where_nothing_can_be_remembered_setting_fails(
    run: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    refused = run("config", "set", "rerank_command", "sort", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "cannot_write")
    assert run("config", "get", "rerank_command").stdout.strip() == ""
