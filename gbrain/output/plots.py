"""Draw points as a plot in plain characters or SVG, and numbers as bars and sparklines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from string import ascii_letters, digits
from typing import NamedTuple
from xml.sax.saxutils import escape

from gbrain.messages import one_line

_MARKS = ascii_letters + digits
_TICK_STEPS = (1, 2, 5)

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 120, 40, 50
_LABEL_HEIGHT = 15


class Point(NamedTuple):
    """A labelled point of a plot; `x` is greater than 0."""

    label: str
    x: float
    y: float


class Axis(NamedTuple):
    """An axis from its first tick to its last, linear or `logarithmic`; ticks rise."""

    ticks: tuple[float, ...]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Return the position of `value` between the ends, 0 to 1."""
        low, high = self._scale(self.ticks[0]), self._scale(self.ticks[-1])
        return (self._scale(value) - low) / (high - low)

    def _scale(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value


def even_axis(values: Sequence[float], max_ticks: int = 6) -> Axis:
    """Return a linear axis around `values` with ticks at round numbers."""
    low, high = min(values), max(values)
    span = max(high - low, 0.01)
    power = 10.0 ** math.floor(math.log10(span / (max_ticks - 1)))
    step = next((power * n for n in _TICK_STEPS if power * n * (max_ticks - 1) >= span), 10 * power)
    first = math.floor(low / step + 1e-9)
    last = max(math.ceil(high / step - 1e-9), first + 1)
    return Axis(tuple(round(number * step, 10) for number in range(first, last + 1)))


def ratio_axis(values: Sequence[float]) -> Axis:
    """Return a logarithmic axis around `values` with ticks at 1, 2, 5, 10, 20, 50 …"""
    power = math.floor(math.log10(min(values)))
    ticks: list[float] = []
    while not ticks or ticks[-1] <= max(values):
        ticks += [n * 10.0**power for n in _TICK_STEPS]
        power += 1
    first = max(number for number, tick in enumerate(ticks) if tick <= min(values) * (1 + 1e-9))
    last = min(number for number, tick in enumerate(ticks) if tick >= max(values) * (1 - 1e-9))
    last = max(last, first + 1)
    return Axis(tuple(ticks[first : last + 1]), logarithmic=True)


def plot_text(
    points: Sequence[Point], x_name: str, y_name: str, width: int = 60, height: int = 14
) -> str:
    """Return the points as letters on a grid of about `height` rows, with a legend below."""
    if not points:
        return ""
    across, up = _choose_axes(points)
    # Round the height so that every tick falls on a row.
    height = max(height // (len(up.ticks) - 1), 1) * (len(up.ticks) - 1) + 1
    grid = [[" "] * width for _ in range(height)]
    legend = []
    for mark, point in zip(_MARKS * (len(points) // len(_MARKS) + 1), points, strict=False):
        column = round(across.share(point.x) * (width - 1))
        row = round((1 - up.share(point.y)) * (height - 1))
        at = next((c for c in _columns_by_distance(column, width) if grid[row][c] == " "), column)
        grid[row][at] = mark
        x, y = _format_number(point.x), _format_number(point.y, 4)
        legend.append(f"{mark} {one_line(point.label)}: {y} at {x}")
    labels = {round((1 - up.share(tick)) * (height - 1)): _format_number(tick) for tick in up.ticks}
    indent = max(map(len, labels.values()))
    lines = [y_name]
    lines += [f"{labels.get(row, ''):>{indent}} │{''.join(grid[row])}" for row in range(height)]
    lines.append(f"{'':>{indent}} └{'─' * width}")
    lines.append(f"{'':>{indent}}  {_tick_line(across, width)}  {x_name}")
    return "\n".join(line.rstrip() for line in [*lines, "", *legend])


def _choose_axes(points: Sequence[Point]) -> tuple[Axis, Axis]:
    return ratio_axis([point.x for point in points]), even_axis([point.y for point in points])


def _columns_by_distance(column: int, width: int) -> Iterator[int]:
    """Yield all columns, the nearest to `column` first."""
    yield from sorted(range(width), key=lambda other: (abs(other - column), other))


def _tick_line(axis: Axis, width: int) -> str:
    line = ""
    for tick in axis.ticks:
        name = _format_number(tick)
        at = min(round(axis.share(tick) * (width - 1)), width - len(name))
        if at > len(line) or not line:
            line = line.ljust(at) + name
    return line.ljust(width)


def _format_number(value: float, digits: int = 3) -> str:
    """Return `value` rounded to significant digits, without an exponent below a million."""
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
    """Return the points with their labels as a self-contained SVG document."""
    across, up = _choose_axes(points)
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT

    def x_of(value: float) -> float:
        return _LEFT + across.share(value) * (right - _LEFT)

    def y_of(value: float) -> float:
        return bottom - up.share(value) * (bottom - _TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img">',
        f"<title>{_escape_xml(title)}</title>",
        f"<style>{_STYLE}</style>",
        _svg_text(_LEFT, 20, title, "title"),
    ]
    for tick in up.ticks:
        y = y_of(tick)
        parts.append(f'<path class="tick" d="M{_LEFT} {y:.1f}H{right}"/>')
        parts.append(_svg_text(_LEFT - 6, y + 4, _format_number(tick), anchor="end"))
    for tick in across.ticks:
        x = x_of(tick)
        parts.append(f'<path class="tick" d="M{x:.1f} {_TOP}V{bottom}"/>')
        parts.append(_svg_text(x, bottom + 18, _format_number(tick), anchor="middle"))
    parts.append(f'<path class="axis" fill="none" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>')
    parts.append(_svg_text((_LEFT + right) / 2, _HEIGHT - 12, x_name, anchor="middle"))
    parts.append(_svg_text(_LEFT, _TOP - 8, y_name))
    placed: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda point: -point.y):
        x, y = x_of(point.x), y_of(point.y)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>')
        label_y = _free_label_y(x, y + 4, 7.0 * len(point.label), placed)
        parts.append(_svg_text(x + 8, label_y, point.label))
    return "\n".join([*parts, "</svg>", ""])


def _free_label_y(x: float, y: float, width: float, placed: list[tuple[float, float]]) -> float:
    """Return the first y, from `y` down, where a label covers no other; add it to `placed`."""
    for other_x, other_y in sorted(placed, key=lambda place: place[1]):
        if abs(other_x - x) < max(width, 60) and abs(other_y - y) < _LABEL_HEIGHT:
            y = other_y + _LABEL_HEIGHT
    placed.append((x, y))
    return y


def _svg_text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    kind = f' class="{kind}"' if kind else ""
    text = _escape_xml(text)
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _escape_xml(text: str) -> str:
    """Escape text for XML and replace characters that XML does not allow."""
    return escape("".join(char if char.isprintable() else "\ufffd" for char in text))


_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEIGHTS = "▁▂▃▄▅▆▇█"


def bar(value: float, largest: float, width: int) -> str:
    """Return a bar of up to `width` characters, in proportion to `value` / `largest`.

    A value above 0 gets at least an eighth of a character.
    """
    if value <= 0 or largest <= 0 or width <= 0:
        return ""
    eighths = max(round(8 * width * min(value / largest, 1)), 1)
    whole, rest = divmod(eighths, 8)
    return _EIGHTHS[8] * whole + (_EIGHTHS[rest] if rest else "")


def sparkline(values: Sequence[float]) -> str:
    """Return one character for each value, in proportion to the largest; 0 is a space."""
    largest = max(values, default=0)
    return "".join(_height_character(value, largest) for value in values)


def _height_character(value: float, largest: float) -> str:
    if value <= 0:
        return " "
    return _HEIGHTS[min(int(value / largest * len(_HEIGHTS)), len(_HEIGHTS) - 1)]
