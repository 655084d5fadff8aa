"""Turn the FTS5 expressions of the keyword lane into tsqueries, with the phrases to score."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gbrain.store.postgres.word_vectors import cut_word, quote_lexeme

_TOKEN = re.compile(r'"(?P<phrase>[^"]*)"(?P<prefix>\*?)|(?P<sign>[()])|(?P<word>AND|OR|NOT)'
                    r"|(?P<columns>\b\w++|\{[\w ]++\}) *+:")  # fmt: skip
_LETTERS = {"title": "A", "aliases": "B"}

Tokenize = Callable[[Sequence[str]], Sequence[Sequence[str]]]


class Phrase(NamedTuple):
    """Words that must be adjacent; with `prefix` the last is the start of a word.

    `letters` are those of the columns that it must be in, empty for any.
    """

    words: tuple[str, ...]
    prefix: bool = False
    letters: str = ""


class TextQuery(NamedTuple):
    """An expression as a tsquery, None if nothing can match it, and its phrases in order."""

    tsquery: str | None
    phrases: tuple[Phrase, ...]


def read_expression(expression: str, tokenize: Tokenize) -> TextQuery:
    """Return an FTS5 expression as a tsquery; `tokenize` returns the words of each text.

    Reads what gbrain writes: quoted phrases, prefixes, AND, OR, NOT, brackets, column filters. A
    phrase without words matches nothing, as in FTS5.
    """
    tokens = list(_TOKEN.finditer(expression))
    texts = [token["phrase"] for token in tokens if token["phrase"] is not None]
    reader = _ExpressionReader(tokens, list(tokenize(texts)))
    tsquery = reader.read_any("")
    return TextQuery(tsquery, tuple(reader.phrases))


class _ExpressionReader:
    """Reads tokens from the first to the last; an operator binds closer the later its method."""

    def __init__(self, tokens: list[re.Match[str]], words: list[Sequence[str]]) -> None:
        self._tokens, self._words = tokens[::-1], words[::-1]
        self.phrases: list[Phrase] = []

    def read_any(self, letters: str) -> str | None:
        parts = [self._read_all(letters)]
        while self._take("OR"):
            parts.append(self._read_all(letters))
        return _join_any([part for part in parts if part])

    def _read_all(self, letters: str) -> str | None:
        parts = [self._read_not(letters)]
        while self._take("AND"):
            parts.append(self._read_not(letters))
        known = [part for part in parts if part]
        if len(known) < len(parts):
            return None
        return known[0] if len(known) == 1 else f"({' & '.join(known)})"

    def _read_not(self, letters: str) -> str | None:
        wanted = self._read_one(letters)
        while self._take("NOT"):
            unwanted = self._read_one(letters)
            wanted = f"({wanted} & !{unwanted})" if wanted and unwanted else wanted
        return wanted

    def _read_one(self, letters: str) -> str | None:
        if not self._tokens:
            return None
        token = self._tokens.pop()
        if token["columns"]:
            columns = re.findall(r"\w+", token["columns"])
            return self._read_one("".join(_LETTERS[column] for column in columns))
        if token["sign"] == "(":
            inside = self.read_any(letters)
            self._take(")")
            return inside
        if token["phrase"] is None:
            return None
        words = tuple(map(cut_word, self._words.pop()))
        if not words:
            return None
        phrase = Phrase(words, bool(token["prefix"]), letters)
        self.phrases.append(phrase)
        return phrase_tsquery(phrase)

    def _take(self, text: str) -> bool:
        if self._tokens and (self._tokens[-1]["word"] or self._tokens[-1]["sign"]) == text:
            self._tokens.pop()
            return True
        return False


def any_of(phrases: Sequence[Phrase]) -> str | None:
    """Return the tsquery of rows with at least one of the phrases."""
    return _join_any([phrase_tsquery(phrase) for phrase in phrases])


def _join_any(tsqueries: list[str]) -> str | None:
    if len(tsqueries) < 2:
        return tsqueries[0] if tsqueries else None
    return f"({' | '.join(tsqueries)})"


def phrase_tsquery(phrase: Phrase) -> str:
    """Return one phrase as a tsquery."""
    last = len(phrase.words) - 1
    lexemes = []
    for place, word in enumerate(phrase.words):
        flags = phrase.letters + ("*" if phrase.prefix and place == last else "")
        lexemes.append(quote_lexeme(word) + (f":{flags}" if flags else ""))
    return lexemes[0] if last == 0 else f"({' <-> '.join(lexemes)})"
