"""A brain as web pages: links that lead somewhere, and nothing of a page that runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.output.site import MAX_RENDERED_CHARACTERS, render_site

SIGNS = "<>&\"'[]()!`*_#|\\ \na:x/-~^%"


def files(brain: Brain) -> dict[str, str]:
    with brain.database.read_transaction() as connection:
        return dict(render_site(connection))


def body_of(brain: Brain, text: str) -> str:
    """What is made of a page's text, on one line."""
    brain.put("notes/page", text.encode())
    shown = re.search(r"<main>\n(.*)</main>", files(brain)["pages/notes/page.html"], re.S)
    assert shown
    return " ".join(shown[1].split())


class Reader(HTMLParser):
    """The elements of a page and where its links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]
        assert all(name in ("href", "id", "class", "charset", "content", "http-equiv", "name",
                            "title", "start", "style") for name, _ in attrs)  # fmt: skip


def test_every_link_in_the_sample_has_a_target_file(sample: Path) -> None:
    with Brain.open(sample) as brain:
        made = files(brain)
    assert len(made) == 30
    links = [(path, link) for path, text in made.items() for link in Reader(text).links]
    inside = [(path, link) for path, link in links if "://" not in link]
    assert len(inside) > 100
    for path, link in inside:
        assert normpath(join(dirname(path), unquote(link.partition("#")[0]))) in made


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[Other Page]]", '<p><a href="../other/page.html">Other Page</a></p>'),
        ("[[other/page|label]]", '<p><a href="../other/page.html">label</a></p>'),
        ("![[other page#Part two]]",
         '<p><a href="../other/page.html#part-two">other page &gt; Part two</a></p>'),
        ("[x](../other/page.md#Part%20two)", '<p><a href="../other/page.html#part-two">x</a></p>'),
        ("[[other/page]]", '<p><a href="../other/page.html">Other Page</a></p>'),
        ("- [ ] a\n- [x] b", "<ul> <li>☐ a</li> <li>☑ b</li> </ul>"),
        ("[ ] a", "<p>[ ] a</p>"),
        ("See https://example.org/a?b=1&c.",
         '<p>See <a href="https://example.org/a?b=1&amp;c">https://example.org/a?b=1&amp;c</a>.</p>'),
        ("`https://a.org`", "<p><code>https://a.org</code></p>"),
        ("[https://a.org](https://b.org)", '<p><a href="https://b.org">https://a.org</a></p>'),
        ("[[nowhere]]", '<p><span class="no-page">nowhere</span></p>'),
        ("[x](file.txt)", "<p><a>x</a></p>"),
        ("[x](https://example.org/?a=1&b=2)",
         '<p><a href="https://example.org/?a=1&amp;b=2">x</a></p>'),
        ("[x](javascript:alert)", "<p>[x](javascript:alert)</p>"),
        ("![x](https://example.org/i.png)", '<p><a href="https://example.org/i.png">x</a></p>'),
        ("![x](i.png)", "<p><em>x</em></p>"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("`[[other page]]`", "<p><code>[[other page]]</code></p>"),
        ("# A `b`", '<h1 id="a-b">A <code>b</code></h1>'),
        ("a %%hidden%% b", "<p>a b</p>"),
        ("> [!warning]+ Mind *this*\n> text",
         '<blockquote class="callout"> <p><strong>Warning: Mind <em>this</em></strong><br /> '
         "text</p> </blockquote>"),
        ("> [!note]\n> text",
         '<blockquote class="callout"> <p><strong>Note</strong><br /> text</p> </blockquote>'),
        ("> [!note]", '<blockquote class="callout"> <p><strong>Note</strong></p> </blockquote>'),
        ("> plain", "<blockquote> <p>plain</p> </blockquote>"),
    ],
)  # fmt: skip
def test_markdown_is_rendered_as_html(brain: Brain, text: str, expected: str) -> None:
    brain.put("other/page", b"# Other Page\n\n## Part two\n")
    assert body_of(brain, text) == expected


def test_a_page_has_its_title_tags_and_backlinks(brain: Brain) -> None:
    brain.put("a & b", b"---\ntags: [<i>]\ndate: 2026-04-03\n---\ntext\n")
    brain.put("c", b"# C\n\n[[a & b]] and again [[a & b]]\n")
    made = files(brain)
    page = made["pages/a-&-b.html"]
    assert "<title>A &amp; b</title>" in page
    assert "<h1>A &amp; b</h1>" in page
    assert "2026-04-03 · #&lt;i&gt;" in page
    assert page.count('<a href="c.html">C</a>') == 1
    assert made["pages/c.html"].count("<h1") == 1
    assert '<a href="pages/a-%26-b.html">A &amp; b</a>' in made["index.html"]


def test_a_huge_page_is_shown_as_plain_text(brain: Brain) -> None:
    shown = body_of(brain, "[<b>" * (MAX_RENDERED_CHARACTERS // 4 + 1))
    assert shown.startswith("<pre>[&lt;b&gt;[&lt;b&gt;")


@pytest.fixture(scope="module")
def one_brain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brain]:
    with Brain.open(tmp_path_factory.mktemp("site") / "brain.db", make=True) as brain:
        yield brain


@settings(max_examples=60)
@given(st.text(st.sampled_from(SIGNS), max_size=120))
def test_page_text_never_becomes_active_html(one_brain: Brain, text: str) -> None:
    one_brain.put("page", f"x {text}".encode())
    written = files(one_brain)
    assert written
    for page in written.values():
        read = Reader(page)
        assert read.elements.isdisjoint(("script", "img", "iframe", "form", "object", "x"))
        assert not any(link.lower().startswith("javascript") for link in read.links)
