"""Render a brain as a folder of linked web pages (`export --format html`)."""

from __future__ import annotations

import base64
import posixpath
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from gbrain.importing.images import find_image, read_image
from gbrain.output.json import dumps
from gbrain.output.page_html import heading_id, markdown_renderer, read_static, render_page
from gbrain.store.folders import find_page_file
from gbrain.store.links import Backlink, links_from, links_to
from gbrain.store.pages import StoredPage, list_pages, page_body
from gbrain.text.markdown import scan_blocks
from gbrain.types import Scope

STYLE_FILE = "style.css"
IMAGE_FOLDER = "images"
# The index has the first characters of each page, so that its search finds them; with 1,000 pages
# that is 5,000 characters each, which is all of most notes.
MAX_INDEX_CHARACTERS = 5_000_000

_SEARCH_SCRIPT = Path(__file__).with_name("site_search.js")
_JOURNAL = "journal"
_SYNTAX = re.compile(r"[#*_`>|~=\[\](){}]+|^[^\S\n]*+[-+]\s+", re.MULTILINE)

# Whether gbrain may read files of the folder with this path.
MayRead = Callable[[str], bool]


class _SitePage(NamedTuple):
    """A page as a file of the site; see PageMarkup. `images` collects the files it shows."""

    page: StoredPage
    targets: Mapping[str, tuple[str, str]]
    root: str | None
    images: dict[str, bytes]
    first_line: None = None

    @property
    def path(self) -> str:
        return self.page.path

    def page_url(self, slug: str, heading: str | None) -> str:
        """Return the relative URL of a page, or of a heading in it."""
        path = self.relative_url(_file_path(slug))
        # "^" starts an Obsidian block id, which has no heading.
        if not heading or heading.startswith("^"):
            return path
        return f"{path}#{quote(heading_id(heading))}"

    def relative_url(self, path: str) -> str:
        """Return the URL of a file of the site, as this page names it."""
        return quote(posixpath.relpath(path, posixpath.dirname(_file_path(self.page.slug))))

    def missing_page_html(self, target: str, text: str) -> str:
        return f'<span class="no-page">{text}</span>'

    def image_html(self, source: str, text: str) -> str:
        file = find_image(self.root, self.page.path, source) if self.root else None
        data = read_image(file) if file else None
        if file is None or data is None:
            return f"<em>{text}</em>"
        # Named by its content: it never replaces another file, and is written once.
        path = f"{IMAGE_FOLDER}/{sha256(data).hexdigest()[:16]}{file.suffix.lower()}"
        self.images[path] = data
        return f'<img src="{self.relative_url(path)}" alt="{text}">'

    def checkbox_html(self, done: bool) -> str:
        return "☑ " if done else "☐ "


class _IndexEntry(NamedTuple):
    """A page in the search of the index."""

    url: str
    title: str
    facts: str
    text: str


def render_site(
    connection: sqlite3.Connection, may_read: MayRead = lambda root: False
) -> Iterator[tuple[str, str | bytes]]:
    """Yield (path, content) of every file of the site; index.html is last.

    Images of folders that gbrain may read are part of it.
    """
    pages, _ = list_pages(connection, Scope(), None)
    yield STYLE_FILE, read_static("style.css")
    renderer = markdown_renderer()
    entries = []
    longest = MAX_INDEX_CHARACTERS // max(len(pages), 1)
    written: set[str] = set()
    for page in pages:
        links = links_from(connection, page)
        targets = {link.target: (link.slug, link.title or "") for link in links if link.slug}
        file = find_page_file(connection, page.slug)
        root = file.folder.root if file and may_read(file.folder.root) else None
        markup = _SitePage(page, targets, root, {})
        body = page_body(connection, page.id)
        yield (
            _file_path(page.slug),
            _page_html(renderer, markup, body, links_to(connection, page)),
        )
        for path, data in markup.images.items():
            if path not in written:
                written.add(path)
                yield path, data
        entries.append(_index_entry(page, body, longest))
    yield "index.html", _index_html(pages, entries)


def _file_path(slug: str) -> str:
    return f"pages/{slug}.html"


# --- the index -------------------------------------------------------------------------------


def _index_entry(page: StoredPage, body: str, longest: int) -> _IndexEntry:
    # Twice as much, for the marks and spaces that are dropped.
    text = " ".join(_SYNTAX.sub(" ", body[: 2 * longest]).split())[:longest]
    return _IndexEntry(quote(_file_path(page.slug)), page.title, _facts(page), text)


