"""A served brain and a headless Chromium, for the tests of the page in the browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

# The shell draws pages without a window around them: a third of the processor time.
CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser")
CHROMIUM = next(filter(None, map(shutil.which, CHROMIUMS)), None)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()
PROGRAM = [sys.executable, "-m", "gbrain"]
NOON = "2026-11-16T12:00:00"


@dataclass(frozen=True, slots=True)
class Served:
    """A brain that `gbrain ui` serves: its address with the one-time code, and a token for it."""

    address: str
    token: str
    environment: dict[str, str]

    @property
    def url(self) -> str:
        return self.address.partition("#")[0]

    def run(self, *words: str) -> str:
        """Run a command on the brain and return what it prints."""
        ran = subprocess.run(
            [*PROGRAM, *words], env=self.environment, capture_output=True, text=True, check=True
        )
        return ran.stdout

    def put(self, slug: str, text: str) -> None:
        """Write a page as another program would."""
        body = json.dumps({"content": text}).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = Request(f"{self.url}api/pages/{slug}", body, headers, method="PUT")
        with urlopen(request) as answer:
            assert answer.status == 200

    def text(self, slug: str) -> str:
        headers = {"Authorization": f"Bearer {self.token}"}
        with urlopen(Request(f"{self.url}api/pages/{slug}", headers=headers)) as answer:
            return str(json.load(answer)["text"])


@contextmanager
def _serving(brain: Path, notes: Path, *options: str) -> Iterator[Served]:
    names = ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "HOME", "LOCALAPPDATA")
    environment = {
        **os.environ,
        **dict.fromkeys(names, str(brain.parent)),
        "GBRAIN_DB": str(brain),
        "GBRAIN_NOW": NOON,
        "TZ": "UTC",
        "NO_COLOR": "1",
    }
    unready = Served("", "", environment)
    unready.run("import", str(notes))
    token = json.loads(unready.run("token", "add", "tests", "--json"))["secret"]
    process = subprocess.Popen(
        [*PROGRAM, "ui", "--no-browser", *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout
    try:
        yield Served(process.stdout.readline().strip(), token, environment)
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[..., Served]]:
    """`serve(brain, notes, *options)` imports a folder and serves it until the module ends.

    The home folder of its commands is the folder of the brain.
    """
    with ExitStack() as running:
        yield lambda *arguments: running.enter_context(_serving(*arguments))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium; a test is skipped if none is installed."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium-headless-shell")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
