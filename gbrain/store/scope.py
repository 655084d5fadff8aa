"""Turn a scope (the filters of a query) into SQL, and say which of its values no page has."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from math import isqrt
from typing import NamedTuple

from gbrain.messages import similar_names
from gbrain.store.remembered import remember
from gbrain.store.whole_brain import asks_whole_brain
from gbrain.text.query import fts_tree, has_only_words
from gbrain.text.query_terms import fts_term
from gbrain.text.query_tree import day_before
from gbrain.types import Clause, Scope

# The last day of the longest month is so many days after its first.
MAX_VAGUE_DAYS = 30

# Looking them up takes 0.3 ms.
_SAMPLE_PAGES = 256
_GOLDEN_RATIO = (1 + 5**0.5) / 2

# With an index, up to a fifth of all pages are listed in less than a millisecond per 100,000.
_LISTED_SHARE = 5
# Without one all pages are read, which takes longer than looking up the best chunks of all, unless
# so few of these are in scope that the square of its pages is at most so many times all pages.
_LISTED_PAGES_SQUARED = 50

_ANY_DAY = ("0000-01-01", "9999-12-31")
_KEYWORD_MATCH = "pages.id IN (SELECT rowid FROM pages_fts WHERE pages_fts MATCH ?)"
_TEXT_COLUMNS = ("title", "compiled_truth", "timeline")
_FIELD_CONDITIONS = {
    "wing": "pages.wing = ?",
    "room": "pages.room = ?",
    "type": "pages.type = ? COLLATE NOCASE",
    # A query cannot have this one: gbrain itself asks whether a page has such front matter.
    "front_matter": "pages.front_matter LIKE '%' || ? || '%'",
}


Spans = tuple[tuple[str, str], ...]


class Condition(NamedTuple):
    """A WHERE clause with its values."""

    sql: str
    values: tuple[str, ...]


def page_condition(scope: Scope, *, by_row: bool = False) -> Condition:
    """Return the condition that a row of `pages` must meet to be in scope.

    With `by_row` it is in the form for few rows that are known: it looks up the tags and chunks of
    each, where it would list those of all pages in scope first.
    """
    clauses: list[str] = []
    values: list[str] = []

    def require(clause: str, *given: str) -> None:
        clauses.append(clause)
        values.extend(given)

    if scope.wing is not None:
        require("pages.wing = ?", scope.wing)
    if scope.room is not None:
        require("pages.room = ?", scope.room)
    if scope.type is not None:
        require("pages.type = ? COLLATE NOCASE", scope.type)
    for tag in scope.tags:
        tagged = _tag_condition(tag, by_row=by_row)
        require(tagged.sql, *tagged.values)
    if scope.slug_prefix is not None:
        # A range instead of LIKE, so that the index on slugs is used and nothing is a wildcard.
        require("pages.slug >= ?", scope.slug_prefix)
        require("pages.slug < ?", scope.slug_prefix + "\U0010ffff")
    if scope.since or scope.until:
        days = days_condition(scope.since, scope.until, by_row=by_row)
        require(days.sql, *days.values)
    if scope.periods:
        chunks, own = inside_condition("d", scope.periods), inside_condition("p", scope.periods)
        require(
            f"pages.id IN (SELECT d.page_id FROM chunks AS d WHERE {chunks.sql} "
            f"UNION ALL SELECT p.id FROM pages AS p WHERE {own.sql})",
            *chunks.values, *own.values,
        )  # fmt: skip
    for key, value in scope.where:
        require(
            "EXISTS (SELECT 1 FROM json_each(pages.meta, ?) AS field "
            "WHERE CASE WHEN field.type IN ('true', 'false') THEN field.type "
            "ELSE CAST(field.value AS TEXT) END = ? COLLATE NOCASE)",
            _json_path(key), value,
        )  # fmt: skip
    for slug in scope.exclude:
        require("pages.slug <> ?", slug)
    if scope.tree is not None:
        tree = clause_condition(scope.tree, by_row=by_row)
        require(tree.sql, *tree.values)
    return Condition(" AND ".join(clauses) or "1", tuple(values))


def pages_in_scope(
    connection: sqlite3.Connection, page_ids: Iterable[int], scope: Scope
) -> set[int]:
    """Return which of the pages exist and are in scope."""
    within = page_condition(scope, by_row=True)
    rows = connection.execute(
        "SELECT pages.id FROM json_each(?) AS given CROSS JOIN pages ON pages.id = given.value "
        f"WHERE {within.sql}",
        (json.dumps(list(page_ids)), *within.values),
    )
    return {row[0] for row in rows}


@asks_whole_brain
def any_page(connection: sqlite3.Connection, scope: Scope, match: str | None = None) -> bool:
    """Return whether some page is in scope and matches an FTS5 expression, if one is given.

    The first that is found ends the search.
    """
    found = None
    if match is not None:
        matching = "SELECT rowid AS page_id FROM pages_fts WHERE pages_fts MATCH ?"
        found = Condition(matching, (match,))
    elif scope.periods:
        found, scope = _select_inside(scope.periods), scope._replace(periods=())
    within = page_condition(scope, by_row=found is not None)
    pages, values = "pages", within.values
    if found:
        pages = f"({found.sql}) AS found CROSS JOIN pages ON pages.id = found.page_id"
        values = (*found.values, *values)
    row = connection.execute(f"SELECT 1 FROM {pages} WHERE {within.sql} LIMIT 1", values)
    return row.fetchone() is not None


@asks_whole_brain
def latest_pages(
    connection: sqlite3.Connection, scope: Scope, limit: int, inside: Spans = ()
) -> list[int]:
    """Return the ids of the pages in scope, the latest date first, ties by slug.

    With `inside`, that is the latest day of what is dated inside these spans of days, and other
    pages are left out. Of one day, pages that are dated themselves come before pages with an entry.
    """
    within = page_condition(scope)
    if inside:
        found = _select_inside(inside)
        sql = (
            f"SELECT pages.id FROM ({found.sql}) AS found JOIN pages ON pages.id = found.page_id "
            f"WHERE {within.sql} GROUP BY pages.id "
            "ORDER BY max(found.day) DESC, max(found.own) DESC, slug LIMIT ?"
        )
    else:
        found = Condition("", ())
        sql = f"SELECT id FROM pages WHERE {within.sql} ORDER BY last_day DESC, slug LIMIT ?"
    rows = connection.execute(sql, (*found.values, *within.values, limit))
    return [row[0] for row in rows]


def _select_inside(periods: Spans) -> Condition:
    """Return the statement for what is dated inside the periods: page, day, whether its own."""
    dated, own = inside_condition("c", periods), inside_condition("p", periods)
    return Condition(
        "SELECT c.page_id AS page_id, c.first_day AS day, 0 AS own FROM chunks AS c "
        f"WHERE {dated.sql} "
        f"UNION ALL SELECT p.id, p.first_day, 1 FROM pages AS p WHERE {own.sql} "
        "AND NOT EXISTS (SELECT 1 FROM chunks AS e WHERE e.page_id = p.id AND e.date = p.date)",
        (*dated.values, *own.values),
    )


def scope_has_more_than(connection: sqlite3.Connection, scope: Scope, pages: int) -> bool:
    """Return whether more than `pages` pages are in scope."""
    return remember(
        connection,
        ("scope_has_more_than", scope, pages),
        lambda: _scope_has_more_than(connection, scope, pages),
    )


def _scope_has_more_than(connection: sqlite3.Connection, scope: Scope, pages: int) -> bool:
    for tag in scope.tags:
        tagged = "SELECT 1 FROM tags WHERE tag = ? LIMIT 1 OFFSET ?"
        if connection.execute(tagged, (tag, pages)).fetchone() is None:
            return False
    if scope == Scope(tags=scope.tags[:1]) != Scope():
        return True
    if scope == Scope(since=scope.since, until=scope.until) != Scope():
        own, dated = (_in_range(table, scope.since, scope.until) for table in "pd")
        inside = f"SELECT p.id FROM pages AS p WHERE {own.sql}"
        enough = connection.execute(f"{inside} LIMIT 1 OFFSET ?", (*own.values, pages))
        if enough.fetchone():
            return True
        both = f"{inside} UNION SELECT d.page_id FROM chunks AS d WHERE {dated.sql}"
        found = connection.execute(f"{both} LIMIT 1 OFFSET ?", (*own.values, *dated.values, pages))
        return found.fetchone() is not None
    # Where all tags are common, enough pages with the first are found before all would be listed.
    table, values = "pages", list[str]()
    if scope.tags:
        table = "tags CROSS JOIN pages ON pages.id = tags.page_id AND tags.tag = ?"
        values, scope = [scope.tags[0]], scope._replace(tags=scope.tags[1:])
    within = page_condition(scope, by_row=bool(values))
    found = connection.execute(
        f"SELECT 1 FROM {table} WHERE {within.sql} LIMIT 1 OFFSET ?",
        (*values, *within.values, pages),
    )
    return found.fetchone() is not None


def is_quickly_listed(connection: sqlite3.Connection, scope: Scope) -> bool:
    """Return whether listing all pages in scope is quicker than looking up the best of all.

    If no index tells how many pages are in scope, that is estimated by a sample.
    """
    return remember(
        connection, ("is_quickly_listed", scope), lambda: _is_quickly_listed(connection, scope)
    )


def _is_quickly_listed(connection: sqlite3.Connection, scope: Scope) -> bool:
    last: int = connection.execute("SELECT coalesce(max(id), 0) FROM pages").fetchone()[0]
    has_index = scope._replace(where=(), exclude=(), tree=None) != Scope()
    most = last // _LISTED_SHARE if has_index else isqrt(_LISTED_PAGES_SQUARED * last)
    if scope in (
        Scope(wing=scope.wing),
        Scope(room=scope.room),
        Scope(type=scope.type),
        Scope(tags=scope.tags[:1]),
        Scope(slug_prefix=scope.slug_prefix),
    ):
        return not _scope_has_more_than(connection, scope, most)
    if scope == Scope(since=scope.since, until=scope.until):
        own, dated = (_in_range(table, scope.since, scope.until) for table in "pd")
        found = connection.execute(
            f"SELECT 1 FROM pages AS p WHERE {own.sql} "
            f"UNION ALL SELECT 1 FROM chunks AS d WHERE {dated.sql} LIMIT 1 OFFSET ?",
            (*own.values, *dated.values, most),
        )
        return found.fetchone() is None
    # Multiples of the golden ratio are spread evenly, and do not follow a pattern of the pages.
    sample = {int(number * _GOLDEN_RATIO % 1 * last) + 1 for number in range(_SAMPLE_PAGES)}
    return len(pages_in_scope(connection, sample, scope)) * last <= most * len(sample)


def days_condition(since: str | None, until: str | None, *, by_row: bool = False) -> Condition:
    """Return the condition for pages that have a date, or a dated chunk, in the range."""
    days = (since or _ANY_DAY[0], until or _ANY_DAY[1])
    # The plus keeps SQLite from using an index. From a day on, few rows end later, but nearly all
    # start before the last day of the range: the index that starts with the last day is read then.
    last, first = ("+", "+") if by_row else ("", "+") if since else ("+", "")
    dated = (
        "EXISTS (SELECT 1 FROM chunks AS d WHERE d.page_id = pages.id "
        if by_row
        else "pages.id IN (SELECT d.page_id FROM chunks AS d WHERE d.first_day IS NOT NULL "
    )
    return Condition(
        f"(({last}pages.last_day >= ? AND {first}pages.first_day <= ? "
        "AND pages.first_day IS NOT NULL) "
        f"OR {dated} AND {last}d.last_day >= ? AND {first}d.first_day <= ?))",
        days + days,
    )


def select_pages(scope: Scope) -> Condition:
    """Return a SELECT of the ids of all pages in scope."""
    if scope == Scope(tags=scope.tags[:1]) != Scope():
        return Condition("SELECT page_id AS id FROM tags WHERE tag = ?", scope.tags)
    within = page_condition(scope)
    return within._replace(sql=f"SELECT pages.id FROM pages WHERE {within.sql}")


def dated_chunk_condition(scope: Scope) -> Condition:
    """Return the condition for rows of `chunks` in scope that have a date of their own."""
    return _dated_condition("chunks", "page_id", scope)


def dated_page_condition(scope: Scope) -> Condition:
    """Return the condition for rows of `pages AS p` whose chunks without a date are in scope."""
    within = _dated_condition("p", "id", scope)
    if scope.periods:
        # The date of an entry tells nothing about the other chunks.
        no_entry = (
            "NOT EXISTS (SELECT 1 FROM chunks AS e WHERE e.page_id = p.id AND e.date = p.date)"
        )
        within = within._replace(sql=f"{within.sql} AND {no_entry}")
    return within


def _dated_condition(table: str, page_id: str, scope: Scope) -> Condition:
    """Return the condition for rows with a date as the scope requires, of pages in scope."""
    conditions = [inside_condition(table, scope.periods)] if scope.periods else []
    if scope.since or scope.until or not scope.periods:
        conditions.append(_in_range(table, scope.since, scope.until))
    others = scope._replace(since=None, until=None, periods=())
    if not others.unlimited:
        pages = select_pages(others)
        # IS TRUE keeps SQLite from choosing an index for the other filters instead of the days.
        only_days = " IS TRUE" if others != scope else ""
        conditions.append(pages._replace(sql=f"({table}.{page_id} IN ({pages.sql})){only_days}"))
    return _join(" AND ", conditions)


def _in_range(table: str, since: str | None, until: str | None) -> Condition:
    """Return the condition for rows with a date in the range.

    The plus keeps SQLite from using an index. From a day on, few rows end later, but nearly all
    start before the last day of the range: the index that starts with the last day is read then.
    """
    last, first = ("", "+") if since else ("+", "")
    return Condition(
        f"{table}.first_day IS NOT NULL "
        f"AND {last}{table}.last_day >= ? AND {first}{table}.first_day <= ?",
        (since or _ANY_DAY[0], until or _ANY_DAY[1]),
    )


def chunk_row_condition(scope: Scope) -> Condition:
    """Return the condition for rows of `chunks` in scope, in the form for few rows that are known.

    Each row looks up its page and tags, instead of listing all pages in scope first. A chunk
    without a date has its page's.
    """
    conditions = [
        Condition("EXISTS (SELECT 1 FROM tags WHERE tag = ? AND page_id = chunks.page_id)", (tag,))
        for tag in scope.tags
    ]
    # A page is in the range of days if one of its chunks is: only its other filters are left.
    pages = page_condition(scope._replace(tags=(), since=None, until=None), by_row=True)
    if pages.values:
        sql = f"EXISTS (SELECT 1 FROM pages WHERE pages.id = chunks.page_id AND {pages.sql})"
        conditions.append(pages._replace(sql=sql))
    return _join(" AND ", [*conditions, chunk_days_condition(scope)])


def chunk_days_condition(scope: Scope) -> Condition:
    """Return the date condition for chunks of a page that is already in scope."""
    clauses: list[str] = []
    values: list[str] = []
    if scope.since or scope.until:
        days = "coalesce(chunks.{0}, (SELECT p.{0} FROM pages AS p WHERE p.id = chunks.page_id))"
        clauses.append(f"{days.format('last_day')} >= ? AND {days.format('first_day')} <= ?")
        values += [scope.since or _ANY_DAY[0], scope.until or _ANY_DAY[1]]
    if scope.periods:
        inside = chunk_inside_condition(scope.periods)
        clauses.append(inside.sql)
        values += inside.values
    return Condition(" AND ".join(clauses) or "1", tuple(values))


def chunk_inside_condition(periods: Spans) -> Condition:
    """Return the condition for chunks dated inside one of the periods.

    A chunk without a date has its page's, unless that is only the date of an entry of the page.
    """
    dated, own = inside_condition("chunks", periods), inside_condition("p", periods)
    return Condition(
        f"({dated.sql} OR (chunks.first_day IS NULL AND EXISTS (SELECT 1 FROM pages AS p "
        f"WHERE p.id = chunks.page_id AND {own.sql} AND NOT EXISTS (SELECT 1 FROM chunks AS e "
        "WHERE e.page_id = p.id AND e.date = p.date))))",
        (*dated.values, *own.values),
    )


def clause_condition(tree: Clause, *, by_row: bool = False) -> Condition:
    """Return the condition that a row of `pages` must meet to match a query tree."""
    if has_only_words(tree):
        return Condition(_KEYWORD_MATCH, (fts_tree(tree),))
    if tree.kind == "field":
        return _field_condition(tree, by_row=by_row)
    if tree.term:
        return Condition(_KEYWORD_MATCH, (fts_term(tree.term, strict=True),))
    if tree.kind == "not":
        unwanted = clause_condition(tree.operands[0], by_row=by_row)
        # NULL: a page without a type or date does not have the unwanted one.
        return Condition(f"NOT coalesce({unwanted.sql}, 0)", unwanted.values)
    if tree.kind == "loose":
        words = [clause_condition(clause) for clause in tree.operands if has_only_words(clause)]
        required = [
            clause_condition(clause, by_row=by_row)
            for clause in tree.operands
            if not has_only_words(clause)
        ]
        return _join(" AND ", ([_join(" OR ", words)] if words else []) + required)
    conditions = [clause_condition(clause, by_row=by_row) for clause in tree.operands]
    return _join(" AND " if tree.kind == "all" else " OR ", conditions)


def inside_condition(table: str, periods: Spans) -> Condition:
    """Return the condition for rows dated inside one of the periods, or in a month around it.

    What is dated more vaguely matches only a period as long: a year is no match for a month.
    """
    clauses: list[str] = []
    values: list[str] = []
    for first, last in periods:
        longest = max(MAX_VAGUE_DAYS, _days_between(first, last))
        # The lower bound follows from the others; it lets SQLite use the index on first_day.
        clauses.append(
            f"({table}.first_day BETWEEN ? AND ? AND {table}.last_day >= ? "
            f"AND julianday({table}.last_day) - julianday({table}.first_day) <= {longest})"
        )
        values += [_day_earlier(first, longest), last, first]
    return Condition(f"({' OR '.join(clauses)})", tuple(values))


def _days_between(first: str, last: str) -> int:
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def _day_earlier(day: str, days: int) -> str:
    earlier = max(date.fromisoformat(day).toordinal() - days, 1)
    return date.fromordinal(earlier).isoformat()


def _json_path(key: str) -> str:
    """Return a front matter key as a JSON path; a dot steps into a map."""
    return "$" + "".join(f'."{part.replace(chr(34), "")}"' for part in key.split("."))


def _field_condition(field: Clause, *, by_row: bool) -> Condition:
    if field.term:
        return Condition(_KEYWORD_MATCH, (f"title : ({fts_term(field.term, strict=True)})",))
    if field.name == "after":
        return days_condition(field.value, None, by_row=by_row)
    if field.name == "before":
        return days_condition(None, day_before(field.value), by_row=by_row)
    if field.name == "tag":
        return _tag_condition(field.value, by_row=by_row)
    return Condition(f"({_FIELD_CONDITIONS[field.name]})", (field.value,))


def _tag_condition(tag: str, *, by_row: bool) -> Condition:
    if by_row:
        sql = "EXISTS (SELECT 1 FROM tags WHERE tag = ? AND page_id = pages.id)"
    else:
        sql = "pages.id IN (SELECT page_id FROM tags WHERE tag = ?)"
    return Condition(sql, (tag,))


def _join(operator: str, conditions: list[Condition]) -> Condition:
    values = tuple(value for condition in conditions for value in condition.values)
    return Condition(f"({operator.join(c.sql for c in conditions)})", values)


# --- filters that match no page --------------------------------------------------------------

_MAX_NAMES = 5

_VALUES = {
    "wing": "SELECT wing, count(*) FROM pages GROUP BY 1",
    "room": "SELECT room, count(*) FROM pages GROUP BY 1",
    "type": "SELECT type, count(*) FROM pages WHERE type IS NOT NULL GROUP BY 1 COLLATE NOCASE",
    "tag": "SELECT tag, count(*) FROM tags GROUP BY 1 COLLATE NOCASE",
}


def unmatched_filters(scope: Scope, count_values: Callable[[str], dict[str, int]]) -> Iterator[str]:
    """Yield a sentence for each wing, room, type and tag of the scope that no page has.

    The sentence lists values that exist, similar ones first, then those of most pages. There is
    also one if `since` is after `until`. `count_values` is the `filter_values` of the brain.
    """
    if scope.since and scope.until and scope.since > scope.until:
        yield f"--since {scope.since} is after --until {scope.until}, so no page can match."
    wanted = [("wing", scope.wing), ("room", scope.room), ("type", scope.type)]
    for kind, value in [*wanted, *(("tag", tag) for tag in scope.tags)]:
        if value is None:
            continue
        counts = count_values(kind)
        if value.lower() not in map(str.lower, counts):
            yield f"There is no {kind} {value}{_suggestions(value, counts)}."


def filter_values(connection: sqlite3.Connection, kind: str) -> dict[str, int]:
    """Return how many pages have each wing, room, type or tag."""
    return dict(connection.execute(_VALUES[kind]).fetchall())


def _suggestions(value: str, counts: dict[str, int]) -> str:
    by_key = {known.lower(): known for known in counts}
    near = [by_key[key] for key in similar_names(value.lower(), by_key, _MAX_NAMES)]
    others = sorted(counts.keys() - near, key=lambda known: (-counts[known], known))
    names = [*near, *others]
    if not names:
        return "; pages have none"
    more = " and others" if len(names) > _MAX_NAMES else ""
    return f"; there {'is' if len(names) == 1 else 'are'} {', '.join(names[:_MAX_NAMES])}{more}"
