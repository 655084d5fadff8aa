"""`conflicts` and `resolve`, and what commands say about the files of pages."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

VAULT = Path(__file__).parents[2] / "fixtures" / "vault"


@pytest.fixture
def notes(run, brain_path, tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\none\n\ntwo\n")
    run("import", folder, "--no-embed")
    return folder


@pytest.fixture
def conflict(run, notes: Path) -> Path:
    """A page with a conflict, and the file that it came from."""
    (notes / "a.md").write_text("# A\n\ntheirs\n\ntwo\n")
    ran = run("put", "a", stdin=b"# A\n\nmine\n\ntwo\n")
    assert ran.exit_code == 1
    assert ran.stderr.splitlines()[1:] == [
        "a was changed in the same place in its file. The file's text is kept, and the other is in "
        "its history: gbrain resolve a merges them."
    ]
    return notes / "a.md"


def test_conflicts_are_listed_until_they_are_resolved(run, conflict: Path, editor):
    listed = run("conflicts", "--json").json
    assert listed["total"] == 1
    assert listed["conflicts"][0] | {"found_at": ""} == {
        "slug": "a", "path": "a.md", "version": 2, "found_at": "", "remote": None,
        "kind": "both_changed",
    }  # fmt: skip
    assert run("conflicts").stdout.split("\t")[:2] == ["a", "2"]
    assert run("get", "a", "--version", "2").stdout == "# A\n\nmine\n\ntwo\n"
    assert run("sync", "--no-embed").exit_code == 0
    editor(
        "assert '<<<<<<< file\\ntheirs\\n=======\\nmine\\n>>>>>>> brain\\n' in text\n"
        "text = '# A\\n\\nboth\\n\\ntwo\\n'"
    )
    done = run("resolve", "a", "--json").json
    assert (done["outcome"], done["file"]["outcome"]) == ("updated", "written")
    assert conflict.read_text() == run("get", "a").stdout == "# A\n\nboth\n\ntwo\n"
    assert run("conflicts", "--exit-code").exit_code == 3
    assert run("resolve", "a", "--json").error["code"] == "no_conflict"


def test_a_text_with_marks_is_not_written_and_kept(run, conflict: Path, editor):
    editor("text += 'more\\n'")
    refused = run("resolve", "a", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "unresolved")
    draft = Path(refused.error["hint"].split("kept in ")[1].split(". ")[0])
    assert draft.read_text().endswith("more\n")
    assert run("conflicts", "--json").json["total"] == 1


@pytest.mark.parametrize(("option", "kept"), [("--file", "theirs"), ("--brain", "mine")])
def test_one_of_the_texts_can_be_chosen(run, conflict: Path, option: str, kept: str):
    assert run("resolve", "a", option).exit_code == 0
    assert conflict.read_text() == run("get", "a").stdout == f"# A\n\n{kept}\n\ntwo\n"
    assert run("conflicts").stdout == ""
    assert run("sync", "--no-embed", "--json").json["changes"] == []


def test_both_choices_at_once_are_wrong_usage(run, conflict: Path):
    assert run("resolve", "a", "--file", "--brain").exit_code == 2


def test_a_second_conflict_is_resolved_after_the_first(run, conflict: Path):
    conflict.write_text("# A\n\ntheirs again\n\ntwo\n")
    assert run("put", "a", stdin=b"# A\n\nmine again\n\ntwo\n").exit_code == 1
    assert run("conflicts", "--json").json["total"] == 2
    assert "run gbrain resolve a again" in run("resolve", "a", "--file").stderr
    run("resolve", "a", "--file")
    assert run("conflicts", "--json").json["total"] == 0


def test_a_merge_is_said(run, notes: Path):
    (notes / "a.md").write_text("# A\n\none\n\nTWO\n")
    merged = run("put", "a", stdin=b"# A\n\nONE\n\ntwo\n")
    assert merged.exit_code == 0
    assert merged.stderr.splitlines()[1:] == ["a was changed in its file too; both are kept."]
    assert (notes / "a.md").read_text() == "# A\n\nONE\n\nTWO\n"


def test_sync_merges_and_says_so(run, notes: Path):
    run("config", "set", "write_through", "off")
    run("put", "a", stdin=b"# A\n\nONE\n\ntwo\n")
    (notes / "a.md").write_text("# A\n\none\n\nTWO\n")
    run("config", "set", "write_through", "on")
    synced = run("sync", "--no-embed")
    assert (synced.exit_code, synced.stderr) == (
        0, "0 new, 1 changed, 0 unchanged, 1 merged, 1 file written.\n",
    )  # fmt: skip
    assert (notes / "a.md").read_text() == "# A\n\nONE\n\nTWO\n"


def test_sync_counts_conflicts_and_files_that_it_could_not_write(run, notes: Path):
    run("config", "set", "write_through", "off")
    (notes / "b.md").write_text("# B\n")
    run("sync", "--no-embed")
    run("put", "a", stdin=b"# A\n\nmine\n")
    run("put", "b", stdin=b"# Mine\n")
    run("config", "set", "write_through", "on")
    (notes / "a.md").chmod(0o444)
    (notes / "b.md").write_text("# Theirs\n")
    assert run("sync", "--no-embed").stderr.splitlines()[-1] == (
        "0 new, 1 changed, 1 unchanged, 1 file not written, 1 conflict: gbrain resolve b."
    )


def test_a_dry_run_tells_of_a_merge_and_a_conflict(run, notes: Path):
    run("config", "set", "write_through", "off")
    (notes / "b.md").write_text("# B\n")
    run("sync", "--no-embed")
    run("put", "a", stdin=b"# A\n\nONE\n\ntwo\n")
    run("put", "b", stdin=b"# Mine\n")
    (notes / "a.md").write_text("# A\n\none\n\nTWO\n")
    (notes / "b.md").write_text("# Theirs\n")
    dry = run("sync", "--dry-run", "--json").json
    assert (dry["merged"], [p["path"] for p in dry["problems"]]) == (["a"], ["b.md"])
    assert run("get", "b").stdout == "# Mine\n"
    assert run("conflicts").stdout == ""


def test_a_file_that_cannot_be_written_is_said_and_ends_with_1(run, notes: Path):
    (notes / "a.md").chmod(0o444)
    failed = run("timeline-add", "a", "Met Bo", "--quiet")
    assert failed.exit_code == 1
    assert failed.stderr == (
        f"Cannot write {notes}/a.md: the file is read-only. The brain has the text; gbrain sync "
        "writes the file once that is possible.\n"
    )
    assert "Met Bo" in run("get", "a").stdout
    again = run("sync", "--no-embed", "--json")
    assert (again.exit_code, again.json["problems"][0]["code"]) == (1, "cannot_write")
    (notes / "a.md").chmod(0o644)
    assert run("sync", "--no-embed", "--json").json["files_written"] == ["a"]
    assert "Met Bo" in (notes / "a.md").read_text()


def test_edit_opens_what_the_file_has(run, notes: Path, editor):
    (notes / "a.md").write_text("# A\n\nfrom Obsidian\n")
    editor("text = text.replace('from Obsidian', 'from Obsidian and here')")
    assert run("edit", "a").exit_code == 0
    assert (notes / "a.md").read_text() == "# A\n\nfrom Obsidian and here\n"


def test_what_export_force_overwrites_is_a_version_first(run, notes: Path):
    run("config", "set", "write_through", "off")
    run("put", "a", stdin=b"# Mine\n")
    (notes / "a.md").write_text("# Theirs\n\n---\nbad: [yaml\n")
    assert run("export", notes).exit_code == 1
    assert run("export", notes, "--force").exit_code == 0
    assert (notes / "a.md").read_text() == run("get", "a").stdout == "# Mine\n"
    versions = run("history", "a", "--json").json["versions"]
    texts = [run("get", "a", "--version", str(v["version"])).stdout for v in versions]
    assert texts[1:] == ["# Mine\n", "# Theirs\n\n---\nbad: [yaml\n", "# Mine\n"]
    assert run("doctor", "--full").exit_code == 0


def test_a_week_with_a_vault_and_a_brain(run, brain_path, tmp_path: Path, editor):
    vault = Path(shutil.copytree(VAULT, tmp_path / "vault"))
    garden, seeds = vault / "Projects/Kitchen Garden.md", vault / "Projects/Seed List.md"
    assert run("import", vault, "--no-embed").exit_code == 0
    # Monday: a thought, and an entry.
    run("capture", "Ask about compost")
    run("timeline-add", "projects/kitchen-garden", "Beans sown", "--date", "2026-03-09")
    assert "Ask about compost" in (vault / "inbox.md").read_text()
    # Tuesday: Obsidian and gbrain change the same page in different places.
    garden.write_text(garden.read_text().replace("until four", "until five"))
    editor("text = text.replace('until May', 'until June')")
    assert run("edit", "projects/kitchen-garden").exit_code == 0
    assert "until five" in garden.read_text()
    assert "until June" in garden.read_text()
    # While the editor is open, Obsidian saves another line.
    editor(
        f"file_text = open({str(garden)!r}).read().replace('until five', 'until six')\n"
        f"open({str(garden)!r}, 'w').write(file_text)\n"
        "text = text.replace('until June', 'until July')"
    )
    assert "both are kept" in run("edit", "projects/kitchen-garden").stderr
    assert "until six" in garden.read_text()
    assert "until July" in garden.read_text()
    # Wednesday: the page gets another name, its file too.
    assert run("rename", "projects/kitchen-garden", "Projects/Garden").exit_code == 0
    moved = vault / "Projects/Garden.md"
    assert (garden.exists(), moved.exists()) == (False, True)
    # Thursday: the disk is not mounted.
    vault.rename(tmp_path / "unmounted")
    refused = run("timeline-add", "projects/garden", "Peas sown", "--date", "2026-03-10")
    assert refused.exit_code == 1
    assert "Check that the disk is mounted" in refused.stderr
    assert run("sync", "--no-embed").exit_code == 1
    (tmp_path / "unmounted").rename(vault)
    assert run("sync", "--no-embed", "--json").json["files_written"] == ["projects/garden"]
    assert "Peas sown" in moved.read_text()
    # Friday: both change the same line.
    seeds.write_bytes(seeds.read_bytes().replace(b"* radish", b"* red radish"))
    text = run("get", "projects/seed-list").stdout_bytes.replace(b"* radish", b"* black radish")
    assert run("put", "projects/seed-list", stdin=text).exit_code == 1
    assert run("conflicts", "--json").json["total"] == 1
    # Saturday: the merge, with the odd bytes of the file.
    editor(
        "start, end = text.index('<<<<<<< file'), text.index('>>>>>>> brain')\n"
        "text = text[:start] + '* red and black radish  \\r\\n' + text[end + 15 :]"
    )
    assert run("resolve", "projects/seed-list").exit_code == 0
    before = (VAULT / "Projects/Seed List.md").read_bytes()
    assert seeds.read_bytes() == before.replace(b"* radish", b"* red and black radish")
    # Sunday: a page is deleted, and everything is in step.
    assert run("delete", "inbox").exit_code == 0
    synced = run("sync", "--no-embed", "--json").json
    assert (synced["changes"], synced["problems"], synced["unchanged"]) == ([], [], 3)
    assert run("doctor", "--full").exit_code == 0


@pytest.mark.parametrize("option", ["--file", "--brain"])
def test_a_page_about_merging_can_be_resolved(run, notes: Path, option: str):
    # Its own lines look like the marks of a conflict.
    (notes / "a.md").write_text("# A\n\n<<<<<<< file\n\ntwo\n")
    assert run("put", "a", stdin=b"# A\n\n>>>>>>> brain\n\ntwo\n").exit_code == 1
    assert run("resolve", "a", option).exit_code == 0
    kept = b"<<<<<<< file" if option == "--file" else b">>>>>>> brain"
    assert kept in run("get", "a").stdout_bytes
    assert kept in (notes / "a.md").read_bytes()
    assert run("conflicts", "--json").json["total"] == 0
