"""`search` in a pipe, as JSON, and line by line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


def documents(stdout: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in stdout.splitlines()]


def test_answers_as_they_were_looked_at(run, sample, golden):
    golden("search.txt", run("search", "backup sqlite", "--limit", "3").stdout)
    golden("search.json", run("search", "backup sqlite", "--limit", "2", "--json").stdout)
    golden("search-name.json", run("search", "alice chen", "--json").stdout)
    golden("search-nothing.json", run("search", "zzzz", "--json").stdout)


@pytest.mark.parametrize("command", ["search", "query"])
def test_tsv_prints_one_line_of_six_fields_per_hit(run, sample, command):
    ran = run(command, "cloud retr*", "--tsv", *(("--mode", "bm25") if command == "query" else ()))
    lines = [line.split("\t") for line in ran.stdout.splitlines()]
    assert len(lines) == 2
    assert {len(fields) for fields in lines} == {6}
    assert lines[0][:5] == ["people/noor-haddad", "Noor Haddad", "people/profile", "2026-03", "33"]
    assert "**" not in lines[0][5]
    assert run(command, "cloud", "--tsv", "--json").exit_code == 2


def test_nothing_found(run, sample):
    nothing = run("search", "zzzz")
    assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (0, "", "Nothing found.\n")
    assert run("search", "zzzz", "--exit-code").exit_code == 3
    assert run("search", "zzzz", "--exit-code", "--json").json["results"] == []
    assert run("search", "river", "--exit-code").exit_code == 0


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        (("--wing", "peple"), "There is no wing peple; there are people, "),
        (("--room", "nosuch"), "There is no room nosuch; there are "),
        (("--type", "nosuch"), "There is no type nosuch; there "),
        (("--tag", "nosuch"), "There is no tag nosuch; there are "),
    ],
)
def test_a_filter_that_no_page_can_pass_is_told(run, sample, filters, told):
    nothing = run("search", "river", *filters)
    assert nothing.stderr.startswith(told)
    assert nothing.stderr.endswith("Nothing found.\n")
    assert run("search", "river", *filters, "--json").json["notice"].startswith(told)
    assert run("search", "river", *filters, "--quiet").stderr == ""


def test_a_filter_that_only_finds_nothing_is_not_blamed(run, sample):
    assert run("search", "zzzz", "--wing", "People").stderr == "Nothing found.\n"


def test_words_need_no_quotes(run, sample):
    apart, together = run("search", "river", "ai", "--json"), run("search", "river ai", "--json")
    assert apart.json["query"] == "river ai"
    assert apart.json["results"] == together.json["results"]


def test_every_key_is_there_even_when_it_is_null(run, sample):
    document = run("search", "backup", "--json").json
    assert set(document) == {
        "query",
        "mode",
        "merge",
        "short_circuit",
        "fell_back_to_bm25",
        "notice",
        "read_as",
        "did_you_mean",
        "verdict",
        "superseded",
        "results",
        "took_ms",
    }
    assert set(document["results"][0]) == {
        "rank",
        "slug",
        "title",
        "wing",
        "room",
        "type",
        "date",
        "score",
        "snippet",
        "chunk",
        "lanes",
        "boosts",
        "bm25_rank",
        "vec_rank",
        "cosine",
        "recency",
        "weak",
    }
    assert document["results"][0]["lanes"]["vector"] is None
    assert (document["mode"], document["merge"]) == ("bm25", None)


def test_debug_tells_each_stage(run, sample):
    stages = run("search", "backup sqlite", "--json", "--debug").json["trace"]
    assert [stage["stage"] for stage in stages] == [
        "parse", "short_circuit", "fts", "fuse", "boost", "cut", "text", "verdict",
    ]  # fmt: skip
    printed = run("search", "backup", "--debug").stderr
    assert printed.startswith("parse")
    assert re.search(r"^keyword +[0-9.]+ ms  pages \d+, chunks \d+$", printed, re.MULTILINE)
    assert "None" not in printed


@pytest.mark.parametrize(
    "query",
    [
        "fix the auth-middleware bug",
        "C++",
        '"unclosed',
        "NEAR(",
        "a AND",
        "🚀",
        "知识",
        "x" * 10_000,
        "a\0b",
        "",
        "--",
        "'; DROP TABLE pages; --",
        "\u202e",
        "*",
        '"' * 999,
    ],
    ids=lambda query: query[:12].encode("ascii", "backslashreplace").decode(),
)
def test_any_string_is_a_query(run, sample, query):
    answered = run("search", "--json", "--", query)
    assert answered.exit_code == 0
    assert isinstance(answered.json["results"], list)


def test_filters_narrow(run, sample):
    slugs = [
        hit["slug"] for hit in run("search", "river", "--wing", "PEOPLE", "--json").json["results"]
    ]
    assert slugs
    assert all(slug.startswith("people/") for slug in slugs)
    rest = run("search", "river", "--wing", "people", "--exclude", slugs[0], "--json").json[
        "results"
    ]
    assert [hit["slug"] for hit in rest] == slugs[1:]


def test_a_batch_answers_line_by_line_in_order(run, sample):
    lines = b'river ai\n\n{"query": "backup", "limit": 1, "wing": "resources"}\nzzzz\n'
    answers = documents(run("search", "-", stdin=lines).stdout)
    assert [answer["query"] for answer in answers] == ["river ai", "backup", "zzzz"]
    assert len(answers[1]["results"]) == 1
    assert answers[1]["results"][0]["wing"] == "resources"


@pytest.mark.parametrize(
    "line",
    [
        b'{"query": 7}',
        b'{"limit": 5}',
        b'{"query": "x", "limit": 0}',
        b'{"query": "x", "limit": true}',
        b'{"query": "x", "limit": "5"}',
        b'{"query": "x", "colour": "red"}',
        b'{"query": "x", "tag": [1]}',
        b'{"query": "x", "since": "someday"}',
        b'{"query": "x", "where": ["novalue"]}',
        pytest.param(b'{"query": "x", "mode": "nonsense"}'),
        pytest.param(b'{"query": "x", "merge": "nonsense"}'),
    ],
)
def test_a_batch_continues_after_an_invalid_line(run, sample, line):
    batch = run("search", "-", stdin=line + b"\nriver\n")
    answers = documents(batch.stdout)
    assert batch.exit_code == 0
    assert len(answers) == 2
    assert answers[0]["error"]["message"]
    assert answers[1]["results"]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"query": "\\ud800"}'),
        b'{"query": "a\\u0000b", "where": ["a\\u0000=b"]}',
        pytest.param(b'{"query": ' + b"[" * 100_000),
        b'{"query": "x", "limit": ' + b"9" * 30 + b"}",
        json.dumps({"query": "river ai now", "exclude": [str(n) for n in range(3000)]}).encode(),
        b"{not json",
        b"river " * 20_000,
    ],
    ids=["surrogate", "nul", "deep", "huge limit", "many excluded", "brace", "long"],
)
def test_no_line_can_break_the_batch(run, sample, line):
    batch = run("search", "-", stdin=line + b"\nriver\n")
    answers = documents(batch.stdout)
    assert len(answers) == 2
    assert answers[1]["results"]


def test_a_line_that_is_not_utf8_does_not_break_the_batch(sample: Path):
    ran = subprocess.run(
        [sys.executable, "-m", "gbrain", "search", "-"],
        input=b"caf\xe9\nriver\n",
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONUTF8": "1", "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert ran.returncode == 0, ran.stderr.decode()[-300:]
    answers = documents(ran.stdout.decode())
    assert len(answers) == 2
    assert answers[1]["results"]


def test_a_page_that_was_changed_is_found_as_it_is_now(run, sample):
    run("put", "fresh", stdin=b"# Fresh\n\na quokka\n")
    assert run("search", "a quokka", "--json").json["results"][0]["slug"] == "fresh"
    run("put", "fresh", stdin=b"# Fresh\n\nan zyzzyva\n")
    assert run("search", "quokka", "--json").json["results"] == []
    run("rename", "fresh", "stale")
    assert run("search", "some zyzzyva", "--json").json["results"][0]["slug"] == "stale"
    run("delete", "stale")
    assert run("search", "zyzzyva", "--json").json["results"] == []


def test_a_word_of_a_script_without_spaces_is_an_answer(run, sample):
    run("put", "trips/tokyo", stdin="# 旅\n\n来年は東京に行きます。\n".encode())
    ran = run("search", "東京", "--exit-code")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert ran.stdout.startswith("1. trips/tokyo ")
    assert run("search", "大阪", "--exit-code").exit_code == 3


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("",), "The query is empty."),
        (
            ("river", "--since", "2026-05", "--until", "2026-01"),
            "--since 2026-05-01 is after --until 2026-01-31, so no page can match.",
        ),
        (
            ("river before:yesteryear",),
            "Cannot read the date in before:yesteryear, so it was searched as text.",
        ),
        (
            ("river", "--mode", "semantic"),
            "The brain has no vectors yet: run gbrain embed. These are keyword results.",
        ),
    ],
    ids=["empty", "dates", "field", "semantic"],
)
def test_a_query_that_cannot_be_meant_is_told(run, sample, words, told):
    answer = run("query", *words)
    assert answer.exit_code == 0
    assert told in answer.stderr
    assert told not in run("query", "river before:2026-12").stderr


def test_a_query_that_is_too_long_says_so(sample, run) -> None:
    prefixes = " ".join(f"r{'i' * length}*" for length in range(40))
    ran = run("search", "river", prefixes, "--json")
    assert ran.json["notice"] == "The query is too long: only its beginning was searched."
    assert ran.json["results"]
    assert ran.json["notice"] in run("search", "river", prefixes).stderr
