"""The mapped table of pieces gives the ids of the tokenizers library, for every text."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from gbrain.errors import ModelUnavailable
from gbrain.models.catalog import packaged_model
from gbrain.models.files import TOKENIZER_FILE
from gbrain.models.piece_table import PIECES_FILE, PieceTable, open_table

FIXTURES = Path(__file__).parents[2] / "fixtures"
FOLDER = packaged_model("multilingual-e5-small").folder
TABLE = PieceTable(FOLDER / PIECES_FILE)
LIBRARY = Tokenizer.from_file(str(FOLDER / TOKENIZER_FILE))
# Blocks in which normalisation, marks, blanks or special tokens are likely to go wrong.
BLOCKS = (
    "\0\x7f", "\x80\u024f", "\u0300\u036f", "\u0370\u052f", "\u0590\u06ff", "\u0900\u097f",
    "\u0e00\u0e7f", "\u1100\u11ff", "\u1e00\u1fff", "\u2000\u20ff", "\u2100\u2bff", "\u3000\u33ff",
    "\u4e00\u4fff", "\uac00\uacff", "\uf900\ufaff", "\ufb00\uffef", "\U0001d400\U0001d7ff",
    "\U0001f1e6\U0001f6ff",
)  # fmt: skip
anything = st.characters(exclude_categories=["Cs"])
letters = st.one_of(
    anything,
    st.sampled_from(["<s>", "</s>", "<mask>", "▁", " ", "e", "\u0301", "\u0340", "\u200d", "ﾞ"]),
    *(st.characters(min_codepoint=ord(a), max_codepoint=ord(b)) for a, b in BLOCKS),
)


def library_ids(text: str) -> list[int]:
    return list(LIBRARY.encode(text, add_special_tokens=False).ids)


@given(st.lists(letters, max_size=16).map("".join))
@settings(max_examples=300, deadline=None)
def test_any_text_has_the_ids_of_the_library(text: str) -> None:
    assert TABLE.encode(text) == library_ids(text)


def random_text(random: Random) -> str:
    """A text of one to three blocks, faster to make than by hypothesis."""
    blocks = random.choices(BLOCKS, k=random.choice((1, 1, 2, 3)))

    def letter() -> str:
        if random.random() < 0.1:
            return random.choice((" ", "\u0301", "\u0340", "\u200d", "▁", "a", "<s>", "</s>"))
        first, last = random.choice(blocks)
        return chr(random.randint(ord(first), ord(last)))

    return "".join(letter() for _ in range(random.randint(1, 12)))


@pytest.mark.parametrize("count", [4000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_thousands_of_random_texts_have_the_ids_of_the_library(count: int) -> None:
    random = Random(count)
    for _ in range(count):
        text = random_text(random)
        assert TABLE.encode(text) == library_ids(text), ascii(text)


def test_the_reference_texts_have_their_ids() -> None:
    lines = (FIXTURES / "models" / "multilingual.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 32
    for row in map(json.loads, lines):
        assert [*TABLE.before, *TABLE.encode(row["text"]), *TABLE.after] == row["ids"]


def test_every_line_of_the_sample_files_has_the_ids_of_the_library() -> None:
    files = [*FIXTURES.glob("awkward/**/*.md"), *FIXTURES.glob("everyday/**/*.md")]
    lines = {line for file in files for line in file.read_text("utf-8", "replace").splitlines()}
    assert len(lines) > 300
    for line in lines:
        assert TABLE.encode(line) == library_ids(line)


@pytest.mark.parametrize(
    "text", ["x" * 5000, "東京都" * 900, "Donaudampfschiff" * 200, "\u200b" * 99]
)
def test_a_very_long_word_has_the_ids_of_the_library(text: str) -> None:
    assert TABLE.encode(text) == library_ids(text)


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / PIECES_FILE
    whole = (FOLDER / PIECES_FILE).read_bytes()
    assert open_table(tmp_path) is None
    for wrong in (b"", b"x" * 200, whole[:-4], b"y" + whole[1:]):
        path.write_bytes(wrong)
        with pytest.raises(ModelUnavailable, match="not a table"):
            open_table(tmp_path)


@pytest.mark.slow
def test_the_packaged_table_is_made_from_the_packaged_tokenizer() -> None:
    from gbrain.models.piece_table import build_table

    assert build_table(FOLDER / TOKENIZER_FILE) == (FOLDER / PIECES_FILE).read_bytes()
