"""The keyword lane: any string is a query, and words find the pages that contain them."""

from __future__ import annotations

from datetime import date
from math import log

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.config import Settings, override_settings
from gbrain.search.lanes.keyword import _without_common, search
from gbrain.store.page_writer import write_page
from gbrain.text.page import parse_page
from gbrain.text.query import parse_query
from gbrain.text.query_terms import parse_terms
from gbrain.types import LaneResult, Scope

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


def found(brain: Brain, query: str, **scope: str) -> list[str]:
    return [hit.slug for hit in brain.search(query, scope=Scope(**scope)).hits]  # type: ignore[arg-type]


def matched(brain: Brain, text: str, scope: Scope = Scope()) -> list[str]:
    """What the lane itself finds, without a second try."""
    with brain.database.read_transaction() as connection:
        query = parse_query(text, {}, date(2026, 11, 16), scope, 10)
        return [page.slug for page in search(connection, query, Settings()).pages]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("fix the auth-middleware bug", "auth"),
        ("where do we fix that middleware bug of last winter in the old release", "auth"),
        ("templates in C++", "cpp"),
        ('"auth-middleware bug', "auth"),
        ("NEAR( heron", "long"),
        ("egret AND", "dated"),
        ("egret NOT heron", "dated"),
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
    assert matched(filled, '"words on auth"') == ["auth-notes"]
    assert matched(filled, '"auth on words"') == []


@pytest.mark.parametrize("query", ["", " ", '""', "(((", "***", "\0", "zzzz qqqq", "^"])
def test_a_query_without_matches_is_no_error(filled: Brain, query: str) -> None:
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
def test_any_string_is_a_valid_query(filled: Brain, query: str) -> None:
    answer = filled.search(query)
    assert [hit.rank for hit in answer.hits] == list(range(1, len(answer.hits) + 1))


def test_the_snippet_marks_words_in_the_best_chunk(filled: Brain) -> None:
    hit = filled.search("egrets seen").hits[0]
    assert hit.chunk is not None
    assert (hit.chunk.kind, hit.chunk.date, hit.chunk.lines) == ("timeline", "2026-04-03", (5, 5))
    assert hit.snippet == "2026-04-03 — saw an \x02egret\x03"
    assert hit.date == "2026-04-03"


def test_the_snippet_shows_a_word_deep_in_a_long_page(filled: Brain) -> None:
    hit = filled.search("heron stands").hits[0]
    assert "\x02heron\x03 \x02stands\x03" in hit.snippet


def test_a_word_at_the_end_of_a_long_url_is_found_and_shown(brain: Brain) -> None:
    url = f"https://news.example.org/{'aB3xQ9/' * 90}slow-bolognese-sauce?{'k1=v2&' * 90}"
    brain.put("later", f"# Later\n\nTo read on Sunday: {url} and then cook it.\n".encode())
    for words in ("bolognese", "news.example.org"):
        hit = brain.search(words).hits[0]
        assert hit.slug == "later"
        assert f"\x02{words}\x03" in hit.snippet


def test_a_page_with_all_words_comes_before_one_with_some(brain: Brain) -> None:
    brain.put(
        "all", b"# One\n\nheron and egret, with a good deal more text around the two of them\n"
    )
    brain.put("some", b"# Two\n\nheron heron heron heron\n")
    brain.put("other", b"# Three\n\nnothing\n")
    assert found(brain, "heron egret") == ["all", "some"]


def test_words_of_a_script_without_spaces_are_found(filled: Brain) -> None:
    assert found(filled, "知识 这里") == ["chinese"]


def test_an_exact_word_does_not_hide_longer_words(brain: Brain) -> None:
    brain.put("exact", "# 词\n\n知识\n".encode())
    brain.put("inside", "# 库\n\n我的知识库\n".encode())
    assert set(found(brain, "知识")) == {"exact", "inside"}


def test_filters_limit_the_results(filled: Brain) -> None:
    assert found(filled, "auth middleware", slug_prefix="auth-") == ["auth-notes"]
    assert found(filled, "saw", since="2026-01-01") == ["dated"]
    assert found(filled, "saw", since="2026-05-01") == []
    assert found(filled, "知识", slug_prefix="auth") == []


def test_pages_scored_after_the_pool_follow_it(brain: Brain) -> None:
    for number in range(120):
        brain.put(f"many/{number:03}", b"# Heron\n\n" + b"heron and more words " * (1 + number % 7))
    with brain.database.read_transaction() as connection:
        query = parse_query("heron", {}, date(2026, 11, 16), Scope(), 10)
        found = search(connection, query, Settings())
    everyone = [*found.pages, *found.overflow]
    assert len(found.pages) == Settings().candidate_pool
    assert len({page.page_id for page in everyone}) == len(everyone) == 120
    assert [page.rank for page in everyone] == list(range(1, 121))
    assert [page.score for page in everyone] == sorted((p.score for p in everyone), reverse=True)


