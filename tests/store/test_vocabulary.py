"""The brain's own words: the one most like a word that no page holds."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.store.vocabulary import SimilarWord, find_similar_word, starts_one_edit_away

PAGES = {
    "baking": "# Bread\n\nKeep the Sourdough starter warm; connections between universities.\n",
    "cluster": "---\ntags: [observability]\naliases: [Grafana]\n---\n# Kubernetes\n\nPods.\n",
    "café": "# Café Zürich\n\nInternal and international treatment.\n",
    "biology": "# Biology\n\nLactones follow; actions of proteins and protists.\n",
    "rare": "# Rare\n\nplanet\n",
    "often": "# Often\n\nplaner planer\n",
    "again": "# Again\n\nplaner\n",
}


def near(brain: Brain, word: str, least: float = 0.3) -> SimilarWord | None:
    with brain.database.read_transaction() as connection:
        return find_similar_word(connection, word, least)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("sourdogh", "sourdough"),
        ("Kuberntes", "kubernetes"),
        ("ukbernetes", "kubernetes"),
        ("conection", "connections"),
        ("univrsity", "universities"),
        ("reatment", "treatment"),
        ("intrnal", "internal"),
        ("obsrvability", "observability"),
        ("grafanna", "grafana"),
        ("zurrich", "zurich"),
        ("fololw", "follow"),
        ("actons", "actions"),
        ("protiens", "proteins"),
    ],
)
def test_a_misspelled_word_finds_the_intended_one(filled: Brain, word: str, meant: str) -> None:
    found = near(filled, word)
    assert found is not None
    assert found.word == meant
    assert 0.3 <= found.likeness < 1


@pytest.mark.parametrize(
    "word", ["", "ab", "xylophone", "1234567", "a-b-c-d", "x" * 5000, "知识库"]
)
def test_a_word_unlike_all_others_finds_nothing(filled: Brain, word: str) -> None:
    assert near(filled, word) is None


def test_words_below_the_least_similarity_are_ignored(filled: Brain) -> None:
    assert near(filled, "sourdogh", 0.6) is None


def test_of_similar_words_the_one_on_more_pages_wins(filled: Brain) -> None:
    found = near(filled, "planex")
    assert found is not None
    assert found.word == "planer"


def test_a_lookup_does_not_change_the_brain(filled: Brain) -> None:
    before = filled.database.connection.execute("PRAGMA schema_version").fetchone()
    near(filled, "sourdogh")
    near(filled, "kuberntes")
    assert filled.database.connection.execute("PRAGMA schema_version").fetchone() == before
    assert not filled.database.connection.execute("SELECT * FROM sqlite_temp_master").fetchall()


def test_an_edit_may_be_in_the_first_letters() -> None:
    starts = starts_one_edit_away("river")
    assert {"rive", "irve", "iver", "drive"[:4], "rver", "raiv", "live"} <= set(starts)
    assert all(len(start) == 4 for start in starts)


@settings(deadline=None)
@given(st.text() | st.text("abcdefgh", min_size=4, max_size=12))
@example("%_'\"*aaaa")
@example("ﬁsh" * 3)
def test_any_word_can_be_looked_for(filled: Brain, word: str) -> None:
    found = near(filled, word)
    assert found is None or found.likeness >= 0.3
