"""The block structure of pages, by example and as markdown-it sees it."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gbrain.text.markdown import MAX_NESTING_DEPTH, Heading, ListItem, Structure, scan_blocks

NEWLINE = re.compile(r"\r\n?|\n")
# With its own nesting limit it would take the whole page below ten nested lists for their content.
MARKDOWN_IT = MarkdownIt("commonmark", {"maxNesting": 1000})
MARKDOWN_IT.core.ruler.enableOnly(["normalize", "block"])


def found(text: str) -> Structure:
    """What markdown-it finds, in our words."""
    ends = [newline.end() for newline in NEWLINE.finditer(text)]
    if text and text[-1] not in "\r\n":
        ends.append(len(text))
        # It would drop a last line of blanks.
        text += "\n"
    lines = NEWLINE.split(text)
    tokens = MARKDOWN_IT.parse(text)
    headings, code, rules, items = [], [], [], []
    for place, token in enumerate(tokens):
        line, end = token.map or (0, 0)
        if token.type in ("fence", "code_block", "html_block"):
            code.append((line, end))
        elif token.type == "hr" and token.level == 0:
            rules.append(line)
        elif token.type == "heading_open" and token.level == 0:
            parts = tokens[place + 1].content.split("\n")
            words = " ".join(part.strip(" \t") for part in parts)
            headings.append(Heading(line, end, int(token.tag[1]), words))
        elif token.type == "list_item_open" and token.level == 1:
            while not lines[end - 1].strip(" \t"):
                end -= 1
            items.append(ListItem(line, end, ordered=token.info != ""))
    return Structure((0, *ends), tuple(headings), tuple(code), tuple(rules), tuple(items))


def headings(text: str) -> list[tuple[int, int, int, str]]:
    return [(h.line, h.end, h.level, h.text) for h in scan_blocks(text).headings]


def items(text: str) -> list[tuple[int, int]]:
    return [(item.line, item.end) for item in scan_blocks(text).items]


def code(text: str) -> list[tuple[int, int]]:
    return list(scan_blocks(text).code)


PROFILE = """\
# Alice Chen

Founder of [[companies/river-ai]]. See [her talk](talks/2026.md "slides")
- and #offline-first.

## Role ##

> Cloud RAG leaves me lukewarm,
she said in *March*.

Facts
-----
1. Lives in Lisbon

   since 2019
2. Plays the cello
10) and the oboe

---
## Timeline
- 2026-04-03 — Joined RiverAI as CTO
  - with two others
  lazily described
here
- **2026-03** | podcast — Said so

* * *
"""

HOWTO = """\
Restore a backup
================

1. Stop the daemon:

   ```sh
   # not a heading
   systemctl stop brain
   ```
2. Copy:

       cp old.db new.db   # indented code

   > ```
   > - not an item
   > ```
<details>
# not a heading either

</details>

~~~~ text
---
~~~
~~~~

Done.

[manual]: https://example.org/manual
  "The manual,
  second edition"
