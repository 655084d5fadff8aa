"""The words of a question that is not in English, as evidence for or against a page."""

from __future__ import annotations

from gbrain.search.verdict_words import read_words
from gbrain.types import TermStatistics

GERMAN = (
    "Bremsbeläge vorne erneuert, die Tetanusimpfung ist fällig und der Linseneintopf kocht noch "
    "nicht, aber wir haben auch die Wohnungen gesehen."
)


def read(question: str, page: str, *words: tuple[str, int]) -> dict[str, bool]:
    """Return which words the page seems to have; none of them is in its keyword index."""
    facts = [TermStatistics(word, pages, in_top_hit=False) for word, pages in words]
    return {fact.word: fact.in_top_hit for fact in read_words(facts, question, page)}


def test_parts_of_compounds_and_inflected_forms_are_found() -> None:
    words = [(word, 0) for word in ("Tetanus", "Eintopf", "Wohnung", "Zahnarzt")]
    found = read("Wann Tetanus, Eintopf, Wohnung, Zahnarzt?", GERMAN, *words)
    assert found == {"tetanus": True, "eintopf": True, "wohnung": True, "zahnarzt": False}


def test_short_words_and_other_words_with_the_same_start_are_not() -> None:
    found = read("Brot und Vorrat", GERMAN, ("Brot", 0), ("Vorrat", 0), ("Erdbeere", 0))
    assert not any(found.values())


def test_function_words_of_the_page_do_not_count() -> None:
    italian = "Il casco è nella cantina e non è della nonna, che ha messo le chiavi con il resto."
    words = [("Dove", 0), ("ho", 0), ("messo", 1), ("il", 3), ("casco", 1)]
    assert "il" not in read("Dove ho messo il casco?", italian, *words)


def test_a_capital_at_the_start_or_in_german_is_no_name() -> None:
    french = "Le loyer est de 800 euros et nous avons un bail avec la mairie dans les années."
    assert list(read("Montant pour Lyon", french, ("Montant", 0), ("Lyon", 0))) == [
        "montant",
        "Lyon",
    ]


def test_fragments_of_unspaced_text_are_joined_or_dropped() -> None:
    words = [("修车", 0), ("车打", 0), ("打几", 0), ("几折", 0)]
    assert list(read("修车打几折？", "轮胎已经换好了。", *words)) == ["修车打几折"]
    words = [("一天", 0), ("天上", 0), ("上雪", 0), ("雪山", 2)]
    assert list(read("哪一天上雪山？", "我们去玉龙雪山看看。", *words)) == ["一天上", "雪山"]
    words = [("银行", 1), ("行密", 0), ("密码", 1)]
    assert list(read("银行密码", "银行的事情。", *words)) == ["银行", "密码"]
