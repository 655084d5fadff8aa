"""Links and tags: where they are found, and where they are not."""

from __future__ import annotations

import pytest

from gbrain.text.links import parse_body_links, parse_front_matter_links
from gbrain.text.markdown import scan_blocks
from gbrain.types import Link


def links(text: str, path: str = "notes/page.md") -> list[Link]:
    return parse_body_links(text, scan_blocks(text), 1, path)[0]


def tags(text: str) -> list[str]:
    return parse_body_links(text, scan_blocks(text), 1, "page.md")[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see [[people/alice]]", Link(1, "wiki", "people/alice", None, None)),
        ("[[alice|Ally]]", Link(1, "wiki", "alice", None, "Ally")),
        ("[[alice#Role]]", Link(1, "wiki", "alice", "Role", None)),
        ("[[alice#Role|her role]]", Link(1, "wiki", "alice", "Role", "her role")),
        ("![[diagram page]]", Link(1, "embed", "diagram page", None, None)),
        ("{{embed [[diagram page]]}}", Link(1, "embed", "diagram page", None, None)),
        ("> [!note]- See [[alice]]", Link(1, "wiki", "alice", None, None)),
        ("[[alice#^her-role]]", Link(1, "wiki", "alice", "^her-role", None)),
        ("[[alice.md]]", Link(1, "wiki", "alice", None, None)),
        ("| [[alice\\|Ally]] |", Link(1, "wiki", "alice", None, "Ally")),
        ("| [[alice#Role\\|Ally]] |", Link(1, "wiki", "alice", "Role", "Ally")),
        (
            "see ((64f0d1aa-1234-4abc-9def-0123456789ab))",
            Link(1, "block", "64f0d1aa-1234-4abc-9def-0123456789ab", None, None),
        ),
        ("[her](../people/alice.md)", Link(1, "markdown", "people/alice", None, "her")),
        ("[her](/people/alice.md#Role)", Link(1, "markdown", "people/alice", "Role", "her")),
        ("[x](<my page.md>)", Link(1, "markdown", "notes/my page", None, "x")),
        ("[x](my%20page.md)", Link(1, "markdown", "notes/my page", None, "x")),
        ('[x](b.md "title")', Link(1, "markdown", "notes/b", None, "x")),
    ],
)
def test_links_between_pages_are_found(text: str, expected: Link) -> None:
    assert links(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "[x](https://example.org/a.md)",
        "[x](mailto:a@example.org)",
        "[x](#heading)",
        "![x](image.png)",
        "`[[code]]`",
        "```\n[[fenced]]\n```",
        "    [[indented]]",
        "[[]] [[ ]]",
        "[[broken\nover lines]]",
        "[not a link] (a.md)",
        "![[picture.png]] [[paper.PDF]] [[board.canvas]]",
        "%%[[hidden]]%%",
        "%%\n[[hidden]]\n\n%% ",
        "((not a block)) ((64f0d1aa))",
        "`((64f0d1aa-1234-4abc-9def-0123456789ab))`",
    ],
)
def test_other_links_and_code_are_ignored(text: str) -> None:
    assert links(text) == []


def test_a_link_cannot_leave_the_folder() -> None:
    assert links("[x](../../../../etc/passwd.md)")[0].target == "etc/passwd"


def test_each_link_knows_its_line() -> None:
    text = "# Title\r\n\r\n[[one]] and [[two]]\r\n\r\n- [[three]]\r\n"
    found = parse_body_links(text, scan_blocks(text), 5, "page.md")[0]
    assert [(link.target, link.line) for link in found] == [("one", 7), ("two", 7), ("three", 9)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#urgent", ["urgent"]),
        ("a #b, (#c) #d/e", ["b", "c", "d/e"]),
        ("# Heading #tag", ["tag"]),
        ("#1 and #2026-plan", ["2026-plan"]),
        ("a#b C#", []),
        ("`#code`", []),
        ("```\n#fenced\n```", []),
        ("#日本 #über", ["日本", "über"]),
        ("https://example.org/#part", []),
        ("#two words# #nested/two words#", ["two words", "nested/two words"]),
        ("#R&D notes#, #2026 goals#.", ["R&D notes", "2026 goals"]),
        ("#todo learn C# and #one", ["todo", "one"]),
        ("#one, and two# #see a#b #stop. now# #12 34#", ["one", "see", "stop", "12 34"]),
        ("#[[two words]] a#[[no tag]]", ["two words"]),
        ("> [!tip] #inside", ["inside"]),
        ("%%#hidden%% #shown", ["shown"]),
    ],
)
def test_inline_tags_are_found(text: str, expected: list[str]) -> None:
    assert tags(text) == expected


def test_front_matter_has_wikilinks_and_plain_link_values() -> None:
    values = {
        "title": "no link",
        "note": "with [[alice#Role]] and [[bob]]",
        "related": ["people/carol.md", "[[dave]]", "https://example.org"],
        "deep": {"list": ["[[erin]]"]},
    }
    found = list(parse_front_matter_links(values, {"note": 3, "related": 4, "deep": 8}))
    assert [(link.line, link.target, link.heading, link.label) for link in found] == [
        (3, "alice", "Role", "note"),
        (3, "bob", None, "note"),
        (4, "people/carol", None, "related"),
        (4, "dave", None, "related"),
        (8, "erin", None, "deep"),
    ]
