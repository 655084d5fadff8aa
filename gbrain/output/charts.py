"""Numbers as rows of block characters."""

from __future__ import annotations

from collections.abc import Sequence

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEIGHTS = "▁▂▃▄▅▆▇█"


def bar(value: float, largest: float, width: int) -> str:
    """A bar of up to `width` characters, as long as `value` is beside `largest`.

    What is more than nothing is at least a sliver.
    """
    if value <= 0 or largest <= 0:
        return ""
    eighths = max(round(8 * width * min(value / largest, 1)), 1)
    whole, rest = divmod(eighths, 8)
    return _EIGHTHS[8] * whole + (_EIGHTHS[rest] if rest else "")


def sparkline(values: Sequence[float]) -> str:
    """One character a value, as high as it is beside the largest; nothing is a blank."""
    largest = max(values, default=0)
    return "".join(_height(value, largest) for value in values)


def _height(value: float, largest: float) -> str:
    if value <= 0:
        return " "
    return _HEIGHTS[min(int(value / largest * len(_HEIGHTS)), len(_HEIGHTS) - 1)]
