"""`gbrain explain`: every score can be recomputed from the document."""

from __future__ import annotations

import math

import pytest

LUKEWARM = "who is lukewarm on cloud RAG?"
BACKUP = "backup of notes"
TABLET = "field notebook tablet"
APRIL = "what did Alice say in April?"


def scaled(score, span):
    if span["high"] == span["low"]:
        return 1.0
    return (score - span["low"]) / (span["high"] - span["low"])


def candidates(document):
    """Return rank and score of each page by lane, those beyond the pool included."""
    return {
        lane: {page["slug"]: page for page in (*pages, *document["beyond"][lane])}
        for lane, pages in document["lanes"].items()
    }


def own(document, lane, page):
    fusion = document["fusion"]
    if fusion["by"] == "rrf":
        return 1 / (fusion["constants"]["rrf_k"] + page["rank"])
    if fusion["by"] == "set-union-rank":
        return 1 / page["rank"]
    return scaled(page["score"], fusion["scales"][lane])


def worth(document, shared):
    """Return the mean of a chunk's scaled scores in both lanes."""
    scales = document["fusion"]["scales"]
    return sum(scaled(score, scales[lane]["passages"]) for lane, score in shared.items()) / 2


def check_fusion(document):
    """Every part and every total follows from the lanes' scores and ranks."""
    fusion, known = document["fusion"], candidates(document)
    constants = fusion["constants"]
    assert fusion["pages"]
    for page in fusion["pages"]:
        parts = {
            lane: own(document, lane, pages[page["slug"]])
            for lane, pages in known.items()
            if page["slug"] in pages
        }
        if page["literal"]:
            parts["fts"] *= 1 + page["literal"]
        if page["shared"]:
            parts["vector"] += constants["chunk_bonus"] * worth(document, page["shared"]["scores"])
        parts = {lane: fusion["weights"].get(lane, 1.0) * part for lane, part in parts.items()}
        assert page["parts"] == pytest.approx(parts)
        best, *others = sorted(parts.values(), reverse=True)
        total = {
            "set-union": best + constants["both_bonus"] * sum(others),
            "set-union-rank": best + constants["rank_bonus"] * bool(others),
        }.get(fusion["by"], best + sum(others))
        assert page["score"] == pytest.approx(total)


@pytest.mark.parametrize("question", [LUKEWARM, BACKUP, APRIL])
@pytest.mark.parametrize("merge", ["set-union", "set-union-rank", "rrf", "blend"])
def test_every_part_and_total_comes_from_the_lanes(run, embedded, merge, question):
    document = run("explain", question, "--merge", merge, "--json").json
    assert len(document["lanes"]) == 2
    check_fusion(document)


def test_a_page_beyond_the_pool_has_its_part_too(run, embedded):
    run("config", "set", "candidate_pool", "4")
    document = run("explain", BACKUP, "--json").json
    assert document["beyond"]["vector"][0]["rank"] > 4
    check_fusion(document)


def test_one_lane_is_scored_by_the_same_rule(run, embedded):
    document = run("explain", BACKUP, "--mode", "bm25", "--json").json
    assert (document["fusion"]["merge"], document["fusion"]["by"]) == (None, "set-union")
    check_fusion(document)


def test_weights_are_settings_times_intent_factors(run, embedded):
    run("config", "set", "keyword_weight", "1.5")
    run("config", "set", "intent_weights", "on")
    document = run("explain", LUKEWARM, "--json").json
    fusion = document["fusion"]
    assert fusion["intent_factors"]["fts"] == 0.8
    assert fusion["weights"] == pytest.approx(
        {lane: set_ * fusion["intent_factors"][lane]
         for lane, set_ in fusion["setting_weights"].items()}
    )  # fmt: skip
    check_fusion(document)


def check_boosts(document):
    """Every boosted score is the fused score times its factors."""
    fused = {page["slug"]: page["score"] for page in document["fusion"]["pages"]}
    for page in document["boosts"]:
        assert page["fused"] == fused[page["slug"]]
        assert page["score"] == pytest.approx(page["fused"] * math.prod(page["factors"].values()))


def check_rerank(rerank):
    """Every reranked score is a mixture, and at most that of the page before."""
    if rerank["trust"] is not None:
        assert rerank["weight"] == pytest.approx(rerank["mix"] * rerank["trust"])
    by_place = {page["place"]: page["score"] for page in rerank["unread"]}
    judged = iter(rerank["pages"])
    ceiling = rerank["high"]
    assert rerank["head"]
    for place in range(1, rerank["head"] + 1):
        if place in by_place:
            ceiling = min(ceiling, by_place[place])
            continue
        page = next(judged)
        before = scaled(page["before"], rerank)
        mixed = (1 - rerank["weight"]) * before + rerank["weight"] * page["opinion"]
        ceiling = min(ceiling, rerank["low"] + (rerank["high"] - rerank["low"]) * mixed)
        assert page["score"] == pytest.approx(ceiling)


