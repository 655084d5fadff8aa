"""Other programs are started in few known places, never through a shell."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.cli.drafts import Draft
from tests.conftest import Run

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "gbrain"
# Where processes are started: rerank_command; $EDITOR and $PAGER; workers of gbrain itself.
STARTS_PROCESSES = {
    "cli/ui.py",
    "importing/parse_worker.py",
    "output/screen.py",
    "search/rerank/command.py",
    "server/background.py",
}
# Where values of our own worker process are unpickled.
UNPICKLES = {"importing/parse_worker.py"}
_MODULES = ("subprocess", "multiprocessing", "pty", "webbrowser", "concurrent.futures.process")
_CALLS = ("system", "popen", "startfile", "fork", "forkpty", "posix_spawn", "posix_spawnp")
_EVALUATING = ("eval", "exec", "compile", "__import__")
_HOSTILE = ("$(touch ran)", "; touch ran;", "`touch ran`", "| touch ran", "-c touch", "&touch ran&")


def find_starts(tree: ast.AST) -> Iterator[str]:
    """Yield the ways to start a program or evaluate code that a file uses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in _MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in _MODULES:
            yield node.module
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            starts = node.attr in _CALLS or node.attr.startswith(("exec", "spawn"))
            if node.value.id == "os" and starts:
                yield f"os.{node.attr}"
            if node.value.id == "pickle" and node.attr == "loads":
                yield "pickle.loads"
        elif isinstance(node, ast.Name) and node.id in _EVALUATING:
            yield node.id
        if isinstance(node, ast.keyword) and node.arg == "shell":
            yield "a shell"


def test_processes_are_started_only_in_known_places() -> None:
    ways = {
        str(file.relative_to(PACKAGE)): set(find_starts(ast.parse(file.read_text("utf-8"))))
        for file in PACKAGE.rglob("*.py")
    }
    starting = {file for file, found in ways.items() if found - {"pickle.loads"}}
    assert starting == STARTS_PROCESSES
    assert {file for file, found in ways.items() if "pickle.loads" in found} == UNPICKLES
    known = {"subprocess", "webbrowser", "pickle.loads"}
    assert all(found <= known for found in ways.values()), ways


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess",
        "from subprocess import run",
        "os.system(x)",
        "os.execvp(x, y)",
        "os.spawnl(x)",
        "run(x, shell=True)",
        "eval(x)",
        "pickle.loads(x)",
    ],
)
def test_every_way_to_start_a_process_is_found(source: str) -> None:
    assert list(find_starts(ast.parse(source)))


def recording_editor(folder: Path) -> str:
    """Return an editor command that records its arguments."""
    script = folder / "editor.py"
    script.write_text(
        "import json, sys\n"
        f"open({str(folder / 'called.json')!r}, 'w').write(json.dumps(sys.argv[1:]))\n"
    )
    return shlex.join([sys.executable, str(script)])


@pytest.mark.parametrize("name", [*_HOSTILE, "-rf", "a\nb", "--help"])
def test_an_editor_gets_only_a_file_name(
    run: Run, brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    brain.put(f"notes/{name}", f"---\ntitle: |\n  {name!r}\n---\n# {name}\n".encode())
    monkeypatch.setenv("EDITOR", recording_editor(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert run("edit", "--", f"notes/{name}").exit_code == 0
    (called,) = json.loads((tmp_path / "called.json").read_text())
    assert os.path.isabs(called)
    assert re.fullmatch(r"[\w.-]+\.md", Path(called).name)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("slug", [*_HOSTILE, "-rf", "a\nb", "../../x", "x\0y", "\x1b[31m"])
def test_the_name_of_a_draft_is_plain_for_any_slug(slug: str) -> None:
    draft = Draft(slug, b"text", edited=True)
    try:
        assert re.fullmatch(r"[\w.-]+\.md", draft.file.name)
        assert not draft.file.name.startswith(("-", "."))
        assert draft.file.stat().st_mode & 0o777 == 0o600
        assert draft.file.parent.stat().st_mode & 0o777 == 0o700
    finally:
        draft.discard()


def test_a_rerank_command_gets_pages_only_on_standard_input(
    run: Run, brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in _HOSTILE:
        brain.put(f"notes/{abs(hash(name))}", f"# {name}\n\nwords of notes {name}\n".encode())
    monkeypatch.chdir(tmp_path)
    run("config", "set", "rerank", "command")
    run("config", "set", "rerank_command", recording_editor(tmp_path))
    assert run("query", "words $(touch ran) ; touch ran").exit_code == 0
    assert (tmp_path / "called.json").read_text() == "[]"
    assert not (tmp_path / "ran").exists()
    assert not Path("/ran").exists()


def test_a_module_in_the_imported_folder_is_not_loaded(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "gbrain").mkdir(parents=True)
    trap = f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"
    for name in ("gbrain/__init__.py", "pickle.py", "hashlib.py", "yaml.py", "json.py"):
        (notes / name).write_text(trap)
    for number in range(320):
        (notes / f"{number}.md").write_text(f"# {number}\n")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gbrain", "import", ".", "--no-embed"],
        cwd=notes,
        env={
            **{name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"},
            "PYTHONPATH": str(ROOT),
            "GBRAIN_DB": str(tmp_path / "brain.db"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "320 new" in done.stderr) == (0, True), done.stderr
    assert not (tmp_path / "ran").exists()
