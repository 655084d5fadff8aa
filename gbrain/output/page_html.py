"""Render the Markdown of a page as HTML, for the HTML export and for the page in the browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Protocol

from gbrain.output.bounded_markdown import STEPS, TooComplex, markdown_parser, parse_bounded
from gbrain.output.code_colours import CodeColours
from gbrain.text.dialects import find_comments, is_attachment
from gbrain.text.links import PAGE_FILE_ENDING, resolve_page_link
from gbrain.text.markdown import MAX_NESTING_DEPTH, Structure
from gbrain.text.slug import fold_name
from gbrain.text.timeline import entry_day

_STATIC = Path(__file__).parent.parent / "server" / "static"

_WIKI = re.compile(r"!?\[\[([^\[\]|#\n]*)(?:#([^\[\]|\n]*))?(?:\|([^\[\]\n]*))?\]\]")
_CALLOUT = re.compile(r"\[!([\w-]+)\][+-]?[ \t]*")
_TASK = re.compile(r"\A\[([ xX/-])\] ")
_ENTRY_DATE = re.compile(r"\A([^\s—–|:]+)[ \t]*(?:[—–|:]|--?(?=\s))[ \t]*")
_ENTRY_JOINT = re.compile(r"\A[ \t]*(?:[—–|:]|--?(?=\s))[ \t]*")
_BARE_URL = re.compile(r"(https?://[^\s<>\"'`]{1,2000}[^\s<>\"'`.,;:!?)\]])")
_EXTERNAL_SCHEMES = ("http://", "https://", "mailto:")
_IMAGE = re.compile(r"\.(?:avif|bmp|gif|jpe?g|png|svg|webp)$", re.IGNORECASE)


class PageMarkup(Protocol):
    """How the links, images and tasks of one page are written.

    `path` is the page's path in its folder; `targets` has the (slug, title) of the page that each
    link names. With `first_line`, the line of the page at which its body starts, blocks get the
    number of their line as `data-line`.
    """

    @property
    def path(self) -> str: ...
    @property
    def targets(self) -> Mapping[str, tuple[str, str]]: ...
    @property
    def first_line(self) -> int | None: ...

    def page_url(self, slug: str, heading: str | None) -> str:
        """Return the address of a page, or of a heading in it."""

    def missing_page_html(self, target: str, text: str) -> str:
        """Return a link whose page does not exist; `text` is HTML."""

    def image_html(self, source: str, text: str) -> str:
        """Return an image of the folder; `source` is as written, `text` is HTML."""

    def checkbox_html(self, done: bool) -> str:
        """Return the checkbox of a task."""


def render_page(renderer: Any, markup: PageMarkup, body: str, structure: Structure) -> str:
    """Return the HTML of a page's body, without `%%comments%%`."""
    renderer.options["highlight"] = _code_colouring()
    text = _hide_comments(body, structure)
    environment: dict[str, Any] = {"markup": markup}
    try:
        tokens = parse_bounded(renderer, text, environment)
        return str(renderer.renderer.render(tokens, renderer.options, environment))
    except TooComplex:
        return f"<pre>{escape(text)}</pre>"


def _hide_comments(body: str, structure: Structure) -> str:
    """Return the body without comments, and as many lines as before."""
    parts, at = [], 0
    for start, stop in find_comments(body, structure):
        parts += [body[at:start], "\n" * body.count("\n", start, stop)]
        at = stop
    return "".join([*parts, body[at:]])


def read_static(name: str) -> str:
    """Return a style sheet or script that exported files share with the page in the browser."""
    return (_STATIC / name).read_text("utf-8")


def heading_id(heading: str) -> str:
    """Return the id of a heading, which links to it use."""
    return fold_name(heading).replace(" ", "-")


