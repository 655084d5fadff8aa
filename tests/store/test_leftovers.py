"""What killed processes left: found by the next one, however far it got with clearing up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gbrain.store.leftovers import unfinished

ENDINGS = ("", "-journal", "-wal", "-shm")
NO_PROCESS = 2**31


def test_it_is_named_after_what_it_becomes_and_who_makes_it(tmp_path: Path) -> None:
    assert unfinished(tmp_path / "a.db") == tmp_path / f".a.db.{os.getpid()}.gbrain-new"


def test_a_folder_that_is_not_there_holds_nothing_to_clear(tmp_path: Path) -> None:
    assert unfinished(tmp_path / "none" / "a.db").parent == tmp_path / "none"


@pytest.mark.parametrize("removed", range(len(ENDINGS)))
def test_whoever_is_killed_while_clearing_up_leaves_it_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removed: int
) -> None:
    for ending in ENDINGS:
        (tmp_path / f".a.db.{NO_PROCESS}.gbrain-new{ending}").touch()
    unlink, left = os.unlink, [None] * removed

    def killed(path: str) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        unlink(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            unfinished(tmp_path / "b.db")
    assert len(list(tmp_path.iterdir())) == len(ENDINGS) - removed
    unfinished(tmp_path / "b.db")
    assert list(tmp_path.iterdir()) == []
