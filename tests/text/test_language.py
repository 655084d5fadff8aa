"""Telling the language of notes and questions; short and mixed texts are not guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gbrain.text.language import detect_language, foreign_share, is_written_in, question_language

ROOT = Path(__file__).parents[2]
NOTES = ROOT / "fixtures" / "languages" / "notes"


def test_no_note_is_taken_for_another_language() -> None:
    told = [
        (folder.name, detect_language(file.read_text("utf-8")))
        for folder in NOTES.iterdir()
        for file in folder.glob("*.md")
    ]
    assert len(told) > 150
    assert {(expected, found) for expected, found in told if found not in (expected, None)} == set()
    assert sum(found is None for _, found in told) < 0.12 * len(told)


def test_english_notes_are_english() -> None:
    texts = [file.read_text("utf-8") for file in (ROOT / "gbrain" / "sample").glob("**/*.md")]
    assert foreign_share(texts) == (0.0, len(texts))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Miete",
        "# Rechnung 2024\n\n- 12.50\n",
        "TODO",
        "```\nder die das und ist\n```",
        "🙂 " * 30,
    ],
)
def test_a_short_text_is_not_guessed(text: str) -> None:
    assert detect_language(text) is None


def test_an_english_note_that_quotes_chinese_is_english() -> None:
    assert detect_language("The word for it is 你好, and this is what they say to me.") == "en"


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("how much is the rent", "en"),
        ("Wie hoch ist die Miete?", "de"),
        ("où est la clé de la cave ?", "fr"),
        ("味噌汁の作り方", "ja"),
        ("房租多少钱", "zh"),
        ("сколько стоит", "ru"),
        ("fire insurance", None),
        ("was man die", None),
    ],
)
def test_the_language_of_a_question(question: str, language: str | None) -> None:
    assert question_language(question) == language


def test_vietnamese_is_told_by_its_letters() -> None:
    note = "Ngâm gạo nếp từ tối hôm trước, luộc bánh mười tiếng, thay nước hai lần."
    assert detect_language(note) == "vi"
    assert question_language("Chó con học lớp huấn luyện hôm nào?") == "vi"
    assert detect_language("Phở is what we ate at the place near the station with them.") == "en"


def test_alphabets() -> None:
    assert is_written_in("de", "fire insurance")
    assert not is_written_in("ja", "fire insurance")
    assert is_written_in("ja", "火災保険")
    assert not is_written_in("en", "火災保険")
