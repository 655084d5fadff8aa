"""Find gaps: badly answered queries, missing link targets, empty pages and stale pages."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, timedelta
from itertools import takewhile
from typing import Literal, NamedTuple

from gbrain.errors import BadPage
from gbrain.store.history import decompress_version
from gbrain.store.page_names import KIND_ORDER
from gbrain.store.usage_log import LoggedQuery, logged_queries
from gbrain.text.query_terms import parse_terms
from gbrain.text.slug import fold_name, slug_from_path

GapKind = Literal["asked", "unwritten", "empty", "stale"]
GAP_KINDS: tuple[GapKind, ...] = ("asked", "unwritten", "empty", "stale")

# So many pages link to a page, or so often it was opened, that people rely on it.
_RELIED_ON = 3
# A note of one day is never out of date.
_DATED_WINGS = ("journal", "meetings")
_VERSIONS_READ = 50
_SLUG_WORDS = 6


class Gap(NamedTuple):
    """Something that the brain lacks; `name` is a question, a link's target or a page's slug.

    `asked` counts askings, `opens` openings, `backlinks` the pages that link there. `day` is when
    it was last asked, or last touched. `command` is what a person may do next.
    """

    kind: GapKind
    name: str
    asked: int
    opens: int
    backlinks: int
    day: str | None
    why: str
    command: str

    @property
    def use(self) -> int:
        return self.asked + self.opens + self.backlinks


def find_gaps(
    connection: sqlite3.Connection, today: date, stale_days: int
) -> dict[GapKind, list[Gap]]:
    """All gaps by kind, the most used first, then by name."""
    use = _Use(connection)
    found: dict[GapKind, Callable[[], list[Gap]]] = {
        "asked": lambda: _asked(connection),
        "unwritten": lambda: _unwritten(connection),
        "empty": lambda: _empty(connection, use),
        "stale": lambda: _stale(connection, use, today, stale_days),
    }
    return {
        kind: sorted(find(), key=lambda gap: (-gap.use, gap.name)) for kind, find in found.items()
    }


class _Use:
    """How often pages are opened, and which pages link to them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.opens: Mapping[int, int] = dict(
            connection.execute("SELECT page_id, opens FROM page_use").fetchall()
        )
        self.linking: dict[int, set[int]] = defaultdict(set)
        meant: dict[str, int] = {}
        for key, page_id in connection.execute(
            "SELECT names.key, names.page_id FROM names JOIN pages AS p ON p.id = names.page_id "
            f"WHERE names.key IN (SELECT key FROM links) ORDER BY {KIND_ORDER}, p.slug"
        ):
            meant.setdefault(key, page_id)
        for key, page_id in connection.execute("SELECT DISTINCT key, page_id FROM links"):
            if meant.get(key, page_id) != page_id:
                self.linking[meant[key]].add(page_id)


def _asked(connection: sqlite3.Connection) -> list[Gap]:
    """Questions whose latest answer was not strong, or that were asked again and led nowhere."""
    by_text: dict[str, list[LoggedQuery]] = defaultdict(list)
    for asking in logged_queries(connection):
        by_text[fold_name(asking.text)].append(asking)
    return [gap for same in by_text.values() if (gap := _asked_gap(same))]


def _asked_gap(latest_first: list[LoggedQuery]) -> Gap | None:
    latest, times = latest_first[0], len(latest_first)
    strong = sum(asking.verdict == "strong" for asking in latest_first)
    opened = any(asking.opened for asking in latest_first)
    if latest.verdict == "nothing":
        why = "nothing found" if not latest.hits else "nothing that answers it"
    elif opened or (latest.verdict == "strong" and strong == 1):
        return None
    elif latest.verdict == "strong":
        why = "asked again, no page opened"
    else:
        why = "a partial answer, no page opened"
    words = [word for term in parse_terms(latest.text) for word in term.words][:_SLUG_WORDS]
    command = f"gbrain query {_quoted(latest.text)}"
    if latest.verdict == "nothing":
        command = _edit(f"notes/{' '.join(words)}") or command
    return Gap("asked", latest.text, times, 0, 0, latest.asked_at[:10], why, command)


def _unwritten(connection: sqlite3.Connection) -> list[Gap]:
    """Targets of links that lead nowhere."""
    targets: dict[str, Counter[str]] = defaultdict(Counter)
    pages: dict[str, dict[str, None]] = defaultdict(dict)
    for key, target, slug in connection.execute(
        "SELECT links.key, target, slug FROM links JOIN pages ON pages.id = links.page_id "
        "WHERE NOT EXISTS (SELECT 1 FROM names WHERE names.key = links.key) ORDER BY slug, line"
    ):
        targets[key][target] += 1
        pages[key][slug] = None
    gaps = []
    for key, spellings in targets.items():
        name, linking = spellings.most_common(1)[0][0], list(pages[key])
        others = f" and {len(linking) - 3} more" if len(linking) > 3 else ""
        why = f"linked from {', '.join(linking[:3])}{others}"
        command = _edit(name) or f"gbrain links {_quoted(linking[0])}"
        gaps.append(Gap("unwritten", name, 0, 0, len(linking), None, why, command))
    return gaps


