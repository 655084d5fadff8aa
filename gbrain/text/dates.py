"""Parse dates as people write them: in pages, file names and questions, for --since and --until."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache, lru_cache, partial
from typing import NamedTuple

from gbrain.errors import UsageError
from gbrain.text.foreign_dates import FOREIGN_MONTHS
from gbrain.text.periods import (
    MONTH_NAMES,
    Period,
    calendar_period,
    day_period,
    month_length,
    month_period,
    quarter_period,
    shift_day,
    span_period,
    year_period,
)

# What a match of a pattern means on a day. The question around it, as written, tells a month
# from a verb by its capital; it is empty when the match is a whole bound.
_Reader = Callable[["re.Match[str]", date, str], Period | None]

_MONTHS = {name[:size].lower(): i for size in (3, 9) for i, name in enumerate(MONTH_NAMES, 1)}
_MONTHS["sept"] = 9
_WEEKDAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_WEEKDAYS = {name[:size]: i for size in (3, 9) for i, name in enumerate(_WEEKDAY_NAMES.split())}
_COUNT_WORDS = "one two three four five six seven eight nine ten eleven twelve"
_COUNTS = {word: i for i, word in enumerate(_COUNT_WORDS.split(), 1)} | {"a": 1, "an": 1}
_COUNTS |= {"couple": 2, "a couple": 2, "couple of": 2, "a couple of": 2}
_NEAR_DAYS = {"now": 0, "today": 0, "tonight": 0, "this morning": 0}
_NEAR_DAYS |= {"yesterday": -1, "last night": -1, "tomorrow": 1}
_WAYS = {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
_WAYS |= {"ago": -1, "from now": 1}
_UNITS = {"d": "day", "w": "week", "m": "month", "y": "year"}

# "May", "March" and "Jan" are also verbs or names: alone they are months only after such words.
_UNSURE_MONTHS = {name for name in _MONTHS if len(name) == 3} | {"march"}
_VERBS = {"may", "march", "mar"}
_SURE_LEADS = ("in", "on", "since", "until", "till", "during", "of", "early", "late", "mid")
_CAPITAL_LEADS = ("from", "to", "by", "before", "after", "through", "between")
_LEADS = "|".join(_SURE_LEADS + _CAPITAL_LEADS)

_ASCII_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}

_TIME = (
    r"([tT ])([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:[.,][0-9]++)?)?"
    r"( ?(?:[zZ]|[+-][01][0-9](?::?[0-5][0-9])?))?(?![^\W_]|:[0-9]| ?[aApP]\.?[mM]\b)"
)
_ISO = (
    r"([0-9]{4})(?:[-/ ]?[qQ]([1-4])(?![^\W_])"
    rf"|([-/])([0-9]{{1,2}})(?:\3([0-9]{{1,2}})(?:{_TIME})?)?(?![^\W_]|[-/.][0-9])"
    r"|(?!\w|[-/]\w|\.[0-9]))"
)
_ISO_INSIDE = rf"(?<![\w.-]){_ISO}"
_QUARTER = r"\bq([1-4])(?:(?:,? of |,? |[-/])([0-9]{4}))?\b"
_NAMED = (
    rf"\b(?:({_LEADS})[ -])?(?:(?:{'|'.join(_WEEKDAYS)}),? )?"
    rf"(?:([0-9]{{1,2}})(st|nd|rd|th)?[ -](?:of )?)?({'|'.join(_MONTHS)})\b\.?"
    r"(?(2)|(?:[ -](?:the )?([0-9]{1,2})(?:st|nd|rd|th)?\b(?![:/.][0-9]))?)"
    r"(?:(?:,|,? of)?[ -]([0-9]{4})\b)?"
)
_RELATIVE = (
    r"\b(?:the )?(last|past|previous|this|current|next|coming) "
    rf"(?:(?:([0-9]{{1,4}}|{'|'.join(_COUNTS)}) )?(day|weekend|week|month|quarter|year)s?\b"
    rf"|({'|'.join([*_WEEKDAYS, *_MONTHS])})\b(?! [0-9]))"
)
_AGO = rf"\b([0-9]{{1,4}}|{'|'.join(_COUNTS)}) (day|week|month|quarter|year)s? (ago|from now)\b"
_SHORT = r"([0-9]{1,4}) ?([dwmy])"
_NEAR = rf"\b({'|'.join(_NEAR_DAYS)})\b"
_WEEKDAY = rf"\b(?:(on|since|until|till|by|before|after) )?({'|'.join(_WEEKDAYS)})\b"
_YEAR = rf"\b(?:{_LEADS}|year)[ -]((?:19|20)[0-9]{{2}})(?!\w|[-/]\w|[.,][0-9]|%)"

# No date with a month's name is longer, and what follows this much of a question is no question.
_LONGEST_NAMED = 50
_LONGEST_QUESTION = 100_000


def parse_date(written: str) -> Period | None:
    """Return the date that the whole string is, as in timelines, front matter and file names."""
    text = " ".join(written.split())
    leading = leading_date(text)
    if leading is not None:
        return leading[0] if leading[1] == len(text) else None
    if len(text) > _LONGEST_NAMED:
        return None
    text = text.translate(_ASCII_LOWER)
    quarter = re.fullmatch(_QUARTER, text)
    if quarter is not None and quarter[2]:
        return _or_none(_read_quarter, quarter, date.max, "")
    named = re.fullmatch(_NAMED, text)
    if named is not None and named[6]:
        return _or_none(_read_named_month, named, date.max, "")
    return None


def leading_date(text: str) -> tuple[Period, int] | None:
    """Return the ISO date that the string starts with, and the index where it ends."""
    match = _iso().match(text)
    return None if match is None else _read_iso(match)


def leading_written_date(text: str) -> tuple[Period, int] | None:
    """Return the date with a year that starts the string, in any spelling, and its end.

    Besides ISO: 05.10.2026, 3 April 2025, April 3, 2025, April 2025, 3. Mai 2025, 2025年5月3日.
    """
    found = leading_date(text)
    if found is not None or not _four_digit_year().search(text[:_LONGEST_NAMED]):
        return found
    match = _written_date().match(text[:_LONGEST_NAMED].lower())
    if match is None:
        return None
    day, month, year, named_day, name, named_year, us_name, us_day, us_year = match.groups()[:9]
    if match[10]:
        year, month, day = match.groups()[9:]
    written_day = day or named_day or us_day
    number = int(month) if month else _month_number(name or us_name)
    try:
        when = int(year or named_year or us_year)
        period = (
            day_period(date(when, number, int(written_day)))
            if written_day
            else month_period(when, number)
        )
    except ValueError:
        return None
    return period, match.end()


def find_written_date(text: str) -> Period | None:
    """Return the first day or month with a year in a short text, in any spelling."""
    if not _four_digit_year().search(text):
        return None
    for word in re.finditer(r"(?<![^\s(\[,:])\w", text):
        found = leading_written_date(text[word.start() : word.start() + 2 * _LONGEST_NAMED])
        if found and len(found[0].text) > len("2026"):
            return found[0]
    return None


def _month_number(name: str) -> int:
    return _MONTHS[name] if name in _MONTHS else FOREIGN_MONTHS[name]


@cache
def _four_digit_year() -> re.Pattern[str]:
    return re.compile(r"[12][0-9]{3}")


@cache
def _written_date() -> re.Pattern[str]:
    names = "|".join(sorted({*_MONTHS, *FOREIGN_MONTHS}, key=len, reverse=True))
    weekday = r"(?:[^\W\d_]{2,12},? )?"
    return re.compile(
        rf"{weekday}(?:([0-9]{{1,2}})\.([0-9]{{1,2}})\.([0-9]{{4}})"
        rf"|(?:([0-9]{{1,2}})(?:\.|st|nd|rd|th|er|º)? (?:of |de )?)?({names})\.?,? (?:of |de )?"
        r"([0-9]{4})"
        rf"|({names})\.? ([0-9]{{1,2}})(?:st|nd|rd|th)?,? ([0-9]{{4}}))(?!\w|[-/.][0-9])"
        "|([0-9]{4})年([0-9]{1,2})月(?:([0-9]{1,2})日)?"
    )


def parse_bound(written: str, today: date) -> Period:
    """Return the period that --since (by its first day) or --until (by its last) names.

    Raises UsageError if it cannot be read.
    """
    period = parse_date(written)
    if period is not None:
        return period
    text = " ".join(written.split()).translate(_ASCII_LOWER)
    for pattern, read in _BOUNDS:
        match = re.fullmatch(pattern, text)
        period = match and _or_none(read, match, today, "")
        if period is not None:
            return period
    raise UsageError(
        f"Cannot read the date {written!r}",
        hint="Write it like 2026-04-03, 2026-04, 'last monday', '3 weeks ago' or 7d.",
    )


class Mention(NamedTuple):
    """A date in a question: offsets without the preposition, and its period.

    `recurs` if no year is written, so that the same days of an earlier year may be meant.
    """

    start: int
    stop: int
    period: Period
    recurs: bool


def find_mentions(question: str, today: date) -> list[Mention]:
    """Return the dates that an English question in one line mentions, without unsure ones.

    They come in its order. A date without a year is the latest that has begun.
    """
    question = question[:_LONGEST_QUESTION]
    rest = question.translate(_ASCII_LOWER)
    found: list[Mention] = []
    # Patterns that cannot match are left out: compiling one takes up to a millisecond.
    digits = has_digit(rest)
    for pattern, read, needs_digit in _MENTIONS:
        if digits or not needs_digit:
            rest = re.sub(pattern, partial(_take, read, today, question, found), rest)
    return sorted(found)


def has_digit(text: str) -> bool:
    """Return whether the text has a digit, as most written dates do."""
    return any(map(str.isdigit, text))


def _take(
    read: _Reader, today: date, question: str, found: list[Mention], match: re.Match[str]
) -> str:
    """Record a mention, and blank it out so that no later pattern reads a part of it again."""
    period = _or_none(read, match, today, question)
    if period is None:
        return match[0]
    start, recurs = match.start(), False
    if read is _read_named_month:
        start, recurs = match.end(1) + 1 if match[1] else start, match[6] is None
    elif read is _read_quarter:
        recurs = match[2] is None
    elif read is _read_weekday:
        start = match.start(2)
    elif read is _read_year_after_lead:
        start = match.start(1)
    found.append(Mention(start, match.end(), period, recurs))
    return "\0" * len(match[0])


def _or_none(read: _Reader, match: re.Match[str], today: date, question: str) -> Period | None:
    try:
        return read(match, today, question)
    except (ValueError, OverflowError):  # no such day, or one outside the years 1 to 9999
        return None


@cache
def _iso() -> re.Pattern[str]:
    return re.compile(_ISO)


def _read_iso(match: re.Match[str]) -> tuple[Period, int] | None:
    year, quarter, _, month, day, gap, hour, minute, second, offset = match.groups()
    period = _iso_period(year, quarter, month, day)
    if period is None:
        return None
    if hour is None:
        return period, match.end()
    # "10:30-11:30" after a space is a meeting, not a time zone.
    if gap == " " and second is None and offset and "-" in offset:
        return period, match.end(5)
    seconds = f":{second}" if second and second != "00" else ""
    zone = offset.strip().upper().replace(":", "") if offset else ""
    if len(zone) > 1:
        zone = f"{zone[:3]}:{zone[3:] or '00'}"
    text = f"{period.text}T{int(hour):02}:{minute}{seconds}{zone}"
    return Period(period.first, period.last, text), match.end()


@lru_cache(maxsize=4096)
def _iso_period(
    year: str, quarter: str | None, month: str | None, day: str | None
) -> Period | None:
    try:
        if quarter is not None:
            return quarter_period(int(year), int(quarter))
        if month is None:
            return year_period(int(year))
        if day is None:
            return month_period(int(year), int(month))
        return day_period(date(int(year), int(month), int(day)))
    except ValueError:
        return None


def _read_iso_inside(match: re.Match[str], _today: date, _question: str) -> Period | None:
    is_bare_year = match[2] is None and match[4] is None
    read = None if is_bare_year else _read_iso(match)
    return None if read is None else read[0]


def _read_year_after_lead(match: re.Match[str], _today: date, _question: str) -> Period:
    return year_period(int(match[1]))


def _read_quarter(match: re.Match[str], today: date, _question: str) -> Period:
    quarter, year = int(match[1]), match[2]
    return quarter_period(
        int(year) if year else today.year - (quarter * 3 - 2 > today.month), quarter
    )


def _read_named_month(match: re.Match[str], today: date, question: str) -> Period | None:
    """Read a date with a month's name; without a year, the latest one that has begun."""
    if not (_is_month(match, question) if question else match[1] is None):
        return None
    month, day, year = _MONTHS[match[4]], match[2] or match[5], match[6]
    if day is None:
        return month_period(int(year) if year else today.year - (month > today.month), month)
    if year:
        return day_period(date(int(year), month, int(day)))
    # A 29 February may be up to eight years back.
    for candidate in range(today.year, today.year - 9, -1):
        if int(day) <= month_length(candidate, month):
            latest = date(candidate, month, int(day))
            if latest <= today:
                return day_period(latest)
    return None


