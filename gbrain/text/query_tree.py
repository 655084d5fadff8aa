"""The query language as a tree: words, phrases, prefixes, AND, OR, NOT, brackets and fields."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from gbrain.errors import UsageError
from gbrain.text.query_terms import (
    FIELDS,
    MAX_TERMS,
    OPERATORS,
    Aliases,
    TermLimit,
    is_stop_term,
    make_phrase_term,
    make_word_term,
    term_stop_words,
)
from gbrain.types import Clause, ClauseKind, Query, Term

# Deeper brackets are ignored.
_MAX_BRACKET_DEPTH = 40

# Punctuation around a word is stripped at most this often.
_MAX_STRIPS = 8

_NAME = f"(?P<name>{'|'.join(FIELDS)}):"
_TOKEN = (
    rf'(?P<bracket>[()])|{_NAME}(?:"(?P<quoted>[^"]*)"|(?P<group>\()|(?P<value>[^\s":()][^\s"]*))'
    r'|"(?P<phrase>[^"]*)"|(?P<word>\S+)'
)
_AFTER_A_BRACKET = ",.;!?"


class _Token(NamedTuple):
    """A bracket, an operator or a leaf of the tree; `name` is the field before a bracket."""

    sign: str
    clause: Clause | None = None
    name: str = ""


class _ParseContext(NamedTuple):
    """What a word or a date in the query refers to."""

    aliases: Aliases
    today: date
    limit: TermLimit


def parse_tree(
    text: str, aliases: Aliases, today: date, limit: TermLimit | None = None
) -> Clause | None:
    """Return the tree of a normalised query; None for plain words and phrases or an empty query.

    AND binds closer than OR, and both closer than words side by side. NOT after an operand excludes
    from that operand. A bracket without its partner and an operator without operands are ignored.
    `limit` tells whether all was read.
    """
    context = _ParseContext(aliases, today, limit or TermLimit())
    tree = _parse_loose(deque(_tokens(text, context)), context, 0)
    if tree is None or _kinds(tree) <= {"term", "loose"}:
        return None
    return tree if _kinds(tree) & {"all", "any", "not"} else _without_stop_words(tree)


def wanted_terms(tree: Clause) -> Iterator[Term]:
    """Yield the terms of words and title fields that are not under a NOT, in order."""
    if tree.term:
        yield tree.term
    if tree.kind != "not":
        for part in tree.operands:
            yield from wanted_terms(part)


def join_clauses(kind: ClauseKind, parts: list[Clause]) -> Clause | None:
    """Return the operands under one node: None for none, the operand itself for one."""
    flat = [inner for part in parts for inner in (part.operands if part.kind == kind else (part,))]
    if len(flat) < 2:
        return flat[0] if flat else None
    return Clause(kind, tuple(flat))


def _tokens(text: str, context: _ParseContext) -> Iterator[_Token]:
    depth = leaves = 0
    for match in re.finditer(_TOKEN, text):
        name, opens, closes = match["name"], match["bracket"] == "(" or match["group"], 0
        if match["word"] in OPERATORS:
            yield _Token(match["word"])
        elif match["bracket"] == ")":
            closes = 1
        elif not opens:
            written = match["word"] or match["value"]
            closes = _closing(written) if written else 0
            clause = _leaf(match, written and written[: _end(written) - closes], context)
            if clause and clause.term:
                term = context.limit.take(clause.term)
                clause = clause._replace(term=term) if term else None
            if clause:
                yield _Token("leaf", clause)
                leaves += 1
        elif depth < _MAX_BRACKET_DEPTH:
            yield _Token("(", name=name or "")
            depth += 1
        for _ in range(min(closes, depth)):
            yield _Token(")")
            depth -= 1
        context.limit.reached |= leaves == MAX_TERMS
        if context.limit.reached:
            return


def _leaf(match: re.Match[str], written: str | None, context: _ParseContext) -> Clause | None:
    """Return a word, a phrase or a field; a field with an invalid value becomes words."""
    name, quoted, phrase = match["name"], match["quoted"], match["phrase"]
    if written is None:
        field = _field(name, quoted, context) if name else None
        return field or _term(make_phrase_term(quoted if phrase is None else phrase))
    if name:
        field = _field(name, written.rstrip(",;"), context, bare=True)
        return field or _word(f"{name}:{written}", context.aliases)
    return _word(written, context.aliases)


def _end(word: str) -> int:
    return len(word.rstrip(_AFTER_A_BRACKET))


def _closing(word: str) -> int:
    """Return how many brackets at the end of a word were opened before it."""
    word = word[: _end(word)]
    trailing = len(word) - len(word.rstrip(")"))
    return max(0, min(trailing, word.count(")") - word.count("(")))


def _term(term: Term | None) -> Clause | None:
    return Clause("term", term=term) if term else None


def _word(written: str, aliases: Aliases) -> Clause | None:
    term = make_word_term(written, aliases)
    for _ in range(_MAX_STRIPS):
        again = term and make_word_term(_unquoted(term), aliases)
        if again == term:
            break
        term = again
    return _term(term)


def _unquoted(term: Term) -> str:
    return term.words[0] + ("*" if term.prefix else "")


def _field(name: str, value: str, context: _ParseContext, *, bare: bool = False) -> Clause | None:
    """Return the field as a clause; None if its value is invalid."""
    if name == "title":
        word = _word(value, context.aliases) if bare else _term(make_phrase_term(value))
        return word and Clause("field", term=word.term, name=name)
    value = value.strip()
    if name in ("before", "after"):
        value = _day(value, context.today)
    elif name == "tag":
        value = value.lstrip("#")
    elif name in ("wing", "room"):
        value = value.lower()
    return Clause("field", name=name, value=value) if value else None


def _day(written: str, today: date) -> str:
    """Return the first day of the date, ISO; empty if it is not a date."""
    from gbrain.text.dates import parse_bound

    try:
        return parse_bound(written, today).first
    except UsageError:
        return ""


def unread_dates(text: str, today: date) -> list[str]:
    """Return the fields before: and after: whose value is not a date, as the query has them."""
    fields = re.findall(r'(?<!\S)(?:before|after):[^\s()"]+', text)
    return [field for field in fields if not _day(field.partition(":")[2], today)]


def day_before(day: str) -> str:
    """Return the ISO day before; for the first day there is, one that sorts before it."""
    first = date.fromisoformat(day)
    return (first - timedelta(1)).isoformat() if first > date.min else "0000-12-31"


def _parse_loose(tokens: deque[_Token], context: _ParseContext, depth: int) -> Clause | None:
    parts: list[Clause] = []
    while tokens:
        sign = tokens[0].sign
        if sign == ")" and depth:
            break
        if sign in (")", "AND", "OR"):
            tokens.popleft()
            continue
        part = _parse_any(tokens, context, depth)
        if part:
            parts.append(part)
    return join_clauses("loose", parts)


def _parse_any(tokens: deque[_Token], context: _ParseContext, depth: int) -> Clause | None:
    parts = [_parse_all(tokens, context, depth)]
    while tokens and tokens[0].sign == "OR":
        tokens.popleft()
        parts.append(_parse_all(tokens, context, depth))
    return join_clauses("any", [part for part in parts if part])


def _parse_all(tokens: deque[_Token], context: _ParseContext, depth: int) -> Clause | None:
    parts = [_parse_operand(tokens, context, depth)]
    while tokens and tokens[0].sign in ("AND", "NOT"):
        if tokens[0].sign == "AND":
            tokens.popleft()
        parts.append(_parse_operand(tokens, context, depth))
    return join_clauses("all", [part for part in parts if part])


def _parse_operand(tokens: deque[_Token], context: _ParseContext, depth: int) -> Clause | None:
    unwanted = False
    while tokens and tokens[0].sign == "NOT":
        tokens.popleft()
        unwanted = not unwanted
    if not tokens or tokens[0].sign not in ("leaf", "("):
        return None
    token = tokens.popleft()
    part = token.clause
    if token.sign == "(":
        part = _parse_loose(tokens, context, depth + 1)
        if tokens:
            tokens.popleft()
        if part and token.name:
            part = _all_fields(part, token.name, context)
    return _negate(part) if part and unwanted else part


def _negate(part: Clause) -> Clause:
    return part.operands[0] if part.kind == "not" else Clause("not", (part,))


def _all_fields(tree: Clause, name: str, context: _ParseContext) -> Clause:
    """Return the tree of a bracket after a field name, with each word as a value of that field."""
    if tree.kind == "term" and tree.term:
        value = " ".join(tree.term.words) if tree.term.quoted else _unquoted(tree.term)
        return _field(name, value, context, bare=not tree.term.quoted) or tree
    return tree._replace(operands=tuple(_all_fields(part, name, context) for part in tree.operands))


def _kinds(tree: Clause) -> set[ClauseKind]:
    return {tree.kind}.union(*(_kinds(part) for part in tree.operands))


def _without_stop_words(tree: Clause) -> Clause:
    """Drop stop words as a query without operators does; a quoted phrase keeps all of them."""
    terms = [part.term for part in tree.operands if part.kind == "term" and part.term]
    stop_words = term_stop_words(terms)
    dropped = [term for term in terms if is_stop_term(term, stop_words)]
    if any(term.quoted for term in terms) or len(dropped) == len(terms):
        return tree
    kept = [part for part in tree.operands if part.kind != "term" or part.term not in dropped]
    return join_clauses("loose", kept) or tree


_SIGNS = {"all": " AND ", "any": " OR ", "loose": " "}
_BRACKETED = {
    "not": ("all", "any", "loose"),
    "all": ("any", "loose"),
    "any": ("loose",),
    "loose": (),
}
_UNQUOTED_VALUE = r"[\w/.+#-]*[\w/+#-]"


def describe_query(query: Query) -> str:
    """Return the query as it was understood: the tree, or the terms if there is none."""
    if query.tree is not None:
        return format_tree(query.tree)
    return " ".join(_format_term(term) for term in query.terms)


def format_tree(tree: Clause) -> str:
    """Return the tree as a query that parses to the same tree."""
    if tree.kind == "term" and tree.term:
        return _format_term(tree.term)
    if tree.kind == "field":
        return f"{tree.name}:{_format_value(tree)}"
    parts = [_part(tree, part) for part in tree.operands]
    if tree.kind == "not":
        return f"NOT {parts[0]}"
    if tree.kind == "loose":
        # Without brackets, the NOT would exclude from the operand before it.
        parts[1:] = [f"({part})" if part.startswith("NOT ") else part for part in parts[1:]]
    return _SIGNS[tree.kind].join(parts)


def _part(tree: Clause, part: Clause) -> str:
    text = format_tree(part)
    return f"({text})" if part.kind in _BRACKETED[tree.kind] else text


def _format_term(term: Term) -> str:
    if term.quoted:
        return f'"{" ".join(term.words)}"'
    word = term.words[0] + ("*" if term.prefix else "")
    is_syntax = word in OPERATORS or word.startswith(tuple(f"{name}:" for name in FIELDS))
    # The apostrophe is ignored when parsed, and keeps the word from being an operator or field.
    return f"'{word}" if is_syntax else word


def _format_value(field: Clause) -> str:
    if field.term:
        term = field.term
        return _format_term(term) if term.quoted else term.words[0] + "*" * term.prefix
    return field.value if re.fullmatch(_UNQUOTED_VALUE, field.value) else f'"{field.value}"'
