"""Merge timeline entries and tasks that both sides changed, each recognised by what it says.

An entry is the same entry with its box ticked, with words added to it, or at another place. Its
identity is its date and its text without the box and the day on which it was done.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from gbrain.text.tasks import find_box
from gbrain.text.three_way import MAX_COMPARED_PAIRS, Part, merge_changes, take_changed
from gbrain.text.timeline import entry_day

# The day on which a task was done, as Obsidian's Tasks and Dataview and TaskPaper write it.
_DONE_DAY = re.compile(
    r"\s*(?:[✅❌]\ufe0f?\s*[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|\[(?:completion|cancelled)::[^\]\r\n]*\]"
    r"|@(?:done|completed|cancelled)(?:\([^)\r\n]*\))?(?!\S))"
)
_WORD = re.compile(rf"{_DONE_DAY.pattern}|\s*(?:\[[ xX/-]\](?=\s)|\S+)")
_INDENTATION = re.compile(r"[ \t>]*")

_Key = tuple[str, ...]


class Clash(NamedTuple):
    """The two texts of one entry whose changes do not merge."""

    brain: str
    file: str


# --- one entry -------------------------------------------------------------------------------


class _Words(NamedTuple):
    """The words of a line with the white space before each.

    `state` has the numbers of those that say whether it is done.
    """

    words: list[str]
    state: frozenset[int]

    @property
    def key(self) -> _Key:
        """What the entry says, done or not."""
        return tuple(
            word.strip().rstrip(".,;:!?") or word.strip()
            for n, word in enumerate(self.words)
            if n not in self.state
        )


def _split_words(line: str) -> _Words:
    text = line.rstrip("\r\n")
    box = find_box(text)
    found = list(_WORD.finditer(text))
    state = (
        n
        for n, word in enumerate(found)
        if _DONE_DAY.fullmatch(word[0]) or (box and word.end() == box[1])
    )
    return _Words([word[0] for word in found], frozenset(state))


def _is_entry(line: str) -> bool:
    return entry_day(line) is not None or find_box(line) is not None


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _merge_lines(base: str | None, brain: str, file: str) -> str | None:
    """Return one entry with the changes of both sides; None if they changed the same words.

    Without a base both sides have added the entry, and one may have ticked it since.
    """
    if brain == file or file == base:
        return brain
    if brain == base:
        return file
    sides = [_split_words(line) for line in (brain, file)]
    if base is None:
        undone = [not _is_done(line) for line in (brain, file)]
        if sides[0].key != sides[1].key or undone[0] == undone[1]:
            return None
        return file if undone[0] else brain
    merged: list[str] = []
    for part in merge_changes(_split_words(base).words, *(side.words for side in sides)):
        words = take_changed(part)
        if words is None and not part.base:
            # Words and a day of completion at the same place: the day stays behind the words.
            days = [all(map(_DONE_DAY.fullmatch, added)) for added in (part.brain, part.file)]
            if days[0] != days[1]:
                first, last = (part.file, part.brain) if days[0] else (part.brain, part.file)
                words = [*first, *last]
        if words is None:
            return None
        merged += words
    return "".join(merged) + _line_end(file if _line_end(brain) == _line_end(base) else brain)


def _is_done(line: str) -> bool:
    box = find_box(line)
    return box is not None and line[slice(*box)] in ("[x]", "[X]", "DONE")


def _starts_with(longer: _Key, shorter: _Key) -> bool:
    return _has_words(shorter) and longer[: len(shorter)] == shorter


def _contains(longer: _Key, shorter: _Key) -> bool:
    """Tell whether all words of `shorter` are in `longer`, in order."""
    left = iter(longer)
    return _has_words(shorter) and all(word in left for word in shorter)


def _has_words(key: _Key) -> bool:
    """Tell whether there is more than a bullet and a date."""
    return any(letter.isalpha() for word in key for letter in word)


# --- the same entry on both sides ------------------------------------------------------------


def unify_entries(sides: Part, *, in_place: bool = False) -> tuple[Part, dict[str, Clash]]:
    """Return the three texts with the same line for each entry that both sides have, and clashes.

    An entry that one side ticked, extended or moved is then one line of all three texts, so words
    and places are merged apart. Where the words do not merge, the line is a key of the clashes.
    `in_place` says that the texts are one place of a page: words may have been added anywhere.
    """
    counts = [Counter(side) for side in sides]
    known, brain, file = counts
    edits = [
        _pair_lines(known - side, side - known, _contains if in_place else _starts_with)
        for side in (brain, file)
    ]
    names: list[dict[str, str]] = [{}, {}, {}]
    clashes: dict[str, Clash] = {}

    def unify(base: str | None, mine: str, theirs: str) -> None:
        lines = (base, mine, theirs)
        if any(line and count[line] != 1 for line, count in zip(lines, counts, strict=True)):
            return
        merged = _merge_lines(*lines)
        others = zip(lines, counts, strict=True)
        if any(merged != line and merged in count for line, count in others):
            # A side has this entry already, so its line would be there twice.
            return
        if merged is None:
            # Not a line of a text: those end with a line feed.
            merged = str(len(clashes))
            clashes[merged] = Clash(mine, theirs)
        for line, renamed in zip(lines, names, strict=True):
            if line:
                renamed[line] = merged

    for line in {**edits[0], **edits[1]}:
        unify(line, *(pairs.get(line, line) for pairs in edits))
    new = [
        side - known - Counter(pairs.values())
        for side, pairs in zip((brain, file), edits, strict=True)
    ]
    mine, theirs = new[0] - new[1], new[1] - new[0]
    # What both sides added elsewhere on a page, without a date, may well be two tasks.
    dated = not in_place
    for line, other in _pair_lines(mine, theirs, _starts_with, dated=dated).items():
        unify(None, line, other)
    for line, other in _pair_lines(theirs, mine, _starts_with, dated=dated).items():
        if other not in names[1] and line not in names[2]:
            unify(None, other, line)
    unified = [
        [renamed.get(line, line) for line in side] if renamed else side
        for side, renamed in zip(sides, names, strict=True)
    ]
    return Part(*unified), clashes


def _pair_lines(
    lines: Mapping[str, int],
    others: Mapping[str, int],
    extends: Callable[[_Key, _Key], bool],
    *,
    dated: bool = False,
) -> dict[str, str]:
    """Return for each entry the only other one that says the same, or else the same and more.

    With `dated`, only what has a date may say more.
    """
    keys = [
        {line: _split_words(line).key for line in side if _is_entry(line)}
        for side in (lines, others)
    ]
    by_key: list[dict[_Key, list[str]]] = [{}, {}]
    for side, of_side in zip(keys, by_key, strict=True):
        for line, key in side.items():
            of_side.setdefault(key, []).append(line)
    pairs = {
        same[0]: by_key[1][key][0]
        for key, same in by_key[0].items()
        if len(same) == len(by_key[1].get(key, ())) == 1
    }
    rest, left = (
        [(line, entry_day(line)) for line in side if line not in paired]
        for side, paired in zip(keys, (set(pairs), set(pairs.values())), strict=True)
    )
    if len(rest) * len(left) > MAX_COMPARED_PAIRS:
        return pairs
    longer = {
        line: [
            other
            for other, of_other in left
            if day == of_other and extends(keys[1][other], keys[0][line])
        ]
        for line, day in rest
        if day or not dated
    }
    wanted = Counter(other for found in longer.values() for other in found)
    pairs |= {
        line: found[0]
        for line, found in longer.items()
        if len(found) == 1 and wanted[found[0]] == 1
    }
    return pairs


# --- entries at one place --------------------------------------------------------------------


class _Entry(NamedTuple):
    """An entry: its first line, and the lines below it that are indented more."""

    blank: list[str]
    first: str
    below: list[str]

    @property
    def lines(self) -> list[str]:
        return [*self.blank, self.first, *self.below]

    def says_same(self, other: _Entry) -> bool:
        return _without_blank(self.below) == _without_blank(other.below)


def _without_blank(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if line.strip()]


def merge_entries(part: Part, page: Sequence[str]) -> list[str] | None:
    """Return the entries of a place that both sides changed; None for a conflict.

    Both sides must have entries only there. Those that the brain added are placed by date, in the
    order that the page has, or else below the others.
    """
    part, clashes = unify_entries(part, in_place=True)
    if clashes:
        return None
    lines = take_changed(part)
    if lines is not None:
        return list(lines)
    top = _agreed_lines(part)
    agreed = part.file[:top]
    brain, file = (_split_entries(side[top:]) for side in (part.brain, part.file))
    known = _find_entries([line for line in part.base if line not in agreed])
    if known is None or brain is None or file is None:
        return None
    depths = {_indentation(first) for first in (*brain, *file)}
    if len(depths) > 1 or _lost_or_doubled(known, brain, file):
        return None
    merged: list[_Entry] = []
    for first, entry in file.items():
        mine, base = brain.get(first), known.get(first)
        if mine is None and base is None:
            merged.append(entry)
        elif mine is None:
            # The brain dropped it, and the file has it as it was.
            continue
        else:
            taken = _merge_below(base, mine, entry)
            if taken is None:
                return None
            merged.append(taken)
    added = [entry for first, entry in brain.items() if first not in file and first not in known]
    ordered = _in_order(merged, added, falls=_dates_fall(page))
    return [*agreed, *(line for entry in ordered for line in entry.lines)]


def _agreed_lines(part: Part) -> int:
    """Return how many lines at the start both sides have, such as a new heading of a timeline."""
    top = 0
    for mine, theirs in zip(part.brain, part.file, strict=False):
        if mine != theirs:
            break
        top += 1
    # An entry that both sides have may start another run of entries.
    while top and _is_entry(part.brain[top - 1]):
        top -= 1
    return top


def _split_entries(lines: Sequence[str]) -> dict[str, _Entry] | None:
    """Return the entries by their first line; None if there is other text or one twice."""
    entries: dict[str, _Entry] = {}
    depth = None
    blank: list[str] = []
    last: _Entry | None = None
    for line in lines:
        indented = _indentation(line)
        if not line.strip():
            (last.below if last else blank).append(line)
        elif last and depth is not None and indented > depth:
            last.below.append(line)
        elif _is_entry(line) and depth in (None, indented) and line not in entries:
            depth = indented
            last = entries[line] = _Entry(blank, line, [])
            blank = []
        else:
            return None
    return entries or None


def _find_entries(lines: Sequence[str]) -> dict[str, _Entry] | None:
    """Return the entries among the lines; None if there are lines that belong to no entry."""
    texts = _without_blank(lines)
    return _split_entries(lines) if any(map(_is_entry, texts)) else {}


def _indentation(line: str) -> int:
    found = _INDENTATION.match(line)
    return len(found[0].expandtabs(4)) if found else 0


def _lost_or_doubled(
    known: Mapping[str, _Entry], brain: Mapping[str, _Entry], file: Mapping[str, _Entry]
) -> bool:
    """Tell whether an entry would be dropped or be there twice although one side changed it."""
    if any(first not in brain and first not in file for first in known):
        # Deleted by one side and changed by the other, or changed by both beyond recognition.
        return True
    return any(
        first in known and first not in other and not entry.says_same(known[first])
        for side, other in ((brain, file), (file, brain))
        for first, entry in side.items()
    )


def _merge_below(base: _Entry | None, brain: _Entry, file: _Entry) -> _Entry | None:
    """Return an entry that both sides have; None if both changed the lines below it."""
    if brain.says_same(file) or (base and base.says_same(brain)):
        return file
    return brain if base and base.says_same(file) else None


def _in_order(
    entries: Sequence[_Entry], added: Sequence[_Entry], *, falls: bool
) -> Sequence[_Entry]:
    """Return the entries and those that were added, by date if they are dated and in order."""
    days = [entry_day(entry.first) or "" for entry in (*entries, *added)]
    old = days[: len(entries)]
    if not all(days) or old != sorted(old, reverse=falls):
        return [*entries, *added]
    # Stable: entries of one day stay in their order, the file's first.
    return sorted((*entries, *added), key=lambda e: entry_day(e.first) or "", reverse=falls)


def _dates_fall(lines: Sequence[str]) -> bool:
    """Tell whether the page's timeline has the latest entry first."""
    days = [day for line in lines if (day := entry_day(line)) is not None]
    return sum(a > b for a, b in pairwise(days)) > sum(a < b for a, b in pairwise(days))


