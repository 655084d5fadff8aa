"""Each profile answers as its source says: worked examples, recomputed by hand."""

from __future__ import annotations

import math
import shutil
from datetime import date
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.config import Settings, all_settings, override_settings
from gbrain.errors import NotFound
from gbrain.profiles import (
    PROFILES,
    SETTINGS_OUTSIDE_PROFILES,
    find_profile,
    is_active_profile,
    profile_values,
)
from gbrain.search.boost_factors import BoostInputs
from gbrain.search.boosts import multiply_boosts
from gbrain.search.fusion import fuse
from gbrain.search.intent import detect_intent, lane_weights
from gbrain.types import BoostData, Candidate, LaneResult, MergeStrategy, Query, Ranked, Scope

TODAY = date(2026, 11, 16)


def settings_of(name: str) -> Settings:
    return override_settings(Settings(), profile_values(name))


def lane(ranks: dict[int, int], score: float = 1.0) -> LaneResult:
    """A lane that has the page with each number at this rank."""
    pages = sorted(ranks, key=ranks.__getitem__)
    return LaneResult(
        tuple(
            Candidate(page, f"page-{page}", None, ranks[page], score / ranks[page])
            for page in pages
        )
    )


def fused(name: str, lanes: dict[str, LaneResult], question: str = "") -> dict[str, float]:
    settings = settings_of(name)
    intent = detect_intent(question) if question else None
    merge: MergeStrategy = settings.search_merge_strategy  # type: ignore[assignment]
    ranked = fuse(lanes, lane_weights(intent, settings), merge, settings)
    return {page.slug: page.score for page in ranked}


def boosted(name: str, question: str, facts: BoostData, score: float = 1.0) -> Ranked:
    settings = settings_of(name)
    page = Ranked(1, "page-1", score, {})
    query = Query(question, (), Scope(), 10, question)
    inputs = BoostInputs(query, detect_intent(question), (), TODAY, settings)
    return multiply_boosts([page], {1: facts}, inputs)[0]


def test_sift_fuses_ranks_and_decays_scores() -> None:
    lanes = {"fts": lane({1: 1, 2: 12}), "vector": lane({1: 4, 2: 1})}
    scores = fused("sift", lanes)
    assert math.isclose(scores["page-1"], 1 / 61 + 1 / 64)
    assert math.isclose(scores["page-2"], 1 / 72 + 1 / 61)
    assert scores["page-1"] > scores["page-2"]
    for age, factor in ((1, 0.87), (30, 0.0138)):
        day = date.fromordinal(TODAY.toordinal() - age).isoformat()
        faded = boosted(
            "sift", "auth tokens", BoostData("", "general", "note", first_day=day, last_day=day)
        )
        assert math.isclose(faded.score, math.exp(-age / 7))
        assert math.isclose(faded.boosts["recency"], factor, rel_tol=0.01)
    assert settings_of("sift").default_limit == 5


def test_fusion_ignores_a_lane_of_weight_0() -> None:
    lanes = {"fts": lane({1: 1, 2: 2}), "vector": lane({1: 3})}
    assert fused("fusion", lanes) == {"page-1": 1.0 / 63}
    settings = override_settings(
        settings_of("fusion"), {"semantic_weight": "0.5", "keyword_weight": "2"}
    )
    ranked = fuse(lanes, lane_weights(None, settings), "rrf", settings)
    assert [(page.slug, page.score) for page in ranked] == [
        ("page-1", pytest.approx(0.5 / 63 + 2 / 61)),
        ("page-2", pytest.approx(2 / 62)),
    ]


def test_jeffs_multiplies_its_penalties() -> None:
    long_roll_up = BoostData("Weekly summary", "general", "index", chunk_text="word " * 200)
    page = boosted("jeffs", "what is the version of the parser?", long_roll_up)
    assert page.boosts == {"roll_up": 0.45, "long_prose": 0.75}
    assert math.isclose(page.score, 0.45 * 0.75)
    assert math.isclose(page.score, 0.3375)


def test_jeffs_counts_ranks_from_0() -> None:
    scores = fused("jeffs", {"fts": lane({1: 1, 2: 2}), "vector": lane({2: 1, 1: 2})})
    assert scores == {
        "page-1": 1 / (60 + 0 + 1) + 1 / (60 + 1 + 1),
        "page-2": pytest.approx(1 / 61 + 1 / 62),
    }


def test_engram_weighs_four_lanes_by_intent() -> None:
    lanes = {
        "vector": lane({1: 1}), "fts": lane({1: 2}), "graph": lane({1: 1}),
        "associative": lane({1: 3}),
    }  # fmt: skip
    who = 0.8 / 61 + 0.8 / 62 + 1.8 / 61 + 0.6 / 63
    assert math.isclose(fused("engram", lanes, "who built the parser?")["page-1"], who)
    when = 0.8 / 61 + 1.2 / 62 + 0.8 / 61 + 0.6 / 63
    assert math.isclose(fused("engram", lanes, "when was the parser built?")["page-1"], when)


