"""Merge two texts of a page that were changed separately, line by line, with their common base.

Written here because the three-way merge libraries for Python are licensed under the GPL.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

from gbrain.text.timeline import entry_day

_BOM = "\ufeff"
# The time of difflib grows with the product of the numbers of lines, or faster.
_MAX_COMPARED_PAIRS = 40_000
FILE_MARKER, MIDDLE_MARKER, BRAIN_MARKER = "<<<<<<< file", "=======", ">>>>>>> brain"


class MergedText(NamedTuple):
    """A merged text; `conflicts` counts the places where it has both texts between markers."""

    text: str
    conflicts: int


class _Change(NamedTuple):
    """Lines of the base, `stop` exclusive, that one side replaced with `lines`."""

    start: int
    stop: int
    lines: Sequence[str]


def merge_texts(base: str | None, brain: str, file: str) -> MergedText:
    """Merge the brain's and the file's text of a page, whose last common text was `base`.

    Without a base, lines that both have are kept once, so no line of either is dropped. Where
    both added timeline entries at one place, all are kept in the order of their dates. Line ends, a
    byte order mark and the end of the last line are those of the file.
    """
    newline = _line_end(file)
    texts = [_split_lines(text, newline) for text in (base or "", brain, file)]
    base_lines, brain_lines, file_lines = texts
    if base is None:
        base_lines = _common_lines(brain_lines, file_lines)
    merged: list[str] = []
    conflicts = 0
    for of_brain, of_file, kept in _merge_changes(base_lines, brain_lines, file_lines):
        if kept is not None:
            merged += kept
            continue
        both = _merge_entries(of_brain, of_file, file_lines)
        if both is None:
            conflicts += 1
            middle, end = (f"{marker}{newline}" for marker in (MIDDLE_MARKER, BRAIN_MARKER))
            both = [f"{FILE_MARKER}{newline}", *of_file, middle, *of_brain, end]
        merged += both
    text = "".join(merged)
    changed = base is None or _ends_line(file) != _ends_line(base)
    if not _ends_line(file if changed else brain):
        text = text.removesuffix(newline)
    return MergedText(_BOM + text if file.startswith(_BOM) else text, conflicts)


def has_markers(text: str) -> bool:
    """Tell whether a text still has a line that marks a conflict."""
    return any(line.startswith((FILE_MARKER, BRAIN_MARKER)) for line in text.splitlines())


def keep_style(old: str, new: str) -> str:
    """Return `new` with the line ends, byte order mark and end of the last line that `old` has.

    Line ends stay as they are unless each text has one kind only.
    """
    if not old or not new:
        return new
    newline = _line_end(old)
    text = new.removeprefix(_BOM)
    if _is_uniform(old) and _is_uniform(text):
        text = _with_line_end(text, newline)
    if _ends_line(old) and not _ends_line(text):
        text += newline
    elif not _ends_line(old):
        text = text.removesuffix("\n").removesuffix("\r")
    return _BOM + text if old.startswith(_BOM) else text


# --- lines -----------------------------------------------------------------------------------


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _ends_line(text: str) -> bool:
    return not text or text.endswith("\n")


def _is_uniform(text: str) -> bool:
    """Tell whether all line ends of the text are the same."""
    pairs = text.count("\r\n")
    return pairs in (0, text.count("\n")) and text.count("\r") == pairs


def _with_line_end(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)


def _split_lines(text: str, newline: str) -> list[str]:
    """Return the lines, all ended, with the line end `newline` if the text has only one kind."""
    plain = text.removeprefix(_BOM)
    if _is_uniform(plain):
        plain = _with_line_end(plain, newline)
    if not _ends_line(plain):
        plain += newline
    # Only \n ends a line: str.splitlines would also split at characters inside of one.
    return [f"{line}\n" for line in plain.split("\n")[:-1]]


def _common_lines(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the lines that both texts have, in order."""
    return [
        line for start, _, count in _equal_lines(one, other) for line in one[start : start + count]
    ]


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
        elif (stop - start) * (last - first) <= _MAX_COMPARED_PAIRS:
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
            changes.append(_Change(at, start, side[below:first]))
        at, below = start + count, first + count
    return changes


def _merge_changes(
    base: Sequence[str], brain: Sequence[str], file: Sequence[str]
) -> Iterator[tuple[Sequence[str], Sequence[str], Sequence[str] | None]]:
    """Yield the merged text in parts: (brain's lines, file's lines, lines to keep).

    The lines to keep are None where both sides changed the same lines differently.
    """
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
        yield (), (), base[at:start]
        of_brain, of_file = (_apply(base, start, stop, taken) for taken in group)
        if not group[1] or of_brain == of_file:
            yield of_brain, of_file, of_brain
        elif not group[0]:
            yield of_brain, of_file, of_file
        else:
            yield of_brain, of_file, None
        at = stop
    yield (), (), base[at:]


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


# --- timeline entries ------------------------------------------------------------------------


def _merge_entries(
    brain: Sequence[str], file: Sequence[str], page: Sequence[str]
) -> Sequence[str] | None:
    """Return the entries of both sides in the order of dates that the page has.

    Returns None unless both sides have timeline entries only.
    """
    top = 0
    while top < min(len(brain), len(file)) and brain[top] == file[top]:
        top += 1
    # An entry that both sides have may start another run of entries.
    while top and entry_day(brain[top - 1]) is not None:
        top -= 1
    entries = [_split_entries(side[top:]) for side in (file, brain)]
    if not all(entries):
        return None
    found: list[tuple[str, list[str]]] = []
    for side in entries:
        found += [entry for entry in side or () if entry not in found]
    # Stable: entries of one day stay in their order, the file's first.
    found.sort(key=lambda entry: entry[0], reverse=_dates_fall(page))
    return [*file[:top], *(line for _, lines in found for line in lines)]


def _split_entries(lines: Sequence[str]) -> list[tuple[str, list[str]]] | None:
    """Return (day, lines) of each entry; None if there is other text."""
    entries: list[tuple[str, list[str]]] = []
    above: list[str] = []
    for line in lines:
        day = entry_day(line)
        if day is not None:
            entries.append((day, [*above, line]))
            above = []
        elif entries and (line[:1] in " \t" or not line.strip()):
            entries[-1][1].append(line)
        elif line.strip():
            return None
        else:
            above.append(line)
    return entries


def _dates_fall(lines: Sequence[str]) -> bool:
    """Tell whether the page's timeline has the latest entry first."""
    days = [day for line in lines if (day := entry_day(line)) is not None]
    return sum(a > b for a, b in pairwise(days)) > sum(a < b for a, b in pairwise(days))
