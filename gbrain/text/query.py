"""A query's text into terms: any string is a query, and no character is ever syntax by accident."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date

from gbrain.text.slug import normalise_unicode
from gbrain.types import Query, Scope, Term

# What follows so many characters is no question, and a phrase of all of it would fill the memory.
MAX_QUERY_CHARACTERS = 10_000
MAX_TERMS = 200
_MOST_PARTS = 40

FIELDS = ("title", "tag", "wing", "room", "type", "before", "after")
OPERATORS = frozenset(("AND", "OR", "NOT"))

# Patterns are compiled when a query needs them: most are plain words, and a search starts sooner.
_INVISIBLE = "[\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\x00-\x08\x0e-\x1f]"
_PIECE = r'"([^"]*)"|(\S+)'
_PART = r"[^\W_]+"

# Scripts written without spaces: a word there is found as a substring, not as a token.
_UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]"

Aliases = Mapping[str, tuple[str, ...]]
_NONE: Aliases = {}

STOP_WORDS = frozenset(
    """a about all am an and any are as at be been being but by can could did do does doing for from
    had has have having he her here hers him his how i if in into is it its just me more most my no
    nor not of off on or our ours out over own she should so some such than that the their theirs
    them then there these they this those through to too under up us very was we were what when
    where which while who whom whose why will with would you your yours who's what's where's that's
    it's i'm i've i'd there's let's tell give show""".split()
)


def parse_query(text: str, aliases: Aliases, today: date, scope: Scope, limit: int) -> Query:
    """Any text as a query within `scope`; relative dates in its fields count from `today`.

    Of a text beyond LONGEST_QUERY characters the beginning is read.
    """
    normal = normalise_query(text[:MAX_QUERY_CHARACTERS])
    if _may_be_structured(normal):
        from gbrain.text.query_plan import plan_query
        from gbrain.text.query_tree import parse_tree

        tree = parse_tree(normal, aliases, today)
        if tree is not None:
            return plan_query(normal, tree, scope, limit)
    return Query(normal, parse_terms(normal, aliases), scope, limit, normal)


def _may_be_structured(text: str) -> bool:
    """Whether the query language is worth loading: something looks like an operator or a field."""
    if ":" in text and any(f"{name}:" in text for name in FIELDS):
        return True
    return not OPERATORS.isdisjoint(text.replace("(", " ").replace(")", " ").split())


def normalise_query(text: str) -> str:
    """The query as it is understood: composed, without invisible characters, single-spaced."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    text = text.encode("utf-8", "replace").decode()
    composed = normalise_unicode("NFC", text).replace("\u2019", "'").replace("\u2018", "'")
    plain = composed.replace("\u201c", '"').replace("\u201d", '"')
    return " ".join(re.sub(_INVISIBLE, "", plain).split())


def parse_terms(text: str, aliases: Aliases = _NONE) -> tuple[Term, ...]:
    """The words and quoted phrases of a normalised query, in order, without doubles.

    A compound like `auth-middleware` or `v1.2` is one term whose parts stand together. A word in
    `aliases` (lower case) keeps its other names beside it. Stop words go, unless they have an
    alias, something is quoted or nothing else is left.
    """
    terms: dict[Term, None] = {}
    quoted_any = False
    for phrase, word in _pieces(text):
        term = make_phrase_term(phrase) if phrase else make_word_term(word, aliases)
        if term:
            quoted_any |= term.quoted
            terms[term] = None
        if len(terms) >= MAX_TERMS:
            break
    kept = [term for term in terms if quoted_any or not is_stop_term(term)]
    return tuple(kept or terms)


def make_phrase_term(phrase: str) -> Term | None:
    """A quoted phrase as a term; None if no word is in it."""
    words = tuple(part for part in phrase.split() if _wordlike(part))
    return Term(words, quoted=True) if words else None


def make_word_term(word: str, aliases: Aliases = _NONE) -> Term | None:
    """A word as a term, without the signs around it; None if nothing is left."""
    bare = _without_edges(word.replace('"', ""))
    prefix = bare.endswith("*")
    bare = bare.rstrip("*")
    if bare.casefold() not in STOP_WORDS:
        bare = bare.removesuffix("'s").removesuffix("'S").removesuffix("'")
    if not _wordlike(bare):
        return None
    return Term((bare,), prefix=prefix, synonyms=aliases.get(bare.casefold(), ()))


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Quoted phrases and words, the other of the two empty."""
    if '"' not in text:
        yield from (("", word) for word in text.split())
        return
    for match in re.finditer(_PIECE, text):
        yield match[1] or "", match[2] or ""


def _wordlike(text: str) -> bool:
    return any(map(str.isalnum, text))


def _without_edges(word: str) -> str:
    """`word` without the signs around it."""
    start, stop = 0, len(word)
    while start < stop and not (word[start].isalnum() or word[start] in "_+#"):
        start += 1
    while stop > start and not (word[stop - 1].isalnum() or word[stop - 1] in "_*+#"):
        stop -= 1
    return word[start:stop]


def is_stop_term(term: Term) -> bool:
    """Whether a term says nothing: a common word that stands for no other."""
    plain = len(term.words) == 1 and not term.prefix and not term.synonyms
    return plain and term.words[0].casefold() in STOP_WORDS


def has_unspaced_script(text: str) -> bool:
    """Whether some of the query is in a script that does not separate words."""
    return not text.isascii() and re.search(_UNSPACED, text) is not None


def fts_expression(terms: tuple[Term, ...], operator: str = "OR") -> str:
    """The terms as an FTS5 expression; each reaches it quoted.

    A compound counts by its parts as well, unless it is quoted: together they weigh more.
    """
    return f" {operator} ".join(fts_term(term) for term in terms)


def fts_term(term: Term, *, strict: bool = False) -> str:
    """One term as an FTS5 expression; `strict` takes no part of a compound for the whole."""
    return _any_of([*_spellings(term), *(() if strict else _parts(term))])


def fts_whole_term(term: Term) -> str:
    """One term as an FTS5 expression for what holds it, a compound also by all of its parts."""
    parts = _parts(term)
    return _any_of([*_spellings(term), *([f"({' AND '.join(parts)})"] if parts else ())])


def _any_of(phrases: list[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"({' OR '.join(phrases)})"


def _spellings(term: Term) -> list[str]:
    whole = _quoted(" ".join(term.words)) + ("*" if term.prefix else "")
    return [whole, *map(_quoted, term.synonyms)]


def _parts(term: Term) -> list[str]:
    """The words that a compound is made of, quoted; none of a plain word or a phrase."""
    if term.quoted or term.words[0].isalnum():
        return []
    parts = re.findall(_PART, term.words[0])[:_MOST_PARTS]
    return [_quoted(part) for part in parts] if len(parts) > 1 else []


def _quoted(phrase: str) -> str:
    return '"' + phrase.replace('"', " ").replace("\0", " ") + '"'
