"""Points as a plot: plain characters for a terminal, or a self-contained SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from string import ascii_letters, digits
from typing import NamedTuple
from xml.sax.saxutils import escape

from gbrain.output.plain_text import one_line

_MARKS = ascii_letters + digits
_STEPS = (1, 2, 5)

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 120, 40, 50
_LINE = 15


class Point(NamedTuple):
    """`x` is more than 0."""

    label: str
    x: float
    y: float


class Axis(NamedTuple):
    """Ticks in rising order, the first and last at the ends; `logarithmic` has them by ratio."""

    ticks: tuple[float, ...]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Where `value` stands between the ends, 0 to 1."""
        low, high = self._scaled(self.ticks[0]), self._scaled(self.ticks[-1])
        return (self._scaled(value) - low) / (high - low)

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value


def even_axis(values: Sequence[float], most: int = 6) -> Axis:
    """Round ticks at even distances around `values`."""
    low, high = min(values), max(values)
    span = max(high - low, 0.01)
    power = 10.0 ** math.floor(math.log10(span / (most - 1)))
    step = next((power * n for n in _STEPS if power * n * (most - 1) >= span), 10 * power)
    first = math.floor(low / step + 1e-9)
    last = max(math.ceil(high / step - 1e-9), first + 1)
    return Axis(tuple(round(number * step, 10) for number in range(first, last + 1)))


def ratio_axis(values: Sequence[float]) -> Axis:
    """Ticks at 1, 2, 5, 10, 20, 50 … around `values`."""
    power = math.floor(math.log10(min(values)))
    ticks: list[float] = []
    while not ticks or ticks[-1] <= max(values):
        ticks += [n * 10.0**power for n in _STEPS]
        power += 1
    first = max(number for number, tick in enumerate(ticks) if tick <= min(values) * (1 + 1e-9))
    last = min(number for number, tick in enumerate(ticks) if tick >= max(values) * (1 - 1e-9))
    last = max(last, first + 1)
    return Axis(tuple(ticks[first : last + 1]), logarithmic=True)


def plot_text(
    points: Sequence[Point], x_name: str, y_name: str, width: int = 60, height: int = 14
) -> str:
    """The points as letters on a grid of about `height` rows, with what each letter is below."""
    if not points:
        return ""
    across, up = _axes(points)
    # Ticks stand exactly on rows.
    height = max(height // (len(up.ticks) - 1), 1) * (len(up.ticks) - 1) + 1
    grid = [[" "] * width for _ in range(height)]
    legend = []
    for mark, point in zip(_MARKS * (len(points) // len(_MARKS) + 1), points, strict=False):
        column = round(across.share(point.x) * (width - 1))
        row = round((1 - up.share(point.y)) * (height - 1))
        at = next((c for c in _near(column, width) if grid[row][c] == " "), column)
        grid[row][at] = mark
        legend.append(f"{mark} {one_line(point.label)}: {_short(point.y, 4)} at {_short(point.x)}")
    named = {round((1 - up.share(tick)) * (height - 1)): _short(tick) for tick in up.ticks}
    wide = max(map(len, named.values()))
    lines = [y_name]
    lines += [f"{named.get(row, ''):>{wide}} │{''.join(grid[row])}" for row in range(height)]
    lines.append(f"{'':>{wide}} └{'─' * width}")
    lines.append(f"{'':>{wide}}  {_tick_line(across, width)}  {x_name}")
    return "\n".join(line.rstrip() for line in [*lines, "", *legend])


def _axes(points: Sequence[Point]) -> tuple[Axis, Axis]:
    return ratio_axis([point.x for point in points]), even_axis([point.y for point in points])


def _near(column: int, width: int) -> Iterator[int]:
    """The columns by their distance from `column`."""
    yield from sorted(range(width), key=lambda other: (abs(other - column), other))


def _tick_line(axis: Axis, width: int) -> str:
    line = ""
    for tick in axis.ticks:
        name = _short(tick)
        at = min(round(axis.share(tick) * (width - 1)), width - len(name))
        if at > len(line) or not line:
            line = line.ljust(at) + name
    return line.ljust(width)


def _short(value: float, digits: int = 3) -> str:
    """`value` to so many significant digits, written out in full below a million."""
    return f"{float(f'{value:.{digits}g}'):g}"


# --- SVG -------------------------------------------------------------------------------------

_STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #333 }
  .title { font-size: 14px; font-weight: 600 }
  .tick { stroke: #ddd }
  .axis { stroke: #888 }
  circle { fill: #2563eb }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd } .tick { stroke: #444 } circle { fill: #60a5fa }
  }
"""


def plot_svg(points: Sequence[Point], title: str, x_name: str, y_name: str) -> str:
    """The points with their labels as one SVG document that needs nothing else."""
    across, up = _axes(points)
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT

    def x_of(value: float) -> float:
        return _LEFT + across.share(value) * (right - _LEFT)

    def y_of(value: float) -> float:
        return bottom - up.share(value) * (bottom - _TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img">',
        f"<title>{_xml(title)}</title>",
        f"<style>{_STYLE}</style>",
        _text(_LEFT, 20, title, "title"),
    ]
    for tick in up.ticks:
        y = y_of(tick)
        parts.append(f'<path class="tick" d="M{_LEFT} {y:.1f}H{right}"/>')
        parts.append(_text(_LEFT - 6, y + 4, _short(tick), anchor="end"))
    for tick in across.ticks:
        x = x_of(tick)
        parts.append(f'<path class="tick" d="M{x:.1f} {_TOP}V{bottom}"/>')
        parts.append(_text(x, bottom + 18, _short(tick), anchor="middle"))
    parts.append(f'<path class="axis" fill="none" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>')
    parts.append(_text((_LEFT + right) / 2, _HEIGHT - 12, x_name, anchor="middle"))
    parts.append(_text(_LEFT, _TOP - 8, y_name))
    placed: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda point: -point.y):
        x, y = x_of(point.x), y_of(point.y)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>')
        label_y = _free(x, y + 4, 7.0 * len(point.label), placed)
        parts.append(_text(x + 8, label_y, point.label))
    return "\n".join([*parts, "</svg>", ""])


def _free(x: float, y: float, width: float, placed: list[tuple[float, float]]) -> float:
    """The first height from `y` down where a label does not cover one that is there."""
    for other_x, other_y in sorted(placed, key=lambda place: place[1]):
        if abs(other_x - x) < max(width, 60) and abs(other_y - y) < _LINE:
            y = other_y + _LINE
    placed.append((x, y))
    return y


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_xml(text)}</text>'


def _xml(text: str) -> str:
    """`text` escaped, without the characters that XML cannot hold."""
    return escape("".join(char if char.isprintable() else "\ufffd" for char in text))


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
