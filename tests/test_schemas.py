"""Every command prints a JSON document that matches its schema."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.main import get_command

from gbrain.brain import Brain
from gbrain.cli.app import COMMANDS, app
from gbrain.errors import NotFound
from gbrain.models.catalog import packaged_model
from gbrain.output import schemas
from gbrain.output.schemas import document_schema, list_documents
from gbrain.search.rerank.learned import FEATURES
from gbrain.store.conflicts import record_conflict
from gbrain.store.pages import require_page
from gbrain.store.usage_log import HitLocation, save_last_hits

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "gbrain" / "sample"
DAYS = ROOT / "fixtures" / "eval" / "allotments" / "days"
LINES = DAYS.with_name("lines")

# They print a shell script, a protocol and a guided tour.
NO_DOCUMENT = {"completion", "serve", "ui", "demo"}

# Commands on the embedded sample pages, run in this order; `places` fills in the braces.
CALLS = """
search "river ai"
search nothing-of-the-kind
query "who is lukewarm on cloud RAG?" --depth auto --budget 300 --debug
query "what did Alice say in April" --rerank --boost tag:storage=1.5 -n 3
query "tag:search NOT wing:people" --mode bm25
explain "what happened in April with Alice?" --why-not people/wen-okoye --rerank
explain "river ai"
put ideas/new {page}
put ideas/new {page}
edit ideas/new
edit ideas/never-written
open 1
capture "A thought"
capture "Another" --to people/alice-chen
get ideas/new
get people/alice-chen
list
list --tag no-such-tag
graph people/alice-chen
graph
capture "Ask Alice"
edit people/alice-chen
open 1
rename ideas/new ideas/newer
supersede ideas/newer people/alice-chen
supersede --list
supersede --undo ideas/newer
conflicts
resolve people/alice-chen --file
history ideas/newer
diff ideas/newer
diff people/alice-chen
undo ideas/newer
delete ideas/newer
undo ideas/newer
delete ideas/newer
history ideas/newer
dedupe --threshold 0.5 --dry-run
import {sample} --dry-run
import {awkward} --no-embed
sync {sample}
export {folder} --dry-run
export {folder}
import {page} --no-embed
folders list
folders add {awkward}
folders move {awkward} {awkward}
folders forget {awkward}
timeline
timeline people/alice-chen --since 2026-04
tasks
tasks --all
done 5323 1622
today
today 2026-04-03
timeline-add people/alice-chen "Moved to Lisbon" --date 2026-05
tags
tags people/alice-chen
links people/alice-chen
links index
backlinks people/alice-chen
graph people/alice-chen
graph
why people/alice-chen --depth 3
gaps
gaps --kind stale
verify {context}
alias add k8s kubernetes "kube cluster"
alias list
alias remove k8s
config list
config get rerank
config set default_limit 20
config reset --all
profile list
profile show sift
profile use sift
profile use default
jobs list
jobs retry
embed
jobs clear
model list
model verify
init --db {folder}/new.db
put alice {sample}/people/alice-chen.md --db {folder}/new.db
embed --db {folder}/new.db
model add {model} --name mine --max-tokens 256 --db {folder}/new.db
model use mine --no-selftest --db {folder}/new.db
model use bge-small-en-v1.5 --db {folder}/new.db
model remove mine --db {folder}/new.db
status
up
status
down
remote add team {server}
remote list
push
push
pull
remote status
remote repair
clone team {folder}/clone.db
sync --remote team
remote roles
remote remove team
stats
doctor
doctor --full --verbose
token add laptop --read-only --slug-prefix people/ --expires 90d
token list
token revoke laptop
backup {folder}.backup
compact
restore {folder}.backup
init
selftest --questions 1
selftest --questions 1 --keep
tune --questions 8 --folds 2
train-reranker
eval {days} --modes bm25 --set title_weight=1 --cache {folder}/sets --show-losses 1
eval {days} --modes bm25 --evidence {lines} --context 200 --cache {folder}/sets
schema
""".strip().splitlines()


def leaves() -> Iterator[tuple[str, Any]]:
    """Yield every command that is not a group, with its name."""
    group = get_command(app)
    context = group.make_context("gbrain", [], resilient_parsing=True)
    for name in COMMANDS:
        command = group.get_command(context, name)  # type: ignore[attr-defined]
        below = getattr(command, "commands", {})
        yield from ((f"{name} {sub}", each) for sub, each in below.items())
        if not below:
            yield name, command


def test_every_number_option_has_a_maximum() -> None:
    """SQLite stores no integer above 2**63."""
    endless = [
        (name, option.name)
        for name, command in leaves()
        for option in command.params
        if option.type.name.startswith("int") and getattr(option.type, "max", None) is None
    ]
    assert endless == []


def command_of(call: str) -> str:
    """Return the command of a line, with its subcommand if it has one."""
    first, second, *_ = [*shlex.split(call), ""]
    return f"{first} {second}" if f"{first} {second}" in schemas.document_by_command() else first


def check(document: Any, name: str) -> None:
    checker = Draft202012Validator.FORMAT_CHECKER
    Draft202012Validator(document_schema(name), format_checker=checker).validate(document)


@pytest.fixture
def places(tmp_path: Path, embedded: Path, server_url: str, monkeypatch) -> dict[str, Path | str]:
    """Return the paths that the calls use; the editor changes nothing."""
    monkeypatch.setenv("EDITOR", "true")
    page = tmp_path / "page.md"
    page.write_text("---\ntags: [a, b]\ndate: 2026-04-03\n---\n# New\n\nSee [[nowhere]].\n")
    context = tmp_path / "context.md"
    context.write_text("[people/alice-chen#L1-2 ab12cd34ef56] and [gone#L3 ab12cd34ef56]")
    return {
        "page": page,
        "context": context,
        "folder": tmp_path / "out",
        "model": Path(shutil.copytree(packaged_model().folder, tmp_path / "model")),
        "sample": Path(shutil.copytree(SAMPLE, tmp_path / "sample")),
        "awkward": ROOT / "fixtures" / "awkward",
        "days": DAYS,
        "lines": LINES,
        "server": server_url,
    }


@pytest.fixture
def embedded(embedded_sample: Path, brain_path: Path) -> Path:
    shutil.copy(embedded_sample, brain_path)
    record_questions(brain_path)
    with Brain.open(brain_path) as brain, brain.database.write_transaction() as connection:
        save_last_hits(connection, [HitLocation(1, "people/alice-chen", 3)])
        page = require_page(connection, "people/alice-chen")
        record_conflict(connection, page.id, page.version, None, page.updated_at)
    return brain_path


def record_questions(path: Path) -> None:
    """Record enough opened results for `train-reranker` to learn from."""
    with Brain.open(path) as brain, brain.database.write_transaction() as connection:
        connection.execute("INSERT INTO last_answer VALUES (1, 'index', 1)")
        for number in range(1, 61):
            connection.execute(
                "INSERT INTO questions VALUES (?, 'why?', '2026-11-16', 'hybrid', 'nothing', 2)",
                (number,),
            )
            connection.executemany(
                "INSERT INTO question_hits VALUES (?, ?, 1, ?, ?)",
                [
                    (number, place, json.dumps([1 / place] * len(FEATURES)), opened)
                    for place, opened in ((1, "2026-11-16"), (2, None))
                ],
            )


@pytest.mark.parametrize("name", [document.name for document in list_documents()])
def test_a_schema_is_valid_and_self_contained(name: str) -> None:
    written = document_schema(name)
    Draft202012Validator.check_schema(written)
    for reference in schemas.references(written):
        part = reference.removeprefix("#/$defs/").partition("/")[0]
        assert part in written["$defs"]


def test_every_definition_is_unique_and_used() -> None:
    files = [path for path in schemas.SCHEMA_FOLDER.glob("*.json") if path.name != "commands.json"]
    names = [name for path in files for name in json.loads(path.read_text())["$defs"]]
    assert sorted(names) == sorted(set(names))
    printed = {document.name for document in list_documents()}
    used = {part for name in printed for part in schemas.referred_names(name)}
    assert set(names) == printed | used, "a definition that nothing uses"


def test_every_command_prints_json_and_has_a_schema() -> None:
    commands = list(leaves())
    assert len(commands) > 40
    for name, command in commands:
        options = {option for parameter in command.params for option in parameter.opts}
        documented = name in schemas.document_by_command()
        assert ("--json" in options, documented) == (name not in NO_DOCUMENT,) * 2, name
    assert set(schemas.document_by_command()) <= dict(leaves()).keys()
    called = {command_of(call) for call in CALLS}
    assert called == set(schemas.document_by_command()), "a command whose output is not tried below"


def test_output_of_every_command_matches_its_schema(
    run, places: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    for call in CALLS:
        words = shlex.split(call.format(**places))
        ran = run(*words, "--json")
        assert ran.stdout, f"{call}: {ran.stderr}"
        check(ran.json, command_of(call))


def test_lines_of_a_batch_match_their_schemas(run, embedded: Path) -> None:
    ran = run("query", "-", stdin=b'river ai\n{"query": "cloud", "depth": "auto"}\n{"query": 7}\n')
    found, deep, failed = map(json.loads, ran.stdout.splitlines())
    check(found, "answer")
    check(deep, "answer")
    check(failed, "unanswered")


def test_lines_of_an_export_match_their_schema(run, sample: Path) -> None:
    lines = run("export", "-", "--format", "json").stdout.splitlines()
    assert len(lines) == 29
    for line in lines:
        check(json.loads(line), "exported_page")


def test_a_line_of_sync_watch_matches_its_schema(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "new.md").write_text("# New")
    command = [sys.executable, "-m", "gbrain", "sync", tmp_path / "notes", "--watch", "--json"]
    watching = subprocess.Popen([*command, "--no-embed"], stdout=subprocess.PIPE)
    try:
        assert watching.stdout is not None
        check(json.loads(watching.stdout.readline()), "followed")
    finally:
        watching.terminate()
        watching.communicate()


@pytest.mark.parametrize(
    "words",
    [
        ("get", "people/nobody"),
        ("config", "set", "default_limit", "none"),
        ("search",),
        ("list", "--since", "one day"),
        ("get", "x", "--db", "/nowhere/brain.db"),
    ],
)
def test_errors_match_their_schema(run, embedded: Path, words: tuple[str, ...]) -> None:
    ran = run(*words, "--json")
    assert ran.exit_code in (1, 2)
    assert ran.stdout == ""
    check(json.loads(ran.stderr), "error")


def test_an_extra_or_missing_key_is_invalid(run, embedded: Path) -> None:
    document = run("search", "river ai", "--json").json
    validator = Draft202012Validator(document_schema("search"))
    assert validator.is_valid(document)
    assert not validator.is_valid({**document, "new": 1})
    document["results"][0].pop("date")
    assert not validator.is_valid(document)


def test_schema_lists_and_prints_schemas(run) -> None:
    listed = [line.split("\t") for line in run("schema").stdout.splitlines()]
    assert ["answer", "search, query"] in [row[:2] for row in listed]
    assert {row[0] for row in listed} == {document.name for document in list_documents()}
    assert run("schema", "query").json == document_schema("answer")
    assert run("schema", "config", "list", "--json").json == document_schema("settings_list")
    ran = run("schema", "anser")
    assert ran.exit_code == 1
    assert ran.stderr == "Error: There is no document 'anser'\nHint: Did you mean 'answer'?\n"
    with pytest.raises(NotFound, match="no document"):
        document_schema("")