def test_a_narrow_filter_finds_its_pages_beyond_the_pool(brain: Brain) -> None:
    for number in range(120):
        brain.put(f"many/{number}", b"# Heron heron\n\nheron heron heron\n")
    brain.put("few/one", b"# Lone\n\n" + b"some other words " * 50 + b"heron\n")
    assert found(brain, "heron", slug_prefix="few/") == ["few/one"]


@pytest.mark.parametrize(
    ("text", "slugs"),
    [
        ("auth AND middleware", ["auth-notes", "auth"]),
        ("auth AND words", ["auth-notes"]),
        ("auth AND heron", []),
        ("auth OR heron", ["auth-notes", "auth", "long"]),
        ("middleware NOT words", ["auth"]),
        ("middleware NOT (words OR release)", []),
        ("(heron OR egret) AND stands", ["long"]),
        ("title:middleware", ["auth-notes"]),
        ("auth title:middleware", ["auth-notes"]),
        ("tag:heronry", ["tagged"]),
        ("tag:heronry OR egret", ["dated", "tagged"]),
        ("saw after:2026", ["dated"]),
        ("saw before:2025", []),
        ("templates AND", ["cpp"]),
    ],
)
def test_operators_and_fields_limit_the_results(filled: Brain, text: str, slugs: list[str]) -> None:
    assert matched(filled, text) == slugs


def test_filters_alone_list_the_latest_pages_first(filled: Brain) -> None:
    assert matched(filled, "NOT nothing") == ["auth", "auth-notes", "chinese", "cpp", "rocket"]
    assert matched(filled, "NOT auth", Scope(slug_prefix="d")) == ["dated"]
    assert matched(filled, "NOT auth")[0] == "dated"


def test_excluded_pages_make_room_for_others(brain: Brain) -> None:
    for number in range(150):
        brain.put(f"many/{number:03}", b"# Heron heron\n\nheron heron heron\n")
    brain.put("other", b"# Lone\n\nsome other words and a heron\n")
    pool = Settings().candidate_pool
    unwanted = tuple(f"many/{number:03}" for number in range(120))
    everyone = matched(brain, "heron")
    assert len(everyone) == pool
    left = matched(brain, "heron", Scope(exclude=unwanted))
    assert (len(left), left[-1]) == (31, "other")
    assert len(matched(brain, "heron", Scope(exclude=unwanted[:90]))) == pool


def test_common_words_count_if_the_rare_one_is_out_of_scope(brain: Brain) -> None:
    with brain.database.write_transaction() as connection:
        for number in range(2100):
            page = parse_page(f"many/{number}.md", b"# Heron\n")
            write_page(connection, page, "2026-11-16T12:00:00.000Z", enqueue=False)
    brain.put("rare/one", b"# Heron and egret\n")
    brain.put("rare/two", b"# Another egret\n")
    assert set(matched(brain, "heron egret")) == {"rare/one", "rare/two"}
    assert len(matched(brain, "heron zebra")) == 50
    assert len(matched(brain, "heron egret", Scope(exclude=("rare/one",)))) == 50
    assert len(matched(brain, "heron egret NOT another")) == 50
    assert matched(brain, "heron egret", Scope(slug_prefix="many/20"))[0] == "many/20"


def result_of(
    brain: Brain, text: str, chosen: Settings = Settings(), *, alone: bool = False
) -> LaneResult:
    with brain.database.read_transaction() as connection:
        query = parse_query(text, {}, date(2026, 11, 16), Scope(), 10)
        return search(connection, query, chosen, alone=alone)


def word_factors(brain: Brain, text: str, chosen: Settings = Settings()) -> dict[str, float]:
    result = result_of(brain, text, chosen)
    return {
        page.slug: round(result.word_factors[page.page_id], 4)
        for page in result.pages
        if page.page_id in result.word_factors
    }


def test_a_page_counts_less_the_more_words_it_lacks(filled: Brain) -> None:
    factors = word_factors(filled, "egret templates unknownword")
    assert factors.keys() == {"dated", "cpp"}
    assert 0 < factors["dated"] == factors["cpp"] < 0.8
    common = word_factors(filled, "middleware heron")
    assert common["long"] > common["auth"], "the rarer word covers more of the query"


def test_a_page_with_every_word_counts_more(filled: Brain) -> None:
    assert word_factors(filled, "egret") == {"dated": 1.5}
    # Of eight pages two contain "middleware", one each "fix" and "bug".
    twice, once = log(1 + 6.5 / 2.5), log(1 + 7.5 / 1.5)
    lacking = round((twice / (twice + 2 * once)) ** 0.2, 4)
    assert word_factors(filled, "fix the middleware bug") == {"auth": 1.25, "auth-notes": lacking}
    off = override_settings(Settings(), {"coverage_power": "0", "literal_bonus": "0"})
    assert set(word_factors(filled, "fix the middleware bug", off).values()) <= {1.0}


