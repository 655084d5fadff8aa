"""Pages in one's own editor, put back safely; thoughts kept in passing."""

from __future__ import annotations

import os
import shlex
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from time import sleep

import pytest

from gbrain.cli.drafts import Draft
from gbrain.cli.editor import editor_arguments, editor_command
from gbrain.errors import GbrainError

SAMPLE = Path(__file__).parents[2] / "gbrain" / "sample"


def drafts(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob("gbrain-*/*"))


# --- edit ------------------------------------------------------------------------------------


def test_what_is_saved_becomes_the_page(run, sample, editor, tmp_path):
    editor("text = text.replace('tepid', 'cool')")
    written = run("edit", "people/noor-haddad", "--json").json
    assert written.pop("file")["outcome"] == "behind"
    assert written == {"slug": "people/noor-haddad", "version": 2, "outcome": "updated"}
    assert "sounded cool at best" in run("get", "people/noor-haddad").stdout
    assert drafts(tmp_path) == []


def test_the_file_of_a_folder_nobody_named_here_stays(run, sample, editor):
    editor("text += 'x'")
    said = run("edit", "people/noor-haddad").stderr.splitlines()
    assert said == [
        "people/noor-haddad: updated, version 2",
        f"The file still has the old text; gbrain sync {SAMPLE} lets gbrain write to this folder.",
    ]


def test_nothing_changed_is_nothing_written(run, sample, editor, tmp_path):
    editor("")
    assert run("edit", "people/noor-haddad").stderr == "people/noor-haddad: unchanged, version 1\n"
    assert len(run("history", "people/noor-haddad").stdout.splitlines()) == 1
    assert drafts(tmp_path) == []


def test_a_text_is_edited_byte_for_byte(run, brain_path, editor):
    text = b"\xef\xbb\xbf# A\r\n\r\nno end of line"
    run("put", "a", stdin=text)
    editor("")
    run("edit", "a")
    assert run("get", "a").stdout_bytes == text
    assert len(run("history", "a").stdout.splitlines()) == 1


def test_a_new_page_begins_with_its_title(run, brain_path, editor):
    editor("text += 'First words.'")
    run("edit", "ideas/My First Idea")
    assert run("get", "ideas/my-first-idea").stdout == "# My first idea\n\nFirst words."
    assert run("get", "ideas/my-first-idea", "--json").json["path"] == "ideas/my-first-idea.md"


def test_a_new_page_that_stays_as_it_began_is_not_made(run, brain_path, editor):
    editor("")
    assert run("edit", "ideas/first").stderr == (
        "New page ideas/first.\nideas/first: nothing was written\n"
    )
    assert run("edit", "ideas/first", "--json").json["version"] is None
    assert run("get", "ideas/first").exit_code == 1


def test_a_template_is_filled_in(run, brain_path, editor, tmp_path):
    template = tmp_path / "meeting.md"
    template.write_text("# {{title}}\n\nOn {{date}}, [[{{slug}}]], {{else}}\n")
    editor("text += '!'")
    run("edit", "meetings/kick-off", "--template", template)
    assert run("get", "meetings/kick-off").stdout == (
        "# Kick off\n\nOn 2026-11-16, [[meetings/kick-off]], {{else}}\n!"
    )
    assert run("edit", "b", "--template", tmp_path / "none").exit_code == 1


def test_a_name_that_is_nearly_a_page_is_pointed_out(run, sample, editor):
    editor("")
    said = run("edit", "people/alice-chan").stderr
    assert said.startswith("New page people/alice-chan. Similar pages: people/alice-chen.")


def test_somebody_else_was_faster(run, brain_path, editor, tmp_path):
    run("put", "a", stdin=b"mine")
    editor(
        f"subprocess.run([{sys.executable!r}, '-m', 'gbrain', 'put', 'a'], input=b'theirs', "
        f"env={{**os.environ, 'PYTHONPATH': {str(Path(__file__).parents[2])!r}}})\n"
        "text = 'mine, better'"
    )
    refused = run("edit", "a", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "version_conflict")
    (kept,) = drafts(tmp_path)
    assert refused.error["hint"].startswith(f"Your text is kept in {kept}. ")
    assert kept.read_text() == "mine, better"
    assert run("get", "a").stdout == "theirs"


