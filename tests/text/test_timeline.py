"""Entries are read in every spelling, and added without touching the rest of the page."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gbrain.errors import BadPage, UsageError
from gbrain.text.frontmatter import split_front_matter
from gbrain.text.markdown import scan_blocks
from gbrain.text.page import parse_page
from gbrain.text.sections import find_timeline_line, split_sections
from gbrain.text.timeline import add_entry, drop_later_entries, parse_entry


@pytest.mark.parametrize(
    ("text", "source", "words"),
    [
        ("- 2026-04-03 — Joined", None, "Joined"),
        ("- 2026-04-03: Joined", None, "Joined"),
        ("- 2026 - Joined -- at last", None, "Joined -- at last"),
        ("* __2026-04__ – Joined", None, "Joined"),
        ("- **2026-03** | podcast — Said so", "podcast", "Said so"),
        ("- **2026-03** | [[a/b]] - Said so", "[[a/b]]", "Said so"),
        ("- 2026-03 | call - home — Said so — twice", "call - home", "Said so — twice"),
        ("- 2026-03 | Said so", None, "Said so"),
        ("- **2026-03:** Said so", None, "Said so"),
        ("- **2026-03: Said** so", None, "**Said** so"),
        ("- 2026-04-03", None, ""),
        ("- 2026-04-03 | call —\n  Said so\n  - twice", "call", "Said so\n- twice"),
        ("-\t2026-04-03: a\r\n\tb\r\n\r\n\t    c\r\nd", None, "a\nb\n\n    c\nd"),
        ("  -  2026-04-03: a\n     b", None, "a\nb"),
        ("  no entry at all ", None, "no entry at all"),
    ],
)
def test_what_an_entry_says(text: str, source: str | None, words: str) -> None:
    assert parse_entry(text) == (source, words)


def test_a_page_without_a_timeline_gets_one() -> None:
    assert add_entry("# Ann\n\nA friend.\n", "2026-04-03", "Met") == (
        "# Ann\n\nA friend.\n\n---\n## Timeline\n- 2026-04-03 — Met\n"
    )


@pytest.mark.parametrize(
    ("page", "grown"),
    [
        ("", "## Timeline\n- 2026 — Met\n"),
        ("Ann", "Ann\n\n---\n## Timeline\n- 2026 — Met\n"),
        ("Ann\r\n", "Ann\r\n\r\n---\r\n## Timeline\r\n- 2026 — Met\r\n"),
        ("Ann\n\n---\n", "Ann\n\n---\n## Timeline\n- 2026 — Met\n"),
        ("Ann\n---\n", "Ann\n---\n\n---\n## Timeline\n- 2026 — Met\n"),
        ("---\na: 1\n---", "---\na: 1\n---\n\n---\n## Timeline\n- 2026 — Met\n"),
        ("---\n# Ann\n", "---\n# Ann\n\n## Timeline\n- 2026 — Met\n"),
    ],
)
def test_how_a_new_timeline_is_set_off(page: str, grown: str) -> None:
    assert add_entry(page, "2026", "Met") == grown


RISING = "## Timeline\n- 2026-01-05: a\n  more\n- 2026-03-05: b\n\nThat is all.\n"
FALLING = "---\n- 2026-03-05: b\n- 2026-01-05: a\n  more\n\nThat is all.\n"


@pytest.mark.parametrize(
    ("page", "date", "above"),
    [
        (RISING, "2025", "## Timeline"),
        (RISING, "2026-01-05", "  more"),
        (RISING, "2026-02", "  more"),
        (RISING, "2026-03-05", "- 2026-03-05: b"),
        (RISING, "2027", "- 2026-03-05: b"),
        (FALLING, "2025", "  more"),
        (FALLING, "2026-01-05", "- 2026-03-05: b"),
        (FALLING, "2026-02", "- 2026-03-05: b"),
        (FALLING, "2026-03-05", "---"),
        (FALLING, "2027", "---"),
    ],
)
def test_the_order_of_the_page_is_kept(page: str, date: str, above: str) -> None:
    lines = add_entry(page, date, "new").splitlines()
    assert lines[lines.index(f"- {date}: new") - 1] == above
    assert lines[-2:] == ["", "That is all."]


def test_without_an_order_it_goes_after_the_last() -> None:
    page = "## Timeline\n- 2026-03: a\n- 2026-01: b\n- 2026-02: c\n"
    assert add_entry(page, "2025", "new") == page + "- 2025: new\n"
    assert add_entry("## Timeline\n- 2026: a", "2025", "b") == "## Timeline\n- 2026: a\n- 2025: b\n"


def test_one_entry_out_of_place_does_not_hide_the_order() -> None:
    page = "## Timeline\n" + "".join(f"- 2026-0{month}: x\n" for month in (9, 8, 7, 4, 5, 3, 2))
    assert add_entry(page, "2026-10", "new").startswith("## Timeline\n- 2026-10: new\n- 2026-09")


def test_the_heading_of_its_year_is_found() -> None:
    page = "## Timeline\n### 2026\n- 2026-02: x\n### 2025\n- 2025-03: y\n### 2024\n\n## Notes\n"
    assert "2025-03: y\n- 2025-01: new\n### 2024" in add_entry(page, "2025-01", "new")
    assert "### 2024\n\n- 2024-01 — new\n\n## Notes" in add_entry(page, "2024-01", "new").replace(
        ": new", " — new"
    )


def test_dated_lists_under_later_headings_are_not_the_timeline() -> None:
    page = "## Timeline\n- 2026-02: x\n- 2026-03: y\n\n## Bugs\n- 2020-01: z\n- 2019-01: z\n"
    assert "- 2026-03: y\n- 2026-04: new\n\n## Bugs" in add_entry(page, "2026-04", "new")


@pytest.mark.parametrize(
    ("page", "grown"),
    [
        ("## Timeline\n## Next\n", "## Timeline\n- 2026 — Met\n\n## Next\n"),
        ("## Timeline\n\n## Next\n", "## Timeline\n\n- 2026 — Met\n\n## Next\n"),
        ("## Timeline\nSo far:\n", "## Timeline\nSo far:\n\n- 2026 — Met\n"),
        ("## Timeline\n- undated\n", "## Timeline\n- undated\n- 2026 — Met\n"),
        ("a\n\n---\n\n## Timeline", "a\n\n---\n\n## Timeline\n- 2026 — Met\n"),
    ],
)
def test_a_timeline_without_entries(page: str, grown: str) -> None:
    assert add_entry(page, "2026", "Met") == grown


def test_spelled_as_the_nearest_entry_of_its_kind() -> None:
    page = "## Timeline\n*  **2026-01-05** | call -- a\n*  2026-02-05 - b\n"
    assert "*  2026-03-05 - new\n" in add_entry(page, "2026-03-05", "new")
    assert "*  **2026-03-05** | chat -- new\n" in add_entry(page, "2026-03-05", "new", "chat")
    assert "*  **2026-03-05** | a -- b — new\n" in add_entry(page, "2026-03-05", "new", "a -- b")
    plain = "## Timeline\n- 2026-02-05: b\n"
    assert "- **2026-03-05** | chat — new\n" in add_entry(plain, "2026-03-05", "new", "chat")


def test_blank_lines_between_entries_are_kept_up() -> None:
    page = "## Timeline\n\n- 2026-01: a\n\n- 2026-03: b\n"
    assert add_entry(page, "2026-02", "n") == page.replace("a\n", "a\n\n- 2026-02: n\n")
    assert add_entry(page, "2025", "n") == page.replace("- 2026-01", "- 2025: n\n\n- 2026-01")
    assert add_entry(page, "2027", "n") == page + "\n- 2027: n\n"


def test_text_that_follows_directly_does_not_join_the_entry() -> None:
    page = "## Timeline\n- 2025: a\n  ```\n  code\n  ```\nProse.\n"
    grown = add_entry(page, "2026", "new")
    assert grown.endswith("  ```\n- 2026: new\n\nProse.\n")


def test_lines_of_text_become_lines_of_the_entry() -> None:
    grown = add_entry("## Timeline\r\n", "2026", "a\n\n  - b\r\nc", "chat")
    assert grown == "## Timeline\r\n- **2026** | chat — a\r\n\r\n    - b\r\n  c\r\n"


def test_the_same_in_another_spelling_is_there_already() -> None:
    page = "## Timeline\n* **2026-4-3** | chat – Met\n"
    assert add_entry(page, "2026-04-03", " Met ", " chat ") == page


def test_what_makes_no_entry() -> None:
    for date in ("", "soon", "2026-04-06/2026-04-12", "2026-13"):
        with pytest.raises(UsageError, match="cannot be dated"):
            add_entry("", date, "Met")
    with pytest.raises(UsageError, match="needs text"):
        add_entry("", "2026", " \n ")
    with pytest.raises(UsageError, match="cannot be distinguished"):
        add_entry("", "2026", "Met", "here — there")


def test_nothing_can_stand_below_a_block_that_never_ends() -> None:
    with pytest.raises(BadPage, match=r"^line 5: a code block or HTML comment starts here"):
        add_entry("---\na: 1\n---\nText\n```\ncode\n", "2026", "Met")
    with pytest.raises(BadPage, match=r"^line 2: a code block or HTML comment starts here"):
        add_entry("## Timeline\n<!-- a\n", "2026", "Met")


BLOCKS = """
text|- item|1. item|  indented|    code|\tcode|```|~~~ x|---|---|***|===|> quote|<!-- a|-->|<div>
[a]: /b|a: 1|# Title|## Timeline|## Timeline|Timeline:|### 2026|### 2025-03|#Timeline
- 2026-04-03 — text|- 2025-03: older|* **2024** \u2223 talk — oldest|- 2026-05-01|+ __2023__
   -    2026: wide|-\t2026-01-02: tab|- 2026-04-03T10:30Z -- time|-      2026: code
- **2026-01-01: bold** text|- **2026-02:** bold"""
LINES = st.sampled_from(re.split(r"[|\n]", BLOCKS)).map(lambda line: line.replace("\u2223", "|"))
PAGES = st.builds(
    lambda lines, newline, end: newline.join(lines) + end,
    st.lists(LINES, max_size=14),
    st.sampled_from(["\n", "\n", "\r\n", "\r"]),
    st.sampled_from(["", "\n", "\r\n", "\n\n"]),
)
DATES = st.sampled_from(
    ["2026-04-03", "2026-04", "2026", "2025-Q1", "2025-03-08", "2026-04-03T10:30Z", "1999-12-31"]
)
WORDS = st.one_of(
    st.lists(LINES, min_size=1, max_size=4).map("\n".join),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
)
SOURCES = st.sampled_from([None, "", "chat", "a - b", "[[a|b]]", "**x**", "|"])


@given(PAGES, DATES, WORDS, SOURCES)
@example("---\n# A\n", "2026", "b", None)
def test_added_once_found_again_and_nothing_else_touched(
    page: str, date: str, words: str, source: str | None
) -> None:
    assume(words.strip())
    try:
        before = parse_page("a.md", page.encode())
        grown = add_entry(page, date, words, source)
    except BadPage:
        assume(False)
    assert add_entry(grown, date, words, source) == grown
    after = parse_page("a.md", grown.encode())
    wanted = (source or None, "\n".join(re.split(r"\r\n?|\n", words)).strip())
    entries = [c for c in after.chunks if c.kind == "timeline" and c.date == date and c.part == 0]
    raw = grown.encode()
    said = {parse_entry(raw[c.byte_start : c.byte_stop].decode()) for c in entries}
    assert re.sub(r"\n[ \t]+(?=\n)", "\n", wanted[1]) in {s.words for s in said}
    assert wanted[0] in {s.source for s in said}
    assert _without_one_stretch(grown, page)
    if grown != page:
        assert after.front_matter.rstrip("\r\n") == before.front_matter.rstrip("\r\n")
        old = {(c.date, c.text) for c in before.chunks if c.kind == "timeline"}
        assert old <= {(c.date, c.text) for c in after.chunks if c.kind == "timeline"}


def _without_one_stretch(longer: str, shorter: str) -> bool:
    """Whether leaving out one stretch of the longer text gives the shorter one."""
    same = 0
    while same < len(shorter) and longer[same] == shorter[same]:
        same += 1
    return longer.endswith(shorter[same:]) and len(longer) >= len(shorter)


@pytest.mark.parametrize(
    "line",
    ["- 2026 | " + " " * 900_000 + "x", "- 2026 |" + " -" * 400_000 + "x", "-" + " " * 900_000],
)
def test_long_lines_are_read_in_one_go(line: str) -> None:
    assert parse_entry(line).words.endswith(("x", "-"))


def test_the_front_matter_stays_what_it_was() -> None:
    page = "---\ntitle: 'A'  # note\n---\n\n## Timeline\n"
    assert (
        split_front_matter(add_entry(page, "2026", "Met"))[0].raw
        == "---\ntitle: 'A'  # note\n---\n"
    )


def test_a_rule_on_the_first_line_never_becomes_front_matter() -> None:
    with pytest.raises(BadPage, match=r"^line 1: the page starts with ---"):
        add_entry("---\n## Timeline\ntext\n---\n", "2026", "Met")


PAGE = """---
title: Alice
---
# Alice

Due on 2027-01-01.

---
## Timeline
- 2026-05-01 — Moved
  to Lisbon
- 2026-04-03 — Joined
- **2026-04** | podcast — Spoke

Unsure of the rest.
"""


def test_later_entries_go_with_all_their_lines():
    known = drop_later_entries(PAGE, "2026-04-30")
    assert known == PAGE.replace("- 2026-05-01 — Moved\n  to Lisbon\n", "")


def test_a_month_is_known_from_its_first_day():
    assert "podcast" in drop_later_entries(PAGE, "2026-04-01")
    assert "podcast" not in drop_later_entries(PAGE, "2026-03-31")


def test_dates_above_the_timeline_are_the_page_s_own_words():
    assert drop_later_entries(PAGE, "0001-01-01").startswith(PAGE[: PAGE.index("- 2026")])


def test_a_dated_heading_goes_with_what_is_below_it():
    page = (
        "# Log\n\n## Timeline\n### 2026-05-02\nlate\n#### More\nlate too\n- 2026-04-01: early\n"
        "### 2026-04-02\nearly\n"
    )
    assert drop_later_entries(page, "2026-04-30") == (
        "# Log\n\n## Timeline\n- 2026-04-01: early\n### 2026-04-02\nearly\n"
    )


@pytest.mark.parametrize("page", ["", "no timeline\n", "---\na: 1\n---\n", "## Timeline\n"])
def test_pages_without_entries_stay(page):
    assert drop_later_entries(page, "2000-01-01") == page


DAYS = st.dates().map(lambda day: day.isoformat())
ENTRIES = st.lists(st.tuples(DAYS, st.sampled_from(["x", "two words", "a\n  b"])), max_size=8)


@given(ENTRIES, DAYS)
def test_exactly_the_entries_up_to_the_day_are_left(entries, day):
    head = "# P\n\ntext\n\n## Timeline\n"
    written = [f"- {date} — {words}\n" for date, words in entries]
    kept = [line for line, (date, _) in zip(written, entries, strict=True) if date <= day]
    assert drop_later_entries(head + "".join(written), day) == head + "".join(kept)


@given(st.lists(st.sampled_from(
    ["# H\n", "## Timeline\n", "- 2026-01-01: a\n", "- 2027-01-01 — b\n", "---\n", "words\n", "\n",
     "### 2027-02\n", "  more\n", "```\n", "* **2028** | s — t\n"]), max_size=9), DAYS)  # fmt: skip
def test_only_whole_sections_of_the_timeline_go(lines, day):
    page = "".join(["x\n", *lines])
    known = drop_later_entries(page, day)
    _, body = split_front_matter(page)
    structure = scan_blocks(body)
    sections = split_sections(body, structure, find_timeline_line(body, structure))
    texts = [body[section.start : section.stop] for section in sections]
    rest = known
    for section, text in zip(sections, texts, strict=True):
        if rest.startswith(text) and not (section.kind == "timeline" and section.first_day > day):
            rest = rest[len(text) :]
    assert rest == ""
