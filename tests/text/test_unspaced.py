"""Chinese and Japanese sentences are cut into the words to look for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text.unspaced import (
    character_groups,
    is_mostly_latin,
    looser_forms,
    split_unspaced,
)


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("味噌汁の作り方", ["味噌汁", "作り"]),
        ("釣りが好きな人は誰", ["釣り", "好き", "人"]),
        ("車の冬タイヤはいつ交換しましたか", ["車", "冬", "タイヤ", "交換"]),
        ("さかなの料理", ["さかな", "料理"]),
        ("我的护照什么时候到期", ["护照", "到期"]),
        ("谁喜欢打羽毛球", ["喜欢", "欢打", "打羽", "羽毛", "毛球"]),
        ("วันไหนเรียนว่ายน้ำ", ["เรียน", "ยน้ำ"]),
        ("고양이를", ["고양이"]),
        ("학교에서는", ["학교"]),
    ],
)
def test_a_sentence_is_cut_at_its_function_words(sentence: str, words: list[str]) -> None:
    assert split_unspaced(sentence) == words


@pytest.mark.parametrize(
    "word", ["東京都", "你好", "麻婆豆腐", "何ですか", "iPhone充电器", "สวัสดี", "월세"]
)
def test_a_short_or_mixed_word_stays_whole(word: str) -> None:
    assert split_unspaced(word) == [word]


def test_parts_of_a_word_are_looser_forms() -> None:
    assert looser_forms("東京都") == ["東京", "京都"]
    assert looser_forms("開き") == ["開"]
    assert looser_forms("東京") == []
    assert character_groups("ค่าเช่าเดือน") == ["ค่าเช่", "าเช่า", "เช่าเ", "ช่าเดื", "าเดือ", "เดือน"]


@given(st.text("味噌汁の作りはが何誰什么的タイ", min_size=1))
def test_every_sentence_gives_words_that_it_contains(sentence: str) -> None:
    words = split_unspaced(sentence)
    assert words
    assert all(word and word in sentence for word in words)


@pytest.mark.parametrize(
    ("text", "latin"),
    [("", True), ("12:30", True), ("Überraschung", True), ("味噌 miso soup", True),
     ("味噌汁", False), ("чай", False)],
)  # fmt: skip
def test_text_of_another_alphabet_is_recognised(text: str, latin: bool) -> None:
    assert is_mostly_latin(text) is latin
