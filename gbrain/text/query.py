"""Turn the text of a query into a `Query`: its terms, filters and FTS5 expression."""

from __future__ import annotations

from datetime import date

from gbrain.text.query_terms import (
    FIELDS,
    MAX_QUERY_CHARACTERS,
    OPERATORS,
    Aliases,
    TermLimit,
    fts_term,
    normalise_query,
    parse_terms,
)
from gbrain.text.query_tree import day_before, join_clauses, parse_tree, wanted_terms
from gbrain.types import Clause, Query, Scope


def parse_query(text: str, aliases: Aliases, today: date, scope: Scope, limit: int) -> Query:
    """Return any text as a query within `scope`; no text is invalid.

    Relative dates in fields count from `today`. Of a text with more than MAX_QUERY_CHARACTERS
    characters, or more words than a TermLimit allows, only the beginning is read.
    """
    normalised = normalise_query(text[:MAX_QUERY_CHARACTERS])
    is_cut = len(text) > MAX_QUERY_CHARACTERS
    if _may_be_structured(normalised):
        bounds = TermLimit()
        tree = parse_tree(normalised, aliases, today, bounds)
        if tree is not None:
            query = _plan_query(normalised, tree, scope, limit)
            return query._replace(is_cut=is_cut or bounds.reached)
    bounds = TermLimit()
    terms = parse_terms(normalised, aliases, bounds)
    return Query(normalised, terms, scope, limit, normalised, is_cut=is_cut or bounds.reached)


def _may_be_structured(text: str) -> bool:
    """Tell whether the text contains something that looks like an operator or a field."""
    if ":" in text and any(f"{name}:" in text for name in FIELDS):
        return True
    return not OPERATORS.isdisjoint(text.replace("(", " ").replace(")", " ").split())


def _plan_query(text: str, tree: Clause, scope: Scope, limit: int) -> Query:
    """Return the query that `tree` stands for within `scope`."""
    words, filters = split_words_and_filters(tree)
    wanted = words or tree
    terms = tuple(dict.fromkeys(wanted_terms(wanted)))
    return Query(
        text,
        terms,
        _narrow(scope, filters),
        limit,
        semantic_text=" ".join(" ".join(term.words) for term in wanted_terms(tree)),
        tree=tree,
        fts_expression=None if words is None or _any_word_suffices(words) else fts_tree(words),
        filter_only=words is None,
    )


def fts_tree(tree: Clause) -> str:
    """Return a tree without fields and NOTs as an FTS5 expression."""
    if tree.term:
        return fts_term(tree.term, strict=True)
    sign = " AND " if tree.kind == "all" else " OR "
    return "(" + sign.join(fts_tree(part) for part in tree.operands) + ")"


def has_only_words(tree: Clause) -> bool:
    """Tell whether the tree contains no field and no NOT."""
    return tree.kind not in ("field", "not") and all(map(has_only_words, tree.operands))


def _any_word_suffices(words: Clause) -> bool:
    """Tell whether a page that contains one of the words matches."""
    return words.kind != "all" and all(map(_any_word_suffices, words.operands))


def split_words_and_filters(tree: Clause) -> tuple[Clause | None, list[Clause]]:
    """Return the words to match, None if there are none, and the filters that apply as well.

    The words of a title field are matched too. A field or NOT inside an OR makes the whole OR a
    filter: a page need not contain its words.
    """
    if tree.kind == "field":
        return (Clause("term", term=tree.term) if tree.term else None), [tree]
    if tree.kind == "not" or (tree.kind == "any" and not has_only_words(tree)):
        return None, [tree]
    if tree.kind not in ("all", "loose"):
        return tree, []
    words: list[Clause] = []
    filters: list[Clause] = []
    for operand in tree.operands:
        operand_words, operand_filters = split_words_and_filters(operand)
        words += [operand_words] if operand_words else []
        filters += operand_filters
    return join_clauses(tree.kind, words), filters


def _narrow(scope: Scope, filters: list[Clause]) -> Scope:
    """Return the scope with the filters; its dates then apply to chunks too."""
    since, until = scope.since, scope.until
    rest: list[Clause] = []
    for one in filters:
        if one.name == "after":
            since = max(since or one.value, one.value)
        elif one.name == "before":
            last = day_before(one.value)
            until = min(until or last, last)
        else:
            rest.append(one)
    return scope._replace(since=since, until=until, tree=join_clauses("all", rest))
