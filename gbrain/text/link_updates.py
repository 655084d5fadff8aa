"""Change the links of a page to pages that were renamed, and leave every other byte unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import dirname, relpath
from typing import NamedTuple

from gbrain.text.frontmatter import split_front_matter
from gbrain.text.links import (
    PAGE_FILE_ENDING,
    find_references,
    find_wiki_links,
    resolve_page_link,
)
from gbrain.text.markdown import scan_blocks
from gbrain.text.slug import fold_name

# Characters that would end the address of a Markdown link, or mean something else in it.
_ESCAPED = str.maketrans({c: f"%{ord(c):02X}" for c in "% ()<>#?"})
_ESCAPED_IN_ANGLES = str.maketrans({c: f"%{ord(c):02X}" for c in "%<>#"})


class RenamedPage(NamedTuple):
    """A page that links name by an old name; `name` is what finds it in a link without a path.

    `guessed` says that a new file only had nearly its text.
    """

    path: str
    name: str
    guessed: bool = False


def update_links(text: str, path: str, renamed: Mapping[str, RenamedPage]) -> tuple[str, int]:
    """Return the text of the page at `path` with new link targets, and how many there are.

    `renamed` has the renamed pages by their folded old names.
    """
    parts: list[str] = []
    done = 0
    for start, stop, target in _find_changes(text, path, renamed):
        parts += [text[done:start], target]
        done = stop
    return "".join([*parts, text[done:]]), len(parts) // 2


def _find_changes(
    text: str, path: str, renamed: Mapping[str, RenamedPage]
) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and new text of the targets to change, in order."""
    front, body = split_front_matter(text)
    offset = len(front.raw)
    for match in find_wiki_links(front.raw):
        if new := _new_wiki_target(match["wiki"], renamed):
            yield *match.span("wiki"), new
    for match, _ in find_references(body, scan_blocks(body)):
        if match["wiki"] is not None:
            group, new = "wiki", _new_wiki_target(match["wiki"], renamed)
        elif match["text"] is not None:
            group = "url" if match["angle"] is None else "angle"
            new = _new_address(match[group], path, renamed, in_angles=group == "angle")
        else:
            continue
        if new:
            start, stop = match.span(group)
            yield offset + start, offset + stop, new


def _new_wiki_target(written: str, renamed: Mapping[str, RenamedPage]) -> str | None:
    """Return the target of a wikilink to a renamed page, written in the same way."""
    # In a table, the bar after the target is escaped as \\|.
    target = written.strip().removesuffix("\\").rstrip()
    plain = PAGE_FILE_ENDING.sub("", target)
    page = renamed.get(fold_name(plain))
    if page is None:
        return None
    new = PAGE_FILE_ENDING.sub("", page.path) if "/" in plain else page.name
    return written.replace(target, new + target[len(plain) :], 1)


def _new_address(
    written: str, path: str, renamed: Mapping[str, RenamedPage], *, in_angles: bool
) -> str | None:
    """Return the address of a Markdown link to a renamed page, from the root or relative."""
    found = resolve_page_link(written, path)
    page = renamed.get(fold_name(found[0])) if found else None
    if page is None:
        return None
    new = f"/{page.path}" if written.startswith("/") else relpath(page.path, dirname(path) or ".")
    target, mark, heading = written.partition("#")
    if not PAGE_FILE_ENDING.search(target):
        new = PAGE_FILE_ENDING.sub("", new)
    return new.translate(_ESCAPED_IN_ANGLES if in_angles else _ESCAPED) + mark + heading
