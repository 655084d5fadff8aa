"""`backup restore compact`: what is said about them, and the way there and back."""

from __future__ import annotations

from pathlib import Path

from gbrain.brain import Brain


def test_a_backup_stands_beside_the_brain_with_the_date(run, sample: Path) -> None:
    made = run("backup")
    target = sample.with_name("brain.db.2026-11-16.backup")
    size = target.stat().st_size
    assert made.exit_code == 0
    assert made.stderr == f"Copied 29 pages, {size / 1e6:.1f} MB to {target}.\n"
    again = run("backup", "--json")
    assert (again.exit_code, again.error["code"]) == (1, "file_exists")
    assert run("backup", "--force", "--json").json == {
        "file": str(target),
        "bytes": size,
        "pages": 29,
    }


def test_a_backup_goes_where_one_says(run, sample: Path, tmp_path: Path) -> None:
    assert run("backup", tmp_path / "copy.db", "--quiet").stderr == ""
    (tmp_path / "folder").mkdir()
    run("backup", tmp_path / "folder")
    assert (tmp_path / "folder" / "brain.db.2026-11-16.backup").is_file()
    refused = run("backup", sample, "--force", "--json")
    assert (refused.exit_code, refused.error["code"]) == (2, "usage")
    for copy in (tmp_path / "copy.db", sample):
        with Brain.open(copy) as brain:
            assert brain.list()[1] == 29


def test_there_and_back(run, sample: Path, tmp_path: Path) -> None:
    run("backup", tmp_path / "copy.db")
    run("put", "later", stdin=b"# Later\n")
    kept = sample.with_name("brain.db.before-restore-20261116T120000Z")
    back = run("restore", tmp_path / "copy.db")
    assert back.stderr == f"Restored 29 pages to {sample}. The old brain is kept in {kept}.\n"
    assert run("get", "later").exit_code == 1
    assert run("get", "later", "--db", kept).stdout == "# Later\n"
    assert run("doctor").exit_code == 0


def test_a_restore_where_nothing_is(run, sample: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    run("backup", tmp_path / "copy.db")
    assert run("restore", tmp_path / "copy.db", "--db", new, "--json").json == {
        "file": str(new),
        "pages": 29,
        "kept": None,
    }
    missing = run("restore", tmp_path / "none.db", "--json")
    assert (missing.exit_code, missing.error["code"]) == (1, "no_brain")


def test_restore_refuses_a_file_that_is_no_backup(run, sample: Path, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("something else")
    before = sample.read_bytes()
    assert run("restore", note, "--json").error == {
        "code": "not_a_brain",
        "message": f"{note} is not a backup",
        "hint": "Your brain was not changed. Name a file that gbrain backup made.",
    }
    assert sample.read_bytes() == before


def test_restore_waits_as_long_as_the_brain_says(run, sample: Path, tmp_path: Path) -> None:
    run("backup", tmp_path / "copy.db")
    run("config", "set", "busy_seconds", "0.1")
    with Brain.open(sample):
        refused = run("restore", tmp_path / "copy.db", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "in_use")
    assert list(tmp_path.glob("*before*")) == []


def test_compact_says_how_much_it_gave_back(run, sample: Path) -> None:
    for name in ("people/alice-chen", "people/noor-haddad"):
        run("delete", name)
    said = run("compact", "--json").json
    assert said["bytes_after"] == sample.stat().st_size
    assert (said["vectors_dropped"], said["waits"]) == (0, False)
    assert said["jobs_dropped"] > 0
    size = f"{said['bytes_after'] / 1e6:.1f} MB"
    assert run("compact").stderr == f"Shrunk from {size} to {size}.\n"
    assert run("doctor").exit_code == 0


def test_a_log_that_was_kept_is_named_once(run, sample: Path, tmp_path: Path) -> None:
    run("backup", tmp_path / "copy.db")
    sample.rename(tmp_path / "archive.db")
    Path(f"{sample}-wal").write_bytes(b"of another brain" * 100)
    first = run("restore", tmp_path / "copy.db", "--quiet")
    assert first.exit_code == 0
    assert f"kept as {sample}.orphaned-wal." in first.stderr
    assert run("restore", tmp_path / "copy.db", "--quiet").stderr == ""
    sample.rename(tmp_path / "archive2.db")
    assert run("init", "--quiet").stderr == ""
