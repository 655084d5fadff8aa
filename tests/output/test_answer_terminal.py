"""An answer as a person sees it: every line fits, and reasons are given."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from gbrain.output.answer_terminal import (
    closing_notices,
    highlight_matches,
    rank_reasons,
    show_answer,
)
from gbrain.output.answer_text import hidden_hits_notice, list_hits
from gbrain.trace import Trace
from gbrain.types import Answer, Candidate, Grade, Hit, HitChunk, Verdict

WORDS, MEANING = Candidate(1, "a", 7, 1, 9.5), Candidate(1, "a", 7, 3, 0.71)


def hit(**changed: object) -> Hit:
    usual = Hit(
        rank=1, slug="people/ann", title="Ann", wing="people", room="profile", type="person",
        date="2026-04-03", score=1.25, snippet="2026 | chat — \x02Ann\x03 left",
        chunk=HitChunk("timeline", ("Ann", "Timeline"), "2026-04-03", (12, 14), "ab"),
        lanes={"vector": MEANING, "fts": WORDS}, boosts={"date": 1.35},
    )  # fmt: skip
    return usual._replace(**changed)


def answer(*hits: Hit, grade: Grade = "strong", **changed: object) -> Answer:
    reasons = ("it holds 1 of 3 words", "the nearest passage has cosine 0.71")
    usual = Answer(
        query="ann", mode="hybrid", merge="set-union", short_circuit=None, fell_back_to_bm25=False,
        notice=None, superseded=(), verdict=Verdict(grade, 0.5, reasons), hits=hits, took_ms=12.3,
        trace=Trace(),
    )  # fmt: skip
    return usual._replace(**changed)


def shown(capsys: pytest.CaptureFixture[str], *hits: Hit, **options: bool) -> list[str]:
    show_answer(answer(*hits), **options)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_a_hit_has_title_place_snippet_and_reasons(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINES", "40")
    lines = shown(capsys, hit())
    assert lines[0].split("  ")[0] == " 1 Ann"
    assert lines[0].endswith("  keyword #1 · vector #3 · date ×1.35")
    assert lines[1:] == [
        "   people/ann  people · 2026-04-03 · Timeline",
        "   2026 | chat — Ann left",
        "",
        "1 page in 12 ms, by keyword and vector",
    ]


def test_on_a_narrow_screen_the_reasons_stand_below(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert shown(capsys, hit())[:5] == [
        " 1 Ann",
        "   people/ann  people · 2026-04-03 ·",
        "   Timeline",
        "   2026 | chat — Ann left",
        "   keyword #1 · vector #3 · date ×1.35",
    ]


def test_verbose_shows_more_of_a_hit(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(shown(capsys, hit(), verbose=True))
    assert "score 1.25 · keyword #1 (9.5) · vector #3 (cosine 0.71) · date ×1.35" in text
    assert "room profile · type person · lines 12 to 14 · Timeline" in text
    assert "Verdict strong, confidence 0.50: the best page holds 1 of 3 words; the nearest" in text


@pytest.mark.parametrize("columns", [40, 60, 100, 250])
def test_every_line_fits_whatever_is_in_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    wide = hit(title="知識" * 60, slug="x" * 300, snippet="🚀" * 500, boosts={"長い" * 40: 2.0})
    lines = shown(capsys, wide, hit(), verbose=False)
    assert max(map(cell_len, lines)) <= columns
    assert "".join(lines).count("知") == 60


@given(st.text())
def test_a_snippet_drives_no_terminal(text: str) -> None:
    plain = highlight_matches(text).plain
    assert "\x1b" not in plain
    assert "\n" not in plain


def test_the_matched_words_stand_out() -> None:
    text = highlight_matches("one \x02two\x03 three")
    assert [text.plain[span.start : span.end] for span in text.spans if span.style] == ["two"]


def test_reasons() -> None:
    assert list(rank_reasons(hit())) == ["keyword #1", "vector #3", "date ×1.35"]
    assert list(rank_reasons(hit(lanes={"sms": WORDS}, boosts={}))) == ["by its name"]
    pinned = hit(lanes={"fts": WORDS, "sms": WORDS}, boosts={}, weak=True)
    assert list(rank_reasons(pinned)) == ["by its name", "keyword #1", "weak"]


def test_a_strong_answer_says_nothing_of_itself() -> None:
    assert list(closing_notices(answer(hit()))) == []


def test_a_weak_answer_says_so() -> None:
    assert list(closing_notices(answer(hit(), grade="partial"))) == [
        "This may be only part of the answer: the best page holds 1 of 3 words."
    ]
    others = [hit(title=name) for name in "ABCD"]
    assert list(closing_notices(answer(*others, grade="nothing"))) == [
        "No page answers this well. Closest: A, B, C."
    ]
    assert list(closing_notices(answer(grade="nothing", mode="bm25"))) == [
        "Nothing found. Try fewer or other words; gbrain query also searches by meaning."
    ]


def test_other_words_than_asked_are_told() -> None:
    assert list(closing_notices(answer(hit(), read_as="sourdough"))) == ["Read as: sourdough"]


def test_hits_that_are_not_listed_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    hits = [hit(rank=rank, weak=rank > 3) for rank in range(1, 11)]
    everything = answer(*hits)
    assert len(list_hits(everything, weak=True)) == 10
    strong = list_hits(everything, weak=False)
    assert [listed.rank for listed in strong] == [1, 2, 3]
    assert hidden_hits_notice(everything, strong) == "--all lists 7 weaker hits"
    assert hidden_hits_notice(everything, hits[:2]) == "--all lists 8 more hits"
    assert hidden_hits_notice(everything, hits) is None
    show_answer(everything, strong)
    shown_lines = capsys.readouterr().out.splitlines()
    assert (
        shown_lines[-1].rstrip()
        == "10 pages in 12 ms, by keyword and vector; --all lists 7 weaker hits"
    )
    assert sum("people/ann" in line for line in shown_lines) == 3


def test_a_page_found_by_its_name_says_how_to_see_others() -> None:
    named = answer(hit(), short_circuit="alias")
    assert list(closing_notices(named)) == [
        "The query is the alias of this page; --all lists others too."
    ]
    near = answer(hit(), short_circuit="near")
    assert list(closing_notices(near)) == [
        "The query is nearly the title of this page; --all lists others too."
    ]
    assert list(closing_notices(answer(hit(), short_circuit="alias", mode="bm25"))) == []


@pytest.mark.parametrize("columns", [70, 80, 120])
def test_a_snippet_takes_two_lines_at_most(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", "24")
    long = "a sentence with several words that go on, " * 6
    wide = "知識の文です" * 40
    lines = shown(capsys, hit(snippet=long, boosts={}), hit(snippet=wide, boosts={}))
    assert len(lines) == 2 * 4 + 1


def test_what_was_left_out_is_told() -> None:
    (line,) = closing_notices(answer(hit(), superseded=("old", "older")))
    assert line == "2 superseded pages left out; --include-superseded shows them."


def test_matches_are_visible_on_light_and_dark_screens() -> None:
    screen = Console(force_terminal=True, color_system="truecolor", width=100, no_color=False)
    with screen.capture() as seen:
        screen.print(highlight_matches("a \x02b\x03"))
    assert "\x1b[1;31mb" in seen.get()


def test_a_task_in_a_snippet_has_its_box_in_one_character(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = shown(capsys, hit(snippet="[ ] Call \x02Ann\x03 · [x] Pay · [link] [ ]( a[x] = 1"))
    assert lines[2] == "   ☐ Call Ann · ☑ Pay · [link] [ ]( a[x] = 1"


def test_wikilinks_in_a_snippet_are_shown_by_their_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    linked = "[[people/\x02ann\x03-wu]] met [[b|Bo]] at ![[map.png]], [[#Later]], [[a]b]]"
    lines = shown(capsys, hit(snippet=linked))
    assert lines[2] == "   ann-wu met Bo at map.png, #Later, [[a]b]]"


@pytest.mark.parametrize(
    ("snippet", "marked"),
    [
        ("We met [[\x02people/ann\x03-wu]] again", ["ann"]),
        ("We met [[people/\x02ann wu\x03|Bo]] and \x02left\x03", ["left"]),
        ("[[\x02people\x03/\x02ann\x03]] left", ["ann"]),
    ],
)
def test_a_match_in_a_wikilink_marks_no_other_words(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    snippet: str,
    marked: list[str],
) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    line = shown(capsys, hit(snippet=snippet))[2]
    assert re.findall(r"\x1b\[1;31m(.*?)\x1b\[0m", line) == marked
