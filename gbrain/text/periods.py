"""Calculate spans of days: years, quarters, seasons, months, weeks, and parts of them."""

from __future__ import annotations

from datetime import date, timedelta
from typing import NamedTuple

MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_DAYS_IN = {"day": 1, "week": 7}
_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}


class Period(NamedTuple):
    """An inclusive span of days.

    `first` and `last` are ISO days, years 0001 to 9999, so that they compare as text. `text` is
    the date in one spelling: 2026, 2026-Q2, 2026-04, 2026-04-03, 2026-04-03T10:30 (with seconds
    unless zero, with Z or the offset if written), or 2026-04-06/2026-04-12 for any other span.
    """

    first: str
    last: str
    text: str


def shift_day(day: date, unit: str, count: int) -> date:
    """Return the day moved by whole units; in a shorter month, the 31st becomes its last day."""
    if unit in _DAYS_IN:
        return day + timedelta(count * _DAYS_IN[unit])
    year, month = divmod(day.year * 12 + day.month - 1 + count * _MONTHS_IN[unit], 12)
    return date(year, month + 1, min(day.day, month_length(year, month + 1)))


def calendar_period(today: date, unit: str, count: int) -> Period:
    """Return the whole week (from Monday), month, … that is `count` after the one of today."""
    if unit == "day":
        return day_period(shift_day(today, unit, count))
    if unit in ("week", "weekend"):
        monday = today + timedelta(7 * count - today.weekday())
        return span_period(monday + timedelta(5 if unit == "weekend" else 0), monday + timedelta(6))
    then = shift_day(today, unit, count)
    if unit == "month":
        return month_period(then.year, then.month)
    return (
        year_period(then.year)
        if unit == "year"
        else quarter_period(then.year, (then.month + 2) // 3)
    )


def month_length(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def year_period(year: int) -> Period:
    return Period(date(year, 1, 1).isoformat(), date(year, 12, 31).isoformat(), f"{year:04}")


def quarter_period(year: int, quarter: int) -> Period:
    first, last = month_period(year, quarter * 3 - 2), month_period(year, quarter * 3)
    return Period(first.first, last.last, f"{year:04}-Q{quarter}")


def month_period(year: int, month: int) -> Period:
    first = date(year, month, 1).isoformat()
    return Period(first, f"{first[:8]}{month_length(year, month)}", first[:7])


def day_period(day: date) -> Period:
    iso = day.isoformat()
    return Period(iso, iso, iso)


def span_period(first: date, last: date) -> Period:
    return Period(first.isoformat(), last.isoformat(), f"{first.isoformat()}/{last.isoformat()}")


def shift_years(period: Period, years: int) -> Period:
    first, last = date.fromisoformat(period.first), date.fromisoformat(period.last)
    if first == last:
        return day_period(first.replace(year=first.year + years))
    ends_month = last.day == month_length(last.year, last.month)
    days = month_length(last.year + years, last.month)
    return span_period(
        first.replace(year=first.year + years, day=min(first.day, 28)),
        last.replace(year=last.year + years, day=days if ends_month else min(last.day, days)),
    )


def season_period(year: int, month: int) -> Period:
    end_year, end = (year + 1, 2) if month == 12 else (year, month + 2)
    return span_period(date(year, month, 1), date(end_year, end, month_length(end_year, end)))


def part_of(period: Period, unit: str, which: int) -> Period:
    first, last = date.fromisoformat(period.first), date.fromisoformat(period.last)
    if unit == "week":
        if which < 0:
            seventh = last - timedelta(6)
            return span_period(seventh - timedelta(seventh.weekday()), last)
        start = first + timedelta(7 * which)
        return span_period(start, start + timedelta(6))
    if unit == "weekend":
        if which < 0:
            saturday = last - timedelta((last.weekday() - 5) % 7)
        else:
            saturday = first + timedelta((5 - first.weekday()) % 7 + 7 * which)
        return span_period(saturday, saturday + timedelta(1))
    if unit == "quarter" and len(period.text) == 4:
        return quarter_period(first.year, which % 4 + 1)
    parts = {"half": 2, "third": 3, "quarter": 4}[unit]
    share = (last - first + timedelta(1)) / parts
    if len(period.text) == 4 and unit == "half":
        start_month = 7 if which % 2 else 1
        return iso_span(
            date(first.year, start_month, 1).isoformat(),
            month_period(first.year, start_month + 5).last,
        )
    start = first + share * (which % parts)
    return span_period(start, min(start + share - timedelta(1), last))


def iso_span(first: str, last: str) -> Period:
    return Period(first, last, f"{first}/{last}")


def day_after(day: str, step: int) -> str:
    return (date.fromisoformat(day) + timedelta(step)).isoformat()
