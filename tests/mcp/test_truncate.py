"""Parts of long texts, and long documents made short."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gbrain.mcp.truncate import LONGEST_VALUE, MOST_ENTRIES, part_of, shortened

PAGE = "one\ntwo\r\nthree\rfour\n"


def test_a_short_text_is_its_own_part() -> None:
    part = part_of(PAGE, 0, 100, None, None)
    assert part == (PAGE, 0, len(PAGE), None)
    assert part.note == ""


def test_a_long_text_comes_in_parts() -> None:
    part = part_of("0123456789", 4, 3, None, None)
    assert part == ("456", 4, 10, 7)
    assert part.note == "\n\n[characters 4 to 7 of 10; offset 7 gives the rest]"


def test_lines_are_counted_as_results_count_them() -> None:
    assert part_of(PAGE, 0, 100, 2, 3).text == "two\r\nthree\r"
    assert part_of(PAGE, 0, 100, 4, None).text == "four\n"
    assert part_of(PAGE, 0, 100, None, 1).text == "one\n"
    assert part_of(PAGE, 0, 100, 9, 12) == ("", len(PAGE), len(PAGE), None)
    assert part_of(PAGE, 0, 100, 3, 1).text == ""


def test_the_rest_of_some_lines_is_asked_for_by_offset() -> None:
    first = part_of(PAGE, 0, 4, 2, 3)
    assert first == ("two\r", 4, len(PAGE), 8)
    assert part_of(PAGE, 8, 100, 2, 3).text == "\nthree\r"


@given(st.text(), st.integers(1, 9))
def test_the_parts_together_are_the_text(text: str, size: int) -> None:
    parts, offset = [], 0
    while True:
        part = part_of(text, offset, size, None, None)
        parts.append(part.text)
        if part.next_offset is None:
            break
        offset = part.next_offset
    assert "".join(parts) == text


def test_long_lists_maps_and_texts_are_cut_and_named() -> None:
    document = {
        "list": list(range(500)),
        "map": {str(n): n for n in range(500)},
        "inside": {"text": "x" * (LONGEST_VALUE + 1)},
        "whole": ["x"] * 500,
        "few": [1, 2],
    }
    short = shortened(document, whole=("whole",))
    assert short["list"] == list(range(MOST_ENTRIES))
    assert len(short["map"]) == MOST_ENTRIES
    assert short["whole"] == document["whole"]
    assert short["few"] == [1, 2]
    assert short["truncated"] == [
        "list: 100 of 500 entries",
        "map: 100 of 500 entries",
        "inside.text: 10000 of 10001 characters",
    ]


def test_a_short_document_stays_as_it_is() -> None:
    document = {"a": 1, "b": [{"c": None}], "d": "text"}
    assert shortened(document) == document
