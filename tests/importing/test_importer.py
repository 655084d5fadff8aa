"""Folders into the brain: only what changed, nothing lost on either side, all bad files named."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.errors import BadPage, GbrainError, NotFound
from gbrain.importing.import_report import ImportReport
from gbrain.importing.importer import import_folder


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    write(folder, {"a.md": "# A\n", "dir/b.md": "# B\n", "notes.txt": "no page"})
    return folder


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def did(report: ImportReport) -> list[tuple[str, str]]:
    return [(change.action, change.slug) for change in report.changes]


def wrong(report: ImportReport) -> dict[str, str]:
    return {problem.path: problem.code for problem in report.problems}


def slugs(brain: Brain) -> list[str]:
    return [page.slug for page in brain.list()[0]]


def state(brain: Brain) -> list[object]:
    with brain.database.read_transaction() as connection:
        tables = ("pages", "versions", "chunks", "names", "links", "tags", "vaults")
        return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]


def test_a_second_import_changes_nothing(brain: Brain, vault: Path) -> None:
    assert did(brain.import_folder(vault)) == [("create", "a"), ("create", "dir/b")]
    before = state(brain)
    again = brain.import_folder(vault)
    assert (again.changes, again.unchanged, again.problems) == ([], 2, [])
    assert state(brain) == before


@pytest.mark.parametrize("spelling", ["vault/", "./vault", "vault/../vault", "dir/../vault"])
def test_different_spellings_of_a_path_are_one_folder(
    brain: Brain, vault: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    monkeypatch.chdir(vault.parent)
    (vault.parent / "dir").mkdir()
    brain.import_folder(vault)
    assert brain.import_folder(Path(spelling)).changes == []
    assert len(brain.folder_roots()) == 1


def test_a_changed_file_is_a_new_version(brain: Brain, vault: Path) -> None:
    brain.import_folder(vault)
    write(vault, {"a.md": "# A2\n"})
    assert did(brain.import_folder(vault)) == [("update", "a")]
    assert (brain.text("a"), brain.get("a").version) == ("# A2\n", 2)


def test_sync_deletes_pages_of_deleted_files_import_keeps_them(brain: Brain, vault: Path) -> None:
    brain.import_folder(vault)
    (vault / "a.md").unlink()
    assert brain.import_folder(vault).changes == []
    assert did(brain.import_folder(vault, remove_missing=True)) == [("delete", "a")]
    assert slugs(brain) == ["dir/b"]
    assert brain.text("a", 1) == "# A\n"


def test_sync_never_deletes_a_page_without_a_file(brain: Brain, vault: Path) -> None:
    brain.import_folder(vault)
    brain.put("mine", b"# Mine\n")
    brain.import_folder(vault, remove_missing=True)
    assert "mine" in slugs(brain)


def test_a_change_on_both_sides_is_reported_once_and_kept(brain: Brain, vault: Path) -> None:
    brain.import_folder(vault)
    brain.put("a", b"# Mine\n")
    assert brain.import_folder(vault).changes == []
    write(vault, {"a.md": "# Theirs\n"})
    report = brain.import_folder(vault)
    assert (did(report), wrong(report)) == ([("update", "a")], {"a.md": "both_changed"})
    assert (brain.text("a"), brain.text("a", 2)) == ("# Theirs\n", "# Mine\n")
    assert [(c.slug, c.version) for c in brain.conflicts()] == [("a", 2)]
    again = brain.import_folder(vault)
    assert (again.unchanged, again.problems, len(brain.conflicts())) == (2, [], 1)


def test_overwrite_takes_the_file_without_a_conflict(brain: Brain, vault: Path) -> None:
    brain.import_folder(vault)
    brain.put("a", b"# Mine\n")
    write(vault, {"a.md": "# Theirs\n"})
    assert did(brain.import_folder(vault, overwrite=True)) == [("update", "a")]
    assert (brain.text("a"), brain.text("a", 2)) == ("# Theirs\n", "# Mine\n")
    assert (brain.import_folder(vault).unchanged, brain.conflicts()) == (2, [])


def meanwhile(brain: Brain, act: Callable[[Brain], object]) -> Callable[[int, int], None]:
    """A progress that lets another program act when the first file is about to be read."""

    def progress(done: int, total: int) -> None:
        if done == 1:
            with Brain.open(brain.database.path) as other:
                act(other)

    return progress


def test_a_write_during_an_import_is_not_lost(brain: Brain, vault: Path) -> None:
    brain.import_folder(vault)
    write(vault, {"a.md": "# Theirs\n", "dir/b.md": "# Theirs too\n", "c.md": "# New\n"})
    report = brain.import_folder(
        vault, progress=meanwhile(brain, lambda other: other.put("a", b"# Mine\n"))
    )
    assert (did(report), wrong(report)) == (
        [("update", "a"), ("create", "c"), ("update", "dir/b")],
        {"a.md": "both_changed"},
    )
    assert (brain.text("a"), brain.text("a", 2)) == ("# Theirs\n", "# Mine\n")


def test_a_page_put_during_its_first_import_is_not_lost(brain: Brain, vault: Path) -> None:
    report = brain.import_folder(
        vault, progress=meanwhile(brain, lambda other: other.put("a", b"# Mine\n"))
    )
    assert wrong(report) == {"a.md": "both_changed"}
    assert (brain.text("a"), brain.text("a", 1)) == ("# A\n", "# Mine\n")


@pytest.mark.parametrize(
    ("act", "left", "problems"),
    [
        (lambda other: other.put("dir/b", b"# Mine\n"), ["a", "dir/b"], ["both_changed"]),
        (lambda other: other.delete("dir/b"), ["a"], []),
        (lambda other: other.rename("dir/b", "mine"), ["a", "mine"], []),
    ],
)
def test_a_page_changed_before_sync_deletes_it_is_kept(
    brain: Brain, vault: Path, act: Callable[[Brain], object], left: list[str], problems: list[str]
) -> None:
    brain.import_folder(vault)
    (vault / "dir/b.md").unlink()
    report = brain.import_folder(vault, remove_missing=True, progress=meanwhile(brain, act))
    assert (slugs(brain), list(wrong(report).values())) == (left, problems)


def test_the_same_change_on_both_sides_is_no_conflict(brain: Brain, vault: Path) -> None:
    brain.import_folder(vault)
    brain.put("a", b"# Same\n")
    write(vault, {"a.md": "# Same\n"})
    assert brain.import_folder(vault).problems == []
    assert brain.get("a").version == 2
    write(vault, {"a.md": "# Next\n"})
    assert brain.import_folder(vault).problems == []


def test_a_page_changed_in_the_brain_outlives_its_file(brain: Brain, vault: Path) -> None:
    brain.import_folder(vault)
    brain.put("a", b"# Mine\n")
    (vault / "a.md").unlink()
    report = brain.import_folder(vault, remove_missing=True)
    assert (did(report), wrong(report)) == ([], {"a.md": "both_changed"})
    assert brain.text("a") == "# Mine\n"


def test_a_page_put_by_hand_and_its_file_are_a_conflict(brain: Brain, vault: Path) -> None:
    brain.put("a", b"# Mine\n")
    assert wrong(brain.import_folder(vault)) == {"a.md": "both_changed"}
    assert (brain.text("a"), brain.text("a", 1)) == ("# A\n", "# Mine\n")
    assert [c.slug for c in brain.conflicts()] == ["a"]


@pytest.mark.parametrize("sides", ["file", "brain"])
def test_a_merge_gives_a_page_no_wing_that_neither_side_gave_it(
    brain: Brain, vault: Path, sides: str
) -> None:
    """Tokens may be limited to a wing: front matter that becomes text would show a page to them."""
    text = "---\ntitle: Plan\ntags: [a]\n---\n\n# Plan\n\nOne.\n\nTwo.\n"
    write(vault, {"projects/m.md": text})
    brain.import_folder(vault)
    private = text.replace("tags", "wing: private\ntags") + "\nSecret.\n"
    moved = f"\n# Mine\n\n{text}"
    brain.put("projects/m", (moved if sides == "file" else private).encode())
    write(vault, {"projects/m.md": private if sides == "file" else moved})
    assert brain.import_folder(vault).conflicts == ["projects/m"]
    assert ("Secret" in brain.text("projects/m")) == (brain.get("projects/m").wing == "private")


def test_a_page_and_a_file_that_never_agreed_are_not_merged(brain: Brain, vault: Path) -> None:
    """An agent put a page where its owner writes a diary: neither text may show in the other."""
    entry = "- 2026-01-02 — Mine"
    text = f"---\nwing: projects\n---\n# Diary\n\n## Timeline\n\n{entry}\n"
    brain.put("diary", text.encode())
    write(vault, {"diary.md": "# Diary\n\n## Timeline\n\n- 2026-03-04 — Secret\n"})
    report = brain.import_folder(vault)
    assert report.conflicts == ["diary"]
    assert brain.text("diary") == (vault / "diary.md").read_text()
    assert brain.get("diary").wing != "projects"
    assert "Mine" in brain.text("diary", 1)


def test_files_of_two_folders_never_share_a_page(brain: Brain, vault: Path, tmp_path: Path) -> None:
    write(tmp_path / "other", {"a.md": "# Other A\n", "c.md": "# C\n"})
    brain.import_folder(vault)
    report = brain.import_folder(tmp_path / "other")
    assert did(report) == [("create", "c")]
    assert list(wrong(report)) == ["a.md"]
    assert brain.text("a") == "# A\n"


def test_files_of_two_folders_that_share_a_slug_are_a_collision(
    brain: Brain, vault: Path, tmp_path: Path
) -> None:
    write(tmp_path / "other", {"a.md": "# Other A\n"})
    brain.import_folder(vault)
    assert wrong(brain.import_folder(tmp_path / "other")) == {"a.md": "slug_collision"}


def test_the_first_of_two_files_with_one_slug_is_imported(brain: Brain, vault: Path) -> None:
    write(vault, {"My Page.md": "one", "my-page.md": "two", "MY PAGE.markdown": "three"})
    report = brain.import_folder(vault)
    assert wrong(report) == {"My Page.md": "slug_collision", "my-page.md": "slug_collision"}
    assert brain.text("my-page") == "three"
    again = brain.import_folder(vault, remove_missing=True)
    assert (again.changes, wrong(again)) == ([], wrong(report))


def test_a_file_renamed_in_case_only_keeps_its_page(brain: Brain, vault: Path) -> None:
    brain.import_folder(vault)
    (vault / "a.md").rename(vault / "A.md")
    assert did(brain.import_folder(vault, remove_missing=True)) == [("update", "a")]
    assert (brain.get("a").path, brain.get("a").version) == ("A.md", 2)


def test_a_dry_run_changes_nothing(brain: Brain, vault: Path) -> None:
    before = state(brain)
    assert did(brain.import_folder(vault, dry_run=True)) == [("create", "a"), ("create", "dir/b")]
    assert state(brain) == before
    brain.import_folder(vault)
    before = state(brain)
    write(vault, {"dir/b.md": "# B2\n", "c.md": "# C\n"})
    (vault / "a.md").unlink()
    report = brain.import_folder(vault, remove_missing=True, dry_run=True)
    assert did(report) == [("create", "c"), ("update", "dir/b"), ("delete", "a")]
    assert state(brain) == before


def test_an_empty_folder_does_not_empty_the_brain(brain: Brain, vault: Path) -> None:
    brain.import_folder(vault)
    for name in ("a.md", "dir/b.md"):
        (vault / name).unlink()
    with pytest.raises(BadPage) as caught:
        brain.import_folder(vault, remove_missing=True)
    assert caught.value.code == "vault_empty"
    assert slugs(brain) == ["a", "dir/b"]


def test_a_missing_folder_is_an_error(brain: Brain, vault: Path) -> None:
    for path in (vault / "none", vault / "a.md"):
        with pytest.raises(NotFound) as caught:
            brain.import_folder(path)
        assert caught.value.code == "no_folder"


def test_hidden_folders_and_ignored_files_are_left_out(brain: Brain, vault: Path) -> None:
    write(
        vault,
        {
            ".obsidian/x.md": "x",
            "logseq/bak/pages/a.md": "an earlier a",
            "notes/logseq/bak/b.md": "an earlier b",
            "logseq/bakery.md": "bread",
            ".git/y.md": "y",
            ".hidden.md": "z",
            "drafts/d.md": "d",
            "drafts/keep.md": "k",
            "tmp/deep/t.md": "t",
            "secret.md": "s",
            ".gbrainignore": "# comment\n\nsecret.md\ntmp/\ndrafts/*\n!drafts/keep.md\n",
        },
    )
    brain.import_folder(vault)
    assert slugs(brain) == ["a", "dir/b", "drafts/keep", "logseq/bakery"]


@pytest.mark.parametrize(
    "rules", [b"!\n", b"a\\\n", b"[\n", b"[]-[]\n", b"\xff\xfe\n", b"/\n", b"\\\n"]
)
def test_odd_ignore_rules_never_crash(brain: Brain, vault: Path, rules: bytes) -> None:
    (vault / ".gbrainignore").write_bytes(rules)
    try:
        brain.import_folder(vault)
    except GbrainError:
        assert slugs(brain) == []
    else:
        assert slugs(brain) == ["a", "dir/b"]


@pytest.mark.parametrize(
    ("rules", "folder"),
    [
        ("\ufeffprivate/\n".encode(), "private"),
        ("private/\n".encode("utf-16"), "private"),
        ("priv\u00e9/\n".encode(), "prive\u0301"),
        ("prive\u0301/\n".encode(), "priv\u00e9"),
        (b"priv[[:alpha:]]te/\n", "private"),
        (b"one\rprivate/\r", "private"),
    ],
)
def test_a_private_folder_is_never_imported(
    brain: Brain, vault: Path, rules: bytes, folder: str
) -> None:
    write(vault, {f"{folder}/secret.md": "# Secret\n"})
    (vault / ".gbrainignore").write_bytes(rules)
    with suppress(GbrainError):
        brain.import_folder(vault)
    assert [slug for slug in slugs(brain) if "secret" in slug] == []


def test_unreadable_ignore_rules_stop_the_import(brain: Brain, vault: Path) -> None:
    (vault / ".gbrainignore").mkdir()
    with pytest.raises(GbrainError) as caught:
        brain.import_folder(vault)
    assert caught.value.code == "bad_ignore_file"
    assert slugs(brain) == []


@pytest.mark.parametrize("kind", ["pipe", "endless", "outside", "huge"])
def test_special_huge_or_outside_ignore_files_are_refused(
    brain: Brain, vault: Path, tmp_path: Path, kind: str
) -> None:
    file = vault / ".gbrainignore"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "endless":
        file.symlink_to("/dev/zero")
    elif kind == "outside":
        (tmp_path / "elsewhere").write_text("a.md\n")
        file.symlink_to(tmp_path / "elsewhere")
    else:
        file.write_bytes(b"a.md\n" * 200_001)
    with pytest.raises(GbrainError) as caught:
        brain.import_folder(vault)
    assert caught.value.code == "bad_ignore_file"
    assert slugs(brain) == []


def test_ignore_rules_may_be_a_symlink_in_the_folder(brain: Brain, vault: Path) -> None:
    write(vault, {"rules.txt": "a.md\n"})
    (vault / ".gbrainignore").symlink_to("rules.txt")
    brain.import_folder(vault)
    assert slugs(brain) == ["dir/b"]


def unreadable(folder: Path) -> None:
    folder.chmod(0)
    try:
        os.listdir(folder)
    except OSError:
        return
    folder.chmod(0o700)
    pytest.skip("this user may read every folder")


def test_pages_of_an_unreadable_subfolder_are_kept(brain: Brain, vault: Path) -> None:
    brain.import_folder(vault)
    (vault / "a.md").unlink()
    write(vault, {"c.md": "# C\n"})
    unreadable(vault / "dir")
    try:
        report = brain.import_folder(vault, remove_missing=True)
    finally:
        (vault / "dir").chmod(0o700)
    assert wrong(report) == {"dir/": "cannot_read"}
    assert did(report) == [("create", "c"), ("delete", "a")]
    assert slugs(brain) == ["c", "dir/b"]


def test_pages_of_a_subfolder_too_deep_are_kept(brain: Brain, vault: Path) -> None:
    """A folder beyond the system's longest path fails for every user, root too."""
    brain.import_folder(vault)
    deep = ("d" * 250 + "/") * 20
    here = os.open(vault, os.O_RDONLY)
    try:
        for name in deep.split("/")[:-1]:
            os.mkdir(name, dir_fd=here)
            inside = os.open(name, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inside
    finally:
        os.close(here)
    with brain.database.write_transaction() as connection:
        connection.execute("UPDATE pages SET path = ? WHERE slug = 'a'", (f"{deep}a.md",))
    (vault / "a.md").unlink()
    report = brain.import_folder(vault, remove_missing=True)
    assert set(wrong(report).values()) == {"cannot_read"}
    assert did(report) == []
    assert slugs(brain) == ["a", "dir/b"]


def test_symlinks_out_of_the_folder_are_not_imported(
    brain: Brain, vault: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "o.md").write_text("outside")
    (vault / "inside.md").symlink_to(vault / "a.md")
    (vault / "leaves.md").symlink_to(tmp_path / "secret.md")
    (vault / "nowhere.md").symlink_to(tmp_path / "none.md")
    (vault / "loop.md").symlink_to(vault / "loop.md")
    (vault / "folder").symlink_to(tmp_path / "outside")
    (vault / "round").symlink_to(vault)
    report = brain.import_folder(vault)
    assert slugs(brain) == ["a", "dir/b", "inside"]
    assert wrong(report) == dict.fromkeys(("leaves.md", "loop.md", "nowhere.md"), "outside")


def test_special_files_are_reported_and_never_opened(brain: Brain, vault: Path) -> None:
    os.mkfifo(vault / "pipe.md")
    assert wrong(brain.import_folder(vault)) == {"pipe.md": "not_a_file"}


def test_a_bad_file_blocks_no_other_and_keeps_its_page(brain: Brain, vault: Path) -> None:
    brain.import_folder(vault)
    (vault / "a.md").write_bytes(b"\xff\xfe")
    write(vault, {"z.md": "# Z\n"})
    report = brain.import_folder(vault, remove_missing=True)
    assert (did(report), wrong(report)) == ([("create", "z")], {"a.md": "not_utf8"})
    assert brain.text("a") == "# A\n"


def test_many_pages_are_written_in_several_batches(brain: Brain, tmp_path: Path) -> None:
    write(tmp_path / "many", {f"{n:03}.md": f"# Page {n}\n" for n in range(450)})
    seen: list[tuple[int, int]] = []
    report = brain.import_folder(
        tmp_path / "many", progress=lambda done, total: seen.append((done, total))
    )
    assert report.count("create") == brain.list()[1] == 450
    assert seen == [(n, 450) for n in range(1, 451)]


def test_changed_and_new_pages_are_queued_for_embedding(brain: Brain, vault: Path) -> None:
    brain.import_folder(vault)
    with brain.database.write_transaction() as connection:
        connection.execute("DELETE FROM embedding_jobs")
    # The newest passage goes, so that the next ones get its number.
    write(vault, {"dir/b.md": "# B\n\nNew words.\n", "e.md": "# E\n"})
    brain.import_folder(vault)
    with brain.database.read_transaction() as connection:
        waiting = connection.execute(
            "SELECT slug FROM embedding_jobs JOIN chunks USING (hash) "
            "JOIN pages ON pages.id = chunks.page_id ORDER BY slug"
        ).fetchall()
    assert waiting == [("dir/b",), ("e",)]


def test_a_symlinked_page_is_updated_with_its_target(brain: Brain, vault: Path) -> None:
    (vault / "link.md").symlink_to(vault / "a.md")
    brain.import_folder(vault)
    write(vault, {"a.md": "# A2\n"})
    report = import_folder(brain.database, vault, "2026-11-16T12:00:00Z", changed=["a.md"])
    assert did(report) == [("update", "a"), ("update", "link")]
