"""Where the platform wants a program's files to be."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gbrain.errors import UsageError


def default_path() -> Path:
    """Where the brain is when nobody says: $GBRAIN_DB, else the platform's data folder."""
    named = os.environ.get("GBRAIN_DB")
    if named:
        return Path(named).expanduser()
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support" / "gbrain" / "brain.db"
    if sys.platform == "win32":
        folder = os.environ.get("LOCALAPPDATA")
        return (Path(folder) if folder else _home() / "AppData" / "Local") / "gbrain" / "brain.db"
    folder = os.environ.get("XDG_DATA_HOME")
    return (Path(folder) if folder else _home() / ".local" / "share") / "gbrain" / "brain.db"


def _home(
    purpose: str = "look for the brain in", instead: str = "the brain with --db or $GBRAIN_DB"
) -> Path:
    """Under cron or in a container there may be none; raises UsageError that says what to do."""
    try:
        return Path("~").expanduser()
    except RuntimeError:
        raise UsageError(
            f"There is no home folder to {purpose}", hint=f"Name {instead}.", code="no_home"
        ) from None


def make_folder(folder: Path, mode: int = 0o700) -> None:
    """Makes a folder and those that it lies in, none of them open to more than `mode` says."""
    if folder.is_dir():
        return
    for each in reversed(folder.parents):
        if not each.exists():
            each.mkdir(mode, exist_ok=True)
    folder.mkdir(mode, exist_ok=True)


def state_folder() -> Path:
    """The folder for what the program remembers of the user; it may not be there yet."""
    return _user_folder("XDG_STATE_HOME", (".local", "state"), "Application Support", "State")


def cache_folder() -> Path:
    """The folder for what can be made again; it may not be there yet."""
    return _user_folder("XDG_CACHE_HOME", (".cache",), "Caches", "Cache")


def _user_folder(variable: str, usual: tuple[str, ...], on_mac: str, on_windows: str) -> Path:
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else variable)
    # The standard has a relative path ignored: it would mean another folder in every folder.
    if sys.platform != "darwin" and named and os.path.isabs(named):
        return Path(named, "gbrain", *([on_windows] if sys.platform == "win32" else []))
    home = _home("keep its files in", f"a folder with ${variable}")
    if sys.platform == "darwin":
        return home / "Library" / on_mac / "gbrain"
    if sys.platform == "win32":
        return home / "AppData" / "Local" / "gbrain" / on_windows
    return home.joinpath(*usual, "gbrain")
