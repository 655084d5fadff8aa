"""Properties that hold for any input, each with the strategies that generate it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import inputs
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp_client import RawClient
from typer.testing import CliRunner

from gbrain.brain import Brain
from gbrain.cli.app import app
from gbrain.errors import GbrainError
from gbrain.importing.scan import find_page_files
from gbrain.output.json import answer_document
from gbrain.output.schemas import document_schema
from gbrain.output.site import render_site
from gbrain.text.page import parse_page
from gbrain.text.slug import slug_from_path
from gbrain.text.timeline import add_entry, parse_entry

SAMPLE = Path(__file__).parents[2] / "gbrain" / "sample"


class Property(NamedTuple):
    """A check that must pass for every input; strategies are in the order of its arguments."""

    check: Callable[..., None]
    strategies: tuple[st.SearchStrategy[Any], ...]


# --- brains ------------------------------------------------------------------------------------


@cache
def work_folder() -> Path:
    """Return a folder for all that the properties write; the caller removes it."""
    return Path(tempfile.mkdtemp(prefix="gbrain-properties-"))


@cache
def empty_brain() -> Path:
    path = work_folder() / "empty.db"
    with Brain.open(path, make=True):
        return path


@cache
def sample_brain() -> Path:
    """Return a brain of the packaged pages with vectors; built unless it is there."""
    path = work_folder() / "sample.db"
    if not path.exists():
        with Brain.open(path, make=True) as brain:
            brain.import_folder(SAMPLE)
            brain.embed()
    return path


@contextmanager
def copied_brain(original: Path) -> Iterator[Brain]:
    """Open a copy of a brain in a new folder that is removed afterwards."""
    folder = Path(tempfile.mkdtemp(dir=work_folder()))
    try:
        shutil.copy(original, folder / "brain.db")
        with Brain.open(folder / "brain.db") as brain:
            yield brain
    finally:
        shutil.rmtree(folder)


def folder_of(brain: Brain) -> Path:
    return brain.database.path.parent


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(document_schema(name))


class RunResult(NamedTuple):
    exit_code: int
    stdout: bytes
    stderr: str


def run(path: Path, *arguments: str, stdin: bytes = b"") -> RunResult:
    """Run a command; raise its exception, and fail for an unknown exit code or a traceback."""
    result = CliRunner(env={"GBRAIN_DB": str(path)}).invoke(app, arguments, input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1, 2, 3), result.exit_code
    assert "Traceback" not in result.stderr
    return RunResult(result.exit_code, result.stdout_bytes, result.stderr)


def subcommand(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Return the subcommand, for commands that have one."""
    return arguments[1:2] if arguments[0] == "config" else ()


def run_for_json(path: Path, *arguments: str, document: str, stdin: bytes = b"") -> Any:
    """Return the JSON that a command prints, or None after an error, which must be JSON too."""
    result = run(
        path,
        arguments[0],
        *subcommand(arguments),
        "--json",
        *arguments[1 + len(subcommand(arguments)) :],
        stdin=stdin,
    )
    if result.exit_code not in (0, 3) and not result.stdout:
        validator("error").validate(json.loads(result.stderr))
        return None
    printed = json.loads(result.stdout)
    validator(document).validate(printed)
    return printed


# --- pages -------------------------------------------------------------------------------------


def page_round_trips(data: bytes, question: str) -> None:
    """A page comes back byte for byte, its chunks are where they say, and queries never fail."""
    with copied_brain(empty_brain()) as brain:
        try:
            written = brain.put("page", data)
        except GbrainError:
            return
        assert written.outcome == "created"
        assert brain.text("page").encode() == data
        assert brain.put("page", data).outcome == "unchanged"
        check_chunks("page.md", data)
        for text in (question, data.decode()[:200]):
            document = answer_document(brain.query(text, mode="bm25", depth="auto", budget=200))
            validator("answer").validate(json.loads(json.dumps(document)))
            check_citations(brain, document)
        with brain.database.read_transaction() as connection:
            for _, html in render_site(connection):
                html.encode()