def test_engram_boosts_by_importance_use_and_age() -> None:
    day = date.fromordinal(TODAY.toordinal() - 30).isoformat()
    facts = BoostData("", "general", "note", importance=0.9, opens=7, first_day=day, last_day=day)
    settings = override_settings(settings_of("engram"), {"noise_sigma": "0"})
    inputs = BoostInputs(Query("x", (), Scope(), 10, "x"), None, (), TODAY, settings)
    page = multiply_boosts([Ranked(1, "page-1", 1.0, {})], {1: facts}, inputs)[0]
    by_hand = (0.8 + 0.4 * 0.9) * (1 + 0.1 * math.log(8)) * math.exp(-math.log(2) * 30 / 30)
    assert math.isclose(page.score, by_hand)


def test_engram_fades_episodes_but_no_person() -> None:
    day = date.fromordinal(TODAY.toordinal() - 30).isoformat()
    dated = {"first_day": day, "last_day": day}

    def recency(wing: str, **known: object) -> float:
        return boosted("engram", "x", BoostData("", wing, "note", **known)).boosts["recency"]

    for wing in ("journal", "meetings", "general"):
        assert math.isclose(recency(wing, **dated), 0.5)
    old_entry = {**dated, "chunk_first_day": "2019-01-01", "chunk_last_day": "2019-01-01"}
    assert recency("people", **old_entry) == 1
    assert recency("general", **old_entry, has_entries=True) == 1
    assert recency("general", changed_day="2026-01-01") == 1


def test_sift_fades_files_of_unknown_age_like_the_median() -> None:
    days = [date.fromordinal(TODAY.toordinal() - age).isoformat() for age in (1, 14, 70)]
    facts = {n: BoostData("", "general", "note", last_day=day) for n, day in enumerate(days, 1)}
    facts[4] = BoostData("", "general", "note")
    pages = [Ranked(number, f"page-{number}", 1.0, {}) for number in facts]
    query = Query("auth tokens", (), Scope(), 10, "auth tokens")
    inputs = BoostInputs(query, None, (), TODAY, settings_of("sift"))
    faded = multiply_boosts(pages, facts, inputs)
    assert [page.slug for page in faded] == ["page-1", "page-2", "page-4", "page-3"]
    assert math.isclose(faded[2].boosts["recency"], math.exp(-2))


def test_engram_takes_three_times_top_k_from_two_lanes(embedded: Path) -> None:
    changes = {**profile_values("engram"), "rerank": "off"}
    with Brain.open(embedded) as brain:
        asked = "who is Alice Chen of River AI and what does she search with Bo?"
        lanes = brain.query_with_trace(asked, limit=3, changes=changes)[1].lanes.by_name
    assert {name: len(found.pages) for name, found in lanes.items()} == {
        "fts": 9, "vector": 9, "graph": 3, "associative": 3,
    }  # fmt: skip
    assert {settings_of("sift").lane_pool(lane, 5) for lane in lanes} == {50}


def test_engram_adds_noise_after_reranking(embedded: Path) -> None:
    changes = {
        **profile_values("engram"),
        "noise_sigma": "0.5",
        "threshold": "0",
        "rerank": "overlap",
    }
    with Brain.open(embedded) as brain:
        results = brain.query_with_trace("who works on search?", changes=changes)[1]
    assert results.reranked
    assert results.noisy
    reranked = {page.slug: page.score for page in results.reranked.ranked}
    assert list(reranked) != [page.slug for page in results.noisy]
    assert [page.score for page in results.noisy] == pytest.approx(
        [reranked[page.slug] * page.boosts["noise"] for page in results.noisy]
    )


def test_engram_rejects_junk(run, embedded: Path) -> None:
    changes = {**profile_values("engram"), "rerank": "off"}
    junk = "which carburettor fits a vintage tractor?"
    with Brain.open(embedded) as brain:
        answer, results = brain.query_with_trace(junk, changes=changes, depth="auto")
        assert (answer.verdict.grade, answer.hits) == ("nothing", ())
        assert brain.query(junk).hits
        found = brain.query("who is lukewarm on cloud RAG?", changes=changes).hits
        assert found[0].slug == "people/noor-haddad"
        kept = results.threshold.kept[0].slug
        lost = brain.explain_missing(kept, answer, results, changes=changes)
    assert (lost.stage, "such an answer has no hits" in lost.reason) == ("cut", True)


def test_engram_shows_every_stage_with_debug(run, embedded: Path) -> None:
    asked = ("query", "who works on search at River AI?", "--profile", "engram", "--debug")
    stages = {stage["stage"]: stage for stage in run(*asked, "--json").json["trace"]}
    for name in ("vector", "fts", "graph", "associative", "fuse", "boost", "rerank", "noise"):
        scores = [page["score"] for page in stages[name]["scores"]]
        assert scores
        assert scores == sorted(scores, reverse=True)
        assert all(page["slug"] for page in stages[name]["scores"])
    shown = run(*asked).stderr
    assert (
        f"{stages['boost']['scores'][0]['score']:.6f}  {stages['boost']['scores'][0]['slug']}"
        in shown
    )
    assert shown.splitlines()[-1].startswith("total ")