===
"""

LOG = (
    "## 2026-01-05\r\n- [ ] call Bo\r\n- [x] pay rent\r\n\r\n\tby card\r\n\r\n***\r\n"
    "<!-- draft\r\n\r\n# hidden\r\n--> shown\r\n# Seen #\r\n"
)


def test_a_profile_with_a_timeline_is_scanned() -> None:
    page = scan_blocks(PROFILE)
    assert [(h.line, h.level, h.text) for h in page.headings] == [
        (0, 1, "Alice Chen"),
        (5, 2, "Role"),
        (10, 2, "Facts"),
        (19, 2, "Timeline"),
    ]
    assert page.rules == (18, 26)
    assert [(i.line, i.end, i.ordered) for i in page.items] == [
        (3, 4, False),
        (12, 15, True),
        (15, 16, True),
        (16, 17, True),
        (20, 24, False),
        (24, 25, False),
    ]
    assert page.code == ()


def test_a_how_to_with_nested_code_is_scanned() -> None:
    page = scan_blocks(HOWTO)
    assert page.headings == (Heading(0, 2, 1, "Restore a backup"),)
    assert page.code == ((5, 9), (11, 12), (13, 16), (16, 18), (19, 20), (21, 25))
    assert items(HOWTO) == [(3, 9), (9, 16)]
    assert page.rules == ()


def test_a_page_with_windows_line_endings_is_scanned() -> None:
    page = scan_blocks(LOG)
    assert headings(LOG) == [(0, 1, 2, "2026-01-05"), (11, 12, 1, "Seen")]
    assert items(LOG) == [(1, 2), (2, 5)]
    assert page.rules == (6,)
    assert page.code == ((7, 11),)
    assert LOG[page.starts[11] : page.starts[12]] == "# Seen #\r\n"


@pytest.mark.parametrize("page", [PROFILE, HOWTO, LOG, LOG.replace("\r\n", "\r")])
def test_real_pages_are_scanned_as_by_markdown_it(page: str) -> None:
    assert scan_blocks(page) == found(page)


@pytest.mark.parametrize(
    ("line", "level", "text"),
    [
        ("# Title", 1, "Title"),
        ("   ###\tTitle\t", 3, "Title"),
        ("## Title ######  ", 2, "Title"),
        ("# C#", 1, "C#"),
        ("# C #x", 1, "C #x"),
        ("# issue \\#", 1, "issue \\#"),
        ("###### six", 6, "six"),
        ("#", 1, ""),
        ("### ###", 3, ""),
        ("# nul \0", 1, "nul \ufffd"),
    ],
)
def test_hashes_make_a_heading(line: str, level: int, text: str) -> None:
    assert headings(f"words\n{line}\nwords") == [(1, 2, level, text)]


@pytest.mark.parametrize(
    "line", ["#tag", "####### seven", "    # code", "\t# code", "\\# escaped", "\ufeff# marked"]
)
def test_similar_lines_are_not_a_heading(line: str) -> None:
    assert headings(line) == []


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("Title\n=", [(0, 2, 1, "Title")]),
        ("Title\n  ---  ", [(0, 2, 2, "Title")]),
        ("a long\n  title, not\n    code\n===", [(0, 4, 1, "a long title, not code")]),
        ("[a]: /url\nTitle\n---", [(1, 3, 2, "Title")]),
        ("[a]: /url 'unclosed\nTitle\n---", [(0, 3, 2, "[a]: /url 'unclosed Title")]),
    ],
)
def test_an_underlined_paragraph_is_a_heading(
    page: str, expected: list[tuple[int, int, int, str]]
) -> None:
    assert headings(page) == expected


@pytest.mark.parametrize(
    "page",
    [
        "Title\n= =",
        "Title\n\n---",
        "Title\n    ---",
        "- item\n---",
        "> quote\n---",
        "> quote\n===",
        "[a]: /url\n===",
        "[a]: /url\n---",
        "```\nTitle\n---\n```",
        "<div>\nTitle\n---",
    ],
)
def test_similar_lines_do_not_underline_a_heading(page: str) -> None:
    assert headings(page) == []


def test_headings_in_lists_and_quotes_are_not_the_pages_own() -> None:
    assert headings("- # item\n- under\n  ===\n\n> # quote\n> under\n> ---\n") == []


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("```\n# a\n```\nb", [(0, 3)]),
        ("a\n~~~ info `with` ticks\n```\n~~~\nb", [(1, 4)]),
        ("````\n```\n`````  \nb", [(0, 3)]),
        ("```\n``` no closer\n    ```\n", [(0, 3)]),
        ("``` `no` opener", []),
        ("  ```\nunclosed\n\n", [(0, 3)]),
        ("- ```\n  a\n\n  b\nc", [(0, 4)]),
        ("> ~~~\n> a\nb", [(0, 2)]),
        ("1. - > ```\n     > a\n", [(0, 2)]),
        ("    a\n\n\tb\n\nc", [(0, 3)]),
        ("a\n    not code", []),
        ("# a\n    code", [(1, 2)]),
        ("-     code", [(0, 1)]),
        ("[a]: /url\n    code", [(1, 2)]),
        ("<div>\n*a*\n\nb", [(0, 2)]),
        ("a\n<!-- b\n\n--> c\nd", [(1, 4)]),
        ("<pre>\n\n</PRE> a\nb", [(0, 3)]),
        ("<?php\n\n?>\n<!DOCTYPE html>\n<![CDATA[\n\n]]>", [(0, 3), (3, 4), (4, 7)]),
        ("<a href='b' c>\nd\n\n", [(0, 2)]),
        ("</ins >\n", [(0, 1)]),
        ("a\n<b>\n", []),
        ("<b> c\n", []),
    ],
)
def test_code_blocks_are_found(page: str, expected: list[tuple[int, int]]) -> None:
    assert code(page) == expected


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("- a\n- b\n\n- c\n", [(0, 1), (1, 2), (3, 4)]),
        ("* a\n+ b\n1. c\n1) d", [(0, 1), (1, 2), (2, 3), (3, 4)]),
        ("- a\n  - b\n\n    c\n\n\n- d", [(0, 4), (6, 7)]),
        ("- a\nlazy\n\nnot lazy", [(0, 2)]),
        ("- a\n***\n- b", [(0, 1), (2, 3)]),
        ("- a\n# b", [(0, 1)]),
        ("- > a\nlazy\n- b", [(0, 2), (2, 3)]),
        ("-\n  a\n-\n\n  b", [(0, 2), (2, 3)]),
        ("-\ta\n\n\tb", [(0, 3)]),
        ("a\n2. no list", []),
        ("a\n1. list", [(1, 2)]),
        ("a\n*\nb", []),
        ("* * *\n- - -\n_ _ _", []),
        ("-a\n1.a\n1234567890. a", []),
        ("    - a", []),
        ("> - a", []),
    ],
)
def test_top_level_items_are_found(page: str, expected: list[tuple[int, int]]) -> None:
    assert items(page) == expected


def test_numbered_items_are_ordered() -> None:
    assert [item.ordered for item in scan_blocks("- a\n1. b\n2. c\n+ 1. d\n").items] == [
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("***\n - - -\n_____\t\n**  * **", (0, 1, 2, 3)),
        ("--\n\n+++\n\n**\n\n    ***\n\n---a", ()),
        ("a\n***\n> ---\n- ***\n", (1,)),
        ("---\n\na\n\n---", (0, 4)),
    ],
)
def test_thematic_breaks_are_found(page: str, expected: tuple[int, ...]) -> None:
    assert scan_blocks(page).rules == expected


def test_a_page_with_nothing_has_no_lines() -> None:
    assert scan_blocks("") == Structure((0,), (), (), (), ())


def test_only_line_feeds_and_carriage_returns_end_lines() -> None:
    assert headings("a\v# b\f# c\x1c# d\x85# e\u2028# f\rg\r\n# h") == [(2, 3, 1, "h")]


@pytest.mark.parametrize("marker", ["> ", ">", "- ", "1. ", "- > "])
def test_blocks_after_too_deep_nesting_are_found(marker: str) -> None:
    page = marker * (3 * MAX_NESTING_DEPTH) + "deep\n\n# After\n- item\n"
    assert headings(page) == [(2, 3, 1, "After")]
    assert items(page)[-1:] == [(3, 4)]


MARKERS = ["", " ", "  ", "   ", "    ", "\t", " \t", "> ", ">", ">\t", "- ", "-\t", "-     "]
MARKERS += ["* ", "+ ", "1. ", "2. ", "10) ", "1.\t"]
BODIES = """\
a
a \\

