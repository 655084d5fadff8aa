"""Whole pages as Obsidian, Logseq and Bear write them: their links, tags, names and days."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.text.dialects import (
    decode_page_name,
    find_comments,
    is_attachment,
    journal_day,
    journal_link_titles,
    parse_block_properties,
    parse_page_properties,
)
from gbrain.text.markdown import scan_blocks
from gbrain.text.page import parse_page

BLOCK = "64f0d1aa-1234-4abc-9def-0123456789ab"

OBSIDIAN = """\
---
aliases: [AC]
tags: [person]
---
# Alice

> [!quote] On [[Cloud RAG]]
> It leaves me cold. #opinion/strong

The sentence that others cite. ^cited

![[Bob#^cited]] and ![[portrait.png]]

%%
Ask [[Secret]] first. #private
%%
"""

LOGSEQ = f"""\
type:: [[person]]
tags:: founder, [[deep work]]
alias:: Ally

- Met at [[Apr 3rd, 2026]] #[[river ai]]
\t- She said ((64f0d1aa-1234-4abc-9def-0123456789ac))
\t  id:: {BLOCK}
\t\t- and #more
"""

BEAR = "# Trip\n#travel/south america# #todo\n\nSee [[Packing list]].\n"


def test_obsidian_pages_are_parsed() -> None:
    page = parse_page("Alice.md", OBSIDIAN.encode())
    assert page.tags == ("person", "opinion/strong")
    assert [(link.kind, link.target, link.heading) for link in page.links] == [
        ("wiki", "Cloud RAG", None),
        ("embed", "Bob", "^cited"),
    ]
    assert page.text == OBSIDIAN


def test_logseq_pages_are_parsed() -> None:
    page = parse_page("pages/people___alice.md", LOGSEQ.encode())
    assert (page.title, page.type, page.wing) == ("People/alice", "person", "people")
    assert page.tags == ("founder", "deep work", "river ai", "more")
    assert page.aliases == ("Ally",)
    assert page.blocks == (BLOCK,)
    assert [(link.line, link.kind, link.target) for link in page.links] == [
        (1, "wiki", "person"),
        (2, "wiki", "deep work"),
        (5, "wiki", "Apr 3rd, 2026"),
        (5, "wiki", "river ai"),
        (6, "block", "64f0d1aa-1234-4abc-9def-0123456789ac"),
    ]
    assert page.text == LOGSEQ


OUTLINE = """\
title:: Field Notebook

- # Overview
\t- A notebook for crews. [[River AI]]
- ## Decisions
\t- Keep both versions #sync

```
- ## no heading
```
"""


def test_headings_in_an_outline_apply_to_the_items_below() -> None:
    page = parse_page("pages/field.md", OUTLINE.encode())
    assert [(chunk.first_line, chunk.heading_path) for chunk in page.chunks] == [
        (1, ()),
        (3, ("Overview",)),
        (5, ("Overview", "Decisions")),
    ]
    assert "".join(chunk.text for chunk in page.chunks).count("Keep both versions") == 1
    assert page.title == "Field Notebook"
    assert parse_page("pages/field.md", b"- # Overview\n").title == "Field", "as Logseq has it"
    assert page.tags == ("sync",)


def test_a_logseq_journal_has_its_date_and_alias() -> None:
    page = parse_page("journals/2026_04_03.md", b"- Met [[alice]]\n")
    assert (page.title, page.date, page.wing) == ("2026-04-03", "2026-04-03", "journal")
    assert page.aliases == ("Apr 3rd, 2026",)


def test_bear_tags_are_parsed() -> None:
    page = parse_page("Trip.md", BEAR.encode())
    assert page.tags == ("travel/south america", "todo")
    assert [link.target for link in page.links] == ["Packing list"]


def test_front_matter_comes_before_properties() -> None:
    page = parse_page("a.md", b"---\ntype: book\n---\ntype:: film\nstatus:: seen\n")
    assert (page.type, page.meta) == ("book", '{"type": "book", "status": "seen"}')


def test_links_of_all_dialects_lead_to_their_pages(brain: Brain) -> None:
    brain.put("pages/people___alice", LOGSEQ.encode())
    brain.put("journals/2026_04_03", b"- quiet\n")
    brain.put("cites", f"(({BLOCK})) [[people/alice]] [[Apr 3rd, 2026]]\n".encode())
    assert [(b.slug, b.kind) for b in brain.backlinks("pages/people___alice")] == [
        ("cites", "block"),
        ("cites", "wiki"),
    ]
    assert [b.slug for b in brain.backlinks("journals/2026_04_03")] == [
        "cites",
        "pages/people___alice",
    ]


def test_comments_are_searchable_but_their_links_are_ignored(brain: Brain) -> None:
    brain.put("alice", OBSIDIAN.encode())
    brain.put("secret", b"# Secret\n")
    assert [hit.slug for hit in brain.search("ask first").hits] == ["alice"]
    assert brain.backlinks("secret") == []


ONE = "64f0d1aa-1234-4abc-9def-0123456789ab"
TWO = "64f0d1aa-1234-4abc-9def-0123456789ac"


def test_property_lines_at_the_start_are_page_properties() -> None:
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
def test_page_properties_end_at_the_first_other_line(body: str, expected: dict[str, str]) -> None:
    assert parse_page_properties(body) == expected


def test_block_ids_and_tags_are_read_outside_code() -> None:
    body = (
        f"- one\n  id:: {ONE}\n\t- two\n\t  id:: {TWO}\n\t  tags:: a, [[b c]]\n"
        f"- id:: no uuid\n\n```\nid:: {ONE[::-1]}\ntags:: hidden\n```\n"
    )
    assert parse_block_properties(body, scan_blocks(body)) == ([ONE, TWO], ["a", "b c"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [("2026_04_03", "2026-04-03"), ("2026_4_3", None), ("a2026_04_03", None), ("notes", None)],
)
def test_a_journal_file_name_is_a_date(name: str, expected: str | None) -> None:
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
def test_links_name_a_journal_day_in_english(day: str, expected: str) -> None:
    assert list(journal_link_titles(day)) == [expected]


def test_an_invalid_day_has_no_link_title() -> None:
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
def test_encoded_file_names_are_decoded(name: str, expected: str) -> None:
    assert decode_page_name(name) == expected


@given(st.text(st.sampled_from("ab:[], #-\r\n\t"), max_size=80))
def test_parsing_properties_never_fails(body: str) -> None:
    values = parse_page_properties(body)
    assert all(key == key.lower() and ":" not in key for key in values)
    assert parse_block_properties(body, scan_blocks(body))[0] == []


def hidden(text: str) -> list[str]:
    return [text[start:stop] for start, stop in find_comments(text, scan_blocks(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a %%b%% c %%d%%", ["%%b%%", "%%d%%"]),
        ("%%\none\n\ntwo\n%%\nthree", ["%%\none\n\ntwo\n%%"]),
        ("  %% one\ntwo %% three", ["%% one\ntwo %%"]),
        ("%%a%% b %%c%%", ["%%a%%", "%%c%%"]),
        ("%% it's ` odd %% `code`", ["%% it's ` odd %%"]),
        ("- item\n%%a\n- item\n%%\n", ["%%a\n- item\n%%"]),
        ("%%%%", ["%%%%"]),
    ],
)
def test_only_a_comment_at_a_line_start_spans_lines(text: str, expected: list[str]) -> None:
    assert hidden(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "100%% sure\n\nand 50%% of it",
        "%% never closed",
        "`%%` and `%%`",
        "```\n%%\n```\n[[link]]\n```\n%%\n```",
        "    %%\n\n    %%",
        "100% and 50%",
    ],
)
def test_unpaired_percent_signs_are_not_a_comment(text: str) -> None:
    assert hidden(text) == []


@given(st.text(st.sampled_from("%`a \n\r#-"), max_size=60))
def test_comments_are_in_order_and_between_marks(text: str) -> None:
    found = list(find_comments(text, scan_blocks(text)))
    assert all(first[1] <= second[0] for first, second in pairwise(found))
    assert all(text[a : a + 2] == text[b - 2 : b] == "%%" and b - a >= 4 for a, b in found)


@pytest.mark.parametrize(
    ("target", "expected"),
    [("a.png", True), ("dir/a.PDF", True), ("a.md", False), ("node.js", False), ("png", False)],
)
def test_attachments_are_recognised_by_suffix(target: str, expected: bool) -> None:
    assert is_attachment(target) is expected
