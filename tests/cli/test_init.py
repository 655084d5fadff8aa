"""`demo`: a brain of its own, never somebody's."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.conftest import Run


def test_a_brain_that_is_there_is_not_filled_with_the_sample(
    run: Run, brain_path: Path, tmp_path: Path
) -> None:
    run("put", "mine", stdin=b"# Mine\n")
    shutil.copy(brain_path, tmp_path / "kept.db")
    ran = run("demo", "--keep", tmp_path / "kept.db")
    assert ran.exit_code == 2
    assert f"{tmp_path / 'kept.db'} already exists" in ran.stderr
    assert (tmp_path / "kept.db").read_bytes() == brain_path.read_bytes()


def test_a_kept_demo_does_not_offer_to_write_into_the_package(run, tmp_path):
    run("demo", "--keep", tmp_path / "demo.db")
    assert run("folders", "--json", "--db", tmp_path / "demo.db").json == {"folders": []}
    put = run("put", "new", "--db", tmp_path / "demo.db", stdin=b"# New\n")
    assert put.stderr == "new: created, version 1\n"