def test_a_page_that_is_none_is_kept_too(run, brain_path, editor, tmp_path):
    run("put", "a", stdin=b"good")
    editor("text = '---\\nx: [\\n---\\n'")
    refused = run("edit", "a", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "bad_page")
    (kept,) = drafts(tmp_path)
    assert str(kept) in refused.error["hint"]
    assert run("get", "a").stdout == "good"


def test_an_emptied_page_is_not_written(run, brain_path, editor, tmp_path):
    run("put", "a", stdin=b"good")
    editor("text = ''")
    refused = run("edit", "a")
    assert refused.exit_code == 2
    assert "gbrain delete a deletes the page" in refused.stderr
    assert drafts(tmp_path) == []


def test_an_editor_that_fails(run, brain_path, editor, tmp_path):
    run("put", "a", stdin=b"good")
    editor("sys.exit(3)")
    assert "ended with code 3; nothing was written" in run("edit", "a").stderr
    assert drafts(tmp_path) == []
    editor("open(file, 'w').write('half'); sys.exit(3)")
    assert "Your text is kept in" in run("edit", "a").stderr
    editor("os.remove(file); os._exit(0)")
    assert run("edit", "a", "--json").error["code"] == "editor_failed"
    assert run("get", "a").stdout == "good"


def test_only_the_owner_can_read_a_draft(run, brain_path, editor, tmp_path):
    run("put", "people/ann", stdin=b"secret")
    editor(
        f"open({str(tmp_path / 'seen')!r}, 'w').write("
        "f'{os.stat(file).st_mode} {os.stat(os.path.dirname(file)).st_mode} {file}')"
    )
    run("edit", "people/ann")
    file, folder, path = (tmp_path / "seen").read_text().split(" ", 2)
    assert (stat.S_IMODE(int(file)), stat.S_IMODE(int(folder))) == (0o600, 0o700)
    assert path.endswith("/ann.md")


def test_no_editor(run, sample, monkeypatch):
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    refused = run("edit", "people/noor-haddad", "--json")
    assert refused.error["code"] == "no_editor"
    assert refused.error["hint"]
    monkeypatch.setenv("EDITOR", "/no/such/editor")
    assert run("edit", "people/noor-haddad", "--json").error["code"] == "no_editor"


def test_which_editor():
    def words(at_terminal=False, **environment):
        return editor_command(environment, at_terminal=at_terminal)

    assert words(VISUAL="code --wait", EDITOR="ed") == ["code", "--wait"]
    assert words(VISUAL=" ", EDITOR="'my editor' -x") == ["my editor", "-x"]
    with pytest.raises(GbrainError, match="cannot be read"):
        words(EDITOR="'unclosed")
    with pytest.raises(GbrainError, match="No editor"):
        words()


def test_the_editor_begins_on_the_line_and_is_waited_for():
    file = Path("a b;c.md")
    assert editor_arguments(["/usr/bin/vim"], file, 7) == ["/usr/bin/vim", "+7", "a b;c.md"]
    assert editor_arguments(["vim"], file, None) == ["vim", "a b;c.md"]
    assert editor_arguments(["code"], file, 7) == ["code", "--wait", "a b;c.md"]
    assert editor_arguments(["code", "-w"], file, 7) == ["code", "-w", "a b;c.md"]
    assert editor_arguments(["sed", "-i", "s/a/b/"], file, 7) == ["sed", "-i", "s/a/b/", "a b;c.md"]


# --- open ------------------------------------------------------------------------------------


def test_a_hit_of_the_last_answer_opens(run, sample, at_terminal, editor):
    code, shown = at_terminal("search", "backup sqlite", "--no-pager")
    assert code == 0
    assert "gbrain open N opens one" in shown
    editor("text = text.replace('Three copies', 'Four copies')")
    second = run("search", "backup sqlite", "--json").json["results"][1]["slug"]
    opened = run("open", "2", "--json").json
    assert opened.pop("file")["outcome"] == "behind"
    assert opened == {"slug": second, "version": 2, "outcome": "updated"}
    assert "Four copies" in run("get", second).stdout


