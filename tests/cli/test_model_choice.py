"""`import` notices notes in other languages, and says which model reads them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gbrain.cli import model_choice

NOTES = Path(__file__).parents[2] / "fixtures" / "languages" / "notes"
SUGGESTED = "gbrain model use multilingual-e5-small"


@pytest.fixture
def folder(tmp_path):
    """Ten German notes."""
    made = tmp_path / "notes"
    made.mkdir()
    for file in sorted((NOTES / "de").glob("*.md"))[:10]:
        shutil.copy(file, made)
    return made


def test_an_import_of_german_notes_names_the_command(run, brain_path, folder):
    imported = run("import", folder, "--no-embed")
    (line,) = [line for line in imported.stderr.splitlines() if SUGGESTED in line]
    assert line == f"100% of your notes are not in English: {SUGGESTED}"
    # Nothing changed, so there is nothing new to say.
    assert SUGGESTED not in run("import", folder, "--no-embed").stderr


@pytest.mark.parametrize("option", ["--quiet", "--json", "--dry-run"])
def test_nothing_is_said_to_a_script(run, brain_path, folder, option):
    assert SUGGESTED not in run("import", folder, "--no-embed", option).stderr


def test_nothing_is_said_for_english_or_few_notes(run, brain_path, folder, tmp_path):
    few = tmp_path / "few"
    few.mkdir()
    for file in list(folder.iterdir())[:3]:
        shutil.copy(file, few)
    assert SUGGESTED not in run("import", few, "--no-embed").stderr
    assert SUGGESTED not in run("import", NOTES / "en", "--no-embed").stderr


def test_nothing_is_said_once_the_model_is_used(run, brain_path, folder):
    run("init")
    run("model", "use", "multilingual-e5-small", "--quiet")
    assert SUGGESTED not in run("import", folder, "--no-embed").stderr


def test_without_the_wheel_the_line_starts_with_its_installation(
    run, brain_path, folder, monkeypatch
):
    monkeypatch.setattr("gbrain.models.catalog.packaged_models", list)
    line = run("import", folder, "--no-embed").stderr.splitlines()[-1]
    assert line.endswith(f": pip install 'gbrain[languages]' && {SUGGESTED}")


class Terminal:
    """A terminal whose user gives one answer."""

    def __init__(self, monkeypatch, answer: bool) -> None:
        self.asked = []

        class Stream:
            def isatty(self):
                return True

        class System:
            stdin = stdout = stderr = Stream()

        def confirm(question, **options):
            self.asked.append(question)
            return answer

        monkeypatch.setattr(model_choice, "sys", System)
        monkeypatch.setattr(model_choice.typer, "confirm", confirm)
        # The answer decides about the model; embedding is tested elsewhere.
        monkeypatch.setattr("gbrain.cli.import_export._embed", lambda brain, quiet: 0)


@pytest.mark.parametrize("answer", [True, False])
def test_a_new_brain_asks_once_on_a_terminal(run, brain_path, folder, monkeypatch, answer):
    terminal = Terminal(monkeypatch, answer)
    imported = run("import", folder)
    assert len(terminal.asked) == 1
    assert (SUGGESTED in imported.stderr) != answer
    active = [m["name"] for m in run("model", "list", "--json").json["models"] if m["active"]]
    assert active == ["multilingual-e5-small" if answer else "bge-small-en-v1.5"]
    shutil.copy(NOTES / "fr" / "bail.md", folder)
    run("import", folder)
    assert len(terminal.asked) == 1


def test_a_brain_of_english_notes_is_not_asked_about_others(run, brain_path, folder, monkeypatch):
    terminal = Terminal(monkeypatch, True)
    run("import", NOTES / "en")
    run("import", folder)
    assert terminal.asked == []
