"""Whole pages as Obsidian, Logseq and Bear write them: their links, tags, names and days."""

from __future__ import annotations

from gbrain.brain import Brain
from gbrain.text.page import parse_page

BLOCK = "64f0d1aa-1234-4abc-9def-0123456789ab"

OBSIDIAN = """\
---
aliases: [AC]
tags: [person]
---
# Alice

> [!quote] On [[Cloud RAG]]
> It leaves me cold. #opinion/strong

The sentence that others cite. ^cited

![[Bob#^cited]] and ![[portrait.png]]

%%
Ask [[Secret]] first. #private
%%
"""

LOGSEQ = f"""\
type:: [[person]]
tags:: founder, [[deep work]]
alias:: Ally

- Met at [[Apr 3rd, 2026]] #[[river ai]]
\t- She said ((64f0d1aa-1234-4abc-9def-0123456789ac))
\t  id:: {BLOCK}
\t\t- and #more
"""

BEAR = "# Trip\n#travel/south america# #todo\n\nSee [[Packing list]].\n"


def test_obsidian() -> None:
    page = parse_page("Alice.md", OBSIDIAN.encode())
    assert page.tags == ("person", "opinion/strong")
    assert [(link.kind, link.target, link.heading) for link in page.links] == [
        ("wiki", "Cloud RAG", None),
        ("embed", "Bob", "^cited"),
    ]
    assert page.text == OBSIDIAN


def test_logseq() -> None:
    page = parse_page("pages/people___alice.md", LOGSEQ.encode())
    assert (page.title, page.type, page.wing) == ("People/alice", "person", "people")
    assert page.tags == ("founder", "deep work", "river ai", "more")
    assert page.aliases == ("Ally",)
    assert page.blocks == (BLOCK,)
    assert [(link.line, link.kind, link.target) for link in page.links] == [
        (1, "wiki", "person"),
        (2, "wiki", "deep work"),
        (5, "wiki", "Apr 3rd, 2026"),
        (5, "wiki", "river ai"),
        (6, "block", "64f0d1aa-1234-4abc-9def-0123456789ac"),
    ]
    assert page.text == LOGSEQ


OUTLINE = """\
title:: Field Notebook

- # Overview
\t- A notebook for crews. [[River AI]]
- ## Decisions
\t- Keep both versions #sync

```
- ## no heading
```
"""


def test_the_headings_of_an_outline_name_what_hangs_below_them() -> None:
    page = parse_page("pages/field.md", OUTLINE.encode())
    assert [(chunk.first_line, chunk.heading_path) for chunk in page.chunks] == [
        (1, ()),
        (3, ("Overview",)),
        (5, ("Overview", "Decisions")),
    ]
    assert "".join(chunk.text for chunk in page.chunks).count("Keep both versions") == 1
    assert page.title == "Field Notebook"
    assert parse_page("pages/field.md", b"- # Overview\n").title == "Field", "as Logseq has it"
    assert page.tags == ("sync",)


def test_a_logseq_journal() -> None:
    page = parse_page("journals/2026_04_03.md", b"- Met [[alice]]\n")
    assert (page.title, page.date, page.wing) == ("2026-04-03", "2026-04-03", "journal")
    assert page.aliases == ("Apr 3rd, 2026",)


def test_bear() -> None:
    page = parse_page("Trip.md", BEAR.encode())
    assert page.tags == ("travel/south america", "todo")
    assert [link.target for link in page.links] == ["Packing list"]


def test_front_matter_comes_before_properties() -> None:
    page = parse_page("a.md", b"---\ntype: book\n---\ntype:: film\nstatus:: seen\n")
    assert (page.type, page.meta) == ("book", '{"type": "book", "status": "seen"}')


def test_links_of_all_dialects_lead_to_their_pages(brain: Brain) -> None:
    brain.put("pages/people___alice", LOGSEQ.encode())
    brain.put("journals/2026_04_03", b"- quiet\n")
    brain.put("cites", f"(({BLOCK})) [[people/alice]] [[Apr 3rd, 2026]]\n".encode())
    assert [(b.slug, b.kind) for b in brain.backlinks("pages/people___alice")] == [
        ("cites", "block"),
        ("cites", "wiki"),
    ]
    assert [b.slug for b in brain.backlinks("journals/2026_04_03")] == [
        "cites",
        "pages/people___alice",
    ]


def test_the_words_of_a_comment_are_found_but_its_links_lead_nowhere(brain: Brain) -> None:
    brain.put("alice", OBSIDIAN.encode())
    brain.put("secret", b"# Secret\n")
    assert [hit.slug for hit in brain.search("ask first").hits] == ["alice"]
    assert brain.backlinks("secret") == []
