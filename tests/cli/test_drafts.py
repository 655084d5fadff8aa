"""Text that a command was given and cannot write is kept in a file that its error names."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gbrain.cli import drafts
from gbrain.cli.commands import is_stream
from gbrain.text.page import MAX_PAGE_BYTES

TEXT = "Words that nobody has written down elsewhere.\n"
# Commands with a text on their command line or on standard input, and the page that they name.
WITH_TEXT = [
    (("put", "a"), TEXT),
    (("put", "a", "-"), TEXT),
    (("capture",), TEXT),
    (("capture", "-", "--to", "a"), TEXT),
    (("capture", TEXT), ""),
    (("capture", TEXT, "--to", "a"), ""),
    (("timeline-add", "a", TEXT), ""),
    (("import", "--stdin"), json.dumps({"slug": "b", "text": TEXT})),
]


def kept_file(said: str) -> Path:
    """Return the file that a message names."""
    return Path(re.findall(r"kept in (\S+)\.(?:\s|$)", said)[0])


@pytest.fixture
def locked(run, brain_path):
    """A brain with the page a that another program writes to."""
    run("put", "a", stdin=b"# A\n")
    run("config", "set", "busy_seconds", "0.05")
    with closing(sqlite3.connect(brain_path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@pytest.mark.parametrize(("words", "stdin"), WITH_TEXT)
def test_a_locked_brain_loses_no_text(run, locked, words, stdin):
    refused = run(*words, "--json", stdin=stdin.encode())
    assert refused.exit_code == 1
    kept = kept_file(refused.error["hint"])
    assert kept.read_text().strip() in (TEXT.strip(), stdin)
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize(("words", "stdin"), WITH_TEXT)
def test_a_file_that_is_no_brain_loses_no_text(run, tmp_path, words, stdin):
    (tmp_path / "b.db").write_bytes(b"no brain" * 1000)
    refused = run(*words, "--db", tmp_path / "b.db", stdin=stdin.encode())
    assert refused.exit_code == 1
    assert TEXT.strip() in kept_file(refused.stderr).read_text()


@pytest.mark.parametrize(("words", "stdin"), WITH_TEXT)
def test_a_shared_brain_out_of_reach_loses_no_text(run, brain_path, words, stdin):
    url = "postgresql://127.0.0.1:1/notes"
    refused = run(*words, "--db", url, "--json", stdin=stdin.encode())
    assert refused.exit_code == 1
    assert TEXT.strip() in kept_file(refused.error["hint"]).read_text()


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (("put", "bad"), b"---\nx: [\n---\nwords\n"),
        (("put", "latin"), b"Z\xfcrich"),
        (("put", "a", "--expected-version", "7"), b"other words"),
        (("put", "../a"), b"outside"),
        (("capture",), b"Z\xfcrich"),
        (("capture", "--to", "../a"), b"outside"),
        (("capture", "--to", "twin"), b"ambiguous"),
    ],
)
def test_a_refused_text_is_kept(run, brain_path, words, stdin):
    for slug in ("x/twin", "y/twin"):
        run("put", slug, stdin=b"# Twin\n")
    refused = run(*words, "--json", stdin=stdin)
    assert refused.exit_code in (1, 2)
    assert kept_file(refused.error["hint"]).read_bytes() == stdin


def test_an_entry_for_no_page_or_no_day_is_kept(run, sample):
    for words in (("nobody",), ("people/alice-chen", "--date", "some day")):
        refused = run("timeline-add", words[0], TEXT, *words[1:])
        assert refused.exit_code != 0
        assert kept_file(refused.stderr).read_text() == TEXT


def test_a_text_that_is_too_long_is_kept_in_full(run, brain_path):
    text = b"words " * (MAX_PAGE_BYTES // 4)
    refused = run("put", "a", "--json", stdin=text)
    assert refused.error["code"] == "page_too_large"
    assert kept_file(refused.error["hint"]).read_bytes() == text


def test_lines_that_are_no_pages_are_kept(run, brain_path):
    lines = b'{"slug": "a", "text": "words"}\nnot a page\n'
    imported = run("import", "--stdin", "--no-embed", stdin=lines)
    assert imported.exit_code == 1
    assert kept_file(imported.stderr).read_bytes() == lines
    assert run("get", "a").stdout == "words"


def test_a_command_that_succeeds_keeps_no_draft(run, brain_path, tmp_path):
    assert run("put", "a", stdin=b"# A\n").exit_code == 0
    assert run("capture", TEXT, "--to", "a").exit_code == 0
    assert run("import", "--stdin", stdin=b'{"slug": "b", "text": "b"}\n').exit_code == 0
    folder = drafts.state_folder() / "drafts"
    assert not list(folder.glob("*"))


def test_a_file_that_stays_is_not_copied(run, brain_path, tmp_path):
    (tmp_path / "bad.md").write_bytes(b"---\nx: [\n---\nwords\n")
    refused = run("put", "a", tmp_path / "bad.md")
    assert (refused.exit_code, "kept in" in refused.stderr) == (1, False)


def test_a_merged_text_with_marks_is_kept(run, brain_path, conflicted_page):
    merged = b"<<<<<<< file\nmine\n"
    refused = run("resolve", conflicted_page, "--file", "-", "--json", stdin=merged)
    assert refused.error["code"] == "unresolved"
    assert kept_file(refused.error["hint"]).read_bytes() == merged


@pytest.fixture
def conflicted_page(run, brain_path, tmp_path):
    """A page whose file and text changed at the same place."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("one\n")
    run("import", notes, "--no-embed")
    run("config", "set", "write_through", "off")
    run("put", "a", stdin=b"two\n")
    (notes / "a.md").write_text("three\n")
    run("sync", "--no-embed")
    assert run("conflicts", "--json").json["total"] == 1
    return "a"


