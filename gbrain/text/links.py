"""Find links and inline tags in the body and the front matter of a page."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache
from posixpath import dirname, join, normpath

from gbrain.text.dialects import find_comments, is_attachment
from gbrain.text.markdown import Structure, is_within
from gbrain.types import Link

# Each alternative begins with a different character, so that the search skips plain text fast.
# Code spans come first, so that nothing inside them matches.
_REFERENCE = re.compile(
    r"`[^`\n]*`"
    r"|\[\[(?P<wiki>[^\[\]|#\n]*)(?:#(?P<heading>[^\[\]|\n]*))?(?:\|(?P<label>[^\[\]\n]*))?\]\]"
    r"|\[(?P<text>[^\[\]\n]*)\]\((?:<(?P<angle>[^<>\n]*)>|(?P<url>[^()\s<>]*))"
    r"(?:[ \t]+\"[^\"\n]*\")?\)"
    r"|#(?P<tag>[^\s#,.;:!?()\[\]{}<>'\"`*|\\/+=~^&%$@]+(?:/[^\s#,.;:!?()\[\]{}<>'\"`*|\\/+=~^&%$@]+)*)"
)
# A tag of several words with a closing #, as Bear writes it; a single last letter means C# or F#.
_SPACED_TAG = re.compile(
    r"#([^\s#,.;:!?()\[\]{}<>\"`*|\\=~^%$@]++(?: [^\s#,.;:!?()\[\]{}<>\"`*|\\=~^%$@]++){1,4}+)"
    r"(?<! .)#(?![\w#])"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
PAGE_FILE_ENDING = re.compile(r"\.(?:md|markdown)$", re.IGNORECASE)
_OTHER_FILE = re.compile(r"\.[A-Za-z0-9]{1,5}$")
_LINK_KEYS = frozenset(
    """related links source sources derived_from derives_from causes caused_by calls imports
    see_also parent up supersedes superseded_by""".split()
)


def parse_body_links(
    text: str, structure: Structure, first_line: int, path: str
) -> tuple[list[Link], list[str]]:
    """Return the links and inline tags of a body, in order; the body starts on `first_line`.

    Code, `%%comments%%` and links to web pages and other files are skipped.
    """
    links: list[Link] = []
    tags: list[str] = []
    for match, line in find_references(text, structure):
        kind = match.lastgroup
        if kind == "tag":
            if _starts_word(text, match.start()):
                spaced = _SPACED_TAG.match(text, match.start())
                tag = spaced[1] if spaced else match["tag"]
                if not tag.isdecimal():
                    tags.append(tag)
        elif match["wiki"] is not None:
            before = text[max(match.start() - 8, 0) : match.start()]
            if link := _parse_wiki_link(match, before, first_line + line):
                links.append(link)
                if before.endswith("#") and _starts_word(text, match.start() - 1):
                    tags.append(link.target)
        elif kind == "block":
            links.append(Link(first_line + line, "block", match["block"], None, None))
        else:
            found = resolve_page_link(match["angle"] or match["url"] or "", path)
            if found:
                links.append(Link(first_line + line, "markdown", found[0], found[1], match["text"]))
    return links, tags


def find_references(text: str, structure: Structure) -> Iterator[tuple[re.Match[str], int]]:
    """Yield each link and tag of a body with its line, from 0; not those in code and comments."""
    starts, code = structure.starts, structure.code
    hidden = tuple(find_comments(text, structure)) if "%%" in text else ()
    pattern = _pattern_with_blocks() if "((" in text else _REFERENCE
    for match in pattern.finditer(text):
        if match.lastgroup is None:
            continue
        line = bisect_right(starts, match.start()) - 1
        if not is_within(code, line) and not (hidden and is_within(hidden, match.start())):
            yield match, line


def find_wiki_links(text: str) -> list[re.Match[str]]:
    """Return the matches of [[wikilinks]] in a text without code, such as front matter."""
    return [match for match in _REFERENCE.finditer(text) if match["wiki"]]


@cache
def _pattern_with_blocks() -> re.Pattern[str]:
    """Return the pattern with Logseq's ((uuid)) references; separate because few pages need it."""
    from gbrain.text.dialects import BLOCK_UUID

    return re.compile(rf"{_REFERENCE.pattern}|\(\((?P<block>{BLOCK_UUID})\)\)")


def _starts_word(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in " \t\r\n(,;"


def _parse_wiki_link(match: re.Match[str], before: str, line: int) -> Link | None:
    """Return the link `[[target#heading|label]]`; `before` has the eight characters before it."""
    target, heading, label = match["wiki"].strip(), match["heading"], match["label"]
    if label is not None:
        # In a table, the bar is escaped as \\|.
        target = target.removesuffix("\\").rstrip() if heading is None else target
        heading = heading.removesuffix("\\") if heading is not None else None
    target = PAGE_FILE_ENDING.sub("", target)
    if not target or is_attachment(target):
        return None
    embedded = before.endswith(("!", "{{embed "))
    return Link(line, "embed" if embedded else "wiki", target, heading, label)


def resolve_page_link(url: str, path: str) -> tuple[str, str | None] | None:
    """Return the page of a Markdown link, as a path from the root of the folder, and the heading.

    None for a link to a web page, a heading of the same page or another kind of file.
    """
    if _SCHEME.match(url) or url.startswith(("//", "#", "?")):
        return None
    if "%" in url:
        from urllib.parse import unquote

        url = unquote(url)
    target, _, heading = url.partition("#")
    if PAGE_FILE_ENDING.search(target):
        target = PAGE_FILE_ENDING.sub("", target)
    elif not target or target.endswith("/") or _OTHER_FILE.search(target):
        return None
    resolved = normpath(join("/", dirname(path), target)).lstrip("/")
    return (resolved, heading or None) if resolved and resolved != "." else None


def parse_front_matter_links(
    values: Mapping[str, object], lines: Mapping[str, int]
) -> Iterator[Link]:
    """Yield wikilinks in any front matter value, and plain page names under known link keys."""
    for key, value in values.items():
        for written in _strings(value):
            line = lines.get(key, 1)
            wiki = find_wiki_links(written)
            for match in wiki:
                yield Link(line, "front_matter", match["wiki"].strip(), match["heading"], key)
            if not wiki and key.casefold() in _LINK_KEYS and not _SCHEME.match(written):
                target = PAGE_FILE_ENDING.sub("", written.strip())
                if target and "\n" not in target:
                    yield Link(line, "front_matter", target, None, key)


def _strings(value: object) -> Iterator[str]:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            pending.extend(reversed(item))
        elif isinstance(item, dict):
            pending.extend(reversed(item.values()))