def _is_month(match: re.Match[str], question: str) -> bool:
    lead, before, ordinal, name, after, year = match.groups()
    has_capital = question[match.start(4)].isupper()
    if after or year or ordinal:
        return True
    if lead in _SURE_LEADS or (lead in _CAPITAL_LEADS and has_capital):
        return True
    return (has_capital or name not in _VERBS) if before else name not in _UNSURE_MONTHS


def _read_relative(match: re.Match[str], today: date, question: str) -> Period | None:
    way, count, unit, name = match.groups()
    sign = _WAYS[way]
    if name in _MONTHS:
        # "this may be" is no month.
        if way == "this" and name in _VERBS and question.startswith(f"{name} ", match.start(4)):
            return None
        month = _MONTHS[name]
        past, future = sign < 0 and month >= today.month, sign > 0 and month <= today.month
        return month_period(today.year - past + future, month)
    if name is not None:
        ahead = _WEEKDAYS[name] - today.weekday()
        if sign:
            ahead = sign * (sign * ahead % 7 or 7)
        return day_period(today + timedelta(ahead))
    if count is None and way != "past":
        return calendar_period(today, unit, sign)
    if sign == 0 or unit == "weekend":
        return None
    other = shift_day(today, unit, sign * _number(count or "a"))
    return span_period(min(other, today), max(other, today))


