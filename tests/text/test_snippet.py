"""The excerpt of a hit: the right sentence, readable, and never cut inside of a date or a name."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text.snippet import (
    MARK_OFF,
    MARK_ON,
    MAX_SNIPPET_CHARACTERS,
    build_snippet,
    extend_marks,
    shorten,
    visible_length,
)

FILLER = "Nothing of this matters for the question that somebody has asked about it. " * 3


def test_the_sentence_with_the_most_matches_is_shown() -> None:
    text = f"{FILLER}\x02Luc\x03 tunes \x02pianos\x03 for a living. {FILLER}\x02Luc\x03 sleeps."
    assert build_snippet(text).startswith("\x02Luc\x03 tunes \x02pianos\x03 for a living. Nothing")


def test_a_word_of_every_sentence_counts_less_than_a_rare_one() -> None:
    name = "\x02Luc\x03 and \x02Luc\x03 again did nothing that would be worth a line in here. "
    assert build_snippet(f"{name * 4}The \x02oboe\x03 broke. {name * 4}").startswith("The \x02oboe")


def test_without_matches_the_start_is_shown() -> None:
    assert build_snippet("One line.\n\nTwo lines.") == "One line. Two lines."
    assert build_snippet("A. \x02b\x03 c. " * 2, opening=True).startswith("A. \x02b\x03")
    assert build_snippet("") == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("- one **two** three", "one two three"),
        ("2**8 and 3**4", "2**8 and 3**4"),
        ("see [[people/ann|Ann]] and [[bo]]", "see Ann and [[bo]]"),
        ("see [the site](https://a.org/b?c=d) and ![a map](map.png)", "see the site and a map"),
        ("**\x02bold\x03 word** and *other*", "\x02bold\x03 word and other"),
        ("a\nb", "a b"),
        ("Alice - the founder", "Alice - the founder"),
        ("- one\n- two\n3. three", "one · two · 3. three"),
        ("- 2026-04-03 — saw an \x02egret\x03", "2026-04-03 — saw an \x02egret\x03"),
        ("> [!warning] Hot\n> Do not \x02touch\x03 it.", "Warning: Hot Do not \x02touch\x03 it."),
        ("> [!note]-\n> Quiet.", "Note: Quiet."),
        ("> quoted\n> words", "quoted words"),
        ("Run\n```sh\nvi a.db\nls -l\n```\nand look", "Run · `vi a.db` · `ls -l` · and look"),
        ("Run ```sh sqlite3 a.db ``` and look", "Run sqlite3 a.db and look"),
        ("a `word` and ``two``", "a `word` and ``two``"),
        (
            "| Card | expires |\n|---|:--:|\n| \x02Pass\x03 | 2028-05-23 |\n| Visa | |",
            "\x02Pass\x03 · expires: 2028-05-23 · Visa",
        ),
        ("| Pass | 2028 |\n| Visa | 2030 |", "Pass · 2028 · Visa · 2030"),
        ("### Heading\nText", "Heading Text"),
        ("one\n\n---\n\ntwo", "one · two"),
        ("seen <!-- not --> here<br>there", "seen here there"),
    ],
)  # fmt: skip
def test_markdown_is_readable_on_one_line(text: str, shown: str) -> None:
    assert build_snippet(text) == shown


URL = "https://docs.example.org/d/" + "aB3xQ9" * 60 + "/edit?usp=sharing"


def test_a_long_url_leaves_room_for_the_sentence_around_it() -> None:
    snippet = build_snippet(f"Offer: {URL} and he wants a \x02third\x03 of the sum in advance.")
    assert snippet.startswith("Offer: https://docs.example.org/d/aB3xQ9")
    assert snippet.endswith("… and he wants a \x02third\x03 of the sum in advance.")


def test_a_match_inside_a_long_url_is_shown() -> None:
    snippet = build_snippet(f"Read later: {URL}/\x02bolognese\x03-sauce?{'k1' * 90} for Sunday")
    assert "/\x02bolognese\x03-sauce?" in snippet
    assert snippet.startswith("Read later: …")
    assert snippet.endswith("… for Sunday")


def test_the_target_of_a_link_is_not_shown_however_long_it_is() -> None:
    text = f"[Our offer](https://a.example/x_(y)/{'z9' * 2000}) asks for a third."
    assert build_snippet(text) == "Our offer asks for a third."


def test_abbreviations_and_dates_end_no_sentence() -> None:
    last = "Am 12. März kam \x02Dr.\x03 Weber zu Besuch."
    text = "Nichts davon ist wichtig, aber es steht trotzdem so in dem Text. " * 3 + last
    assert build_snippet(text).endswith(last)


@pytest.mark.parametrize(
    "whole",
    [
        "12 March 2026", "March 12, 2026", "12. März 2026", "2026-03-12", "1,234.50 euros",
        "Anna van der Berg", "Dr. Anna Weber", "$ 450", "+44 7700 900142", "10 km", "5 October",
    ],
)  # fmt: skip
def test_no_cut_inside_of_a_date_number_or_name(whole: str) -> None:
    text = f"we said that it was about {whole} and then went on to talk about the weather"
    cuts = [shorten(text, limit) for limit in range(30, len(text))]
    assert cuts
    for cut in cuts:
        assert whole in cut or not any(word in cut.split() for word in whole.split()), cut
        assert cut.endswith("…")


def test_a_cut_keeps_a_match_that_stands_late() -> None:
    text = "word " * 60 + "the \x02egret\x03 flew " + "word " * 60
    cut = shorten(text, 80)
    assert "\x02egret\x03" in cut
    assert (cut[0], cut[-1]) == ("…", "…")
    assert visible_length(cut) <= 80


def test_text_without_spaces_is_cut_outside_of_numbers() -> None:
    assert shorten("東京" * 60 + "2026-04-18" + "京都" * 60, 125) == "東京" * 60 + "…"


@given(st.text(alphabet=st.sampled_from("ab1 .,\n|-`>[]*#\x02\x03東!"), max_size=600))
def test_any_text_gives_a_short_line_with_marks_in_pairs(text: str) -> None:
    for limit in (5, 40, MAX_SNIPPET_CHARACTERS):
        cut = shorten(build_snippet(text.replace("\x02", "").replace("\x03", "")), limit)
        assert "\n" not in cut
        assert visible_length(cut) <= limit
    marked = shorten("a " + f"{MARK_ON}{'b c ' * 9}{MARK_OFF}" + text.translate({2: "", 3: ""}), 9)
    assert marked.count(MARK_ON) == marked.count(MARK_OFF)


THAI = "ค่าเช่าเดือนละเจ็ดพันห้าร้อยบาทเงินประกันสองเดือนถ้าจะย้ายออกต้องบอกล่วงหน้าหนึ่งเดือน" * 4


@pytest.mark.parametrize(
    "text",
    [
        THAI,
        "家賃は月八万五千円です。管理費は五千円、敷金は二か月分。" * 12,
        "e\u0301" * 300,
        "👨\u200d👩\u200d👧" * 60,
    ],
)
def test_a_cut_keeps_letters_and_their_marks_together(text: str) -> None:
    for limit in range(30, 60):
        short = shorten(text, limit)
        assert len(short) <= limit
        kept = short.removesuffix("…")
        assert text.startswith(kept)
        following = text[len(kept)]
        assert unicodedata.category(following)[0] != "M"
        assert following != "\u200d"
        assert not kept.endswith("\u200d")


def test_a_match_far_into_unspaced_text_is_shown() -> None:
    text = "会議" * 80 + "\x02家賃\x03" + "予定" * 80
    assert "\x02家賃\x03" in shorten(text, 60)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("कर बैठक हुई। \x02किराया\x03 बढ़ा।", "\x02किराया\x03"),
     ("هل جاء؟ \x02الإيجار\x03 مرتفع", "\x02الإيجار\x03"),
     ("会議をした。\x02家賃\x03が上がった。", "\x02家賃\x03")],
)  # fmt: skip
def test_sentences_end_at_the_signs_of_their_script(text: str, sentence: str) -> None:
    assert sentence in build_snippet(text)


def test_a_mark_includes_the_combining_characters_of_its_last_letter() -> None:
    assert extend_marks("\x02ท\x03ี่นี่") == "\x02ที่\x03นี่"
    assert extend_marks("\x02rent\x03, due") == "\x02rent\x03, due"


def test_no_space_follows_a_full_width_stop() -> None:
    assert build_snippet("火を止める。味噌を溶かす。") == "火を止める。味噌を溶かす。"
    assert build_snippet("Off. Then stir.") == "Off. Then stir."
