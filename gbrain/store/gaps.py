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
from gbrain.store.pages import KIND_ORDER
from gbrain.store.usage_log import LoggedQuery, logged_queries
from gbrain.text.query_terms import parse_terms
from gbrain.text.slug import fold_name, slug_from_path

GapKind = Literal["asked", "unwritten", "empty", "stale"]
GAP_KINDS: tuple[GapKind, ...] = ("asked", "unwritten", "empty", "stale")

# A page with this many links to it, or opened this often, is much used.
_MIN_MUCH_USED = 3
# Wings of notes about one day, which are never out of date.
_DATED_WINGS = ("journal", "meetings")
_MAX_VERSIONS = 50
_MAX_SLUG_WORDS = 6


class Gap(NamedTuple):
    """Something that the brain lacks; `name` is a query, the target of a link, or a slug.

    `asked` counts queries, `opens` how often the page was opened, `backlinks` the pages that link
    to it. `day` is that of the last query or the last change. `command` is a next step.
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
    """Return all gaps by kind, most used first, then by name."""
    usage = _PageUsage(connection)
    finders: dict[GapKind, Callable[[], list[Gap]]] = {
        "asked": lambda: _badly_answered_queries(connection),
        "unwritten": lambda: _missing_targets(connection),
        "empty": lambda: _empty_pages(connection, usage),
        "stale": lambda: _stale_pages(connection, usage, today, stale_days),
    }
    return {
        kind: sorted(find(), key=lambda gap: (-gap.use, gap.name)) for kind, find in finders.items()
    }


class _PageUsage:
    """How often pages are opened, and which pages link to them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.opens: Mapping[int, int] = dict(
            connection.execute("SELECT page_id, opens FROM page_use").fetchall()
        )
        self.linking: dict[int, set[int]] = defaultdict(set)
        target_of: dict[str, int] = {}
        for key, page_id in connection.execute(
            "SELECT names.key, names.page_id FROM names JOIN pages AS p ON p.id = names.page_id "
            f"WHERE names.key IN (SELECT key FROM links) ORDER BY {KIND_ORDER}, p.slug"
        ):
            target_of.setdefault(key, page_id)
        for key, page_id in connection.execute("SELECT DISTINCT key, page_id FROM links"):
            if target_of.get(key, page_id) != page_id:
                self.linking[target_of[key]].add(page_id)


def _badly_answered_queries(connection: sqlite3.Connection) -> list[Gap]:
    """Return queries whose last answer was not strong, or repeated ones with no page opened."""
    by_text: dict[str, list[LoggedQuery]] = defaultdict(list)
    for query in logged_queries(connection):
        by_text[fold_name(query.text)].append(query)
    return [gap for same in by_text.values() if (gap := _query_gap(same))]


def _query_gap(latest_first: list[LoggedQuery]) -> Gap | None:
    """Return the gap of a query that was asked once or several times; None if it is answered."""
    latest, times = latest_first[0], len(latest_first)
    strong = sum(query.verdict == "strong" for query in latest_first)
    opened = any(query.opened for query in latest_first)
    if latest.verdict == "nothing":
        why = "nothing found" if not latest.hits else "nothing that answers it"
    elif opened or (latest.verdict == "strong" and strong == 1):
        return None
    elif latest.verdict == "strong":
        why = "asked again, no page opened"
    else:
        why = "a partial answer, no page opened"
    words = [word for term in parse_terms(latest.text) for word in term.words][:_MAX_SLUG_WORDS]
    command = f"gbrain query {_shell_quote(latest.text)}"
    if latest.verdict == "nothing":
        command = _edit_command(f"notes/{' '.join(words)}") or command
    return Gap("asked", latest.text, times, 0, 0, latest.asked_at[:10], why, command)


def _missing_targets(connection: sqlite3.Connection) -> list[Gap]:
    """Return the targets of links that lead to no page."""
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
        command = _edit_command(name) or f"gbrain links {_shell_quote(linking[0])}"
        gaps.append(Gap("unwritten", name, 0, 0, len(linking), None, why, command))
    return gaps


