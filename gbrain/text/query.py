"""A query's text into terms: any string is a query, and no character is ever syntax by accident."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from gbrain.types import Term

MAX_TERMS = 200

_INVISIBLE = re.compile("[\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\x00-\x08\x0e-\x1f]")
_PIECE = re.compile(r'"([^"]*)"|(\S+)')
_LEADING = re.compile(r"[^\w+#]*")
_LAST = re.compile(r"[\w*+#]")
_POSSESSIVE = re.compile(r"'s?$", re.IGNORECASE)
_WORDLIKE = re.compile(r"[^\W_]")
_PARTS = re.compile(r"[^\W_]+")

# Scripts written without spaces: a word there is found as a substring, not as a token.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)

_NONE: Mapping[str, tuple[str, ...]] = {}

STOP_WORDS = frozenset(
    """a about all am an and any are as at be been being but by can could did do does doing for from
    had has have having he her here hers him his how i if in into is it its just me more most my no
    nor not of off on or our ours out over own she should so some such than that the their theirs
    them then there these they this those through to too under up us very was we were what when
    where which while who whom whose why will with would you your yours who's what's where's that's
    it's i'm i've i'd there's let's tell give show""".split()
)


def normalise(text: str) -> str:
    """The query as it is understood: composed, without invisible characters, single-spaced."""
    text = text.encode("utf-8", "replace").decode()
    composed = unicodedata.normalize("NFC", text).replace("\u2019", "'").replace("\u2018", "'")
    plain = composed.replace("\u201c", '"').replace("\u201d", '"')
    return " ".join(_INVISIBLE.sub("", plain).split())


def read_terms(text: str, aliases: Mapping[str, tuple[str, ...]] = _NONE) -> tuple[Term, ...]:
    """The words and quoted phrases of a normalised query, in order, without doubles.

    A compound like `auth-middleware` or `v1.2` is one term whose parts stand together. A word in
    `aliases` (lower case) keeps its other names beside it. Stop words go, unless they have an
    alias, something is quoted or nothing else is left.
    """
    terms: dict[Term, None] = {}
    quoted_any = False
    for match in _PIECE.finditer(text):
        phrase, word = match.groups()
        if phrase is not None:
            words = tuple(part for part in phrase.split() if _WORDLIKE.search(part))
            if words:
                quoted_any = True
                terms[Term(words, quoted=True)] = None
            continue
        bare = _without_edges(word.replace('"', ""))
        prefix = bare.endswith("*")
        bare = bare.rstrip("*")
        if bare.casefold() not in STOP_WORDS:
            bare = _POSSESSIVE.sub("", bare)
        if _WORDLIKE.search(bare):
            terms[Term((bare,), prefix=prefix, also=aliases.get(bare.casefold(), ()))] = None
        if len(terms) >= MAX_TERMS:
            break
    kept = [term for term in terms if quoted_any or not _is_stop(term)]
    return tuple(kept or terms)


def _without_edges(word: str) -> str:
    """`word` without the signs around it; those at its end one by one, as that takes no search."""
    lead = _LEADING.match(word)
    start, stop = lead.end() if lead else 0, len(word)
    while stop > start and not _LAST.match(word, stop - 1):
        stop -= 1
    return word[start:stop]


def _is_stop(term: Term) -> bool:
    plain = len(term.words) == 1 and not term.prefix and not term.also
    return plain and term.words[0].casefold() in STOP_WORDS


def unspaced(text: str) -> bool:
    """Whether some of the query is in a script that does not separate words."""
    return _UNSPACED.search(text) is not None


def match_expression(terms: tuple[Term, ...], operator: str = "OR") -> str:
    """The terms as an FTS5 expression; each reaches it quoted.

    A compound counts by its parts as well, unless it is quoted: together they weigh more.
    """
    return f" {operator} ".join(_group(term) for term in terms)


def _group(term: Term) -> str:
    phrases = [_quoted(" ".join(term.words)) + ("*" if term.prefix else "")]
    phrases += [_quoted(other) for other in term.also]
    parts = _PARTS.findall(term.words[0])
    if len(parts) > 1 and not term.quoted:
        phrases += [_quoted(part) for part in parts]
    return phrases[0] if len(phrases) == 1 else f"({' OR '.join(phrases)})"


def _quoted(phrase: str) -> str:
    return '"' + phrase.replace('"', " ").replace("\0", " ") + '"'
