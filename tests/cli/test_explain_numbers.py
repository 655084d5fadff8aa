"""`gbrain explain`: every score is worked out again, from the document and from the screen."""

from __future__ import annotations

import math
import re

import pytest

LUKEWARM = "who is lukewarm on cloud RAG?"
BACKUP = "backup of notes"
APRIL = "what did Alice say in April?"


def scaled(score, span):
    if span["high"] == span["low"]:
        return 1.0
    return (score - span["low"]) / (span["high"] - span["low"])


def candidates(document):
    """Rank and score of each page by lane, those beyond the pool included."""
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
    """What a passage has in both lanes, from its scores there."""
    scales = document["fusion"]["scales"]
    return sum(scaled(score, scales[lane]["passages"]) for lane, score in shared.items()) / 2


def check_fusion(document):
    """Every part and every total, from the lanes' own scores and ranks."""
    fusion, known = document["fusion"], candidates(document)
    constants = fusion["constants"]
    assert fusion["pages"]
    for page in fusion["pages"]:
        parts = {
            lane: own(document, lane, pages[page["slug"]])
            for lane, pages in known.items()
            if page["slug"] in pages
        }
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


def test_a_page_beyond_a_lane_s_pool_has_its_part_too(run, embedded):
    run("config", "set", "candidate_pool", "4")
    document = run("explain", BACKUP, "--json").json
    assert document["beyond"]["vector"][0]["rank"] > 4
    check_fusion(document)


def test_a_lane_alone_counts_by_the_same_rule(run, embedded):
    document = run("explain", BACKUP, "--mode", "bm25", "--json").json
    assert (document["fusion"]["merge"], document["fusion"]["by"]) == (None, "set-union")
    check_fusion(document)


def test_weights_are_settings_times_what_the_intent_says(run, embedded):
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


def test_boosts_multiply_the_fused_score(run, embedded):
    document = run(
        "explain", APRIL, "--boost", "slug:projects/=0.5", "--boost", "wing:people=1.2", "--json"
    ).json
    fused = {page["slug"]: page["score"] for page in document["fusion"]["pages"]}
    names = {name for page in document["boosts"] for name in page["factors"]}
    assert names == {"date", "slug:projects/", "wing:people"}
    for page in document["boosts"]:
        assert page["fused"] == fused[page["slug"]]
        assert page["score"] == pytest.approx(page["fused"] * math.prod(page["factors"].values()))


@pytest.mark.parametrize("question", [LUKEWARM, BACKUP])
def test_a_reranked_score_is_a_mixture(run, embedded, question):
    rerank = run("explain", question, "--rerank", "--json").json["rerank"]
    assert rerank["weight"] == pytest.approx(rerank["mix"] * rerank["trust"])
    by_place = {page["place"]: page["score"] for page in rerank["unread"]}
    judged = iter(rerank["pages"])
    ceiling = rerank["high"]
    for place in range(1, rerank["head"] + 1):
        if place in by_place:
            ceiling = min(ceiling, by_place[place])
            continue
        page = next(judged)
        before = scaled(page["before"], rerank)
        mixed = (1 - rerank["weight"]) * before + rerank["weight"] * page["opinion"]
        ceiling = min(ceiling, rerank["low"] + (rerank["high"] - rerank["low"]) * mixed)
        assert page["score"] == pytest.approx(ceiling)


def sums_on(screen):
    """Each line's sum as written, worked out, and what the line says it is."""
    for line in screen.splitlines():
        found = re.match(r"^ +(?:\d+  )?([(a-z0-9].* [+×/].*|\w+ [\d.]+(?:/\S+)?) = (\S+)", line)
        if not found or not re.search(r"  \S+/?\S*$", line) or "weight =" in line:
            continue
        written = re.sub(r"\b[a-z_]+(:[\w/]+)? ", "", found[1]).replace("×", "*")
        yield eval(written, {"__builtins__": {}}), found[2]


@pytest.mark.parametrize(
    ("options", "least"),
    [
        (("--merge", "set-union"), 5),
        (("--merge", "set-union-rank"), 5),
        (("--merge", "rrf"), 5),
        (("--merge", "blend"), 5),
        (("--profile", "engram"), 15),
        (("--profile", "sift"), 10),
        (("--rerank",), 10),
    ],
)
@pytest.mark.parametrize("question", [LUKEWARM, APRIL])
def test_both_sides_of_each_line_agree_as_they_are_written(run, embedded, options, least, question):
    sums = list(sums_on(run("explain", question, *options).stdout))
    assert len(sums) >= least
    for worked_out, written in sums:
        told = f"{worked_out:.4f}" if abs(worked_out) >= 0.1 else f"{worked_out:.4g}"
        assert told == written


def test_reciprocal_ranks_are_shown_with_their_weights(run, embedded):
    run("config", "set", "keyword_weight", "1.8")
    shown = run("explain", LUKEWARM, "--merge", "rrf").stdout
    assert "  1  fts 1.8/(60+1) + vector 1/(60+1) = 0.0459  people/noor-haddad" in shown


def test_the_rule_names_only_lanes_that_ran(run, embedded):
    both = run("explain", BACKUP).stdout
    assert "  score = best part + 0.6 × the others\n" in both
    alone = run("explain", BACKUP, "--mode", "bm25").stdout
    assert "  score = best part\n" in alone
    assert "vector" not in alone


def test_what_a_question_was_taken_for_is_shown(run, embedded):
    shown = run("explain", "which phone number do I like best?", "--profile", "jeffs").stdout
    assert "  intent      what, preference, concrete\n" in shown
    shown = run("explain", "Who is Alice Chen?", "--profile", "engram").stdout
    assert "  intent      who, entity\n" in shown
    assert (
        "  weights     vector 1 × 0.8, fts 1 × 0.8, graph 1 × 1.8, associative 1 × 0.6\n" in shown
    )


def test_the_rungs_of_the_ladder_stand_below_each_other(run, embedded):
    ran = run("explain", "sourdogh")
    assert "Retry ladder\n  initial: sourdogh = 0\n  strongest_term: sourdogh = 0\n" in ran.stdout
    assert "  trigram_fuzzy: sourdogh → sourdough = 4\n" in ran.stdout
    assert "['" not in ran.stdout
    assert run("explain", "sourdogh", "--json").json["query"]["read_as"] == "sourdough"


def test_reading_and_cutting_take_time_too(run, embedded):
    stages = [stage["stage"] for stage in run("explain", BACKUP, "--json").json["trace"]]
    assert (stages[0], "cut" in stages) == ("parse", True)


def test_a_query_that_finds_nothing_has_no_arithmetic(run, embedded):
    shown = run("explain", "zzzz qqqq", "--mode", "bm25").stdout
    assert "Fusion by set-union, 0 pages\nCut\n  0 pages kept, 0 shown\n" in shown


def test_the_whole_time_holds_the_time_of_each_stage(run, embedded):
    document = run("explain", "alice chen", "--json").json
    assert document["took_ms"] >= max(stage["ms"] for stage in document["trace"]) - 0.01
