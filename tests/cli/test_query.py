"""`query` as JSON, as text and line by line."""

from __future__ import annotations

import json
import sqlite3

import pytest

ANSWER = {
    "query", "mode", "merge", "short_circuit", "fell_back_to_bm25", "notice", "read_as",
    "did_you_mean", "verdict", "superseded", "results", "took_ms",
}  # fmt: skip
HIT = {
    "rank", "slug", "title", "wing", "room", "type", "date", "score", "snippet", "chunk", "lanes",
    "boosts", "bm25_rank", "vec_rank", "cosine", "recency", "weak",
}  # fmt: skip
LUKEWARM = "who is lukewarm on cloud RAG?"


def documents(stdout):
    return [json.loads(line) for line in stdout.splitlines()]


def test_the_document(run, embedded):
    ran = run("query", LUKEWARM, "--json")
    assert (ran.exit_code, ran.stderr, len(ran.stdout.splitlines())) == (0, "", 1)
    document = ran.json
    assert set(document) == ANSWER
    assert (document["query"], document["mode"]) == (LUKEWARM, "hybrid")
    assert (document["merge"], document["short_circuit"]) == ("set-union", None)
    assert (document["fell_back_to_bm25"], document["notice"]) == (False, None)
    assert document["results"][0]["slug"] == "people/noor-haddad"
    assert len(document["results"]) == 10
    for rank, hit in enumerate(document["results"], 1):
        assert set(hit) == HIT
        assert hit["rank"] == rank
        assert set(hit["chunk"]) == {"kind", "heading_path", "date", "lines", "hash"}
        assert set(hit["lanes"]) == {"fts", "vector", "graph", "associative", "rerank"}
        fts, vector = hit["lanes"]["fts"], hit["lanes"]["vector"]
        assert fts or vector
        assert fts is None or set(fts) == {"rank", "score"}
        assert vector is None or (set(vector) == {"rank", "cosine"} and 0 < vector["cosine"] <= 1)


def test_the_same_bytes_twice(run, embedded):
    def told():
        document = run("query", LUKEWARM, "--depth", "auto", "--json").json
        return {**document, "took_ms": 0}

    assert told() == told()


def test_a_context_with_its_receipt(run, embedded):
    document = run("query", LUKEWARM, "--depth", "auto", "--budget", "300", "--json").json
    assert set(document) == {*ANSWER, "context", "budget"}
    assert set(document["budget"]) == {"limit", "used", "dropped", "stopped"}
    assert document["budget"]["limit"] == 300
    assert 0 < document["budget"]["used"] <= 300
    assert document["budget"]["stopped"] in ("budget", "coverage", "exhausted")
    assert document["budget"]["used"] == sum(piece["tokens"] for piece in document["context"])
    assert document["context"]
    for piece in document["context"]:
        assert set(piece) == {
            "slug", "title", "heading_path", "date", "lines", "hash", "citation", "tokens", "text",
            "role",
        }  # fmt: skip
        assert piece["role"] in ("hit", "neighbour", "linked")
    assert document["budget"]["dropped"]
    for dropped in document["budget"]["dropped"]:
        assert set(dropped) == {"slug", "tokens"}


def test_the_default_budget_is_a_setting(run, embedded):
    run("config", "set", "default_token_budget", "77")
    assert run("query", LUKEWARM, "--depth", "auto", "--json").json["budget"]["limit"] == 77


def test_a_context_is_markdown_with_sources(run, embedded):
    text = run("query", "Alice Chen", "--depth", "auto").stdout
    assert text.startswith("## Alice Chen")
    assert "[people/alice-chen#L" in text


def test_a_context_prints_titles_and_headings_once(run, brain_path):
    note = b"# Reed bed\n\nHerons nest here.\n\n## Visitors\n\nHerons and bitterns.\n"
    run("init")
    run("put", "reed-bed", stdin=note)
    text = run("query", "where do herons nest", "--depth", "auto", "--mode", "bm25").stdout
    assert text.count("Reed bed") == text.count("Visitors") == 1
    assert "Herons nest here." in text


def test_hits_as_text(run, embedded):
    first = run("query", LUKEWARM, "--limit", "2").stdout
    assert first.startswith("1. ")
    assert "\n2. " in first
    assert "\n3. " not in first


@pytest.mark.parametrize(
    ("mode", "lanes"),
    [("bm25", {"fts"}), ("semantic", {"vector"}), ("hybrid", {"fts", "vector"})],
)
def test_a_mode_finds_pages_with_exactly_its_lanes(run, embedded, mode, lanes):
    document = run("query", LUKEWARM, "--mode", mode, "--json").json
    assert document["mode"] == mode
    used = {lane for hit in document["results"] for lane in ("fts", "vector") if hit["lanes"][lane]}
    assert used == lanes


@pytest.mark.parametrize("merge", ["set-union", "set-union-rank", "rrf", "blend"])
def test_merges(run, embedded, merge):
    assert run("query", LUKEWARM, "--merge", merge, "--json").json["merge"] == merge
    run("config", "set", "search_merge_strategy", merge)
    assert run("query", LUKEWARM, "--json").json["merge"] == merge


