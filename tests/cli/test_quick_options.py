"""`search` and `query` read their options without Typer, and exactly as Typer does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbrain.cli import search
from gbrain.cli.app import program
from gbrain.cli.main import run_command
from gbrain.cli.quick_options import QuickQuery, read_query
from gbrain.locations import is_url

# Typer alone reads these.
LEFT_TO_TYPER = {"--help", "-h", "--as-of", "--no-replica"}

READ = [
    ["search", "river"],
    ["search", "river", "ai", "--json"],
    ["search", ""],
    ["search", "--limit", "3", "river", "-q", "ai"],
    ["search", "river", "-n", "0005", "--limit=1000"],
    ["search", "river", "--tag", "a", "--tag=b", "--exclude", "x", "--where", "a=b=c"],
    ["search", "river", "--since", "last month", "--until", "2026", "--all"],
    ["search", "river", "--db", "some file.db", "--include-superseded"],
    ["query", "river", "--depth", "auto", "--budget", "300", "--rerank", "--no-decay"],
    ["query", "river", "--mode", "hybrid", "--merge", "rrf", "--profile", "sift"],
    ["query", "river", "--boost", "tag:x=2", "--tsv", "--exit-code", "-v", "--debug"],
    ["query", "ünï", "--wing=people", "--no-pager", "--quiet", "--quiet"],
    ["query", "a=b", "--slug-prefix==x"],
]
LEFT = [
    [],
    ["list", "river"],
    ["--db", "x.db", "search", "river"],
    ["search"],
    ["search", "--json"],
    ["search", "-"],
    ["search", "--", "river"],
    ["search", "river", "--help"],
    ["search", "river", "--depth", "auto"],
    ["search", "river", "--mode", "bm25"],
    ["search", "river", "--limit", "0"],
    ["search", "river", "--limit", "1001"],
    ["search", "river", "--limit", "9" * 5000],
    ["search", "river", "--limit", "²"],
    ["search", "river", "--limit", "+5"],
    ["search", "river", "--limit"],
    ["search", "river", "--limit="],
    ["search", "river", "-n5"],
    ["search", "river", "-n=5"],
    ["search", "river", "-qv"],
    ["search", "river", "--json=yes"],
    ["search", "river", "--wing", "--json"],
    ["search", "river", "--as-of", "2026"],
    ["search", "river", "--no-replica"],
    ["search", "river", "--wings", "people"],
    ["query", "river", "--mode", "Hybrid"],
    ["query", "river", "--depth", "all"],
]


def read_by_typer(words: list[str]) -> QuickQuery | None:
    """Return the query that Typer makes of the words; None if it refuses them."""
    found: list[QuickQuery] = []

    def record(command: Any, text: Any, given: Any, options: Any, **others: Any) -> int:
        assert (others["as_of"], others["no_replica"]) == (None, False)
        found.append(QuickQuery(command, text, given, options, others["db"]))
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "run_query", record)
        with pytest.raises(SystemExit):
            program().main(words)
    return found[0] if found else None


@pytest.mark.parametrize("words", READ, ids=" ".join)
def test_usual_words_are_read_as_typer_reads_them(words: list[str]) -> None:
    found = read_query(words)
    assert found is not None
    assert found == read_by_typer(words)


@pytest.mark.parametrize("words", LEFT, ids=lambda words: " ".join(words)[:40] or "nothing")
def test_unusual_words_are_left_to_typer(words: list[str]) -> None:
    assert read_query(words) is None


WORDS = st.sampled_from(
    sorted({word for words in (*READ, *LEFT) for word in words if len(word) < 100})
)


@given(st.sampled_from(["search", "query"]), st.lists(WORDS, max_size=6))
@settings(max_examples=300)
def test_any_words_are_read_as_typer_reads_them(command: str, words: list[str]) -> None:
    found = read_query([command, *words])
    if found is not None:
        assert found == read_by_typer([command, *words])


@pytest.mark.parametrize("name", ["search", "query"])
def test_every_option_of_typer_is_read(name: str) -> None:
    command = program().get_command(None, name)
    flags = [flag for one in command.params for flag in one.opts if flag.startswith("-")]
    assert {"--json", "--wing", "-n"} < set(flags)
    for parameter in command.params:
        for flag in parameter.opts:
            if not flag.startswith("-") or flag in LEFT_TO_TYPER:
                continue
            choices = getattr(parameter.type, "choices", None)
            number = getattr(parameter.type, "max", None)
            value = choices[0] if choices else str(number or "x")
            words = [name, "river", flag, *([] if parameter.is_flag else [value])]
            assert read_query(words) == read_by_typer(words) is not None, flag


@pytest.mark.parametrize(
    "words",
    [
        ["search", "alice", "--db", "missing.db"],
        ["search", "alice", "--db", "missing.db", "--json"],
        ["search", "alice", "--tsv", "--json"],
        ["query", "alice", "--since", "someday"],
        ["query", "alice", "--profile", "nobody", "--json"],
        ["search", "zeppelins", "--exit-code"],
        ["search", "alice"],
    ],
    ids=" ".join,
)
def test_messages_and_exit_codes_are_those_of_typer(
    words: list[str],
    sample: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("GBRAIN_DB", str(sample))
    assert read_query(words) is not None
    quick = run_command(words), *capfd.readouterr()
    with pytest.raises(SystemExit) as end:
        program().main(words)
    assert quick == (end.value.code, *capfd.readouterr())


def test_a_brain_that_is_named_by_a_url_is_recognised() -> None:
    for url in ("PostgreSQL://host/notes", "postgres://host", "mysql://host/db", "file:/a"):
        assert is_url(url)
    for path in ("postgresql.db", "a/b:/c", "/a:/b", "./a:/b", "C:/notes/brain.db", "a:b", ""):
        assert not is_url(path)
