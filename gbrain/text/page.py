"""Parse the bytes of a Markdown file into a Page, and find the questions that a page answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice, pairwise
from typing import NamedTuple

from gbrain.errors import BadPage
from gbrain.text.chunking import chunk_body
from gbrain.text.classify import Shape, classify_room, classify_wing
from gbrain.text.dates import find_written_date, leading_date, parse_date
from gbrain.text.dialects import (
    decode_page_name,
    journal_day,
    journal_link_titles,
    parse_block_properties,
    parse_page_properties,
)
from gbrain.text.frontmatter import split_front_matter
from gbrain.text.links import parse_body_links, parse_front_matter_links
from gbrain.text.markdown import Structure, scan_blocks
from gbrain.text.periods import MONTH_NAMES, Period
from gbrain.text.sections import find_timeline_line, split_sections
from gbrain.text.slug import slug_from_path
from gbrain.types import Page, Section

MAX_PAGE_BYTES = 10_000_000
MAX_LINE_BYTES = 1_000_000
MAX_TITLE_CHARACTERS = 300

# Longer Markdown is cut before a title is made of it: some lines would take quadratic time.
_MAX_INLINE_CHARACTERS = 4 * MAX_TITLE_CHARACTERS

_INLINE_LINK = re.compile(r"\[\[(?:[^\[\]|\n]*\|)?([^\[\]\n]*)\]\]|!?\[([^\[\]\n]*)\]\([^()\n]*\)")
_EMPHASIS = re.compile(r"[`*]+|(?<!\w)_+|_+(?!\w)")
_TASK = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[[ xX]\]")
_DATED_NAME = re.compile(r"(?<!\d)\d{4}-\d{2}(?:-\d{2})?(?!\d)")
_EVENT_KEYS = ("date", "day")
_FILE_KEYS = ("updated", "modified", "created")
DATE_KEYS = _EVENT_KEYS + _FILE_KEYS


def decode_page(data: bytes) -> str:
    """Return the text of a page; raise BadPage with the line if the bytes are not UTF-8 text."""
    if len(data) > MAX_PAGE_BYTES:
        raise BadPage(
            f"The page has {len(data):,} bytes; the limit is {MAX_PAGE_BYTES:,}",
            hint="Split it into several pages.",
            code="page_too_large",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        raise BadPage(
            f"line {line}: not UTF-8 (byte 0x{data[error.start]:02x} at offset {error.start})",
            hint="The file looks like UTF-16: convert it to UTF-8 first."
            if utf16
            else "Convert it to UTF-8 first, for example with: iconv -f latin1 -t utf-8",
            code="not_utf8",
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise BadPage(
            f"line {line}: a NUL byte, so this is binary data and not a page",
            hint="Only Markdown text can be a page.",
            code="binary",
        )
    return text


def parse_page(path: str, data: bytes) -> Page:
    """Return the page at `path` (relative to its folder) with the content `data`.

    Raises BadPage if the content is no page, with the line of the problem.
    """
    text = decode_page(data)
    front, body = split_front_matter(text)
    structure = scan_blocks(body)
    first_line = _count_lines(front.raw) + 1
    _check_lines(body, structure, first_line)
    timeline = find_timeline_line(body, structure)
    sections = split_sections(body, structure, timeline)
    values: Mapping[str, object] = front.values
    blocks: list[str] = []
    block_tags: list[str] = []
    if ":: " in body:
        values = {**parse_page_properties(body), **values}
        blocks, block_tags = parse_block_properties(body, structure)
    title = _find_title(values, structure, path)
    links, inline_tags = parse_body_links(body, structure, first_line, path)
    links = [*parse_front_matter_links(front.values, front.lines), *links]
    tags = _unique_names(*front_matter_tags(values), *inline_tags, *block_tags)
    day = journal_day(_file_stem(path))
    aliases = _unique_names(
        *_list_values(values, ("aliases", "alias"), r","),
        *(journal_link_titles(day) if day else ()),
    )
    shape = _count_shape(body, structure, timeline, sections, len(links))
    wing = classify_wing(path, values, tags, shape)
    room = classify_room(path, title, values, shape)
    period = _page_date(values, path, title, sections)
    cut = structure.starts[timeline]
    type_ = values.get("type")
    return Page(
        slug=slug_from_path(path),
        path=path,
        title=title,
        type=type_.strip() or None if isinstance(type_, str) else None,
        wing=wing.name,
        wing_reason=wing.reason,
        room=room.name,
        room_reason=room.reason,
        tags=tags,
        aliases=aliases,
        date=period.text if period else None,
        first_day=period.first if period else None,
        last_day=period.last if period else None,
        meta=json.dumps(values, ensure_ascii=False) if values else "{}",
        sha256=sha256(data).digest(),
        front_matter=front.raw,
        compiled_truth=body[:cut],
        timeline=body[cut:],
        links=tuple(links),
        chunks=chunk_body(title, body, structure, sections, first_line, len(front.raw.encode())),
        blocks=tuple(dict.fromkeys(blocks)),
    )


def _check_lines(body: str, structure: Structure, first_line: int) -> None:
    starts = structure.starts
    for line, (start, stop) in enumerate(pairwise(starts), first_line):
        if stop - start <= MAX_LINE_BYTES // 4:
            continue
        if len(body[start:stop].rstrip("\r\n").encode()) > MAX_LINE_BYTES:
            raise BadPage(
                f"line {line} is longer than {MAX_LINE_BYTES:,} bytes",
                hint="Break it into shorter lines.",
                code="line_too_long",
            )


def _count_lines(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _find_title(values: Mapping[str, object], structure: Structure, path: str) -> str:
    given = values.get("title")
    if isinstance(given, str | int | float) and str(given).strip():
        return _plain_text(str(given))
    for heading in structure.headings:
        if heading.level == 1 and _plain_text(heading.text):
            return _plain_text(heading.text)
    name = _file_stem(path)
    name = journal_day(name) or decode_page_name(name)
    name = (
        _plain_text(name.replace("-", " ").replace("_", " ")) if parse_date(name) is None else name
    )
    return name[:1].upper() + name[1:]


def _file_stem(path: str) -> str:
    """Return the name of the file without its suffix."""
    return path.rpartition("/")[2].rpartition(".")[0] or path


def _plain_text(inline: str) -> str:
    """Return inline Markdown as plain text on one line, without links and emphasis."""
    inline = inline[:_MAX_INLINE_CHARACTERS]
    if "[" in inline:
        inline = _INLINE_LINK.sub(lambda m: m[1] or m[2] or "", inline)
    return " ".join(_EMPHASIS.sub("", inline).split())[:MAX_TITLE_CHARACTERS]


def front_matter_tags(values: Mapping[str, object]) -> Iterator[str]:
    """Yield the tags in front matter as they are written."""
    return _list_values(values, ("tags", "tag"), r"[,\s]+")


def _list_values(
    values: Mapping[str, object], keys: tuple[str, ...], separator: str
) -> Iterator[str]:
    """Yield the values of `keys`, each a YAML list or a string with separators."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, str):
            yield from re.split(separator, value)
        elif isinstance(value, list):
            yield from (str(item) for item in value if isinstance(item, str | int | float))