def markdown_renderer() -> Any:
    """Return a Markdown renderer that links pages and shows HTML tags in a page as text."""
    renderer = markdown_parser(html=False, max_nesting=MAX_NESTING_DEPTH)
    renderer.inline.ruler.before("link", "wiki_link", _parse_wiki_link)
    renderer.core.ruler.push("adapt_tokens", _adapt_tokens)
    renderer.add_render_rule("wiki_link", _render_wiki_link)
    renderer.add_render_rule("image", _render_image)
    renderer.add_render_rule("checkbox", _render_checkbox)
    renderer.add_render_rule("table_open", _open_table)
    renderer.add_render_rule("table_close", _close_table)
    return renderer


def _code_colouring() -> Callable[[str, str, str], str]:
    """Return a function that colours the code of one page.

    It returns HTML with the classes of Pygments, or "", which leaves the code as it is.
    """
    colours = CodeColours()

    def colour(code: str, language: str, _: str) -> str:
        lexer = colours.lexer_for(code, language)
        if lexer is None:
            return ""
        from pygments import highlight

        return str(highlight(code, lexer, _formatter()))

    return colour


@cache
def _formatter() -> Any:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True)


# A wide table scrolls in its own box, so that the page fits a phone.
def _open_table(renderer: Any, tokens: Any, number: int, options: Any, env: Any) -> str:
    return '<div class="table">' + str(renderer.renderToken(tokens, number, options, env))


def _close_table(renderer: Any, tokens: Any, number: int, options: Any, env: Any) -> str:
    return str(renderer.renderToken(tokens, number, options, env)) + "</div>\n"


def _parse_wiki_link(state: Any, silent: bool) -> bool:
    if state.src[state.pos] not in "![":
        return False
    found = _WIKI.match(state.src, state.pos)
    if found is None or not found[1].strip():
        return False
    if not silent:
        state.push("wiki_link", "", 0).meta = {
            "target": PAGE_FILE_ENDING.sub("", found[1].strip()),
            "heading": found[2],
            "label": found[3],
            "embedded": found[0].startswith("!"),
        }
    state.pos = found.end()
    return True


def _render_wiki_link(_: Any, tokens: Any, number: int, __: Any, env: Any) -> str:
    meta, markup = tokens[number].meta, env["markup"]
    target, heading = meta["target"], meta["heading"]
    if meta["embedded"] and _IMAGE.search(target):
        # ![[image.png|200]] has a width in the place of the label.
        return str(markup.image_html(target, escape(target)))
    slug, title = markup.targets.get(target, (None, ""))
    # A title is easier to read than a path.
    name = title if "/" in target and title else target
    shown = escape(meta["label"] or " > ".join(filter(None, (name, heading))))
    env[STEPS].spend_on_address(len(shown) + len(slug or ""))
    if slug is None:
        if is_attachment(target):
            return f"<em>{shown}</em>"
        return str(markup.missing_page_html(target, shown))
    return f'<a href="{escape(markup.page_url(slug, heading))}">{shown}</a>'


def _render_image(renderer: Any, tokens: Any, number: int, options: Any, env: Any) -> str:
    """Return an image of the folder; a remote one, which may track, becomes a link."""
    token = tokens[number]
    source = str(token.attrs.get("src", ""))
    text = escape(renderer.renderInlineAsText(token.children or [], options, env) or source)
    if source.lower().startswith(_EXTERNAL_SCHEMES):
        return f'<a href="{escape(source)}">{text}</a>'
    if _IMAGE.search(source.partition("#")[0].partition("?")[0]):
        return str(env["markup"].image_html(source, text))
    return f"<em>{text}</em>"


def _render_checkbox(_: Any, tokens: Any, number: int, __: Any, env: Any) -> str:
    return str(env["markup"].checkbox_html(tokens[number].meta["done"]))


def _adapt_tokens(state: Any) -> None:
    """Give headings an id, callouts a title, tasks a checkbox, and links their address."""
    markup, tokens = state.env["markup"], state.tokens
    lines = state.src.split("\n")
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.map and token.nesting >= 0 and markup.first_line is not None:
            token.attrSet("data-line", str(token.map[0] + markup.first_line))
        # A class, because the content security policy allows no style attributes.
        if align := token.attrs.pop("style", None):
            token.attrSet("class", str(align).removeprefix("text-align:"))
        if token.type != "inline":
            continue
        if before.type == "heading_open":
            before.attrSet("id", heading_id(token.content))
        for child in token.children or ():
            if child.type == "link_open":
                _resolve_link(child, markup)
        token.children = list(_link_bare_urls(token.children or ()))
    for around, _, token in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.type != "inline" or not token.children:
            continue
        if around.type == "list_item_open":
            _adapt_item(around, token, lines[around.map[0]])
        elif around.type == "blockquote_open":
            _adapt_callout(around, token)


