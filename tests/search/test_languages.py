"""Questions and notes in different languages, with the multilingual model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.search.languages import answers_across_languages

NOTES = Path(__file__).parents[2] / "fixtures" / "languages" / "notes"


@pytest.fixture(scope="module")
def brain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brain]:
    """German, Japanese and English notes, embedded with multilingual-e5-small."""
    folder = tmp_path_factory.mktemp("languages")
    with Brain.open(folder / "brain.db", make=True) as opened:
        for language in ("de", "en", "ja"):
            for file in (NOTES / language).glob("*.md"):
                opened.put(f"{language}/{file.name}", file.read_bytes())
        opened.model("multilingual-e5-small")
        opened.use_model("multilingual-e5-small")
        opened.embed()
        yield opened


def test_a_keyword_in_the_question_does_not_beat_the_answer_in_another_language(
    brain: Brain,
) -> None:
    answer = brain.query("fire insurance")
    assert answer.hits[0].slug == "ja/火災保険"
    # The keyword lane finds only the English page with one of the words.
    assert "en/car-insurance" in [hit.slug for hit in answer.hits]


@pytest.mark.parametrize(
    ("question", "slug"),
    [
        ("how much is the monthly rent in euros", "de/mietvertrag"),
        ("Wie hoch ist die Miete?", "de/mietvertrag"),
        ("friend who is allergic to shrimp", "ja/山本さん"),
    ],
)
def test_an_answer_is_not_called_nothing(brain: Brain, question: str, slug: str) -> None:
    answer = brain.query(question)
    assert slug in [hit.slug for hit in answer.hits[:3]]
    assert answer.verdict.grade != "nothing"


def test_a_question_without_an_answer_is_not_strong(brain: Brain) -> None:
    questions = (
        "what did the astronaut eat on the moon",
        "Wie repariere ich den Vergaser des Traktors?",
        "宇宙飛行士の訓練はいつ",
        "who won the football world cup",
    )
    grades = [brain.query(question).verdict.grade for question in questions]
    assert "strong" not in grades
    assert "nothing" in grades


def test_the_languages_of_a_question_and_a_page_are_compared(brain: Brain) -> None:
    def across(question: str, slug: str) -> bool:
        with brain.database.read_transaction() as connection:
            return answers_across_languages(connection, question, brain.get(slug).id)

    assert across("how much is the rent", "de/mietvertrag")
    assert across("fire insurance", "ja/火災保険")
    assert across("fire insurance", "de/mietvertrag")
    assert not across("fire insurance", "en/car-insurance")
    assert not across("JSON response codes", "en/car-insurance")
    assert not across("Was kostet die Ferienwohnung am Meer?", "de/ostsee")
    assert not across("火災保険はいくら", "ja/火災保険")
    assert across("火災保険はいくら", "en/car-insurance")


def test_a_foreign_word_is_not_replaced_by_a_similar_one(brain: Brain) -> None:
    answer = brain.query("Wie hoch ist die Miete?")
    assert answer.read_as is None
    assert answer.hits[0].slug == "de/mietvertrag"
    assert brain.query("Kaltmitte").read_as == "kaltmiete"
