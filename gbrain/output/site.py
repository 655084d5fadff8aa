"""A brain as a folder of web pages: each stands alone, links lead to the others, nothing runs."""

from __future__ import annotations

import posixpath
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple
from urllib.parse import quote

from gbrain.store.links import Backlink, links_from, links_to
from gbrain.store.pages import Stored, list_pages, page_body
from gbrain.text.markdown import MAX_DEPTH, scan
from gbrain.text.obsidian import comments
from gbrain.text.references import PAGE_FILE, page_link
from gbrain.text.slug import fold
from gbrain.types import Scope

# Longer pages are shown as they are written: nobody reads them, and rendering takes seconds.
LONGEST_RENDERED = 200_000

_WIKI = re.compile(r"!?\[\[([^\[\]|#\n]*)(?:#([^\[\]|\n]*))?(?:\|([^\[\]\n]*))?\]\]")
_CALLOUT = re.compile(r"\[!([\w-]+)\][+-]?[ \t]*")
_OUTWARD = ("http://", "https://", "mailto:")

_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; }
nav, header p, footer { font-size: .875rem; opacity: .8; }
pre, code { font-family: ui-monospace, monospace; font-size: .9em; }
pre { overflow-x: auto; white-space: pre-wrap; }
table { border-collapse: collapse; } td, th { border: 1px solid; padding: .2rem .6rem; }
blockquote { margin-left: 0; padding-left: 1rem; border-left: .2rem solid; }
.nowhere { text-decoration: underline dotted; }
"""


class _Place(NamedTuple):
    """Where a page is rendered: its own file, and where the links on it lead, by what they name."""

    page: Stored
    targets: Mapping[str, str]

    def url(self, slug: str, heading: str | None) -> str:
        here = posixpath.dirname(_file(self.page.slug))
        part = f"#{quote(_anchor(heading))}" if heading and not heading.startswith("^") else ""
        return quote(posixpath.relpath(_file(slug), here)) + part


def site(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """(path, text) of every file of the site, the list of all pages first."""
    pages, _ = list_pages(connection, Scope(), None)
    yield "index.html", _index(pages)
    renderer = _renderer()
    for page in pages:
        links = links_from(connection, page)
        place = _Place(page, {link.target: link.slug for link in links if link.slug})
        body = page_body(connection, page.id)
        yield _file(page.slug), _page(renderer, place, body, links_to(connection, page))


def _file(slug: str) -> str:
    return f"pages/{slug}.html"


def _anchor(heading: str) -> str:
    return fold(heading).replace(" ", "-")


def _index(pages: Sequence[Stored]) -> str:
    wings: dict[str, list[Stored]] = {}
    for page in sorted(pages, key=lambda page: (page.wing, page.title.casefold(), page.slug)):
        wings.setdefault(page.wing, []).append(page)
    parts = ["<h1>All pages</h1>"]
    for wing, held in wings.items():
        parts.append(f"<h2>{escape(wing)}</h2>\n<ul>")
        parts += [
            f'<li><a href="{quote(_file(page.slug))}">{escape(page.title)}</a>'
            f"{_about(page.date, *(f'#{tag}' for tag in page.tags))}</li>"
            for page in held
        ]
        parts.append("</ul>")
    return _document("All pages", "\n".join(parts))


def _about(*facts: str | None) -> str:
    said = " · ".join(escape(fact) for fact in facts if fact)
    return f" <small>{said}</small>" if said else ""


def _page(renderer: Any, place: _Place, body: str, backlinks: Sequence[Backlink]) -> str:
    page = place.page
    top = posixpath.relpath("index.html", posixpath.dirname(_file(page.slug)))
    parts = [f'<nav><a href="{quote(top)}">All pages</a></nav>', "<header>"]
    structure = scan(body)
    if not any(heading.level == 1 for heading in structure.headings):
        parts.append(f"<h1>{escape(page.title)}</h1>")
    tags = (f"#{tag}" for tag in page.tags)
    parts.append(f"<p>{_about(page.wing, page.date, page.type, *tags)}</p>\n</header>\n<main>")
    if len(body) > LONGEST_RENDERED:
        parts.append(f"<pre>{escape(body)}</pre>")
    else:
        hidden = [0, *(at for span in comments(body, structure) for at in span), len(body)]
        shown = "".join(body[a:b] for a, b in zip(hidden[::2], hidden[1::2], strict=True))
        parts.append(renderer.render(shown, {"place": place}))
    parts.append("</main>")
    others = {link.slug: link.title for link in backlinks}
    if others:
        parts.append("<footer>\n<h2>Linked from</h2>\n<ul>")
        parts += [
            f'<li><a href="{place.url(slug, None)}">{escape(title)}</a></li>'
            for slug, title in others.items()
        ]
        parts.append("</ul>\n</footer>")
    return _document(page.title, "\n".join(parts))


def _document(title: str, content: str) -> str:
    return (
        '<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{content}\n</body>\n</html>\n"
    )


# --- Markdown --------------------------------------------------------------------------------


def _renderer() -> Any:
    """Markdown to HTML with links between pages; tags of HTML that a page holds become text."""
    from markdown_it import MarkdownIt

    renderer = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_DEPTH})
    renderer.enable(["table", "strikethrough"])
    renderer.inline.ruler.before("link", "wiki_link", _read_wiki_link)
    renderer.core.ruler.push("between_pages", _between_pages)
    renderer.add_render_rule("wiki_link", _show_wiki_link)
    renderer.add_render_rule("image", _show_image)
    return renderer


def _read_wiki_link(state: Any, silent: bool) -> bool:
    if state.src[state.pos] not in "![":
        return False
    found = _WIKI.match(state.src, state.pos)
    if found is None or not found[1].strip():
        return False
    if not silent:
        state.push("wiki_link", "", 0).meta = {
            "target": PAGE_FILE.sub("", found[1].strip()),
            "heading": found[2],
            "label": found[3],
        }
    state.pos = found.end()
    return True


def _show_wiki_link(_: Any, tokens: Any, number: int, __: Any, env: Any) -> str:
    meta, place = tokens[number].meta, env["place"]
    shown = escape(meta["label"] or " > ".join(filter(None, (meta["target"], meta["heading"]))))
    slug = place.targets.get(meta["target"])
    if slug is None:
        return f'<span class="nowhere">{shown}</span>'
    return f'<a href="{place.url(slug, meta["heading"])}">{shown}</a>'


def _show_image(renderer: Any, tokens: Any, number: int, options: Any, env: Any) -> str:
    """A link in place of the picture, which is not in the brain and may be anybody's."""
    token = tokens[number]
    source = str(token.attrs.get("src", ""))
    words = escape(renderer.renderInlineAsText(token.children or [], options, env) or source)
    outward = source.lower().startswith(_OUTWARD)
    return f'<a href="{escape(source)}">{words}</a>' if outward else f"<em>{words}</em>"


def _between_pages(state: Any) -> None:
    """Gives headings a name, callouts their title, and links the page that they lead to."""
    for before, token in zip([None, *state.tokens], state.tokens, strict=False):
        if token.type != "inline":
            continue
        if before.type == "heading_open":
            before.attrSet("id", _anchor(token.content))
        for child in token.children or ():
            if child.type == "link_open":
                _lead(child, state.env["place"])
    for quoted, _, token in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if quoted.type == "blockquote_open" and token.type == "inline" and token.children:
            first = token.children[0]
            kind = _CALLOUT.match(first.content) if first.type == "text" else None
            if kind:
                rest = first.content[kind.end() :]
                first.content = f"{kind[1].capitalize()}{': ' if rest else ''}{rest}"
                quoted.attrSet("class", "callout")


def _lead(link: Any, place: _Place) -> None:
    """Points a Markdown link to the page's file; one that leads nowhere is no link any more."""
    written = str(link.attrs.get("href", ""))
    found = page_link(written, place.page.path)
    slug = place.targets.get(found[0]) if found else None
    if found and slug:
        link.attrs["href"] = place.url(slug, found[1])
    elif not written.lower().startswith((*_OUTWARD, "#")):
        del link.attrs["href"]