def _unique_names(*names: str) -> tuple[str, ...]:
    """Return names without duplicates, in their first spelling, without a leading '#'."""
    seen: dict[str, str] = {}
    for name in names:
        plain = " ".join(name.split()).lstrip("#").strip("/")
        if plain:
            seen.setdefault(plain.casefold(), plain)
    return tuple(seen.values())


def event_date(values: Mapping[str, object], path: str, title: str) -> Period | None:
    """Return the date of what a page is about: from front matter, else its name, else its title.

    A page has none if only the day on which it was written is known.
    """
    return _front_matter_date(values, _EVENT_KEYS) or _name_date(path) or find_written_date(title)


def _page_date(
    values: Mapping[str, object], path: str, title: str, sections: tuple[Section, ...]
) -> Period | None:
    """Return the date of a page: its event's, else when it was written, else its last entry's."""
    period = event_date(values, path, title) or _front_matter_date(values, _FILE_KEYS)
    if period:
        return period
    latest = max(
        (s for s in sections if s.kind == "timeline" and s.last_day),
        key=lambda s: s.last_day or "",
        default=None,
    )
    found = leading_date(latest.date) if latest and latest.date else None
    return found[0] if found else None


def _front_matter_date(values: Mapping[str, object], keys: tuple[str, ...]) -> Period | None:
    for key in keys:
        value = values.get(key)
        period = parse_date(str(value)) if isinstance(value, str | int) else None
        if period:
            return period
    return None