@pytest.mark.parametrize(
    "words", [("--mode", "psychic"), ("--merge", "sum"), ("--budget", "0"), ("--depth", "deep")]
)
def test_options_that_do_not_exist(run, embedded, words):
    assert run("query", "river", *words).exit_code == 2


def test_weights_of_nothing_switch_a_lane_off(run, embedded):
    run("config", "set", "keyword_weight", "0")
    document = run("query", LUKEWARM, "--json", "--debug").json
    assert "fts" not in [stage["stage"] for stage in document["trace"]]
    assert document["results"]
    assert all(hit["lanes"]["fts"] is None for hit in document["results"])
    run("config", "set", "keyword_weight", "1")
    run("config", "set", "semantic_weight", "0")
    document = run("query", LUKEWARM, "--json", "--debug").json
    assert "vector" not in [stage["stage"] for stage in document["trace"]]
    assert document["results"]
    assert all(hit["lanes"]["vector"] is None for hit in document["results"])


def test_without_vectors_it_falls_back(run, sample):
    ran = run("query", LUKEWARM, "--mode", "hybrid", "--json")
    assert (ran.exit_code, ran.json["fell_back_to_bm25"]) == (0, True)
    assert ran.json["notice"] == ran.stderr.strip()


def test_nothing_found(run, embedded):
    ran = run("query", "zzzz", "--mode", "bm25", "--exit-code", "--json")
    assert (ran.exit_code, ran.json["results"]) == (3, [])


def test_in_a_pipe_too_it_is_told_that_nothing_answers(run, embedded):
    ran = run("query", "quantum flurble", "--depth", "auto")
    # Text for a language model must say so itself: stderr does not reach it.
    assert ran.stdout.startswith("No page answers this well. Closest: ")
    assert "\n\n## " in ran.stdout
    none = run("query", "quantum flurble", "--depth", "auto", "--exit-code", "--json")
    assert (none.exit_code, none.json["context"], none.json["budget"]["used"]) == (3, [], 0)
    assert ran.stderr.startswith("No page answers this well. Closest: ")
    assert run("query", "quantum flurble", "--quiet").stderr == ""
    assert run("query", "quantum flurble", "--json").stderr == ""
    assert run("query", "sourdough starter", "--all").stderr == ""


def test_a_partial_answer_names_the_missing_words(run, embedded, at_terminal):
    told = "This may be only part of the answer: no page mentions lukewarm, RAG."
    ran = run("query", LUKEWARM, "--all")
    assert ran.stderr == f"{told}\n"
    assert told not in ran.stdout
    _, screen = at_terminal("query", LUKEWARM)
    assert told in " ".join(screen.split())
    verdict = run("query", LUKEWARM, "--json").json["verdict"]
    assert (verdict["grade"], verdict["missing"]) == ("partial", ["lukewarm", "RAG"])


@pytest.mark.parametrize("text", ["what can you do?", "good morning", "ok, thanks"])
def test_small_talk_finds_nothing(run, embedded, text):
    assert run("query", text, "--exit-code").exit_code == 3


def test_a_single_word_is_looked_up_whatever_it_is(run, embedded):
    assert run("query", "evening", "--exit-code").exit_code == 0


@pytest.mark.parametrize("command", ["search", "query"])
def test_a_repaired_word_is_told_and_counts_for_the_verdict(run, embedded, command):
    ran = run(command, "sourdogh", "--all")
    assert ran.stdout.startswith("1. resources/sourdough-starter ")
    assert ran.stderr == "Read as: sourdough\n"
    assert run(command, "sourdogh", "--quiet").stderr == ""
    assert run(command, "sourdogh", "--json").json["verdict"]["grade"] == "strong"


@pytest.mark.parametrize("command", ["search", "query"])
def test_a_similar_word_does_not_improve_the_verdict(run, embedded, command):
    told = run(command, "zzyzx spacefull").stderr.splitlines()
    assert told[0] == "Read as: zzyzx spaced"
    assert told[1].startswith("No page answers this well. Closest: ")


def test_filters_hold_in_both_lanes(run, embedded):
    hits = run("query", LUKEWARM, "--wing", "people", "--json").json["results"]
    assert {hit["wing"] for hit in hits} == {"people"}
    assert len(hits) == 5
    hits = run("query", LUKEWARM, "--exclude", "people/noor-haddad", "--json").json["results"]
    assert "people/noor-haddad" not in [hit["slug"] for hit in hits]


