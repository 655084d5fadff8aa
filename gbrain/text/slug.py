"""Make slugs from paths, and fold names to keys so that lookups ignore case and accents."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from gbrain.errors import BadPage

MAX_SLUG_CHARACTERS = 400

MAX_FILE_NAME_BYTES = 255
_BIDI_CONTROLS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")

PAGE_ENDINGS = (".md", ".markdown")

# Strings, compiled on first use: a search needs few of them.
_EXTENSION = r"(?i)\.(md|markdown)$"
_DASHED = r"[\s#|<>\[\]{}:*?\\^%$;,!()-]+"
_PUNCTUATION = r"[^\w\s+#]|_|(?<![^\W_])(?<![+#])[+#]+"
_DROPPED = str.maketrans("", "", "'\"`’‘“”")

# Python sorts the combining marks on a letter in quadratic time; 30 is the limit of Unicode's
# stream-safe text format. Texts up to 1,000 characters are fast in any case.
_MAX_MARKS = 30
_MAX_UNCHECKED_CHARACTERS = 1000


def is_page_file(path: str) -> bool:
    """Tell whether a file with this name is a page."""
    return path.lower().endswith(PAGE_ENDINGS)


def slug_from_path(path: str) -> str:
    """Return the slug of the page at `path`: 'notes/my-page' for 'Notes/My Page.md'.

    Raises BadPage for a path that leaves its folder or has a name without letters and digits.
    """
    plain = _remove_invisible(normalise_unicode("NFC", re.sub(_EXTENSION, "", path))).lower()
    # lower() can undo NFC (dotted capital I): compose again.
    segments = [_slug_segment(part) for part in normalise_unicode("NFC", plain).split("/")]
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
    # Removing characters may uncover a suffix or an accent; the slug of a slug must be itself.
    is_stable = not re.search(_EXTENSION, slug) and unicodedata.is_normalized("NFC", slug)
    return slug if is_stable else slug_from_path(slug)


def path_from_name(name: str) -> str:
    """Return the file path for a new page called `name`, with an extension.

    Control characters, which would act on a terminal or end a line of a list of files, become
    blanks or are dropped, as in the slug. Raises BadPage for a name that no file can have.
    """
    plain = name if name.isprintable() else "".join(map(_printable, name))
    path = plain if is_page_file(plain) else f"{plain}.md"
    refuse_long_names(path)
    return path


def refuse_long_names(path: str) -> None:
    """Raise BadPage if a part of the path is longer than file systems allow."""
    for part in path.split("/"):
        if len(part.encode("utf-8", "surrogateescape")) > MAX_FILE_NAME_BYTES:
            raise BadPage(
                f"The file name {part[:40]}… is longer than {MAX_FILE_NAME_BYTES} bytes",
                hint="Shorten the name, or divide it into folders with slashes.",
                code="bad_slug",
            )


def _printable(char: str) -> str:
    """Return a blank for a tab or line end, nothing for a control, else the character."""
    category = unicodedata.category(char)
    if category in ("Cc", "Zl", "Zp"):
        return " " if char.isspace() else ""
    is_control = category == "Cs" or unicodedata.bidirectional(char) in _BIDI_CONTROLS
    return "" if is_control else char


def _slug_segment(part: str) -> str:
    segment = re.sub(_DASHED, "-", part.translate(_DROPPED)).strip("-")
    return "" if segment.strip(".") == "" else segment


def _remove_invisible(text: str) -> str:
    """Return the text without control, format and private-use characters."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char for char in text if char.isspace() or unicodedata.category(char)[0] != "C")


def normalise_unicode(form: Literal["NFC", "NFKD"], text: str) -> str:
    """Return the text in a Unicode normal form; a long text keeps 30 marks per letter at most."""
    if len(text) > _MAX_UNCHECKED_CHARACTERS and not text.isascii():
        marks = 0
        kept = []
        for char in text:
            marks = marks + 1 if unicodedata.combining(char) else 0
            if marks <= _MAX_MARKS:
                kept.append(char)
        text = "".join(kept)
    return unicodedata.normalize(form, text)


def fold_name(name: str) -> str:
    """Return the key of a name for lookups, without case, accents, punctuation and extra spaces.

    A plus or hash at the end of a word stays, so that C, C++ and C# differ. A name of symbols only
    is its own key.
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
