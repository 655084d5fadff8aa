"""Plots as characters and as SVG."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.output.plots import Point, bar, even_axis, plot_svg, plot_text, ratio_axis, sparkline

SVG = "{http://www.w3.org/2000/svg}"
POINTS = [Point("fts", 4.0, 0.836), Point("semantic", 20.0, 0.748), Point("set-union", 22.0, 0.853)]

POSITIVE = st.floats(1e-3, 1e6)
MANY = st.lists(
    st.builds(Point, st.text(max_size=20), POSITIVE, st.floats(0, 1)), min_size=1, max_size=80
)


def test_points_are_placed_by_their_values() -> None:
    assert plot_text(POINTS, "ms", "nDCG@10", width=30, height=8).split("\n") == [
        "nDCG@10",
        " 0.9 │",
        "     │",
        "0.85 │                      c",
        "     │      a",
        " 0.8 │",
        "     │",
        "0.75 │                     b",
        "     │",
        " 0.7 │",
        "     └──────────────────────────────",
        "      2       5      10    20     50  ms",
        "",
        "a fts: 0.836 at 4",
        "b semantic: 0.748 at 20",
        "c set-union: 0.853 at 22",
    ]


def test_points_at_the_same_spot_are_side_by_side() -> None:
    drawn = plot_text([Point("one", 5, 0.5), Point("two", 5, 0.5)], "ms", "q", 20, 5)
    assert "ab" in drawn


def test_large_numbers_have_no_exponent() -> None:
    drawn = plot_text([Point("slow", 9641.6, 0.5), Point("fast", 900.0, 0.4)], "ms", "q")
    assert "a slow: 0.5 at 9640" in drawn
    assert " 2000 " in drawn


def test_no_points_give_an_empty_plot() -> None:
    assert plot_text([], "ms", "q") == ""


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.75, 0.85], (0.74, 0.76, 0.78, 0.8, 0.82, 0.84, 0.86)),
        ([0.5], (0.5, 0.502)),
        ([0.0, 1.0], (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
    ],
)
def test_even_ticks_are_round(values: list[float], ticks: tuple[float, ...]) -> None:
    assert even_axis(values).ticks == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("values", "ticks"),
    [([4.0, 22.0], (2, 5, 10, 20, 50)), ([5.0], (5, 10)), ([1.0, 10.0], (1, 2, 5, 10))],
)
def test_ratio_ticks_are_one_two_five(values: list[float], ticks: tuple[float, ...]) -> None:
    assert ratio_axis(values).ticks == pytest.approx(ticks)


@given(st.lists(POSITIVE, min_size=1))
def test_axes_include_every_value(values: list[float]) -> None:
    for axis in (even_axis(values), ratio_axis(values)):
        assert len(axis.ticks) >= 2
        assert all(-1e-6 <= axis.share(value) <= 1 + 1e-6 for value in values)


@given(MANY)
def test_every_point_is_drawn_and_named(points: list[Point]) -> None:
    drawn = plot_text(points, "ms", "q", 40, 10).split("\n")
    frame = next(number for number, line in enumerate(drawn) if "└" in line)
    grid = [line.partition("│")[2] for line in drawn[1:frame]]
    assert all(len(line) <= 40 for line in grid)
    assert sum(len(line.replace(" ", "")) for line in grid) >= min(len(points), 40)
    assert len(drawn) == frame + 3 + len(points)


@given(MANY, st.text(max_size=30))
def test_the_svg_has_a_circle_and_label_for_every_point(points, title: str) -> None:
    root = ElementTree.fromstring(plot_svg(points, title, "ms <", "q & a"))
    assert root.tag == f"{SVG}svg"
    circles = root.findall(f"{SVG}circle")
    assert len(circles) == len(points)
    assert all(0 <= float(circle.attrib["cx"]) <= 640 for circle in circles)
    assert all(0 <= float(circle.attrib["cy"]) <= 400 for circle in circles)


def test_labels_in_the_svg_do_not_cover_each_other() -> None:
    close = [Point("one", 10.0, 0.8), Point("two", 10.1, 0.8), Point("three", 10.2, 0.8)]
    root = ElementTree.fromstring(plot_svg(close, "t", "x", "y"))
    labels = [text for text in root.findall(f"{SVG}text") if text.text in ("one", "two", "three")]
    heights = sorted(float(label.attrib["y"]) for label in labels)
    assert [b - a for a, b in pairwise(heights)] == pytest.approx([15, 15])


@pytest.mark.parametrize(
    ("value", "expected"),
    [(8, "████"), (4, "██"), (3, "█▌"), (1, "▌"), (0.001, "▏"), (0, ""), (16, "████")],
)
def test_the_length_of_a_bar_follows_its_value(value: float, expected: str) -> None:
    assert bar(value, 8, 4) == expected


def test_a_bar_is_empty_when_the_largest_value_is_0() -> None:
    assert bar(0, 0, 10) == ""


@given(st.integers(0, 10**9), st.integers(1, 10**9), st.integers(1, 80))
def test_a_bar_never_exceeds_its_width(value: int, largest: int, width: int) -> None:
    drawn = bar(value, largest, width)
    assert len(drawn) <= width
    assert bool(drawn) == (value > 0)


def test_the_height_of_a_sparkline_follows_its_values() -> None:
    assert sparkline([0, 1, 4, 8]) == " ▂▅█"
    assert sparkline([5, 5]) == "██"
    assert sparkline([0, 0]) == "  "
    assert sparkline([]) == ""


@given(st.lists(st.integers(0, 10**9)))
def test_a_sparkline_has_one_character_per_value(values: list[int]) -> None:
    drawn = sparkline(values)
    assert len(drawn) == len(values)
    assert [character == " " for character in drawn] == [value == 0 for value in values]
