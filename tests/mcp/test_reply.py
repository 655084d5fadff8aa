"""Replies of tools: errors for agents, ranges of long texts, truncated documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.errors import NotFound
from gbrain.mcp.reply import (
    MAX_ENTRIES,
    MAX_VALUE_CHARACTERS,
    error_reply,
    replace_commands,
    select_range,
    truncate_document,
)

PAGE = "one\ntwo\r\nthree\rfour\n"


def test_an_error_has_a_code_a_message_and_a_hint() -> None:
    reply = error_reply(NotFound("There is no page x", hint="gbrain list shows the pages."))
    assert reply.document == {
        "error": {
            "code": "not_found",
            "message": "There is no page x",
            "hint": "brain_list shows the pages.",
        }
    }
    assert reply.text == (
        "Error (not_found): There is no page x\nHint: brain_list shows the pages."
    )


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("Read it again with gbrain get a/b.", "Read it again with brain_get a/b."),
        ("gbrain put a FILE makes the page first.", "brain_put a makes the page first."),
        ("gbrain timeline-add writes one.", "brain_timeline_add writes one."),
        ("Ask with --include-superseded.", "Ask with include_superseded."),
        ("gbrain doctor --repair repairs it.", "gbrain doctor --repair repairs it."),
    ],
)
def test_hints_name_what_an_agent_can_call(hint: str, shown: str) -> None:
    assert replace_commands(hint) == shown


def test_a_short_text_is_returned_whole() -> None:
    selected = select_range(PAGE, 0, 100, None, None)
    assert selected == (PAGE, 0, len(PAGE), None)
    assert selected.note == ""


def test_a_long_text_is_returned_in_ranges() -> None:
    selected = select_range("0123456789", 4, 3, None, None)
    assert selected == ("456", 4, 10, 7)
    assert selected.note == "\n\n[characters 4 to 7 of 10; pass offset 7 for the rest]"


def test_lines_are_counted_as_in_results() -> None:
    assert select_range(PAGE, 0, 100, 2, 3).text == "two\r\nthree\r"
    assert select_range(PAGE, 0, 100, 4, None).text == "four\n"
    assert select_range(PAGE, 0, 100, None, 1).text == "one\n"
    assert select_range(PAGE, 0, 100, 9, 12) == ("", len(PAGE), len(PAGE), None)
    assert select_range(PAGE, 0, 100, 3, 1).text == ""


def test_the_rest_of_a_range_of_lines_follows_by_offset() -> None:
    first = select_range(PAGE, 0, 4, 2, 3)
    assert first == ("two\r", 4, len(PAGE), 8)
    assert select_range(PAGE, 8, 100, 2, 3).text == "\nthree\r"


@given(st.text(), st.integers(1, 9))
def test_all_ranges_together_are_the_text(text: str, size: int) -> None:
    texts, offset = [], 0
    while True:
        selected = select_range(text, offset, size, None, None)
        texts.append(selected.text)
        if selected.next_offset is None:
            break
        offset = selected.next_offset
    assert "".join(texts) == text


def test_long_lists_objects_and_texts_are_cut_and_named() -> None:
    document = {
        "list": list(range(500)),
        "map": {str(n): n for n in range(500)},
        "inside": {"text": "x" * (MAX_VALUE_CHARACTERS + 1)},
        "kept": ["x"] * 500,
        "few": [1, 2],
    }
    short = truncate_document(document, keep=("kept",))
    assert short["list"] == list(range(MAX_ENTRIES))
    assert len(short["map"]) == MAX_ENTRIES
    assert short["kept"] == document["kept"]
    assert short["few"] == [1, 2]
    assert short["truncated"] == [
        "list: 100 of 500 entries",
        "map: 100 of 500 entries",
        "inside.text: 10000 of 10001 characters",
    ]


def test_a_short_document_is_not_changed() -> None:
    document = {"a": 1, "b": [{"c": None}], "d": "text"}
    assert truncate_document(document) == document
