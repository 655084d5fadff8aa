"""Laws that hold for any input at all, each with the strategy for what it is tried on."""

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
from mcp_client import Speaker
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


class Law(NamedTuple):
    """Something that holds for every input; its strategies are in the order of its arguments."""

    holds: Callable[..., None]
    given: tuple[st.SearchStrategy[Any], ...]


# --- brains ------------------------------------------------------------------------------------


@cache
def workshop() -> Path:
    """A folder for all that laws make; whoever runs them removes it."""
    return Path(tempfile.mkdtemp(prefix="gbrain-laws-"))


@cache
def empty() -> Path:
    path = workshop() / "empty.db"
    with Brain.open(path, make=True):
        return path


@cache
def sample() -> Path:
    """The packaged pages with vectors; who has them already puts them there."""
    path = workshop() / "sample.db"
    if not path.exists():
        with Brain.open(path, make=True) as brain:
            brain.import_folder(SAMPLE)
            brain.embed()
    return path


@contextmanager
def brain_like(original: Path) -> Iterator[Brain]:
    """A brain of one's own, in a folder of its own that goes away with it."""
    folder = Path(tempfile.mkdtemp(dir=workshop()))
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


class Ran(NamedTuple):
    exit_code: int
    stdout: bytes
    stderr: str


def run(path: Path, *words: str, stdin: bytes = b"") -> Ran:
    """The program's answer; anything but an orderly end is raised."""
    result = CliRunner(env={"GBRAIN_DB": str(path)}).invoke(app, words, input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1, 2, 3), result.exit_code
    assert "Traceback" not in result.stderr
    return Ran(result.exit_code, result.stdout_bytes, result.stderr)


def group(words: tuple[str, ...]) -> tuple[str, ...]:
    """The second word of a command that has two."""
    return words[1:2] if words[0] == "config" else ()


def run_for_document(path: Path, *words: str, document: str, stdin: bytes = b"") -> Any:
    """The document that a command prints, or None after an error that is one as well."""
    ran = run(path, words[0], *group(words), "--json", *words[1 + len(group(words)) :], stdin=stdin)
    if ran.exit_code not in (0, 3) and not ran.stdout:
        validator("error").validate(json.loads(ran.stderr))
        return None
    printed = json.loads(ran.stdout)
    validator(document).validate(printed)
    return printed


# --- pages -------------------------------------------------------------------------------------


def page_comes_back(data: bytes, asked: str) -> None:
    """What is put is what is got, every passage is where it says, and asking never fails."""
    with brain_like(empty()) as brain:
        try:
            written = brain.put("page", data)
        except GbrainError:
            return
        assert written.outcome == "created"
        assert brain.text("page").encode() == data
        assert brain.put("page", data).outcome == "unchanged"
        check_passages("page.md", data)
        for text in (asked, data.decode()[:200]):
            document = answer_document(brain.query(text, mode="bm25", depth="auto", budget=200))
            validator("answer").validate(json.loads(json.dumps(document)))
            check_citations(brain, document)
        with brain.database.read_transaction() as connection:
            for _, html in render_site(connection):
                html.encode()


def check_passages(path: str, data: bytes) -> None:
    """The parts of a page make the page; passages are pieces of it, in order, and cover it."""
    page = parse_page(path, data)
    assert (page.front_matter + page.compiled_truth + page.timeline).encode() == data
    lines = data.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for chunk in page.chunks:
        piece = data[chunk.byte_start : chunk.byte_stop].decode()
        assert chunk.text in piece
        within = "\n".join(lines[chunk.first_line - 1 : chunk.last_line])
        assert chunk.text.replace("\r\n", "\n").replace("\r", "\n") in within


def check_citations(brain: Brain, document: dict[str, Any]) -> None:
    """What an answer cites is verified as unchanged."""
    cited = document["context"]
    if not cited:
        return
    ran = run_for_document(
        brain.database.path, "verify", "-", document="verified", stdin=json.dumps(cited).encode()
    )
    assert ran is not None
    for found in ran["citations"]:
        assert found["status"] == "unchanged", found


def vault_goes_round(files: list[tuple[str, str]], rules: list[str], asked: str) -> None:
    """What is imported is exported byte for byte; imported again, it gives the same answers."""
    with brain_like(empty()) as brain, brain_like(empty()) as other:
        vault, out = folder_of(brain) / "vault", folder_of(brain) / "out"
        vault.mkdir()
        for name, text in files:
            write(vault, f"{name}.md", text.encode())
        write(vault, ".gbrainignore", "\n".join(rules).encode())
        try:
            paths, _ = find_page_files(vault, [])
        except GbrainError:
            return
        report = brain.import_folder(vault)
        taken = {change.path for change in report.changes}
        assert taken <= set(paths)
        assert len(taken) + len(report.problems) == len(paths)
        assert brain.import_folder(vault).changes == []
        brain.export(out)
        exported = {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()}
        assert exported == taken
        for path in taken:
            assert (out / path).read_bytes() == (vault / path).read_bytes()
        assert {change.slug for change in other.import_folder(out).changes} == {
            slug_from_path(p) for p in taken
        }
        assert results(brain, asked) == results(other, asked)


