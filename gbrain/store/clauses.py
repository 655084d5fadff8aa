"""A query's tree as SQL: the fields and NOTs that hold in every lane."""

from __future__ import annotations

from gbrain.store.scope import Condition, days_condition
from gbrain.text.query import match_term, unspaced
from gbrain.text.query_plan import match_tree, words_alone
from gbrain.text.query_tree import day_before, terms_of
from gbrain.types import Clause, Term

_MATCHED = "pages.id IN (SELECT rowid FROM pages_fts WHERE pages_fts MATCH ?)"
_TEXTS = ("title", "compiled_truth", "timeline")
_COLUMNS = {
    "wing": "pages.wing = ?",
    "room": "pages.room = ?",
    "type": "pages.type = ? COLLATE NOCASE",
    "tag": "pages.id IN (SELECT page_id FROM tags WHERE tag = ?)",
}


def clause_condition(tree: Clause) -> Condition:
    """What a row of `pages` must satisfy for the tree to hold."""
    if words_alone(tree) and not any(_is_unspaced(term) for term in terms_of(tree)):
        return Condition(_MATCHED, (match_tree(tree),))
    if tree.kind == "field":
        return _field(tree)
    if tree.term:
        return _term(tree.term, match_term(tree.term, strict=True), _TEXTS)
    if tree.kind == "not":
        unwanted = clause_condition(tree.parts[0])
        # What is not known of a page (a type, a date) is not unwanted.
        return Condition(f"NOT coalesce({unwanted.sql}, 0)", unwanted.values)
    if tree.kind == "loose":
        words = [clause_condition(part) for part in tree.parts if words_alone(part)]
        demands = [clause_condition(part) for part in tree.parts if not words_alone(part)]
        return _joined(" AND ", ([_joined(" OR ", words)] if words else []) + demands)
    conditions = [clause_condition(part) for part in tree.parts]
    return _joined(" AND " if tree.kind == "all" else " OR ", conditions)


def _field(field: Clause) -> Condition:
    if field.term:
        match = f"title : ({match_term(field.term, strict=True)})"
        return _term(field.term, match, ("title",))
    if field.name == "after":
        return days_condition(field.value, None)
    if field.name == "before":
        return days_condition(None, day_before(field.value))
    return Condition(f"({_COLUMNS[field.name]})", (field.value,))


def _term(term: Term, match: str, texts: tuple[str, ...]) -> Condition:
    """A term by its words, and letter for letter in a script that does not separate them."""
    matched = Condition(_MATCHED, (match,))
    if not _is_unspaced(term):
        return matched
    inside = [Condition(f"instr(pages.{text}, ?) > 0", (" ".join(term.words),)) for text in texts]
    return _joined(" OR ", [matched, *inside])


def _is_unspaced(term: Term) -> bool:
    return any(map(unspaced, term.words))


def _joined(operator: str, conditions: list[Condition]) -> Condition:
    values = tuple(value for condition in conditions for value in condition.values)
    return Condition(f"({operator.join(c.sql for c in conditions)})", values)
