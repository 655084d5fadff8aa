"""Renamed and moved files keep their pages, and a folder without its files keeps them all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.importing.import_report import ImportReport

LONG = "\n".join(f"Paragraph {n} says that river {n} freezes in week {n}." for n in range(20))


@pytest.fixture
def notes(tmp_path: Path, brain: Brain) -> Path:
    folder = tmp_path / "notes"
    for name in ("a", "b", "c"):
        write(folder / f"{name}.md", f"# {name.upper()}\n\n{LONG.replace('river', name)}\n")
    brain.allow_writing(folder)
    brain.import_folder(folder)
    return folder


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def sync(brain: Brain, folder: Path, *, dry_run: bool = False) -> ImportReport:
    return brain.import_folder(folder, remove_missing=True, dry_run=dry_run)


def put_without_file(brain: Brain, slug: str, text: str) -> None:
    """Write a page while its file cannot be written."""
    for value in ("off", "on"):
        brain.set("write_through", value)
        brain.reload_settings()
        if value == "off":
            brain.put(slug, text.encode())


def did(report: ImportReport) -> list[tuple[str, str, str | None]]:
    return [(change.action, change.slug, change.old_slug) for change in report.changes]


def slugs(brain: Brain) -> list[str]:
    return [page.slug for page in brain.list()[0]]


@pytest.mark.parametrize("new", ["z.md", "dir/a.md", "dir/deeper/Z.md"])
def test_a_renamed_file_keeps_its_history_and_vectors(brain: Brain, notes: Path, new: str) -> None:
    write(notes / "a.md", f"# A\n\nSecond text.\n\n{LONG}\n")
    sync(brain, notes)
    brain.embed()
    before = [brain.text("a", version.version) for version in brain.history("a")]
    (notes / new).parent.mkdir(parents=True, exist_ok=True)
    (notes / "a.md").rename(notes / new)
    slug = new.lower().removesuffix(".md")
    planned = sync(brain, notes, dry_run=True)
    report = sync(brain, notes)
    assert did(report) == did(planned) == [("rename", slug, "a")]
    assert report.summary() == "0 new, 0 changed, 2 unchanged, 1 renamed."
    assert slugs(brain) == sorted(["b", "c", slug])
    after = [brain.text(slug, version.version) for version in brain.history(slug)]
    assert after[: len(before)] == before
    assert brain.count_due_jobs() == 0
    assert not sync(brain, notes).changes


def test_a_file_renamed_with_a_small_edit_keeps_its_history(brain: Brain, notes: Path) -> None:
    text = (notes / "a.md").read_text()
    (notes / "a.md").unlink()
    write(notes / "z.md", f"{text}\nOne more sentence.\n")
    assert did(sync(brain, notes)) == [("rename", "z", "a"), ("update", "z", None)]
    assert brain.text("z").endswith("One more sentence.\n")
    assert text in [brain.text("z", version.version) for version in brain.history("z")]


def test_all_files_moved_into_a_folder_are_renamed(brain: Brain, notes: Path) -> None:
    for number in range(30):
        write(notes / f"n{number}.md", f"# Note {number}\n")
    write(notes / "x" / "same.md", "# The same\n")
    write(notes / "y" / "other.md", "# The same\n")
    sync(brain, notes)
    shutil.move(notes, notes.with_name("old"))
    notes.mkdir()
    shutil.move(notes.with_name("old"), notes / "inside")
    report = sync(brain, notes)
    assert report.count("rename") == len(report.changes) == 35
    assert not report.problems
    found = slugs(brain)
    assert len(found) == 35
    assert all(slug.startswith("inside/") for slug in found)


def test_files_that_could_be_two_pages_are_no_renames(brain: Brain, notes: Path) -> None:
    for name in ("one", "two"):
        write(notes / f"{name}.md", "# The same\n")
    sync(brain, notes)
    for name in ("one", "two"):
        write(notes / f"{name}-new.md", "# The same\n")
        (notes / f"{name}.md").unlink()
    assert sorted(did(sync(brain, notes))) == [
        ("create", "one-new", None),
        ("create", "two-new", None),
        ("delete", "one", None),
        ("delete", "two", None),
    ]


def test_files_that_are_moved_unchanged_are_told_apart_by_themselves(
    brain: Brain, notes: Path
) -> None:
    for name in ("one", "two"):
        write(notes / f"{name}.md", "# The same\n")
    sync(brain, notes)
    for name in ("one", "two"):
        (notes / f"{name}.md").rename(notes / f"{name}-new.md")
    assert did(sync(brain, notes)) == [
        ("rename", "one-new", "one"), ("rename", "two-new", "two"),
    ]  # fmt: skip


TEMPLATE = "# Meeting\n\n" + "\n".join(f"Question {n} of the agenda, and who:" for n in range(9))


@pytest.mark.parametrize("other", [True, False], ids=["beside others", "alone"])
def test_a_new_note_of_a_template_gets_no_other_history(
    brain: Brain, notes: Path, other: bool
) -> None:
    if other:
        write(notes / "meeting-1.md", f"{TEMPLATE}\nAnn and Bo.\n")
    write(notes / "meeting-2.md", f"{TEMPLATE}\nA secret of Cy, told over a long dinner in May.\n")
    sync(brain, notes)
    (notes / "meeting-2.md").unlink()
    write(notes / "meeting-3.md", f"{TEMPLATE}\nDi and Ed.\n")
    assert sorted(did(sync(brain, notes))) == [
        ("create", "meeting-3", None), ("delete", "meeting-2", None),
    ]  # fmt: skip


def test_an_unfilled_template_that_others_had_is_no_rename(brain: Brain, notes: Path) -> None:
    for name in ("one", "two"):
        write(notes / f"{name}.md", TEMPLATE)
        sync(brain, notes)
    write(notes / "one.md", f"{TEMPLATE}\nFilled.\n")
    sync(brain, notes)
    (notes / "two.md").unlink()
    write(notes / "three.md", TEMPLATE)
    assert sorted(did(sync(brain, notes))) == [("create", "three", None), ("delete", "two", None)]


def test_the_next_daily_note_is_not_a_rename(brain: Brain, notes: Path) -> None:
    write(notes / "2026-03-01.md", f"# Day\n\n{LONG}\n")
    sync(brain, notes)
    (notes / "2026-03-01.md").unlink()
    write(notes / "2026-03-02.md", f"# Day\n\n{LONG}\nMore.\n")
    assert sorted(did(sync(brain, notes))) == [
        ("create", "2026-03-02", None),
        ("delete", "2026-03-01", None),
    ]


def test_a_file_renamed_while_its_page_changed_gets_both(brain: Brain, notes: Path) -> None:
    text = (notes / "a.md").read_text()
    (notes / "a.md").rename(notes / "z.md")
    put_without_file(brain, "a", f"{text}\nFrom the brain.\n")
    assert did(sync(brain, notes)) == [("rename", "z", "a")]
    assert (notes / "z.md").read_text() == brain.text("z") == f"{text}\nFrom the brain.\n"
    assert not (notes / "a.md").exists()


def test_links_to_a_renamed_page_are_updated_when_asked(brain: Brain, notes: Path) -> None:
    write(notes / "d.md", "# D\n\nSee [[a]] and [the first](a.md), not `[[a]]`.\n")
    write(notes / "e.md", "# E\n\n[[A#Part]] without a line end")
    sync(brain, notes)
    (notes / "dir").mkdir()
    (notes / "a.md").write_text((notes / "a.md").read_text().replace("# A", "# River"))
    sync(brain, notes)
    (notes / "a.md").rename(notes / "dir" / "River Facts.md")
    report = sync(brain, notes)
    assert report.old_links == 3
    assert report.summary().endswith(
        "1 renamed. 3 links point to the old name: gbrain sync --update-links"
    )
    updated = brain.import_folder(notes, remove_missing=True, update_links=True)
    assert updated.summary().endswith("3 links updated.")
    assert (
        (notes / "d.md").read_text()
        == brain.text("d")
        == ("# D\n\nSee [[River Facts]] and [the first](dir/River%20Facts.md), not `[[a]]`.\n")
    )
    assert (notes / "e.md").read_text() == "# E\n\n[[River Facts#Part]] without a line end"
    assert [link.slug for link in brain.links("d")] == ["dir/river-facts"] * 2
    again = brain.import_folder(notes, remove_missing=True, update_links=True)
    assert (again.changes, again.links_updated) == ([], 0)


@pytest.mark.parametrize("agreed", [True, False])
def test_links_to_a_page_whose_rename_was_guessed_are_asked_about(
    brain: Brain, notes: Path, agreed: bool
) -> None:
    write(notes / "d.md", "See [[a]] and [[b]].\n")
    sync(brain, notes)
    text = (notes / "a.md").read_text()
    (notes / "a.md").unlink()
    write(notes / "z.md", f"{text}\nOne more sentence.\n")
    (notes / "b.md").rename(notes / "y.md")
    asked = []

    def confirm(old: str, new: str) -> bool:
        asked.append((old, new))
        return agreed

    brain.confirm_rename = confirm
    report = brain.import_folder(notes, remove_missing=True, update_links=True)
    assert asked == [("a", "z.md")]
    assert report.links_updated == 1 + agreed
    assert (notes / "d.md").read_text() == f"See [[{'z' if agreed else 'a'}]] and [[y]].\n"
    endings = {slug: [v.ending for v in brain.history(slug)] for slug in ("y", "z")}
    assert endings == {"y": ["renamed", None], "z": ["guessed", "replaced", None]}


# --- folders that lack their files -----------------------------------------------------------


@pytest.fixture
def many(brain: Brain, notes: Path) -> Path:
    for number in range(30):
        write(notes / f"n{number}.md", f"# Note {number}\n")
    sync(brain, notes)
    return notes


def test_sync_does_not_follow_a_folder_without_most_files(brain: Brain, many: Path) -> None:
    for number in range(20):
        (many / f"n{number}.md").unlink()
    write(many / "new.md", "# New and different\n")
    write(many / "n25.md", "# Changed\n")
    before = slugs(brain)
    for pages in (33, 34):
        report = sync(brain, many)
        assert [problem.code for problem in report.problems] == ["many_missing"]
        assert f"20 of {pages} pages have no file any more" in report.problems[0].reason
        assert report.count("delete") == 0
    assert slugs(brain) == sorted([*before, "new"])
    assert brain.text("n25") == "# Changed\n"
    agreed = brain.import_folder(many, remove_missing=True, remove_many=True)
    assert (agreed.count("delete"), agreed.problems) == (20, [])
    assert not sync(brain, many).changes


def test_an_edit_is_not_written_into_a_folder_without_its_files(brain: Brain, many: Path) -> None:
    put_without_file(brain, "n1", "# Note 1\n\nFrom the brain.\n")
    for file in many.glob("n*.md"):
        file.unlink()
    assert [problem.code for problem in sync(brain, many).problems] == ["many_missing"]
    assert not (many / "n1.md").exists()
    assert brain.text("n1").endswith("From the brain.\n")


def test_a_few_deleted_files_are_followed(brain: Brain, many: Path) -> None:
    for number in range(10):
        (many / f"n{number}.md").unlink()
    report = sync(brain, many)
    assert (report.count("delete"), report.problems) == (10, [])