def write(folder: Path, name: str, data: bytes) -> None:
    """Writes a file unless the system would not have such a name."""
    path = folder / os.path.normpath(f"/{name}").lstrip("/")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except (OSError, ValueError):
        return


def results(brain: Brain, asked: str) -> list[tuple[str, str, float]]:
    return [(hit.slug, hit.snippet, round(hit.score, 9)) for hit in brain.search(asked).hits]


def entry_is_read_back(text: str, date: str, words: str, source: str | None) -> None:
    """An entry that is added is on the timeline; added again, it changes nothing."""
    if "\0" in f"{words}{source}":
        return
    try:
        parse_page("a.md", text.encode())
        grown = add_entry(text, date, words, source)
    except GbrainError:
        return
    page = parse_page("a.md", grown.encode())
    assert add_entry(grown, date, words, source) == grown
    said = " ".join(words.split())
    entries = [
        " ".join(parse_entry(c.text).words.split()) for c in page.chunks if c.kind == "timeline"
    ]
    assert any(said.startswith(entry) or entry in said for entry in entries)


# --- questions ---------------------------------------------------------------------------------


def answer_is_as_described(asked: str, given: dict[str, Any], command: str) -> None:
    """Any text with any options gives an answer of the schema, or an error of its own."""
    if asked == "-":
        return
    words = [command, *flags(given), "--", asked]
    run_for_document(sample(), *words, document="explanation" if command == "explain" else "answer")


def flags(given: dict[str, Any]) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]


def listing_is_as_described(given: dict[str, Any], command: str) -> None:
    document = "pages" if command == "list" else "timeline"
    run_for_document(sample(), command, *flags(given), document=document)


def each_line_has_its_answer(lines: list[str], command: str) -> None:
    """`query -` and `search -` print one line for each that is not blank, whatever it says."""
    stdin = "\n".join(line.replace("\n", " ").replace("\r", " ") for line in lines)
    data = stdin.encode("utf-8", "surrogatepass")
    asked = [line for line in data.decode("utf-8", "surrogateescape").split("\n") if line.strip()]
    ran = run(sample(), command, "-", stdin=data)
    printed = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(printed) == len(asked)
    for document in printed:
        validator("unanswered" if "error" in document else "answer").validate(document)


def records_go_in_and_come_out(lines: list[str]) -> None:
    """`import --stdin` takes each line or says why not; its export is taken without a change."""
    with brain_like(empty()) as brain:
        path = brain.database.path
        stdin = "\n".join(lines).encode("utf-8", "surrogatepass")
        run_for_document(path, "import", "--stdin", document="taken_in", stdin=stdin)
        exported = run(path, "export", "-", "--format", "json").stdout
        again = run_for_document(path, "import", "--stdin", document="taken_in", stdin=exported)
        assert again is not None
        assert (again["changes"], again["problems"]) == ([], [])


def citations_are_judged(text: str) -> None:
    run_for_document(
        sample(), "verify", "-", document="verified", stdin=text.encode("utf-8", "surrogatepass")
    )


# --- the rest ----------------------------------------------------------------------------------


def setting_is_kept_or_refused(pair: tuple[str, str]) -> None:
    """A value that is taken reads the same when it is written again."""
    name, value = pair
    with brain_like(empty()) as brain:
        path = brain.database.path
        kept = run_for_document(path, "config", "set", "--", name, value, document="setting")
        if kept is None:
            return
        shown = run_for_document(path, "config", "get", "--", name, document="setting")
        assert shown["value"] == kept["value"]
        run_for_document(path, "search", "river", document="answer")


def name_is_a_slug_or_refused(name: str, other: str) -> None:
    """Commands about pages take any name, and say so if it is none."""
    with brain_like(empty()) as brain:
        path = brain.database.path
        put = run_for_document(path, "put", "--", name, document="written", stdin=b"# X\n\nriver\n")
        for command, document in (("get", "page"), ("links", "links"), ("history", "history")):
            found = run_for_document(path, command, "--", name, document=document)
            assert (found is None) == (put is None)
        run_for_document(path, "rename", "--", name, other, document="renamed")
        run_for_document(path, "graph", "--", other, document="graph")
        run_for_document(path, "why", "--", other, document="origin")
        run_for_document(path, "delete", "--", other, document="deleted")


