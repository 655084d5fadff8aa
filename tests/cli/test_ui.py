"""`gbrain ui`: the address it prints and opens, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from gbrain.server.redirect_file import redirect_file


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


def recording_browser(folder: Path) -> str:
    """Return a browser that records its arguments, and what it finds in the file they name."""
    browser = folder / "browser"
    browser.write_text(
        f"""#!{sys.executable}
import os, sys, urllib.parse, urllib.request
file = urllib.request.url2pathname(urllib.parse.urlsplit(sys.argv[1]).path)
modes = [oct(os.stat(path).st_mode & 0o777) for path in (file, os.path.dirname(file))]
with open({str(folder / "part")!r}, "w") as stream:
    print(sys.argv[1:], modes, open(file).read(), sep="\\n", file=stream)
os.rename({str(folder / "part")!r}, {str(folder / "opened")!r})
"""
    )
    browser.chmod(0o755)
    return str(browser)


def test_the_browser_gets_the_code_from_a_private_file(sample: Path, tmp_path: Path) -> None:
    with start(BROWSER=recording_browser(tmp_path)) as process:
        assert process.stdout
        assert process.stderr
        address = process.stdout.readline().strip()
        said = [process.stderr.readline() for _ in range(2)]
        arguments, modes, page = (tmp_path / "opened").read_text().split("\n", 2)
        files = list((tmp_path / "home" / "gbrain" / "ui").iterdir())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    code = address.partition("#code=")[2]
    assert code
    assert process.returncode == 130
    assert said[0] == "If the browser shows an error, copy this address into it.\n"
    assert said[1] == "Press Ctrl-C to stop.\n"
    # Every user of the machine can read the arguments of a process.
    assert arguments == f"['{files[0].as_uri()}']"
    assert code not in arguments
    assert modes == "['0o600', '0o700']"
    assert f'content="0; url={address}"' in page
    assert "<script" not in page
    assert [file.exists() for file in files] == [False]


def test_ui_without_a_place_for_the_file_prints_the_address(sample: Path, tmp_path: Path) -> None:
    state = tmp_path / "no-folder"
    state.write_text("a file where the folder should be")
    with start(BROWSER=recording_browser(tmp_path), XDG_STATE_HOME=str(state)) as process:
        assert process.stdout
        assert process.stderr
        assert "#code=" in process.stdout.readline()
        said = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert said == "Open this address in your browser.\n"
    assert not (tmp_path / "opened").exists()


def test_a_redirect_file_is_deleted_in_time_or_by_the_next_one() -> None:
    with redirect_file("http://127.0.0.1:1/#code=x", 0.5) as file:
        page = file.read_text()
        deadline = time.monotonic() + 20
        while file.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not file.exists()
    with subprocess.Popen([sys.executable, "-c", "pass"]) as ended:
        ended.wait()
    file.parent.mkdir(0o700)
    random = "0123456789abcdef"
    left = file.with_name(f"{ended.pid}-{random}.html")
    own = file.with_name(f"{os.getpid()}-{random}.html")
    # The user's own files may be there, in ~/gbrain-ui.
    theirs = [file.with_name(f"{ended.pid}-{name}.html") for name in ("report", random[::-1])]
    for each in (left, own):
        each.write_text(page)
    for each in theirs:
        each.write_text("<title>Mine</title>")
    with redirect_file("http://127.0.0.1:1/#code=x", 60) as file:
        assert sorted(file.parent.iterdir()) == sorted([file, own, *theirs])


def test_a_browser_from_snap_can_read_the_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "snap").mkdir(parents=True)
    with redirect_file("http://127.0.0.1:1/#code=x", 60) as file:
        assert file.parent == home / "gbrain-ui"
        assert file.parent.stat().st_mode & 0o777 == 0o700
    assert not file.parent.exists()


def test_a_folder_that_others_may_use_gets_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "gbrain" / "ui"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    with (
        pytest.raises(PermissionError, match="others may use"),
        redirect_file("http://127.0.0.1:1/#code=x", 60),
    ):
        pass
    assert list(folder.iterdir()) == []


def test_ui_without_a_brain_opens_nothing(tmp_path: Path) -> None:
    with start(GBRAIN_DB=str(tmp_path / "none.db")) as process:
        out, said = process.communicate(timeout=20)
    assert (out, process.returncode) == ("", 1)
    assert said.startswith("Error: There is no brain at")
