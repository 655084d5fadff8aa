"""A week with a folder that an editor, a disk and gbrain all change: no sentence is lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from gbrain.brain import Brain
from gbrain.store.history import decompress_version

PAGES = 14


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "notes"
    folder.mkdir()
    for number in range(PAGES):
        (folder / f"note-{number}.md").write_text(f"# Note {number}\n\nFact {number} is known.\n")
    (folder / "Plan.md").write_text(
        "# Plan\n\nStart small.\n\nSee [[note-1]] and [two](note-2.md).\n"
    )
    return folder


def all_texts(brain_path: Path, *folders: Path) -> str:
    """Return every text in files, in the brain and in the history of its pages."""
    texts = [file.read_text() for folder in folders for file in folder.rglob("*.md")]
    with Brain.open(brain_path) as brain, brain.database.read_transaction() as connection:
        texts += [brain.text(page.slug) for page in brain.list()[0]]
        rows = connection.execute("SELECT content FROM versions").fetchall()
        texts += [decompress_version(content) for (content,) in rows]
    return "\n".join(texts)


def test_a_week_with_a_folder_loses_no_sentence(
    run, notes: Path, brain_path: Path, tmp_path: Path
) -> None:
    said = [f"Fact {number} is known." for number in range(PAGES)] + ["Start small."]

    def say(sentence: str) -> str:
        said.append(sentence)
        return sentence

    def append(file: Path, sentence: str) -> None:
        file.write_text(f"{file.read_text()}\n{say(sentence)}\n")

    def sync(*words: str) -> dict[str, Any]:
        return run("sync", "--no-embed", "--json", *words).json

    def is_in_step() -> bool:
        report = sync()
        return not (report["changes"] or report["problems"] or report["files_written"])

    # Monday: import, capture, and edits in both places.
    assert run("import", notes, "--no-embed").exit_code == 0
    run("capture", say("Ask Bo about the lease."))
    run("capture", say("The lease ends in May."), "--to", "plan")
    append(notes / "Plan.md", "Obsidian was here.")
    assert sync()["updated"] == 1
    # An agent writes back what it read before the file changed once more.
    read = run("get", "plan").stdout
    append(notes / "Plan.md", "Obsidian was here again.")
    put = run("put", "plan", stdin=read.replace("small.", say("small, in May.")).encode())
    assert (put.exit_code, put.stderr.splitlines()[1]) == (
        0,
        "plan was changed in its file too; both are kept.",
    )
    both = (notes / "Plan.md").read_text()
    assert "Start small, in May." in both
    assert "Obsidian was here again." in both
    assert is_in_step()

    # Tuesday: notes are renamed and moved in the file manager.
    (notes / "area").mkdir()
    (notes / "note-1.md").rename(notes / "area" / "First Fact.md")
    (notes / "note-2.md").rename(notes / "area" / "second.md")
    append(notes / "area" / "second.md", "Renamed and edited.")
    report = sync()
    assert (report["renamed"], report["old_links"]) == (1, 1)
    assert (report["created"], report["deleted"]) == (1, 1)
    assert sync("--update-links")["links_updated"] == 1
    assert "[[First Fact]]" in (notes / "Plan.md").read_text()
    assert is_in_step()

    # Wednesday: the disk is not mounted, then it lacks most files, then it is back.
    notes.rename(away := tmp_path / "away")
    assert run("sync", "--no-embed").exit_code == 1
    late = run("capture", say("Written while the disk was away."), "--to", "note-3")
    assert late.exit_code == 1
    notes.mkdir()
    (notes / "other.md").write_text(f"# Other\n\n{say('A file of the other branch.')}\n")
    stopped = run("sync", "--no-embed", "--json")
    assert (stopped.exit_code, stopped.json["created"], stopped.json["deleted"]) == (1, 1, 0)
    assert [problem["code"] for problem in stopped.json["problems"]] == ["many_missing"]
    shutil.rmtree(notes)
    away.rename(notes)
    assert sync()["files_written"] == ["note-3"]
    assert "Written while the disk was away." in (notes / "note-3.md").read_text()
    assert is_in_step()

    # Thursday: the folder moves to another place.
    home = notes.rename(tmp_path.resolve() / "Documents")
    assert run("import", home, "--no-embed", "--json").error["code"] == "folder_moved"
    assert run("folders", "move", notes, home).exit_code == 0
    # The page of the other branch, whose file nobody has seen being deleted.
    assert sync()["files_written"] == ["other"]
    assert is_in_step()

    # Friday: the same line changes in the file and in the brain.
    file = home / "note-4.md"
    file.write_text(f"# Note 4\n\n{say('The file says four.')}\n")
    both = run("put", "note-4", stdin=f"# Note 4\n\n{say('The brain says 4.')}\n".encode())
    assert both.exit_code == 1
    assert run("conflicts", "--json").json["total"] == 1
    assert "The file says four." in file.read_text()
    assert run("resolve", "note-4", "--brain").exit_code == 0
    assert "The brain says 4." in file.read_text()

    # Saturday: a page is deleted, brought back, and a change is taken back.
    assert run("delete", "note-5").exit_code == 0
    assert not (home / "note-5.md").exists()
    assert run("undo", "note-5").exit_code == 0
    run("put", "note-6", stdin=f"# Note 6\n\n{say('A mistake.')}\n".encode())
    assert run("undo", "note-6").exit_code == 0
    assert "Fact 6 is known." in (home / "note-6.md").read_text()
    assert "Fact 5 is known." in (home / "note-5.md").read_text()

    # Sunday: everything is in step, and no sentence is lost.
    assert is_in_step()
    assert run("doctor", "--full").exit_code == 0
    texts = all_texts(brain_path, home)
    assert len(said) > PAGES
    assert [sentence for sentence in said if sentence not in texts] == []
