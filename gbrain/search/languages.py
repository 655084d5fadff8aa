"""Tell whether a question and the pages found for it are in different languages.

A page in another language does not contain the words of the question: their absence says nothing,
and a page that has some of them by chance must not win by that.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping

from gbrain.store.pages import fetch_pages, page_body
from gbrain.text.language import (
    count_function_words,
    detect_language,
    is_written_in,
    question_language,
)
from gbrain.types import LaneResult

# Not a language code: any language that is not English.
_NOT_ENGLISH = "other"
_WORD = re.compile(r"[^\W\d_]{3,}")
_MAX_LOOKED_UP = 24
_MIN_ENGLISH_SHARE, _MIN_FOREIGN_SHARE = 0.65, 0.35


def lanes_differ_in_language(
    connection: sqlite3.Connection, lanes: Mapping[str, LaneResult]
) -> bool:
    """Tell whether the first pages of the keyword and the vector lane are in two languages."""
    first = [lanes[lane].pages[0].page_id for lane in ("fts", "vector") if lanes[lane].pages]
    if len(set(first)) < 2 or fetch_pages(connection, first) != set(first):
        return False
    found = {_page_language(page_body(connection, page_id)) for page_id in first}
    # Two languages that are not English may be the same if one of them is not known.
    return len(found) > 1 and None not in found and (_NOT_ENGLISH not in found or "en" in found)


def answers_across_languages(
    connection: sqlite3.Connection, question: str, page_id: int
) -> bool | None:
    """Tell whether a page is in another language than the question; None if neither is sure."""
    page = _page_language(page_body(connection, page_id))
    if page is None:
        return None
    asked = question_language(question)
    if asked and page != _NOT_ENGLISH:
        # "Was kostet das Haus am Meer?" could be Dutch, but then it is German as well.
        own, other = (count_function_words(question, one) for one in (asked, page))
        return asked != page and (own > other or not other or not is_written_in(page, question))
    if asked and asked != "en":
        return None
    if page != _NOT_ENGLISH and not is_written_in(page, question):
        return True
    asked = asked or _by_vocabulary(question)
    if asked is None:
        return None
    if (asked == "en") != (page == "en"):
        return True
    # Two languages that are not English may be the same.
    return False if asked == "en" else None


def is_foreign(question: str, page: str) -> bool:
    """Tell whether a question is not English; if it does not show that, its best page may."""
    asked = question_language(question) or _by_vocabulary(question)
    return asked != "en" and (asked is not None or detect_language(page) not in (None, "en"))


def _page_language(body: str) -> str | None:
    """Return the language of a page, `_NOT_ENGLISH` if only that is sure, or None."""
    return detect_language(body) or _by_vocabulary(body)


def _by_vocabulary(text: str) -> str | None:
    """Tell English from other languages by the words of a short text; None if it has both."""
    from gbrain.models.tokenizer import english_share

    words = list(dict.fromkeys(_WORD.findall(text)))[:_MAX_LOOKED_UP]
    share = english_share(words)
    if not words or _MIN_FOREIGN_SHARE < share < _MIN_ENGLISH_SHARE:
        return None
    return "en" if share >= _MIN_ENGLISH_SHARE else _NOT_ENGLISH
