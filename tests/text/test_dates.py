"""How dates are read from pages, bounds and questions."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.errors import UsageError
from gbrain.text.dates import find_mentions, leading_date, parse_bound, parse_date
from gbrain.text.periods import Period

WEDNESDAY = date(2026, 4, 15)
WORDS = "2026 -04 -03 T10:30 Q1 last next this three a couple of week months ago may May 7 th in on"
PIECES = [*WORDS.split(), *"  ,-/:.é\0", "monday", "31", "feb", "9999", "0000", "year", "d"]


def find_periods(text: str, today: date) -> tuple[Period, ...]:
    return tuple(mention.period for mention in find_mentions(" ".join(text.split()), today))


def day(iso: str) -> Period:
    return Period(iso, iso, iso)


@pytest.mark.parametrize(
    ("written", "first", "last", "text"),
    [
        ("2026", "2026-01-01", "2026-12-31", "2026"),
        ("0044", "0044-01-01", "0044-12-31", "0044"),
        ("2026-04", "2026-04-01", "2026-04-30", "2026-04"),
        ("2026/04", "2026-04-01", "2026-04-30", "2026-04"),
        ("2024-02", "2024-02-01", "2024-02-29", "2024-02"),
        ("2026-04-03", "2026-04-03", "2026-04-03", "2026-04-03"),
        ("2026/04/03", "2026-04-03", "2026-04-03", "2026-04-03"),
        ("2026-4-3", "2026-04-03", "2026-04-03", "2026-04-03"),
        (" 2026-04-03\n", "2026-04-03", "2026-04-03", "2026-04-03"),
        ("2024-Q1", "2024-01-01", "2024-03-31", "2024-Q1"),
        ("2024 q2", "2024-04-01", "2024-06-30", "2024-Q2"),
        ("Q4 2024", "2024-10-01", "2024-12-31", "2024-Q4"),
        ("April 2026", "2026-04-01", "2026-04-30", "2026-04"),
        ("Sept. 2025", "2025-09-01", "2025-09-30", "2025-09"),
        ("Apr 3, 2026", "2026-04-03", "2026-04-03", "2026-04-03"),
        ("Friday, April 3rd 2026", "2026-04-03", "2026-04-03", "2026-04-03"),
        ("3 April 2026", "2026-04-03", "2026-04-03", "2026-04-03"),
        ("3rd of April, 2026", "2026-04-03", "2026-04-03", "2026-04-03"),
        ("3-Apr-2026", "2026-04-03", "2026-04-03", "2026-04-03"),
        ("MAY 2026", "2026-05-01", "2026-05-31", "2026-05"),
    ],
)
def test_a_whole_string_is_a_date(written: str, first: str, last: str, text: str) -> None:
    assert parse_date(written) == Period(first, last, text)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("2026-04-03T10:30", "2026-04-03T10:30"),
        ("2026-04-03 9:30", "2026-04-03T09:30"),
        ("2026-04-03 10:30:00", "2026-04-03T10:30"),
        ("2026-04-03T10:30:05.123Z", "2026-04-03T10:30:05Z"),
        ("2026-04-03t10:30z", "2026-04-03T10:30Z"),
        ("2026-04-03T10:30-05:00", "2026-04-03T10:30-05:00"),
        ("2026-04-03 10:30:00 +0200", "2026-04-03T10:30+02:00"),
        ("2026-04-03T10:30+02", "2026-04-03T10:30+02:00"),
    ],
)
def test_a_time_belongs_to_the_day_as_written(written: str, text: str) -> None:
    assert parse_date(written) == Period("2026-04-03", "2026-04-03", text)


@pytest.mark.parametrize(
    "written",
    [
        "", "2026-02-30", "2026-02-29", "2026-13", "2026-00", "2026-04-00", "0000", "0000-01-01",
        "2026-04/03", "20260403", "2026-04-03x", "2026-04-03 and more", "2026-04-03T24:00",
        "2026-04-03 10:30 PM", "2026-04-03 10:30-11:30", "2026-Q5", "Q5 2026", "Q1 0000",
        "April", "April 31, 2026", "April 0000", "in April 2026", "3 April", "03/04/2026", "today",
        "٢٠٢٦", "April 2026 " + "x" * 100,
    ],
)  # fmt: skip
def test_other_strings_are_no_date(written: str) -> None:
    assert parse_date(written) is None


@pytest.mark.parametrize(
    ("line", "text", "rest"),
    [
        ("2026-04-03 — met Ada", "2026-04-03", " — met Ada"),
        ("2026-04-03 Standup", "2026-04-03", " Standup"),
        ("2026-04-03: met Ada", "2026-04-03", ": met Ada"),
        ("2026-04-03** | mail", "2026-04-03", "** | mail"),
        ("2026-04-03-standup", "2026-04-03", "-standup"),
        ("2026-04-03_standup", "2026-04-03", "_standup"),
        ("2026-04-03.", "2026-04-03", "."),
        ("2026-04-03 10:30 — met", "2026-04-03T10:30", " — met"),
        ("2026-04-03T10:30:00Z met", "2026-04-03T10:30Z", " met"),
        ("2026-04-03 10:30pm met", "2026-04-03", " 10:30pm met"),
        ("2026-04-03 10:30 p.m. met", "2026-04-03", " 10:30 p.m. met"),
        ("2026-04-03 10:30-11:30 met", "2026-04-03", " 10:30-11:30 met"),
        ("2026-04-03 25:00", "2026-04-03", " 25:00"),
        ("2026-04 — spring", "2026-04", " — spring"),
        ("2026/04: spring", "2026-04", ": spring"),
        ("2026-Q2: plans", "2026-Q2", ": plans"),
        ("2026", "2026", ""),
        ("2026 — a year", "2026", " — a year"),
        ("2026. A year", "2026", ". A year"),
        ("2026\u20132027", "2026", "\u20132027"),
    ],
)
def test_a_line_starts_with_a_date(line: str, text: str, rest: str) -> None:
    leading = leading_date(line)
    assert leading is not None
    period, end = leading
    assert (period.text, line[end:]) == (text, rest)


@pytest.mark.parametrize(
    "line",
    [
        "", "met Ada", " 2026-04-03", "2026people", "2026_people", "20265", "2026-budget",
        "2026/27", "2026.5", "2026-02-30 met", "2026-13 met", "2026-04-031", "2026-04-03/05",
        "2026-04-03rd", "2026-04-03Tea", "April 2026", "0000 met",
    ],
)  # fmt: skip
def test_a_line_starts_with_no_date(line: str) -> None:
    assert leading_date(line) is None


@pytest.mark.parametrize(
    ("written", "first", "last"),
    [
        ("2026-04-03", "2026-04-03", "2026-04-03"),
        ("2026-03", "2026-03-01", "2026-03-31"),
        ("March 2026", "2026-03-01", "2026-03-31"),
        ("today", "2026-04-15", "2026-04-15"),
        (" NOW ", "2026-04-15", "2026-04-15"),
        ("Yesterday", "2026-04-14", "2026-04-14"),
        ("tomorrow", "2026-04-16", "2026-04-16"),
        ("last week", "2026-04-06", "2026-04-12"),
        ("this week", "2026-04-13", "2026-04-19"),
        ("next week", "2026-04-20", "2026-04-26"),
        ("last weekend", "2026-04-11", "2026-04-12"),
        ("this month", "2026-04-01", "2026-04-30"),
        ("last month", "2026-03-01", "2026-03-31"),
        ("last quarter", "2026-01-01", "2026-03-31"),
        ("next year", "2027-01-01", "2027-12-31"),
        ("past week", "2026-04-08", "2026-04-15"),
        ("the last 7 days", "2026-04-08", "2026-04-15"),
        ("next two weeks", "2026-04-15", "2026-04-29"),
        ("monday", "2026-04-13", "2026-04-13"),
        ("wed", "2026-04-15", "2026-04-15"),
        ("thursday", "2026-04-09", "2026-04-09"),
        ("last monday", "2026-04-13", "2026-04-13"),
        ("last wednesday", "2026-04-08", "2026-04-08"),
        ("this friday", "2026-04-17", "2026-04-17"),
        ("next wednesday", "2026-04-22", "2026-04-22"),
        ("three months ago", "2026-01-15", "2026-01-15"),
        ("3 days ago", "2026-04-12", "2026-04-12"),
        ("a week ago", "2026-04-08", "2026-04-08"),
        ("2  weeks ago", "2026-04-01", "2026-04-01"),
        ("a couple of days ago", "2026-04-13", "2026-04-13"),
        ("twelve years ago", "2014-04-15", "2014-04-15"),
        ("2 days from now", "2026-04-17", "2026-04-17"),
        ("7d", "2026-04-08", "2026-04-08"),
        ("2w", "2026-04-01", "2026-04-01"),
        ("3M", "2026-01-15", "2026-01-15"),
        ("1y", "2025-04-15", "2025-04-15"),
        ("last april", "2025-04-01", "2025-04-30"),
        ("last mar", "2026-03-01", "2026-03-31"),
        ("this may", "2026-05-01", "2026-05-31"),
        ("next april", "2027-04-01", "2027-04-30"),
        ("april", "2026-04-01", "2026-04-30"),
        ("May", "2025-05-01", "2025-05-31"),
        ("14 april", "2026-04-14", "2026-04-14"),
        ("april 16", "2025-04-16", "2025-04-16"),
        ("29 feb", "2024-02-29", "2024-02-29"),
        ("q2", "2026-04-01", "2026-06-30"),
        ("Q3", "2025-07-01", "2025-09-30"),
    ],
)
def test_bounds_on_wednesday_15_april_2026(written: str, first: str, last: str) -> None:
    period = parse_bound(written, WEDNESDAY)
    assert (period.first, period.last) == (first, last)


@pytest.mark.parametrize(
    ("written", "today", "iso"),
    [
        ("1 month ago", date(2026, 3, 31), "2026-02-28"),
        ("1m", date(2024, 3, 31), "2024-02-29"),
        ("a year ago", date(2024, 2, 29), "2023-02-28"),
        ("a quarter ago", date(2026, 5, 31), "2026-02-28"),
        ("2 months ago", date(2026, 1, 31), "2025-11-30"),
    ],
)
def test_months_are_counted_to_the_last_day_of_shorter_ones(
    written: str, today: date, iso: str
) -> None:
    assert parse_bound(written, today) == day(iso)


@pytest.mark.parametrize(
    "written",
    [
        "", "soon", "2026-02-30", "feb 30", "32 days", "this 3 days", "in april", "on monday",
        "9999y", "9999 years ago", "99999d", "last", "mondayish", "last \u017funday",
    ],
)  # fmt: skip
def test_an_unreadable_bound_is_a_usage_error(written: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_bound(written, WEDNESDAY)
    assert caught.value.message == f"Cannot read the date {written!r}"
    assert caught.value.hint == (
        "Write it like 2026-04-03, 2026-04, 'last monday', '3 weeks ago' or 7d."
    )


@pytest.mark.parametrize(
    ("written", "today"),
    [
        ("yesterday", date.min),
        ("last april", date.min),
        ("29 feb", date.min),
        ("tomorrow", date.max),
        ("next week", date.max),
        ("next month", date.max),
    ],
)
def test_beyond_the_calendar_there_is_no_date(written: str, today: date) -> None:
    assert find_periods(written, today) == ()
    with pytest.raises(UsageError):
        parse_bound(written, today)


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("what happened on 2026-04-18?", ["2026-04-18"]),
        ("meetings/2026-04-18-standup", ["2026-04-18"]),
        ("calls at 2026-04-18 10:30", ["2026-04-18T10:30"]),
        ("notes from April 2026", ["2026-04"]),
        ("March 2025 to May 2025", ["2025-03", "2025-05"]),
        ("what did Ada say in April", ["2026-04"]),
        ("the june offsite", ["2025-06"]),
        ("7 May 2023", ["2023-05-07"]),
        ("at 1:56 pm on 8 May, 2023", ["2023-05-08"]),
        ("Friday, April 3, 2026", ["2026-04-03"]),
        ("dinner on May 7", ["2025-05-07"]),
        ("dinner on 7 may", ["2025-05-07"]),
        ("the 3rd of march", ["2026-03-03"]),
        ("mid-April", ["2026-04"]),
        ("2024-Q1 against Q2 2024", ["2024-Q1", "2024-Q2"]),
        ("Q3 revenue", ["2025-Q3"]),
        ("who joined in 2023", ["2023"]),
        ("before 2020 or since 2021-03", ["2020", "2021-03"]),
        ("what did we decide last week", ["2026-04-06/2026-04-12"]),
        ("yesterday, or three months ago?", ["2026-04-14", "2026-01"]),
        ("two weeks ago", ["2026-03-30/2026-04-05"]),
        ("the last 3 days", ["2026-04-12/2026-04-15"]),
        ("what we said on Monday", ["2026-04-13"]),
        ("in Jan", ["2026-01"]),
        ("in may", ["2025-05"]),
        ("since May", ["2025-05"]),
        ("from May", ["2025-05"]),
        ("last march and this May we", ["2026-03", "2026-05"]),
        ("what was planned this may?", ["2026-05"]),
        ("last april 2025", ["2025-04"]),
        ("in\nApril\t2026", ["2026-04"]),
    ],
)
def test_a_question_mentions_dates_in_its_order(question: str, texts: list[str]) -> None:
    assert [period.text for period in find_periods(question, WEDNESDAY)] == texts


@pytest.mark.parametrize(
    "question",
    [
        "", "we may do this", "this may be wrong", "step 2 may fail", "from may",
        "the march of time", "what did Jan say", "May", "the cat sat on the sun",
        "the next Mars mission", "Monday.com", "2023 roadmap", "error 2003", "2026-02-30",
        "April 31, 2026", "version 2026.04.03", "what now", "in \u017feptember", "in 2,000 words",
    ],
)  # fmt: skip
def test_a_question_without_a_sure_date(question: str) -> None:
    assert find_periods(question, WEDNESDAY) == ()


@given(st.dates())
def test_every_spelling_of_a_day_is_the_same_day(then: date) -> None:
    month = then.strftime("%B")
    iso = then.isoformat()
    assert parse_date(iso) == day(iso)
    assert parse_date(f"{then.day} {month} {then.year:04}") == day(iso)
    assert parse_date(f"{month[:3]} {then.day}, {then.year:04}") == day(iso)
    assert find_periods(f"was it {then.day} {month} {then.year:04}?", WEDNESDAY) == (day(iso),)


@given(st.datetimes())
def test_iso_times_are_read_and_normalised_once(then: object) -> None:
    period = parse_date(str(then))
    assert period is not None
    assert period.first == period.last == str(then)[:10]
    assert parse_date(period.text) == period


@given(st.dates(date(1000, 1, 1), date(9000, 1, 1)), st.integers(0, 9999))
def test_days_are_counted_like_the_calendar(today: date, count: int) -> None:
    then = (today - timedelta(count)).isoformat()
    assert parse_bound(f"{count}d", today) == parse_bound(f"{count} days ago", today) == day(then)


@given(st.lists(st.sampled_from(PIECES)).map("".join) | st.text(), st.dates())
def test_any_text_is_read_without_an_accident(text: str, today: date) -> None:
    periods = list(find_periods(text, today))
    leading = leading_date(text)
    if leading is not None:
        assert parse_date(text[: leading[1]]) == leading[0]
        periods.append(leading[0])
    try:
        periods.append(parse_bound(text, today))
    except UsageError:
        assert parse_date(text) is None
    for period in periods:
        assert date.fromisoformat(period.first) <= date.fromisoformat(period.last)


@pytest.mark.parametrize("piece", ["1", "2026-", "may ", "2026-04-03 10:30:00.1"])
def test_ten_megabytes_are_no_trouble(piece: str) -> None:
    text = piece * (10_000_000 // len(piece))
    assert parse_date(text) is None
    assert leading_date(text[1:]) is None
    find_periods(text, WEDNESDAY)
