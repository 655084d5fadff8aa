"""Where a timeline begins, what an entry is, and sections that leave no gap."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gbrain.text.markdown import scan_blocks
from gbrain.text.sections import find_timeline_line, parse_entry_date, split_sections
from gbrain.types import Section

_LINES = [
    "",
    " ",
    "# Title",
    "## Part",
    "#### Deep",
    "## Timeline",
    "Title",
    "=====",
    "---",
    "***",
    "- 2026-04-03 — Joined",
    "- **2026-03** | podcast — Said so",
    "- 2026: A year",
    "  more",
    "  - nested",
    "- plain",
    "1. one",
    "```",
    "    code",
    "> quote",
    "<div>",
    "x" * 300,
    "Ünï 知识 🚀",
    "\u2028",
    "\x0c",
]
_ENDS = ["\n", "\n", "\r\n", "\r"]

texts = st.lists(
    st.tuples(st.one_of(st.sampled_from(_LINES), st.text(max_size=30)), st.sampled_from(_ENDS))
).map(lambda lines: "".join(line + end for line, end in lines))


def sections(text: str) -> tuple[Section, ...]:
    structure = scan_blocks(text)
    return split_sections(text, structure, find_timeline_line(text, structure))


def halves(text: str) -> tuple[str, str]:
    structure = scan_blocks(text)
    cut = structure.starts[find_timeline_line(text, structure)]
    return text[:cut], text[cut:]


def entries(text: str) -> list[tuple[str | None, str]]:
    """(date, words) of each timeline entry."""
    return [
        (section.date, text[section.start : section.stop])
        for section in sections(text)
        if section.kind == "timeline"
    ]


@pytest.mark.parametrize(
    ("line", "date", "first", "last"),
    [
        ("- 2026-04-03 — Joined", "2026-04-03", "2026-04-03", "2026-04-03"),
        ("- 2026-04-03 – Joined", "2026-04-03", "2026-04-03", "2026-04-03"),
        ("- 2026-04-03 - Joined", "2026-04-03", "2026-04-03", "2026-04-03"),
        ("- 2026-04-03 -- Joined", "2026-04-03", "2026-04-03", "2026-04-03"),
        ("- **2026-03** | podcast — Said", "2026-03", "2026-03-01", "2026-03-31"),
        ("* __2026-03__ | podcast — Said", "2026-03", "2026-03-01", "2026-03-31"),
        ("- 2026: A good year", "2026", "2026-01-01", "2026-12-31"),
        ("+ 2026-02-28: End of month", "2026-02-28", "2026-02-28", "2026-02-28"),
        ("- 2026-04-03T09:30Z — Call", "2026-04-03T09:30Z", "2026-04-03", "2026-04-03"),
        ("- 2026-04-03", "2026-04-03", "2026-04-03", "2026-04-03"),
    ],
)
def test_an_entry_has_three_spellings(line: str, date: str, first: str, last: str) -> None:
    period = parse_entry_date(line)
    assert period is not None
    assert (period.text, period.first, period.last) == (date, first, last)


@pytest.mark.parametrize(
    "line",
    [
        "2026-04-03 — no bullet",
        "- Joined in 2026-04-03 — too late",
        "- 2026-13-03 — no such month",
        "- 2026-02-30 — no such day",
        "- 2026 was a good year",
        "- 20260403x — no date",
        "    - 2026-04-03 — code",
        "-2026-04-03 — no space",
        "",
    ],
)
def test_other_lines_are_not_an_entry(line: str) -> None:
    assert parse_entry_date(line) is None


def test_a_rule_before_a_timeline_heading_opens_the_timeline() -> None:
    truth, timeline = halves("# Alice\n\nFounder.\n\n---\n\n## Timeline\n- 2026 — x\n")
    assert truth == "# Alice\n\nFounder.\n\n"
    assert timeline == "---\n\n## Timeline\n- 2026 — x\n"


def test_a_rule_before_a_dated_entry_opens_the_timeline() -> None:
    assert halves("Founder.\n\n---\n- 2026 — x\n")[1] == "---\n- 2026 — x\n"


def test_a_rule_below_a_paragraph_may_open_the_timeline() -> None:
    """Markdown reads it as an underlined heading; who wrote entries below it did not mean that."""
    truth, timeline = halves("Founder of a company\n---\n- 2026 — x\n")
    assert (truth, timeline) == ("Founder of a company\n", "---\n- 2026 — x\n")
    assert sections("Founder of a company\n---\n- 2026 — x\n")[0].heading_path == ()


def test_an_underline_without_entries_stays_a_heading() -> None:
    text = "Part one\n---\nSome words.\n"
    assert halves(text)[1] == ""
    assert sections(text)[0].heading_path == ("Part one",)


@pytest.mark.parametrize(
    "text",
    [
        "One.\n\n---\n\nTwo.\n",
        "One.\n\n---\n\n## Next part\n- 2026 — x\n",
        "One.\n\n---\n",
        "One.\n\n***\n- 2026 — x\n",
        "One.\n\n- - -\n- 2026 — x\n",
        "```\n---\n- 2026 — x\n```\n",
        "~~~\n## Timeline\n~~~\n",
        "    ---\n    - 2026 — x\n",
        "> ---\n> - 2026 — x\n",
        "- item\n\n  ---\n  - 2026 — x\n",
        "",
    ],
)
def test_other_rules_and_headings_open_no_timeline(text: str) -> None:
    assert halves(text) == (text, "")


@pytest.mark.parametrize(
    "heading",
    [
        "## Timeline",
        "# TIMELINE",
        "###### timeline:",
        "## **Timeline**",
        "Timeline\n--------",
        "Timeline\n===",
        "## Timeline ##",
    ],
)
def test_a_timeline_heading_alone_is_enough(heading: str) -> None:
    assert halves(f"Words.\n\n{heading}\n\nMore.\n") == ("Words.\n\n", f"{heading}\n\nMore.\n")


def test_the_first_possible_timeline_start_counts() -> None:
    text = "A.\n\n---\n- 2026 — x\n\n---\n## Timeline\n- 2025 — y\n"
    assert halves(text)[0] == "A.\n\n"


def test_continued_lines_and_nested_items_belong_to_an_entry() -> None:
    text = (
        "## Timeline\n"
        "- 2026-04-03 — Joined RiverAI\n"
        "  as CTO,\n"
        "lazily continued\n"
        "  - nested 1\n"
        "    - 2020 — nested deeper, no entry of its own\n"
        "\n"
        "  a second paragraph\n"
        "- **2026-03** | podcast — Said so\n"
        "- 2026: A year\n"
        "\n"
        "After the list.\n"
    )
    assert [date for date, _ in entries(text)] == ["2026-04-03", "2026-03", "2026"]
    assert entries(text)[0][1].endswith("  a second paragraph\n")
    assert entries(text)[2][1] == "- 2026: A year\n\n"
    last = sections(text)[-1]
    assert (last.kind, text[last.start :]) == ("truth", "After the list.\n")


def test_undated_items_in_a_timeline_stay_with_other_text() -> None:
    text = "## Timeline\n- undated\n- 2026 — x\n- undated too\n- 2025 — y\n"
    assert entries(text) == [("2026", "- 2026 — x\n"), ("2025", "- 2025 — y\n")]


def test_dated_items_above_the_timeline_are_not_entries() -> None:
    assert entries("- 2026 — x\n- 2025 — y\n") == []


def test_each_heading_opens_a_section_with_its_path() -> None:
    text = "Before.\n# A\n\n## B\nb\n#### D\nd\n## C\nc\n# E\n"
    assert [(s.heading_path, text[s.text_start : s.stop]) for s in sections(text)] == [
        ((), "Before.\n"),
        (("A",), "\n"),
        (("A", "B"), "b\n"),
        (("A", "B", "D"), "d\n"),
        (("A", "C"), "c\n"),
        (("E",), ""),
    ]


def test_a_dated_heading_dates_its_section() -> None:
    section = sections("## 2026-04 Review\nWords.\n")[0]
    assert (section.first_day, section.last_day, section.kind) == (
        "2026-04-01",
        "2026-04-30",
        "truth",
    )


@given(texts)
@example("- 2026-04-03 — Joined\n\n\u2028\n=====\n")
def test_sections_joined_are_the_text(text: str) -> None:
    found = sections(text)
    assert "".join(text[section.start : section.stop] for section in found) == text
    assert all(s.start <= s.text_start <= s.stop and s.start < s.stop for s in found)


@given(texts)
def test_entries_are_only_below_the_timeline_line(text: str) -> None:
    truth, _ = halves(text)
    for section in sections(text):
        assert section.kind == "truth" or section.start >= len(truth)
        if section.kind == "timeline":
            assert section.date is not None
