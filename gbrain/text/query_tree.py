"""The query language: words, phrases, prefixes, AND OR NOT, brackets and fields, as a tree."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from gbrain.errors import UsageError
from gbrain.text.query import (
    FIELDS,
    MAX_TERMS,
    OPERATORS,
    Aliases,
    is_stop_term,
    make_phrase_term,
    make_word_term,
)
from gbrain.types import Clause, ClauseKind, Term

# Brackets within brackets beyond this are read as if they were not there.
_DEEPEST = 40

# A word's signs are taken off until none is left, at most so often.
_LAYERS = 8

_NAME = f"(?P<name>{'|'.join(FIELDS)}):"
_TOKEN = (
    rf'(?P<bracket>[()])|{_NAME}(?:"(?P<quoted>[^"]*)"|(?P<group>\()|(?P<value>[^\s":()][^\s"]*))'
    r'|"(?P<phrase>[^"]*)"|(?P<word>\S+)'
)
_AFTER_A_BRACKET = ",.;!?"


class _Token(NamedTuple):
    """A bracket, an operator or a leaf of the tree; `name` is the field a bracket stands behind."""

    sign: str
    clause: Clause | None = None
    name: str = ""


class _Reading(NamedTuple):
    aliases: Aliases
    today: date


def parse_tree(text: str, aliases: Aliases, today: date) -> Clause | None:
    """The tree of a normalised query; None for plain words and phrases, or nothing that counts.

    AND binds closer than OR, and both closer than standing side by side. NOT after an operand
    takes away from that operand. What does not fit is passed over: a bracket without its fellow,
    an operator without operands.
    """
    reading = _Reading(aliases, today)
    tree = _loose(deque(_tokens(text, reading)), reading, 0)
    if tree is None or _kinds(tree) <= {"term", "loose"}:
        return None
    return tree if _kinds(tree) & {"all", "any", "not"} else _without_stop_words(tree)


def wanted_terms(tree: Clause) -> Iterator[Term]:
    """The terms that are wanted, in order: those of the words and of title fields."""
    if tree.term:
        yield tree.term
    if tree.kind != "not":
        for part in tree.operands:
            yield from wanted_terms(part)


def join_clauses(kind: ClauseKind, parts: list[Clause]) -> Clause | None:
    """Parts under one node: none for nothing, the part itself if it is alone."""
    flat = [inner for part in parts for inner in (part.operands if part.kind == kind else (part,))]
    if len(flat) < 2:
        return flat[0] if flat else None
    return Clause(kind, tuple(flat))


def _tokens(text: str, reading: _Reading) -> Iterator[_Token]:
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
            clause = _leaf(match, written and written[: _end(written) - closes], reading)
            if clause:
                yield _Token("leaf", clause)
                leaves += 1
        elif depth < _DEEPEST:
            yield _Token("(", name=name or "")
            depth += 1
        for _ in range(min(closes, depth)):
            yield _Token(")")
            depth -= 1
        if leaves == MAX_TERMS:
            return


def _leaf(match: re.Match[str], written: str | None, reading: _Reading) -> Clause | None:
    """A word, a phrase or a field; a field whose value is none is just words."""
    name, quoted, phrase = match["name"], match["quoted"], match["phrase"]
    if written is None:
        field = _field(name, quoted, reading) if name else None
        return field or _term(make_phrase_term(quoted if phrase is None else phrase))
    if name:
        field = _field(name, written.rstrip(",;"), reading, bare=True)
        return field or _word(f"{name}:{written}", reading.aliases)
    return _word(written, reading.aliases)


def _end(word: str) -> int:
    return len(word.rstrip(_AFTER_A_BRACKET))


def _closing(word: str) -> int:
    """How many brackets at the end of a word were opened before it."""
    word = word[: _end(word)]
    trailing = len(word) - len(word.rstrip(")"))
    return max(0, min(trailing, word.count(")") - word.count("(")))


def _term(term: Term | None) -> Clause | None:
    return Clause("term", term=term) if term else None


def _word(written: str, aliases: Aliases) -> Clause | None:
    term = make_word_term(written, aliases)
    for _ in range(_LAYERS):
        again = term and make_word_term(_bare(term), aliases)
        if again == term:
            break
        term = again
    return _term(term)


def _bare(term: Term) -> str:
    return term.words[0] + ("*" if term.prefix else "")


def _field(name: str, value: str, reading: _Reading, *, bare: bool = False) -> Clause | None:
    """The field as a clause; None if its value is none."""
    if name == "title":
        word = _word(value, reading.aliases) if bare else _term(make_phrase_term(value))
        return word and Clause("field", term=word.term, name=name)
    value = value.strip()
    if name in ("before", "after"):
        value = _day(value, reading.today)
    elif name == "tag":
        value = value.lstrip("#")
    elif name in ("wing", "room"):
        value = value.lower()
    return Clause("field", name=name, value=value) if value else None


def _day(written: str, today: date) -> str:
    """The first day of the date written, ISO; empty if it cannot be read."""
    from gbrain.text.dates import parse_bound

    try:
        return parse_bound(written, today).first
    except UsageError:
        return ""


def day_before(day: str) -> str:
    """The ISO day before; before the first of all days, one that compares as earlier."""
    first = date.fromisoformat(day)
    return (first - timedelta(1)).isoformat() if first > date.min else "0000-12-31"


def _loose(tokens: deque[_Token], reading: _Reading, depth: int) -> Clause | None:
    parts: list[Clause] = []
    while tokens:
        sign = tokens[0].sign
        if sign == ")" and depth:
            break
        if sign in (")", "AND", "OR"):
            tokens.popleft()
            continue
        part = _any(tokens, reading, depth)
        if part:
            parts.append(part)
    return join_clauses("loose", parts)


def _any(tokens: deque[_Token], reading: _Reading, depth: int) -> Clause | None:
    parts = [_all(tokens, reading, depth)]
    while tokens and tokens[0].sign == "OR":
        tokens.popleft()
        parts.append(_all(tokens, reading, depth))
    return join_clauses("any", [part for part in parts if part])


def _all(tokens: deque[_Token], reading: _Reading, depth: int) -> Clause | None:
    parts = [_operand(tokens, reading, depth)]
    while tokens and tokens[0].sign in ("AND", "NOT"):
        if tokens[0].sign == "AND":
            tokens.popleft()
        parts.append(_operand(tokens, reading, depth))
    return join_clauses("all", [part for part in parts if part])


def _operand(tokens: deque[_Token], reading: _Reading, depth: int) -> Clause | None:
    unwanted = False
    while tokens and tokens[0].sign == "NOT":
        tokens.popleft()
        unwanted = not unwanted
    if not tokens or tokens[0].sign not in ("leaf", "("):
        return None
    token = tokens.popleft()
    part = token.clause
    if token.sign == "(":
        part = _loose(tokens, reading, depth + 1)
        if tokens:
            tokens.popleft()
        if part and token.name:
            part = _all_fields(part, token.name, reading)
    return _not(part) if part and unwanted else part


def _not(part: Clause) -> Clause:
    return part.operands[0] if part.kind == "not" else Clause("not", (part,))


def _all_fields(tree: Clause, name: str, reading: _Reading) -> Clause:
    """The tree of a bracket behind a field's name, each of its words a value of that field."""
    if tree.kind == "term" and tree.term:
        value = " ".join(tree.term.words) if tree.term.quoted else _bare(tree.term)
        return _field(name, value, reading, bare=not tree.term.quoted) or tree
    return tree._replace(operands=tuple(_all_fields(part, name, reading) for part in tree.operands))


def _kinds(tree: Clause) -> set[ClauseKind]:
    return {tree.kind}.union(*(_kinds(part) for part in tree.operands))


def _without_stop_words(tree: Clause) -> Clause:
    """A tree of words and fields alone, as plain words are read; quotes keep all of them."""
    terms = [part.term for part in tree.operands if part.kind == "term" and part.term]
    if any(term.quoted for term in terms) or all(is_stop_term(term) for term in terms):
        return tree
    kept = [p for p in tree.operands if p.kind != "term" or (p.term and not is_stop_term(p.term))]
    return join_clauses("loose", kept) or tree
