"""Read a length of time such as 15m, 8h or 90d."""

from __future__ import annotations

import re

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
_DURATION = re.compile(r"(\d{1,6}) ?([smhdwy])", re.ASCII)


def parse_duration(text: str) -> int | None:
    """Return the seconds of a length of time; None if it cannot be read.

    The units are seconds, minutes, hours, days, weeks and years, each by its first letter.
    """
    found = _DURATION.fullmatch(text.strip().lower())
    return int(found[1]) * _SECONDS[found[2]] if found else None
