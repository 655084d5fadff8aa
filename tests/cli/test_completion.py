"""Completion: what is offered where, and what real shells make of it."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.cli.completer import Cursor, completions, escape, split_command_line
from gbrain.cli.integrations import SCRIPTS
from gbrain.config import all_settings
from gbrain.profiles import PROFILES
from gbrain.store import completion_values

BREAKS = " \t\n\"'><=;|&(:"

# Tags that a careless script would run, split or lose.
AWKWARD = [
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "& touch pwned",
    "two words",
    "it's",
    'say "hi"',
    "back\\slash",
    "a=b:c@d",
    "*?[x]{y}",
    "~root",
    "métier 日本",
    "-dash",
    "#hash",
    "100%n",
]


def values(*words: str) -> list[str]:
    return [candidate.value for candidate in completions(words)]


def test_names_behind_a_link_are_read_with_their_log(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "folder" / "brain.db")
    with Brain.open(link, make=True) as brain:
        brain.put("only-in-the-log", b"# Page\n")
        assert values("get", "--db", str(link), "only") == ["only-in-the-log"]


def test_a_brain_written_meanwhile_gives_no_names(brain_path: Path) -> None:
    with Brain.open(brain_path, make=True) as brain:
        brain.put("before", b"# Page\n")
    with ExitStack() as reading:
        reading.enter_context(completion_values._open_for_reading(str(brain_path)))
        with Brain.open(brain_path) as brain:
            brain.put("after", b"# Page\n" + b"word " * 20_000)
        with pytest.raises(sqlite3.OperationalError, match="in the meantime"):
            reading.close()


# --- what is offered ---------------------------------------------------------------------------


def test_commands_and_their_commands() -> None:
    assert {"search", "query", "config"} <= set(values(""))
    assert values("sear") == ["search"]
    assert values("config", "") == ["list", "get", "set", "reset"]
    assert dict(completions(["sear"])) == {"search": "Find pages by keyword."}


def test_options() -> None:
    assert values("search", "--wi") == ["--wing"]
    assert "-n" in values("search", "-n")
    assert {"--wing", "--json", "--help"} <= set(values("search", "-"))
    assert values("search", "--", "--wi") == []


def test_names_that_are_in_the_brain(sample: Path) -> None:
    assert values("get", "people/a") == ["people/alice-chen"]
    assert values("search", "x", "--wing", "pe") == ["people"]
    assert values("search", "x", "--wing=pe") == ["--wing=people"]
    assert values("list", "--room", "how") == ["how-to"]
    assert values("list", "--type", "pers") == ["person"]
    assert values("list", "--tag", "eng") == ["engineering"]
    assert values("query", "x", "--exclude", "index") == ["index"]
    assert values("list", "--slug-prefix", "pe") == ["people/"]
    assert dict(completions(["list", "--wing", "pe"])) == {"people": "5 pages"}


def test_a_page_is_found_by_the_end_of_its_slug(sample: Path) -> None:
    assert values("get", "alice") == ["people/alice-chen"]
    assert values("get", "2026-0") == [], "more than one: the shell would replace what is typed"


def test_settings_profiles_models_aliases_documents_and_hits(run, sample: Path) -> None:
    assert values("config", "get", "") == list(all_settings())
    assert values("config", "set", "rerank", "") == list(all_settings()["rerank"].choices)
    assert values("config", "set", "short_circuit", "") == ["on", "off"]
    assert values("config", "set", "rrf_k", "") == []
    assert values("config", "set", "no_such_setting", "") == []
    assert values("query", "x", "--profile", "") == [profile.name for profile in PROFILES]
    assert values("query", "x", "--merge", "set") == ["set-union", "set-union-rank"]
    run("alias", "add", "k8s", "kubernetes")
    assert values("alias", "remove", "") == ["k8s"]
    run("model", "list")
    assert values("model", "use", "bge") == ["bge-small-en-v1.5"]
    assert "answer" in values("schema", "")
    with Brain.open(sample) as brain, brain.database.write_transaction() as connection:
        connection.execute("INSERT INTO last_answer VALUES (1, 'index', NULL)")
    assert list(completions(["open", ""])) == [("1", "index")]


def test_files_and_folders_are_left_to_the_shell() -> None:
    assert list(completions(["import", "/t"])) == [("", "files")]
    assert list(completions(["sync", "/t"])) == [("", "folders")]
    assert list(completions(["put", "slug", ""])) == [("", "files")]
    assert list(completions(["get", "--db", ""])) == [("", "files")]
    assert list(completions(["get", "--db=x"])) == [("", "files")]


def test_nothing_is_offered_beyond_what_a_command_takes(sample: Path) -> None:
    assert values("get", "index", "") == []
    assert values("search", "") == []
    assert values("no-such-command", "--wi") == []


def test_the_brain_may_be_named_on_the_line(sample: Path, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GBRAIN_DB")
    other = tmp_path / "a?b#c%41 d.db"
    shutil.copy(sample, other)
    assert values("get", "--db", str(other), "people/a") == ["people/alice-chen"]
    assert values("get", f"--db={other}", "people/a") == ["people/alice-chen"]


def test_of_many_pages_the_folders_are_offered(brain: Brain, monkeypatch) -> None:
    monkeypatch.setattr(completion_values, "MAX_VALUES", 3)
    for slug in ("a/b/one", "a/b/two", "a/c", "top"):
        brain.put(slug, b"text")
    assert values("get", "") == ["a/", "top"]
    assert values("get", "a/") == ["a/b/one", "a/b/two", "a/c"]


def test_completing_leaves_nothing_behind_and_waits_for_nobody(sample: Path) -> None:
    before = sorted(sample.parent.iterdir())
    assert values("get", "people/a")
    assert sorted(sample.parent.iterdir()) == before
    with Brain.open(sample) as brain, brain.database.write_transaction() as connection:
        connection.execute("INSERT INTO tags SELECT 'brand-new', id FROM pages LIMIT 1")
        assert values("list", "--tag", "brand") == [], "not written yet"


# --- bash ---------------------------------------------------------------------------------------


def test_a_line_as_bash_reads_it() -> None:
    assert split_command_line("gbrain get ", BREAKS) == (["get", ""], Cursor("", ""))
    assert split_command_line("gbrain get a\\ b", BREAKS) == (["get", "a b"], Cursor("", ""))
    assert split_command_line("gbrain get 'a b", BREAKS) == (["get", "a b"], Cursor("", "'"))
    assert split_command_line('gbrain get x"a b', BREAKS) == (["get", "xa b"], Cursor("x", '"'))
    assert split_command_line("gbrain list --wing=pe", BREAKS) == (
        ["list", "--wing=pe"],
        Cursor("--wing=", ""),
    )
    assert split_command_line("gbrain", BREAKS)[0] == [""]


@given(st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20), st.sampled_from("'\" "))
def test_what_is_typed_is_read_back_as_it_was(value: str, quote: str) -> None:
    quote = quote.strip()
    written = escape(value, Cursor("", quote))
    if written is None:
        assert quote == '"'
        assert "!" in value
    else:
        closed = "" if quote and written.endswith(quote) else quote
        words, _ = split_command_line(f"gbrain x{quote}{written}{closed}", "")
        assert words == [f"x{value}"]


@given(st.text(max_size=40), st.text(max_size=5))
def test_any_line_can_be_read(line: str, breaks: str) -> None:
    words, cursor = split_command_line(f"gbrain {line}", breaks)
    assert escape(words[-1], cursor) is not None or "!" in words[-1]


# --- real shells --------------------------------------------------------------------------------

START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
# Shows each word of a line in brackets.
SHOW = {
    "bash": "show() { printf '[%s]' \"$@\"; echo .; }",
    "zsh": "show() { printf '[%s]' \"$@\"; echo .; }",
    "fish": "function show; printf '[%s]' $argv; echo .; end",
}
READY = {
    "bash": "bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; set +H",
    "zsh": "autoload -Uz compinit; compinit -u -D; bindkey -e; unsetopt prompt_sp"
    "; unset zle_bracketed_paste; zstyle ':completion:*' insert-tab false",
    "fish": "function fish_prompt; end; set -U fish_greeting; bind \\ca beginning-of-line",
}
shells = pytest.mark.parametrize(
    "shell",
    [
        pytest.param(name, marks=pytest.mark.skipif(not shutil.which(name), reason=f"no {name}"))
        for name in START
    ],
)


class Terminal:
    """A shell on a terminal of its own, with completion on."""

    def __init__(self, shell: str, folder: Path, environment: dict[str, str]) -> None:
        self.process, self.screen = pty.fork()
        if not self.process:
            os.chdir(folder)
            os.execvpe(START[shell][0], START[shell], environment)
        os.set_blocking(self.screen, False)
        source = f"source {SCRIPTS}/gbrain.{shell}"
        self.send(f"{SHOW[shell]}\n{READY[shell]}\n{source}\nshow ready\n")
        self.wait_for(r"\[ready\]\.")

    def send(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def wait_for(self, pattern: str) -> re.Match[str]:
        """What the screen shows next; bytes that move the cursor or colour text are dropped."""
        text, until = "", time.monotonic() + 30
        while time.monotonic() < until:
            if select.select([self.screen], [], [], 0.5)[0]:
                text += os.read(self.screen, 65536).decode(errors="replace")
                plain = re.sub(
                    r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07]*(\x07|\x1b\\)|[()].|.)", "", text
                )
                if found := re.search(pattern, plain):
                    return found
        raise AssertionError(f"{pattern} is not in {text!r}")

    def completed(self, typed: str) -> list[str]:
        """The words of the line after Tab, as the shell itself would pass them on."""
        self.send(f"{typed}\t\x01show \n")
        shown = self.wait_for(r"(?:\[[^\r\n]*\])\.\r?\n")[0]
        return re.findall(r"\[(.*?)\](?=\[|\.\r?\n)", shown)

    def close(self) -> None:
        os.close(self.screen)
        os.waitpid(self.process, 0)


@pytest.fixture
def environment(tmp_path: Path, sample: Path) -> dict[str, str]:
    """A program called gbrain, and a brain with awkward tags."""
    with Brain.open(sample) as brain, brain.database.write_transaction() as connection:
        connection.executemany(
            "INSERT INTO tags SELECT ?, id FROM pages LIMIT 1",
            [(f"zz{number:02}{tag}",) for number, tag in enumerate(AWKWARD)],
        )
    program = tmp_path / "bin" / "gbrain"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gbrain "$@"\n')
    program.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    return {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "GBRAIN_DB": str(sample),
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
        "PS1": "",
    }


@pytest.fixture
def terminal(environment, tmp_path: Path) -> Iterator[Callable[[str], Terminal]]:
    opened: list[Terminal] = []

    def start(shell: str) -> Terminal:
        opened.append(Terminal(shell, tmp_path, environment))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@shells
def test_a_real_shell_completes_words(terminal, tmp_path: Path, shell: str) -> None:
    screen = terminal(shell)
    assert screen.completed("gbrain sear") == ["gbrain", "search"]
    assert screen.completed("gbrain get people/ali") == ["gbrain", "get", "people/alice-chen"]
    assert screen.completed("gbrain get alice") == ["gbrain", "get", "people/alice-chen"]
    assert screen.completed("gbrain list --wing peo") == ["gbrain", "list", "--wing", "people"]
    assert screen.completed("gbrain list --wing=peo") == ["gbrain", "list", "--wing=people"]
    assert screen.completed("gbrain config set short_c") == [
        "gbrain", "config", "set", "short_circuit",
    ]  # fmt: skip
    (tmp_path / "a folder").mkdir()
    assert screen.completed("gbrain import a\\ f")[-1].rstrip("/") == "a folder"


@shells
def test_no_name_runs_or_splits(terminal, tmp_path: Path, shell: str) -> None:
    screen = terminal(shell)
    for number, tag in enumerate(AWKWARD):
        words = screen.completed(f"gbrain list --tag zz{number:02}")
        assert words == ["gbrain", "list", "--tag", f"zz{number:02}{tag}"]
    assert not (tmp_path / "pwned").exists()


@shells
def test_an_open_quote_stays_a_quote(terminal, tmp_path: Path, shell: str) -> None:
    screen = terminal(shell)
    for number, tag in enumerate(AWKWARD):
        for quote in "'\"":
            words = screen.completed(f"gbrain list --tag {quote}zz{number:02}")
            assert words == ["gbrain", "list", "--tag", f"zz{number:02}{tag}"]
    assert not (tmp_path / "pwned").exists()


@shells
def test_a_missing_or_broken_brain_says_nothing(environment, tmp_path: Path, shell: str) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"SQLite format 3\0" + b"x" * 4000)
    for place in (broken, tmp_path / "nowhere.db", tmp_path):
        words = ["gbrain get people/a", BREAKS] if shell == "bash" else ["get", "people/a"]
        asked = subprocess.run(
            ["gbrain", *words],
            env={**environment, "_GBRAIN_COMPLETE": shell, "GBRAIN_DB": str(place)},
            capture_output=True,
            check=True,
        )
        assert (asked.stdout, asked.stderr) == (b"", b"")


def test_the_tab_key_loads_no_command(environment) -> None:
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "gbrain", "get", "peop"],
        env={**environment, "_GBRAIN_COMPLETE": "zsh"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "people/alice-chen\tAlice Chen\n" in loaded.stdout
    names = set(re.findall(r"\| +(\S+)$", loaded.stderr, re.M))
    assert "gbrain.store.completion_values" in names
    assert names.isdisjoint({"typer", "rich", "pathlib", "gbrain.brain", "gbrain.cli.app", "numpy"})


@shells
def test_the_script_is_what_the_command_prints(run, monkeypatch, shell: str) -> None:
    assert run("completion", shell).stdout == (SCRIPTS / f"gbrain.{shell}").read_text()
    monkeypatch.setenv("SHELL", f"/usr/local/bin/{shell}")
    assert run("completion").stdout == (SCRIPTS / f"gbrain.{shell}").read_text()
