"""Links and tags as they are written in a page's body and front matter."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath

from gbrain.text.markdown import Structure
from gbrain.types import Link

# One pass over the body. Each alternative begins with its own sign, so that the search skips
# plain text; code spans come first, so that nothing inside them counts.
_REFERENCE = re.compile(
    r"`[^`\n]*`"
    r"|\[\[(?P<wiki>[^\[\]|#\n]*)(?:#(?P<part>[^\[\]|\n]*))?(?:\|(?P<label>[^\[\]\n]*))?\]\]"
    r"|\[(?P<text>[^\[\]\n]*)\]\((?:<(?P<angle>[^<>\n]*)>|(?P<url>[^()\s<>]*))"
    r"(?:[ \t]+\"[^\"\n]*\")?\)"
    r"|#(?P<tag>[^\s#,.;:!?()\[\]{}<>'\"`*|\\/+=~^&%$@]+(?:/[^\s#,.;:!?()\[\]{}<>'\"`*|\\/+=~^&%$@]+)*)"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PAGE_FILE = re.compile(r"\.(?:md|markdown)$", re.IGNORECASE)
_OTHER_FILE = re.compile(r"\.[A-Za-z0-9]{1,5}$")
_LINK_KEYS = frozenset(
    "related links source sources derived_from see_also parent up supersedes superseded_by".split()
)


def body_references(
    text: str, structure: Structure, first_line: int, path: str
) -> tuple[list[Link], list[str]]:
    """The links and inline tags of a body, in order; `first_line` is the body's line in the page.

    Code blocks and code spans are not read. Links out of the vault are left alone.
    """
    links: list[Link] = []
    tags: list[str] = []
    starts, code = structure.starts, structure.code
    for match in _REFERENCE.finditer(text):
        kind = match.lastgroup
        if kind is None:
            continue
        line = bisect_right(starts, match.start()) - 1
        if _inside(code, line):
            continue
        if kind == "tag":
            before = text[match.start() - 1 : match.start()]
            if (not before or before in " \t\r\n(,;") and not match["tag"].isdecimal():
                tags.append(match["tag"])
        elif match["wiki"] is not None:
            target = match["wiki"].strip()
            if target:
                links.append(Link(first_line + line, "wiki", target, match["part"], match["label"]))
        else:
            found = _page_link(match["angle"] or match["url"] or "", path)
            if found:
                links.append(Link(first_line + line, "markdown", found[0], found[1], match["text"]))
    return links, tags


def _inside(ranges: tuple[tuple[int, int], ...], line: int) -> bool:
    at = bisect_right(ranges, (line, 1 << 62)) - 1
    return at >= 0 and line < ranges[at][1]


def _page_link(url: str, path: str) -> tuple[str, str | None] | None:
    """The page that a Markdown link names, as a path from the vault's root, and the heading."""
    if _SCHEME.match(url) or url.startswith(("//", "#", "?")):
        return None
    if "%" in url:
        from urllib.parse import unquote

        url = unquote(url)
    target, _, heading = url.partition("#")
    if _PAGE_FILE.search(target):
        target = _PAGE_FILE.sub("", target)
    elif not target or target.endswith("/") or _OTHER_FILE.search(target):
        return None
    resolved = normpath(join("/", dirname(path), target)).lstrip("/")
    return (resolved, heading or None) if resolved and resolved != "." else None


def front_matter_links(values: Mapping[str, object], lines: Mapping[str, int]) -> Iterator[Link]:
    """Wikilinks in any front-matter value, and plain page names under the keys that hold links."""
    for key, value in values.items():
        for written in _strings(value):
            line = lines.get(key, 1)
            wiki = [m for m in _REFERENCE.finditer(written) if m["wiki"]]
            for match in wiki:
                yield Link(line, "front_matter", match["wiki"].strip(), match["part"], key)
            if not wiki and key.casefold() in _LINK_KEYS and not _SCHEME.match(written):
                target = _PAGE_FILE.sub("", written.strip())
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
