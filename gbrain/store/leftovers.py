"""Files that are being made: named after their maker, and cleared away when it was killed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from gbrain.store.jobs import is_alive

# What SQLite keeps beside a database of its.
BESIDE = ("-journal", "-wal", "-shm")

_UNFINISHED = ".gbrain-new"


def unfinished(target: Path) -> Path:
    """Where this process makes what becomes `target`; what others left of theirs is removed."""
    clear(target.parent)
    return being_made(target)


def being_made(target: Path) -> Path:
    """Where this process makes what becomes `target`."""
    return target.with_name(f".{target.name}.{os.getpid()}{_UNFINISHED}")


def clear(folder: Path) -> None:
    """Removes what nobody is making any more, where that can be done."""
    with suppress(OSError):
        for left in abandoned(folder):
            remove(left)


def abandoned(folder: Path) -> list[Path]:
    """What nobody is making any more: its maker was killed, or is this process, earlier on."""
    return [
        left
        for left in folder.glob(f".*{_UNFINISHED}")
        if (maker := left.name.removesuffix(_UNFINISHED).rpartition(".")[2]).isdecimal()
        and (int(maker) == os.getpid() or not is_alive(int(maker)))
    ]


def remove(building: Path) -> None:
    """Removes an unfinished brain and what SQLite keeps beside it."""
    # Itself last: what is left of it would not be found without it.
    for ending in (*BESIDE, ""):
        with suppress(OSError):
            os.unlink(f"{building}{ending}")
