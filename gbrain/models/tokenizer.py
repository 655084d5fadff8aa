"""Count a text's tokens, split it into windows that fit a model, and tell English words."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gbrain.models.catalog import PACKAGED_MODEL
from gbrain.models.files import TOKENIZER_FILE
from gbrain.models.piece_table import open_table
from gbrain.models.runtime import open_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from gbrain.models.catalog import ModelSpec

_MIN_BASE_LETTERS = 4
_ENDINGS = ("s", "es", "ed", "d", "ing", "er", "ers", "ly")
_BEGINNINGS = ("re", "un", "non", "pre", "mis", "dis", "over", "under")

# Characters tokenized at once: the tokenizer needs hundreds of bytes for each.
MAX_SLICE_CHARACTERS = 1 << 16


class ModelTokenizer:
    """A model's tokenizer; opening one loads neither numpy nor the network."""

    def __init__(
        self,
        encode: Callable[[str], list[int]],
        around: tuple[list[int], list[int]],
        max_tokens: int,
        count: Callable[[list[str]], list[int]] | None = None,
    ) -> None:
        """Split with `encode`; `around` are the special tokens before and after a text.

        `count` returns the numbers of tokens of many texts, if that can be done faster.
        """
        self._encode = encode
        self._count = count or (lambda texts: [len(encode(text)) for text in texts])
        self._before, self._after = around
        self._window_tokens = max(1, max_tokens - len(self._before) - len(self._after))

    @classmethod
    def open(cls, spec: ModelSpec, *, for_many_texts: bool = False) -> ModelTokenizer:
        """Open the tokenizer of a model without its network.

        `for_many_texts` opens the library's, which is slow to open for some models, and counts
        with the vocabulary, which takes 20 ms to read.
        """
        table = None if for_many_texts else open_table(spec.folder)
        if table:
            return cls(table.encode, (table.before, table.after), spec.max_tokens)
        tokenizer = open_tokenizer(spec.folder / TOKENIZER_FILE)

        def encode(text: str) -> list[int]:
            ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
            return ids

        def count(texts: list[str]) -> list[int]:
            # On all cores, and without their places in the text.
            return [len(e) for e in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

        counter = None
        if for_many_texts:
            from gbrain.models.word_pieces import WordPieceCounter

            counter = WordPieceCounter.of(tokenizer)
        around = _special_ids(tokenizer)
        return cls(encode, around, spec.max_tokens, counter.count if counter else count)

    def count(self, text: str) -> int:
        """Return how many tokens the text has, without special tokens."""
        return sum(count for part in split_text(text) for count in self._count([part]))

    def count_all(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has; of short texts, all together."""
        if sum(map(len, texts)) <= MAX_SLICE_CHARACTERS:
            return self._count(list(texts))
        return [self.count(text) for text in texts]

    def windows(self, text: str) -> Iterator[list[int]]:
        """Yield the token ids of the text in as few windows as possible, in order.

        The windows differ in length by at most one token; each has the special tokens around it.
        """
        ids: list[int] = []
        for part in split_text(text):
            ids.extend(self._encode(part))
        windows = max(1, -(-len(ids) // self._window_tokens))
        for number in range(windows):
            start, end = len(ids) * number // windows, len(ids) * (number + 1) // windows
            yield [*self._before, *ids[start:end], *self._after]


def is_english_word(word: str) -> bool:
    """Tell whether a word, or one it is derived from, is one token of the packaged model.

    The file is searched, not parsed: that takes 2 ms, opening the tokenizer 30.
    """
    if not word.isalnum():
        return False
    try:
        vocabulary = (Path(__file__).parent / PACKAGED_MODEL / TOKENIZER_FILE).read_bytes()
    except OSError:
        return False
    return any(f'"{base}":'.encode() in vocabulary for base in _possible_bases(word.lower()))


def english_share(words: Collection[str]) -> float:
    """Return which share of the words are one token of the packaged English model, as written."""
    known = _english_tokens()
    return sum(word.lower() in known for word in words) / (len(words) or 1)


@cache
def _english_tokens() -> frozenset[str]:
    """Return the tokens of the packaged English model that are whole words; none without it."""
    try:
        vocabulary = (Path(__file__).parent / PACKAGED_MODEL / TOKENIZER_FILE).read_text("utf-8")
    except OSError:
        return frozenset()
    return frozenset(re.findall(r'"([^\W\d_]+)":', vocabulary))


def _possible_bases(word: str) -> Iterator[str]:
    """Yield the word and those it may be derived from, such as fill for refill."""
    yield word
    parts = [word.removesuffix(ending) for ending in _ENDINGS]
    parts += [word.removeprefix(beginning) for beginning in _BEGINNINGS]
    for part in parts:
        if _MIN_BASE_LETTERS <= len(part) < len(word):
            yield part
            if word.startswith(part):
                # pruning: prune; shipping: ship
                yield part + "e"
                yield part[:-1] if part[-1] == part[-2] else part


def split_text(text: str) -> Iterator[str]:
    """Yield slices of at most MAX_SLICE_CHARACTERS, cut after white space if possible."""
    start = 0
    while len(text) - start > MAX_SLICE_CHARACTERS:
        end = start + MAX_SLICE_CHARACTERS
        while end > start and not text[end - 1].isspace():
            end -= 1
        if end == start:
            end = start + MAX_SLICE_CHARACTERS
        yield text[start:end]
        start = end
    yield text[start:]


def _special_ids(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Return the special token ids that the tokenizer puts before and after a text."""
    sample = tokenizer.encode("a")
    own = [index for index, special in enumerate(sample.special_tokens_mask) if not special]
    return sample.ids[: own[0]], sample.ids[own[-1] + 1 :]