def set_is_measured_or_refused(corpus: list[str], queries: list[str], judged: list[str]) -> None:
    folder = Path(tempfile.mkdtemp(dir=workshop()))
    try:
        rows = {"corpus.jsonl": corpus, "queries.jsonl": queries, "qrels.tsv": judged}
        for file, lines in rows.items():
            (folder / file).write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
        words = ["eval", str(folder), "--modes", "bm25", "--cache", str(folder / "cache")]
        run_for_document(folder / "brain.db", *words, document="evaluation")
    finally:
        shutil.rmtree(folder)


@cache
def speaker() -> Speaker:
    path = workshop() / "served.db"
    shutil.copy(sample(), path)
    return Speaker(path)


def every_request_is_answered(calls: list[tuple[str, Any]], noise: list[str]) -> None:
    """The server answers each request, whatever else it is sent, and goes on."""
    speaker().speak(calls, noise)


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
        taken = tool.input_schema["properties"]
        given = {
            key: st.one_of(known.get(key, inputs.json_value), inputs.json_value) for key in taken
        }
        calls.append(
            st.tuples(
                st.just(tool.name), st.fixed_dictionaries({}, optional={**given, "x": inputs.text})
            )
        )
    return st.one_of(*calls, st.tuples(inputs.text, inputs.json_value))


_given = st.fixed_dictionaries({}, optional=inputs.query_options)
_filters = st.fixed_dictionaries({}, optional=inputs.options)
_document_line = st.one_of(
    st.fixed_dictionaries(
        {"_id": inputs.name},
        optional={"title": inputs.text, "text": inputs.page, "metadata": inputs.json_value},
    ).map(json.dumps),
    inputs.json_value.map(json.dumps),
    inputs.broken_json,
)
_judged_line = st.one_of(
    st.tuples(inputs.name, inputs.name, st.integers(-1, 2).map(str)).map("\t".join), inputs.wild
)
_cited = st.tuples(
    inputs.name,
    st.integers(0, 30),
    st.integers(0, 10**9),
    st.sampled_from(["ab12cd34", "0" * 32, "x"]),
).map(lambda c: f"[{c[0]}#L{c[1]}-{c[2]} {c[3]}]")
_piece = st.fixed_dictionaries(
    {"slug": inputs.name, "lines": st.lists(st.integers(-1, 10**6), max_size=3),
     "hash": st.sampled_from(["ab12cd34", "0" * 32])},
    optional={"text": inputs.text},
).map(json.dumps)  # fmt: skip

LAWS = {
    "page": Law(page_comes_back, (inputs.page_bytes, inputs.question)),
    "vault": Law(
        vault_goes_round,
        (
            st.lists(st.tuples(inputs.name, inputs.page), max_size=5),
            inputs.ignore_lines,
            inputs.question,
        ),
    ),
    "entry": Law(
        entry_is_read_back, (inputs.page, inputs.date, inputs.text, st.none() | inputs.text)
    ),
    "search": Law(answer_is_as_described, (inputs.question, _filters, st.just("search"))),
    "query": Law(answer_is_as_described, (inputs.question, _given, st.just("query"))),
    "explain": Law(answer_is_as_described, (inputs.question, _filters, st.just("explain"))),
    "list": Law(listing_is_as_described, (_filters, st.sampled_from(["list", "timeline"]))),
    "lines": Law(
        each_line_has_its_answer,
        (
            st.lists(inputs.asked_line(inputs.query_options), max_size=5),
            st.sampled_from(["query", "search"]),
        ),
    ),
    "records": Law(records_go_in_and_come_out, (st.lists(inputs.record_line, max_size=5),)),
    "citations": Law(
        citations_are_judged,
        (
            st.one_of(
                inputs.wild,
                inputs.broken_json,
                st.lists(st.one_of(_cited, _piece, inputs.text)).map("\n".join),
            ),
        ),
    ),
    "setting": Law(setting_is_kept_or_refused, (inputs.setting,)),
    "name": Law(name_is_a_slug_or_refused, (inputs.name, inputs.name)),
    "set": Law(
        set_is_measured_or_refused,
        (
            st.lists(_document_line, max_size=4),
            st.lists(_document_line, max_size=3),
            st.lists(_judged_line, max_size=4),
        ),
    ),
    "message": Law(
        every_request_is_answered,
        (
            st.lists(tool_call(), max_size=6),
            st.lists(inputs.wild | inputs.broken_json, max_size=2),
        ),
    ),
}
