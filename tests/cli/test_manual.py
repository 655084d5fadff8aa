"""The man pages in the repository are the ones that the commands make."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gbrain.cli.app import COMMANDS
from gbrain.cli.manual import manual_pages
from gbrain.config import known_settings

MAN = Path(__file__).parents[2] / "man"


def test_the_pages_on_file_are_up_to_date() -> None:
    on_file = {str(p.relative_to(MAN)): p.read_text() for p in MAN.rglob("*.[15]")}
    assert on_file == manual_pages(), "run: python -m gbrain.cli.manual man"


def test_there_is_a_page_for_every_command_and_a_line_for_every_setting() -> None:
    pages = manual_pages()
    assert {f"man1/gbrain-{name}.1" for name in COMMANDS} <= set(pages)
    for setting in known_settings():
        assert setting.replace("-", r"\-") in pages["man5/gbrain-config.5"]


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_man_renders_the_pages_without_warnings() -> None:
    for path in sorted(MAN.rglob("*.[15]")):
        shown = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", str(path)],
            capture_output=True,
            text=True,
            check=True,
            env={"PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"},
        )
        assert shown.stderr == "", path.name
        assert "NAME" in shown.stdout