def test_an_answer_in_a_pipe_is_not_the_last_one(run, sample, at_terminal, editor):
    editor("")
    at_terminal("search", "river", "--limit", "1", "--no-pager")
    run("search", "backup")
    assert run("open", "1", "--json").json["slug"] == "companies/river-ai"


def test_opening_counts_while_that_is_recorded(run, sample, at_terminal, editor, brain_path):
    def opened():
        with closing(sqlite3.connect(brain_path)) as connection:
            return dict(
                connection.execute(
                    "SELECT slug, opens FROM page_use JOIN pages ON pages.id = page_id"
                )
            )

    def open_both_ways():
        shown, _ = at_terminal("get", "people/alice-chen", "--no-pager")
        assert run("open", "1").exit_code == shown == 0

    editor("")
    at_terminal("search", "river", "--limit", "1", "--no-pager")
    open_both_ways()
    assert opened() == {"companies/river-ai": 1, "people/alice-chen": 1}
    run("config", "set", "record_access", "off")
    open_both_ways()
    assert opened() == {"companies/river-ai": 1, "people/alice-chen": 1}
    run("config", "set", "record_access", "on")
    open_both_ways()
    assert opened() == {"companies/river-ai": 2, "people/alice-chen": 2}


def test_get_in_a_pipe_or_as_json_is_no_opening(run, sample, at_terminal, brain_path):
    assert run("get", "people/alice-chen").exit_code == 0
    assert run("get", "people/alice-chen", "--json").exit_code == 0
    assert at_terminal("get", "people/alice-chen", "--json")[0] == 0
    assert at_terminal("get", "people/alice-chen", "--version", "1", "--no-pager")[0] == 0
    with closing(sqlite3.connect(brain_path)) as connection:
        assert connection.execute("SELECT count(*) FROM page_use").fetchone() == (0,)
    assert at_terminal("get", "people/alice-chen", "--raw")[0] == 0
    with closing(sqlite3.connect(brain_path)) as connection:
        assert connection.execute("SELECT opens FROM page_use").fetchall() == [(1,)]


def test_a_hit_that_is_not_there(run, sample, at_terminal, editor):
    editor("")
    assert "No recent results to open" in run("open", "1").stderr
    at_terminal("search", "river", "--limit", "1", "--no-pager")
    assert "Your last results have no number 2" in run("open", "2").stderr
    run("delete", "companies/river-ai")
    assert run("open", "1", "--json").error["code"] == "not_found"
    assert run("open", "0").exit_code == 2


def test_a_bad_page_can_be_edited_again_at_a_terminal(run, brain_path, at_terminal, tmp_path):
    run("put", "a", stdin=b"good")
    program = tmp_path / "editor.py"
    program.write_text(
        "import sys\ntext = open(sys.argv[1]).read()\n"
        "open(sys.argv[1], 'w').write('better' if '[' in text else '---\\nx: [\\n---\\n')\n"
    )
    code, shown = at_terminal(
        "edit", "a", keys="y\n", EDITOR=shlex.join([sys.executable, str(program)])
    )
    assert "Edit again? [Y/n]:" in shown
    assert (code, run("get", "a").stdout) == (0, "better")


# --- capture ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_thought_is_refused(run, brain_path, text):
    refused = run("capture", text, "--json")
    assert (refused.exit_code, refused.error["message"]) == (2, "There is no text to capture")
    piped = run("capture", "-", "--json", stdin=text.encode())
    assert (piped.exit_code, piped.error) == (refused.exit_code, refused.error)
    assert not brain_path.exists()


def test_a_thought_goes_to_the_inbox(run, brain_path):
    made = run("capture", "Ask Alice", "--json").json
    assert made == {
        "slug": "inbox", "version": 1, "outcome": "created", "date": "2026-11-16", "file": None,
    }  # fmt: skip
    again = run("capture", "Ask", "Bo", "--source", "phone")
    assert again.stderr == "inbox: entry of 2026-11-16 added (version 2)\n"
    entries = run("timeline", "inbox", "--json").json["entries"]
    assert [(e["date"], e["source"], e["text"]) for e in entries] == [
        ("2026-11-16", None, "Ask Alice"), ("2026-11-16", "phone", "Ask Bo"),
    ]  # fmt: skip
    assert run("search", "bo", "--json").json["results"][0]["slug"] == "inbox"


