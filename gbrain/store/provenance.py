"""Trace a page back to its sources and causes, and mark pages as superseded by others."""

from __future__ import annotations

import json
import sqlite3
from collections import deque
from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

from gbrain.errors import Conflict
from gbrain.store import links, page_writer, pages
from gbrain.text.frontmatter import remove_key, set_key
from gbrain.text.links import parse_front_matter_links
from gbrain.text.page import parse_page
from gbrain.text.slug import fold_name

CauseKind = Literal[
    "derived_from", "caused_by", "source", "calls", "imports", "supersedes", "superseded_by", "link"
]
CauseState = Literal["page", "repeated", "missing", "outside"]

# Strongest first: what a page says about itself comes before what others say about it.
CAUSE_KINDS: tuple[CauseKind, ...] = get_args(CauseKind)

_KIND_BY_KEY: dict[str, CauseKind] = {
    "derived_from": "derived_from",
    "derives_from": "derived_from",
    "caused_by": "caused_by",
    "source": "source",
    "sources": "source",
    "calls": "calls",
    "imports": "imports",
    "supersedes": "supersedes",
    "superseded_by": "superseded_by",
}
# The kind of a link from another page's front matter; None if this page is the cause there.
_BACKLINK_KIND_BY_KEY: dict[str, CauseKind | None] = {
    **dict.fromkeys(_KIND_BY_KEY),
    "causes": "caused_by",
    "supersedes": "superseded_by",
    "superseded_by": "supersedes",
}


class Cause(NamedTuple):
    """A page or source that led to a page; `name` is its slug, or as written if it is no page.

    `line` is the line of the link on the linking page, from 1; None for front matter.
    """

    kind: CauseKind
    name: str
    title: str | None
    line: int | None
    state: CauseState


class Origin(NamedTuple):
    """A cause with its own causes, strongest first; `more` is the number of causes left out.

    A page that is elsewhere in the tree has the state `repeated` and no causes here. A plain link
    to such a page is left out.
    """

    cause: Cause
    causes: tuple[Origin, ...]
    more: int


def trace_provenance(connection: sqlite3.Connection, slug: str, depth: int, limit: int) -> Origin:
    """Return what led to a page, `depth` steps back, with at most `limit` causes of each page.

    Every page is followed once, at its shortest distance. Raises NotFound, with similar slugs, if
    there is no such page.
    """
    page = pages.require_page(connection, slug)
    shown: dict[str, list[Cause]] = {}
    left_out: dict[str, int] = {}
    seen = {page.slug}
    waiting = deque([(page.slug, "", 0)])
    while waiting:
        name, child, steps = waiting.popleft()
        causes = _causes(connection, name, child) if steps < depth else []
        # With many links, repeating every link to a page would hide the rest.
        causes = [c for c in causes if c.kind != "link" or c.name not in seen]
        shown[name], left_out[name] = [], max(len(causes) - limit, 0)
        for cause in causes[:limit]:
            if cause.state == "page" and cause.name in seen:
                cause = cause._replace(state="repeated")
            elif cause.state == "page":
                seen.add(cause.name)
                waiting.append((cause.name, name, steps + 1))
            shown[name].append(cause)
    return _build_tree(Cause("link", page.slug, page.title, None, "page"), shown, left_out)


def _build_tree(cause: Cause, shown: dict[str, list[Cause]], left_out: dict[str, int]) -> Origin:
    if cause.state != "page":
        return Origin(cause, (), 0)
    causes = tuple(_build_tree(each, shown, left_out) for each in shown[cause.name])
    return Origin(cause, causes, left_out[cause.name])


def _causes(connection: sqlite3.Connection, slug: str, child: str) -> list[Cause]:
    """Return the causes of a page, each once by its strongest kind, strongest first.

    The page `child`, from which it was reached, is left out: it shows their relation already.
    """
    page = pages.require_page(connection, slug)
    found: dict[str, Cause] = {}
    causes = [*_front_matter_causes(connection, page), *_backlink_causes(connection, page)]
    for cause in sorted(causes, key=lambda cause: CAUSE_KINDS.index(cause.kind)):
        if cause.name not in (page.slug, child):
            found.setdefault(cause.name, cause)
    return list(found.values())


