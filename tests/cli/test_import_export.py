"""`import sync export`: folders in and out, and what is said about it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gbrain.brain import Brain

AWKWARD = Path(__file__).parent.parent.parent / "fixtures" / "awkward"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    (folder / "dir").mkdir(parents=True)
    (folder / "a.md").write_text("# A\n")
    (folder / "dir" / "b.md").write_text("# B\n")
    return folder


def test_import_reports_pages_once_and_nothing_the_second_time(run, brain_path, vault):
    first = run("import", vault, "--no-embed")
    assert (first.exit_code, first.stdout, first.stderr) == (
        0,
        "",
        "2 new, 0 changed, 0 unchanged.\n",
    )
    assert run("import", vault, "--no-embed").stderr == "0 new, 0 changed, 2 unchanged.\n"
    assert run("import", vault, "--no-embed", "--quiet").stderr == ""


def test_bad_files_are_listed_after_the_others_are_in(run, brain_path, vault):
    (vault / "bad.md").write_bytes(b"\xff\xfe\0")
    (vault / "open.md").write_text("---\ntitle: x\n")
    taken = run("import", vault, "--no-embed")
    assert taken.exit_code == 1
    assert taken.stderr == (
        "bad.md: line 1: not UTF-8 (byte 0xff at offset 0) "
        "(The file looks like UTF-16: convert it to UTF-8 first.)\n"
        "open.md: front matter starts on line 1 and has no end "
        "(End the front matter with a line that contains only ---.)\n"
        "2 new, 0 changed, 0 unchanged, 2 not imported.\n"
    )
    assert len(run("list").stdout.splitlines()) == 2


def test_import_and_errors_as_json_as_they_were_looked_at(run, brain_path, vault, golden):
    (vault / "bad.md").write_bytes(b"caf\xe9")
    (vault / "A.md").write_text("# A again\n")
    golden("import.json", run("import", vault, "--no-embed", "--json").stdout)
    golden("import-again.json", run("import", vault, "--no-embed", "--json").stdout)


def test_a_dry_run_shows_what_would_change_and_changes_nothing(run, brain_path, vault):
    run("import", vault, "--no-embed")
    (vault / "a.md").write_text("# A2\n")
    (vault / "dir" / "b.md").unlink()
    (vault / "c.md").write_text("# C\n")
    before = brain_path.read_bytes()
    shown = run("sync", "--dry-run")
    assert shown.stdout == "update\ta\ta.md\ncreate\tc\tc.md\ndelete\tdir/b\tdir/b.md\n"
    assert shown.stderr == "Dry run: 1 new, 1 changed, 0 unchanged, 1 removed.\n"
    assert brain_path.read_bytes() == before


def test_a_dry_run_does_not_even_make_a_brain(run, brain_path, vault):
    shown = run("import", vault, "--dry-run")
    assert shown.stdout == "create\ta\ta.md\ncreate\tdir/b\tdir/b.md\n"
    assert not brain_path.exists()


def test_sync_follows_every_folder_that_was_imported(run, brain_path, vault, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "o.md").write_text("# O\n")
    run("import", vault, other, "--no-embed")
    (other / "o.md").write_text("# O2\n")
    (vault / "a.md").unlink()
    synced = run("sync", "--no-embed", "--json").json
    assert (synced["updated"], synced["deleted"], synced["unchanged"]) == (1, 1, 1)


def test_sync_without_a_folder_says_what_to_do(run, brain_path):
    run("put", "a", stdin=b"x")
    assert run("sync", "--json").error == {
        "code": "no_folder",
        "message": "No folder has been imported yet",
        "hint": "gbrain import DIR imports one.",
    }


def test_sync_refuses_to_empty_the_brain(run, brain_path, vault):
    run("import", vault, "--no-embed")
    (vault / "a.md").unlink()
    (vault / "dir" / "b.md").unlink()
    refused = run("sync", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "vault_empty")
    assert len(run("list").stdout.splitlines()) == 2


def test_a_missing_folder_does_not_stop_the_sync_of_others(run, brain_path, vault, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    (gone / "g.md").write_text("# G\n")
    run("import", gone, vault, "--no-embed")
    (gone / "g.md").unlink()
    gone.rmdir()
    (vault / "a.md").write_text("# A2\n")
    assert run("sync", "--no-embed").exit_code == 1
    assert run("get", "a").stdout == "# A2\n"
    assert run("get", "g").stdout == "# G\n"


def test_a_conflict_is_named_once_and_overwrite_takes_the_file(run, brain_path, vault):
    run("import", vault, "--no-embed")
    run("config", "set", "write_through", "off")
    run("put", "a", stdin=b"# Mine\n")
    (vault / "a.md").write_text("# Theirs\n")
    refused = run("import", vault, "--no-embed", "--json")
    assert refused.exit_code == 1
    assert [problem["code"] for problem in refused.json["problems"]] == ["both_changed"]
    assert refused.json["problems"][0]["hint"] == "gbrain resolve a merges the two."
    assert run("get", "a").stdout == "# Theirs\n"
    assert run("sync", "--no-embed").exit_code == 0
    run("put", "a", stdin=b"# Mine again\n")
    (vault / "a.md").write_text("# Theirs again\n")
    assert run("import", vault, "--no-embed", "--overwrite").exit_code == 0
    assert run("get", "a").stdout == "# Theirs again\n"


def test_export_names_the_pages_that_import_would_not_take_back(run, brain_path, tmp_path):
    # Not refused: what export --format json wrote has to come back, whatever it holds.
    lines = b'{"slug": ".private/a", "text": "# A"}\n{"slug": "b", "text": "# B"}\n'
    assert run("import", "--stdin", "--no-embed", stdin=lines).exit_code == 0
    exported = run("export", tmp_path / "out")
    assert (
        "1 page written to paths that import ignores: .private/a. Rename them with gbrain rename"
        in exported.stderr
    )
    assert (tmp_path / "out" / ".private" / "a.md").read_text() == "# A"
    assert run("put", ".private/a", stdin=b"# Changed").exit_code == 0
    run("rename", ".private/a", "private/a")
    assert "passes over" not in run("export", tmp_path / "out").stderr


def test_import_then_export_gives_every_byte_back(run, brain_path, tmp_path):
    run("import", AWKWARD, "--no-embed", "--quiet")
    exported = run("export", tmp_path / "out", "--json")
    files = {p.relative_to(AWKWARD): p.read_bytes() for p in AWKWARD.rglob("*") if p.is_file()}
    assert exported.json == {
        "folder": str(tmp_path / "out"),
        "dry_run": False,
        "written": len(files),
        "unchanged": 0,
        "files": None,
    }
    out = tmp_path / "out"
    assert {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()} == files
    assert run("export", out).stderr == f"0 pages written to {out}, {len(files)} unchanged.\n"


def test_pages_come_and_go_as_lines_of_json(run, brain_path, tmp_path):
    run("import", AWKWARD, "--no-embed", "--quiet")
    run("export", tmp_path / "a", "--quiet")
    lines = run("export", "-", "--format", "json")
    written = run("export", tmp_path / "lines", "--format", "json")
    count = len(lines.stdout_bytes.splitlines())
    assert written.stderr == f"{count} pages written to {tmp_path / 'lines'}, 0 unchanged.\n"
    assert (tmp_path / "lines" / "brain.ndjson").read_bytes() == lines.stdout_bytes
    db = ("--db", tmp_path / "other.db")
    taken = run("import", "--stdin", "--no-embed", *db, stdin=lines.stdout_bytes)
    assert (taken.exit_code, taken.stderr) == (0, f"{count} new, 0 changed, 0 unchanged.\n")
    again = run("import", "--stdin", "--no-embed", "--json", stdin=lines.stdout_bytes)
    assert again.json["unchanged"] == count
    run("export", tmp_path / "b", "--quiet", *db)
    assert files_of(tmp_path / "b") == files_of(tmp_path / "a")


def files_of(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_bad_line_is_named_and_the_others_go_in(run, brain_path):
    lines = b'{"slug": "a", "text": "# A"}\n{"slug": "b"}\n{"title": "C", "body": "c"}\n'
    taken = run("import", "--stdin", "--no-embed", stdin=lines)
    assert taken.exit_code == 1
    kept, _, said = taken.stderr.partition("\n")
    assert kept.startswith("Your text is kept in ")
    assert said == (
        "stdin line 2: text or body is missing or not a string "
        '(Write lines like {"slug": "notes/a", "text": "# A\\n"}, or with title, tags and body.)\n'
        "2 new, 0 changed, 0 unchanged, 1 not imported.\n"
    )
    assert len(run("list").stdout.splitlines()) == 2


def test_a_dry_run_of_lines(run, brain_path):
    shown = run("import", "--stdin", "--dry-run", stdin=b'{"slug": "a", "text": "# A"}\n')
    assert shown.stdout == "create\ta\ta.md\n"
    assert not brain_path.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("import",),
        ("import", "folder", "--stdin"),
        ("export", "-"),
        ("export", "-", "--format", "html"),
        ("export", "-", "--format", "json", "--json"),
        ("export", "folder", "--format", "pdf"),
    ],
    ids=" ".join,
)
def test_words_that_do_not_go_together(run, sample, words):
    assert run(*words).exit_code == 2


def test_a_brain_as_web_pages(run, sample, tmp_path):
    written = run("export", tmp_path / "site", "--format", "html", "--json")
    assert (written.json["written"], written.json["unchanged"]) == (31, 0)
    assert "people/alice-chen.html" in (tmp_path / "site" / "index.html").read_text()
    again = run("export", tmp_path / "site", "--format", "html", "--json")
    assert (again.json["written"], again.json["unchanged"]) == (0, 31)


@pytest.mark.parametrize(
    ("format_", "name", "own"),
    [
        ("html", "index.html", "<!doctype html>\n<html>\n<head>\n</head>My home page\n"),
        ("html", "pages/index.html", "<html>Mine\n"),
        ("json", "brain.ndjson", '{"slug": "of another program"}\n'),
        ("json", "brain.ndjson", "not JSON\n"),
    ],
)
def test_an_export_leaves_files_it_did_not_write(run, sample, tmp_path, format_, name, own):
    file = tmp_path / "site" / name
    file.parent.mkdir(parents=True)
    file.write_text(own)
    refused = run("export", tmp_path / "site", "--format", format_, "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "file_changed")
    assert file.read_text() == own
    assert run("export", tmp_path / "site", "--format", format_, "--force").exit_code == 0
    assert file.read_text() != own
    # What an export wrote is replaced by the next.
    run("put", "index", stdin=b"# New text of the index\n")
    assert run("export", tmp_path / "site", "--format", format_).exit_code == 0
    assert "New text of the index" in file.read_text()


@pytest.mark.parametrize(
    ("format_", "name", "old", "new"),
    [
        ("html", "index.html", "<h1>", "<h1>My words"),
        ("html", "style.css", "--mark", "--my-mark"),
        ("json", "brain.ndjson", "# Alice Chen", "# Alice Jones"),
        ("json", "brain.ndjson", '"title": "Alice Chen"', '"title": "Alice Jones"'),
        ("json", "brain.ndjson", '"type": ', '"my_note": "call her", "type": '),
        ("json", "brain.ndjson", '"tags": [], ', '"tags": ["mine"], '),
        ("json", "brain.ndjson", '"slug": "people/alice-chen"', '"slug": "people/alice"'),
    ],
)
def test_an_edited_export_is_left_alone(run, sample, tmp_path, format_, name, old, new):
    run("export", tmp_path, "--format", format_)
    file = tmp_path / name
    assert old in file.read_text()
    edited = file.read_text().replace(old, new)
    file.write_text(edited)
    refused = run("export", tmp_path, "--format", format_, "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "file_changed")
    assert file.read_text() == edited


def test_lines_of_earlier_versions_are_replaced(run, sample, tmp_path):
    run("put", "people/alice-chen", stdin=b"---\ntags: [old]\n---\n# Alice, earlier\n")
    run("export", tmp_path, "--format", "json")
    run("put", "people/alice-chen", stdin=b"# Alice now\n")
    run("rename", "packing-list", "lists/packing")
    assert run("export", tmp_path, "--format", "json").exit_code == 0
    assert "Alice, earlier" not in (tmp_path / "brain.ndjson").read_text()


def test_lines_of_a_deleted_page_are_replaced(run, sample, tmp_path):
    run("export", tmp_path, "--format", "json")
    run("delete", "people/alice-chen")
    assert run("export", tmp_path, "--format", "json").exit_code == 0
    assert "# Alice Chen" not in (tmp_path / "brain.ndjson").read_text()


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("other", [False, True])
def test_an_export_never_replaces_a_brain(run, sample, tmp_path, force, other):
    brain = tmp_path / "brain.ndjson"
    shutil.copy(sample, brain)
    before = brain.read_bytes()
    named = [] if other else ["--db", brain]
    assert run("export", tmp_path, "--format", "json", *force, *named).exit_code == 1
    assert brain.read_bytes() == before


def test_import_of_what_is_no_folder(run, brain_path, tmp_path):
    assert run("import", tmp_path / "none", "--json").error["code"] == "no_folder"
    assert run("import", tmp_path, tmp_path / "none", "--json").error["code"] == "no_folder"
    assert not brain_path.exists()


def test_one_is_not_many(run, brain_path, tmp_path):
    run("put", "a", stdin=b"# A\n\n[[b]]\n")
    run("put", "b", stdin=b"# B\n")
    run("delete", "b")
    out = tmp_path / "out"
    assert run("export", out).stderr == f"1 page written to {out}, 0 unchanged.\n"
    assert run("backup", tmp_path / "copy").stderr.startswith("Copied 1 page, ")
    run("put", "b", stdin=b"# B\n")
    renamed = run("rename", "b", "c").stderr
    assert "\n1 link to the old name left, on a. gbrain rename c c --update-links" in renamed
    assert "\n1 link updated.\n" in run("rename", "c", "c", "--update-links").stderr
    assert run("embed", "a").stderr.startswith("1 chunk embedded (")


def test_import_reports_embedded_chunks_and_skipped_files(run, brain_path, tmp_path):
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("# A\n\nApples.\n")
    (vault / "draft.md").write_text("# Draft\n")
    (vault / "photo.jpg").write_bytes(b"\xff\xd8")
    (vault / ".gbrainignore").write_text("draft.md\n")
    imported, embedded = run("import", vault).stderr.splitlines()[-2:]
    over = " 2 files skipped (not Markdown, or ignored)."
    assert imported == "1 new, 0 changed, 0 unchanged." + over
    assert embedded == "1 chunk embedded."
    (vault / "a.md").write_text("# A\n\nPears.\n")
    imported, embedded = run("sync").stderr.splitlines()[-2:]
    assert imported == "0 new, 1 changed, 0 unchanged."
    assert embedded == "1 chunk embedded."


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for another process")
@pytest.mark.parametrize("options", [(), ("--json",)], ids=str)
def test_an_interrupted_import_says_what_is_done(brain_path, tmp_path, options):
    folder = tmp_path / "notes"
    folder.mkdir()
    for n in range(400):
        words = " ".join(f"note {n} about item {n * k % 97}" for k in range(1, 9))
        (folder / f"{n}.md").write_text(f"# Note {n}\n\n{words}\n")
    command = [sys.executable, "-m", "gbrain", "import", str(folder), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        reported = (process.stdout if options else process.stderr).readline()
        process.send_signal(signal.SIGINT)
        out, told = process.communicate(timeout=60)
    if options:
        assert json.loads(reported + out)["problems"] == []
    else:
        assert reported == b"400 new, 0 changed, 0 unchanged.\n"
    assert process.returncode == 130
    assert re.fullmatch(
        rb"400 notes imported\. \d+ % embedded; run gbrain embed to continue\.\n", told
    )
    with Brain.open(brain_path) as brain:
        assert len(brain.list()[0]) == 400
        assert 0 < brain.backlog().waiting == brain.count_due_jobs()


# --- single files, and exports that are only planned ------------------------------------------


def test_a_file_of_a_folder_is_imported_alone(run, vault: Path) -> None:
    run("import", vault, "--no-embed", "--quiet")
    (vault / "a.md").write_text("# A\n\nChanged.\n")
    (vault / "new.md").write_text("# New\n")
    planned = run("import", vault / "a.md", "--no-embed", "--dry-run", "--json").json
    done = run("import", vault / "a.md", "--no-embed", "--json").json
    assert planned["changes"] == done["changes"]
    assert [(each["action"], each["slug"]) for each in done["changes"]] == [("update", "a")]
    assert (done["files_written"], done["problems"]) == ([], [])
    assert run("get", "a").stdout == "# A\n\nChanged.\n"
    assert run("get", "new").exit_code == 1
    again = run("import", vault / "a.md", "--no-embed", "--json").json
    assert (again["changes"], again["unchanged"]) == ([], 1)


def test_a_file_from_elsewhere_is_a_page_by_its_name(run, tmp_path: Path, brain_path: Path) -> None:
    (file := tmp_path / "Minutes of May.md").write_text("# Minutes\n")
    assert (
        run("import", file, "--no-embed", "--json").json["changes"][0]["slug"] == "minutes-of-may"
    )
    file.write_text("# Minutes\n\nMore.\n")
    assert run("import", file, "--no-embed", "--json").json["updated"] == 1
    assert run("get", "minutes-of-may").stdout == "# Minutes\n\nMore.\n"


def test_a_file_from_elsewhere_replaces_no_page_unasked(run, vault: Path, tmp_path: Path) -> None:
    run("import", vault, "--no-embed", "--quiet")
    (file := tmp_path / "a.md").write_text("# Another\n")
    refused = run("import", file, "--no-embed", "--json")
    assert refused.exit_code == 1
    assert [each["code"] for each in refused.json["problems"]] == ["slug_collision"]
    assert run("import", file, "--no-embed", "--overwrite").exit_code == 0
    assert (vault / "a.md").read_text() == run("get", "a").stdout == "# Another\n"


@pytest.mark.parametrize(
    ("name", "code"), [("notes.txt", "not_markdown"), ("vault/private.md", "ignored")]
)
def test_a_file_that_is_no_page_is_refused(
    run, vault: Path, tmp_path: Path, name: str, code: str
) -> None:
    (vault / ".gbrainignore").write_text("private.md\n")
    run("import", vault, "--no-embed", "--quiet")
    (tmp_path / name).write_text("# Text\n")
    refused = run("import", tmp_path / name, "--no-embed", "--json")
    assert refused.exit_code == 1
    assert [each["code"] for each in refused.json["problems"]] == [code]


@pytest.mark.parametrize("format_", ["md", "html", "json"])
def test_a_planned_export_writes_nothing(run, vault: Path, tmp_path: Path, format_: str) -> None:
    run("import", vault, "--no-embed", "--quiet")
    words = ("export", tmp_path / "out", "--format", format_)
    planned = run(*words, "--dry-run", "--json").json
    assert not (tmp_path / "out").exists()
    assert {each["action"] for each in planned["files"]} == {"write"}
    done = run(*words, "--json").json
    assert format_ == "json" or done["written"] == planned["written"] == len(planned["files"])
    if format_ == "json":
        (tmp_path / "out" / "brain.ndjson").write_text("mine\n")
        assert run(*words, "--dry-run").exit_code == 1
        assert (tmp_path / "out" / "brain.ndjson").read_text() == "mine\n"


def test_a_planned_export_names_what_it_would_refuse(run, vault: Path, tmp_path: Path) -> None:
    run("import", vault, "--no-embed", "--quiet")
    out = tmp_path / "out"
    run("export", out)
    (out / "a.md").write_text("Mine.\n")
    (out / "dir" / "b.md").unlink()
    run("put", "dir/b", stdin=b"# B\n\nNew.\n")
    planned = run("export", out, "--dry-run")
    assert planned.exit_code == 1
    assert planned.stdout == (
        f"refuse\ta.md\t{out}/a.md was not written by gbrain\nwrite\tdir/b.md\t\n"
    )
    assert planned.stderr == "Dry run: 1 new, 0 replaced, 1 refused, 0 unchanged.\n"
    forced = run("export", out, "--dry-run", "--force")
    assert forced.stderr == "Dry run: 1 new, 1 replaced, 0 refused, 0 unchanged.\n"
    assert (out / "a.md").read_text() == "Mine.\n"
