"""Two texts side by side."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.output.provenance import WordRun, compare_words, show_pair
from gbrain.store.duplicates import DuplicatePair


def test_own_words_are_separated_from_shared_words():
    left, right = compare_words("We go by  train\nat noon", "We go by ship at noon")
    assert left == [WordRun("We go by", False), WordRun("train", True), WordRun("at noon", False)]
    assert right == [WordRun("We go by", False), WordRun("ship", True), WordRun("at noon", False)]


def test_long_shared_runs_are_shortened():
    shared = " ".join(f"w{number}" for number in range(50))
    left, right = compare_words(f"{shared} a {shared}", f"{shared} b {shared}")
    assert left[0].words == "… " + " ".join(f"w{number}" for number in range(42, 50))
    assert left[2].words == " ".join(f"w{number}" for number in range(8)) + " …"
    assert [piece.words for piece in right if piece.own] == ["b"]


def test_very_different_pages_are_cut_to_120_words():
    left, _ = compare_words(" ".join(f"w{number}" for number in range(9999)), "none of it")
    words = " ".join(piece.words for piece in left).split()
    assert len(words) <= 121
    assert words[-1] == "…"


@given(st.lists(st.sampled_from("abcd"), max_size=9), st.lists(st.sampled_from("abcd"), max_size=9))
def test_short_texts_are_shown_in_full(old, new):
    left, right = compare_words(" ".join(old), " ".join(new))
    assert " ".join(piece.words for piece in left).split() == old
    assert " ".join(piece.words for piece in right).split() == new
    shared = [[p.words for p in side if not p.own] for side in (left, right)]
    assert shared[0] == shared[1]


def test_a_pair_is_shown_in_two_columns(brain: Brain, capsys):
    brain.put("a", b"# Old [bold]plan[/]\n\nBy train.")
    brain.put("b", b"# New plan\n\nBy ship.")
    pair = DuplicatePair(brain.get("a"), brain.get("b"), 0.97123, 0.8, "")
    show_pair(1, 2, pair, "We go by train\x1b[2J at noon", "We go by ship at noon")
    shown = capsys.readouterr().out
    assert "1 of 2  cosine 0.971, 80% of the words shared" in shown
    rows = [line.split("  ") for line in shown.splitlines()]
    pairs = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert ["Old [bold]plan[/]", "New plan"] in pairs
    assert ["We go by train\ufffd[2J at noon", "We go by ship at noon"] in pairs


def test_a_pair_with_the_same_words_says_so(brain: Brain, capsys):
    brain.put("a", b"x")
    show_pair(1, 1, DuplicatePair(brain.get("a"), brain.get("a"), 1.0, 1.0, ""), "x y", "x  y")
    assert capsys.readouterr().out.count("Both pages have the same words.") == 2
