"""The short-circuit: answer a query that is the name of a page, even misspelt, with that page."""

from __future__ import annotations

import re
import sqlite3
from typing import NamedTuple

from gbrain.store.keyword_index import any_page_contains
from gbrain.store.pages import NamedPage, find_by_name, find_similar_names
from gbrain.store.scope import pages_in_scope
from gbrain.text.slug import fold_name
from gbrain.types import Candidate, Query, Scope, Term

_WIKI_LINK = r"\[\[([^\[\]|#]+)(?:[|#][^\[\]]*)?\]\]"

_MAX_NAME_CHARACTERS = 200


class NameMatch(NamedTuple):
    """The pages that the query names and the kind of name; exactly one page is an answer."""

    candidates: tuple[Candidate, ...]
    how: str | None

    @property
    def answer(self) -> Candidate | None:
        return self.candidates[0] if len(self.candidates) == 1 else None


NO_MATCH = NameMatch((), None)


def match_name(connection: sqlite3.Connection, query: Query) -> NameMatch:
    """Return the pages whose slug, title, file name or alias is the whole query.

    A misspelt name counts if no page contains the misspelt words and no other name is as similar.
    A query with operators or fields must be the exact name.
    """
    linked = re.fullmatch(_WIKI_LINK, query.text) if query.text.startswith("[[") else None
    key = fold_name(linked[1] if linked else query.text)
    if not key or len(key) > _MAX_NAME_CHARACTERS:
        return NO_MATCH
    # In a page's own name, what looks like operators and fields is plain text.
    scope = query.scope._replace(tree=None)
    found = _in_scope(connection, find_by_name(connection, key), scope)
    best = [name for name in found if name.kind == "slug"] or found
    if best:
        return _match(best, best[0].kind)
    if query.tree is not None:
        return NO_MATCH
    similar = _in_scope(connection, _similar_names(connection, key), scope)
    return _match(similar, "near") if similar else NO_MATCH


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


def _similar_names(connection: sqlite3.Connection, key: str) -> list[NamedPage]:
    """Return the pages with the most similar name: one edit away, in a long name at most two."""
    if len(key) < 5:
        return []
    from gbrain.text.similarity import edit_distance

    allowed = 1 if len(key) < 10 else 2
    nearest: dict[int, NamedPage] = {}
    for name in find_similar_names(connection, key, max(len(key) // (allowed + 1), 2)):
        distance = edit_distance(key, name.key, allowed)
        if distance is None or not _is_typo(connection, key, name.key):
            continue
        if distance < allowed:
            allowed, nearest = distance, {}
        nearest.setdefault(name.page_id, name)
    return list(nearest.values())


def _is_typo(connection: sqlite3.Connection, key: str, name: str) -> bool:
    """Return whether no page contains the words that differ; otherwise they are no typo."""
    known = set(name.split())
    different = [word for word in key.split() if word not in known]
    if not different:
        return True
    return not any_page_contains(connection, tuple(Term((word,)) for word in different))