def check_chunks(path: str, data: bytes) -> None:
    """The parts of a page join to the page, and every chunk is in the bytes and lines it names."""
    page = parse_page(path, data)
    assert (page.front_matter + page.compiled_truth + page.timeline).encode() == data
    lines = data.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for chunk in page.chunks:
        piece = data[chunk.byte_start : chunk.byte_stop].decode()
        assert chunk.text in piece
        within = "\n".join(lines[chunk.first_line - 1 : chunk.last_line])
        assert chunk.text.replace("\r\n", "\n").replace("\r", "\n") in within


def check_citations(brain: Brain, document: dict[str, Any]) -> None:
    """Citations of an answer are verified as unchanged."""
    cited = document["context"]
    if not cited:
        return
    result = run_for_json(
        brain.database.path, "verify", "-", document="verified", stdin=json.dumps(cited).encode()
    )
    assert result is not None
    for found in result["citations"]:
        assert found["status"] == "unchanged", found


def folder_round_trips(files: list[tuple[str, str]], rules: list[str], question: str) -> None:
    """Imported files are exported byte for byte; imported again, they give the same results."""
    with copied_brain(empty_brain()) as brain, copied_brain(empty_brain()) as other:
        notes, out = folder_of(brain) / "vault", folder_of(brain) / "out"
        notes.mkdir()
        for name, text in files:
            write(notes, f"{name}.md", text.encode())
        write(notes, ".gbrainignore", "\n".join(rules).encode())
        try:
            paths = find_page_files(notes, []).paths
        except GbrainError:
            return
        report = brain.import_folder(notes)
        imported = {change.path for change in report.changes}
        assert imported <= set(paths)
        assert len(imported) + len(report.problems) == len(paths)
        assert brain.import_folder(notes).changes == []
        brain.export(out)
        exported = {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()}
        assert exported == imported
        for path in imported:
            assert (out / path).read_bytes() == (notes / path).read_bytes()
        assert {change.slug for change in other.import_folder(out).changes} == {
            slug_from_path(p) for p in imported
        }
        assert results(brain, question) == results(other, question)


def write(folder: Path, name: str, data: bytes) -> None:
    """Write a file, unless the system does not allow its name."""
    path = folder / os.path.normpath(f"/{name}").lstrip("/")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except (OSError, ValueError):
        return


def results(brain: Brain, question: str) -> list[tuple[str, str, float]]:
    return [(hit.slug, hit.snippet, round(hit.score, 9)) for hit in brain.search(question).hits]


def entry_is_read_back(text: str, date: str, words: str, source: str | None) -> None:
    """An added entry is on the timeline; adding it again changes nothing."""
    if "\0" in f"{words}{source}":
        return
    try:
        parse_page("a.md", text.encode())
        grown = add_entry(text, date, words, source)
    except GbrainError:
        return
    page = parse_page("a.md", grown.encode())
    assert add_entry(grown, date, words, source) == grown
    expected = " ".join(words.split())
    entries = [
        " ".join(parse_entry(c.text).words.split()) for c in page.chunks if c.kind == "timeline"
    ]
    assert any(expected.startswith(entry) or entry in expected for entry in entries)


# --- questions ---------------------------------------------------------------------------------


def answer_is_as_described(question: str, options: dict[str, Any], command: str) -> None:
    """Any text with any options gives an answer that fits the schema, or a clear error."""
    if question == "-":
        return
    arguments = [command, *option_arguments(options), "--", question]
    run_for_json(
        sample_brain(), *arguments, document="explanation" if command == "explain" else "answer"
    )


def option_arguments(options: dict[str, Any]) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]


def listing_is_as_described(options: dict[str, Any], command: str) -> None:
    document = "pages" if command == "list" else "timeline"
    run_for_json(sample_brain(), command, *option_arguments(options), document=document)


