"""Each boost by an example that can be checked by hand, and what holds for all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.config import Settings
from gbrain.errors import UsageError
from gbrain.search.boost_factors import BoostInputs, CustomBoost, access_factor, importance_factor
from gbrain.search.boosts import (
    drop_superseded,
    may_mention_date,
    multiply_boosts,
    needs_chunks,
    needs_intent,
    parse_boost,
)
from gbrain.search.intent import detect_intent
from gbrain.text.date_questions import split_question
from gbrain.text.query_terms import parse_terms
from gbrain.types import BoostData, Query, Ranked, Scope

TODAY = date(2026, 11, 16)
NOTE = BoostData("A note", "general", "note")
ALL_OFF = Settings(wing_boost=1.0, date_boost=False, exact_boost=1.0)


def page(slug: str, score: float = 1.0) -> Ranked:
    return Ranked(ord(slug[0]), slug, score, {})


def boosted(
    text: str,
    pages: Sequence[Ranked],
    known: dict[str, BoostData],
    custom: Sequence[CustomBoost] = (),
    **changed: Any,
) -> list[Ranked]:
    """The pages after the boosts for `text`, all boosts off but those in `changed`."""
    settings = Settings(**{**vars(ALL_OFF), **changed})
    facts = {ord(slug[0]): fact for slug, fact in known.items()}
    query = Query(text, parse_terms(text), Scope(), 10)
    periods = split_question(text, TODAY).levels
    inputs = BoostInputs(query, detect_intent(text), periods, TODAY, settings, custom)
    return multiply_boosts(pages, facts, inputs)


def factors(text: str, fact: BoostData, **changed: Any) -> dict[str, float]:
    """The factors that one page gets."""
    return dict(boosted(text, [page("a")], {"a": fact}, **changed)[0].boosts)


def test_all_off_leaves_the_list_alone() -> None:
    pages = [page("a", 2.0), page("b", 1.0)]
    assert boosted("who is Alice Chen on 2026-11-16", pages, {"a": NOTE, "b": NOTE}) == pages


def test_a_factor_multiplies_the_score_and_is_named() -> None:
    people = NOTE._replace(wing="people")
    pages = [page("a", 1.0), page("b", 0.9)]
    first, second = boosted("Alice Chen", pages, {"a": NOTE, "b": people}, wing_boost=1.15)
    assert (first.slug, first.score) == ("b", pytest.approx(0.9 * 1.15))
    assert first.boosts == {"wing": 1.15}
    assert (second.slug, second.score, dict(second.boosts)) == ("a", 1.0, {})


@pytest.mark.parametrize(
    ("text", "wing", "favoured"),
    [
        ("Alice Chen", "people", True),
        ("Alice Chen", "companies", True),
        ("Alice Chen", "concepts", False),
        ("how to prune roses", "resources", True),
        ("how to prune roses", "people", False),
        ("roses", "people", False),
        ("wer ist der Chef von Angela Merkel", "people", False),
    ],
)
def test_names_favour_people_and_how_to_favours_resources(
    text: str, wing: str, favoured: bool
) -> None:
    expected = {"wing": 1.15} if favoured else {}
    assert factors(text, NOTE._replace(wing=wing), wing_boost=1.15) == expected


@pytest.mark.parametrize(
    ("day", "factor"),
    [
        ("2026-04-18", 5.0),
        ("2026-04-17", 3.25),
        ("2026-04-25", 1.5),
        ("2026-05-18", 1.08),
        ("2026-05-19", None),
        ("2026-03-19", 1.08),
        ("not a day", None),
    ],
)
def test_dates_near_the_asked_one_count_by_their_distance(day: str, factor: float | None) -> None:
    found = factors(
        "what happened on 2026-04-18", NOTE._replace(first_day=day, last_day=day), date_boost=True
    )
    assert found == ({"date": factor} if factor else {})


def test_the_date_of_an_entry_counts_before_that_of_its_page() -> None:
    entry = NOTE._replace(
        first_day="2020-01-01",
        last_day="2020-12-31",
        chunk_first_day="2026-04-09",
        chunk_last_day="2026-04-09",
    )
    assert factors("what happened in April 2026", entry, date_boost=True) == {"date": 5.0}
    assert factors("what happened", entry, date_boost=True) == {}


def test_any_entry_of_a_page_counts_and_a_year_matches_no_month() -> None:
    several = NOTE._replace(entry_days=(("2024-01-02", "2024-01-02"), ("2026-04-09", "2026-04-09")))
    assert factors("in April 2026", several, date_boost=True) == {"date": 5.0}
    year = NOTE._replace(entry_days=(("2026-01-01", "2026-12-31"),))
    assert factors("in April 2026", year, date_boost=True) == {}
    assert factors("in 2026", year, date_boost=True) == {"date": 5.0}
    month = NOTE._replace(entry_days=(("2026-04-01", "2026-04-30"),))
    assert factors("on 2026-04-18", month, date_boost=True) == {"date": 1.5}


def test_the_latest_month_of_that_name_counts_most() -> None:
    latest, earlier = (
        factors("in April", NOTE._replace(first_day=day, last_day=day), date_boost=True)["date"]
        for day in ("2026-04-09", "2024-04-09")
    )
    assert latest == 5.0
    assert 4.0 < earlier < 5.0


@pytest.mark.parametrize(
    ("text", "fact", "holds"),
    [
        ("who met Alice Chen", NOTE._replace(title="Alice Chen"), True),
        ("who met alice chen's dog", NOTE._replace(title="Alice Chen"), True),
        ("who likes let's go", NOTE._replace(title="Let's go"), True),
        ("who met malice chen", NOTE._replace(title="Alice Chen"), False),
        ("who met Alice", NOTE._replace(title="Alice Chen"), False),
        ("what about it", NOTE._replace(title="About"), False),
        ("anything", NOTE._replace(has_phrase=True), True),
        ("anything", NOTE._replace(title="…"), False),
    ],
)
def test_an_exact_title_or_phrase(text: str, fact: BoostData, holds: bool) -> None:
    assert factors(text, fact, exact_boost=1.22) == ({"exact": 1.22} if holds else {})


@pytest.mark.parametrize(
    ("passage", "wing", "factor"),
    [
        ("I love green tea.", "journal", 2.35),
        ("In the morning I’m drinking tea.", "journal", 2.1),
        ("Tea is a drink that people love.", "resources", 0.82),
        ("Tea is a drink.", "journal", 0.9),
    ],
)
def test_asked_what_i_prefer_my_own_notes_count(passage: str, wing: str, factor: float) -> None:
    fact = NOTE._replace(wing=wing, chunk_text=passage)
    assert factors("what is my favourite tea", fact, preference_boost=True) == {
        "preference": factor
    }
    assert factors("what is tea", fact, preference_boost=True) == {}


PROSE = "The committee talked at length about everything and nothing. " * 10


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        (NOTE._replace(chunk_text="Version 3.45 since May."), {"concrete": 2.2}),
        (
            NOTE._replace(chunk_text="The first stable one.", chunk_kind="timeline"),
            {"concrete": 2.2},
        ),
        (NOTE._replace(chunk_text="Nobody remembers."), {}),
        (NOTE._replace(chunk_text=PROSE), {"long_prose": 0.75}),
        (NOTE._replace(chunk_text="- " + "\n- ".join(PROSE.split())), {}),
        (NOTE._replace(chunk_text="None.", title="Weekly summary"), {"roll_up": 0.45}),
        (NOTE._replace(chunk_text="None.", room="index"), {"roll_up": 0.45}),
    ],
)
def test_asked_for_a_fact_short_passages_count(fact: BoostData, expected: dict[str, float]) -> None:
    assert factors("what is the version of sqlite", fact, concrete_boost=True) == expected
    assert factors("what is sqlite", fact, concrete_boost=True) == {}


def test_multipliers_compose() -> None:
    both = NOTE._replace(chunk_text=PROSE, title="Monthly digest")
    found = boosted("which version is it", [page("a")], {"a": both}, concrete_boost=True)
    assert found[0].score == pytest.approx(0.45 * 0.75) == pytest.approx(0.3375)


@pytest.mark.parametrize(("importance", "factor"), [(0.0, 0.8), (0.5, 1.0), (1.0, 1.2), (None, 1)])
def test_importance(importance: float | None, factor: float) -> None:
    assert importance_factor(importance) == pytest.approx(factor)


def test_opened_pages_count_by_the_logarithm() -> None:
    assert access_factor(0) == 1.0
    assert access_factor(9) == pytest.approx(1 + 0.1 * math.log(10))
    assert factors("x", NOTE._replace(opens=9), access_boost=True) == {"access": access_factor(9)}
    assert factors("x", NOTE._replace(importance=1.0), importance_boost=True) == {
        "importance": pytest.approx(1.2)
    }


def test_recency_is_a_factor_like_the_others() -> None:
    week_old = NOTE._replace(last_day="2026-11-09")
    assert factors("x", week_old, recency_tau_days=7.0) == {"recency": pytest.approx(math.exp(-1))}
    assert factors("x", week_old, recency_half_life_days=7.0) == {"recency": pytest.approx(0.5)}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("tag:urgent=1.5", CustomBoost("tag", "urgent", 1.5)),
        ("tag:#urgent=1.5", CustomBoost("tag", "urgent", 1.5)),
        (" Wing : people = 2 ", CustomBoost("wing", "people", 2.0)),
        ("slug:projects/a=b=0.5", CustomBoost("slug", "projects/a=b", 0.5)),
        ("tag:a:b=0", CustomBoost("tag", "a:b", 0.0)),
    ],
)
def test_a_boost_as_written(written: str, read: CustomBoost) -> None:
    assert parse_boost(written) == read


@pytest.mark.parametrize(
    "written",
    ["", "urgent", "tag:urgent", "urgent=2", "tag:=2", "room:x=2", "tag:urgent=1.5,wing:people=2"],
)
def test_a_boost_that_cannot_be_read(written: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_boost(written)
    assert refused.value.message == f"Cannot read the boost {written!r}"
    assert "tag:urgent=1.5" in (refused.value.hint or "")


@pytest.mark.parametrize("number", ["", "much", "-1", "nan", "inf", "101"])
def test_a_factor_that_is_none(number: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_boost(f"tag:urgent={number}")
    assert refused.value.message == f"{number!r} is not a valid boost factor"
    assert refused.value.hint == "Use a number from 0 to 100."


@given(st.text())
def test_any_text_is_a_boost_or_a_usage_error(written: str) -> None:
    try:
        assert 0 <= parse_boost(written).factor <= 100
    except UsageError:
        return


@pytest.mark.parametrize(
    ("written", "slug", "fact", "meant"),
    [
        ("tag:Urgent=2", "a", NOTE._replace(tags=("later", "urgent")), True),
        ("tag:urgent=2", "a", NOTE._replace(tags=("urgently",)), False),
        ("wing:People=2", "a", NOTE._replace(wing="people"), True),
        ("slug:archive/=2", "archive/x", NOTE, True),
        ("slug:archive/=2", "a/archive/x", NOTE, False),
    ],
)
def test_a_boost_of_ones_own(written: str, slug: str, fact: BoostData, meant: bool) -> None:
    given_ = parse_boost(written)
    found = boosted("x", [page(slug)], {slug: fact}, [given_])[0]
    assert dict(found.boosts) == ({f"{given_.field}:{given_.value}": 2.0} if meant else {})


def test_factors_for_the_same_multiply() -> None:
    twice = [
        parse_boost("tag:urgent=1.5"),
        parse_boost("tag:urgent=2"),
        parse_boost("wing:people=3"),
    ]
    fact = NOTE._replace(tags=("urgent",), wing="people")
    found = boosted("x", [page("a")], {"a": fact}, twice)[0]
    assert dict(found.boosts) == {"tag:urgent": 3.0, "wing:people": 3.0}
    assert found.score == 9.0


def test_replaced_pages_go_unless_they_are_pinned() -> None:
    old = NOTE._replace(superseded_by="c")
    facts = {ord("a"): old, ord("b"): old._replace(pinned=True), ord("c"): NOTE}
    pages = [page("a"), page("b"), page("c"), page("d")]
    assert drop_superseded(pages, facts) == (pages[1:], ("a",))


def test_passages_are_read_only_for_a_boost_that_looks_at_them() -> None:
    dated = split_question("in May 2026", TODAY).levels
    asked = detect_intent("what is my favourite version")
    assert not needs_chunks(asked, dated, ALL_OFF)
    assert not needs_chunks(detect_intent("x"), (), Settings())
    assert needs_chunks(None, dated, Settings())
    assert needs_chunks(asked, (), Settings(preference_boost=True))
    assert needs_chunks(asked, (), Settings(concrete_boost=True))
    assert needs_chunks(detect_intent("x"), (), Settings(recency_half_life_days=1.0))


@pytest.mark.parametrize(
    "changed",
    [{"wing_boost": 1.15}, {"preference_boost": True}, {"concrete_boost": True},
     {"intent_weights": True}],
)  # fmt: skip
def test_an_intent_is_read_only_if_something_looks_at_it(changed: dict[str, Any]) -> None:
    assert needs_intent(Settings(**changed))
    assert not needs_intent(Settings())


WORDS = """last past this next coming week weeks month year years weekend monday fri on in of May
may march April sept Sept. mid-July yesterday yesterday's tomorrow tonight now morning night ago
from a two couple Q2 2026 2026-04-18 18th the who went (today) Straße since between and before last
summer fall first second third half quarter en im mai letzte Woche gestern""".split()


@given(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join))
def test_a_question_with_a_date_is_never_passed_by(text: str) -> None:
    assert may_mention_date(text) or not split_question(text, TODAY).levels


@pytest.mark.parametrize("text", ["who is lukewarm on cloud rag", "this", "next to the house", ""])
def test_most_questions_need_no_dates_read(text: str) -> None:
    assert not may_mention_date(text)


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.floats(0, 2)), unique_by=lambda p: p[0]),
    st.sets(st.sampled_from("abcdefgh")),
)
def test_no_page_is_lost_and_the_best_come_first(
    scored: list[tuple[str, float]], favoured: set[str]
) -> None:
    pages = [page(slug, score) for slug, score in scored]
    known = {slug: NOTE._replace(wing="people" if slug in favoured else "x") for slug in "abcdefg"}
    found = boosted("Alice Chen", pages, known, wing_boost=1.15)
    assert {one.slug for one in found} == {one.slug for one in pages}
    assert found == sorted(found, key=lambda one: (-one.score, one.slug))
    given_ = dict(scored)
    assert all(
        one.score == pytest.approx(given_[one.slug] * math.prod(one.boosts.values()))
        for one in found
    )
