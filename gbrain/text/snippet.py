"""Choose the excerpt of a chunk that is shown with a hit, without markup and on one line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, zip_longest

# Control characters around the matched words of a snippet.
MARK_ON, MARK_OFF = "\x02", "\x03"

MAX_SNIPPET_CHARACTERS = 220
# A shorter sentence is shown with the one before it, if none follows.
_MIN_SNIPPET_CHARACTERS = 100
# Of a longer URL or other word without spaces, the start or the first match is shown.
_MAX_WORD_CHARACTERS = 80
# Words that share this many letters count as forms of one word.
_STEM_LETTERS = 5

_MARKED = re.compile(f"{MARK_ON}([^{MARK_ON}{MARK_OFF}]*){MARK_OFF}")
_MARKS = str.maketrans("", "", MARK_ON + MARK_OFF)

_FENCE = re.compile(r"(?:```+|~~~+)[^`~]*$")
_INLINE_FENCE = re.compile(r"(?:^|(?<=\s))(?:```+|~~~+)[\w-]*(?:\s|$)")
_RULE = re.compile(r"(?:[-*_][ \t]*){3,}$")
_QUOTE = re.compile(r"\s*(?:>[ \t]?)+")
_CALLOUT = re.compile(r"\[!([^\]\n]{1,40})\][+-]?[ \t]*")
_HEADING = re.compile(r"#{1,6}[ \t]+")
_BULLET_OR_NUMBER = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]")
_TABLE_RULE = re.compile(r"[|\s:-]*-[|\s:-]*$")
_CELL_BORDER = re.compile(r"(?<!\\)\|")

_IMAGE_OR_LINK = re.compile(
    r"!?\[([^][]{0,300})\]\((?:[^()\s]++|\([^()\s]*+\))*+(?:\s+\"[^\"]{0,300}\")?\)"
)
_NAMED_LINK = re.compile(r"!?\[\[[^][|]{1,300}\|([^][]{1,300})\]\]")
_BOLD = re.compile(r"(?<![\w*])\*\*(?=[^\s*])([^*]{1,300})(?<=\S)\*\*(?!\w)")
_ITALIC = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]{1,300})(?<=[^\s*])\*(?![\w*])")
_BULLET = re.compile(r"\A\s*[-*+]\s+")
_COMMENT = re.compile(r"<!--.{0,1000}?-->|<br ?/?>", re.DOTALL)

_SENTENCE_END = re.compile(rf"(?:[.!?…][\"'”’»){MARK_OFF}]*\s+(?=[^\sa-z])|[。！？．…؟۔।॥။។]+)")
_LATIN = re.compile(r"[0-9A-Za-z.,-]")
_PAUSES = "。！？．、，；：…"
# Skin tones and the second half of a flag.
_MODIFIERS = {chr(code) for code in (*range(0x1F3FB, 0x1F400), *range(0x1F1E6, 0x1F200))}
_MAX_KEPT_TOGETHER = 40
_LAST_WORD = re.compile(rf"(?<!\w)(\w{{1,8}})\.?{MARK_OFF}?$")
_PARTICLES = frozenset(
    {"van", "von", "der", "den", "de", "del", "di", "da", "du", "la", "le", "of"}
)

_ABBREVIATIONS = frozenset(
    {"dr", "mr", "mrs", "ms", "prof", "st", "jr", "sr", "vs", "ca", "cf", "no", "nr", "bzw", "str"}
)


def build_snippet(text: str, *, opening: bool = False) -> str:
    """Return the sentence of a chunk with the most matched words, with what follows it.

    Matched words are between MARK_ON and MARK_OFF. A word that is in one sentence of the chunk
    counts more than one in all of them. With `opening`, or without matches, the snippet is the
    start of the chunk.
    """
    units = list(_split_units(text))
    if not units:
        return ""
    words = [{word.casefold()[:_STEM_LETTERS] for word in _MARKED.findall(unit)} for unit in units]
    shared = Counter(word for found in words for word in found)
    values = [sum(1 / shared[word] for word in found) for found in words]
    units = [_shorten_long_words(unit) for unit in units]
    first = 0 if opening else values.index(max(values))
    snippet, last = units[first], first + 1
    while last < len(units) and _fits(joined := _join(snippet, units[last])):
        snippet, last = joined, last + 1
    while first and visible_length(snippet) < _MIN_SNIPPET_CHARACTERS:
        first -= 1
        if not _fits(joined := _join(units[first], snippet)):
            break
        snippet = joined
    return shorten(snippet, MAX_SNIPPET_CHARACTERS)


def extend_marks(text: str) -> str:
    """Return a marked text in which marks include the combining characters of their last letter.

    FTS5 takes those of most scripts for separators: a mark in Thai would end before a vowel sign.
    """
    if text.isascii():
        return text
    from unicodedata import category

    def move(found: re.Match[str]) -> str:
        end = 1
        while end < len(found[0]) and category(found[0][end])[0] == "M":
            end += 1
        return found[0][1:end] + MARK_OFF + found[0][end:]

    return re.sub(rf"{MARK_OFF}[^\w\s]+", move, text)


def visible_length(text: str) -> int:
    """Return the number of characters without marks."""
    return len(text) - text.count(MARK_ON) - text.count(MARK_OFF)


def shorten(text: str, limit: int) -> str:
    """Return one line of at most `limit` characters, marks not counted, that keeps a match.

    It is cut between words, but not inside of a name or a date, nor between a number and its unit.
    """
    words = text.split()
    if visible_length(" ".join(words)) <= limit:
        return " ".join(words)
    lengths = [visible_length(word) for word in words]
    ends = list(accumulate(length + 1 for length in lengths))
    match = next((place for place, word in enumerate(words) if MARK_ON in word), 0)
    start = 0
    if ends[match] > limit - 2:
        near = (i for i in range(match + 1) if ends[match] - ends[i] + lengths[i] < limit // 2)
        start = next(near, match)
        start = next((i for i in range(start, match + 1) if _may_cut(words, i)), match)
    room = limit - 2 - (1 if start else 0)
    before = ends[start] - lengths[start] - 1
    stop = next((i for i, end in enumerate(ends) if end - 1 - before > room), len(words))
    if stop <= start:
        return _shorten_word(words[start], limit)
    stop = next((i for i in range(stop, start, -1) if _may_cut(words, i)), stop)
    cut = " ".join(words[start:stop]).rstrip(" ,;:—–-·")
    ended = cut[-1:] in ".!?…"
    rest = "" if stop == len(words) else " …" if ended else "…"
    return _balance_marks(("…" if start else "") + cut + rest)


def _shorten_long_words(text: str) -> str:
    """Return the text with URLs, encoded data and other long words of ASCII letters shortened."""
    if len(text) <= _MAX_WORD_CHARACTERS:
        return text
    return " ".join(
        _shorten_word(word, _MAX_WORD_CHARACTERS)
        if word.isascii() and visible_length(word) > _MAX_WORD_CHARACTERS
        else word
        for word in text.split(" ")
    )


def _shorten_word(word: str, limit: int) -> str:
    """Return the part of a text without spaces with its first match, at most `limit` long.

    It ends at punctuation, if there is some in its second half. Digits and Latin letters stay
    together, and so do a letter and its combining characters.
    """
    plain = word.translate(_MARKS)
    match = max(word.find(MARK_ON), 0)
    start = _cut_place(plain, max(0, match - limit // 3)) if match > limit - limit // 3 else 0
    stop = start + limit - 1 - (1 if start else 0)
    if stop >= len(plain):
        cut = plain[start:]
    else:
        ends = [place + 1 for place in range(start + limit // 2, stop) if plain[place] in _PAUSES]
        cut = plain[start : ends[-1] if ends else _cut_place(plain, stop)] + "…"
    marked = next(iter(_MARKED.findall(word)), "")
    if marked and marked in cut:
        cut = cut.replace(marked, f"{MARK_ON}{marked}{MARK_OFF}", 1)
    return ("…" if start else "") + cut


def _cut_place(text: str, place: int) -> int:
    """Return the last place up to `place` that is neither inside a letter nor a number or word."""
    earliest = max(0, place - _MAX_KEPT_TOGETHER)
    for cut in range(place, earliest, -1):
        together = _LATIN.match(text[cut]) and _LATIN.match(text[cut - 1])
        if not together and not _is_combining(text[cut]) and text[cut - 1] != "\u200d":
            return cut
    return place


def _is_combining(character: str) -> bool:
    """Tell whether a character belongs to the letter before it."""
    from unicodedata import category

    return category(character)[0] == "M" or character == "\u200d" or character in _MODIFIERS


def _may_cut(words: list[str], place: int) -> bool:
    """Return whether the text may be cut before the word at `place`."""
    if place in (0, len(words)):
        return True
    left, right = (word.translate(_MARKS) for word in words[place - 1 : place + 1])
    ended = left[-1:] in ",.;:!?)—–·|"
    number, other = any(map(str.isdigit, left)), any(map(str.isdigit, right))
    if number and other:
        return False
    if ended:
        # "12. März", "Dr. Weber", but not the end of a sentence.
        return not (left[-1] == "." and len(left) <= 3)
    names = [word.strip("\"'“”„«»([*_") for word in (left, right)]
    named = [name[:1].isupper() or name in _PARTICLES for name in names]
    return not (number or all(named) or (named[0] and other) or left in "€$£")


def _balance_marks(text: str) -> str:
    if text.count(MARK_ON) > text.count(MARK_OFF):
        text += MARK_OFF
    return MARK_ON + text if text.count(MARK_OFF) > text.count(MARK_ON) else text


def _fits(text: str) -> bool:
    return visible_length(text) <= MAX_SNIPPET_CHARACTERS


def _join(one: str, other: str) -> str:
    last = one.translate(_MARKS)[-1:]
    if last and last in "。！？．」』":
        # Full-width signs have their space inside.
        return one + other
    ended = last in ".!?:;…,؟۔।॥”)"
    return f"{one} {other}" if ended else f"{one} · {other}"


# --- Markdown to sentences -------------------------------------------------------------------


def _split_units(text: str) -> Iterator[str]:
    """Yield the sentences, list items, table rows and code lines of a chunk, without markup."""
    for block in _split_blocks(text):
        if block.startswith("`"):
            yield block
            continue
        start = 0
        plain = " ".join(_remove_markup(block).split())
        for end in _SENTENCE_END.finditer(plain):
            last = _LAST_WORD.search(plain[max(start, end.start() - 12) : end.start()])
            if last and plain[end.start()] == "." and _is_abbreviation(last[1]):
                continue
            yield plain[start : end.end()].strip()
            start = end.end()
        if rest := plain[start:].strip():
            yield rest


def _is_abbreviation(word: str) -> bool:
    """Return whether a dot after the word ends no sentence: an initial, "Dr", the day in "12."."""
    return len(word) == 1 or (word.isdigit() and len(word) == 2) or word.lower() in _ABBREVIATIONS


def _split_blocks(text: str) -> Iterator[str]:
    """Yield paragraphs, list items, table rows and lines of code."""
    lines = text.splitlines()
    paragraph: list[str] = []
    header: list[str] = []
    code = False
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        content = line.strip() if code else _remove_quote(line)
        fence = _FENCE.match(content)
        row = content.startswith("|") and not code
        if paragraph and (code or fence or row or _starts_block(content)):
            yield " ".join(paragraph)
            paragraph = []
        if not row:
            header = []
        if fence:
            code = not code
        elif code and content:
            yield f"`{content}`"
        elif row and _TABLE_RULE.match(_remove_quote(following)):
            header = _cells(content)
        elif row and not _TABLE_RULE.match(content):
            yield " · ".join(_label_cells(header, _cells(content)))
        elif content and not row and not _RULE.match(content):
            paragraph.append(_HEADING.sub("", content, count=1))
    if paragraph:
        yield " ".join(paragraph)


def _remove_quote(line: str) -> str:
    """Return a line without the signs of a quote; `[!note]` of a callout becomes `Note:`."""
    quote = _QUOTE.match(line)
    content = line[quote.end() :].strip() if quote else line.strip()
    callout = _CALLOUT.match(content) if quote else None
    if not callout:
        return content
    return f"{callout[1].translate(_MARKS).capitalize()}: {content[callout.end() :]}".rstrip()


def _starts_block(content: str) -> bool:
    return not content or bool(_BULLET_OR_NUMBER.match(content) or _HEADING.match(content))


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _CELL_BORDER.split(row.strip("|"))]


def _label_cells(header: list[str], cells: list[str]) -> Iterator[str]:
    for place, cell in enumerate(cells):
        name = header[place] if place < len(header) else ""
        if cell:
            yield f"{name}: {cell}" if name and place else cell


def _remove_markup(text: str) -> str:
    # Looking for the one character that a pattern needs is ten times faster than the pattern.
    if "<" in text:
        text = _COMMENT.sub(" ", text)
    if "[" in text:
        text = _IMAGE_OR_LINK.sub(r"\1", _NAMED_LINK.sub(r"\1", text))
    if "*" in text:
        text = _ITALIC.sub(r"\1", _BOLD.sub(r"\1", text))
    if "```" in text or "~~~" in text:
        text = _INLINE_FENCE.sub("", text)
    return _BULLET.sub("", text)
