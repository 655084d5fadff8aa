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


def _home() -> Path:
    """Under cron or in a container there may be none; raises UsageError that says what to do."""
    try:
        return Path("~").expanduser()
    except RuntimeError:
        raise UsageError(
            "There is no home folder to look for the brain in",
            hint="Name the brain with --db or $GBRAIN_DB.",
            code="no_home",
        ) from None


def cache_folder() -> Path:
    """The folder for what can be made again; it may not be there yet."""
    home = _home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "gbrain"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / "gbrain" / "Cache"
    named = os.environ.get("XDG_CACHE_HOME")
    # The standard has a relative path ignored: it would mean another folder in every folder.
    usable = named if named and os.path.isabs(named) else None
    return (Path(usable) if usable else home / ".cache") / "gbrain"