def test_gigabrain_adds_a_bonus_for_pages_in_both_lanes() -> None:
    lanes = {
        "fts": LaneResult(
            (Candidate(1, "page-1", None, 1, 8.0), Candidate(2, "page-2", None, 2, 4.0)),
            lowest_score=0.0,
        ),
        "vector": LaneResult(
            (Candidate(2, "page-2", None, 1, 0.9), Candidate(3, "page-3", None, 2, 0.8)),
            lowest_score=0.5,
        ),
    }
    assert fused("gigabrain", lanes) == {
        "page-1": 1.0,
        "page-2": pytest.approx(1.0 + 0.25),
        "page-3": pytest.approx(0.5),
    }


@pytest.mark.parametrize("name", [profile.name for profile in PROFILES])
def test_a_profile_can_be_set_and_reset(brain: Brain, name: str) -> None:
    brain.use_profile("engram")
    brain.use_profile(name)
    with Brain.open(brain.database.path) as again:
        assert is_active_profile(again.settings, name)
        assert [
            other.name for other in PROFILES if is_active_profile(again.settings, other.name)
        ] == [name]
        again.use_profile("default")
    with Brain.open(brain.database.path) as again:
        assert again.stored_settings == {}


def test_a_profile_pins_every_ranking_setting() -> None:
    assert all_settings().keys() > SETTINGS_OUTSIDE_PROFILES
    assert PROFILES
    for profile in PROFILES:
        pinned = profile_values(profile.name).keys()
        assert pinned == all_settings().keys() - SETTINGS_OUTSIDE_PROFILES
        assert profile.values.keys() <= pinned


def test_a_profile_ignores_other_settings(run, embedded_sample, brain_path) -> None:
    shutil.copy(embedded_sample, brain_path)
    asked = ("query", "river ai notes", "--json", "--profile")
    before = {name: run(*asked, name).json["results"] for name in ("sift", "fusion", "gigabrain")}
    assert before["sift"]
    for hit in before["sift"]:
        ranks = [rank for rank in (hit["bm25_rank"], hit["vec_rank"]) if rank]
        by_hand = sum(1 / (60 + rank) for rank in ranks) * (hit["recency"] or 1)
        assert math.isclose(hit["score"], by_hand, abs_tol=2e-6)
    for name, value in {
        "rrf_k": "10", "both_bonus": "0", "chunk_bonus": "0", "rerank_mix": "0.1",
        "search_mode": "bm25", "title_weight": "9", "candidate_pool": "3", "mmr_lambda": "0.2",
        "threshold": "0.9", "default_limit": "2",
    }.items():  # fmt: skip
        assert run("config", "set", name, value).exit_code == 0
    assert {name: run(*asked, name).json["results"] for name in before} == before


def test_changing_a_pinned_setting_ends_the_profile(run, brain_path) -> None:
    run("put", "note", stdin=b"# Note\n")
    run("config", "set", "rrf_k", "10")
    used = run("profile", "use", "jeffs")
    assert used.stderr.splitlines() == [
        "This brain now uses the profile jeffs. To undo: gbrain profile use default",
        "It replaced your own settings: rrf_k 10.",
    ]
    run("config", "set", "rrf_k", "10")
    rows = run("profile", "list", "--json").json["profiles"]
    assert rows
    assert not any(row["active"] for row in rows)
    back = run("profile", "use", "default", "--json").json
    assert back["replaced"]["rrf_k"] == "10"
    assert run("config", "get", "rrf_k").stdout.strip() == "60"
    assert run("profile", "use", "default").stderr == "This brain now uses the profile default.\n"


def test_engram_has_separate_date_factors() -> None:
    settings = settings_of("engram")
    factors = (settings.date_day_factor, settings.date_week_factor, settings.date_month_factor)
    assert factors == (1.35, 1.2, 1.08)
    assert {"date_day_factor", "rrf_k"} <= find_profile("engram").values.keys()


def test_an_unknown_profile_lists_the_known_ones() -> None:
    with pytest.raises(NotFound, match="There is no profile 'zen'") as caught:
        find_profile("zen")
    assert caught.value.hint == "The profiles are default, gigabrain, jeffs, engram, fusion, sift."


def test_a_profile_for_one_query_or_all(run, embedded_sample, brain_path) -> None:
    shutil.copy(embedded_sample, brain_path)
    once = run("query", "river ai notes", "--profile", "sift", "--json").json
    assert (once["merge"], len(once["results"])) == ("rrf", 5)
    assert run("query", "river ai notes", "--json").json["merge"] == "set-union"
    assert run("profile", "use", "sift").exit_code == 0
    assert run("query", "river ai notes", "--json").json["merge"] == "rrf"
    rows = run("profile", "list", "--json").json["profiles"]
    assert [row["name"] for row in rows if row["active"]] == ["sift"]
    assert run("profile", "show", "sift", "--json").json["settings"]["recency_tau_days"] == "7"
