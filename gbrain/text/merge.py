"""Merge two texts of a page that were changed separately, line by line, with their common base.

Written here because the three-way merge libraries for Python are licensed under the GPL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gbrain.text.entry_merge import (
    Clash,
    find_copies,
    find_strays,
    merge_entries,
    unify_entries,
    without_copies,
)
from gbrain.text.three_way import Part, common_lines, has_all_lines, merge_changes, take_changed

_BOM = "\ufeff"
FILE_MARKER, MIDDLE_MARKER, BRAIN_MARKER = "<<<<<<< file", "=======", ">>>>>>> brain"


class MergedText(NamedTuple):
    """A merged text; `conflicts` counts the places where it has both texts between markers."""

    text: str
    conflicts: int


def merge_texts(base: str | None, brain: str, file: str) -> MergedText:
    """Merge the brain's and the file's text of a page, whose last common text was `base`.

    Without a base, lines that both have are kept once, so no line of either is dropped. A task or
    timeline entry that one side ticked and the other extended or moved gets both changes. Where
    both added some at one place, all are kept, entries in the order of their dates. Line ends, a
    byte order mark and the end of the last line are those of the file.
    """
    newline = _line_end(file)
    base_lines, brain_lines, file_lines = (
        _split_lines(text, newline) for text in (base or "", brain, file)
    )
    if base is None:
        base_lines = common_lines(brain_lines, file_lines)
    whole = _side_with_both(base_lines, brain_lines, file_lines) if base is not None else None
    written, conflicts = (
        (whole, 0) if whole else _merge_lines(Part(base_lines, brain_lines, file_lines), newline)
    )
    text = "".join(written)
    changed = base is None or _ends_line(file) != _ends_line(base)
    if not _ends_line(file if changed else brain):
        text = text.removesuffix(newline)
    return MergedText(_BOM + text if file.startswith(_BOM) else text, conflicts)


def _side_with_both(
    base: Sequence[str], brain: Sequence[str], file: Sequence[str]
) -> Sequence[str] | None:
    """Return the side that has the other's additions too, if both only added; None if none has.

    Compared line by line they may seem to be at different places, and would be there twice.
    """
    for less, more in ((brain, file), (file, brain)):
        if has_all_lines(less, base) and has_all_lines(more, less):
            return more
    return None


def _merge_lines(all_lines: Part, newline: str) -> tuple[Sequence[str], int]:
    """Return the merged lines, and how many conflicts they have."""
    sides, clashes = unify_entries(all_lines)
    merged = _merge_parts(sides)
    written: list[str] = []
    conflicts = 0
    for part, lines in merged:
        if lines is None:
            mine, theirs = _side_lines(part.brain, part.file, clashes)
            written += _mark_conflict(mine, theirs, newline)
            conflicts += 1
            continue
        for line in lines:
            if line in clashes:
                written += _mark_conflict([clashes[line].brain], [clashes[line].file], newline)
                conflicts += 1
            else:
                written.append(line)
    return written, conflicts


def _merge_parts(sides: Part) -> list[tuple[Part, Sequence[str] | None]]:
    """Return the parts of the texts with the merged lines of each, None for a conflict."""
    merged: list[tuple[Part, Sequence[str] | None]] = []
    for part in merge_changes(*sides):
        lines = take_changed(part)
        merged.append((part, merge_entries(part, sides.file) if lines is None else lines))
    copies = find_copies(_all_lines(merged), sides)
    if copies:
        merged = [
            (part, lines and without_copies(part, lines, copies, sides)) for part, lines in merged
        ]
    strays = find_strays(_all_lines(merged), sides)
    unsettled = set()
    nearest = None
    for number, (part, lines) in enumerate(merged):
        if list(part.brain) != list(part.base) or list(part.file) != list(part.base):
            nearest = number
        if lines and strays.intersection(lines):
            # In a part that nobody changed it is the change above that moved the line.
            unsettled.add(nearest)
    return [
        (part, None if number in unsettled else lines)
        for number, (part, lines) in enumerate(merged)
    ]


def _all_lines(merged: Sequence[tuple[Part, Sequence[str] | None]]) -> list[str]:
    return [line for _, lines in merged for line in lines or ()]


def _side_lines(
    brain: Sequence[str], file: Sequence[str], clashes: Mapping[str, Clash]
) -> tuple[list[str], list[str]]:
    """Return the lines of a conflict; a side has both texts of an entry that it alone has there."""
    mine: list[str] = []
    theirs: list[str] = []
    for lines, side, other in ((mine, brain, file), (theirs, file, brain)):
        for line in side:
            if line not in clashes:
                lines.append(line)
            elif line in other:
                lines.append(clashes[line].brain if side is brain else clashes[line].file)
            else:
                lines += clashes[line]
    return mine, theirs


def _mark_conflict(brain: Sequence[str], file: Sequence[str], newline: str) -> list[str]:
    middle, end = (f"{marker}{newline}" for marker in (MIDDLE_MARKER, BRAIN_MARKER))
    return [f"{FILE_MARKER}{newline}", *file, middle, *brain, end]


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
