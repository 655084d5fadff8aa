"""Where the default brain and the sockets of warm processes are, and which brains are URLs.

The client of a warm process imports this: pathlib alone takes a third of the time Python needs to
start.
"""

from __future__ import annotations

import os
import sys

# Not imported from typing, which would slow down every start of the program.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping


def default_brain(environ: Mapping[str, str]) -> str:
    """Return the path of the default brain: $GBRAIN_DB, else in the platform's data folder.

    A `~` that cannot be expanded, as without a home folder, is left in the path.
    """
    given = environ.get("GBRAIN_DB")
    if given:
        return os.path.expanduser(given)
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "gbrain", "brain.db")
    if sys.platform == "win32":
        folder = environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    else:
        folder = environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(folder, "gbrain", "brain.db")


def is_url(name: str) -> bool:
    """Return whether the name of a brain is a URL, or meant as one, and not a path.

    With any scheme: a file of that name would be a new empty brain, with a password in its name.
    The drive of a Windows path is not one.
    """
    first = name.partition("/")[0]
    return len(first) > 2 and first.endswith(":")


def runtime_folder(environ: Mapping[str, str]) -> str:
    """Return the folder for the sockets of this user's warm processes; it may not exist."""
    given = environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(given):
        return os.path.join(given, "gbrain")
    return os.path.join(environ.get("TMPDIR") or "/tmp", f"gbrain-{os.getuid()}")


def is_private(folder: str) -> bool:
    """Return whether only this user can use what is in the folder."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    is_folder = found.st_mode & 0o170000 == 0o040000
    return is_folder and found.st_uid == os.getuid() and not found.st_mode & 0o077


def brain_key(path: str) -> str | None:
    """Return a name for the file at `path`, whatever path leads to it; None if there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return f"{found.st_dev:x}-{found.st_ino:x}"
