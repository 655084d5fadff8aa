"""The small-match short-circuit: a query that is a page's name, or a slip of the pen from one."""

from __future__ import annotations

import re
import sqlite3
from typing import NamedTuple

from gbrain.store.keyword_index import any_page_contains
from gbrain.store.page_names import NamedPage, find_by_name, find_similar_names
from gbrain.store.scope import pages_in_scope
from gbrain.text.slug import fold_name
from gbrain.types import Candidate, Query, Scope, Term

_WIKI = r"\[\[([^\[\]|#]+)(?:[|#][^\[\]]*)?\]\]"

_LONGEST_NAME = 200


class NameMatch(NamedTuple):
    """`candidates` are the pages named; it is an answer when there is exactly one."""

    candidates: tuple[Candidate, ...]
    how: str | None

    @property
    def answer(self) -> Candidate | None:
        return self.candidates[0] if len(self.candidates) == 1 else None


NO_MATCH = NameMatch((), None)


def match_name(connection: sqlite3.Connection, query: Query) -> NameMatch:
    """The pages that the whole query names, by slug, title, file name or alias.

    A near miss counts only for a word that the brain does not know, and only when no other name
    is as near. Operators and fields must be in the name to the letter.
    """
    linked = re.fullmatch(_WIKI, query.text) if query.text.startswith("[[") else None
    key = fold_name(linked[1] if linked else query.text)
    if not key or len(key) > _LONGEST_NAME:
        return NO_MATCH
    # What looks like operators and fields in a page's own name asks for nothing.
    scope = query.scope._replace(tree=None)
    found = _in_scope(connection, find_by_name(connection, key), scope)
    surest = [name for name in found if name.kind == "slug"] or found
    if surest:
        return _match(surest, surest[0].kind)
    if query.tree is not None:
        return NO_MATCH
    near = _in_scope(connection, _near(connection, key), scope)
    return _match(near, "near") if near else NO_MATCH


def _match(names: list[NamedPage], how: str) -> NameMatch:
    return NameMatch(
        tuple(Candidate(n.page_id, n.slug, None, rank, 1.0) for rank, n in enumerate(names, 1)),
        how,
    )


def _in_scope(
    connection: sqlite3.Connection, names: list[NamedPage], scope: Scope
) -> list[NamedPage]:
    if scope.unlimited or not names:
        return names
    inside = pages_in_scope(connection, {name.page_id for name in names}, scope)
    return [name for name in names if name.page_id in inside]


def _near(connection: sqlite3.Connection, key: str) -> list[NamedPage]:
    """Pages whose name is one slip away (two in a long name) and no other name is nearer."""
    if len(key) < 5:
        return []
    from gbrain.text.similarity import edit_distance

    allowed = 1 if len(key) < 10 else 2
    nearest: dict[int, NamedPage] = {}
    for name in find_similar_names(connection, key, max(len(key) // (allowed + 1), 2)):
        distance = edit_distance(key, name.key, allowed)
        if distance is None or not _is_slip(connection, key, name.key):
            continue
        if distance < allowed:
            allowed, nearest = distance, {}
        nearest.setdefault(name.page_id, name)
    return list(nearest.values())


def _is_slip(connection: sqlite3.Connection, key: str, name: str) -> bool:
    """Whether the words that differ are unknown to the brain: a word it knows is no typo."""
    meant = set(name.split())
    odd = [word for word in key.split() if word not in meant]
    if not odd:
        return True
    return not any_page_contains(connection, tuple(Term((word,)) for word in odd))
