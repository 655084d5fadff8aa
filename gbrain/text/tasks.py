"""Find the tasks of a page, `- [ ]` items and Logseq's TODO blocks, and tick one of them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from gbrain.text.dates import leading_date, leading_written_date
from gbrain.text.dialects import find_comments
from gbrain.text.links import parse_body_links
from gbrain.text.markdown import Structure, is_within, scan_blocks
from gbrain.text.periods import Period
from gbrain.text.sections import find_timeline_line, parse_list_date, split_sections

# An item of a list at any depth, also in a quote. [/] is in progress, [-] is cancelled.
_ITEM = r"^[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+"
# The date and source of a timeline entry, which gbrain capture "[ ] Call Ivy" writes. Logseq's
# other words are prose there: "Standup - NOW is the time".
_ENTRY = (
    r"\**[0-9]{4}(?:-[0-9]{2}){0,2}[^\r\n\[]{0,80}?[—–:-][ \t]+(?:[-*+][ \t]+)?(?=\[|TODO|DONE)"
)
_TASK = re.compile(
    rf"{_ITEM}(?:{_ENTRY})?(?:\[(?P<mark>[ xX/-])\](?=[ \t])"
    r"|(?P<word>TODO|DOING|NOW|LATER|DONE|CANCELL?ED)(?=[ \t]))[ \t]++(?P<text>[^\r\n]*[^\s])",
    re.MULTILINE,
)
_OPEN_MARKS = (" ", "/")
_OPEN_WORDS = ("TODO", "DOING", "NOW", "LATER")

# As the Tasks plugin of Obsidian writes it, and as people do: due: 2026-11-20, by 20 Nov 2026.
_DUE = re.compile(
    r"(?:[📅📆🗓]\ufe0f?|(?<![\w.@])@(?:due\()?|(?<!\w)"
    r"(?:(?:due|deadline)(?:::?|\(| by| on)?|by|bis(?: zum)?|fällig(?: am)?))[ \t]*(?=\w)",
    re.IGNORECASE,
)
_LOGSEQ_DUE = re.compile(r"[ \t]*(?:DEADLINE|SCHEDULED):[ \t]*<")
_MAX_DATE_CHARACTERS = 32
_DAY_LENGTH = len("2026-11-20")


class Task(NamedTuple):
    """A task; `line` counts from 1 in the body, `start` and `stop` enclose its checkbox or word.

    `label` is the text without the day on which it is due. `due` is the date in the item itself,
    `date` else that of its section, None without one.
    """

    text: str
    label: str
    done: bool
    line: int
    start: int
    stop: int
    due: Period | None
    date: str | None
    heading: str | None
    tags: tuple[str, ...]


def may_have_tasks(body: str) -> bool:
    """Tell whether a body has a line that looks like a task, in code or not; it is fast."""
    return _TASK.search(body) is not None


def find_box(line: str) -> tuple[int, int] | None:
    """Return where the checkbox, such as [x], or the word, such as DONE, of a task's line is."""
    match = _TASK.match(line)
    if match is None:
        return None
    start, stop = match.span("word" if match["word"] else "mark")
    return (start, stop) if match["word"] else (start - 1, stop + 1)


def find_tasks(body: str) -> Iterator[Task]:
    """Yield the tasks of a page's body in order; lines in code or a comment are not tasks."""
    structure = scan_blocks(body)
    comments = list(find_comments(body, structure))
    sections = split_sections(body, structure, find_timeline_line(body, structure))
    section_starts = [section.start for section in sections]
    for match in _TASK.finditer(body):
        line = bisect_right(structure.starts, match.start()) - 1
        if is_within(structure.code, line) or is_within(comments, match.start("text")):
            continue
        section = sections[bisect_right(section_starts, match.start()) - 1]
        text = match["text"]
        due, label = _read_due(text)
        due = due or _find_planned_day(body, structure, line)
        mark, word = match["mark"], match["word"]
        start, stop = match.span("mark" if mark else "word")
        yield Task(
            text=text,
            label=label,
            done=mark not in _OPEN_MARKS if mark else word not in _OPEN_WORDS,
            line=line + 1,
            start=start,
            stop=stop,
            due=due,
            date=due.text if due else section.date,
            heading=section.heading_path[-1] if section.heading_path else None,
            tags=_tags(text),
        )


def tick(body: str, task: Task) -> str:
    """Return the body with one task done, and everything else unchanged."""
    mark = "x" if task.stop - task.start == 1 else "DONE"
    return body[: task.start] + mark + body[task.stop :]


def _read_due(text: str) -> tuple[Period | None, str]:
    """Return the date in an item, marked as due or at its beginning, and the text without it."""
    for marker in _DUE.finditer(text):
        end = marker.end()
        found = leading_written_date(text[end : end + _MAX_DATE_CHARACTERS])
        if found and len(found[0].text) > len("2026"):
            return found[0], _without_date(text, found[0], marker.start(), end + found[1])
    if listed := parse_list_date(f"- {text}"):
        return listed[0], _without_date(text, listed[0], 0, listed[1] - len("- "))
    return None, text


def _find_planned_day(body: str, structure: Structure, line: int) -> Period | None:
    """Return the date of Logseq's DEADLINE or SCHEDULED in the lines below an item."""
    for below in structure.starts[line + 1 : line + 3]:
        if planned := _LOGSEQ_DUE.match(body, below):
            found = leading_date(body[planned.end() : planned.end() + _DAY_LENGTH])
            return found[0] if found else None
    return None


def _without_date(text: str, date: Period, start: int, stop: int) -> str:
    """Return a text without a day in it, and without the punctuation around that day."""
    if len(date.text) != _DAY_LENGTH:  # a time or a month says more than its last day
        return text
    before, after = text[:start].rstrip(" \t([,;:–—-"), text[stop:].lstrip(")]").strip()
    if not before:
        return after.lstrip(",;:–—- ") or text
    return before + ("" if not after or after[0] in ",.;:!?)" else " ") + after


def _tags(text: str) -> tuple[str, ...]:
    """Return the #tags of an item."""
    return tuple(parse_body_links(text, scan_blocks(text), 1, "")[1]) if "#" in text else ()