def _name_date(path: str) -> Period | None:
    named = _DATED_NAME.search(path.rpartition("/")[2])
    day = named[0] if named else journal_day(_file_stem(path))
    return parse_date(day) if day else None


def _count_shape(
    body: str,
    structure: Structure,
    timeline: int,
    sections: tuple[Section, ...],
    links: int,
) -> Shape:
    starts = structure.starts
    truth = [item for item in structure.items if item.line < timeline]
    return Shape(
        words=body.count(" ") + len(starts),
        lines=sum(1 for line in body.split("\n") if line.strip()),
        headings=tuple(heading.text for heading in structure.headings),
        bullets=sum(1 for item in truth if not item.ordered),
        tasks=sum(1 for item in truth if _TASK.match(body, starts[item.line])),
        ordered=sum(1 for item in truth if item.ordered),
        code_lines=sum(stop - start for start, stop in structure.code),
        entries=sum(1 for section in sections if section.kind == "timeline"),
        links=links,
    )


# --- the questions that a page answers -------------------------------------------------------

MAX_QUESTIONS = 200
_MAX_QUESTION_CHARACTERS = 500
_MAX_ENTRY_WORDS = 20


class QuestionSource(NamedTuple):
    """The parts of a chunk that questions are derived from; only timeline entries have a date."""

    heading_path: tuple[str, ...]
    date: str | None
    text: str


def authored_questions(meta: str) -> list[str]:
    """Return the questions in front matter (as JSON): a list, or text with one on each line."""
    written = json.loads(meta).get("questions") if '"questions"' in meta else None
    if isinstance(written, str):
        written = written.splitlines()
    if not isinstance(written, list):
        return []
    tidied = (
        " ".join(text.split())[:_MAX_QUESTION_CHARACTERS]
        for text in written
        if isinstance(text, str)
    )
    return list(islice(filter(None, tidied), MAX_QUESTIONS))


def derive_questions(title: str, wing: str, chunks: Iterable[QuestionSource]) -> list[str]:
    """Return the questions that title, headings and dated entries suggest, without duplicates."""
    questions = {f"{'Who' if wing == 'people' else 'What'} is {title}?": None}
    for chunk in chunks:
        if chunk.date:
            questions[_entry_question(chunk.date, chunk.text)] = None
        elif chunk.heading_path and chunk.heading_path[-1] != title:
            heading = chunk.heading_path[-1]
            questions[heading if heading.endswith("?") else f"What is {heading} of {title}?"] = None
        if len(questions) >= MAX_QUESTIONS:
            break
    return [question[:_MAX_QUESTION_CHARACTERS] for question in questions]


def _entry_question(written: str, entry: str) -> str:
    from gbrain.text.timeline import parse_entry

    words = parse_entry(entry).words.split()[:_MAX_ENTRY_WORDS]
    return f"When, and what happened in {spell_out_date(written)}: {' '.join(words)}?"


def spell_out_date(written: str) -> str:
    """Return a date as a question would name it: `3 April 2026` for `2026-04-03`."""
    year, _, rest = written[:10].partition("-")
    month, _, day = rest.partition("-")
    if month.startswith("Q"):
        return f"{month} {year}"
    if not (month.isdecimal() and 1 <= int(month) <= 12):
        return year
    named = f"{MONTH_NAMES[int(month) - 1]} {year}"
    return f"{int(day)} {named}" if day.isdecimal() else named
