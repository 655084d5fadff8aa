"""`gbrain explain`: the document, the plain text and the stage that lost a page."""

from __future__ import annotations

import math

import pytest

LUKEWARM = "who is lukewarm on cloud RAG?"


def explained(run, *arguments):
    return run("explain", *arguments, "--json").json


def test_the_whole_trace_is_one_document(run, embedded):
    document = explained(run, LUKEWARM)
    assert set(document) == {
        "query", "mode", "short_circuit", "lanes", "beyond", "fusion", "superseded", "boosts",
        "rerank", "noise", "cut", "verdict", "results", "trace", "took_ms", "why_not",
    }  # fmt: skip
    assert document["query"]["understood"] == "lukewarm cloud RAG"
    assert document["results"][0]["slug"] == "people/noor-haddad"
    assert {"fts", "vector", "fuse"} <= {stage["stage"] for stage in document["trace"]}


def test_the_repaired_spelling_is_shown(run, embedded):
    assert "understood  sourdogh → sourdough\n" in run("explain", "sourdogh").stdout


def test_reciprocal_rank_fusion_adds_up(run, embedded):
    document = explained(run, LUKEWARM, "--merge", "rrf")
    ranks = {
        lane: {page["slug"]: page["rank"] for page in pages}
        for lane, pages in document["lanes"].items()
    }
    assert document["fusion"]["pages"]
    for page in document["fusion"]["pages"]:
        slug = page["slug"]
        by_hand = sum(1 / (60 + found[slug]) for found in ranks.values() if slug in found)
        assert math.isclose(page["score"], by_hand)


def test_set_union_adds_a_share_of_the_lower_part(run, embedded):
    pages = explained(run, "backup of notes")["fusion"]["pages"]
    assert pages
    for page in pages:
        best, *others = sorted(page["parts"].values(), reverse=True)
        assert math.isclose(page["score"], best + 0.6 * sum(others))


@pytest.mark.parametrize(
    ("arguments", "stage", "remedy"),
    [
        ((LUKEWARM, "people/noor-haddad"), "shown", None),
        (("alice chen", "people/noor-haddad"), "short_circuit", "short_circuit off"),
        ((LUKEWARM, "concepts/spaced-repetition"), "limit", "--limit 29"),
        (("river", "people/noor-haddad", "--wing", "companies"), "scope", "--wing"),
        (("river NOT hybrid", "concepts/hybrid-search"), "scope", "NOT"),
        (("zyzzyva", "people/noor-haddad", "--mode", "bm25"), "lanes", "alias"),
    ],
)
def test_why_not_names_the_stage_and_a_remedy(run, embedded, arguments, stage, remedy):
    text, slug, *more = arguments
    found = explained(run, text, "--why-not", slug, *more)["why_not"]
    assert (found["slug"], found["stage"]) == (slug, stage)
    assert (remedy or "") in (found["remedy"] or "")


def test_why_not_names_the_candidate_pool(run, embedded):
    run("config", "set", "candidate_pool", "3")
    found = explained(run, "notes", "--why-not", "concepts/spaced-repetition")["why_not"]
    assert found["stage"] == "lanes"
    assert "in the vector lane; candidate_pool keeps the first 3 of each lane." in found["reason"]
    assert found["remedy"].startswith("gbrain config set candidate_pool ")


def test_why_not_names_a_superseded_page(run, embedded):
    run("supersede", "people/noor-haddad", "people/alice-chen")
    found = explained(run, LUKEWARM, "--why-not", "people/noor-haddad")["why_not"]
    assert (found["stage"], "--include-superseded" in found["remedy"]) == ("superseded", True)
    assert run("query", LUKEWARM, "--json").json["superseded"] == ["people/noor-haddad"]


def test_in_a_pipe_it_is_plain_text(run, embedded):
    lines = run("explain", LUKEWARM, "--why-not", "people/alice-chen").stdout.splitlines()
    assert lines[:2] == ["Why not", "  people/alice-chen: It is hit 4."]
    assert "Merged by set-union, 29 pages" in lines
    assert any(line.startswith("Verdict: ") for line in lines)


def test_an_unknown_page_is_an_error(run, embedded):
    ran = run("explain", "river", "--why-not", "people/alice-chan")
    assert (ran.exit_code, "people/alice-chen" in ran.stderr) == (1, True)


def test_explain_does_not_record_the_query(run, sample):
    run("config", "set", "record_queries", "on")
    run("explain", "zebra crossings", "--why-not", "people/alice-chen")
    assert "zebra" not in run("gaps").stdout
    run("query", "zebra crossings")
    assert "zebra" in run("gaps").stdout