def _empty(connection: sqlite3.Connection, use: _Use) -> list[Gap]:
    """Pages that say nothing above their timeline."""
    rows = connection.execute(
        "SELECT id, slug, updated_at, timeline <> '' FROM pages WHERE NOT EXISTS "
        "(SELECT 1 FROM chunks WHERE page_id = pages.id AND kind = 'truth' AND text <> '')"
    )
    return [
        Gap(
            "empty",
            slug,
            0,
            use.opens.get(page_id, 0),
            len(use.linking.get(page_id, ())),
            updated_at[:10],
            "a timeline and no truth" if has_timeline else "no text",
            f"gbrain edit {_quoted(slug)}",
        )
        for page_id, slug, updated_at, has_timeline in rows
    ]


def _stale(connection: sqlite3.Connection, use: _Use, today: date, stale_days: int) -> list[Gap]:
    """Pages left alone for long while others moved past them or rely on them."""
    entries = _last_entries(connection, today)
    touched, moved = _days(connection, entries, today)
    before = (today - timedelta(days=stale_days)).isoformat()
    gaps = []
    for page_id, slug, written in connection.execute(
        "SELECT id, slug, substr(created_at, 1, 10) FROM pages "
        f"WHERE wing NOT IN ({', '.join('?' * len(_DATED_WINGS))}) "
        "AND json_extract(meta, '$.superseded_by') IS NULL",
        _DATED_WINGS,
    ).fetchall():
        opens, linking = use.opens.get(page_id, 0), use.linking.get(page_id, set())
        day, why = touched[page_id], None
        if day <= before:
            newer = [moved[other] for other in linking if moved.get(other, "") > day]
            if newer:
                pages = (
                    "a newer page links" if len(newer) == 1 else f"{len(newer)} newer pages link"
                )
                why = f"{pages} here, the last of {max(newer)}"
            elif len(linking) >= _RELIED_ON or opens >= _RELIED_ON:
                why = "much used and not touched since"
        elif written <= before and entries.get(page_id, "") > written:
            day = _truth_day(connection, page_id)
            if day <= before and entries[page_id] > day:
                why = f"its timeline went on to {entries[page_id]}"
        if why:
            command = f"gbrain get {_quoted(slug)}"
            gaps.append(Gap("stale", slug, 0, opens, len(linking), day, why, command))
    return gaps


def _last_entries(connection: sqlite3.Connection, today: date) -> dict[int, str]:
    """The last day of each page's timeline, days to come left out."""
    rows = connection.execute(
        "SELECT page_id, max(first_day) FROM chunks "
        "WHERE kind = 'timeline' AND first_day <= ? GROUP BY page_id",
        (today.isoformat(),),
    )
    return dict(rows.fetchall())


def _days(
    connection: sqlite3.Connection, entries: Mapping[int, str], today: date
) -> tuple[dict[int, str], dict[int, str]]:
    """The day each page was last touched; and the same for those that say so themselves."""
    touched, known = {}, {}
    for page_id, version, updated, own in connection.execute(
        "SELECT id, version, substr(updated_at, 1, 10), first_day FROM pages"
    ):
        spoken = [day for day in (own, entries.get(page_id)) if day and day <= today.isoformat()]
        # The day of an import says nothing of a page's age; a change made here does.
        days = spoken if version == 1 else [updated, *spoken]
        touched[page_id] = max(days, default=updated)
        if days:
            known[page_id] = touched[page_id]
    return touched, known


def _truth_day(connection: sqlite3.Connection, page_id: int) -> str:
    """The day since which the page's truth has stood as it is."""
    truth, updated = connection.execute(
        "SELECT compiled_truth, substr(updated_at, 1, 10) FROM pages WHERE id = ?", (page_id,)
    ).fetchone()
    rows = connection.execute(
        "SELECT content, substr(written_at, 1, 10) FROM versions WHERE page_id = ? "
        "ORDER BY version DESC LIMIT ?",
        (page_id, _VERSIONS_READ),
    )
    same = takewhile(lambda row: truth in decompress_version(row[0]), rows)
    days: list[str] = [updated, *(day for _, day in same)]
    return min(days)


def _edit(name: str) -> str | None:
    """The command that writes a page of this name; None when it cannot have one."""
    with suppress(BadPage):
        return f"gbrain edit {_quoted(slug_from_path(name))}"
    return None


def _quoted(word: str) -> str:
    from shlex import quote

    return quote(word)
