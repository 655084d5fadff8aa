"""Let the terms of a question match other forms of their words: by stem, or by parts."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable

from gbrain.store.keyword_index import any_page_contains, count_matches
from gbrain.text.query_terms import fts_expression
from gbrain.text.stop_words import is_stop_word, question_languages
from gbrain.text.unspaced import has_unspaced_script, looser_forms
from gbrain.types import Query, Term

# A word has at most this many other forms in a query, those on the most pages.
_MAX_FORMS = 12
_MIN_LETTERS = 4


def expand_terms(connection: sqlite3.Connection, query: Query) -> Query:
    """Return the query with other forms of its words that pages contain.

    English words are left to the index, which stems them. Words of another language get the forms
    with the same stem in the language of the question; if that shows none, in those of the brain. A
    word of a script without spaces that no page contains is divided into parts that some do.
    Queries with operators stay as they are.
    """
    if query.tree is not None or not query.terms:
        return query
    terms = tuple(dict.fromkeys(part for term in query.terms for part in _parts(connection, term)))
    stemmed = [term for term in terms if _may_have_forms(term)]
    if stemmed and (languages := _languages(connection, query.text, stemmed)):
        forms = _forms(connection, stemmed, languages)
        terms = tuple(term._replace(forms=forms.get(term, ())) for term in terms)
    return query._replace(terms=terms)


def _parts(connection: sqlite3.Connection, term: Term) -> Iterable[Term]:
    """Return the known parts of an unspaced word that no page contains; other terms as they are."""
    word = term.words[0]
    unspaced = not (term.quoted or term.synonyms) and has_unspaced_script(word)
    if not unspaced or any_page_contains(connection, (term,)):
        return (term,)
    parts = [Term((part,)) for part in looser_forms(word)]
    # With one of its parts at least; the others count as missing.
    return parts if any(any_page_contains(connection, (part,)) for part in parts) else (term,)


def _may_have_forms(term: Term) -> bool:
    word = term.words[0]
    plain = not (term.quoted or term.prefix or term.synonyms)
    long = len(word) >= (_MIN_LETTERS if word.isascii() else _MIN_LETTERS - 1)
    return plain and long and word.isalpha() and not has_unspaced_script(word)


def _languages(
    connection: sqlite3.Connection, text: str, terms: Collection[Term]
) -> Collection[str]:
    """Return the languages by whose stems the terms are compared; none for an English question."""
    if languages := question_languages(_words(text)):
        return languages
    from gbrain.text.stemming import MARKERS, script_language

    written = {script_language(term.words[0]) for term in terms if not term.words[0].isascii()}
    if languages := tuple(language for language in written if language):
        return languages
    words = _words(text)
    if any(is_stop_word(word) for word in words) or not any(
        not term.words[0].isascii() or not any_page_contains(connection, (term,)) for term in terms
    ):
        return ()
    asked = [marker for markers in MARKERS.values() for marker in markers]
    matches = [fts_expression((Term((marker,)),)) for marker in asked]
    counts = count_matches(connection, "pages", matches, 1)
    known = {marker for marker, count in zip(asked, counts, strict=True) if count}
    return tuple(language for language, markers in MARKERS.items() if known.issuperset(markers))


def _words(text: str) -> list[str]:
    return [word.strip("¿¡.,;:!?؟\"'«»()") for word in text.split()]


def _forms(
    connection: sqlite3.Connection, terms: Iterable[Term], languages: Collection[str]
) -> dict[Term, tuple[str, ...]]:
    """Return for each term those of the index that are other forms of it, most frequent first."""
    from gbrain.store.vocabulary import stems_from
    from gbrain.text.stemming import form_starts, has_stem, indexed_form, word_stems

    stems = {
        (term, language): word_stems(term.words[0], language)
        for term in terms
        for language in languages
    }
    starts = {key: form_starts(found, key[1]) for key, found in stems.items()}
    known = stems_from(connection, sorted({start for some in starts.values() for start in some}))
    forms: dict[Term, dict[str, int]] = {}
    for (term, language), some in starts.items():
        own = indexed_form(term.words[0])
        # A term that the index would stem further cannot be looked up.
        forms.setdefault(term, {}).update(
            (indexed, pages)
            for start in some
            for indexed, pages in known[start]
            if indexed != own
            and has_stem(indexed, stems[term, language], language)
            and indexed_form(indexed) == indexed
        )
    return {
        term: tuple(sorted(found, key=lambda form: (-found[form], form))[:_MAX_FORMS])
        for term, found in forms.items()
    }
