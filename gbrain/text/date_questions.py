"""Find the time that a question asks about, and the question without the words for it.

Dates themselves are read by `dates`; here they are combined ("between March and June", "the first
week of May") and given their alternatives ("in April": of which year?).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

from gbrain.text.dates import find_mentions, has_digit
from gbrain.text.foreign_dates import translate_dates
from gbrain.text.periods import (
    MONTH_NAMES,
    Period,
    calendar_period,
    day_after,
    day_period,
    iso_span,
    month_period,
    part_of,
    quarter_period,
    season_period,
    shift_years,
    span_period,
    year_period,
)

# A month without a year is looked for in this many years, and then in the next one.
_RECURRING_YEARS = 10

# "Before June" is likelier in the months before it than years earlier.
_NEAR_DAYS = 92

_LAST_DAY = "9999-12-31"
_FIRST_DAY = "0001-01-01"

_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_ORDINALS = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3}
_ORDINALS |= {"4th": 3, "last": -1}
_COUNTS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10}

_ENGLISH_MONTHS = "|".join([*MONTH_NAMES, "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec"])
_NOT_WORD = r"(?![^\W_])"
_TOKEN = "\x01([0-9]+)\x02"
_LEADS = (
    "in|on|during|throughout|of|for|from|at|over|within|around|about|the|since|until|before|after|"
    "by|earlier|later|"
    "im|am|vom|en|le|de"
)

_MAX_QUESTION_CHARACTERS = 4_000

_TimeReader = Callable[["re.Match[str]"], str]


class DateQuestion(NamedTuple):
    """The periods that a question may mean, the likeliest first, and its other words.

    Periods of one level are equally likely. No level: the question mentions no time.
    """

    levels: tuple[tuple[Period, ...], ...]
    rest: str


class _DateToken(NamedTuple):
    """One time in a question with its alternatives, the likeliest first.

    `written` is how the question says it; `recurs` if no year is written.
    """

    periods: tuple[Period, ...]
    recurs: bool
    written: str


def split_question(question: str, today: date) -> DateQuestion:
    """Return the periods that a question in one line asks about, and the rest of its words.

    A longer text than a question has none: its time to read grows with the square of its dates.
    """
    if len(question) > _MAX_QUESTION_CHARACTERS:
        return DateQuestion((), question)
    reader = _Reader(today)
    rest = reader.read(question)
    asked = [reader.tokens[number] for number in reader.tokens_in(rest)]
    if not asked:
        return DateQuestion((), question)
    options = [_recurrences(one.periods[0]) if one.recurs else one.periods for one in asked]
    levels = tuple(
        tuple(dict.fromkeys(periods[level] for periods in options if level < len(periods)))
        for level in range(max(map(len, options)))
    )
    return DateQuestion(levels, _without_dates(rest))


class _Reader:
    """Replaces times by numbered tokens, first single dates, then combinations of them."""

    def __init__(self, today: date) -> None:
        self.today = today
        self.tokens: list[_DateToken] = []

    def read(self, question: str) -> str:
        """Return the question with a token for each time."""
        text = translate_dates(question, self.today)
        # Patterns that cannot match are left out: compiling one takes up to a millisecond.
        if has_digit(text):
            text = _expand_shared_months(text)
            text = _replace_times(
                text,
                (_DOTTED, self._read_dotted_date),
                (_SLASHED, self._read_slashed_date),
                (_WEEK_NUMBER, self._read_week_number),
                (_HALF_YEAR, self._read_half_year),
            )
        text = _replace_times(
            text,
            (_BEFORE_LAST, self._read_before_last),
            (_YEARS_AGO, self._read_years_ago),
            (_SEASON, self._read_season),
        )
        text = re.sub(_FEW, r"\1 four ", text, flags=re.IGNORECASE)
        text = re.sub(_ORDINAL_QUARTER, _name_quarter, text, flags=re.IGNORECASE)
        text = re.sub(_PART, "\x03\\1\x05\\2\x04", text, flags=re.IGNORECASE)
        text = re.sub(_BETWEEN_AND, r"\1 in ", text, flags=re.IGNORECASE)
        for mention in reversed(find_mentions(text, self.today)):
            start, stop = mention.start, mention.stop
            token = self._token((mention.period,), mention.recurs, text[start:stop])
            text = text[:start] + token + text[stop:]
        text = re.sub(_FINAL_MONTH, _or_unchanged(self._read_final_month), text)
        if "\x03" in text:
            text = _replace_times(text, (_PART_OF, self._read_part_of))
        if self.tokens:
            text = _replace_times(
                text,
                (_WEEK_OF, self._read_week_of),
                (_ROUGHLY, self._read_rough_time),
                (_AWAY, self._read_time_away),
            )
        if len(self.tokens) > 1:
            text = _replace_times(
                text, (_DAY_OF_WEEK, self._read_day_of_week), (_RANGE, self._read_range)
            )
        if self.tokens:
            text = _replace_times(text, (_OPEN, self._read_open_range))
        return text.translate({3: "", 4: "", 5: " "})

    def tokens_in(self, text: str) -> list[int]:
        """Return the numbers of the tokens in the text."""
        return [int(number) for number in re.findall(_TOKEN, text)]

    def _token(self, periods: tuple[Period, ...], recurs: bool, written: str) -> str:
        self.tokens.append(_DateToken(periods, recurs, written))
        return f"\x01{len(self.tokens) - 1}\x02"

    def _one(self, number: str) -> _DateToken:
        return self.tokens[int(number)]

    def _read_dotted_date(self, match: re.Match[str]) -> str:
        """Read `12.10.2025`, and `12.10.` after "am", "vom" or another preposition."""
        lead, day, month, year = match.groups()
        if year is None and lead is None:
            return match[0]
        latest = self._day(year, int(month), int(day))
        token = self._token((day_period(latest),), year is None, match[0])
        return f"{lead} {token}" if lead else token

    def _day(self, year: str | None, month: int, day: int) -> date:
        then = date(int(year or self.today.year), month, day)
        return then if year or then <= self.today else then.replace(year=then.year - 1)

    def _read_slashed_date(self, match: re.Match[str]) -> str:
        """Read `14/03/2026`: the day is first unless that is impossible; else both are meant."""
        first, second, year = map(int, match.groups())
        possible = [(m, d) for d, m in ((first, second), (second, first)) if m <= 12]
        periods = tuple(day_period(date(year, month, day)) for month, day in possible)
        return self._token(tuple(dict.fromkeys(periods)), False, match[0])

    def _read_week_number(self, match: re.Match[str]) -> str:
        name, week, after, before, short = match.groups()
        year = after or before
        if year is None and (name is None or name.lower() == "week"):
            return match[0]
        monday = date.fromisocalendar(
            int(year or self.today.isocalendar()[0]), int(week or short), 1
        )
        return self._token((span_period(monday, monday + timedelta(6)),), False, match[0])

    def _read_half_year(self, match: re.Match[str]) -> str:
        half, year = int(match[1] or match[4]), int(match[2] or match[3])
        first, last = quarter_period(year, 2 * half - 1), quarter_period(year, 2 * half)
        return self._token((iso_span(first.first, last.last),), False, match[0])

    def _read_before_last(self, match: re.Match[str]) -> str:
        if match[1].lower() == "day":
            days = -2 if match[2].lower() == "before" else 2
            return self._token((day_period(self.today + timedelta(days)),), False, match[0])
        away = -2 if match[2].lower() == "before" else 2
        return self._token((calendar_period(self.today, match[1].lower(), away),), False, match[0])

    def _read_years_ago(self, match: re.Match[str]) -> str:
        """Read "a year ago": about this time of that year, or any day of it."""
        count = match[1].lower()
        year = self.today.year - (_COUNTS[count] if count in _COUNTS else int(count))
        periods = (month_period(year, self.today.month), year_period(year))
        return self._token(periods, False, match[0])

    def _read_season(self, match: re.Match[str]) -> str:
        way, lead, name, year, until = match.groups()
        if not (way or lead or year):
            return match[0]
        month, today = _SEASONS[name.lower()], self.today
        first_year = int(year) if year else today.year
        period = season_period(first_year, month)
        if until and name.lower() != "winter":
            return match[0]
        if way and not year:
            way = way.lower()
            # "Last summer" has ended, "this" has begun or is the year's, "next" is to come.
            if way in ("last", "past", "previous"):
                while period.last >= today.isoformat():
                    first_year -= 1
                    period = season_period(first_year, month)
            elif way == "next":
                while period.first <= today.isoformat():
                    first_year += 1
                    period = season_period(first_year, month)
            elif month == 12 and today.month <= 2:
                period = season_period(first_year - 1, month)
        elif not year and period.first > today.isoformat():
            period = season_period(first_year - 1, month)
        token = self._token((period,), not (way or year), match[0])
        return f"{lead} {token}" if lead else token

    def _read_final_month(self, match: re.Match[str]) -> str:
        """Read "Luc March": at the end and with a capital it is the month."""
        month = MONTH_NAMES.index(match[1]) + 1
        period = month_period(self.today.year - (month > self.today.month), month)
        return " " + self._token((period,), True, match[0])

    def _read_part_of(self, match: re.Match[str]) -> str:
        """Read "the first week of June", "the second half of 2025"."""
        which, unit, number = match[1].lower(), match[2].lower(), match[3]
        one = self._one(number)
        periods = tuple(part_of(period, unit, _ORDINALS[which]) for period in one.periods)
        return self._token(periods, one.recurs, match[0])

    def _read_week_of(self, match: re.Match[str]) -> str:
        unit, one = match[1].lower(), self._one(match[2])
        days = (date.fromisoformat(period.first) for period in one.periods)
        return self._token(
            tuple(calendar_period(day, unit, 0) for day in days), one.recurs, match[0]
        )

    def _read_rough_time(self, match: re.Match[str]) -> str:
        """Read "early May": a bit more than its first third, or else all of it."""
        one = self._one(match[2])
        period = one.periods[0]
        first, last = date.fromisoformat(period.first), date.fromisoformat(period.last)
        third = (last - first) / (4 if last - first > timedelta(200) else 3)
        name = match[1].lower().split()[0]
        if name in ("early", "beginning", "start"):
            part = span_period(first, first + third * 1.2)
        elif name in ("late", "end"):
            part = span_period(last - third * 1.2, last)
        else:
            part = span_period(first + third * 0.8, last - third * 0.8)
        return self._token((part, *one.periods), False, match[0])

    def _read_time_away(self, match: re.Match[str]) -> str:
        """Read "two weeks before 3 May": from then to that day, when it may have been noted."""
        count, unit, way, one = match[1], match[2].lower(), match[3].lower(), self._one(match[4])
        number = _COUNTS[count.lower()] if count and count.lower() in _COUNTS else int(count or 1)
        days = {"day": 1, "night": 1, "month": 31}.get(unit, 7) * number
        period = one.periods[0]
        first, last = date.fromisoformat(period.first), date.fromisoformat(period.last)
        if way == "before":
            span = span_period(first - timedelta(days), last)
        else:
            span = span_period(first, last + timedelta(days))
        return self._token((span,), one.recurs, match[0])

    def _read_day_of_week(self, match: re.Match[str]) -> str:
        """Read "two weeks ago on Monday", "on Monday last week": that day of that week."""
        one, other = self._one(match[1]), self._one(match[2])
        week, day = (one, other) if len(other.periods[0].text) == 10 else (other, one)
        first, last = week.periods[0].first, week.periods[0].last
        monday = date.fromisoformat(first)
        if len(day.periods[0].text) != 10 or date.fromisoformat(last) - monday != timedelta(6):
            return match[0]
        weekday = date.fromisoformat(day.periods[0].first).weekday()
        return self._token((day_period(monday + timedelta(weekday)),), False, match[0])

    def _read_range(self, match: re.Match[str]) -> str:
        word, between = match[1], match[3]
        one, other = self._one(match[2]), self._one(match[4])
        first, last = one.periods[0], other.periods[0]
        if not word and between.strip().lower() in ("and", "or"):
            if not one.recurs or other.recurs or len(last.text) == 4:
                return match[0]
            # "In March and April 2025": the year is that of both.
            years = int(last.first[:4]) - int(first.first[:4])
            return (
                self._token((shift_years(first, years),), False, "")
                + between
                + match[0][-len(f"\x01{match[4]}\x02") :]
            )
        if one.recurs:
            while first.first > last.last:
                first = shift_years(first, -1)
            while not other.recurs and shift_years(first, 1).first <= last.first:
                first = shift_years(first, 1)
        elif other.recurs:
            while last.first < first.first:
                last = shift_years(last, 1)
        if last.last < first.first:
            return match[0]
        recurs = one.recurs and other.recurs
        return self._token((iso_span(first.first, last.last),), recurs, match[0])

    def _read_open_range(self, match: re.Match[str]) -> str:
        word, one = match[1].lower(), self._one(match[2])
        period, today = one.periods[0], self.today.isoformat()
        if word == "since":
            span = iso_span(period.first, max(today, period.last))
        elif word == "after":
            first = day_after(period.last, 1)
            return self._near_and_all(first, day_after(first, _NEAR_DAYS), match[0])
        elif word == "before":
            last = day_after(period.first, -1)
            return self._near_and_all(day_after(last, -_NEAR_DAYS), last, match[0])
        else:
            span = iso_span(_FIRST_DAY, period.last)
        return self._token((span,), False, match[0])

    def _near_and_all(self, first: str, last: str, written: str) -> str:
        """Return a token for a time before or after a date: likely close to it, else any."""
        all_days = (first, _LAST_DAY) if "after" in written.lower() else (_FIRST_DAY, last)
        return self._token((iso_span(first, last), iso_span(*all_days)), False, written)


def _replace_times(text: str, *readers: tuple[str, _TimeReader]) -> str:
    """Return the text with what each pattern matches replaced by what its reader returns."""
    for pattern, read in readers:
        text = re.sub(pattern, _or_unchanged(read), text, flags=re.IGNORECASE)
    return text


def _or_unchanged(read: _TimeReader) -> _TimeReader:
    def replace(match: re.Match[str]) -> str:
        try:
            return read(match)
        except (ValueError, OverflowError):  # no such day, or one outside the years 1 to 9999
            return match[0]

    return replace


def _expand_shared_months(text: str) -> str:
    """Repeat the month at both days of "3-7 May 2026", "between 3 and 7 May", "May 3-7, 2026"."""
    text = re.sub(_BETWEEN_DAYS, r"from \1 \3 to \2 \3", text, flags=re.IGNORECASE)
    text = re.sub(_DAYS_MONTH, r"\1 \3 to \2 \3", text, flags=re.IGNORECASE)
    return re.sub(_MONTH_DAYS, r"\1 \2\4 to \1 \3\4", text, flags=re.IGNORECASE)


def _name_quarter(match: re.Match[str]) -> str:
    return f"{match[1]} Q{_ORDINALS[match[2].lower()] + 1}"


def _without_dates(text: str) -> str:
    text = re.sub(rf"(?:\b(?:{_LEADS})[ -]){{0,4}}{_TOKEN}", " ", text, flags=re.IGNORECASE)
    return " ".join(re.sub(r"(?<!\s)\s++(?=[,.?!;:])|(?<=\s),(?=\s)", "", text).split())


def _recurrences(period: Period) -> tuple[Period, ...]:
    """Return the same days of this and earlier years, latest first, and last of the next year."""
    found = [period]
    for years in (*range(-1, -_RECURRING_YEARS, -1), 1):
        try:
            found.append(shift_years(period, years))
        except ValueError:
            continue
    return tuple(found)


_DAYS_MONTH = (
    r"\b([0-3]?[0-9])(?:st|nd|rd|th)? ?(?:-|–|to|until|through) ?([0-3]?[0-9])(?:st|nd|rd|th)?"
    rf" (?:of )?((?:{_ENGLISH_MONTHS})\b(?:,? [0-9]{{4}}\b)?)"
)
_BETWEEN_DAYS = (
    r"\bbetween (?:the )?([0-3]?[0-9])(?:st|nd|rd|th)? and (?:the )?([0-3]?[0-9])(?:st|nd|rd|th)?"
    rf" (?:of )?((?:{_ENGLISH_MONTHS})\b(?:,? [0-9]{{4}}\b)?)"
)
_ORDINAL_QUARTER = (
    r"\b(in|during|since|until|before|after|of) (?:the )?"
    r"(first|1st|second|2nd|third|3rd|fourth|4th) quarter\b(?! (?:of|in)\b)"
)
_MONTH_DAYS = (
    rf"\b({_ENGLISH_MONTHS}) ([0-3]?[0-9])(?:st|nd|rd|th)? ?(?:-|–|to|until|through) ?([0-3]?[0-9])"
    r"(?:st|nd|rd|th)?\b((?:,? [0-9]{4}\b)?)(?!\w)"
)
_DOTTED = r"(?<![\w./-])(?:(am|vom|zum|den|dem|seit) )?([0-3]?[0-9])\.([01]?[0-9])\.([0-9]{4})?" + (
    _NOT_WORD
)
_SLASHED = rf"(?<![\w./-])([0-3]?[0-9])/([0-3]?[0-9])/([0-9]{{4}}){_NOT_WORD}"
_WEEK_NUMBER = (
    r"\b(?:(week|kw|cw|wk)\.? ?([0-5]?[0-9])\b(?:(?:,? of |,? |/|, )([0-9]{4})\b)?"
    r"|([0-9]{4})-?w([0-5][0-9])\b)"
)
_HALF_YEAR = r"\b(?:h([12])[ /-]?([0-9]{4})|([0-9]{4})[ -]?h([12]))\b"
_BEFORE_LAST = (
    r"\b(?:the )?(day|weekend|week|month|quarter|year) (before|after) "
    r"(?:last|next|yesterday|tomorrow)\b"
)
_YEARS_AGO = rf"\b([0-9]{{1,3}}|{'|'.join(_COUNTS)}) years? ago\b"
_SEASON = (
    r"\b(?:(?:the )?(last|past|previous|this|next) |(?:(in|during|since|until|before|after|of|early"
    r"|late|mid)[ -])?(?:the )?)(spring|summer|autumn|fall|winter)\b"
    r"(?:(?:,? of|,)? ((?:19|20)[0-9]{2})(?:[/-]((?:20)?[0-9]{2}))?\b)?"
)
_FEW = r"\b(last|past|next|coming|previous) few "
_PART = (
    rf"\b({'|'.join(_ORDINALS)}) (week|weekend|half|quarter|third)"
    r"(?= (?:of|in) (?!all\b|my\b))"
)
_BETWEEN_AND = rf"\b(between [^?]{{3,30}}? and) (?=(?:{_ENGLISH_MONTHS}|(?:19|20)[0-9]{{2}})\b)"
_FINAL_MONTH = r"(?<=\w) (March|May)(?=[?!. ]*$)"
_PART_OF = rf"(?:\bthe )?\x03(\w+)\x05(\w+)\x04 (?:of|in) (?:the )?{_TOKEN}"
_WEEK_OF = (
    r"(?:\bthe )?\b(week|weekend) (?:of|from|starting|beginning|commencing|around)(?: the)? "
    + _TOKEN
)
_ROUGHLY = (
    r"\b(early|mid|middle of|late|(?:the )?beginning of|(?:the )?start of|(?:the )?end of)"
    rf"[ -](?:in )?(?:the )?{_TOKEN}"
)
_AWAY = (
    rf"\b(?:the )?(?:([0-9]{{1,2}}|{'|'.join(_COUNTS)}) )?(day|night|week|weekend|month|monday"
    rf"|tuesday|wednesday|thursday|friday|saturday|sunday)s? (before|after) (?:the )?{_TOKEN}"
)
_DAY_OF_WEEK = rf"(?:\bon )?{_TOKEN},? (?:on |of )?{_TOKEN}"
_RANGE = (
    rf"(?:\b(between|from) (?:in )?(?:the )?)?{_TOKEN}( ?(?:-|–|to|until|till|through|and|or) ?)"
    rf"(?:in )?(?:the )?{_TOKEN}"
)
_OPEN = (
    r"\b(since|after|before|until|till|up to) (?:the )?(?:(?:beginning|start|end) of )?"
    rf"(?:in )?(?:the )?{_TOKEN}(?: (?:began|started|ended)\b)?"
)
