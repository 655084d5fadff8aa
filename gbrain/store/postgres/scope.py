"""Turn a scope (the filters of a query) into conditions for the search tables of a shared store.

The same pages are in scope as by `gbrain.store.scope` in a brain file.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from gbrain.store.postgres.tsqueries import Tokenize, read_expression
from gbrain.store.postgres.word_vectors import cut_word, quote_lexeme
from gbrain.store.scope import MAX_VAGUE_DAYS
from gbrain.text.query import fts_tree, has_only_words
from gbrain.text.query_terms import fts_term
from gbrain.text.query_tree import day_before
from gbrain.types import Clause, Scope

if TYPE_CHECKING:
    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row

_MAX_LISTED_PAGES = 2_000
_ANY_DAY = ("0000-01-01", "9999-12-31")
_NEVER = "false"
# SQLite compares tags, types and front matter without the case of ASCII letters.
_SAME = 'lower({} COLLATE "C") = lower(%s COLLATE "C")'
_HAS_TAG = f"EXISTS (SELECT 1 FROM unnest(p.tags) AS tag WHERE {_SAME.format('tag')})"
_FIELDS = {
    "wing": "p.wing = %s",
    "room": "p.room = %s",
    "type": _SAME.format("p.type"),
    "front_matter": "position(lower(%s) IN lower(p.meta::text)) > 0",
}


class SharedCondition(NamedTuple):
    """A WHERE clause with its values; `p` is the row of the page, `c` that of a chunk."""

    sql: str
    values: tuple[object, ...]


class PagesInScope(NamedTuple):
    """The condition for the pages in scope, and their ids and number of chunks if they are few."""

    condition: SharedCondition
    ids: list[int] | None = None
    chunks: int = 0


def find_pages(cursor: Cursor[Row], scope: Scope, tokenize: Tokenize) -> PagesInScope:
    """Return the pages in scope; few of them as a list.

    The planner knows how many pages are in a list. What it assumes of tags made it read all
    vectors for a tag of ten pages.
    """
    within = page_condition(scope, tokenize)
    if scope.unlimited:
        return PagesInScope(within)
    # The statement has no text of a user: that is in the values.
    sql = f"SELECT p.id, p.chunks FROM gbrain.search_pages p WHERE {within.sql} LIMIT %s"
    rows = cursor.execute(sql.encode(), (*within.values, _MAX_LISTED_PAGES + 1)).fetchall()
    if len(rows) > _MAX_LISTED_PAGES:
        return PagesInScope(within)
    ids = [row[0] for row in rows]
    listed = SharedCondition("p.id = ANY(%s)", (ids,))
    return PagesInScope(listed, ids, sum(row[1] for row in rows))


def page_condition(scope: Scope, tokenize: Tokenize) -> SharedCondition:
    """Return the condition that a page must meet to be in scope."""
    conditions: list[SharedCondition] = []

    def require(sql: str, *values: object) -> None:
        conditions.append(SharedCondition(sql, values))

    if scope.wing is not None:
        require("p.wing = %s", scope.wing)
    if scope.room is not None:
        require("p.room = %s", scope.room)
    if scope.type is not None:
        require(_SAME.format("p.type"), scope.type)
    conditions += [_tag_condition(tag, tokenize) for tag in scope.tags]
    if scope.slug_prefix is not None:
        require("p.slug >= %s AND p.slug < %s", scope.slug_prefix, scope.slug_prefix + "\U0010ffff")
    if scope.since or scope.until:
        conditions.append(_days_condition(scope.since, scope.until))
    if scope.periods:
        chunks, own = inside_condition("d", scope.periods), inside_condition("o", scope.periods)
        require(
            f"p.id IN (SELECT d.page FROM gbrain.search_chunks d WHERE {chunks.sql} "
            f"UNION ALL SELECT o.id FROM gbrain.search_pages o WHERE {own.sql})",
            *chunks.values, *own.values,
        )  # fmt: skip
    for key, value in scope.where:
        require(
            "EXISTS (SELECT 1 FROM (SELECT p.meta #> %s AS found) AS f, LATERAL "
            "jsonb_path_query(f.found, CASE WHEN jsonb_typeof(f.found) = 'object' "
            "THEN '$.*'::jsonpath ELSE '$[*]'::jsonpath END) AS one WHERE "
            + _SAME.format("(one #>> '{}')") + ")",
            [part.replace('"', "") for part in key.split(".")], value,
        )  # fmt: skip
    for slug in scope.exclude:
        require("p.slug <> %s", slug)
    if scope.tree is not None:
        conditions.append(_clause_condition(scope.tree, tokenize))
    return _join(" AND ", conditions) if conditions else SharedCondition("true", ())


def chunk_days_condition(scope: Scope) -> SharedCondition:
    """Return the date condition for chunks of a page that is already in scope."""
    conditions: list[SharedCondition] = []
    if scope.since or scope.until:
        days = (scope.since or _ANY_DAY[0], scope.until or _ANY_DAY[1])
        conditions.append(SharedCondition(
            "(coalesce(c.last_day, p.last_day) >= %s AND coalesce(c.first_day, p.first_day) <= %s)",
            days,
        ))  # fmt: skip
    if scope.periods:
        dated, own = inside_condition("c", scope.periods), inside_condition("p", scope.periods)
        conditions.append(SharedCondition(
            f"({dated.sql} OR (c.first_day IS NULL AND {own.sql} AND NOT EXISTS (SELECT 1 "
            "FROM gbrain.search_chunks e WHERE e.page = p.id AND e.date = p.date)))",
            (*dated.values, *own.values),
        ))  # fmt: skip
    return _join(" AND ", conditions) if conditions else SharedCondition("true", ())


def inside_condition(table: str, periods: tuple[tuple[str, str], ...]) -> SharedCondition:
    """Return the condition for rows dated inside one of the periods, or in a month around it."""
    parts: list[SharedCondition] = []
    for first, last in periods:
        longest = max(MAX_VAGUE_DAYS, (_day(last) - _day(first)).days)
        earlier = date.fromordinal(max(_day(first).toordinal() - longest, 1)).isoformat()
        parts.append(SharedCondition(
            f"({table}.first_day BETWEEN %s AND %s AND {table}.last_day >= %s "
            f"AND {table}.last_day::date - {table}.first_day::date <= {longest})",
            (earlier, last, first),
        ))  # fmt: skip
    return _join(" OR ", parts)


def _day(text: str) -> date:
    return date.fromisoformat(text)


def _days_condition(since: str | None, until: str | None) -> SharedCondition:
    days = (since or _ANY_DAY[0], until or _ANY_DAY[1])
    return SharedCondition(
        "((p.last_day >= %s AND p.first_day <= %s) OR EXISTS (SELECT 1 FROM gbrain.search_chunks d "
        "WHERE d.page = p.id AND d.last_day >= %s AND d.first_day <= %s))",
        days + days,
    )


def _clause_condition(tree: Clause, tokenize: Tokenize) -> SharedCondition:
    """Return the condition that a page must meet to match a query tree."""
    if has_only_words(tree):
        return _match_condition(fts_tree(tree), tokenize)
    if tree.kind == "field":
        return _field_condition(tree, tokenize)
    if tree.kind == "not":
        unwanted = _clause_condition(tree.operands[0], tokenize)
        return SharedCondition(f"NOT coalesce({unwanted.sql}, false)", unwanted.values)
    if tree.kind == "loose":
        words = [_clause_condition(c, tokenize) for c in tree.operands if has_only_words(c)]
        required = [_clause_condition(c, tokenize) for c in tree.operands if not has_only_words(c)]
        return _join(" AND ", ([_join(" OR ", words)] if words else []) + required)
    conditions = [_clause_condition(clause, tokenize) for clause in tree.operands]
    return _join(" AND " if tree.kind == "all" else " OR ", conditions)


def _field_condition(field: Clause, tokenize: Tokenize) -> SharedCondition:
    if field.term:
        return _match_condition(f"title : ({fts_term(field.term, strict=True)})", tokenize)
    if field.name == "after":
        return _days_condition(field.value, None)
    if field.name == "before":
        return _days_condition(None, day_before(field.value))
    if field.name == "tag":
        return _tag_condition(field.value, tokenize)
    return SharedCondition(f"({_FIELDS[field.name]})", (field.value,))


def _tag_condition(tag: str, tokenize: Tokenize) -> SharedCondition:
    """Return the condition for pages with a tag; its words, which they have too, have an index."""
    words = " & ".join(quote_lexeme(cut_word(word)) for word in tokenize([tag])[0])
    if not words:
        return SharedCondition(_HAS_TAG, (tag,))
    return SharedCondition(f"(p.words @@ %s::tsquery AND {_HAS_TAG})", (words, tag))


def _match_condition(expression: str, tokenize: Tokenize) -> SharedCondition:
    tsquery = read_expression(expression, tokenize).tsquery
    return (
        SharedCondition("p.words @@ %s::tsquery", (tsquery,))
        if tsquery
        else SharedCondition(_NEVER, ())
    )


def _join(operator: str, conditions: list[SharedCondition]) -> SharedCondition:
    values = tuple(value for condition in conditions for value in condition.values)
    return SharedCondition(f"({operator.join(c.sql for c in conditions)})", values)
