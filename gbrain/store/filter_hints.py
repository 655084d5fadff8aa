"""Messages about filters that match no page, with values that exist."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from difflib import SequenceMatcher

from gbrain.types import Scope

_MAX_NAMES = 5

_VALUES = {
    "wing": "SELECT wing, count(*) FROM pages GROUP BY 1",
    "room": "SELECT room, count(*) FROM pages GROUP BY 1",
    "type": "SELECT type, count(*) FROM pages WHERE type IS NOT NULL GROUP BY 1 COLLATE NOCASE",
    "tag": "SELECT tag, count(*) FROM tags GROUP BY 1 COLLATE NOCASE",
}


def unmatched_filters(connection: sqlite3.Connection, scope: Scope) -> Iterator[str]:
    """Yield a sentence for each wing, room, type and tag of the scope that no page has.

    It lists values that exist, similar ones first, then those of most pages.
    """
    wanted = [("wing", scope.wing), ("room", scope.room), ("type", scope.type)]
    for kind, value in [*wanted, *(("tag", tag) for tag in scope.tags)]:
        if value is None:
            continue
        counts = dict(connection.execute(_VALUES[kind]).fetchall())
        if value.lower() not in map(str.lower, counts):
            yield f"There is no {kind} {value}{_suggestions(value, counts)}."


def _suggestions(value: str, counts: dict[str, int]) -> str:
    def closeness(known: str) -> tuple[float, int, str]:
        alike = SequenceMatcher(None, value.lower(), known.lower()).ratio()
        return -alike if alike >= 0.6 else 0.0, -counts[known], known

    names = sorted(counts, key=closeness)
    if not names:
        return "; pages have none"
    more = " and others" if len(names) > _MAX_NAMES else ""
    return f"; there {'is' if len(names) == 1 else 'are'} {', '.join(names[:_MAX_NAMES])}{more}"
