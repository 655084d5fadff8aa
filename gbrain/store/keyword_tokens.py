"""The words of a text as the keyword index reads them: folded and stemmed by SQLite's own FTS5.

Other engines that index these words find the same pages as the keyword index of a brain file.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterable, Sequence

from gbrain.store.schema import KEYWORD_TOKENIZER
from gbrain.text.unspaced import index_text

_ASCII_WORD = re.compile("[0-9A-Za-z]+")
# Stems kept for the next texts; a brain of 50,000 pages has 130,000 words.
_MAX_STEMS = 500_000

Words = list[str]


class KeywordTokenizer:
    """Reads texts as FTS5 does; threads may share one.

    Plain ASCII text is divided here and only its new words are read by FTS5: six times faster than
    reading all of it through FTS5's vocabulary table, which is what other text needs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stems: dict[str, str] = {}
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self._connection.execute(
            f"CREATE VIRTUAL TABLE texts USING fts5(text, content='', {KEYWORD_TOKENIZER})"
        )
        self._connection.execute("CREATE VIRTUAL TABLE words USING fts5vocab(texts, instance)")

    def words(self, texts: Sequence[str]) -> list[Words]:
        """Return the words of each text in their order."""
        with self._lock:
            found = [
                _ASCII_WORD.findall(text.lower()) if text.isascii() else None for text in texts
            ]
            self._learn({word for words in found if words for word in words})
            stems = self._stems
            others = [text for text, words in zip(texts, found, strict=True) if words is None]
            read = iter(self._read(others))
            return [
                next(read) if words is None else [stems[word] for word in words] for words in found
            ]

    def _learn(self, words: set[str]) -> None:
        """Add the stems of words that are not known yet."""
        if len(self._stems) > _MAX_STEMS:
            self._stems.clear()
        new = [word for word in words if word not in self._stems]
        for word, read in zip(new, self._read(new), strict=True):
            self._stems[word] = read[0]

    def _read(self, texts: Iterable[str]) -> list[Words]:
        """Return the words of each text as FTS5 reads them."""
        rows = list(enumerate(map(index_text, texts)))
        found: list[list[tuple[int, str]]] = [[] for _ in rows]
        if not rows:
            return []
        self._connection.execute("BEGIN")
        try:
            self._connection.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", rows)
            for word, row, place in self._connection.execute("SELECT term, doc, offset FROM words"):
                found[row].append((place, word))
        finally:
            self._connection.execute("ROLLBACK")
        return [[word for _, word in sorted(places)] for places in found]
