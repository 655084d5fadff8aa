"""Which words of a query a chunk contains, and in how many pages they stand."""

from __future__ import annotations

import pytest

from gbrain.brain import Brain
from gbrain.store import ranking_data
from gbrain.store.chunks import page_chunks
from gbrain.text.query_terms import parse_terms
from gbrain.types import TermStatistics


def facts_of(brain: Brain, slug: str, text: str) -> tuple[TermStatistics, ...]:
    with brain.database.read_transaction() as connection:
        page_id = brain.get(slug).id
        chunks = [chunk.id for chunk in page_chunks(connection, page_id)]
        pages = ranking_data.approximate_page_count(connection)
        by_page = ranking_data.term_statistics(connection, parse_terms(text), page_id, (), pages)
        facts = ranking_data.term_statistics(connection, parse_terms(text), page_id, chunks, pages)
        assert by_page == facts
        return facts


def test_stems_titles_and_counts(brain: Brain) -> None:
    brain.put("bread", b"# Sourdough\n\nFeeding starters daily.\n")
    brain.put("soup", b"# Soup\n\nStarters and mains.\n")
    assert facts_of(brain, "bread", "sourdough starter schedule") == (
        TermStatistics("sourdough", 1, True, in_title=True),
        TermStatistics("starter", 2, True),
        TermStatistics("schedule", 0, False),
    )


def test_a_compound_is_held_by_all_its_parts_and_not_by_one(brain: Brain) -> None:
    brain.put("alice", b"# Alice\n\nChen, one of the people here.\n")
    brain.put("yeast", b"# Yeast\n\nMost people keep it cold.\n")
    assert facts_of(brain, "alice", "people/alice-chen") == (
        TermStatistics("people/alice-chen", 1, True),
    )
    assert facts_of(brain, "yeast", "people/alice-chen") == (
        TermStatistics("people/alice-chen", 1, False),
    )


def test_scripts_without_spaces(brain: Brain) -> None:
    brain.put("tea", "# 茶\n\n今日は緑茶を飲みました。\n".encode())
    assert facts_of(brain, "tea", "緑茶") == (TermStatistics("緑茶", 1, True),)
    assert facts_of(brain, "tea", "紅茶") == (TermStatistics("紅茶", 0, False),)
    assert facts_of(brain, "tea", "緑茶の飲み方と電話番号") == (
        TermStatistics("緑茶", 1, True),
        TermStatistics("飲み", 1, True),
        TermStatistics("電話", 0, False),
        TermStatistics("話番", 0, False),
        TermStatistics("番号", 0, False),
    )
    assert facts_of(brain, "tea", "電話番号") == (TermStatistics("電話番号", 0, False),)


def test_aliases_count_as_title(brain: Brain) -> None:
    brain.put("anna", b"---\ntitle: Anna Kowalska\naliases: [Ania]\n---\nPlays the violin.\n")
    (ania, violin) = facts_of(brain, "anna", "Ania violin")
    assert (ania.in_title, violin.in_title) == (True, False)


def test_a_common_word_is_counted_only_so_far(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking_data, "_MAX_COUNTED_PAGES", 4)
    for number in range(9):
        brain.put(f"p{number}", b"everywhere\n" if number else b"everywhere once\n")
    everywhere, once = facts_of(brain, "p0", "everywhere once")
    assert once == TermStatistics("once", 1, True)
    assert everywhere == TermStatistics("everywhere", 6, True)


def test_an_empty_brain(brain: Brain) -> None:
    with brain.database.read_transaction() as connection:
        assert ranking_data.approximate_page_count(connection) == 0
        assert ranking_data.term_statistics(connection, parse_terms("any words"), 1, (), 0) == (
            TermStatistics("words", 0, False),
        )
