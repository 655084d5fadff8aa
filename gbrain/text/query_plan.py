"""A query's tree taken apart: what every lane must respect, and what the keyword lane matches."""

from __future__ import annotations

from gbrain.text.query import fts_term
from gbrain.text.query_tree import day_before, join_clauses, wanted_terms
from gbrain.types import Clause, Query, Scope


def plan_query(text: str, tree: Clause, scope: Scope, limit: int) -> Query:
    """The query that `tree` means within `scope`."""
    words, demands = split_words_and_filters(tree)
    wanted = words or tree
    terms = tuple(dict.fromkeys(wanted_terms(wanted)))
    return Query(
        text,
        terms,
        _narrowed(scope, demands),
        limit,
        semantic_text=" ".join(" ".join(term.words) for term in wanted_terms(tree)),
        tree=tree,
        fts_expression=None if words is None or _any_will_do(words) else fts_tree(words),
        filter_only=words is None,
    )


def fts_tree(tree: Clause) -> str:
    """A tree of words alone as an FTS5 expression."""
    if tree.term:
        return fts_term(tree.term, strict=True)
    sign = " AND " if tree.kind == "all" else " OR "
    return "(" + sign.join(fts_tree(part) for part in tree.operands) + ")"


def has_only_words(tree: Clause) -> bool:
    """Whether no field and no NOT is in the tree."""
    return tree.kind not in ("field", "not") and all(map(has_only_words, tree.operands))


def _any_will_do(words: Clause) -> bool:
    """Whether one of the words is enough."""
    return words.kind != "all" and all(map(_any_will_do, words.operands))


def split_words_and_filters(tree: Clause) -> tuple[Clause | None, list[Clause]]:
    """The words to be matched, if any must be, and the demands that hold beside them.

    A title's words are matched too. A field or NOT among alternatives makes all of them a demand:
    a page need not hold their words.
    """
    if tree.kind == "field":
        return (Clause("term", term=tree.term) if tree.term else None), [tree]
    if tree.kind == "not" or (tree.kind == "any" and not has_only_words(tree)):
        return None, [tree]
    if tree.kind not in ("all", "loose"):
        return tree, []
    words: list[Clause] = []
    demands: list[Clause] = []
    for part in tree.operands:
        own, more = split_words_and_filters(part)
        words += [own] if own else []
        demands += more
    return join_clauses(tree.kind, words), demands


def _narrowed(scope: Scope, demands: list[Clause]) -> Scope:
    """The scope with the demands; dates join its own, so that they hold for passages too."""
    since, until = scope.since, scope.until
    rest: list[Clause] = []
    for demand in demands:
        if demand.name == "after":
            since = max(since or demand.value, demand.value)
        elif demand.name == "before":
            last = day_before(demand.value)
            until = min(until or last, last)
        else:
            rest.append(demand)
    return scope._replace(since=since, until=until, tree=join_clauses("all", rest))
