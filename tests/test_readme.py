"""What README shows is what the program does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from gbrain.cli.app import COMMANDS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.S)


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
    known = run(name, "--help").stdout
    for option in options:
        assert re.search(rf"{option}\b", known), option


def test_ci_runs_the_test_command_that_readme_shows() -> None:
    marked = re.search(r"<!-- test -->\n```sh\n(.*)\n```", README)
    assert marked
    assert marked[1].endswith(".venv/bin/pytest")
    assert "<!-- test -->" in (ROOT / ".ci" / "run").read_text()


def test_the_demo_answers_by_word_and_by_meaning_and_leaves_nothing_behind(
    run, tmp_path: Path, monkeypatch
) -> None:
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
