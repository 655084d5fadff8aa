"""Write the difference of two texts as a unified diff, in bounded time."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from gbrain.output.json import Document

if TYPE_CHECKING:
    from gbrain.store.history import Version

# A version with its text; None is the number of no version, before the page existed.
VersionText = tuple[int | None, str]

CONTEXT_LINES = 3
# Lines that stand once in both texts are matched first (anchors), then lines between anchors, and
# so on; the rest is compared line by line. Ranges over these bounds are shown as fully changed.
MAX_LINES = 200_000
MAX_ANCHOR_DEPTH = 12
MAX_COMPARISONS = 2_000_000
_MIN_COMPARISONS_FOR_ANCHORS = 64

_NO_NEWLINE = "\\ No newline at end of file\n"

# (start, stop) in the old lines, then (start, stop) in the new ones.
_ChangedRange = tuple[int, int, int, int]


def unified_diff(old: str, new: str, old_name: str, new_name: str) -> Iterator[str]:
    """Yield the lines of a unified diff, each with its newline; none if the texts are equal.

    Only "\\n" ends a line, so that `patch` turns the old text into exactly the new one.
    """
    before, after = _split_lines(old), _split_lines(new)
    for number, hunk in enumerate(_group_hunks(changed_ranges(before, after))):
        if number == 0:
            yield f"--- {old_name}\n"
            yield f"+++ {new_name}\n"
        yield from _format_hunk(hunk, before, after)


def version_diff(
    slug: str, old: VersionText, new: VersionText, known: Iterable[Version]
) -> Iterator[str]:
    """Yield the diff of two of a page's `known` versions, with slug, version and time as names."""
    written = {version.version: version.written_at for version in known}
    names = [
        "/dev/null" if number is None else f"{slug}@{number}\t{written[number]}"
        for number in (old[0], new[0])
    ]
    return unified_diff(old[1], new[1], *names)


def difference_document(
    slug: str, old: VersionText, new: VersionText, known: Iterable[Version]
) -> Document:
    """Return the diff of two versions of a page."""
    lines = version_diff(slug, old, new, known)
    return {"slug": slug, "from": old[0], "to": new[0], "diff": "".join(lines)}


def _split_lines(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def changed_ranges(old: Sequence[str], new: Sequence[str]) -> list[_ChangedRange]:
    """Return where two texts differ, in order, as ranges of old lines and of new lines."""
    edges = [(-1, -1), *sorted(_match_lines(old, new)), (len(old), len(new))]
    return [(a + 1, c, b + 1, d) for (a, b), (c, d) in pairwise(edges) if (c - a, d - b) != (1, 1)]


def _match_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield (old line number, new line number) of lines that are equal; the pairs are unsorted."""
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
        use_anchors = depth < MAX_ANCHOR_DEPTH and size > _MIN_COMPARISONS_FOR_ANCHORS
        anchors = _find_anchors(old, new, (a, c, b, d)) if use_anchors else []
        if anchors:
            yield from anchors
            edges = [(a - 1, b - 1), *anchors, (c, d)]
            pending += [(e + 1, g, f + 1, h, depth + 1) for (e, f), (g, h) in pairwise(edges)]
        elif size <= comparisons:
            comparisons -= size
            yield from ((a + i, b + j) for i, j in _longest_common(old[a:c], new[b:d]))


def _find_anchors(
    old: Sequence[str], new: Sequence[str], bounds: _ChangedRange
) -> list[tuple[int, int]]:
    """Match lines that stand once on each side; return the most that keep their order."""
    a, c, b, d = bounds
    old_counts, new_counts = Counter(old[a:c]), Counter(new[b:d])
    new_lines = {new[at]: at for at in range(b, d) if new_counts[new[at]] == 1}
    shared = [
        (at, new_lines[old[at]])
        for at in range(a, c)
        if old_counts[old[at]] == 1 and old[at] in new_lines
    ]
    return _longest_rising_run(shared)


def _longest_rising_run(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of pairs whose second numbers rise."""
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
    """Yield index pairs of a longest common subsequence; time and memory grow as O(n * m)."""
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


def _group_hunks(changes: Sequence[_ChangedRange]) -> Iterator[list[_ChangedRange]]:
    """Yield groups of changes that are near enough to share their context lines."""
    hunk: list[_ChangedRange] = []
    for change in changes:
        if hunk and change[0] - hunk[-1][1] > 2 * CONTEXT_LINES:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _format_hunk(
    hunk: Sequence[_ChangedRange], old: Sequence[str], new: Sequence[str]
) -> Iterator[str]:
    (a, _, b, _), (_, c, _, d) = hunk[0], hunk[-1]
    above, below = min(a, CONTEXT_LINES), min(len(old) - c, CONTEXT_LINES)
    yield f"@@ -{_format_range(a - above, c + below)} +{_format_range(b - above, d + below)} @@\n"
    done = a - above
    for start, stop, new_start, new_stop in hunk:
        yield from _prefix_lines(" ", old[done:start])
        yield from _prefix_lines("-", old[start:stop])
        yield from _prefix_lines("+", new[new_start:new_stop])
        done = stop
    yield from _prefix_lines(" ", old[done : c + below])


def _format_range(start: int, stop: int) -> str:
    """Return lines as a hunk header names them: from 1, an empty range by the line before it."""
    length = stop - start
    first = start + 1 if length else start
    return f"{first}" if length == 1 else f"{first},{length}"


def _prefix_lines(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.endswith("\n"):
            yield mark + line
        else:
            yield f"{mark}{line}\n"
            yield _NO_NEWLINE


def show_diff(lines: Iterable[str], *, line_ends: bool, pager: bool = True) -> None:
    """Print a diff in colour; `line_ends` shows a carriage return at the end of a line as ␍."""
    from rich.text import Text

    from gbrain.messages import printable
    from gbrain.output.screen import console, open_pager

    screen = console()
    styles = {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}
    with open_pager(screen, wanted=pager):
        for number, line in enumerate(lines):
            style = "bold" if number < 2 else styles.get(line[0], "")
            written = line.removesuffix("\n")
            if written.endswith("\r"):
                written = written[:-1] + ("␍" if line_ends else "")
            screen.print(Text(printable(written), style=style), soft_wrap=True)
