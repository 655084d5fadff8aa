"""The words of a text as the keyword index reads them: folded and stemmed by SQLite's own FTS5.

Other engines that index these words find the same pages as the keyword index of a brain file.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from itertools import chain

from gbrain.store.schema import KEYWORD_TOKENIZER
from gbrain.text.unspaced import index_text

# Every other ASCII character separates words, so what is between two of them can be read alone.
_RUN = re.compile("[0-9A-Za-z\x80-\U0010ffff]+")
# Runs whose words are remembered; a brain of 50,000 pages has 130,000 words.
_MAX_KNOWN_RUNS = 500_000
# A longer one is a sentence in a script without spaces, and not seen again.
_MAX_KNOWN_CHARACTERS = 40

Words = list[str]


class KeywordTokenizer:
    """Reads texts as FTS5 does; threads may share one.

    Texts are divided at ASCII separators, and only runs that are not known yet are read through
    FTS5's vocabulary table: ten times faster than reading all of each text through it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, Words] = {}
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
            divided = [_RUN.findall(text) for text in texts]
            known = self._known
            if len(known) > _MAX_KNOWN_RUNS:
                known.clear()
            new = [run for run in dict.fromkeys(chain.from_iterable(divided)) if run not in known]
            known.update(zip(new, self._read(new), strict=True))
            found = [list(chain.from_iterable(map(known.__getitem__, runs))) for runs in divided]
            for run in new:
                if len(run) > _MAX_KNOWN_CHARACTERS:
                    del known[run]
            return found

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
