"""Find what two sides changed in a sequence of lines or words, and which changes meet."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

# The time of difflib grows with the product of the numbers of lines, or faster.
MAX_COMPARED_PAIRS = 40_000


class Part(NamedTuple):
    """The same place of the common base and of both sides, in lines."""

    base: Sequence[str]
    brain: Sequence[str]
    file: Sequence[str]


class _Change(NamedTuple):
    """Lines of the base, `stop` exclusive, that one side replaced with `lines`."""

    start: int
    stop: int
    lines: Sequence[str]


def common_lines(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the lines that both texts have, in order."""
    return [
        line for start, _, count in _equal_lines(one, other) for line in one[start : start + count]
    ]


def has_all_lines(text: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether a text has all lines of the other, in the same order."""
    rest = iter(text)
    return all(line in rest for line in other)


def _equal_lines(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return (start in one, start in other, count) of the lines that both texts share, in order.

    Lines that each text has once are matched first, as in a patience diff: difflib alone took 27
    seconds for 20,000 lines of which none was rare.
    """
    found: list[tuple[int, int, int]] = []
    pending = [(0, len(one), 0, len(other))]
    while pending:
        start, stop, first, last = pending.pop()
        same = 0
        while (
            start + same < stop and first + same < last and one[start + same] == other[first + same]
        ):
            same += 1
        found.append((start, first, same))
        start, first, same = start + same, first + same, 0
        while (
            stop - same > start
            and last - same > first
            and one[stop - same - 1] == other[last - same - 1]
        ):
            same += 1
        stop, last = stop - same, last - same
        found.append((stop, last, same))
        if start == stop or first == last:
            continue
        anchors = _unique_pairs(one[start:stop], other[first:last])
        if anchors:
            at, below = start, first
            for mine, theirs in [*anchors, (stop - start, last - first)]:
                pending.append((at, start + mine, below, first + theirs))
                at, below = start + mine, first + theirs
        elif (stop - start) * (last - first) <= MAX_COMPARED_PAIRS:
            rest = SequenceMatcher(None, one[start:stop], other[first:last], autojunk=False)
            found += [(start + b.a, first + b.b, b.size) for b in rest.get_matching_blocks()]
    return sorted(block for block in found if block[2])


def _unique_pairs(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of lines that each text has once, in the order that both have."""
    counts, others = Counter(one), Counter(other)
    place = {line: n for n, line in enumerate(other) if others[line] == 1}
    pairs = [(n, place[line]) for n, line in enumerate(one) if counts[line] == 1 and line in place]
    # The longest series that rises in both: the last pair of each length, and its predecessor.
    ends: list[int] = []
    chains: list[tuple[tuple[int, int], int]] = []
    tops: list[int] = []
    for pair in pairs:
        length = bisect_left(ends, pair[1])
        chains.append((pair, tops[length - 1] if length else -1))
        ends[length : length + 1] = [pair[1]]
        tops[length : length + 1] = [len(chains) - 1]
    series: list[tuple[int, int]] = []
    at = tops[-1] if tops else -1
    while at >= 0:
        pair, at = chains[at]
        series.append(pair)
    return series[::-1]


# --- changes ---------------------------------------------------------------------------------


def _changes(base: Sequence[str], side: Sequence[str]) -> list[_Change]:
    """Return what one side changed, in the order of the base."""
    changes = []
    at = below = 0
    for start, first, count in [*_equal_lines(base, side), (len(base), len(side), 0)]:
        if start > at or first > below:
            end = start + count if count else len(base)
            changes.append(_slide_down(_Change(at, start, side[below:first]), base, end))
        at, below = start + count, first + count
    return changes


def _slide_down(change: _Change, base: Sequence[str], end: int) -> _Change:
    """Return the same insertion as far down as it can stand, before the line `end` of the base.

    Between blank lines it has several places; where both sides insert the same, they must agree.
    """
    start, stop, lines = change
    if start < stop or not lines:
        return change
    moved = 0
    while start + moved < end and base[start + moved] == lines[moved % len(lines)]:
        moved += 1
    first = moved % len(lines)
    return _Change(start + moved, stop + moved, [*lines[first:], *lines[:first]])


def merge_changes(base: Sequence[str], brain: Sequence[str], file: Sequence[str]) -> Iterator[Part]:
    """Yield the three texts in parts; in each, one side or both or none changed the base."""
    waiting = (_changes(base, brain), _changes(base, file))
    at = 0
    while any(waiting):
        first = min((changes[0] for changes in waiting if changes), key=lambda c: (c.start, c.stop))
        group: tuple[list[_Change], list[_Change]] = ([], [])
        start, stop = first.start, first.stop
        grown = True
        while grown:
            grown = False
            for changes, taken in zip(waiting, group, strict=True):
                while changes and _meets(changes[0], start, stop, bool(group[0] or group[1])):
                    taken.append(changes.pop(0))
                    stop, grown = max(stop, taken[-1].stop), True
        yield Part(base[at:start], base[at:start], base[at:start])
        of_brain, of_file = (_apply(base, start, stop, taken) for taken in group)
        yield Part(base[start:stop], of_brain, of_file)
        at = stop
    yield Part(base[at:], base[at:], base[at:])


def take_changed(part: Part) -> Sequence[str] | None:
    """Return the text of the side that changed; None if both did, differently."""
    base, brain, file = (list(lines) for lines in part)
    if brain in (base, file):
        return part.file
    return part.brain if file == base else None


def _meets(change: _Change, start: int, stop: int, started: bool) -> bool:
    """Tell whether a change shares a line with the lines from `start`, or inserts where they do."""
    if not started:
        return (change.start, change.stop) == (start, stop)
    inserts = change.start == change.stop
    same_place = start == stop == change.start and inserts
    return same_place or (change.start < stop and (not inserts or change.start > start))


def _apply(base: Sequence[str], start: int, stop: int, changes: Sequence[_Change]) -> list[str]:
    """Return the lines `start` to `stop` of the base as one side has them."""
    lines: list[str] = []
    for change in changes:
        lines += [*base[start : change.start], *change.lines]
        start = change.stop
    return [*lines, *base[start:stop]]
