"""Find the platform's folders for the brain, the state and the cache of gbrain."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gbrain.errors import UsageError
from gbrain.locations import default_brain, is_url


def default_path() -> Path:
    """Return the path of the default brain: $GBRAIN_DB, else in the platform's data folder."""
    found = default_brain(os.environ)
    if found.startswith("~"):
        _home()
    return Path(found)


def brain_path(given: Path | None) -> Path:
    """Return the path of a brain as it was given (default: the default one), `~` expanded."""
    return given.expanduser() if given else default_path()


def resolve_brain(given: str | Path | None = None) -> Path:
    """Return the real path of a brain (default: the default one), without symbolic links.

    SQLite keeps the log next to the file that a link points to, so every path is resolved first.
    Raises UsageError for the URL of a server.
    """
    named = str(brain_path(Path(given) if given else None))
    if is_url(named):
        raise UsageError(
            "A URL cannot be used here",
            hint="Give the URL with --db to a command, or clone it: gbrain clone URL FILE.",
        )
    return Path(os.path.realpath(brain_path(Path(given) if given else None)))


def _home(
    purpose: str = "look for the brain in", instead: str = "the brain with --db or $GBRAIN_DB"
) -> Path:
    """Return the home folder; raise UsageError if there is none, as under cron."""
    try:
        return Path("~").expanduser()
    except RuntimeError:
        raise UsageError(
            f"There is no home folder to {purpose}", hint=f"Give {instead}.", code="no_home"
        ) from None


def make_folder(folder: Path, mode: int = 0o700) -> None:
    """Create a folder and its missing parents, all with permissions `mode`."""
    if folder.is_dir():
        return
    for parent in reversed(folder.parents):
        if not parent.exists():
            parent.mkdir(mode, exist_ok=True)
    folder.mkdir(mode, exist_ok=True)


def replicas_folder() -> Path:
    """Return the folder for the replicas of shared brains; it may not exist yet.

    Not in the cache: a replica may have pages that wait to be pushed.
    """
    others = {name: value for name, value in os.environ.items() if name != "GBRAIN_DB"}
    return Path(default_brain(others)).parent / "replicas"


def state_folder() -> Path:
    """Return the folder for what gbrain remembers about the user; it may not exist yet."""
    return _user_folder("XDG_STATE_HOME", (".local", "state"), "Application Support", "State")


def cache_folder() -> Path:
    """Return the folder for files that can be created again; it may not exist yet."""
    return _user_folder("XDG_CACHE_HOME", (".cache",), "Caches", "Cache")


def _user_folder(variable: str, linux: tuple[str, ...], mac: str, windows: str) -> Path:
    given = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else variable)
    # The XDG specification says to ignore relative paths.
    if sys.platform != "darwin" and given and os.path.isabs(given):
        return Path(given, "gbrain", *([windows] if sys.platform == "win32" else []))
    home = _home("keep its files in", f"a folder with ${variable}")
    if sys.platform == "darwin":
        return home / "Library" / mac / "gbrain"
    if sys.platform == "win32":
        return home / "AppData" / "Local" / "gbrain" / windows
    return home.joinpath(*linux, "gbrain")
