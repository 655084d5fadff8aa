"""Words of a question match other forms of them: by stem, or by the parts of an unspaced word."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.search.term_forms import expand_terms
from gbrain.text.query import parse_query
from gbrain.types import Scope, Term

NOTES = {
    "miete": "# Mietvertrag\n\nDie Kündigungsfristen stehen nicht hier, und die Häuser auch.\n",
    "club": "# Club\n\nLes chevaux sont dans le pré avec Camille.\n",
    "казань": "# Казань\n\nПоезда ходят каждый час, билеты в кассе.\n",
    "soup": "# 味噌汁\n\n豆腐とわかめを入れる。緑茶も飲む。\n",
    "english": "# Horse\n\nThe horses are in the field and nothing else is here.\n",
}


@pytest.fixture
def brain(tmp_path: Path) -> Brain:
    with Brain.open(tmp_path / "brain.db", make=True) as opened:
        for slug, text in NOTES.items():
            opened.put(slug, text.encode())
        yield opened


def expanded(brain: Brain, text: str) -> tuple[Term, ...]:
    query = parse_query(text, {}, date(2026, 11, 16), Scope(), 10)
    with brain.database.read_transaction() as connection:
        return expand_terms(connection, query).terms


@pytest.mark.parametrize(
    ("question", "slug", "marked"),
    [
        ("Wie lang ist die Kündigungsfrist?", "miete", "Kündigungsfristen"),
        ("Kündigungsfrist", "miete", "Kündigungsfristen"),
        ("wo ist das Haus", "miete", "Häuser"),
        ("qui a un cheval ?", "club", "chevaux"),
        ("cheval", "club", "chevaux"),
        ("Когда идёт поезд?", "казань", "Поезда"),
        ("билет", "казань", "билеты"),
    ],
)
def test_a_question_finds_other_forms_of_its_words(
    brain: Brain, question: str, slug: str, marked: str
) -> None:
    hit = brain.search(question).hits[0]
    assert hit.slug == slug
    assert f"\x02{marked}\x03" in hit.snippet


@pytest.mark.parametrize("question", ["where are the horses", "horse field", "horses AND cheval"])
def test_an_english_question_and_operators_stay_as_they_are(brain: Brain, question: str) -> None:
    assert not any(term.forms for term in expanded(brain, question))


def test_an_unspaced_word_that_no_page_has_is_divided(brain: Brain) -> None:
    assert expanded(brain, "緑茶碗") == (Term(("緑茶",)), Term(("茶碗",)))
    assert expanded(brain, "豆腐") == (Term(("豆腐",)),)
    assert expanded(brain, "電話番号") == (Term(("電話番号",)),)
