"""A page without what its timeline says of later days."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text.frontmatter import split
from gbrain.text.markdown import scan
from gbrain.text.sections import split_sections, timeline_line
from gbrain.text.until import without_later_entries

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
    known = without_later_entries(PAGE, "2026-04-30")
    assert known == PAGE.replace("- 2026-05-01 — Moved\n  to Lisbon\n", "")


def test_a_month_is_known_from_its_first_day():
    assert "podcast" in without_later_entries(PAGE, "2026-04-01")
    assert "podcast" not in without_later_entries(PAGE, "2026-03-31")


def test_dates_above_the_timeline_are_the_page_s_own_words():
    assert without_later_entries(PAGE, "0001-01-01").startswith(PAGE[: PAGE.index("- 2026")])


def test_a_dated_heading_goes_with_what_is_below_it():
    page = (
        "# Log\n\n## Timeline\n### 2026-05-02\nlate\n#### More\nlate too\n- 2026-04-01: early\n"
        "### 2026-04-02\nearly\n"
    )
    assert without_later_entries(page, "2026-04-30") == (
        "# Log\n\n## Timeline\n- 2026-04-01: early\n### 2026-04-02\nearly\n"
    )


@pytest.mark.parametrize("page", ["", "no timeline\n", "---\na: 1\n---\n", "## Timeline\n"])
def test_pages_without_entries_stay(page):
    assert without_later_entries(page, "2000-01-01") == page


DAYS = st.dates().map(lambda day: day.isoformat())
ENTRIES = st.lists(st.tuples(DAYS, st.sampled_from(["x", "two words", "a\n  b"])), max_size=8)


@given(ENTRIES, DAYS)
def test_exactly_the_entries_up_to_the_day_are_left(entries, day):
    head = "# P\n\ntext\n\n## Timeline\n"
    written = [f"- {date} — {words}\n" for date, words in entries]
    kept = [line for line, (date, _) in zip(written, entries, strict=True) if date <= day]
    assert without_later_entries(head + "".join(written), day) == head + "".join(kept)


@given(st.lists(st.sampled_from(
    ["# H\n", "## Timeline\n", "- 2026-01-01: a\n", "- 2027-01-01 — b\n", "---\n", "words\n", "\n",
     "### 2027-02\n", "  more\n", "```\n", "* **2028** | s — t\n"]), max_size=9), DAYS)  # fmt: skip
def test_only_whole_sections_of_the_timeline_go(lines, day):
    page = "".join(["x\n", *lines])
    known = without_later_entries(page, day)
    _, body = split(page)
    structure = scan(body)
    sections = split_sections(body, structure, timeline_line(body, structure))
    texts = [body[section.start : section.stop] for section in sections]
    rest = known
    for section, text in zip(sections, texts, strict=True):
        if rest.startswith(text) and not (section.kind == "timeline" and section.first_day > day):
            rest = rest[len(text) :]
    assert rest == ""
