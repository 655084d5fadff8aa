"""The keyword lane: any string is a query, and words find the pages that hold them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.types import Scope

PAGES = {
    "auth": "# Login\n\nWe must fix the auth-middleware bug before the release on Friday.\n",
    "auth-notes": "# Middleware\n\nSome words on auth in general, and on middleware.\n",
    "cpp": "# Languages\n\nTemplates in C++ are hard.\n",
    "chinese": "# 笔记\n\n我的知识库在这里。\n",
    "rocket": "# Launch\n\nWe go 🚀 tomorrow.\n",
    "long": "# Long\n\n" + "filler words about nothing at all. " * 200 + "\n\nThe heron stands.\n",
    "tagged": "---\ntags: [heronry]\naliases: [Old Bird House]\n---\n# Tagged\n\nNothing.\n",
    "dated": "# Dated\n\n---\n## Timeline\n- 2026-04-03 — saw an egret\n- 2025 — saw nothing\n",
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brain]:
    with Brain.open(tmp_path_factory.mktemp("fts") / "brain.db", make=True) as brain:
        for name, text in PAGES.items():
            brain.put(name, text.encode())
        yield brain


def found(brain: Brain, query: str, **scope: str) -> list[str]:
    return [hit.slug for hit in brain.search(query, scope=Scope(**scope)).hits]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("fix the auth-middleware bug", "auth"),
        ("where do we fix that middleware bug of last winter in the old release", "auth"),
        ("templates in C++", "cpp"),
        ('"auth-middleware bug', "auth"),
        ("NEAR( heron", "long"),
        ("egret AND", "dated"),
        ("egret NOT egret", "dated"),
        ("templat*", "cpp"),
        ("知识", "chinese"),
        ("我的知识库在这里", "chinese"),
        ("🚀", "rocket"),
        ("heronry", "tagged"),
        ("stands heron\0", "long"),
        ("template", "cpp"),
        ("bird house", "tagged"),
    ],
)
def test_words_find_their_page(filled: Brain, query: str, first: str) -> None:
    assert found(filled, query)[0] == first


def test_a_phrase_is_found_only_in_its_order(filled: Brain) -> None:
    assert found(filled, '"words on auth"') == ["auth-notes"]
    assert found(filled, '"auth on words"') == []


@pytest.mark.parametrize("query", ["", " ", '""', "(((", "***", "\0", "zzzz qqqq", "^"])
def test_nothing_is_found_without_an_error(filled: Brain, query: str) -> None:
    assert found(filled, query) == []


@settings(deadline=None)
@given(st.text())
@example("a AND")
@example("NEAR(a b, 3) OR {title}: x")
@example('"unclosed')
@example("word " * 2000)
@example("x" * 10_000)
@example('"' + "a b " * 2500 + '"')
@example("知识" * 5000)
@example("🚀" * 2500)
@example("\0" * 100)
@example("a" + "!" * 100_000 + "a")
@example("%_'; DROP TABLE pages; --")
def test_any_string_is_a_query(filled: Brain, query: str) -> None:
    answer = filled.search(query)
    assert [hit.rank for hit in answer.hits] == list(range(1, len(answer.hits) + 1))


def test_the_best_passage_speaks_for_its_page_with_its_words_marked(filled: Brain) -> None:
    hit = filled.search("egrets seen").hits[0]
    assert hit.chunk is not None
    assert (hit.chunk.kind, hit.chunk.date, hit.chunk.lines) == ("timeline", "2026-04-03", (5, 5))
    assert hit.snippet == "- 2026-04-03 — saw an \x02egret\x03"
    assert hit.date == "2026-04-03"


def test_a_word_deep_in_a_long_page_is_shown_from_there(filled: Brain) -> None:
    hit = filled.search("heron stands").hits[0]
    assert "\x02heron\x03 \x02stands\x03" in hit.snippet


def test_a_page_that_holds_all_words_comes_before_one_that_holds_some(brain: Brain) -> None:
    brain.put(
        "all", b"# One\n\nheron and egret, with a good deal more text around the two of them\n"
    )
    brain.put("some", b"# Two\n\nheron heron heron heron\n")
    brain.put("other", b"# Three\n\nnothing\n")
    assert found(brain, "heron egret") == ["all", "some"]


def test_words_of_a_script_without_spaces_are_found_among_others(filled: Brain) -> None:
    assert found(filled, "知识 这里") == ["chinese"]


def test_an_exact_word_does_not_hide_the_pages_that_hold_it_inside_a_longer_one(
    brain: Brain,
) -> None:
    brain.put("exact", "# 词\n\n知识\n".encode())
    brain.put("inside", "# 库\n\n我的知识库\n".encode())
    assert set(found(brain, "知识")) == {"exact", "inside"}


def test_filters_hold(filled: Brain) -> None:
    assert found(filled, "auth middleware", slug_prefix="auth-") == ["auth-notes"]
    assert found(filled, "saw", since="2026-01-01") == ["dated"]
    assert found(filled, "saw", since="2026-05-01") == []
    assert found(filled, "知识", slug_prefix="auth") == []


def test_a_narrow_filter_finds_its_pages_beyond_the_pool(brain: Brain) -> None:
    for number in range(120):
        brain.put(f"many/{number}", b"# Heron heron\n\nheron heron heron\n")
    brain.put("few/one", b"# Lone\n\n" + b"some other words " * 50 + b"heron\n")
    assert found(brain, "heron", slug_prefix="few/") == ["few/one"]