def _front_matter_causes(connection: sqlite3.Connection, page: pages.StoredPage) -> Iterator[Cause]:
    """Yield the causes in the page's front matter, in its order."""
    for key, value in pages.front_matter_values(connection, page.id).items():
        kind = _KIND_BY_KEY.get(key.casefold())
        for written in _written_names(value) if kind else ():
            assert kind is not None
            inside = next(parse_front_matter_links({key: written}, {}), None)
            if inside is None:
                yield Cause(kind, written, None, None, "outside")
                continue
            known = pages.find_by_name(connection, fold_name(inside.target))
            if known:
                title = pages.require_page(connection, known[0].slug).title
                yield Cause(kind, known[0].slug, title, None, "page")
            elif kind == "source" and "[[" not in written:
                yield Cause(kind, written, None, None, "outside")
            else:
                yield Cause(kind, inside.target, None, None, "missing")


def _written_names(value: object) -> Iterator[str]:
    """Yield the names in a value, in order; YAML reads [[x]] without quotes as a nested list."""
    pending = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if isinstance(item, list):
            pending.extend((each, depth + 1) for each in reversed(item))
        elif isinstance(item, str) and item.strip():
            name = " ".join(item.split())
            yield f"[[{name}]]" if depth > 1 and "[[" not in name else name


def _backlink_causes(connection: sqlite3.Connection, page: pages.StoredPage) -> Iterator[Cause]:
    """Yield the causes in the links of other pages, by slug and line."""
    for link in links.links_to(connection, page):
        key = (link.label or "").casefold() if link.kind == "front_matter" else ""
        kind = _BACKLINK_KIND_BY_KEY.get(key, "link")
        if kind:
            yield Cause(kind, link.slug, link.title, link.line, "page")


# --- superseded pages ------------------------------------------------------------------------

SUPERSEDED_BY = "superseded_by"


class SupersededPage(NamedTuple):
    """A superseded page; `by` is the successor as written, `successor` its slug if it exists."""

    slug: str
    title: str
    by: str
    successor: str | None
    pinned: bool


def supersede_page(
    connection: sqlite3.Connection, old: str, new: str, now: str
) -> tuple[page_writer.WriteResult, str]:
    """Mark the page `old` as superseded by `new`; return the write and the slug of `new`.

    Call this in a write transaction. Raises NotFound, with similar slugs, if a page does not exist,
    and Conflict if pages would supersede each other in a circle.
    """
    page, successor = pages.require_page(connection, old), pages.require_page(connection, new)
    chain = [page.slug, successor.slug]
    while chain[-1] != page.slug:
        following = find_successor(connection, chain[-1])
        if following is None or following in chain[1:]:
            text = set_key(pages.page_text(connection, page.id), SUPERSEDED_BY, successor.slug)
            return _write_mark(connection, page, text, now), successor.slug
        chain.append(following)
    raise Conflict(
        f"{page.slug} cannot be superseded by itself"
        if len(chain) == 2
        else f"The pages would supersede each other in a circle: {' → '.join(chain)}",
        hint="Give the page that supersedes it."
        if len(chain) == 2
        else f"gbrain supersede --undo {chain[-2]} breaks the circle.",
        code="supersede_circle",
    )


def undo_supersede(connection: sqlite3.Connection, old: str, now: str) -> page_writer.WriteResult:
    """Remove the mark of a superseded page; call this in a write transaction."""
    page = pages.require_page(connection, old)
    text = remove_key(pages.page_text(connection, page.id), SUPERSEDED_BY)
    return _write_mark(connection, page, text, now)


def list_superseded(connection: sqlite3.Connection) -> list[SupersededPage]:
    """Return all superseded pages, by slug."""
    rows = connection.execute(
        "SELECT slug, title, meta FROM pages "
        f"WHERE json_extract(meta, '$.{SUPERSEDED_BY}') IS NOT NULL ORDER BY slug"
    )
    found = []
    for slug, title, meta in rows.fetchall():
        values = json.loads(meta)
        written = (
            values[SUPERSEDED_BY]
            if isinstance(values[SUPERSEDED_BY], str)
            else json.dumps(values[SUPERSEDED_BY])
        )
        successor = find_successor(connection, slug)
        found.append(SupersededPage(slug, title, written, successor, values.get("pinned") is True))
    return found


def _write_mark(
    connection: sqlite3.Connection, page: pages.StoredPage, text: str, now: str
) -> page_writer.WriteResult:
    return page_writer.write_page(connection, parse_page(page.path, text.encode()), now)


def find_successor(connection: sqlite3.Connection, slug: str) -> str | None:
    """Return the slug of the page that supersedes this one; None if there is none."""
    row = connection.execute("SELECT meta FROM pages WHERE slug = ?", (slug,)).fetchone()
    values = json.loads(row[0]) if row else {}
    for link in parse_front_matter_links({SUPERSEDED_BY: values.get(SUPERSEDED_BY)}, {}):
        for page in pages.find_by_name(connection, fold_name(link.target)):
            return page.slug
    return None