def each_line_has_its_answer(lines: list[str], command: str) -> None:
    """`query -` and `search -` print one line for each line that is not blank."""
    stdin = "\n".join(line.replace("\n", " ").replace("\r", " ") for line in lines)
    data = stdin.encode("utf-8", "surrogatepass")
    question = [
        line for line in data.decode("utf-8", "surrogateescape").split("\n") if line.strip()
    ]
    result = run(sample_brain(), command, "-", stdin=data)
    printed = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(printed) == len(question)
    for document in printed:
        validator("unanswered" if "error" in document else "answer").validate(document)


def records_round_trip(lines: list[str]) -> None:
    """`import --stdin` imports or refuses each line; importing its export changes nothing."""
    with copied_brain(empty_brain()) as brain:
        path = brain.database.path
        stdin = "\n".join(lines).encode("utf-8", "surrogatepass")
        run_for_json(path, "import", "--stdin", document="taken_in", stdin=stdin)
        exported = run(path, "export", "-", "--format", "json").stdout
        again = run_for_json(path, "import", "--stdin", document="taken_in", stdin=exported)
        assert again is not None
        assert (again["changes"], again["problems"]) == ([], [])


def citations_are_verified(text: str) -> None:
    run_for_json(
        sample_brain(),
        "verify",
        "-",
        document="verified",
        stdin=text.encode("utf-8", "surrogatepass"),
    )


# --- the rest ----------------------------------------------------------------------------------


def setting_is_kept_or_refused(pair: tuple[str, str]) -> None:
    """A setting that is accepted is read back as the same value."""
    name, value = pair
    with copied_brain(empty_brain()) as brain:
        path = brain.database.path
        stored = run_for_json(path, "config", "set", "--", name, value, document="setting")
        if stored is None:
            return
        shown = run_for_json(path, "config", "get", "--", name, document="setting")
        assert shown["value"] == stored["value"]
        run_for_json(path, "search", "river", document="answer")


def name_is_a_slug_or_refused(name: str, other: str) -> None:
    """Commands accept any page name or refuse it with an error."""
    with copied_brain(empty_brain()) as brain:
        path = brain.database.path
        put = run_for_json(path, "put", "--", name, document="written", stdin=b"# X\n\nriver\n")
        for command, document in (("get", "page"), ("links", "links"), ("history", "history")):
            found = run_for_json(path, command, "--", name, document=document)
            assert (found is None) == (put is None)
        run_for_json(path, "rename", "--", name, other, document="renamed")
        run_for_json(path, "graph", "--", other, document="graph")
        run_for_json(path, "why", "--", other, document="origin")
        run_for_json(path, "delete", "--", other, document="deleted")


def dataset_is_evaluated_or_refused(
    corpus: list[str], queries: list[str], relevance: list[str]
) -> None:
    folder = Path(tempfile.mkdtemp(dir=work_folder()))
    try:
        rows = {"corpus.jsonl": corpus, "queries.jsonl": queries, "qrels.tsv": relevance}
        for file, lines in rows.items():
            (folder / file).write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
        arguments = ["eval", str(folder), "--modes", "bm25", "--cache", str(folder / "cache")]
        run_for_json(folder / "brain.db", *arguments, document="evaluation")
    finally:
        shutil.rmtree(folder)


@cache
def shared_client() -> RawClient:
    path = work_folder() / "served.db"
    shutil.copy(sample_brain(), path)
    return RawClient(path)


def every_request_is_answered(calls: list[tuple[str, Any]], noise: list[str]) -> None:
    """The server answers each request, also after garbage, and keeps running."""
    shared_client().call_tools(calls, noise)