def test_a_query_a_line_each_with_options_of_its_own(run, embedded):
    lines = [
        LUKEWARM,
        "",
        json.dumps({"query": LUKEWARM, "slug_prefix": "people/", "limit": 2}),
        json.dumps({"query": "backup", "mode": "bm25", "depth": "auto", "budget": 40}),
        json.dumps({"query": LUKEWARM, "merge": "rrf", "wing": "people", "exclude": "people/x"}),
        json.dumps({"query": "river", "color": "red"}),
        json.dumps({"limit": 2}),
        json.dumps({"query": "river", "limit": 0}),
        json.dumps({"query": "river", "mode": ["bm25"]}),
        json.dumps({"query": "river", "since": "someday"}),
        "{not json",
    ]
    ran = run("query", "-", "--limit", "4", stdin="\n".join(lines).encode())
    assert ran.exit_code == 0
    first, few, context, merged, *wrong, words = documents(ran.stdout)
    assert len(first["results"]) == 4
    assert [hit["slug"][:7] for hit in few["results"]] == ["people/"] * 2
    assert (context["mode"], context["budget"]["limit"]) == ("bm25", 40)
    assert 0 < context["budget"]["used"] <= 40
    assert (merged["merge"], len(merged["results"])) == ("rrf", 4)
    assert len(wrong) == 5
    for line, document in zip(lines[5:10], wrong, strict=True):
        assert document["query"] == line
        assert set(document["error"]) == {"code", "message", "hint"}
    assert words["query"] == "{not json"


def test_the_line_and_the_command_give_the_same_answer(run, embedded):
    (line,) = documents(run("query", "-", stdin=LUKEWARM.encode()).stdout)
    assert line["results"] == run("query", LUKEWARM, "--json").json["results"]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE page_embeddings_codes_384 SET codes = x'00'",
        "UPDATE page_embeddings_codes_384 SET codes = 'text'",
        "UPDATE page_embeddings_vec_384 SET vector = x'00'",
    ],
)
def test_damaged_vectors_are_an_error_that_says_so(run, embedded, damage):
    connection = sqlite3.connect(embedded)
    connection.execute(damage)
    connection.commit()
    connection.close()
    refused = run("query", LUKEWARM, "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "damaged")
    assert run("query", LUKEWARM, "--mode", "bm25").exit_code == 0


def test_vectors_whose_codes_are_lost_are_not_found(run, embedded):
    connection = sqlite3.connect(embedded)
    connection.execute("DELETE FROM page_embeddings_codes_384")
    connection.commit()
    connection.close()
    assert run("query", LUKEWARM, "--wing", "people", "--json").json["results"]


def test_every_hit_tells_what_age_has_left_of_its_score(run, embedded):
    asked = ("query", "river ai onboarding", "--json")
    assert {hit["recency"] for hit in run(*asked).json["results"]} == {None}
    run("config", "set", "recency_tau_days", "30")
    hits = run(*asked).json["results"]
    left = {hit["slug"]: hit["recency"] for hit in hits}
    assert {hit["slug"] for hit in hits if hit["date"] is None} <= {
        slug for slug, part in left.items() if part == 1
    }
    assert 0 < min(left.values()) < max(left.values()) == 1
    kept = run(*asked, "--no-decay").json["results"]
    assert {hit["recency"] for hit in kept} == {None}
    assert [hit["slug"] for hit in kept] != list(left)


def test_a_likely_typo_is_asked_about(run, embedded):
    ran = run("search", "Sourdogh for bakery")
    assert ran.stderr.splitlines()[0] == "Did you mean Sourdough for bakery?"
    found = run("query", "sourdogh for bakery", "--json").json
    assert (found["read_as"], found["did_you_mean"]) == (None, "sourdough for bakery")
    assert run("query", "sourdough for bakery", "--json").json["did_you_mean"] is None
    assert run("query", "sourdogh", "--json").json["did_you_mean"] is None


def test_another_form_of_a_word_is_no_typo(run, brain_path):
    run("put", "kuchen", stdin=b"Ich bringe Kuchen, sagte Mia. Der Zahnarzt ist nett.")
    assert run("search", "Wer bringt den Kuchen?", "--json").json["did_you_mean"] is None
    asked = run("search", "Wie ist der Zahnrzt und Kuchen?", "--json").json["did_you_mean"]
    assert asked == "Wie ist der Zahnarzt und Kuchen?"


def test_a_pipe_is_told_how_many_superseded_pages_are_left_out(run, brain_path):
    run("put", "old", stdin=b"---\nsuperseded_by: new\n---\n# Old\n\nThe ferry leaves at six.\n")
    run("put", "new", stdin=b"# New\n\nThe ferry leaves at seven.\n")
    for command in ("search", "query"):
        found = run(command, "ferry leaves")
        assert "1 superseded page left out; --include-superseded shows them.\n" in found.stderr
        assert run(command, "ferry leaves", "--quiet").stderr == ""
        assert "left out" not in run(command, "ferry leaves", "--include-superseded").stderr


def test_a_second_opinion_is_given_on_words_alone_when_asked_for(run, embedded):
    asked = ("query", "who is lukewarm on cloud rag", "--mode", "bm25", "--json", "--debug")

    def stages(*options):
        return {stage["stage"] for stage in run(*asked, *options).json["trace"]}

    assert "rerank" in stages("--rerank")
    run("config", "set", "rerank", "overlap")
    assert "rerank" not in stages()