def test_alone_it_looks_up_only_pages_with_every_word(filled: Brain) -> None:
    together = result_of(filled, "fix the middleware bug")
    alone = result_of(filled, "fix the middleware bug", alone=True)
    assert alone.pages == together.pages
    assert [alone.word_factors.get(page.page_id) for page in alone.pages] == [1.25, None]


def test_words_found_as_substrings_count_like_others(filled: Brain) -> None:
    half = round(0.5**0.2, 4)
    assert word_factors(filled, "知识 egret") == {"chinese": half, "dated": half}
    assert word_factors(filled, "知识") == {"chinese": 1.5}


def test_words_of_an_unspaced_sentence_find_their_page(brain: Brain) -> None:
    texts = {
        "soup": "# 味噌汁\n\n豆腐とわかめ。\n\n## 手順\n\n火を止めてから味噌を入れる。\n",
        "teacher": "# 田辺\n\n趣味は釣りと将棋。釣りが大好き。\n",
        "sport": "# 美玲\n\n最喜欢的运动是羽毛球。\n",
        "english": "# Soup\n\nMiso soup is not made here.\n",
    }
    for slug, text in texts.items():
        brain.put(slug, text.encode())
    assert matched(brain, "味噌汁の作り方") == ["soup"]
    assert matched(brain, "釣りが好きな人は誰")[0] == "teacher"
    assert matched(brain, "谁喜欢打羽毛球？")[0] == "sport"
    assert set(matched(brain, "miso 味噌")) == {"soup", "english"}
    assert brain.search("味噌汁鍋料理").hits[0].slug == "soup"
    with brain.database.read_transaction() as connection:
        query = parse_query("味噌はいつ入れますか", {}, date(2026, 11, 16), Scope(), 10)
        result = search(connection, query, Settings())
    assert result.pages[0].chunk_id == result.chunks[0].chunk_id
    assert result.unknown_terms == ()


def test_an_unknown_word_matches_compounds_that_start_with_it(brain: Brain) -> None:
    brain.put("house", b"# Haus\n\nTreppenhausreinigung im Wechsel.\n")
    brain.put("stairs", b"# Treppe\n\nDie Treppe knarrt.\n")
    assert matched(brain, "wer putzt das Treppenhaus") == ["house"]
    assert matched(brain, "Treppe")[0] == "stairs"
    assert "house" not in matched(brain, "Treppe"), "a word that some page contains stays whole"
    assert matched(brain, "Wechs") == [], "a short word stays whole"


def test_pages_with_the_very_words_come_before_other_forms(brain: Brain) -> None:
    brain.put("films", b"# Films to watch\n\nWatch these, then watch them again.\n")
    brain.put("heron", b"Flat tyre. A heron watched from the river bank, and I patched the tube.\n")
    brain.put("nouveau", "Le code de la porte a changé.\n".encode())
    brain.put("limit", b"# Change\n\nThe limit changed. Change it back.\n")
    assert matched(brain, "watched") == ["heron", "films"]
    assert matched(brain, "watch") == ["films", "heron"]
    assert matched(brain, "changé") == ["nouveau", "limit"]
    assert matched(brain, "code changé")[0] == "nouveau"
    # No page has this form: all forms count alike.
    assert set(word_factors(brain, "watching")) == {"films", "heron"}
    assert len(set(word_factors(brain, "watching").values())) == 1


def test_the_lane_says_how_much_of_the_query_a_page_covers(filled: Brain) -> None:
    assert result_of(filled, "fix the middleware bug").coverage == 1.0
    assert result_of(filled, "egret").coverage == 1.0
    one_of_four = result_of(filled, "egret nickname birthday landlord").coverage
    assert 0 < one_of_four < 0.4
    # Beyond two and a half unknown words, more of them change nothing.
    assert result_of(filled, "egret a1 b2 c3 d4 e5 f6 g7").coverage == pytest.approx(one_of_four)


def test_terms_of_very_many_pages_are_not_scored(brain: Brain) -> None:
    terms = parse_terms("cell heart stem")
    connection = brain.database.connection
    assert _without_common(connection, terms, (30_000, 5, 7)) == terms[1:]
    assert _without_common(connection, terms, (9_000, 5, 7)) == terms
    assert _without_common(connection, terms, (30_000, 20_000, 7)) == terms


def test_the_only_page_with_the_rarer_word_counts_more(filled: Brain) -> None:
    # Only "long" contains "heron"; two pages contain "middleware", and no page has both.
    assert word_factors(filled, "middleware heron")["long"] == 1.5
    question = word_factors(filled, "is there a heron in the middleware?")
    assert question["long"] < 1, "a question names what it asks about, too"