# --- what lines alone would merge wrongly ----------------------------------------------------


def find_copies(merged: Iterable[str], sides: Part) -> set[str]:
    """Return the entries that the merged lines have more often than either side has them.

    Both sides moved or added the entry, to different places.
    """
    counts = [Counter(side) for side in sides[1:]]
    return {
        line
        for line, count in Counter(merged).items()
        if count > 1 and count > max(of_side[line] for of_side in counts) and _is_entry(line)
    }


def find_strays(merged: Sequence[str], sides: Part) -> set[str]:
    """Return the lines below an entry that would stand elsewhere, and entries that would return.

    One side wrote below an entry, or moved it, and the other deleted, moved or rewrote it.
    """
    places = {place for side in sides[1:] for place in _places_below(side)}
    strays = {line for line, entry in _places_below(merged) if (line, entry) not in places}
    deleted = set(sides.base) - (set(sides.brain) & set(sides.file))
    return strays | {line for line in deleted.intersection(merged) if _is_entry(line)}


def _places_below(lines: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each indented line and the entry that it is below, None for none."""
    above: list[tuple[int, str]] = []
    for line in lines:
        if not line.strip():
            continue
        indented = _indentation(line)
        while above and above[-1][0] >= indented:
            above.pop()
        if indented:
            yield line, above[-1][1] if above else None
        if _is_entry(line):
            above.append((indented, line))


def without_copies(
    part: Part, lines: Sequence[str], copies: set[str], sides: Part
) -> Sequence[str] | None:
    """Return the lines of a part without the brain's copies of entries; None for a conflict.

    An entry with a date is dropped if each side has it once, with the same lines below it. Without
    a date it may be another task, and the user decides.
    """
    page = sides.file
    if list(part.brain) == list(part.base) or not copies.intersection(lines):
        return lines
    if list(part.file) != list(part.base):
        return None
    kept: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        below = _lines_below(lines, at) if line in copies else []
        at += 1 + len(below)
        if line not in copies:
            kept.append(line)
        elif (
            entry_day(line) is None
            or not page.count(line) == sides.brain.count(line) == 1
            or _lines_below(page, page.index(line)) != below
        ):
            return None
    return kept


def _lines_below(lines: Sequence[str], at: int) -> list[str]:
    """Return the lines after `at` that are indented more."""
    depth = _indentation(lines[at])
    below = takewhile(lambda line: line.strip() and _indentation(line) > depth, lines[at + 1 :])
    return list(below)
