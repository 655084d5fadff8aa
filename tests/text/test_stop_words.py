"""Function words of a question's language carry no weight; English words stay."""

from __future__ import annotations

import pytest

from gbrain.text.query_terms import normalise_query, parse_terms
from gbrain.text.stop_words import question_languages


def words_kept(question: str) -> str:
    return " ".join(word for term in parse_terms(normalise_query(question)) for word in term.words)


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("Wie lange ist die Kündigungsfrist?", "lange Kündigungsfrist"),
        ("Was kostet der Stellplatz im Hof", "kostet Stellplatz Hof"),
        ("quel est l'anniversaire de la mère de Luc ?", "anniversaire mère Luc"),
        ("quelles fleurs ne faut-il pas offrir ?", "fleurs offrir"),
        ("hauteur maximale de la camionnette", "hauteur maximale camionnette"),
        ("¿cuándo es el cumpleaños de Marisol?", "cumpleaños Marisol"),
        ("cómo llegar al centro", "llegar centro"),
        ("quanto tempo devono cuocere i ceci?", "tempo devono cuocere ceci"),
        ("o que fazia a Inês antes de trabalhar na loja?", "fazia Inês trabalhar loja"),
        ("wie geeft onze planten water?", "geeft planten water"),
        ("var är nyckeln till garaget", "nyckeln garaget"),
        ("hvor er nøglen til garagen", "nøglen garagen"),
        ("gdzie jest klucz do garażu", "klucz garażu"),
        ("Was hat Ben im Juli gemacht?", "Ben Juli gemacht"),
        ("Wo war Anna?", "Anna"),
        ("Come sta Anna?", "Anna"),
        ("Comment va Marie ?", "Marie"),
        ("Hat Ben angerufen?", "Ben angerufen"),
        ("Ist Jonas gestern umgezogen?", "Jonas gestern umgezogen"),
        ("Hat Mira den Tisch reserviert?", "Mira Tisch reserviert"),
        ("Wo wohnt Ben?", "wohnt Ben"),
        ("Was kostet Hotel Kyoto?", "kostet Hotel Kyoto"),
        ("¿Ha llamado Ben?", "llamado Ben"),
    ],
)
def test_function_words_of_the_language_are_dropped(question: str, kept: str) -> None:
    assert words_kept(question) == kept


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("die hard", "die hard"),
        ("my son is in the den", "son den"),
        ("Jan de Boer van", "Jan de Boer van"),
        ("Using Jest without a package.json", "Using Jest without package.json"),
        ("dal recipe", "dal recipe"),
        ("what is die Kündigungsfrist", "die Kündigungsfrist"),
        ("todo", "todo"),
        ("au pair contract", "au pair contract"),
        ("man in black", "man black"),
        ("Was Will in Rome in July", "Rome July"),
        ("Avril and Julio", "Avril Julio"),
        ("hat trick", "hat trick"),
        ("War gentlemen", "War gentlemen"),
        ("war diaries of a general", "war diaries general"),
        ("HA proxy timeout", "HA proxy timeout"),
        ("WO patent number", "WO patent number"),
    ],
)
def test_english_words_that_look_foreign_are_kept(question: str, kept: str) -> None:
    assert words_kept(question) == kept


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("what did I learn about playwright", "playwright"),
        ("What do I know about Die Hard?", "Die Hard"),
        ("find my notes on macos", "macos"),
        ("where did I read about tax", "tax"),
        ("can you remind me what I know about git rebase", "git rebase"),
        ("do I have any notes about d'Angelo", "d'Angelo"),
        ("what have I noted about learning to note", "learning note"),
        ("was habe ich über Rust gelernt?", "Rust"),
        ("qu'est-ce que j'ai appris sur Rust", "Rust"),
        ("¿qué escribí sobre Rust?", "Rust"),
        ("cosa ho imparato su Rust", "Rust"),
        ("find on macos", "find macos"),
        ("notes on camp", "notes camp"),
        ("how to write about yourself", "write yourself"),
        ("what did Ben say about the rent", "Ben say rent"),
        ("what did we decide about backups", "decide backups"),
        ("what do I know", "know"),
        ("how many leeks and how much cream", "leeks cream"),
        ("what did I write about to-do apps", "to-do apps"),
        ("what did I write about the write lock", "write lock"),
        ("search notes about search", "search"),
        ("what do I know on tax", "tax"),
        ("did I save on heating", "save heating"),
        ("what did we find on the beach", "find beach"),
        ("what did I learn about", "learn"),
        ("cosa ho imparato su", "imparato"),
        ("qu'est-ce que j'ai noté sur Rust", "Rust"),
        ("quelle note ai-je eue sur ma dissertation", "note eue dissertation"),
        ("cosa ho letto sul catalogo", "catalogo"),
        ("dove ho messo il letto sul catalogo", "messo letto catalogo"),
    ],
)
def test_words_that_only_ask_for_notes_are_dropped(question: str, kept: str) -> None:
    assert words_kept(question) == kept


@pytest.mark.parametrize("question", ["der die das", '"der Hund" von mir', "für mich"])
def test_quotes_and_questions_of_stop_words_only_keep_them(question: str) -> None:
    assert words_kept(question) == question.replace('"', "")


def test_operators_do_not_keep_stop_words() -> None:
    from datetime import date

    from gbrain.text.query import parse_query
    from gbrain.types import Scope

    parsed = parse_query("wer hat den Schlüssel tag:haus", {}, date(2026, 1, 1), Scope(), 10)
    assert [term.words for term in parsed.terms] == [("Schlüssel",)]


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Где лежат зимние шины", "ru"),
        ("Hvor ligger nøkkelen", "no"),
        ("Kde je klíč od auta", "cs"),
        ("Missä avain on", "fi"),
        ("Hol van a kulcs és mikor", "hu"),
        ("Unde este cheia și cât costă", "ro"),
        ("Anahtar nerede ve ne zaman", "tr"),
        ("Де лежить ключ", "uk"),
        ("Πού είναι το κλειδί", "el"),
        ("أين المفتاح", "ar"),
    ],
)
def test_function_words_show_the_language(question: str, language: str) -> None:
    assert language in question_languages(question.split())
