"""The library: what `from gbrain import Brain` gives, and that asking for nothing costs nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from inspect import getdoc, getmembers, isfunction
from io import BytesIO
from pathlib import Path

import pytest

import gbrain
from gbrain import Brain, Scope

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.S)


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
def test_the_readme_example_runs(embedded_sample: Path, tmp_path: Path, example: str) -> None:
    (tmp_path / "notes.db").write_bytes(embedded_sample.read_bytes())
    assert python("-c", example, folder=tmp_path).startswith("people/noor-haddad ")


def test_importing_the_package_loads_no_submodule(tmp_path: Path) -> None:
    script = "import sys, gbrain; print(*[m for m in sys.modules if m.startswith('gbrain')])"
    assert python("-c", script, folder=tmp_path) == "gbrain\n"


@pytest.mark.parametrize("name", gbrain.__all__)
def test_every_exported_name_exists(name: str) -> None:
    assert getattr(gbrain, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Brian'"):
        gbrain.Brian  # type: ignore[attr-defined]  # noqa: B018


def test_values_equal_those_of_the_json(sample: Path, run) -> None:
    shown = run("search", "backup", "--wing", "resources", "--json").json["results"]
    with Brain.open(sample) as brain:
        hits = brain.search("backup", scope=Scope(wing="resources")).hits
    assert [(hit["slug"], hit["title"], hit["score"]) for hit in shown] == [
        (hit.slug, hit.title, pytest.approx(hit.score, abs=1e-4)) for hit in hits
    ]


def test_brain_methods_return_what_commands_print(sample: Path, run, tmp_path: Path) -> None:
    alice = "people/alice-chen"
    shown = {
        command: run(command, alice, "--json").json
        for command in ("links", "backlinks", "graph", "history", "timeline")
    }
    with Brain.open(sample) as brain:
        assert shown["links"]["links"] == [link._asdict() for link in brain.links(alice)]
        assert shown["backlinks"]["backlinks"] == [b._asdict() for b in brain.backlinks(alice)]
        graph = brain.graph(alice)
        assert [page["slug"] for page in shown["graph"]["pages"]] == [p.slug for p in graph.pages]
        assert len(shown["history"]["versions"]) == len(brain.history(alice)) == 1
        entries, total = brain.timeline(alice)
        assert [entry["text"] for entry in shown["timeline"]["entries"]] == [
            e.text for e in entries
        ]
        assert shown["timeline"]["total"] == total
        assert run("tags", "--json").json["tags"][0]["tag"] == brain.tags()[0][0]
        assert run("stats", "--json").json["pages"] == brain.stats().pages == 29
        copied = brain.backup(tmp_path / "copy.db")
        assert (copied.pages, copied.bytes) == (29, (tmp_path / "copy.db").stat().st_size)
        assert brain.compact().bytes_after > 0


def test_pages_from_json_lines_have_paths(brain_path: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "b.md").write_text("# B")
    with Brain.open(brain_path, make=True) as brain:
        report = brain.import_jsonl(BytesIO(b'{"slug": "a", "text": "# A"}\n'), dry_run=True)
        assert (report.count("create"), brain.list()[1]) == (1, 0)
        brain.import_jsonl(BytesIO(b'{"slug": "a", "text": "# A"}\n'))
        brain.import_folder(tmp_path / "notes")
        assert brain.text("a") == "# A"
        assert brain.page_files(["a", "b"]) == {"b": tmp_path / "notes" / "b.md"}


def test_readme_shows_the_library() -> None:
    assert EXAMPLES


def test_every_public_method_has_a_docstring() -> None:
    methods = getmembers(Brain, isfunction)
    silent = [name for name, method in methods if name[0] != "_" and not getdoc(method)]
    assert silent == []


def test_the_package_is_marked_as_typed() -> None:
    assert (Path(gbrain.__file__).parent / "py.typed").is_file()
