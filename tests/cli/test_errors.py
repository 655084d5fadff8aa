"""One place turns errors into a message, a hint and an exit code."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.cli.app import COMMANDS


def shell(*words: str, **surroundings: str) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "gbrain", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **surroundings},
    )


def test_an_error_as_it_was_looked_at(run, sample, golden):
    golden("error.txt", run("get", "people/alice-chan").stderr)
    golden("error.json", run("get", "people/alice-chan", "--json").stderr)


def test_an_error_says_nothing_on_standard_output(run, sample):
    for words in (("get", "none"), ("get", "none", "--json"), ("list", "--limit", "x", "--json")):
        assert run(*words).stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        ("nonsense",),
        ("list", "--nonsense"),
        ("get",),
        ("list", "--limit", "many"),
        ("get", "a", "b"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_one_document(run, brain_path, words):
    refused = run(words[0], "--json", *words[1:])
    assert refused.exit_code == 2
    assert refused.error["code"] == "usage"
    assert refused.error["message"]
    assert run(*words).exit_code == 2


def test_help_is_data(run):
    for words in (("--help",), ("-h",), ("search", "--help")):
        shown = run(*words)
        assert shown.exit_code == 0
        assert "Usage" in shown.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_in_its_help(run, name):
    shown = run(name, "--help").stdout
    assert f"gbrain {name}" in shown.partition("Examples")[2]


def test_a_damaged_brain_is_an_error_and_no_traceback(run, sample):
    sample.write_bytes(sample.read_bytes()[:8192])
    for words in (("list",), ("search", "river"), ("get", "people/alice-chen"), ("put", "x")):
        refused = run(*words, "--json", stdin=b"x")
        assert (refused.exit_code, refused.error["code"]) == (1, "damaged")


def test_an_unknown_setting_of_a_newer_program_is_ignored(run, sample):
    import sqlite3

    connection = sqlite3.connect(sample)
    connection.execute("INSERT INTO config VALUES ('from_the_future', 'x')")
    connection.commit()
    connection.close()
    assert run("list").exit_code == 0


def test_the_program_itself(sample):
    found = shell("search", "river", "--json")
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(found.stdout)["results"]
    missing = shell("get", "none", GBRAIN_DB=str(sample))
    assert missing.returncode == 1
    assert missing.stderr.startswith("Error: There is no page none\n")


def test_a_reader_that_leaves_early_is_no_error(sample):
    ran = subprocess.run(
        f'"{sys.executable}" -m gbrain list | head -n 1',
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert ran.stdout.count("\n") == 1
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("words", [["--help"], ["query", "--help"], ["config", "--help"]])
def test_help_for_a_reader_that_has_left_is_no_error(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    program = [sys.executable, "-m", "gbrain", *words]
    ran = subprocess.run(program, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_no_colour_and_no_frames_in_a_pipe(sample):
    for words in (("search", "river"), ("list",), ("get", "people/alice-chen")):
        assert "\x1b" not in shell(*words).stdout


# --- options before the command ---------------------------------------------------------------


def test_the_brain_may_be_named_before_the_command(run, brain_path, tmp_path):
    elsewhere = tmp_path / "elsewhere.db"
    assert run("--db", elsewhere, "put", "a", stdin=b"# There").exit_code == 0
    assert run("--db", elsewhere, "get", "a").stdout == "# There"
    assert not brain_path.exists()


def test_the_nearer_of_two_names_counts(run, brain_path, tmp_path):
    run("put", "a", "--db", tmp_path / "a.db", stdin=b"# A")
    assert run("--db", tmp_path / "b.db", "get", "a", "--db", tmp_path / "a.db").stdout == "# A"


def test_another_option_before_the_command_is_told_its_place(run, brain_path):
    refused = run("--json", "list")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.error["hint"].startswith("Put options after the command: gbrain COMMAND --json.")


def test_wrong_usage_is_told_as_every_error_is(run, brain_path):
    assert run("config", "set", "default_limit").stderr == (
        "Error: gbrain config set needs VALUE\n"
        "Hint: For example: gbrain config set default_limit 20\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("query", "x", "--limit", "0"), "--limit takes a number from 1 to 1000, not 0"),
        (("query", "x", "--limit", "ten"), "--limit takes a number from 1 to 1000, not 'ten'"),
        (("diff", "a", "--from", "0"), "--from takes a number of 1 or more, not 0"),
        (
            ("query", "x", "--mode", "best"),
            "--mode takes bm25, semantic, hybrid or auto, not 'best'",
        ),
        (("query", "x", "--limit"), "--limit needs a value"),
        (("get", "a", "b"), "gbrain get does not take this argument: b"),
        (("search", "x", "--zzzz"), "gbrain search has no option --zzzz"),
    ],
)
def test_wrong_usage_is_explained_in_plain_words(run, brain_path, words, said):
    refused = run(words[0], "--json", *words[1:])
    assert (refused.exit_code, refused.error["message"]) == (2, said)
    assert refused.error["hint"] == f"gbrain {words[0]} -h shows the options and examples."


def test_a_misspelt_option_suggests_the_right_one(run, brain_path):
    refused = run("search", "x", "--limt", "3")
    assert refused.stderr == (
        "Error: gbrain search has no option --limt\nHint: Did you mean --limit?\n"
    )


@pytest.mark.parametrize("text", ["- [ ] call Ivy", "-5 degrees"])
def test_text_that_starts_with_a_dash_is_told_from_an_option(run, brain_path, text):
    refused = run("capture", text, "--json")
    assert refused.error["hint"] == (
        "Put -- before text that starts with a dash: gbrain capture -- '- text'"
    )
    assert run("capture", "--", text).exit_code == 0


# --- closed and foreign streams -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("gbrain put page <&-", 1),
        ("gbrain list >&-", 1),
        ("gbrain list 2>&-", 0),
        ("gbrain list <&- >&- 2>&-", 1),
        ("gbrain delete page --quiet <&- >&- 2>&-", 0),
    ],
)
def test_a_closed_stream_is_no_bug(brain_path: Path, words: str, code: int) -> None:
    with Brain.open(brain_path, make=True) as brain:
        brain.put("page", b"# Page\n")
    line = words.replace("gbrain", f"{shlex.quote(sys.executable)} -m gbrain")
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert ran.returncode == code
    assert "bug" not in ran.stderr
    assert ("Bad file descriptor" in ran.stderr) == (code == 1 and "2>" not in words)
    with Brain.open(brain_path) as brain:
        assert (brain.find("page") is None) == ("delete" in words)


def test_json_is_valid_in_every_locale(brain_path: Path) -> None:
    title = "\u00dcn\u00efcode \u2014 \U0001f9e0"
    with Brain.open(brain_path, make=True) as brain:
        brain.put("page", f"# {title}\n".encode())
    ran = shell("list", "--json", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert [page["title"] for page in json.loads(ran.stdout)["pages"]] == [title]
    assert ran.stdout.isascii()


def test_a_failed_command_before_a_pipe_empties_no_page(run, brain_path) -> None:
    assert run("put", "page", stdin=b"# Page\n").exit_code == 0
    for file in ([], ["-"]):
        refused = run("put", "page", *file, "--json", stdin=b"")
        assert (refused.exit_code, refused.error["code"]) == (1, "empty_input")
    assert run("get", "page").stdout == "# Page\n"
    assert run("put", "page", os.devnull).exit_code == 0
    assert run("get", "page").stdout == ""
    # An empty page can be written again, and a new one can be empty.
    assert run("put", "page", stdin=b"").exit_code == 0
    assert run("put", "new", stdin=b"").exit_code == 0
