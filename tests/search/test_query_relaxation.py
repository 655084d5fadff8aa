"""Relaxing a query that finds nothing, rung by rung, and suggesting words for typos."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.config import Settings
from gbrain.search.run_lanes import run_keyword_lane
from gbrain.text.query import parse_query
from gbrain.trace import Trace
from gbrain.types import LaneResult, Scope

PAGES = {
    "baking": "# Bread\n\nKeep the sourdough starter warm.\n",
    "cars": "# Cars\n\nThe starter motor of the old car is broken.\n",
    "cluster": "# Cluster\n\nKubernetes runs the pods.\n",
    "pods": "# Pods\n\nWhales live in pods, warm ones.\n",
}


def find(
    brain: Brain, text: str, settings: Settings = Settings(), scope: Scope = Scope()
) -> tuple[list[str], Trace, LaneResult]:
    trace = Trace()
    query = parse_query(text, {"boats": ("whales",)}, date(2026, 11, 16), scope, 10)
    with brain.database.read_transaction() as connection:
        found = run_keyword_lane(connection, query, settings, trace, alone=True)
    return [page.slug for page in found.pages], trace, found


def stages(trace: Trace) -> list[str]:
    return [stage.name for stage in trace.stages]


def test_a_query_with_results_is_not_relaxed(filled: Brain) -> None:
    slugs, trace, _ = find(filled, "kubernetes")
    assert slugs == ["cluster"]
    assert stages(trace) == ["fts"]


def test_a_typo_is_repaired_on_the_last_rung(filled: Brain) -> None:
    slugs, trace, found = find(filled, "where is kuberntes")
    assert slugs == ["cluster"]
    assert trace.stages[1].name == "retry_ladder"
    assert trace.stages[1].detail == {
        "rungs": [
            "initial: where is kuberntes = 0",
            "strongest_term: kuberntes = 0",
            "force-refresh",
            "refreshed_sanitised: kuberntes = 0",
            "refreshed_strongest: kuberntes = 0",
            "trigram_fuzzy: kuberntes → kubernetes = 1",
        ],
        "won": "trigram_fuzzy",
    }
    assert [term.synonyms for term in found.terms] == [("kubernetes",)]


def test_the_first_rung_searches_the_rarest_term(
    filled: Brain,
) -> None:
    slugs, trace, _ = find(filled, "warm AND pods AND kubernetes AND nothing")
    assert slugs == ["cluster"]
    assert trace.stages[1].detail == {
        "rungs": [
            "initial: warm AND pods AND kubernetes AND nothing = 0",
            "strongest_term: kubernetes = 1",
        ],
        "won": "strongest_term",
    }


def test_of_two_equally_rare_terms_the_longer_is_searched(filled: Brain) -> None:
    assert find(filled, "broken AND sourdough")[0] == ["baking"]
    assert find(filled, "whales AND sourdough")[0] == ["baking"]


def test_a_phrase_that_no_page_contains_is_split(filled: Brain) -> None:
    slugs, trace, _ = find(filled, '"the pods kubernetes"')
    assert slugs == ["cluster"]
    assert trace.stages[1].detail["won"] == "strongest_term"


def test_stop_words_are_left_out_of_the_sanitised_query(filled: Brain) -> None:
    _, trace, _ = find(filled, "xyz AND these")
    rungs = trace.stages[1].detail["rungs"]
    assert isinstance(rungs, list)
    assert "refreshed_sanitised: xyz = 0" in rungs


def test_excluded_pages_stay_excluded_on_every_rung(filled: Brain) -> None:
    assert find(filled, "kuberntes NOT pods")[0] == []
    assert find(filled, "kuberntes NOT whales")[0] == ["cluster"]
    assert find(filled, "warm AND nothing NOT bread")[0] == ["pods"]
    assert find(filled, "kuberntes", scope=Scope(exclude=("cluster",)))[0] == []


def test_a_typo_beside_known_words_is_suggested_not_searched(filled: Brain) -> None:
    _, trace, found = find(filled, "sourdogh starter")
    assert stages(trace) == ["fts", "repair"]
    assert trace.stages[1].detail == {"words": ["sourdogh → sourdough"]}
    assert [(term.words, term.synonyms) for term in found.suggested_terms] == [
        (("sourdogh",), ("sourdough",))
    ]
    assert found.terms == ()
    assert found.pages == find(filled, "xyzzy starter")[2].pages


@pytest.mark.parametrize(
    "text", ["tasks", "hotel", "lawyer", "pricing", "nothingatallzz", "lattice", "todo"]
)
@pytest.mark.parametrize("beside", ["", " warm"])
def test_what_is_a_word_is_left_alone(tmp_path: Path, text: str, beside: str) -> None:
    similar = "Tanks, a hostel, a layer, spring, nothing, the attic, too, spaced and warm.\n"
    with Brain.open(tmp_path / "brain.db", make=True) as brain:
        brain.put("similar", f"# Similar\n\n{similar}".encode())
        _, _, found = find(brain, text + beside)
    assert bool(found.pages) == bool(beside)
    assert (found.terms, found.suggested_terms) == ((), ())


def test_a_word_in_front_matter_only_is_known(tmp_path: Path) -> None:
    with Brain.open(tmp_path / "brain.db", make=True) as brain:
        brain.put("a", b"---\nquestions: [Where is the sourdogh?]\n---\n# A\n\nWarm.\n")
        brain.put("b", b"# B\n\nSourdough.\n")
        assert find(brain, "sourdogh warm")[2].suggested_terms == ()
        assert find(brain, "sourdogh")[2].terms == ()


@pytest.mark.parametrize(("text", "read"), [("inv20443", "inv2044"), ("gris", "grist")])
def test_the_last_rung_compares_digits_and_short_words(
    tmp_path: Path, text: str, read: str
) -> None:
    with Brain.open(tmp_path / "brain.db", make=True) as brain:
        brain.put("a", b"# A\n\nInvoice INV2044 for grist.\n")
        slugs, _, found = find(brain, text)
    assert slugs == ["a"]
    assert [term.synonyms for term in found.terms] == [(read,)]


@pytest.mark.parametrize(
    "text", ["sourpuss starter", "dough starter", "sour starter", "starter sourdou*", "pods 12345"]
)
def test_a_word_that_may_be_new_is_not_repaired(filled: Brain, text: str) -> None:
    found = find(filled, text)[2]
    assert found.pages
    assert (found.terms, found.suggested_terms) == ((), ())


def test_ladder_and_repair_can_be_switched_off(filled: Brain) -> None:
    assert find(filled, "kuberntes", Settings(retry_ladder=False))[0] == []
    _, trace, found = find(filled, "sourdogh starter", Settings(repair_words=False))
    assert (stages(trace), found.suggested_terms) == (["fts"], ())
    assert find(filled, "kuberntes", Settings(fuzzy_similarity=0.9))[0] == []


@pytest.mark.parametrize("text", ["", "🚀", "zzzz", "NOT kubernetes tag:none", "tag:none", "知识"])
def test_the_ladder_ends_without_results(filled: Brain, text: str) -> None:
    assert find(filled, text)[0] == []


def test_an_alias_is_kept_on_every_rung(filled: Brain) -> None:
    slugs, _, _ = find(filled, "boats AND nothing")
    assert slugs == ["pods"]
