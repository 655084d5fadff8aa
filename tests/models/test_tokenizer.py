"""Counting tokens, and cutting texts into windows that lose nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.models.catalog import ModelSpec, packaged_model
from gbrain.models.tokenizer import MAX_SLICE_CHARACTERS, ModelTokenizer, split_text

ROOT = Path(__file__).parents[2]
CLS, SEP = 101, 102
FIVE = ModelTokenizer.open(packaged_model()._replace(max_tokens=5))
texts = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.fixture(scope="module")
def tokens(spec: ModelSpec) -> ModelTokenizer:
    return ModelTokenizer.open(spec)


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), (" \n", 0), ("hello world", 2), ("2026-04-18", 6), ("a " * 900, 900)],
)
def test_counts(tokens: ModelTokenizer, text: str, count: int) -> None:
    assert tokens.count(text) == count


def test_a_short_text_is_one_window(tokens: ModelTokenizer) -> None:
    assert list(tokens.windows("hello world")) == [[CLS, 7592, 2088, SEP]]
    assert list(tokens.windows("")) == [[CLS, SEP]]


def test_windows_are_of_equal_length() -> None:
    lengths = [[len(window) - 2 for window in FIVE.windows("a " * n)] for n in (3, 4, 7, 10)]
    assert lengths == [[3], [2, 2], [2, 2, 3], [2, 3, 2, 3]]


@given(texts)
def test_windows_hold_every_token_and_never_too_many(text: str) -> None:
    windows = list(FIVE.windows(text))
    assert all(window[0] == CLS and window[-1] == SEP for window in windows)
    assert all(len(window) <= 5 for window in windows)
    assert sum(len(window) - 2 for window in windows) == FIVE.count(text)


def test_a_maximum_that_leaves_no_room_still_ends(spec: ModelSpec) -> None:
    tight = ModelTokenizer.open(spec._replace(max_tokens=1))
    assert [len(window) for window in tight.windows("one two")] == [3, 3]


@pytest.mark.parametrize("unit", ["word ", "0123456789", "今", "\n", "x" * 65_537 + " "])
def test_pieces_join_to_the_text_and_are_bounded(unit: str) -> None:
    text = unit * (200_000 // len(unit) + 1)
    cut = list(split_text(text))
    assert "".join(cut) == text
    assert len(cut) > 1
    assert all(0 < len(piece) <= MAX_SLICE_CHARACTERS for piece in cut)


def test_cutting_a_long_text_at_white_space_changes_no_token(tokens: ModelTokenizer) -> None:
    sentence = "Retrieval from somebody else's servers leaves her cold. "
    repeats = 3 * MAX_SLICE_CHARACTERS // len(sentence)
    assert tokens.count(sentence * repeats) == repeats * tokens.count(sentence)


def test_counting_loads_neither_numpy_nor_the_network() -> None:
    script = (
        "import sys\n"
        "from gbrain.models.catalog import packaged_model\n"
        "from gbrain.models.tokenizer import ModelTokenizer\n"
        "print(ModelTokenizer.open(packaged_model()).count('hello world'))\n"
        "print([name for name in ('numpy', 'onnxruntime') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "2\n[]\n"
