"""A private file that leads a browser to an address.

The command line of a program can be read by every user of the machine while it runs. A browser that
is given this file there, instead of an address with a secret in it, reads the secret itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from secrets import token_hex
from threading import Timer

from gbrain.locations import is_private
from gbrain.paths import make_folder, state_folder
from gbrain.store.atomic_files import process_is_alive

# Neither a script nor a request of another kind: only the browser itself moves on.
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>gbrain</title>
<p><a href="{address}">Open the brain</a></p>
"""


_OWN_NAME = re.compile(r"(\d+)-[0-9a-f]{16}\.html")


@contextmanager
def redirect_file(address: str, seconds: float) -> Iterator[Path]:
    """Yield a file that leads to an address; it is deleted after so many seconds, or at the end.

    Raises OSError if it cannot be written.
    """
    folder = _folder()
    make_folder(folder)
    if os.name == "posix" and not is_private(str(folder)):
        raise PermissionError(f"others may use {folder}")
    _remove_leftovers(folder)
    file = folder / f"{os.getpid()}-{token_hex(8)}.html"
    handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    timer = Timer(seconds, _remove, (file,))
    timer.daemon = True
    try:
        with open(handle, "w", encoding="utf-8") as stream:
            stream.write(_PAGE.format(address=escape(address)))
        timer.start()
        yield file
    finally:
        timer.cancel()
        _remove(file)


def _folder() -> Path:
    """Return the folder for the file, which is deleted with it.

    A browser from snap, which some systems install as the default, reads no hidden folder.
    """
    home = Path(os.path.expanduser("~"))
    return home / "gbrain-ui" if (home / "snap").is_dir() else state_folder() / "ui"


def _remove_leftovers(folder: Path) -> None:
    """Delete the files of processes that were killed."""
    for left in folder.glob("*.html"):
        name = _OWN_NAME.fullmatch(left.name)
        if name and not process_is_alive(int(name[1])) and _is_ours(left):
            _remove(left)


def _is_ours(file: Path) -> bool:
    start = _PAGE.partition("{address}")[0].encode()
    try:
        with file.open("rb") as stream:
            return stream.read(len(start)) == start
    except OSError:
        return False


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink()
        # Fails while another process has a file there.
        file.parent.rmdir()