-
--
---
- - -
***
_ _ _
=
===
= =
# a
## a #
#
#a
####### a
```
````
``` a
``` a`
~~~
~~~~ `
+
1.
2)
> a
<div>
</p
<PRE>
</pre>
<!--
-->
<!-- a -->
<?a
?>
<!A
a>
<![CDATA[
]]>
<b>
<b
</b >
<a b='c' d="e" f=g />
<a / >
<a-b>
[a]: b
[a]:
[a]: <b>
[a]: <b
[a]: (b)
[a]: (b
[a]: b\\
[a]: file:b
[a]: b 'c'
[a]: b 'c
c'
"c"
"c" d
"" d
(c
c)
(c(
[a
b]: c
[ ]: c
[[a]]
[a](b)
[x] a
\\[a]: b
""".split("\n")
BODIES += ["a  ", "===\t", "``` ", "[a]: b\t", "\xa0", "# \xa0a\u3000", "a\0", "\v"]

awkward_lines = st.tuples(
    st.lists(st.sampled_from(MARKERS), max_size=3).map("".join),
    st.sampled_from(BODIES),
    st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"]),
).map("".join)
awkward_pages = st.lists(awkward_lines, max_size=12).map("".join)


@settings(max_examples=300, deadline=None)
@given(awkward_pages)
def test_awkward_pages_are_scanned_as_by_markdown_it(page: str) -> None:
    assert scan_blocks(page) == found(page)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=" \t\n\r>-*+1.)#`~=_<[]:a", max_size=40))
def test_random_markup_is_scanned_as_by_markdown_it(page: str) -> None:
    assert scan_blocks(page) == found(page)


@settings(max_examples=50, deadline=None)
@given(awkward_pages | st.text())
def test_a_last_newline_makes_no_difference(page: str) -> None:
    bare, ended = scan_blocks(page.rstrip("\r\n")), scan_blocks(page.rstrip("\r\n") + "\n")
    assert bare.headings == ended.headings
    assert (bare.code, bare.rules, bare.items) == (ended.code, ended.rules, ended.items)


@settings(max_examples=50, deadline=None)
@given(awkward_pages | st.text())
def test_starts_cut_the_page_into_its_lines(page: str) -> None:
    starts = scan_blocks(page).starts
    lines = [page[start:end] for start, end in pairwise(starts)]
    assert lines == re.findall(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+", page)
