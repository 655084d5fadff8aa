"""Imports point one way, and nothing heavy is loaded at start."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gbrain"
FILES = sorted(PACKAGE.rglob("*.py"))

RANKS = (
    ("errors", "messages", "types", "trace", "config", "profiles", "threads", "paths", "trust"),
    ("text",),
    ("query_options",),
    ("store", "models"),
    ("search", "importing"),
    ("brain",),
    ("evaluate", "explanation", "as_of"),
    ("output",),
    ("cli", "mcp", "__main__"),
)
RANK = {part: rank for rank, parts in enumerate(RANKS) for part in parts}
NEIGHBOURS_ALLOWED = {
    ("types", "trace"),
    ("config", "errors"),
    ("config", "messages"),
    ("paths", "errors"),
    ("trust", "errors"),
    ("trust", "paths"),
    ("profiles", "config"),
    ("profiles", "errors"),
    ("__main__", "cli"),
    ("cli", "mcp"),
}

HEAVY = tuple("numpy onnxruntime tokenizers sqlite_utils mcp yaml watchfiles".split())
FOR_SCREENS = ("rich", "markdown_it")


def imports(file: Path) -> Iterator[str]:
    """The full name of every module and member that a file imports, wherever it does so."""
    inside = (PACKAGE.name, *file.relative_to(PACKAGE).with_suffix("").parts)
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(inside[: len(inside) - node.level]) if node.level else ""
            base = ".".join(part for part in (start, node.module) if part)
            yield from (f"{base}.{name.name}" for name in node.names)


def part_of(file: Path) -> str:
    return file.relative_to(PACKAGE).with_suffix("").parts[0]


def wrong_direction(part: str, imported: str) -> str | None:
    """What is wrong with `part` of the program importing `imported`; None if nothing is."""
    words = imported.split(".")
    if words[0] != "gbrain" or len(words) == 1 or words[1] == part or words[1].startswith("__ver"):
        return None
    other = words[1]
    if RANK[other] > RANK[part]:
        return f"{part} imports {imported}, which stands above it"
    if RANK[other] == RANK[part] and (part, other) not in NEIGHBOURS_ALLOWED:
        return f"{part} imports its neighbour {imported}"
    return None


def test_imports_point_one_way() -> None:
    wrong = [
        f"{file.relative_to(PACKAGE)}: {fault}"
        for file in FILES
        if file != PACKAGE / "__init__.py"
        for imported in imports(file)
        if (fault := wrong_direction(part_of(file), imported))
    ]
    assert wrong == []


def test_every_part_of_the_program_has_its_rank() -> None:
    assert {part_of(file) for file in FILES} - {"__init__"} <= set(RANK)


@pytest.mark.parametrize(
    ("part", "imported", "allowed"),
    [
        ("text", "gbrain.errors.BadPage", True),
        ("text", "gbrain.store.pages", False),
        ("store", "gbrain.models.catalog", False),
        ("store", "gbrain.store.scope", True),
        ("config", "gbrain.errors", True),
        ("errors", "gbrain.config", False),
        ("importing", "gbrain.brain.Brain", False),
        ("cli", "gbrain.output.screen", True),
        ("cli", "sqlite3", True),
    ],
)
def test_the_rule_knows_up_from_down(part: str, imported: str, allowed: bool) -> None:
    assert (wrong_direction(part, imported) is None) is allowed


def test_only_models_touches_the_neural_libraries() -> None:
    importers = {
        part_of(file)
        for file in FILES
        for imported in imports(file)
        if imported.split(".")[0] in ("onnxruntime", "tokenizers")
    }
    assert importers == {"models"}


def loaded_by(brain: Path, *words: str) -> set[str]:
    """The top-level modules that one run of the program has imported."""
    script = (
        "import sys, json\n"
        "from gbrain.cli.app import app\n"
        "try:\n"
        "    app(sys.argv[1:])\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        "finally:\n"
        "    print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})), file=sys.stderr)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, *words],
        env={"GBRAIN_DB": str(brain), "PATH": "", "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout, "the program must have done its work"
    return set(json.loads(ran.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "words",
    [
        ("search", "backup"),
        ("search", "backup", "--json"),
        ("get", "people/alice-chen"),
        ("list",),
        ("--help",),
    ],
    ids=lambda words: "-".join(words),
)
def test_nothing_heavy_is_loaded(sample: Path, words: tuple[str, ...]) -> None:
    unwanted = HEAVY if words == ("--help",) else (*HEAVY, *FOR_SCREENS)
    assert loaded_by(sample, *words).isdisjoint(unwanted)
