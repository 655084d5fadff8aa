"""`gbrain ui`: the address it prints and opens, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest


@contextmanager
def start(*words: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "gbrain", "ui", *words],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_ui_serves_the_page_until_ctrl_c(sample: Path) -> None:
    with start("--no-browser") as process:
        assert process.stdout
        address = process.stdout.readline().strip()
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+/)#code=[\w-]{40,}", address)
        assert found
        with urlopen(found[1]) as page:
            assert b'<script src="app.js" type="module">' in page.read()
        with pytest.raises(HTTPError, match="401"):
            urlopen(f"{found[1]}api/stats")
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=20)
    assert (out, process.returncode) == ("", 130)
    assert said == "Open this address in your browser.\n"


def test_ui_opens_the_browser(sample: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{tmp_path}/opened"\n')
    browser.chmod(0o755)
    with start(BROWSER=str(browser)) as process:
        assert process.stdout
        assert process.stderr
        address = process.stdout.readline()
        said = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert process.returncode == 130
    assert said == "Press Ctrl-C to stop.\n"
    assert (tmp_path / "opened").read_text() == address


def test_ui_without_a_brain_opens_nothing(tmp_path: Path) -> None:
    with start(GBRAIN_DB=str(tmp_path / "none.db")) as process:
        out, said = process.communicate(timeout=20)
    assert (out, process.returncode) == ("", 1)
    assert said.startswith("Error: There is no brain at")