def _empty_pages(connection: sqlite3.Connection, usage: _PageUsage) -> list[Gap]:
    """Return pages without text above their timeline."""
    rows = connection.execute(
        "SELECT id, slug, updated_at, timeline <> '' FROM pages WHERE NOT EXISTS "
        "(SELECT 1 FROM chunks WHERE page_id = pages.id AND kind = 'truth' AND text <> '')"
    )
    return [
        Gap(
            "empty",
            slug,
            0,
            usage.opens.get(page_id, 0),
            len(usage.linking.get(page_id, ())),
            updated_at[:10],
            "only a timeline" if has_timeline else "no text",
            f"gbrain edit {_shell_quote(slug)}",
        )
        for page_id, slug, updated_at, has_timeline in rows
    ]


def _stale_pages(
    connection: sqlite3.Connection, usage: _PageUsage, today: date, stale_days: int
) -> list[Gap]:
    """Return pages unchanged for `stale_days` that newer pages link to or that are much used."""
    entries = _last_entries(connection, today)
    last_days, known_days = _last_days(connection, entries, today)
    before = (today - timedelta(days=stale_days)).isoformat()
    gaps = []
    for page_id, slug, written in connection.execute(
        "SELECT id, slug, substr(created_at, 1, 10) FROM pages "
        f"WHERE wing NOT IN ({', '.join('?' * len(_DATED_WINGS))}) "
        "AND json_extract(meta, '$.superseded_by') IS NULL",
        _DATED_WINGS,
    ).fetchall():
        opens, linking = usage.opens.get(page_id, 0), usage.linking.get(page_id, set())
        day, why = last_days[page_id], None
        if day <= before:
            newer = [known_days[other] for other in linking if known_days.get(other, "") > day]
            if newer:
                one = len(newer) == 1
                pages = "a newer page links" if one else f"{len(newer)} newer pages link"
                why = f"{pages} here, {'dated' if one else 'the newest dated'} {max(newer)}"
            elif len(linking) >= _MIN_MUCH_USED or opens >= _MIN_MUCH_USED:
                why = "often used, but not changed since"
        elif written <= before and entries.get(page_id, "") > written:
            day = _truth_day(connection, page_id)
            if day <= before and entries[page_id] > day:
                why = f"its timeline went on to {entries[page_id]}"
        if why:
            command = f"gbrain get {_shell_quote(slug)}"
            gaps.append(Gap("stale", slug, 0, opens, len(linking), day, why, command))
    return gaps


def _last_entries(connection: sqlite3.Connection, today: date) -> dict[int, str]:
    """Return the last day of each page's timeline, without days in the future."""
    rows = connection.execute(
        "SELECT page_id, max(first_day) FROM chunks "
        "WHERE kind = 'timeline' AND first_day <= ? GROUP BY page_id",
        (today.isoformat(),),
    )
    return dict(rows.fetchall())


def _last_days(
    connection: sqlite3.Connection, entries: Mapping[int, str], today: date
) -> tuple[dict[int, str], dict[int, str]]:
    """Return the day of each page's last change, and the same only where the page states a day."""
    last, known = {}, {}
    for page_id, version, updated, own in connection.execute(
        "SELECT id, version, substr(updated_at, 1, 10), first_day FROM pages"
    ):
        stated = [day for day in (own, entries.get(page_id)) if day and day <= today.isoformat()]
        # The day of its import does not tell a page's age; the day of a later change does.
        days = stated if version == 1 else [updated, *stated]
        last[page_id] = max(days, default=updated)
        if days:
            known[page_id] = last[page_id]
    return last, known


def _truth_day(connection: sqlite3.Connection, page_id: int) -> str:
    """Return the day since which the text above the timeline is unchanged."""
    truth, updated = connection.execute(
        "SELECT compiled_truth, substr(updated_at, 1, 10) FROM pages WHERE id = ?", (page_id,)
    ).fetchone()
    rows = connection.execute(
        "SELECT content, substr(written_at, 1, 10) FROM versions WHERE page_id = ? "
        "ORDER BY version DESC LIMIT ?",
        (page_id, _MAX_VERSIONS),
    )
    same = takewhile(lambda row: truth in decompress_version(row[0]), rows)
    days: list[str] = [updated, *(day for _, day in same)]
    return min(days)


def _edit_command(name: str) -> str | None:
    """Return the command that writes a page with this name; None if the name is not valid."""
    with suppress(BadPage):
        return f"gbrain edit {_shell_quote(slug_from_path(name))}"
    return None


def _shell_quote(word: str) -> str:
    from shlex import quote

    return quote(word)
