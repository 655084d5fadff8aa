"""`gbrain explain --why-not`: the stage that lost a page, and a remedy that works."""

from __future__ import annotations

import shlex

import pytest

LUKEWARM = "who is lukewarm on cloud RAG?"
SEARCH = "who works on search?"


@pytest.fixture(autouse=True)
def full_bonuses(run, embedded):
    """Let agreement of the lanes count in full, so that pages are far apart."""
    run("config", "set", "full_coverage", "0")


def lost(run, text, slug, *options):
    found = run("explain", text, "--why-not", slug, *options, "--json").json["why_not"]
    assert found["slug"] == slug
    return found["stage"], found["reason"], found["remedy"]


def is_shown(run, text, slug, *options):
    return lost(run, text, slug, *options)[0] == "shown"


def test_recency_is_named_with_its_factor(run, embedded):
    slug = "people/noor-haddad"
    stage, reason, remedy = lost(run, LUKEWARM, slug, "--profile", "sift")
    assert stage == "boost"
    assert reason.startswith("recency × ")
    assert " moved it from 1st to " in reason
    assert remedy.startswith("Ask with --no-decay, or with --limit ")
    assert is_shown(run, LUKEWARM, slug, "--profile", "sift", "--no-decay")
    assert is_shown(run, LUKEWARM, slug, "--profile", "sift", "--limit", remedy.split()[-1])


def test_a_custom_boost_is_named_as_given(run, embedded):
    slug, given = "projects/home-backup", ("--boost", "slug:projects/=0")
    stage, reason, remedy = lost(run, "home backup plan", slug, *given)
    assert (stage, reason.split(" moved ")[0]) == ("boost", "slug:projects/ × 0")
    assert remedy.startswith("Ask without --boost slug:projects/=0, or with --limit ")
    assert is_shown(run, "home backup plan", slug)


def test_a_page_that_a_boost_lifted_is_named(run, embedded):
    asked, slug = "search experiments in April", "meetings/2026-06-18-lanternworks-pitch"
    stage, reason, remedy = lost(run, asked, slug, "--limit", "3")
    assert (stage, "meetings/2026-04-09-river-ai-onboarding date × " in reason) == ("boost", True)
    assert remedy == "Ask with --limit 11"
    assert is_shown(run, asked, slug, "--limit", "11")


def test_a_boost_is_kept_if_removing_it_does_not_help(run, embedded):
    run("config", "set", "mmr_lambda", "0.4")
    asked, slug = "search experiments in April", "meetings/2026-06-18-lanternworks-pitch"
    stage, reason, remedy = lost(run, asked, slug, "--limit", "5")
    assert (stage, "date × 5" in reason) == ("boost", True)
    assert remedy == "Ask with --limit 8"


def test_a_page_of_another_time_is_named_as_such(run, embedded):
    stage, reason, remedy = lost(run, "what happened in April?", "resources/git-worktrees")
    assert (stage, "nothing on the page is dated then" in reason) == ("scope", True)
    assert remedy == "Add words of the page to the query."


def test_the_reranker_is_named_with_its_score(run, embedded):
    slug = "projects/field-notebook"
    stage, reason, remedy = lost(run, SEARCH, slug, "--rerank", "--limit", "3")
    assert stage == "rerank"
    assert reason.startswith("The reranker's score 0.")
    assert " (weight 0.85) moved it from 1st to 4th of " in reason
    assert remedy == "Ask without --rerank, or with --limit 4"
    assert is_shown(run, SEARCH, slug, "--limit", "3")
    assert is_shown(run, SEARCH, slug, "--rerank", "--limit", "4")
    run("config", "set", "rerank", "cross-encoder")
    remedy = lost(run, SEARCH, slug, "--limit", "3")[2]
    assert remedy == "gbrain config reset rerank, or ask with --limit 4"


def test_mmr_is_named_as_the_stage(run, embedded):
    run("config", "set", "mmr_lambda", "0.3")
    stage, reason, remedy = lost(run, LUKEWARM, "people/ivy-marlow", "--limit", "5")
    assert (stage, "mmr_lambda 0.3" in reason) == ("variety", True)
    assert remedy.startswith("gbrain config reset mmr_lambda, or ask with --limit ")


def test_a_low_rank_from_the_start_is_the_limit(run, embedded):
    slug = "concepts/spaced-repetition"
    stage, reason, remedy = lost(run, LUKEWARM, slug, "--limit", "1")
    assert (stage, reason, remedy) == (
        "limit", "It is 29th of 29 pages, 1 is shown.", "Ask with --limit 29",
    )  # fmt: skip
    assert is_shown(run, LUKEWARM, slug, "--limit", "29")


def test_the_pool_is_the_one_of_the_query(run, embedded):
    run("config", "set", "candidate_pool", "3")
    slug = "concepts/spaced-repetition"
    stage, reason, remedy = lost(run, "notes", slug)
    assert (stage, "candidate_pool keeps the first 3 of each lane." in reason) == ("lanes", True)
    commands = remedy.partition(", or ")[0].split(" and ask ")
    assert commands
    for command in commands:
        if command.startswith("gbrain "):
            assert run(*shlex.split(command)[1:]).exit_code == 0
    more = remedy.partition(" and ask with ")[2].partition(", or ")[0]
    assert is_shown(run, "notes", slug, *more.split())
    run("config", "set", "candidate_pool", "3")
    assert lost(run, "notes", slug, "--profile", "sift")[0] != "lanes"


