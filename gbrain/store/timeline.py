"""Read what is dated across pages (entries, list items, sections, pages), and add an entry."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

from gbrain.errors import NotFound
from gbrain.messages import did_you_mean
from gbrain.store import page_writer, pages
from gbrain.store.remembered import remember
from gbrain.store.scope import dated_chunk_condition, page_condition
from gbrain.text.timeline import add_entry, parse_entry, parse_list_item
from gbrain.types import Scope

EntryKind = Literal["timeline", "list", "heading", "page"]

# A section or page is listed by its opening, an entry by all its words.
_MAX_OPENING_CHARACTERS = 280

# Values of another type, in a damaged brain, could not be sorted.
_DATED = "CAST({0}.first_day AS TEXT), CAST({0}.date AS TEXT), slug"


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """Something dated, without bullet and date; `lines` are inclusive, from 1.

    `kind` is what has the date: an entry of the timeline, an item of another list, a heading, or
    the page itself. `heading` is the one above it, or the dated heading.
    """

    slug: str
    title: str
    date: str
    source: str | None
    text: str
    lines: tuple[int, int]
    kind: EntryKind = "timeline"
    heading: str | None = None


class _Dated(NamedTuple):
    """A dated section, or the page itself with section -1, in the order in which they sort."""

    first_day: str
    date: str
    slug: str
    section: int
    page_id: int
    title: str


def latest_entries(
    connection: sqlite3.Connection, scope: Scope, limit: int | None
) -> tuple[list[TimelineEntry], int]:
    """Return the latest `limit` entries in scope, latest first, and how many there are."""
    sections, total = _dated_sections(connection, scope, limit)
    dated_pages = _dated_pages(connection, scope)
    dated = sorted([*sections, *dated_pages], key=lambda one: (one.slug, one.section))
    dated.sort(key=lambda one: (one.first_day, one.date), reverse=True)
    return _read_entries(connection, dated[:limit]), total + len(dated_pages)


def page_timeline(
    connection: sqlite3.Connection, page: pages.StoredPage, scope: Scope, limit: int | None
) -> tuple[list[TimelineEntry], int]:
    """Return the latest `limit` entries of a page, oldest first, and how many there are."""
    sections, _ = _dated_sections(connection, scope, None, page.id)
    dated = sorted([*sections, *_dated_pages(connection, scope, page.id)])
    return _read_entries(connection, dated if limit is None else dated[-limit:]), len(dated)


def _dated_sections(
    connection: sqlite3.Connection, scope: Scope, limit: int | None, page_id: int | None = None
) -> tuple[list[_Dated], int]:
    """Return the latest `limit` sections with a date of their own, and how many there are.

    A heading that begins with a year alone, like "2026 goals", is no date.
    """
    within = dated_chunk_condition(scope)
    dated = (
        "FROM chunks WHERE part = 0 "
        "AND (kind = 'timeline' OR length(chunks.date) > 4 OR text GLOB '[-*+]*') "
        f"AND {'1' if page_id is None else 'chunks.page_id = ?'} AND {within.sql}"
    )
    values = (*(() if page_id is None else (page_id,)), *within.values)
    rows = connection.execute(
        f"SELECT {_DATED.format('found')}, section, page_id, title "
        f"FROM (SELECT first_day, date, section, page_id {dated}) AS found "
        "JOIN pages ON pages.id = page_id "
        "ORDER BY found.first_day DESC, found.date DESC, slug, section LIMIT ?",
        (*values, -1 if limit is None else limit),
    )
    found = [_Dated(*row) for row in rows]
    if limit is None:
        return found, len(found)
    return found, remember(
        connection,
        ("dated_sections", scope, page_id),
        lambda: connection.execute(f"SELECT count(*) {dated}", values).fetchone()[0],
    )


def _dated_pages(
    connection: sqlite3.Connection, scope: Scope, page_id: int | None = None
) -> list[_Dated]:
    """Return the pages that front matter, name or title date, like those of a journal.

    One that has something of the same date is listed by that.
    """
    from gbrain.text.page import event_date

    within = page_condition(scope)
    # All pages are read faster in their own order than in that of their days.
    order = "NOT INDEXED" if page_id is None and scope.unlimited else ""
    rows = connection.execute(
        f"SELECT {_DATED.format('pages')}, -1, id, title, path, meta FROM pages {order} "
        "WHERE length(date) > 4 AND CASE WHEN json_valid(meta) THEN json_type(meta) END = 'object' "
        "AND last_day >= ? AND first_day <= ? AND NOT EXISTS "
        "(SELECT 1 FROM chunks AS e WHERE e.page_id = pages.id AND e.date = pages.date) "
        f"AND {'1' if page_id is None else 'pages.id = ?'} AND {within.sql}",
        (
            scope.since or "", scope.until or "9999-12-31",
            *(() if page_id is None else (page_id,)), *within.values,
        ),
    )  # fmt: skip
    found = []
    for *dated, path, meta in rows:
        page = _Dated(*dated)
        event = event_date(json.loads(meta), path, page.title)
        if event and event.text == page.date:
            found.append(page)
    return found


def _read_entries(connection: sqlite3.Connection, dated: Sequence[_Dated]) -> list[TimelineEntry]:
    """Return the texts and lines of dated sections and pages, in the same order."""
    sections = _read_sections(connection, [(one.page_id, max(one.section, 0)) for one in dated])
    texts = _long_texts(
        connection,
        [
            (one.page_id, section.byte_start, section.byte_stop)
            for one in dated
            if (section := sections.get((one.page_id, one.section))) and section.parts > 1
        ],
    )
    found = []
    for one in dated:
        section = sections.get((one.page_id, max(one.section, 0)))
        if section is None:
            continue
        text = texts.get((one.page_id, section.byte_start), section.text)
        lines = (section.first_line, section.last_line)
        listed = parse_entry(text) if section.kind == "timeline" else parse_list_item(text)
        names = json.loads(section.heading_path)
        heading = names[-1] if names else None
        kind: EntryKind
        # A dated title is a heading, too.
        if one.section < 0 or (not listed and names == [one.title]):
            kind, source, words, heading = "page", None, _opening(section.text), None
        elif listed:
            kind = "timeline" if section.kind == "timeline" else "list"
            source, words = listed
        else:
            kind, source, words = "heading", None, _opening(section.text)
        found.append(
            TimelineEntry(one.slug, one.title, one.date, source, words, lines, kind, heading)
        )
    return found


class _SectionText(NamedTuple):
    """Where a section stands and how it begins; `text` is that of the first of its `parts`."""

    kind: str
    heading_path: str
    first_line: int
    last_line: int
    byte_start: int
    byte_stop: int
    parts: int
    text: str


def _read_sections(
    connection: sqlite3.Connection, wanted: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], _SectionText]:
    """Return sections by (page id, number)."""
    rows = connection.execute(
        "SELECT page_id, section, kind, heading_path, min(first_line), max(last_line), "
        "min(byte_start), max(byte_stop), count(*), max(CASE WHEN part = 0 THEN text END) "
        "FROM json_each(?) AS wanted JOIN chunks "
        "ON page_id = json_extract(wanted.value, '$[0]') "
        "AND section = json_extract(wanted.value, '$[1]') GROUP BY page_id, section",
        (json.dumps(list(dict.fromkeys(wanted))),),
    )
    return {(row[0], row[1]): _SectionText(*row[2:]) for row in rows}


def _opening(text: str) -> str:
    """Return the beginning of a text, cut between words."""
    if len(text) <= _MAX_OPENING_CHARACTERS:
        return text
    return text[: _MAX_OPENING_CHARACTERS + 1].rpartition(" ")[0].rstrip() + " …"


def _long_texts(
    connection: sqlite3.Connection, spans: Sequence[tuple[int, int, int]]
) -> dict[tuple[int, int], str]:
    """Return the text of entries that span several chunks, by (page id, first byte)."""
    texts = {}
    for page_id, of_page in groupby(sorted(spans), key=lambda span: span[0]):
        data = pages.page_text(connection, page_id).encode()
        for _, start, stop in of_page:
            texts[page_id, start] = data[start:stop].decode()
    return texts


def add_timeline_entry(
    connection: sqlite3.Connection,
    slug: str,
    date: str,
    words: str,
    source: str | None,
    now: str,
    *,
    expected_version: int | None = None,
) -> page_writer.WriteResult:
    """Add an entry to a page's timeline; call this in a write transaction.

    Raises NotFound if the page does not exist.
    """
    from gbrain.text.page import parse_page

    page = pages.find_page(connection, slug)
    if page is None:
        near = pages.nearest_slugs(connection, slug)
        meant = f"{did_you_mean(near)} " if near else ""
        raise NotFound(
            f"There is no page {slug}", hint=f"{meant}gbrain put {slug} FILE creates the page."
        )
    text = pages.page_text(connection, page.id)
    grown = add_entry(text, date, words, source)
    if page.folder_id is not None:
        from gbrain.text.merge import keep_style

        # Logseq writes no line end after the last line of a file.
        grown = keep_style(text, grown)
    return page_writer.write_page(
        connection, parse_page(page.path, grown.encode()), now, expected_version=expected_version
    )
