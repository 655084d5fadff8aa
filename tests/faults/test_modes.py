"""Files that gbrain writes are private from the first moment, with any umask."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

ROOT = Path(__file__).parents[2]
OLD_BRAIN = ROOT / "fixtures" / "brains" / "schema-1.db.gz"
_RUN_ALL = """
import json, sys
from gbrain.cli.main import run_command
for words in json.load(open(sys.argv[1])):
    code = run_command(words)
    assert code == 0, (words, code)
"""


def readable_by_others(folder: Path) -> set[str]:
    """Return the names of files below the folder that other users can read."""
    found = set()
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                status = os.lstat(os.path.join(parent, name))
            except FileNotFoundError:
                continue
            if stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
                found.add(name)
    return found


def writable_by_others(folder: Path) -> set[str]:
    """Return the files and folders that other users can write."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.lstat().st_mode & 0o022 and not path.is_symlink()
    }


def run_watched(folder: Path, words: list[list[str]], environment: dict[str, str]) -> str:
    """Run the commands; return the names of files that others could read at any moment.

    They run with umask 000, as every other umask only removes permissions.
    """
    done, seen = Event(), set[str]()

    def watch() -> None:
        while not done.is_set():
            seen.update(readable_by_others(folder))

    watcher = Thread(target=watch)
    watcher.start()
    try:
        ran = subprocess.run(
            [sys.executable, "-c", _RUN_ALL, str(folder.parent / "words.json")],
            env=environment, umask=0, capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        done.set()
        watcher.join()
    assert ran.returncode == 0, ran.stderr
    seen.update(readable_by_others(folder))
    return " ".join(sorted(seen))


def test_other_users_can_never_read_written_files(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(0o700)
    brain, old = private / "new" / "brain.db", private / "old.db"
    notes = shutil.copytree(ROOT / "gbrain" / "sample", tmp_path / "notes")
    editor = tmp_path / "editor.py"
    editor.write_text("import sys, time; open(sys.argv[1], 'a').write('more'); time.sleep(0.1)")
    old.touch(0o600)
    old.write_bytes(gzip.decompress(OLD_BRAIN.read_bytes()))
    words = [
        ["import", str(notes), "--no-embed", "--quiet"],
        ["edit", "people/alice-chen", "--quiet"],
        ["capture", "a thought", "--quiet"],
        ["embed", "people/alice-chen", "--quiet"],
        ["search", "notes", "--as-of", "2026-11-16"],
        ["config", "set", "rerank_command", "true", "--quiet"],
        ["backup", str(private / "copy.db"), "--quiet"],
        ["restore", str(private / "copy.db"), "--quiet"],
        ["compact", "--quiet"],
        ["import", str(ROOT / "fixtures" / "awkward"), "--dry-run", "--quiet", "--db",
         str(private / "none.db")],
        ["stats", "--db", str(old)],
        ["eval", str(tmp_path / "set"), "--modes", "bm25", "--quiet"],
        ["doctor"],
        ["eval", str(tmp_path / "set"), "--modes", "bm25", "--quiet", "--svg",
         str(tmp_path / "plot.svg")],
        ["graph", "--html", str(tmp_path / "graph.html"), "--quiet"],
        ["export", str(tmp_path / "out" / "pages"), "--quiet"],
        ["export", str(tmp_path / "out" / "lines"), "--format", "json", "--quiet"],
        ["export", str(tmp_path / "out" / "site"), "--format", "html", "--quiet"],
    ]  # fmt: skip
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "corpus.jsonl").write_text('{"_id": "a", "text": "a private word"}\n')
    (tmp_path / "set" / "queries.jsonl").write_text('{"_id": "q", "text": "which word?"}\n')
    (tmp_path / "set" / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n")
    (tmp_path / "words.json").write_text(json.dumps(words))
    names = ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "TMPDIR")
    environment = {
        **os.environ,
        **{name: str(private / name.lower() / "deep") for name in names if name != "TMPDIR"},
        "TMPDIR": str(private),
        "SQLITE_TMPDIR": str(private),
        "PYTHONPATH": str(ROOT),
        "GBRAIN_DB": str(brain),
        "EDITOR": shlex.join([sys.executable, str(editor)]),
        "GBRAIN_NOW": "2026-11-17T12:00:00",
    }
    assert run_watched(private, words, environment) == ""
    made = {path.name for path in private.rglob("*") if path.is_file()}
    assert {"brain.db", "copy.db", "agreed", "old.db.schema-1.backup"} <= made
    assert len([name for name in made if name.endswith(".db")]) >= 5
    open_folders = [path for path in private.rglob("*") if path.is_dir() and _is_open(path)]
    assert not open_folders
    assert writable_by_others(tmp_path) == set()
    exported = {path.suffix for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert exported == {".css", ".md", ".ndjson", ".html"}


def _is_open(folder: Path) -> bool:
    return bool(folder.stat().st_mode & 0o077)