def _adapt_item(item: Any, token: Any, line: str) -> None:
    """Put a task's checkbox before its text, and a timeline entry's date into an element."""
    from markdown_it.token import Token

    first = token.children[0]
    if first.type == "text" and (task := _TASK.match(first.content)):
        first.content = first.content[task.end() :]
        done = task[1] in "xX-"
        item.attrSet("class", "task done" if done else "task")
        token.children.insert(0, Token("checkbox", "", 0, meta={"done": done}))
    elif entry_day(line):
        token.children = _dated_tokens(token.children)
        item.attrSet("class", "entry")


def _dated_tokens(children: Sequence[Any]) -> list[Any]:
    """Return the tokens of a timeline entry with its date in a <time> element."""
    from markdown_it.token import Token

    first, *others = children
    opened, closed = Token("time_open", "time", 1), Token("time_close", "time", -1)
    space = Token("text", "", 0, content=" ")
    dated = _ENTRY_DATE.match(first.content) if first.type == "text" else None
    if dated:
        date = Token("text", "", 0, content=dated[1])
        first.content = first.content[dated.end() :]
        return [opened, date, closed, space, first, *others]
    # **2026-04-03** | source — text: an empty text stands before the bold date.
    bold = [*children[1:]] if first.type == "text" and not first.content else [*children]
    kinds = [token.type for token in bold[:4]]
    if kinds == ["strong_open", "text", "strong_close", "text"]:
        rest = bold[3]
        rest.content = _ENTRY_JOINT.sub("", rest.content)
        return [opened, bold[1], closed, space, *bold[3:]]
    return [*children]


def _adapt_callout(quote: Any, token: Any) -> None:
    first = token.children[0]
    kind = _CALLOUT.match(first.content) if first.type == "text" else None
    if kind:
        rest = first.content[kind.end() :]
        first.content = f"{kind[1].capitalize()}{': ' if rest else ''}{rest}"
        quote.attrSet("class", "callout")
        token.children = [*_callout_tokens(token.children)]


def _callout_tokens(children: Sequence[Any]) -> Iterator[Any]:
    """Yield the tokens of a callout with its first line, the title, in bold."""
    from markdown_it.token import Token

    yield Token("strong_open", "strong", 1)
    ends = next((n for n, child in enumerate(children) if child.type == "softbreak"), None)
    yield from children[:ends]
    yield Token("strong_close", "strong", -1)
    if ends is not None:
        yield Token("hardbreak", "br", 0)
        yield from children[ends + 1 :]


def _link_bare_urls(children: Sequence[Any]) -> Iterator[Any]:
    """Yield the tokens of a line, with bare URLs turned into links."""
    from markdown_it.token import Token

    inside = 0
    for child in children:
        inside += (child.type == "link_open") - (child.type == "link_close")
        if child.type != "text" or inside or "://" not in child.content:
            yield child
            continue
        for number, part in enumerate(_BARE_URL.split(child.content)):
            if number % 2:
                yield Token("link_open", "a", 1, attrs={"href": part})
            yield Token("text", "", 0, content=part)
            if number % 2:
                yield Token("link_close", "a", -1)


def _resolve_link(link: Any, markup: PageMarkup) -> None:
    """Point a Markdown link to its page; remove the link if there is no such page."""
    written = str(link.attrs.get("href", ""))
    found = resolve_page_link(written, markup.path)
    target = markup.targets.get(found[0]) if found else None
    if found and target:
        link.attrs["href"] = markup.page_url(target[0], found[1])
    elif not written.lower().startswith((*_EXTERNAL_SCHEMES, "#")):
        del link.attrs["href"]
