"""Dates in questions and entries of other languages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text import foreign_dates
from gbrain.text.date_questions import split_question
from gbrain.text.dates import leading_written_date
from gbrain.text.page import parse_page

TODAY = date(2026, 11, 16)

APRIL = "2026-04-01 2026-04-30"
LAST_WEEK = "2026-11-09 2026-11-15"
LAST_MONTH = "2026-10-01 2026-10-31"
THREE_MONTHS_AGO = "2026-08-01 2026-08-31"
SINCE_MAY = "2026-05-01 2026-11-16"
MARCH_TO_JUNE = "2026-03-01 2026-06-30"
LAST_MONDAY = "2026-11-09 2026-11-09"
FIRST_QUARTER = "2026-01-01 2026-03-31"
LAST_SUMMER = "2026-06-01 2026-08-31"

QUESTIONS = {
    APRIL: "im April|en avril 2026|en abril de 2026|ad aprile|em abril de 2026|in april|"
    "2026年4月の旅行|2026年四月",
    LAST_WEEK: "letzte Woche|la semaine dernière|la semana pasada|la settimana scorsa|"
    "na semana passada|vorige week|先週の会議|上周的会议|上个星期",
    LAST_MONTH: "letzten Monat|le mois dernier|el mes pasado|il mese scorso|no mês passado|"
    "vorige maand|先月|上个月",
    THREE_MONTHS_AGO: "vor drei Monaten|il y a trois mois|hace tres meses|tre mesi fa|"
    "há três meses|drie maanden geleden|三か月前|3ヶ月前|三个月前",
    SINCE_MAY: "seit Mai|depuis mai|desde mayo|dal maggio|desde maio|sinds mei|5月以降",
    MARCH_TO_JUNE: "zwischen März und Juni|von März bis Juni|entre mars et juin|de mars à juin|"
    "entre marzo y junio|tra marzo e giugno|entre março e junho|tussen maart en juni|"
    "3月から6月まで|三月到六月",
    LAST_MONDAY: "letzten Montag|lundi dernier|el lunes pasado|lunedì scorso|afgelopen maandag|"
    "先週の月曜日|上周一",
    FIRST_QUARTER: "im ersten Quartal|au premier trimestre 2026|en el primer trimestre|"
    "in het eerste kwartaal van 2026|第1四半期|第一季度",
    LAST_SUMMER: "letzten Sommer|l'été dernier|el verano pasado|l'estate scorsa|"
    "no verão passado|afgelopen zomer",
    "2025-04-01 2025-04-30": "去年の4月|去年四月",
    "2025-06-01 2025-08-31": "im Sommer 2025|去年の夏|去年夏天|en été 2025",
    "2026-11-15 2026-11-15": "was war gestern|qu'ai-je fait hier|ayer|ieri|ontem|昨日|昨天",
    "2026-04-12 2026-04-12": "am 12. April|le 12 avril|el 12 de abril|4月12日|2026年4月12日",
}


@pytest.mark.parametrize(
    ("question", "days"),
    [(one, days) for days, questions in QUESTIONS.items() for one in questions.split("|")],
)
def test_a_date_in_a_question_is_read(question: str, days: str) -> None:
    period = split_question(f"{question}", TODAY).levels[0][0]
    assert f"{period.first} {period.last}" == days


_TABLES = (
    foreign_dates.FOREIGN_MONTHS, foreign_dates._LEADS, foreign_dates._UNITS,
    foreign_dates._WAYS_BEFORE, foreign_dates._WAYS_AFTER, foreign_dates._COUNTS,
    foreign_dates._ORDINALS,
)  # fmt: skip
_OTHER_WORDS = (
    "zwischen tra fra tussen und et y e von van del bis al hace faz fa geleden les dei der dem die "
    "o jahr jahre anno seit op na des 2024 3 3. 14 Monday quarter week end in a am an May the cell"
)


@given(
    st.lists(st.sampled_from([*(w for table in _TABLES for w in table), *_OTHER_WORDS.split()])),
    st.sampled_from([" ", " ", "", "-", ". ", "'"]),
    st.sampled_from([str.lower, str.title, str.upper]),
)
def test_a_question_that_is_not_translated_has_nothing_to_translate(
    words: list[str], between: str, case: Callable[[str], str]
) -> None:
    text = case(between.join(words))
    assert foreign_dates._may_have_foreign_date(text) or (
        foreign_dates._translate_phrases(text) == text
    )


@pytest.mark.parametrize("question", ["support group meeting yesterday", "in April 2026 or May"])
def test_an_english_question_needs_no_translation(question: str) -> None:
    assert not foreign_dates._may_have_foreign_date(question)


@pytest.mark.parametrize(
    "question",
    ["Wo liegt der Schlüssel hier", "jeden Morgen Yoga", "die letzte Rechnung", "la clave de mayo",
     "日本語の勉強", "月が綺麗", "天気がいい", "春子さんの電話"],
)  # fmt: skip
def test_other_words_are_no_date(question: str) -> None:
    assert split_question(question, TODAY).levels == ()


@pytest.mark.parametrize(
    "question",
    ["how many calories are in a mars bar", "what do we know about water in Mars", "who ate 3 mars "
     "bars", "is there no mayo in the fridge", "what did I invest in estate planning",
     "where was the photo in Marco's kitchen taken", "gibt es Wasser im Mars", "3 mars bars",
     "12 mei group contact", "El Mayo arrested"],
)  # fmt: skip
def test_a_month_of_another_language_is_an_ordinary_word(question: str) -> None:
    assert split_question(question, TODAY).levels == ()


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("what happened im Mai", "2026-05-01 2026-05-31"),
        ("what did we eat en mars 2025", "2025-03-01 2025-03-31"),
        ("what was on le 3 mars", "2026-03-03 2026-03-03"),
        ("what happened in März", "2026-03-01 2026-03-31"),
        ("qu'avons-nous fait en mars", "2026-03-01 2026-03-31"),
        ("was haben wir am 3. Mai gegessen", "2026-05-03 2026-05-03"),
        ("3 mars", "2026-03-03 2026-03-03"),
        ("Rechnung 3 mars", "2026-03-03 2026-03-03"),
        ("3 mai dentiste avec Julie", "2026-05-03 2026-05-03"),
        ("3 mars réunion", "2026-03-03 2026-03-03"),
        ("3 marzo riunione", "2026-03-03 2026-03-03"),
    ],
)
def test_a_clear_date_of_another_language_is_read(question: str, days: str) -> None:
    period = split_question(question, TODAY).levels[0][0]
    assert f"{period.first} {period.last}" == days


def test_the_rest_of_a_question_keeps_its_words() -> None:
    assert split_question("was sagte Jonas letzte Woche zur Miete", TODAY).rest == (
        "was sagte Jonas zur Miete"
    )
    assert split_question("先月の会議", TODAY).rest.strip() == "の会議"


@pytest.mark.parametrize(
    "written",
    ["12. April 2026", "12 avril 2026", "12 de abril de 2026", "12 aprile 2026", "12 april 2026",
     "2026年4月12日"],
)  # fmt: skip
def test_an_entry_may_begin_with_a_date_of_another_language(written: str) -> None:
    found = leading_written_date(written)
    assert found is not None
    assert found[0].text == "2026-04-12"
    text = f"# A\n\nKnown.\n\n## Timeline\n\n- {written}: x\n- **{written}** | y\n"
    entries = [chunk for chunk in parse_page("a.md", text.encode()).chunks if chunk.date]
    assert [(entry.kind, entry.date) for entry in entries] == [("timeline", "2026-04-12")] * 2
