"""Parse the text of a query: plain words at once, the query language only when it is used."""

from __future__ import annotations

from datetime import date

from gbrain.text.query_terms import (
    FIELDS,
    MAX_QUERY_CHARACTERS,
    OPERATORS,
    Aliases,
    normalise_query,
    parse_terms,
)
from gbrain.types import Query, Scope


def parse_query(text: str, aliases: Aliases, today: date, scope: Scope, limit: int) -> Query:
    """Return any text as a query within `scope`; no text is invalid.

    Relative dates in fields count from `today`. Only the first MAX_QUERY_CHARACTERS characters
    are read.
    """
    normalised = normalise_query(text[:MAX_QUERY_CHARACTERS])
    if _may_be_structured(normalised):
        from gbrain.text.query_plan import plan_query
        from gbrain.text.query_tree import parse_tree

        tree = parse_tree(normalised, aliases, today)
        if tree is not None:
            return plan_query(normalised, tree, scope, limit)
    return Query(normalised, parse_terms(normalised, aliases), scope, limit, normalised)


def _may_be_structured(text: str) -> bool:
    """Tell whether the text contains something that looks like an operator or a field."""
    if ":" in text and any(f"{name}:" in text for name in FIELDS):
        return True
    return not OPERATORS.isdisjoint(text.replace("(", " ").replace(")", " ").split())
