"""What a check of a brain file saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from zlib import error as unpacking

Status = Literal["ok", "note", "problem", "repaired"]

REPAIR = "gbrain doctor --repair"
RESTORE = "Restore a backup, or export the pages and import them into a new brain."


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check saw: `count` things, named in `details`; `fix` is the next step.

    A note is worth knowing; a problem makes answers wrong or endangers the pages.
    """

    status: Status
    message: str
    fix: str | None = None
    count: int = 0
    details: tuple[str, ...] = ()


def found(
    status: Status, one: str, many: str, details: tuple[str, ...] | int, fix: str | None = REPAIR
) -> Finding:
    """A finding about things, named or only counted; `{}` in the message stands for how many."""
    places = () if isinstance(details, int) else details
    count = details if isinstance(details, int) else len(details)
    return Finding(status, (one if count == 1 else many).format(f"{count:,}"), fix, count, places)


STRANGE = (
    TypeError, ValueError, LookupError, AttributeError, ArithmeticError, AssertionError,
    RecursionError, MemoryError, unpacking,
)  # fmt: skip
