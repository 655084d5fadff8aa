"""Logseq's properties, block names and file names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text.logseq import (
    decode_page_name,
    journal_day,
    journal_link_titles,
    parse_block_properties,
    parse_page_properties,
)
from gbrain.text.markdown import scan_blocks

ONE = "64f0d1aa-1234-4abc-9def-0123456789ab"
TWO = "64f0d1aa-1234-4abc-9def-0123456789ac"


def test_the_lines_that_a_page_begins_with_are_its_properties() -> None:
    body = (
        "title:: The book\n"
        "Type:: [[Book]]\n"
        "tags:: [[Deep Work]], #focus, two words\n"
        "alias:: [[A]], b\n"
        "related:: [[x]] and [[y]]\n"
        "empty::\n"
        "\n"
        "- later:: not one\n"
    )
    assert parse_page_properties(body) == {
        "title": "The book",
        "type": "Book",
        "tags": ["Deep Work", "focus", "two words"],
        "alias": ["A", "b"],
        "related": "[[x]] and [[y]]",
        "empty": "",
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("- type:: note\n  status:: done\n- block", {"type": "note", "status": "done"}),
        ("type:: note\r\nstatus:: done\r\n", {"type": "note", "status": "done"}),
        ("type:: note", {"type": "note"}),
        ("text\ntype:: note", {}),
        ("std::string is a type", {}),
        ("1:: number", {}),
        ("f :: Int -> Int", {}),
        ("", {}),
    ],
)
def test_where_properties_begin_and_end(body: str, expected: dict[str, str]) -> None:
    assert parse_page_properties(body) == expected


def test_blocks_have_names_and_tags_of_their_own_but_not_in_code() -> None:
    body = (
        f"- one\n  id:: {ONE}\n\t- two\n\t  id:: {TWO}\n\t  tags:: a, [[b c]]\n"
        f"- id:: no uuid\n\n```\nid:: {ONE[::-1]}\ntags:: hidden\n```\n"
    )
    assert parse_block_properties(body, scan_blocks(body)) == ([ONE, TWO], ["a", "b c"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [("2026_04_03", "2026-04-03"), ("2026_4_3", None), ("a2026_04_03", None), ("notes", None)],
)
def test_the_day_of_a_journal(name: str, expected: str | None) -> None:
    assert journal_day(name) == expected


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("2026-04-03", "Apr 3rd, 2026"),
        ("2026-12-01", "Dec 1st, 2026"),
        ("2026-01-22", "Jan 22nd, 2026"),
        ("2026-01-11", "Jan 11th, 2026"),
        ("2026-01-13", "Jan 13th, 2026"),
        ("2026-01-30", "Jan 30th, 2026"),
    ],
)
def test_how_links_name_a_day(day: str, expected: str) -> None:
    assert list(journal_link_titles(day)) == [expected]


def test_a_day_that_is_none_has_no_name() -> None:
    assert list(journal_link_titles("2026-13-01")) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("projects___river ai", "projects/river ai"),
        ("a%2Fb%3A c", "a/b: c"),
        ("100% sure", "100% sure"),
        ("a_b__c", "a_b__c"),
    ],
)
def test_names_of_files_spell_out_what_no_file_may_have(name: str, expected: str) -> None:
    assert decode_page_name(name) == expected


@given(st.text(st.sampled_from("ab:[], #-\r\n\t"), max_size=80))
def test_any_text_has_properties_without_an_error(body: str) -> None:
    values = parse_page_properties(body)
    assert all(key == key.lower() and ":" not in key for key in values)
    assert parse_block_properties(body, scan_blocks(body))[0] == []
