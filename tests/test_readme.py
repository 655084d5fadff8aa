"""What README shows is what the program does."""

from __future__ import annotations

import os
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gbrain.cli.app import COMMANDS
from gbrain.output.schemas import document_by_command

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
# The recipe for tmux has its commands inside of quotation marks; it has a test of its own.
BLOCKS = re.findall(r"(?<!tmux -->\n)```sh\n(.*?)```", README, re.S)


def shown_commands() -> list[list[str]]:
    """Every call of gbrain in README's shell blocks, as words after the program's name."""
    lines = (line.partition(" #")[0] for line in "\n".join(BLOCKS).splitlines())
    parts = (part for line in lines for part in re.split(r"\||&&|;", line))
    calls = (
        part[part.index("gbrain") :] for part in parts if re.match(r"\s*(\*.*\s)?gbrain\s", part)
    )
    return [shlex.split(call)[1:] for call in calls]


def test_readme_shows_commands() -> None:
    assert len(shown_commands()) > 15


@pytest.mark.parametrize("words", shown_commands(), ids=" ".join)
def test_every_command_and_option_in_readme_exists(run, words: list[str]) -> None:
    name, options = words[0], [word for word in words if word.startswith("--")]
    assert name in COMMANDS
    group = words[:2] if " ".join(words[:2]) in document_by_command() else words[:1]
    known = run(*group, "--help").stdout
    for option in options:
        assert re.search(rf"{option}\b", known), option


def test_ci_runs_the_test_command_that_readme_shows() -> None:
    marked = re.search(r"<!-- test -->\n```sh\n(.*)\n```", README)
    assert marked
    assert marked[1].endswith(".venv/bin/pytest -n 2")
    assert "<!-- test -->" in (ROOT / ".ci" / "run").read_text()


def test_the_demo_searches_and_leaves_nothing_behind(run, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "place").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "place"))
    shown = run("demo")
    assert shown.exit_code == 0
    assert list((tmp_path / "place").iterdir()) == []
    first = dict(re.findall(r'"([^"]*)" -n 2\n# .*\n1\. (\S+)', shown.stdout))
    assert first == {
        "river ai": "companies/river-ai",
        "sqlite backup": "resources/back-up-a-sqlite-database",
        "who's lukewarm on cloud RAG?": "people/noor-haddad",
        "what happened in April with Alice?": "people/alice-chen",
    }
    assert "vector    29 pages, first people/noor-haddad" in shown.stdout
    assert "Decided against [[companies/lanternworks]]" in shown.stdout


# --- what README shows for scripts, cron and systemd, run ---------------------------------------


def lines_for(tool: str) -> list[str]:
    """The lines of the blocks that README marks as to be run with a tool."""
    blocks = re.findall(rf"<!-- run: {tool} -->\n```sh\n(.*?)```", README, re.S)
    return [line for block in blocks for line in block.splitlines()]


def blocks_of(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


@pytest.fixture
def shell(tmp_path: Path, brain_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a line in a shell where gbrain is on the path and knows the brain of this test."""
    program = tmp_path / "home" / ".local" / "bin" / "gbrain"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gbrain "$@"\n')
    program.chmod(0o755)

    def run(line: str, **more: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "GBRAIN_DB": str(brain_path),
        }
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line],
            cwd=tmp_path,
            env={**environment, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def notes(run, brain_path: Path, tmp_path: Path) -> Path:
    """A folder of a few notes that was imported and is not embedded yet."""
    folder = tmp_path / "notes"
    shutil.copytree(ROOT / "gbrain" / "sample" / "companies", folder)
    run("import", folder, "--quiet", "--no-embed")
    return folder


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")
@pytest.mark.parametrize("line", lines_for("jq"))
def test_the_jq_examples_run(shell, sample: Path, embedded_sample: Path, line: str) -> None:
    shutil.copy(embedded_sample, sample)
    ran = shell(line)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.strip() not in ("", "null", "false")


@pytest.mark.skipif(
    not (shutil.which("fzf") and shutil.which("tmux")), reason="fzf or tmux is not installed"
)
def test_the_fzf_recipe_searches_as_you_type(
    shell, sample: Path, embedded_sample: Path, tmp_path: Path
) -> None:
    shutil.copy(embedded_sample, sample)
    (recipe,) = re.findall(r"<!-- run: tmux -->\n```sh\n(.*?)```", README, re.S)
    script = tmp_path / "recipe.sh"
    script.write_text(recipe)
    tmux = f"tmux -L gbrain-{os.getpid()} -f /dev/null"

    def wait_for(text: str) -> str:
        for _ in range(100):
            shown = shell(f"{tmux} capture-pane -p").stdout
            if text in shown:
                return str(shown)
            time.sleep(0.1)
        raise AssertionError(f"{text!r} was not shown, but:\n{shown}")

    started = shell(f"{tmux} new-session -d -x 150 -y 30 'EDITOR=cat sh {script}; sleep 60'")
    assert started.returncode == 0
    try:
        wait_for("Alice Chen")
        shell(f"{tmux} send-keys 'napki'")
        assert "Alice Chen" in wait_for("1/1")
        wait_for("## How we met")
        shell(f"{tmux} send-keys C-o")
        shell(f"{tmux} send-keys Enter")
        wait_for("people/alice-chen: unchanged")
    finally:
        shell(f"{tmux} kill-server")


def test_the_crontab_is_valid(shell, notes: Path, tmp_path: Path) -> None:
    (table,) = blocks_of("cron")
    setting, *jobs = table.splitlines()
    assert setting.startswith("PATH=")
    assert jobs
    for job in jobs:
        *times, command = job.split(maxsplit=5)
        assert all(re.fullmatch(r"\*(/\d+)?|\d+", time) for time in times), job
        assert "%" not in command, "cron would end the line there"
        assert "sync" not in command or "&&" not in command, "one problem would end all embedding"
        for _ in range(2):
            ran = shell(command.replace("/home/you", str(tmp_path)))
            assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", ""), job


def test_the_systemd_unit_keeps_the_brain_open(shell, notes: Path, tmp_path: Path) -> None:
    (unit,) = blocks_of("ini")
    (name,) = re.findall(r"# ~/\.config/systemd/user/(\S+)\n", unit)
    home = tmp_path / "home"
    (command,) = re.findall(r"^ExecStart=(.*)$", unit, re.M)
    is_up = "gbrain status --json | grep -q '\"running\": true'"
    ran = shell(
        f"{command.replace('%h', str(home))} >log 2>&1 &"
        f" for try in $(seq 200); do {is_up} && break; sleep 0.1; done;"
        f" {is_up}; gbrain down --quiet"
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    if shutil.which("systemd-analyze"):
        (tmp_path / name).write_text(unit)
        checked = subprocess.run(
            ["systemd-analyze", "verify", "--user", str(tmp_path / name)],
            env={**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (checked.returncode, checked.stderr) == (0, "")


def test_the_launchd_agent_runs_the_same_command() -> None:
    (agent,) = blocks_of("xml")
    (unit,) = blocks_of("ini")
    read = plistlib.loads(agent.encode())
    assert read["RunAtLoad"] is True
    assert f"ExecStart=%h{' '.join(read['ProgramArguments']).removeprefix('/Users/you')}\n" in unit


def test_readme_has_every_kind_of_example() -> None:
    assert len(lines_for("jq")) >= 5
