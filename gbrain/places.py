"""Where the platform wants a program's files to be."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """The folder for what can be made again; it may not be there yet."""
    home = Path("~").expanduser()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "gbrain"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / "gbrain" / "Cache"
    named = os.environ.get("XDG_CACHE_HOME")
    # The standard has a relative path ignored: it would mean another folder in every folder.
    usable = named if named and os.path.isabs(named) else None
    return (Path(usable) if usable else home / ".cache") / "gbrain"