def test_full_disks_are_passed_over(run, locked, tmp_path, monkeypatch):
    own, full = tmp_path / "own", tmp_path / "full"
    own.mkdir()
    full.write_text("not a folder")
    monkeypatch.setattr(
        drafts, "_draft_folders", lambda *, edited: [str(full), str(own), str(full)]
    )
    refused = run("capture", TEXT)
    assert kept_file(refused.stderr).parents[1] == own
    monkeypatch.setattr(drafts, "_draft_folders", lambda *, edited: [str(full)])
    assert TEXT.strip() in run("capture", TEXT, "--json").error["hint"]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_command_that_is_told_to_end_says_where_its_text_is(number, brain_path, capsys):
    with pytest.raises(drafts.Hangup) as ended, drafts.keep_text("a", TEXT.encode()):
        signal.raise_signal(number)
    assert ended.value.code == 128 + number
    assert kept_file(capsys.readouterr().err).read_text() == TEXT


def test_a_pipe_is_a_stream_and_a_file_is_not(tmp_path):
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    streams = {name: is_stream(name) for name in (None, Path("-"), tmp_path / "pipe")}
    assert all(streams.values())
    assert not is_stream(tmp_path / "file")


def test_an_endless_text_is_kept_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(drafts, "_MAX_KEPT_BYTES", 5_000_000)
    error = ValueError("too long")
    endless = io.BytesIO(b"y\n" * 4_000_000)
    drafts.keep_rest(error, b"y\n", endless)
    (note,) = error.__notes__
    assert note.startswith("The first 5,000,000 bytes of your text are kept in ")
    assert kept_file(note).stat().st_size < 7_000_000


@pytest.mark.parametrize(
    "words",
    [("put", "a", "--nosuch"), ("put",), ("capture", "--nosuch"), ("put", "a", "-", "more")],
    ids=" ".join,
)
def test_text_of_a_command_with_wrong_words_is_kept(
    brain_path: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    command = [sys.executable, "-m", "gbrain", *words, "--db", str(brain_path)]
    ended = subprocess.run(command, input=b"Important.\n", capture_output=True, check=False)
    assert ended.returncode == 2
    kept = re.search(rb"Your text is kept in (\S+\.md)\.", ended.stderr)
    assert kept, ended.stderr
    assert Path(os.fsdecode(kept[1])).read_bytes() == b"Important.\n"
