"""Dates in Japanese and Chinese questions, put into English."""

from __future__ import annotations

import re
from datetime import date

from gbrain.text.periods import MONTH_NAMES

_DIGITS = {sign: str(number) for number, sign in enumerate("〇一二三四五六七八九")}
_DIGITS |= {"两": "2", "兩": "2", "零": "0"} | {chr(0xFF10 + n): str(n) for n in range(10)}
_NUMBER = "[0-9０-９]{1,4}|[一二三四五六七八九十两兩]{1,3}"
_NEAR_WORDS = {
    "一昨日": "two days ago", "おととい": "two days ago", "前天": "two days ago",
    "昨日": "yesterday", "きのう": "yesterday", "昨天": "yesterday",
    "今日": "today", "今天": "today", "明日": "tomorrow", "明天": "tomorrow",
    "先々週": "two weeks ago", "先週末": "last weekend", "先週": "last week", "今週": "this week",
    "来週": "next week", "上个星期": "last week", "上星期": "last week", "上個星期": "last week",
    "上周末": "last weekend", "上周": "last week", "上週": "last week", "这个星期": "this week",
    "這個星期": "this week", "本周": "this week", "这周": "this week", "本週": "this week",
    "下个星期": "next week", "下周": "next week", "下週": "next week",
    "先々月": "two months ago", "先月": "last month", "今月": "this month", "来月": "next month",
    "上上个月": "two months ago", "上个月": "last month", "上個月": "last month",
    "上月": "last month", "这个月": "this month", "這個月": "this month", "本月": "this month",
    "下个月": "next month", "下個月": "next month",
    "一昨年": "two years ago", "昨年": "last year", "去年": "last year", "今年": "this year",
    "来年": "next year", "明年": "next year", "前年": "two years ago",
}  # fmt: skip
_UNITS = {
    "日間": "day", "日": "day", "天": "day", "週間": "week", "週": "week", "周": "week",
    "个星期": "week", "個星期": "week", "か月": "month", "ヶ月": "month", "カ月": "month",
    "ヵ月": "month", "ケ月": "month", "箇月": "month", "个月": "month", "個月": "month",
    "年間": "year", "年": "year",
}  # fmt: skip
_YEARS_AWAY = {"去年": -1, "昨年": -1, "一昨年": -2, "前年": -2, "今年": 0, "来年": 1, "明年": 1}
_SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_WEEKDAYS = dict(zip("月火水木金土日", _DAYS, strict=True))
_WEEKDAYS |= dict(zip("一二三四五六天", _DAYS, strict=True))
_LAST_OR_NEXT = {"先週の": "last", "上": "last", "上个": "last", "今週の": "this", "这": "this",
                 "本": "this", "来週の": "next", "下": "next", "下个": "next"}  # fmt: skip

_YEAR = f"(?:[12][0-9]{{3}}|[二一][〇零一二三四五六七八九]{{3}})年|{'|'.join(_YEARS_AWAY)}"
_MONTH = rf"(?<![0-9０-９一二三四五六七八九十年個个か])(?:({_YEAR})の?)?({_NUMBER})月(?![間曜])"
_AFTER = "(以降|以来|から|以後|以后|起)?"
_DATE = rf"{_MONTH}(?:({_NUMBER})[日号號])?{_AFTER}"
_RANGE = (
    rf"(?:({_YEAR})の?)?({_NUMBER})月(?:から|到|至|～|~|-|和|と)(?:({_YEAR})の?)?({_NUMBER})月"
    "(?:まで|の間|之间|之間)?"
)
_AGO = rf"({_NUMBER})({'|'.join(_UNITS)})(?:前|以前|之前)"
_SEASON = rf"(?:({_YEAR})の?)([春夏秋冬])[天季]?"
_QUARTER = rf"(?:({_YEAR})の?)?第([1-4一二三四])(?:四半期|季度)"
_WEEKDAY = (
    rf"({'|'.join(_LAST_OR_NEXT)})?(?:([月火水木金土日])曜日?"
    "|(?:星期|周|週|礼拜)([一二三四五六天日]))"
)
_WHOLE_YEAR = "((?:19|20)[0-9]{2})年(?![0-9前間])"


def translate_cjk_dates(text: str, today: date) -> str:
    """Return a question with Japanese and Chinese dates in English, set off by blanks."""

    def year_of(written: str | None) -> str:
        if not written:
            return ""
        if written in _YEARS_AWAY:
            return str(today.year + _YEARS_AWAY[written])
        return "".join(_DIGITS.get(sign, sign) for sign in written.removesuffix("年"))

    def read_range(match: re.Match[str]) -> str:
        first, last = year_of(match[1]), year_of(match[3]) or year_of(match[1])
        one, other = _month_name(match[2]), _month_name(match[4])
        if one is None or other is None:
            return match[0]
        return f" {' '.join(filter(None, ('from', one, first, 'to', other, last)))} "

    def read_date(match: re.Match[str]) -> str:
        month, day = _month_name(match[2]), _read_number(match[3]) if match[3] else None
        if month is None:
            return match[0]
        words = ("since" if match[4] else "in", str(day or ""), month, year_of(match[1]))
        return f" {' '.join(filter(None, words))} "

    def read_season(match: re.Match[str]) -> str:
        return f" in {_SEASONS[match[2]]} {year_of(match[1])}".rstrip() + " "

    def read_quarter(match: re.Match[str]) -> str:
        return f" in Q{_read_number(match[2])} {year_of(match[1])}".rstrip() + " "

    for pattern, translate in (
        (_RANGE, read_range),
        (_DATE, read_date),
        (_SEASON, read_season),
        (_QUARTER, read_quarter),
        (_AGO, _read_ago),
        (_WEEKDAY, _read_weekday),
        (_WHOLE_YEAR, r" in \1 "),
    ):
        text = re.sub(pattern, translate, text)
    for word, english in _NEAR_WORDS.items():
        text = text.replace(word, f" {english} ")
    return text


def _read_number(written: str) -> int:
    """Return a number in digits or in Chinese signs up to 99; 0 if it is not a number."""
    digits = "".join(_DIGITS.get(sign, sign) for sign in written)
    if digits.isdigit():
        return int(digits)
    tens, _, ones = digits.partition("十")
    if any(part and not part.isdigit() for part in (tens, ones)):
        return 0
    return 10 * int(tens or 1) + int(ones or 0)


def _month_name(written: str) -> str | None:
    number = _read_number(written)
    return MONTH_NAMES[number - 1] if 1 <= number <= 12 else None


def _read_ago(match: re.Match[str]) -> str:
    count = _read_number(match[1])
    return f" {count} {_UNITS[match[2]]}{'s' if count > 1 else ''} ago "


def _read_weekday(match: re.Match[str]) -> str:
    way = _LAST_OR_NEXT.get(match[1] or "", "on")
    return f" {way} {_WEEKDAYS[match[2] or match[3]]} "
