"""Verdicts: by hand from the formula, and properties of all of them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.config import Settings
from gbrain.search.verdict import compute_verdict
from gbrain.text.irregular_verbs import verb_forms
from gbrain.types import Candidate, LaneResult, Query, Ranked, Scope, Term, TermStatistics, Verdict

SETTINGS = Settings()


def lane(*scores: float, first: int = 1) -> LaneResult:
    """Pages numbered from `first` with these scores, best first."""
    return LaneResult(
        tuple(
            Candidate(number, f"page-{number}", None, rank, score)
            for rank, (number, score) in enumerate(enumerate(scores, first), 1)
        )
    )


def judged(
    facts: tuple[TermStatistics, ...] = (),
    text: str = "what is it",
    title: str | None = None,
    short_circuit: str | None = None,
    settings: Settings = SETTINGS,
    calibrated: bool = True,
    **lanes: LaneResult,
) -> Verdict:
    found = max(lanes.values(), key=lambda lane: len(lane.pages), default=LaneResult(()))
    ranked = [Ranked(page.page_id, page.slug, page.score, {}) for page in found.pages]
    query = Query(text, (Term(("it",)),), Scope(), 10)
    return compute_verdict(
        query,
        ranked,
        lanes,
        facts,
        1000,
        settings,
        title=title,
        short_circuit=short_circuit,
        calibrated=calibrated,
    )


HELD = (TermStatistics("sourdough", 3, True), TermStatistics("starter", 5, True))
MISSING = (TermStatistics("Cobblewick", 0, False), TermStatistics("partnership", 0, False))


def test_no_page_is_nothing() -> None:
    assert judged() == Verdict("nothing", 0.0, ("no page was found",))


@pytest.mark.parametrize(("how", "confidence"), [("slug", 1.0), ("alias", 1.0), ("near", 0.9)])
def test_a_page_named_outright_is_strong(how: str, confidence: float) -> None:
    found = judged(short_circuit=how, fts=lane(1.0))
    assert (found.grade, found.confidence) == ("strong", confidence)
    assert "page-1" in found.reasons[0]


def test_both_lanes_by_hand() -> None:
    found = judged(HELD, fts=lane(9.0, 3.0), vector=lane(0.8, 0.6, 0.6))
    signal = -10.7 + 13.6 * 0.8 + 1.1 + 4.8
    assert found.confidence == pytest.approx(1 / (1 + math.exp(-signal)), abs=1e-4)
    assert (found.grade, found.missing) == ("strong", ())
    assert found.reasons == (
        "it contains 2 of 2 words, 100% by weight",
        "the most similar chunk has similarity 0.80",
        "the lanes agree on the first page",
    )


def test_the_keyword_lane_alone_by_hand() -> None:
    found = judged(HELD, fts=lane(9.0, 3.0))
    signal = -6.1 + 9.1 + 2.0 * math.log(2)
    assert found.confidence == pytest.approx(1 / (1 + math.exp(-signal)), abs=1e-4)
    assert found.reasons == ("it contains 2 of 2 words, 100% by weight",)


def test_a_known_name_does_not_carry_the_grade() -> None:
    name = (TermStatistics("Anna", 8, True, True), TermStatistics("Weber", 3, True, True))
    lanes = {"fts": lane(9.0, 3.0), "vector": lane(0.8, 0.6)}
    assert judged(name, **lanes).grade == "strong"
    found = judged((*name, TermStatistics("salary", 5, False)), **lanes)
    assert (found.grade, found.missing) == ("partial", ("salary",))
    assert found.reasons[0] == "it does not mention salary"
    held = judged((*name, TermStatistics("salary", 5, True)), **lanes)
    assert (held.grade, held.missing) == ("strong", ())


def test_missing_words_are_named_rarest_first() -> None:
    facts = tuple(TermStatistics(f"w{n}", n, False) for n in (40, 2, 0, 7))
    found = judged((*facts, TermStatistics("here", 3, True)), fts=lane(1.0))
    assert found.missing == ("w0", "w2", "w7")
    assert found.reasons[0] == "it does not mention w0, w2, w7"
    assert found.reasons[-1] == "no page mentions w0"


def test_another_models_cosines_say_nothing() -> None:
    alone = judged(HELD, fts=lane(9.0))
    assert judged(HELD, calibrated=False, fts=lane(9.0), vector=lane(0.1)) == alone


def test_small_talk_finds_nothing() -> None:
    found = judged(MISSING, fts=lane(), vector=lane(0.5, 0.49, 0.48))
    assert found.grade == "nothing"
    assert found.reasons[0] == "no page mentions Cobblewick, partnership"


def test_a_page_that_the_query_names_is_never_nothing() -> None:
    weak = lane(0.5, 0.49)
    named = judged(MISSING, "did Alice Chen, call?", "Alice Chen", vector=weak)
    assert named.grade == "partial"
    assert named.reasons[-1] == "the query names page-1"
    assert judged(MISSING, "did Alice Cheney call?", "Alice Chen", vector=weak).grade == "nothing"


def test_rare_words_weigh_more_than_common_ones() -> None:
    rare = (TermStatistics("sourdough", 1, True), TermStatistics("bread", 900, False))
    common = (TermStatistics("sourdough", 1, False), TermStatistics("bread", 900, True))
    assert judged(rare, fts=lane(1.0)).confidence > judged(common, fts=lane(1.0)).confidence


def test_an_unknown_name_weighs_more_than_an_unknown_word() -> None:
    known = TermStatistics("emailed", 20, True)
    name = judged((known, TermStatistics("Cobblewick", 0, False)), fts=lane(1.0))
    word = judged((known, TermStatistics("cobblewick", 0, False)), fts=lane(1.0))
    assert name.confidence < word.confidence


def test_thresholds_are_settings() -> None:
    sure = judged(HELD, fts=lane(9.0))
    assert sure.grade == "strong"
    assert judged(HELD, settings=Settings(verdict_strong=1.0), fts=lane(9.0)).grade == "partial"
    strict = Settings(verdict_strong=1.0, verdict_nothing=1.0)
    assert judged(HELD, settings=strict, fts=lane(9.0)).grade == "nothing"


facts = st.lists(
    st.builds(TermStatistics, st.text(max_size=8), st.integers(0, 2000), st.booleans()), max_size=12
).map(tuple)
cosines = st.lists(st.floats(-1, 1), max_size=12).map(lambda s: sorted(s, reverse=True))
scores = st.lists(st.floats(0, 1e6), max_size=12).map(lambda s: sorted(s, reverse=True))


@given(facts, scores, cosines, st.integers(1, 3))
def test_any_answer_has_a_verdict(
    held: tuple[TermStatistics, ...], keyword: list[float], meaning: list[float], first: int
) -> None:
    found = judged(held, fts=lane(*keyword), vector=lane(*meaning, first=first))
    assert 0 <= found.confidence <= 1
    assert found.grade in ("strong", "partial", "nothing")
    assert found == judged(held, fts=lane(*keyword), vector=lane(*meaning, first=first))


@given(facts, st.integers(0, 11), cosines)
def test_holding_one_word_more_never_harms(
    held: tuple[TermStatistics, ...], at: int, meaning: list[float]
) -> None:
    if at >= len(held) or not held[at].pages:
        return
    more = (*held[:at], held[at]._replace(in_top_hit=True), *held[at + 1 :])
    less = (*held[:at], held[at]._replace(in_top_hit=False), *held[at + 1 :])
    lanes = {"fts": lane(1.0), "vector": lane(*meaning)}
    assert judged(more, **lanes).confidence >= judged(less, **lanes).confidence


def test_another_form_of_an_irregular_verb_is_the_word(brain: Brain) -> None:
    brain.put("bike", b"# Bike\n\nBought the grey bike in Potsdam.\n")
    assert brain.search("where did I buy the bike").verdict.missing == ()
    assert brain.search("who bought the grey bike").verdict.missing == ()


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("Buy", ("bought",)),
        ("met", ("meet",)),
        ("written", ("write", "wrote")),
        ("find", ("found",)),
        ("found", ()),
        ("walk", ()),
    ],
)
def test_forms_of_irregular_verbs(word: str, forms: tuple[str, ...]) -> None:
    assert verb_forms(word) == forms


def test_stop_words_of_a_query_with_quotes_are_not_missing(brain: Brain) -> None:
    brain.put("bike", b"# Bike\n\nBought the grey bike in Potsdam.\n")
    verdict = brain.search('where did I get the "grey bike"').verdict
    assert (verdict.grade, verdict.missing) == ("partial", ("get",))
    assert brain.search('wer hat das "grey bike" gekauft').verdict.missing == ("gekauft",)