def test_a_profile_s_value_is_undone_with_the_profile(run, embedded):
    asked, slug = "notes on retrieval in April", "resources/git-worktrees"
    stage, reason, remedy = lost(run, asked, slug, "--profile", "engram")
    assert (stage, "threshold 0.6 of the best, 0.0" in reason) == ("cut", True)
    assert remedy == "Ask without --profile engram"
    run("config", "set", "threshold", "0.5")
    remedy = lost(run, asked, slug, "--profile", "engram")[2]
    assert remedy == "gbrain config reset threshold and ask without --profile engram"


def test_thresholds_are_explained_in_numbers(run, embedded):
    run("config", "set", "relevance_floor", "0.5")
    stage, reason, remedy = lost(run, LUKEWARM, "companies/river-ai")
    assert (stage, remedy) == ("cut", "gbrain config reset relevance_floor")
    assert "with similarity 0.47" in reason
    assert "below relevance_floor 0.5." in reason
    run("config", "reset", "relevance_floor")
    run("config", "set", "threshold", "0.6")
    stage, reason, remedy = lost(run, LUKEWARM, "companies/river-ai")
    assert (stage, remedy) == ("cut", "gbrain config reset threshold")
    assert reason.startswith("Its score 0.71")
    assert reason.endswith(" is below 1.117: threshold 0.6 of the best, 1.861.")


def test_an_unmatched_and_is_explained(run, embedded):
    asked, slug = "sourdough AND backup", "resources/sourdough-starter"
    stage, reason, remedy = lost(run, asked, slug, "--mode", "bm25")
    assert stage == "lanes"
    assert "The query asks for sourdough AND backup; it contains sourdough, not backup." in reason
    assert remedy == "Ask without --mode bm25, or with OR: sourdough OR backup"
    assert is_shown(run, "sourdough OR backup", slug, "--mode", "bm25")
    more = lost(run, asked, "packing-list", "--mode", "bm25", "--limit", "2")[2]
    assert "with --limit 7 and OR: sourdough OR backup" in more
    assert is_shown(run, "sourdough OR backup", "packing-list", "--mode", "bm25", "--limit", "7")
    none = lost(run, "zebra AND backup", slug, "--mode", "bm25")[2]
    assert "OR" not in none
    assert is_shown(run, asked, slug)


@pytest.mark.parametrize(
    ("options", "cause", "remedy"),
    [
        (("--mode", "bm25"), "--mode bm25", "Ask without --mode bm25"),
        (("search_mode", "bm25"), "search_mode bm25", "gbrain config reset search_mode"),
        (("semantic_weight", "0"), "semantic_weight 0", "gbrain config reset semantic_weight"),
    ],
)
def test_a_lane_that_is_off_is_named(run, embedded, options, cause, remedy):
    asked, slug = "fermented dough rise", "resources/sourdough-starter"
    if not options[0].startswith("--"):
        run("config", "set", *options)
        options = ()
    assert lost(run, asked, slug, *options) == (
        "lanes",
        f"It is 1st in the vector lane, which {cause} switches off. "
        "It contains none of the query's words.",
        remedy,
    )


def test_a_small_pool_is_named_in_semantic_mode(run, embedded):
    run("config", "set", "candidate_pool", "1")
    reason, remedy = lost(run, "sqlite", "people/wen-okoye", "--mode", "semantic")[1:]
    assert "in the vector lane; candidate_pool keeps the first 1 of each lane." in reason
    assert remedy.startswith("gbrain config set candidate_pool ")


def test_a_brain_without_vectors_says_so(run, sample):
    reason = lost(run, "fermented dough rise", "resources/sourdough-starter")[1]
    assert "The brain has no vectors yet: run gbrain embed." in reason


@pytest.mark.parametrize(
    ("text", "slug", "options", "reason", "remedy"),
    [
        ("river before:2020-01-01", "companies/river-ai", (),
         "It does not match before:2020-01-01.",
         "Ask without before:2020-01-01."),
        ("river after:2027", "companies/river-ai", ("--wing", "people"),
         "It does not match --wing and after:2027-01-01.",
         "Ask without --wing and after:2027-01-01."),
        ("river", "companies/river-ai", ("--since", "2027-01"),
         "It does not match --since.", "Ask without --since."),
        ("river", "companies/river-ai", ("--since", "2026-03", "--until", "2026-03-02"),
         "It does not match --since and --until.",
         "Ask without --since and --until."),
        ("river NOT hybrid", "concepts/hybrid-search", (),
         "It contains hybrid, which NOT hybrid excludes.", "Ask without NOT hybrid."),
        ("river NOT (hybrid OR zebra)", "concepts/hybrid-search", (),
         "It contains hybrid, which NOT (hybrid OR zebra) excludes.",
         "Ask without NOT (hybrid OR zebra)."),
        ("river NOT wing:people", "people/noor-haddad", (),
         "NOT wing:people excludes it.", "Ask without NOT wing:people."),
    ],
)  # fmt: skip
def test_filters_are_named_as_given(run, embedded, text, slug, options, reason, remedy):
    assert lost(run, text, slug, *options) == ("scope", reason, remedy)


def test_the_superseding_page_is_named(run, embedded):
    run("supersede", "people/noor-haddad", "people/alice-chen")
    stage, reason, _ = lost(run, LUKEWARM, "people/noor-haddad")
    assert stage == "superseded"
    assert reason.startswith("people/alice-chen supersedes it")
    assert is_shown(run, LUKEWARM, "people/noor-haddad", "--include-superseded")


def test_explain_takes_as_of(run, embedded):
    ran = run("explain", "river ai and alice", "--as-of", "2026-05-01", "--json")
    assert "2026-06-18" not in str(ran.json["lanes"])
