"""Which changes in a folder matter, and that a folder is followed through thick and thin."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic

import pytest

from gbrain.importing.scan import ChangedPaths, _by_root, _matters, watch_folders

Rounds = Iterator[Mapping[str, ChangedPaths]]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = (tmp_path / "vault").resolve()
    (folder / "dir").mkdir(parents=True)
    (folder / "a.md").write_text("# A\n")
    return folder


@pytest.mark.parametrize(
    ("path", "removed", "expected"),
    [
        ("a.md", False, True),
        ("dir/B.MARKDOWN", False, True),
        ("notes.txt", False, False),
        ("picture.png", False, False),
        ("dir", False, True),
        ("gone", True, True),
        (".gbrainignore", False, True),
        ("dir/.gbrainignore", False, False),
        (".obsidian/workspace.md", False, False),
        (".git/index", True, False),
        ("dir/.hidden.md", False, False),
        ("", True, True),
        ("", False, False),
    ],
)
def test_only_changes_of_notes_matter(
    vault: Path, path: str, removed: bool, expected: bool
) -> None:
    full = f"{vault}/{path}" if path else str(vault)
    assert _matters(str(vault), full, removed) is expected


def test_a_folder_with_the_same_prefix_is_another_folder(vault: Path) -> None:
    assert not _matters(str(vault), f"{vault}-2/a.md", False)
    assert _by_root([str(vault), f"{vault}-2"], [f"{vault}-2/dir/a.md"]) == {
        f"{vault}-2": frozenset(["dir/a.md"])
    }


def test_a_deleted_folder_is_reported_without_its_files(vault: Path) -> None:
    root = str(vault)
    assert _by_root([root], [f"{root}/a.md", root]) == {root: None}


def wait_for(told: Rounds, wanted: Callable[[Mapping[str, ChangedPaths]], bool]) -> None:
    end = monotonic() + 30
    while monotonic() < end:
        if wanted(next(told)):
            return
    pytest.fail("nothing was told in half a minute")


def test_a_folder_is_watched_through_deletion_and_return(vault: Path) -> None:
    root = str(vault)
    told = watch_folders([root])
    assert next(told) == {root: None}
    (vault / "dir" / "b.md").write_text("# B\n")
    wait_for(told, lambda found: "dir/b.md" in (found.get(root) or ()))
    shutil.rmtree(vault)
    wait_for(told, lambda found: root in found and found[root] is None)
    vault.mkdir()
    wait_for(told, lambda found: root in found and found[root] is None)
    (vault / "c.md").write_text("# C\n")
    wait_for(told, lambda found: "c.md" in (found.get(root) or ()))


def test_a_missing_folder_is_watched_once_it_exists(vault: Path, tmp_path: Path) -> None:
    later = str(tmp_path.resolve() / "later")
    told = watch_folders([later])
    assert next(told) == {later: None}
    assert next(told) == {}
    Path(later).mkdir()
    wait_for(told, lambda found: found == {later: None})


def test_all_folders_are_read_again_when_one_of_them_leaves(vault: Path, tmp_path: Path) -> None:
    second = tmp_path.resolve() / "second"
    second.mkdir()
    roots = [str(vault), str(second)]
    everything = dict.fromkeys(roots)
    told = watch_folders(roots)
    assert next(told) == everything
    second.rename(tmp_path / "away")
    wait_for(told, lambda found: found == everything)
    (tmp_path / "away").rename(second)
    wait_for(told, lambda found: found == everything)


def test_all_files_are_read_again_after_very_many_changes(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gbrain.importing.scan._MAX_CHANGES", 2)
    told = watch_folders([str(vault)])
    assert next(told) == {str(vault): None}
    for number in range(4):
        (vault / f"{number}.md").write_text("# Note\n")
    wait_for(told, lambda found: found == {str(vault): None})
