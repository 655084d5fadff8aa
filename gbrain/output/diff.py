"""Two texts as a unified diff, exact to the last line end and never slow."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

CONTEXT = 3
# Lines are first paired where both texts have them once, then between such pairs again; what is
# left is compared line by line. What exceeds these bounds is shown as replaced.
MAX_LINES = 200_000
MAX_DEPTH = 12
MAX_COMPARISONS = 2_000_000
_FEW_COMPARISONS = 64

_NO_NEWLINE = "\\ No newline at end of file\n"

# A stretch of the old lines and the stretch of the new ones it is compared with.
_Stretch = tuple[int, int, int, int]


def unified_diff(old: str, new: str, old_name: str, new_name: str) -> Iterator[str]:
    """The lines of a unified diff, each with its line end; none if the texts are the same.

    A line ends with a newline and nothing else, so that `patch` makes one text of the other.
    """
    before, after = _lines(old), _lines(new)
    for number, hunk in enumerate(_hunks(changed_ranges(before, after))):
        if number == 0:
            yield f"--- {old_name}\n"
            yield f"+++ {new_name}\n"
        yield from _written(hunk, before, after)


def _lines(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def changed_ranges(old: Sequence[str], new: Sequence[str]) -> list[_Stretch]:
    """Where two texts differ, in order: a stretch of the old lines and what stands in its place.

    Each is (start, stop) in the old lines, then in the new ones.
    """
    edges = [(-1, -1), *sorted(_pairs(old, new)), (len(old), len(new))]
    return [(a + 1, c, b + 1, d) for (a, b), (c, d) in pairwise(edges) if (c - a, d - b) != (1, 1)]


def _pairs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Lines that both texts have in the same order, as pairs of numbers; in no order."""
    comparisons = MAX_COMPARISONS
    pending = [(0, len(old), 0, len(new), 0)]
    while pending:
        a, c, b, d, depth = pending.pop()
        while a < c and b < d and old[a] == new[b]:
            yield a, b
            a, b = a + 1, b + 1
        while a < c and b < d and old[c - 1] == new[d - 1]:
            c, d = c - 1, d - 1
            yield c, d
        size = (c - a) * (d - b)
        if size == 0 or c - a + d - b > MAX_LINES:
            continue
        searched = depth < MAX_DEPTH and size > _FEW_COMPARISONS
        anchors = _anchors(old, new, (a, c, b, d)) if searched else []
        if anchors:
            yield from anchors
            edges = [(a - 1, b - 1), *anchors, (c, d)]
            pending += [(e + 1, g, f + 1, h, depth + 1) for (e, f), (g, h) in pairwise(edges)]
        elif size <= comparisons:
            comparisons -= size
            yield from ((a + i, b + j) for i, j in _longest_common(old[a:c], new[b:d]))


def _anchors(old: Sequence[str], new: Sequence[str], stretch: _Stretch) -> list[tuple[int, int]]:
    """Lines that stand once on either side, as many as keep one order."""
    a, c, b, d = stretch
    old_counts, new_counts = Counter(old[a:c]), Counter(new[b:d])
    places = {new[at]: at for at in range(b, d) if new_counts[new[at]] == 1}
    shared = [
        (at, places[old[at]])
        for at in range(a, c)
        if old_counts[old[at]] == 1 and old[at] in places
    ]
    return _rising(shared)


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs, in their order, whose second numbers rise."""
    ends: list[int] = []
    tails: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(tails[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        tails[length : length + 1] = [number]
    run = []
    number = tails[-1] if tails else -1
    while number >= 0:
        run.append(pairs[number])
        number = before[number]
    return run[::-1]


def _longest_common(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The longest common subsequence, in time and space of the product of the lengths."""
    table = [[0] * (len(new) + 1)]
    for line in reversed(old):
        below = table[-1]
        row = [0] * (len(new) + 1)
        for j in range(len(new) - 1, -1, -1):
            if line == new[j]:
                row[j] = below[j + 1] + 1
            else:
                row[j] = below[j] if below[j] >= row[j + 1] else row[j + 1]
        table.append(row)
    table.reverse()
    i = j = 0
    while i < len(old) and j < len(new):
        if old[i] == new[j]:
            yield i, j
            i, j = i + 1, j + 1
        elif table[i + 1][j] >= table[i][j + 1]:
            i += 1
        else:
            j += 1


def _hunks(changes: Sequence[_Stretch]) -> Iterator[list[_Stretch]]:
    """Changes that stand near enough to share their context."""
    hunk: list[_Stretch] = []
    for change in changes:
        if hunk and change[0] - hunk[-1][1] > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _written(hunk: Sequence[_Stretch], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    (a, _, b, _), (_, c, _, d) = hunk[0], hunk[-1]
    above, below = min(a, CONTEXT), min(len(old) - c, CONTEXT)
    yield f"@@ -{_range(a - above, c + below)} +{_range(b - above, d + below)} @@\n"
    done = a - above
    for start, stop, new_start, new_stop in hunk:
        yield from _marked(" ", old[done:start])
        yield from _marked("-", old[start:stop])
        yield from _marked("+", new[new_start:new_stop])
        done = stop
    yield from _marked(" ", old[done : c + below])


def _range(start: int, stop: int) -> str:
    """Lines as a hunk's head names them: counted from 1, an empty range by the line before it."""
    length = stop - start
    first = start + 1 if length else start
    return f"{first}" if length == 1 else f"{first},{length}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.endswith("\n"):
            yield mark + line
        else:
            yield f"{mark}{line}\n"
            yield _NO_NEWLINE


def show_diff(lines: Iterable[str], *, line_ends: bool, pager: bool = True) -> None:
    """A diff in colour; with `line_ends` a carriage return at the end of a line is made visible."""
    from rich.text import Text

    from gbrain.output.pager import open_pager
    from gbrain.output.plain_text import printable
    from gbrain.output.screen import console

    screen = console()
    styles = {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}
    with open_pager(screen, wanted=pager):
        for number, line in enumerate(lines):
            style = "bold" if number < 2 else styles.get(line[0], "")
            written = line.removesuffix("\n")
            if written.endswith("\r"):
                written = written[:-1] + ("␍" if line_ends else "")
            screen.print(Text(printable(written), style=style), soft_wrap=True)
