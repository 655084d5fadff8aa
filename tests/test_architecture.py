"""Imports point one way and never in a circle, SQL stays in store/, nothing heavy is loaded."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gbrain"
FILES = sorted(PACKAGE.rglob("*.py"))

RANKS = (
    tuple("errors messages types trace config profiles threads locations paths trust".split()),
    ("text",),
    ("query_options",),
    ("store", "models"),
    ("search", "importing"),
    ("remotes",),
    ("brain",),
    ("evaluate", "as_of", "ask", "brain_session", "limited", "shared_brain"),
    ("output",),
    ("cli", "mcp", "server", "__main__"),
)
RANK = {part: rank for rank, parts in enumerate(RANKS) for part in parts}
NEIGHBOURS_ALLOWED = {
    ("types", "trace"),
    ("config", "errors"),
    ("config", "messages"),
    ("paths", "errors"),
    ("paths", "locations"),
    ("trust", "errors"),
    ("trust", "paths"),
    ("profiles", "config"),
    ("profiles", "errors"),
    ("__main__", "cli"),
    ("__main__", "server"),
    ("cli", "mcp"),
    ("cli", "server"),
    ("server", "cli"),
    ("server", "mcp"),
}

HEAVY = tuple(
    "numpy onnxruntime tokenizers sqlite_utils mcp starlette uvicorn yaml watchfiles "
    "psycopg".split()
)
FOR_SCREENS = ("rich", "markdown_it")
# Compiling the patterns of the page parser takes longer than a search.
FOR_IMPORTS = ("gbrain.importing", "gbrain.text.page")


def imports(file: Path, *, type_checking: bool = True) -> Iterator[str]:
    """Yield the full name of every module and member that a file imports, lazy imports included.

    Without `type_checking`, imports under `if TYPE_CHECKING:` are left out.
    """
    inside = (PACKAGE.name, *file.relative_to(PACKAGE).with_suffix("").parts)
    pending: list[ast.AST] = [parse(file)]
    while pending:
        node = pending.pop()
        only_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if isinstance(node, ast.If) and only_types and not type_checking:
            pending += node.orelse
        else:
            # No expression contains an import; skipping them takes a third of the time.
            children = ast.iter_child_nodes(node)
            pending += (child for child in children if not isinstance(child, ast.expr))
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(inside[: len(inside) - node.level]) if node.level else ""
            base = ".".join(part for part in (start, node.module) if part)
            yield from (f"{base}.{name.name}" for name in node.names)


@cache
def parse(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def module_name(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def import_graph() -> dict[str, set[str]]:
    """Return the modules that each module imports, type-checking imports left out."""
    modules = {module_name(file) for file in FILES}
    graph: dict[str, set[str]] = {}
    for file in FILES:
        name = module_name(file)
        found = imports(file, type_checking=False)
        targets = {one if one in modules else one.rpartition(".")[0] for one in found}
        graph[name] = (targets & modules) - {name}
    return graph


def in_cycles(graph: dict[str, set[str]]) -> set[str]:
    """Return the modules that import themselves through others."""

    def reachable(start: str) -> set[str]:
        seen: set[str] = set()
        pending = list(graph[start])
        while pending:
            name = pending.pop()
            if name not in seen:
                seen.add(name)
                pending += graph[name]
        return seen

    return {name for name in graph if name in reachable(name)}


def uses_of(attributes: set[str], files: list[Path]) -> set[str]:
    """Return the files, relative to the package, that use one of the attributes."""
    return {
        file.relative_to(PACKAGE).as_posix()
        for file in files
        for node in ast.walk(parse(file))
        if isinstance(node, ast.Attribute) and node.attr in attributes
    }


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


def test_no_import_cycles_inside_a_package() -> None:
    assert in_cycles(import_graph()) == set()


def test_an_import_cycle_is_detected() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}
    assert in_cycles(graph) == {"b", "c"}


def test_sql_is_only_in_store() -> None:
    others = [file for file in FILES if part_of(file) != "store"]
    assert uses_of({"execute", "executemany", "executescript"}, others) == set()
    connecting = [file for file in others if "sqlite3.connect" in file.read_text("utf-8")]
    assert connecting == []


def test_commands_never_use_the_database_directly() -> None:
    commands = [file for file in FILES if part_of(file) in ("cli", "mcp", "server")]
    assert commands
    assert uses_of({"database"}, commands) == set()


def test_no_class_name_is_used_twice() -> None:
    names = [
        node.name
        for file in FILES
        for node in ast.walk(parse(file))
        if isinstance(node, ast.ClassDef)
    ]
    assert names
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_every_module_belongs_to_a_layer() -> None:
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
def test_an_upward_import_is_detected(part: str, imported: str, allowed: bool) -> None:
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
    """The modules that one run of the program has imported."""
    script = (
        "import sys, json\n"
        "from gbrain.cli.main import run_command\n"
        "code = run_command(sys.argv[1:])\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
        "sys.exit(code)\n"
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
    unwanted = HEAVY if words == ("--help",) else (*HEAVY, *FOR_SCREENS, *FOR_IMPORTS)
    assert loaded_by(sample, *words).isdisjoint(unwanted)


def test_search_starts_without_the_argument_parser(sample: Path) -> None:
    unwanted = {"typer", "inspect", "dataclasses", "shutil", "subprocess"}
    words = ("search", "backup plan of last month", "--limit", "3", "--wing=projects", "-q")
    assert loaded_by(sample, *words).isdisjoint(unwanted)
    assert "typer" in loaded_by(sample, "list")
