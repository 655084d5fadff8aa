"""Pages read from their bytes: nothing is lost, and each part is where a person expects it."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gbrain.errors import BadPage
from gbrain.text.page import MAX_TITLE_CHARACTERS, parse_page

_LINES = [
    "---",
    "---",
    "...",
    "title: Alice",
    "tags: [a, b]",
    "key: 'quoted' # comment",
    "list:",
    "  - x",
    "",
    " ",
    "# Title",
    "Title",
    "=====",
    "## Timeline",
    "- 2026-04-03 — Joined",
    "  more",
    "```",
    "[[link|label]]",
    "#tag",
    "Ünï 知识 🚀",
    "\ufeff",
    "\u2028",
    "\x0c",
    "\x1b[31m",
    "word " * 60,
]
texts = st.lists(
    st.tuples(
        st.one_of(
            st.sampled_from(_LINES),
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
        ),
        st.sampled_from(["\n", "\n", "\r\n", "\r", ""]),
    ),
    max_size=25,
).map(lambda lines: "".join(line + end for line, end in lines))

ALICE = b"""---
title: Alice Chen
type: person
tags: [founder, offline-first]   # a comment
aliases: [Ally]
---
# Alice Chen

Founder of [[companies/river-ai]] #urgent

---
## Timeline
- 2026-04-03 \xe2\x80\x94 Joined RiverAI as CTO
"""


def test_a_page_is_parsed_completely() -> None:
    page = parse_page("People/Alice Chen.md", ALICE)
    assert page.slug == "people/alice-chen"
    assert page.path == "People/Alice Chen.md"
    assert page.title == "Alice Chen"
    assert page.type == "person"
    assert page.wing == "people"
    assert page.tags == ("founder", "offline-first", "urgent")
    assert page.aliases == ("Ally",)
    assert page.date == "2026-04-03"
    assert page.front_matter.endswith("aliases: [Ally]\n---\n")
    assert page.compiled_truth.startswith("# Alice Chen\n\nFounder")
    assert page.timeline.startswith("---\n## Timeline\n")
    assert [link.target for link in page.links] == ["companies/river-ai"]
    assert json.loads(page.meta)["tags"] == ["founder", "offline-first"]


@given(texts)
@example("\ufeff---\r\ntitle: x\r\n---\r\nbody")
@example("---\n---\n")
@example("---\nnot: yaml\n...\n---\n## Timeline\n- 2026 — x")
@example("")
def test_front_matter_truth_and_timeline_join_to_the_text(text: str) -> None:
    try:
        page = parse_page("a/page.md", text.encode())
    except BadPage:
        assert text.lstrip("\ufeff").startswith("---")
        return
    assert page.text == text
    assert page.text.encode() == text.encode()


def is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


@given(st.binary(max_size=200))
def test_any_bytes_are_a_page_or_a_clear_error(data: bytes) -> None:
    try:
        page = parse_page("page.md", data)
    except BadPage:
        assert data.startswith((b"---", b"\xef\xbb\xbf---")) or not is_text(data)
    else:
        assert page.text.encode() == data


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("a.md", "---\ntitle: Given\n---\n# Heading\n", "Given"),
        ("a.md", "---\ntitle: 2026\n---\n", "2026"),
        ("a.md", "---\ntitle: ''\n---\n# Heading\n", "Heading"),
        ("a.md", "---\ntitle: [a, b]\n---\n# Heading\n", "Heading"),
        ("a.md", "## Second\n# *First* `level` [[x|one]] [two](b.md)\n", "First level one two"),
        ("a.md", "Underlined\n===\n", "Underlined"),
        ("a.md", "# snake_case_name\n", "snake_case_name"),
        ("notes/my-best_page.md", "No heading.\n", "My best page"),
        ("journal/2026-04-03.md", "Words.\n", "2026-04-03"),
        ("a.md", "# \n", "A"),
    ],
)
def test_the_title_is_given_or_the_heading_or_the_name(path: str, text: str, title: str) -> None:
    assert parse_page(path, text.encode()).title == title


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("---\ntags: a, b c\n---\n", ("a", "b", "c")),
        ("---\ntags:\n  - '#A'\n  - a\n  - 7\n---\n#b #A", ("A", "7", "b")),
        ("---\ntag: solo\n---\n", ("solo",)),
        ("---\ntags: null\n---\n", ()),
    ],
)
def test_tags_come_from_front_matter_and_text_once_each(text: str, tags: tuple[str, ...]) -> None:
    assert parse_page("a.md", text.encode()).tags == tags


@pytest.mark.parametrize(
    ("path", "text", "date"),
    [
        ("a.md", "---\ndate: 2026-04-03\nupdated: 2027\n---\n", "2026-04-03"),
        ("a.md", "---\ndate: 2026\n---\n", "2026"),
        ("a.md", "---\ndate: someday\ncreated: 2025-01\n---\n", "2025-01"),
        ("journal/2026-04-03-walk.md", "", "2026-04-03"),
        ("2026-13-40.md", "", None),
        ("a.md", "## Timeline\n- 2025 — a\n- 2026-02 — b\n- 2024 — c\n", "2026-02"),
        ("a.md", "Words of 2026.\n", None),
    ],
)
def test_a_page_is_dated_by_front_matter_name_or_last_entry(
    path: str, text: str, date: str | None
) -> None:
    assert parse_page(path, text.encode()).date == date


@pytest.mark.parametrize("sign", ["_", "*", "`", "[", "[[", "[](", "a_", "_a", "\\", "<", "!["])
def test_a_long_heading_of_symbols_is_fast_and_cut(sign: str) -> None:
    heading = "a" + sign * (500_000 // len(sign)) + "a"
    page = parse_page("a.md", f"# {heading}\n\nWords.\n".encode())
    assert 0 < len(page.title) <= MAX_TITLE_CHARACTERS


def test_a_long_heading_is_cut_in_the_sections_below_it() -> None:
    sections = "".join(f"## Part {n}\n\nWords.\n\n" for n in range(3000))
    page = parse_page("a.md", f"# {'long ' * 40_000}\n\n{sections}".encode())
    assert len(page.chunks) == 3000
    assert sum(len(name) for chunk in page.chunks for name in chunk.heading_path) < 10_000_000