def _read_ago(match: re.Match[str], today: date, question: str) -> Period:
    """Read "three months ago": a day for --since, but that whole month in a question."""
    units = _WAYS[match[3]] * _number(match[1])
    return (
        calendar_period(today, match[2], units)
        if question
        else day_period(shift_day(today, match[2], units))
    )


def _read_short(match: re.Match[str], today: date, _question: str) -> Period:
    return day_period(shift_day(today, _UNITS[match[2]], -int(match[1])))


def _read_near(match: re.Match[str], today: date, question: str) -> Period | None:
    if question and match[1] == "now":
        return None
    return day_period(today + timedelta(_NEAR_DAYS[match[1]]))


def _read_weekday(match: re.Match[str], today: date, question: str) -> Period | None:
    """Read the latest such weekday, today included; a question must say "on Monday"."""
    if bool(question) != bool(match[1]):
        return None
    return day_period(today - timedelta((today.weekday() - _WEEKDAYS[match[2]]) % 7))


def _number(count: str) -> int:
    return _COUNTS[count] if count in _COUNTS else int(count)


_BOUNDS: tuple[tuple[str, _Reader], ...] = (
    (_NEAR, _read_near),
    (_SHORT, _read_short),
    (_AGO, _read_ago),
    (_RELATIVE, _read_relative),
    (_WEEKDAY, _read_weekday),
    (_QUARTER, _read_quarter),
    (_NAMED, _read_named_month),
)
# Pattern, reader, and whether the pattern matches only text with a digit.
_MENTIONS: tuple[tuple[str, _Reader, bool], ...] = (
    (_ISO_INSIDE, _read_iso_inside, True),
    (_QUARTER, _read_quarter, True),
    (_RELATIVE, _read_relative, False),
    (_NAMED, _read_named_month, False),
    (_AGO, _read_ago, False),
    (_NEAR, _read_near, False),
    (_WEEKDAY, _read_weekday, False),
    (_YEAR, _read_year_after_lead, True),
)