def _facts(page: StoredPage) -> str:
    return " · ".join(filter(None, (page.date, *(f"#{tag}" for tag in page.tags))))


def _index_html(pages: Sequence[StoredPage], entries: Sequence[_IndexEntry]) -> str:
    parts = [
        "<h1>All pages</h1>",
        '<input type="search" dir="auto" placeholder="Search  /" aria-label="Search" hidden>',
        '<div id="results"></div>\n<div id="groups">',
    ]
    journal = [page for page in pages if page.date and _JOURNAL in (page.wing, page.room)]
    others = [page for page in pages if not (page.date and _JOURNAL in (page.wing, page.room))]
    if journal:
        parts.append("<h2>Journal</h2>")
        latest = sorted(journal, key=lambda page: (page.date or "", page.slug), reverse=True)
        for month, month_pages in groupby(latest, key=lambda page: (page.date or "")[:7]):
            parts += _group_html(month, month_pages)
    folders = sorted(others, key=lambda page: (_folder(page), page.title.casefold(), page.slug))
    for folder, folder_pages in groupby(folders, key=_folder):
        parts += _group_html(folder or "Top of the folder", folder_pages)
    # Nothing in a page may end the <script> element that contains it.
    data = dumps([list(entry) for entry in entries])
    for sign in "<>&":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    script = _SEARCH_SCRIPT.read_text("utf-8")
    parts.append(f'</div>\n<script type="application/json" id="pages">{data}</script>')
    parts.append(f"<script>{script}</script>")
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    policy = f"script-src 'sha256-{digest}'"
    return _html_document("All pages", "\n".join(parts), STYLE_FILE, policy)


def _folder(page: StoredPage) -> str:
    return posixpath.dirname(page.path)


def _group_html(name: str, pages: Iterable[StoredPage]) -> Iterator[str]:
    rows = [
        f'<li><a href="{quote(_file_path(page.slug))}">{escape(page.title)}</a>'
        f"{_small(_facts(page))}</li>"
        for page in pages
    ]
    yield f"<details open><summary>{escape(name)} <small>{len(rows)}</small></summary>"
    yield '<ul class="pages">'
    yield from rows
    yield "</ul>\n</details>"


def _small(text: str) -> str:
    return f" <small>{escape(text)}</small>" if text else ""


# --- a page ----------------------------------------------------------------------------------


def _page_html(renderer: Any, markup: _SitePage, body: str, backlinks: Sequence[Backlink]) -> str:
    page = markup.page
    parts = [
        f'<nav><a href="{markup.relative_url("index.html")}">All pages</a></nav>',
        "<header>",
    ]
    structure = scan_blocks(body)
    text = render_page(renderer, markup, body, structure)
    # The facts about the page go between its title and its text.
    if text.startswith("<h1"):
        title, _, text = text.partition("</h1>\n")
        parts.append(f"{title}</h1>")
    elif not any(heading.level == 1 for heading in structure.headings):
        parts.append(f"<h1>{escape(page.title)}</h1>")
    tags = (f"#{tag}" for tag in page.tags)
    facts = " · ".join(filter(None, (page.wing, page.date, page.type, *tags)))
    parts.append(f'<p>{_small(facts)}</p>\n</header>\n<main class="text" dir="auto">')
    parts.append(text)
    parts.append("</main>")
    others = {link.slug: link.title for link in backlinks}
    if others:
        parts.append("<footer>\n<h2>Linked from</h2>\n<ul>")
        parts += [
            f'<li><a href="{markup.page_url(slug, None)}">{escape(title)}</a></li>'
            for slug, title in others.items()
        ]
        parts.append("</ul>\n</footer>")
    style = markup.relative_url(STYLE_FILE)
    return _html_document(page.title, "\n".join(parts), style)


def _html_document(title: str, content: str, style: str, policy: str = "script-src 'none'") -> str:
    # A browser may not count the files next to a file:// page as 'self'.
    sources = "'self' file:"
    return (
        '<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f'style-src {sources}; img-src {sources}; {policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)}</title>\n<link rel="stylesheet" href="{style}">\n</head>\n'
        f'<body class="site">\n{content}\n</body>\n</html>\n'
    )
