"""Read a length of time such as 15m, 8h or 90d."""

from __future__ import annotations

import re

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*([smhdw])", re.ASCII)


def parse_duration(text: str) -> float | None:
    """Return the seconds of a length of time; None if it cannot be read."""
    found = _DURATION.fullmatch(text.strip())
    return float(found[1]) * _SECONDS[found[2]] if found else None
