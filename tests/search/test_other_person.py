"""Whether what fits a question is said of another person than the one it asks about."""

from __future__ import annotations

import pytest

from gbrain.brain import Brain
from gbrain.search.other_person import OtherPerson, find_other_person
from gbrain.types import Term

CHAT = """\
# Ann and Ben, May

Ann: Hey Ben! I ran a charity race on Saturday, it was rewarding.
Ben: That charity race sounds great! I am proud of you.
Ann: Thanks! It made me realise that rest matters. How is your garden?
Ben: I planted tomatoes last week. My neighbour lent me a rake.
Ann: Where did you get the seeds?
Ben: From the market, a whole box of them.
"""
PAGES = {
    "chats/may": CHAT,
    "people/anna-weber": "# Anna Weber\n\nA friend. Allergic to hazelnuts.\n",
    "people/ben-krause": "# Ben Krause\n\nA colleague.\n",
}


def ask(question: str, *words: str, text: str = CHAT) -> OtherPerson | None:
    weights = {Term((word,)): 1.0 for word in words}
    return find_other_person(question, weights, text, (1, 2))


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What did {} realise after the charity race?", "{} realise charity race"),
        ("What was rewarding for {}?", "{} rewarding"),
    ],
)
def test_facts_of_one_speaker_are_not_the_others(question: str, words: str) -> None:
    ben, ann = question.format("Ben"), question.format("Ann")
    assert ask(ben, *words.format("Ben").split()) == OtherPerson("Ben", "Ann")
    assert ask(ann, *words.format("Ann").split()) is None


def test_a_reply_belongs_to_the_question_before_it() -> None:
    assert ask("Where did Ann get a box of seeds?", "Ann", "box", "seeds") == OtherPerson(
        "Ann", "Ben"
    )
    assert ask("Where did Ben get a box of seeds?", "Ben", "box", "seeds") is None


def test_both_or_none_of_the_speakers_are_not_compared() -> None:
    assert ask("What did Ben say to Ann about the race?", "Ben", "Ann", "race") is None
    assert ask("Who ran the race?", "race") is None
    assert ask("What did Ben say?", "Ben") is None


def test_forms_and_synonyms_count() -> None:
    run = Term(("marathon",), synonyms=("charity race",))
    weights = {Term(("Ben",)): 1.0, run: 1.0}
    assert find_other_person("When was Ben's marathon?", weights, CHAT, (1, 2))


def test_only_text_around_the_best_chunk_is_read() -> None:
    far = "Line.\n" * 1000
    assert ask("What race did Ben run?", "Ben", "race", text=CHAT + far) == OtherPerson(
        "Ben", "Ann"
    )
    assert ask("What race did Ben run?", "Ben", "race", text=far + CHAT) is None


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("Is Ben allergic to hazelnuts?", "Anna Weber"),
        ("is ben allergic to hazelnuts", "Anna Weber"),
        ("Is Anna allergic to hazelnuts?", None),
        ("Did Anna tell Ben that she is allergic to hazelnuts?", None),
        ("Hazelnuts: who is allergic?", None),
        ("who is allergic to hazelnuts", None),
    ],
)
def test_the_page_of_another_person_is_named(
    filled: Brain, question: str, about: str | None
) -> None:
    verdict = filled.search(question).verdict
    assert verdict.about == about
    assert (verdict.grade == "partial") == (about is not None)


def test_a_page_about_another_does_not_answer_for_an_unknown(filled: Brain) -> None:
    verdict = filled.search("Is Klaus allergic to hazelnuts?").verdict
    assert (verdict.grade, verdict.about) == ("partial", None)
    assert verdict.reasons[0] == "no page mentions Klaus"


def test_the_verdict_names_the_other_person(filled: Brain) -> None:
    verdict = filled.search("What did Ben realise after the charity race").verdict
    assert (verdict.grade, verdict.about) == ("partial", "Ann")
    assert verdict.reasons[0] == "the lines that fit are about Ann, not Ben"
    verdict = filled.search("What did Ann realise after the charity race").verdict
    assert (verdict.grade, verdict.about) == ("strong", None)
