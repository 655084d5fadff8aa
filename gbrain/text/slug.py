"""Slugs: the name of a page, made from its path, and the folded keys that names are found by."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from gbrain.errors import BadPage

MAX_SLUG_CHARACTERS = 400

PAGE_ENDINGS = (".md", ".markdown")

# Compiled when first used: a search folds one name and needs few of them.
_EXTENSION = r"(?i)\.(md|markdown)$"
_DASHED = r"[\s#|<>\[\]{}:*?\\^%$;,!()-]+"
_PUNCTUATION = r"[^\w\s+#]|_|(?<![^\W_])(?<![+#])[+#]+"
_DROPPED = str.maketrans("", "", "'\"`’‘“”")

# Python sorts the marks on a letter in quadratic time. Unicode's stream-safe texts have no more.
_MOST_MARKS = 30
_SURELY_FAST = 1000


def is_page_file(path: str) -> bool:
    """Whether a file of this name holds a page."""
    return path.lower().endswith(PAGE_ENDINGS)


def slug_from_path(path: str) -> str:
    """The slug of a page kept at `path` ('Notes/My Page.md' becomes 'notes/my-page').

    Raises BadPage for a path that leaves its folder or holds nothing to name a page by.
    """
    plain = _visible(normalise_unicode("NFC", re.sub(_EXTENSION, "", path))).lower()
    # lower() can undo NFC (dotted capital I): compose again.
    segments = [_segment(part) for part in normalise_unicode("NFC", plain).split("/")]
    if not all(segments):
        raise BadPage(
            f"{path!r} does not name a page",
            hint="A slug is a relative path of letters, digits and dashes, like people/alice-chen.",
            code="bad_slug",
        )
    slug = "/".join(segments)
    if len(slug) > MAX_SLUG_CHARACTERS:
        raise BadPage(
            f"The slug {slug[:40]}… is longer than {MAX_SLUG_CHARACTERS} characters",
            hint="Shorten the name of the file or of its folders.",
            code="bad_slug",
        )
    # What was dropped may have hidden an extension or an accent: the slug of a slug is itself.
    settled = not re.search(_EXTENSION, slug) and unicodedata.is_normalized("NFC", slug)
    return slug if settled else slug_from_path(slug)


def _segment(part: str) -> str:
    segment = re.sub(_DASHED, "-", part.translate(_DROPPED)).strip("-")
    return "" if segment.strip(".") == "" else segment


def _visible(text: str) -> str:
    """`text` without control, format and private characters, which nobody can see or type."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char for char in text if char.isspace() or unicodedata.category(char)[0] != "C")


def normalise_unicode(form: Literal["NFC", "NFKD"], text: str) -> str:
    """The text in a normal form of Unicode; of the marks on one letter the first thirty count."""
    if len(text) > _SURELY_FAST and not text.isascii():
        marks = 0
        kept = []
        for char in text:
            marks = marks + 1 if unicodedata.combining(char) else 0
            if marks <= _MOST_MARKS:
                kept.append(char)
        text = "".join(kept)
    return unicodedata.normalize(form, text)


def fold_name(name: str) -> str:
    """The key a name is looked up by: case, accents, punctuation and spacing do not count.

    A plus or hash that belongs to a word stays, so that C, C++ and C# are three names. A name of
    nothing but symbols is its own key.
    """
    if name.isascii():
        plain = name.lower()
    else:
        decomposed = normalise_unicode("NFKD", name)
        plain = "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()
    words = plain.translate(_DROPPED)
    if not words.replace(" ", "").isalnum():
        words = re.sub(_PUNCTUATION, " ", words)
    return " ".join(words.split()) or " ".join(plain.split())