def test_boosts_multiply_the_fused_score(run, embedded):
    document = run(
        "explain", APRIL, "--boost", "slug:projects/=0.5", "--boost", "wing:people=1.2", "--json"
    ).json
    names = {name for page in document["boosts"] for name in page["factors"]}
    assert names == {"date", "slug:projects/", "wing:people"}
    check_boosts(document)


@pytest.mark.parametrize("question", [LUKEWARM, "how do I keep a backup of notes?"])
def test_a_reranked_score_is_a_mixture(run, embedded, question):
    rerank = run("explain", question, "--rerank", "--json").json["rerank"]
    assert rerank["trust"] is not None
    check_rerank(rerank)


@pytest.mark.parametrize(
    "options",
    [
        ("--merge", "set-union"),
        ("--merge", "set-union-rank"),
        ("--merge", "rrf"),
        ("--merge", "blend"),
        ("--profile", "engram"),
        ("--profile", "sift"),
        ("--rerank",),
    ],
)
@pytest.mark.parametrize("question", [LUKEWARM, APRIL])
def test_every_score_can_be_recomputed(run, embedded, options, question):
    document = run("explain", question, *options, "--json").json
    check_fusion(document)
    assert document["boosts"] or question == LUKEWARM, "a question about a month has a date boost"
    check_boosts(document)
    if document["rerank"]:
        check_rerank(document["rerank"])


@pytest.mark.parametrize("merge", ["set-union", "set-union-rank", "rrf", "blend"])
def test_the_screen_rounds_the_scores_of_the_document(run, embedded, merge):
    pages = run("explain", LUKEWARM, "--merge", merge, "--json").json["fusion"]["pages"][:5]
    shown = run("explain", LUKEWARM, "--merge", merge).stdout
    assert len(pages) == 5
    for page in pages:
        assert f" = {page['score']:.4f}  {page['slug']}\n" in shown


def test_reciprocal_ranks_are_shown_with_their_weights(run, embedded):
    run("config", "set", "keyword_weight", "1.8")
    shown = run("explain", LUKEWARM, "--merge", "rrf").stdout
    assert "  1  keyword 1.8/(60+1) + vector 1/(60+1) = 0.0459  people/noor-haddad" in shown


def test_the_factor_for_all_words_is_shown(run, embedded):
    page = run("explain", TABLET, "--json").json["fusion"]["pages"][0]
    assert page["literal"] == 0.25
    shown = run("explain", TABLET).stdout
    assert f"keyword {page['own']['fts']:.4f} × 1.25 + 0.6 × " in shown


def test_the_rule_names_only_lanes_that_ran(run, embedded):
    both = run("explain", BACKUP).stdout
    assert "  score = best lane + 0.6 × the other lanes\n" in both
    alone = run("explain", BACKUP, "--mode", "bm25").stdout
    assert "  score = best lane\n" in alone
    assert "vector" not in alone


def test_the_intent_of_a_question_is_shown(run, embedded):
    shown = run("explain", "which phone number do I like best?", "--profile", "jeffs").stdout
    assert "  intent      what, preference, concrete\n" in shown
    shown = run("explain", "Who is Alice Chen?", "--profile", "engram").stdout
    assert "  intent      who, entity\n" in shown
    assert (
        "  weights     vector 1 × 0.8, keyword 1 × 0.8, graph 1 × 1.8, associative 1 × 0.6\n"
        in shown
    )


def test_the_retry_ladder_has_a_line_for_each_rung(run, embedded):
    ran = run("explain", "sourdogh")
    assert "Retry ladder\n  initial: sourdogh = 0\n  strongest_term: sourdogh = 0\n" in ran.stdout
    assert "  trigram_fuzzy: sourdogh → sourdough = 4\n" in ran.stdout
    assert "['" not in ran.stdout
    assert run("explain", "sourdogh", "--json").json["query"]["read_as"] == "sourdough"


def test_parsing_and_the_threshold_are_timed(run, embedded):
    stages = [stage["stage"] for stage in run("explain", BACKUP, "--json").json["trace"]]
    assert (stages[0], "cut" in stages) == ("parse", True)


def test_a_query_without_results_has_no_sums(run, embedded):
    shown = run("explain", "zzzz qqqq", "--mode", "bm25").stdout
    assert "Merged by set-union, 0 pages\nResults, 0 of 0 pages\n" in shown


def test_the_total_time_includes_each_stage(run, embedded):
    document = run("explain", "alice chen", "--json").json
    assert document["took_ms"] >= max(stage["ms"] for stage in document["trace"]) - 0.01
