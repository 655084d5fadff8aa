"""The library: what `from gbrain import Brain` gives, and that asking for nothing costs nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from inspect import getdoc, getmembers, isfunction
from pathlib import Path

import pytest

import gbrain
from gbrain import Brain, Scope

ROOT = Path(__file__).parent.parent
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)


def python(*words: str, folder: Path) -> str:
    ran = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_what_readme_shows_runs(embedded_sample: Path, tmp_path: Path, example: str) -> None:
    (tmp_path / "notes.db").write_bytes(embedded_sample.read_bytes())
    assert python("-c", example, folder=tmp_path).startswith("people/noor-haddad ")


def test_the_package_loads_nothing_until_it_is_asked(tmp_path: Path) -> None:
    script = "import sys, gbrain; print(*[m for m in sys.modules if m.startswith('gbrain')])"
    assert python("-c", script, folder=tmp_path) == "gbrain\n"


@pytest.mark.parametrize("name", gbrain.__all__)
def test_every_name_it_offers_is_there(name: str) -> None:
    assert getattr(gbrain, name)


def test_a_name_it_does_not_offer() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Brian'"):
        gbrain.Brian  # type: ignore[attr-defined]  # noqa: B018


def test_the_values_are_those_of_the_json(sample: Path, run) -> None:
    shown = run("search", "backup", "--wing", "resources", "--json").json["results"]
    with Brain.open(sample) as brain:
        hits = brain.search("backup", scope=Scope(wing="resources")).hits
    assert [(hit["slug"], hit["title"], hit["score"]) for hit in shown] == [
        (hit.slug, hit.title, pytest.approx(hit.score, abs=1e-4)) for hit in hits
    ]


def test_every_method_says_what_it_does() -> None:
    methods = getmembers(Brain, isfunction)
    silent = [name for name, method in methods if name[0] != "_" and not getdoc(method)]
    assert silent == []


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(gbrain.__file__).parent / "py.typed").is_file()
