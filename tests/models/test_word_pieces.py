"""Counting tokens without the library must give what the library gives."""

from __future__ import annotations

import random

import pytest

from gbrain.models.catalog import packaged_model
from gbrain.models.files import TOKENIZER_FILE
from gbrain.models.runtime import open_tokenizer
from gbrain.models.tokenizer import ModelTokenizer
from gbrain.models.word_pieces import WordPieceCounter

PARTS = (
    "notes", "Quarterly", "bar-baz", "don't", "v2.10", "$1,000", "#tag", "zqxjkvw", "x" * 100,
    "y" * 101, "[SEP]", "[MASK]d", "[CLS", "café", "naïve", "a\u0301", "ß", "İstanbul", "中文字",
    "٣", "🙂", "👨‍👩‍👧", "\x00", "\x0b", "\x1c", "\x7f", "\x85", "\xa0", "\xad", "\u2003", "\u200b",
    "\ufeff", "\t", "\r\n", "  ",
)  # fmt: skip


@pytest.fixture(scope="module")
def counter() -> WordPieceCounter:
    found = WordPieceCounter.of(open_tokenizer(packaged_model().folder / TOKENIZER_FILE))
    assert found
    return found


def test_counts_are_those_of_the_library(counter: WordPieceCounter) -> None:
    tokenizer = open_tokenizer(packaged_model().folder / TOKENIZER_FILE)
    choice = random.Random(8)
    texts = ["", *PARTS]
    texts += [
        choice.choice(("", " ", "\n")).join(choice.choices(PARTS, k=choice.randrange(2, 9)))
        for _ in range(3000)
    ]
    expected = [len(tokenizer.encode(text, add_special_tokens=False)) for text in texts]
    assert counter.count(texts) == expected


def test_a_tokenizer_of_another_kind_has_no_counter() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    assert WordPieceCounter.of(tokenizers.Tokenizer(tokenizers.models.BPE())) is None


def test_no_texts_have_no_counts() -> None:
    spec = packaged_model()
    assert ModelTokenizer.open(spec, for_many_texts=True).count_all([]) == []
