"""Locks around brain files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gbrain.store import brain_files


@pytest.mark.skipif(os.name != "posix", reason="locks nothing")
def test_a_lock_file_that_cannot_be_created_again_is_closed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    def remove_folder(_handle: int, file: Path) -> bool:
        file.unlink()
        folder.rmdir()
        return False

    monkeypatch.setattr(brain_files, "_has_name", remove_folder)
    with brain_files.exclusive_lock(folder / "lock"):
        pass
    assert not folder.exists()