def test_the_inbox_has_the_name_one_gives_it(run, brain_path):
    run("init")
    run("config", "set", "capture_page", "journal/Thoughts")
    assert run("capture", "x", "--json").json["slug"] == "journal/thoughts"


@pytest.mark.parametrize("words", [(), ("-",)])
def test_a_thought_from_a_pipe(run, brain_path, words):
    run("capture", *words, stdin="für später\nund noch\n".encode())
    assert run("timeline", "inbox", "--json").json["entries"][0]["text"] == "für später\nund noch"


def test_a_thought_about_a_page(run, sample):
    assert run("capture", "Moved", "--to", "people/alice-chen", "--json").json["version"] == 2


def test_a_thought_about_a_new_page_creates_it(run, sample):
    added = run("capture", "Moved", "--to", "people/alice-chan")
    assert added.stderr.splitlines()[:2] == [
        "There was no page people/alice-chan, so people/alice-chan is new. "
        "Similar pages: people/alice-chen.",
        "people/alice-chan: entry of 2026-11-16 added (version 1)",
    ]
    assert run("get", "people/alice-chan").stdout == (
        "# Alice chan\n\n---\n## Timeline\n- 2026-11-16 — Moved\n"
    )


@pytest.mark.parametrize("stdin", [b"", b" \n", b"\xff"])
def test_no_thought(run, brain_path, stdin):
    assert run("capture", stdin=stdin).exit_code == 2
    assert run("get", "inbox").exit_code == 1


def test_nothing_to_capture_at_a_terminal(at_terminal, brain_path):
    code, shown = at_terminal("capture")
    assert (code, "There is no text to capture" in shown) == (2, True)
    assert not os.path.exists(brain_path)


# --- edits that were cut short ---------------------------------------------------------------


def cut_short(number: int, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """An edit that is ended by a signal while the editor has saved something and is still open."""
    saved = tmp_path / "saved"
    program = tmp_path / "waiting.py"
    program.write_text(
        "import os, pathlib, sys, time\n"
        "pathlib.Path(sys.argv[-1]).write_text('# Hours of work')\n"
        f"pathlib.Path({str(saved)!r}).touch()\n"
        "os.close(2)\ntime.sleep(2)\n"
    )
    running = subprocess.Popen(
        [sys.executable, "-m", "gbrain", "edit", "ideas/long"],
        env={**os.environ, "EDITOR": shlex.join([sys.executable, str(program)]),
             "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not saved.exists():
        assert running.poll() is None
        sleep(0.01)
    running.send_signal(number)
    _, said = running.communicate(timeout=30)
    return subprocess.CompletedProcess(running.args, running.returncode, "", said)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_an_edit_that_is_told_to_end_says_where_the_text_is(
    brain_path: Path, tmp_path: Path, number: int
) -> None:
    ended = cut_short(number, tmp_path)
    (kept,) = drafts(tmp_path)
    assert ended.returncode == 128 + number
    assert f"your text of ideas/long is kept in {kept}" in ended.stderr
    assert kept.read_text() == "# Hours of work"


def test_the_next_edit_names_what_a_killed_one_left(run, brain_path, editor, tmp_path) -> None:
    cut_short(signal.SIGKILL, tmp_path)
    (kept,) = drafts(tmp_path)
    editor("pass")
    assert str(kept) not in run("edit", "ideas/short").stderr
    assert f"was never saved to the brain; it is in {kept}." in run("edit", "ideas/long").stderr
    run("put", "ideas/long", kept)
    run("edit", "ideas/long")
    assert drafts(tmp_path) == []


def test_an_edit_in_another_container_is_left_alone(run, brain_path, editor, monkeypatch):
    """The processes there have ids that mean nothing here."""
    run("put", "ideas/long", stdin=b"# Long\n")
    with monkeypatch.context() as container:
        container.setattr("os.getpid", lambda: 4_000_000)
        elsewhere = Draft("ideas/long", b"# Long\n", edited=True)
    editor("pass")
    run("edit", "ideas/long")
    assert elsewhere.file.read_text() == "# Long\n"
    elsewhere.close()
    run("edit", "ideas/long")
    assert not elsewhere.file.exists()
