"""Other programs are started in few places, from words of the user and never through a shell."""

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
from gbrain.cli.edit import Draft
from tests.conftest import Run

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "gbrain"
# Where a process is started, and by whose wish: rerank_command; $EDITOR and $PAGER; gbrain itself.
STARTING = {"search/rerank/command.py", "output/foreground.py", "importing/parse_worker.py"}
# Where bytes of our own other process are read back as values.
UNPICKLING = {"importing/parse_worker.py"}
_MODULES = ("subprocess", "multiprocessing", "pty", "webbrowser", "concurrent.futures.process")
_CALLS = ("system", "popen", "startfile", "fork", "forkpty", "posix_spawn", "posix_spawnp")
_EVALUATING = ("eval", "exec", "compile", "__import__")
_HOSTILE = ("$(touch ran)", "; touch ran;", "`touch ran`", "| touch ran", "-c touch", "&touch ran&")


def used(tree: ast.AST) -> Iterator[str]:
    """The ways to start a program, or to run text as one, that a file makes use of."""
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


def test_programs_are_started_where_they_are_known_to_be() -> None:
    ways = {
        str(file.relative_to(PACKAGE)): set(used(ast.parse(file.read_text("utf-8"))))
        for file in PACKAGE.rglob("*.py")
    }
    starting = {file for file, found in ways.items() if found - {"pickle.loads"}}
    assert starting == STARTING
    assert {file for file, found in ways.items() if "pickle.loads" in found} == UNPICKLING
    assert all(found <= {"subprocess", "pickle.loads"} for found in ways.values()), ways


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
def test_every_way_is_seen(source: str) -> None:
    assert list(used(ast.parse(source)))


def editor(folder: Path) -> str:
    """An editor that writes down what it is called with."""
    script = folder / "editor.py"
    script.write_text(
        "import json, sys; open('called.json', 'w').write(json.dumps(sys.argv[1:]))\n"
    )
    return shlex.join([sys.executable, str(script)])


@pytest.mark.parametrize("name", [*_HOSTILE, "-rf", "a\nb", "--help"])
def test_an_editor_gets_the_name_of_a_file_and_nothing_of_the_page(
    run: Run, brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    brain.put(f"notes/{name}", f"---\ntitle: |\n  {name!r}\n---\n# {name}\n".encode())
    monkeypatch.setenv("EDITOR", editor(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert run("edit", "--", f"notes/{name}").exit_code == 0
    (called,) = json.loads((tmp_path / "called.json").read_text())
    assert os.path.isabs(called)
    assert re.fullmatch(r"[\w.-]+\.md", Path(called).name)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("slug", [*_HOSTILE, "-rf", "a\nb", "../../x", "x\0y", "\x1b[31m"])
def test_the_name_of_a_file_is_plain_whatever_the_slug_is(slug: str) -> None:
    draft = Draft(slug, "text")
    try:
        assert re.fullmatch(r"[\w.-]+\.md", draft.file.name)
        assert not draft.file.name.startswith(("-", "."))
        assert draft.file.stat().st_mode & 0o777 == 0o600
        assert draft.file.parent.stat().st_mode & 0o777 == 0o700
    finally:
        draft.discard()


def test_a_command_for_reranking_gets_pages_on_standard_input_alone(
    run: Run, brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in _HOSTILE:
        brain.put(f"notes/{abs(hash(name))}", f"# {name}\n\nwords of notes {name}\n".encode())
    monkeypatch.chdir(tmp_path)
    run("config", "set", "rerank", "command")
    run("config", "set", "rerank_command", editor(tmp_path))
    assert run("query", "words $(touch ran) ; touch ran").exit_code == 0
    assert (tmp_path / "called.json").read_text() == "[]"
    assert not (tmp_path / "ran").exists()


def test_a_module_in_the_vault_is_not_loaded(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / "gbrain").mkdir(parents=True)
    trap = f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"
    for name in ("gbrain/__init__.py", "pickle.py", "hashlib.py", "yaml.py", "json.py"):
        (vault / name).write_text(trap)
    for number in range(320):
        (vault / f"{number}.md").write_text(f"# {number}\n")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gbrain", "import", ".", "--no-embed"],
        cwd=vault,
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