def tool_call() -> st.SearchStrategy[tuple[str, Any]]:
    from gbrain.mcp.tools import TOOLS

    known: dict[str, st.SearchStrategy[Any]] = {
        **inputs.query_options, "query": inputs.question, "slug": inputs.name, "text": inputs.text,
        "content": inputs.page, "name": inputs.name, "date": inputs.date, "tags": inputs.json_value,
        "offset": st.integers(-5, 10**7), "first_line": st.integers(-1, 10**10),
        "last_line": st.integers(), "version": st.integers(-1, 5), "why_not": inputs.name,
        "expected_version": st.integers(0, 2), "rerank": st.just(False),
    }  # fmt: skip
    calls = []
    for tool in TOOLS:
        known_arguments = tool.input_schema["properties"]
        arguments = {
            key: st.one_of(known.get(key, inputs.json_value), inputs.json_value)
            for key in known_arguments
        }
        calls.append(
            st.tuples(
                st.just(tool.name),
                st.fixed_dictionaries({}, optional={**arguments, "x": inputs.text}),
            )
        )
    return st.one_of(*calls, st.tuples(inputs.text, inputs.json_value))


_query_options = st.fixed_dictionaries({}, optional=inputs.query_options)
_filters = st.fixed_dictionaries({}, optional=inputs.options)
_document_line = st.one_of(
    st.fixed_dictionaries(
        {"_id": inputs.name},
        optional={"title": inputs.text, "text": inputs.page, "metadata": inputs.json_value},
    ).map(json.dumps),
    inputs.json_value.map(json.dumps),
    inputs.broken_json,
)
_relevance_line = st.one_of(
    st.tuples(inputs.name, inputs.name, st.integers(-1, 2).map(str)).map("\t".join), inputs.any_text
)
_citation = st.tuples(
    inputs.name,
    st.integers(0, 30),
    st.integers(0, 10**9),
    st.sampled_from(["ab12cd34", "0" * 32, "x"]),
).map(lambda c: f"[{c[0]}#L{c[1]}-{c[2]} {c[3]}]")
_context_piece = st.fixed_dictionaries(
    {"slug": inputs.name, "lines": st.lists(st.integers(-1, 10**6), max_size=3),
     "hash": st.sampled_from(["ab12cd34", "0" * 32])},
    optional={"text": inputs.text},
).map(json.dumps)  # fmt: skip

PROPERTIES = {
    "page": Property(page_round_trips, (inputs.page_bytes, inputs.question)),
    "folder": Property(
        folder_round_trips,
        (
            st.lists(st.tuples(inputs.name, inputs.page), max_size=5),
            inputs.ignore_lines,
            inputs.question,
        ),
    ),
    "entry": Property(
        entry_is_read_back, (inputs.page, inputs.date, inputs.text, st.none() | inputs.text)
    ),
    "search": Property(answer_is_as_described, (inputs.question, _filters, st.just("search"))),
    "query": Property(answer_is_as_described, (inputs.question, _query_options, st.just("query"))),
    "explain": Property(answer_is_as_described, (inputs.question, _filters, st.just("explain"))),
    "list": Property(listing_is_as_described, (_filters, st.sampled_from(["list", "timeline"]))),
    "lines": Property(
        each_line_has_its_answer,
        (
            st.lists(inputs.question_line(inputs.query_options), max_size=5),
            st.sampled_from(["query", "search"]),
        ),
    ),
    "records": Property(records_round_trip, (st.lists(inputs.record_line, max_size=5),)),
    "citations": Property(
        citations_are_verified,
        (
            st.one_of(
                inputs.any_text,
                inputs.broken_json,
                st.lists(st.one_of(_citation, _context_piece, inputs.text)).map("\n".join),
            ),
        ),
    ),
    "setting": Property(setting_is_kept_or_refused, (inputs.setting,)),
    "name": Property(name_is_a_slug_or_refused, (inputs.name, inputs.name)),
    "set": Property(
        dataset_is_evaluated_or_refused,
        (
            st.lists(_document_line, max_size=4),
            st.lists(_document_line, max_size=3),
            st.lists(_relevance_line, max_size=4),
        ),
    ),
    "message": Property(
        every_request_is_answered,
        (
            st.lists(tool_call(), max_size=6),
            st.lists(inputs.any_text | inputs.broken_json, max_size=2),
        ),
    ),
}
