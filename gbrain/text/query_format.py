"""A query's tree in one spelling: read again, it gives the same tree."""

from __future__ import annotations

import re

from gbrain.text.query import FIELDS, OPERATORS
from gbrain.types import Clause, Query, Term

_SIGNS = {"all": " AND ", "any": " OR ", "loose": " "}
_BRACKETED = {
    "not": ("all", "any", "loose"),
    "all": ("any", "loose"),
    "any": ("loose",),
    "loose": (),
}
_PLAIN_VALUE = r"[\w/.+#-]*[\w/+#-]"


def describe_query(query: Query) -> str:
    """What was understood: the tree, or the words that count if there is none."""
    if query.tree is not None:
        return format_tree(query.tree)
    return " ".join(_written_term(term) for term in query.terms)


def format_tree(tree: Clause) -> str:
    """The tree as a query."""
    if tree.kind == "term" and tree.term:
        return _written_term(tree.term)
    if tree.kind == "field":
        return f"{tree.name}:{_written_value(tree)}"
    parts = [_part(tree, part) for part in tree.operands]
    if tree.kind == "not":
        return f"NOT {parts[0]}"
    if tree.kind == "loose":
        # Side by side, a NOT would take away from the part before it.
        parts[1:] = [f"({part})" if part.startswith("NOT ") else part for part in parts[1:]]
    return _SIGNS[tree.kind].join(parts)


def _part(tree: Clause, part: Clause) -> str:
    text = format_tree(part)
    return f"({text})" if part.kind in _BRACKETED[tree.kind] else text


def _written_term(term: Term) -> str:
    if term.quoted:
        return f'"{" ".join(term.words)}"'
    word = term.words[0] + ("*" if term.prefix else "")
    is_syntax = word in OPERATORS or word.startswith(tuple(f"{name}:" for name in FIELDS))
    # A sign that is passed over keeps such a word from being read as more than a word.
    return f"'{word}" if is_syntax else word


def _written_value(field: Clause) -> str:
    if field.term:
        term = field.term
        return _written_term(term) if term.quoted else term.words[0] + "*" * term.prefix
    return field.value if re.fullmatch(_PLAIN_VALUE, field.value) else f'"{field.value}"'
