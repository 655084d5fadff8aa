"""The tools as data: name, description, schemas, and a function of the brain and the arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gbrain.brain import Brain
from gbrain.mcp import documents, pages, questions, schemas
from gbrain.mcp.arguments import Arguments
from gbrain.mcp.reply import Reply
from gbrain.mcp.schemas import FILTERS, Schema, arguments


class Tool(NamedTuple):
    """What an agent can call.

    One that `writes` changes the brain, one that `replaces` takes the place of what was there.
    """

    name: str
    title: str
    description: str
    takes: Schema
    gives: Schema
    run: Callable[[Brain, Arguments], Reply]
    writes: bool = False
    replaces: bool = False


_SEARCH = arguments(("query",), query=schemas.QUERY, limit=schemas.LIMIT, **FILTERS)
_QUERY = arguments(
    ("query",),
    query=schemas.QUERY,
    depth=schemas.DEPTH,
    budget=schemas.BUDGET,
    limit=schemas.LIMIT,
    mode=schemas.MODE,
    rerank=schemas.RERANK,
    include_superseded=schemas.SUPERSEDED,
    no_decay=schemas.NO_DECAY,
    **FILTERS,
)
_ASK = arguments(
    ("query",), query=schemas.QUERY, budget=schemas.BUDGET, limit=schemas.LIMIT, **FILTERS
)

TOOLS: tuple[Tool, ...] = (
    Tool(
        "brain_search",
        "Find pages by their words",
        "Find pages of the user's notes by their words. Fast and exact: for names, terms and "
        "phrases that stand in the text. Returns pages with snippets, best first. For a question "
        "in other words than the notes use, call brain_query.",
        _SEARCH,
        documents.ANSWER,
        questions.search,
    ),
    Tool(
        "brain_query",
        "Answer a question by words and meaning",
        "Find the pages that answer a question, by words and by meaning. With depth auto it also "
        "returns the text to answer from, with citations, under a token budget. Look at the "
        "verdict: `nothing` means that the notes probably do not say.",
        _QUERY,
        documents.ANSWER,
        questions.query,
    ),
    Tool(
        "brain_get",
        "Read a page",
        "Read a page by its slug: its text, front matter, tags and version. A long page comes in "
        "parts: ask again with next_offset, or name the lines that a result points to.",
        arguments(
            ("slug",),
            slug=schemas.SLUG,
            first_line=schemas.FIRST_LINE,
            last_line=schemas.LAST_LINE,
            offset=schemas.OFFSET,
            limit=schemas.CHARACTERS,
            version=schemas.VERSION,
        ),
        documents.PAGE,
        pages.get,
    ),
    Tool(
        "brain_put",
        "Write a page",
        "Create a page, or replace the whole text of one; the earlier text is kept as a version. "
        "To change a page, brain_get all of it first and send its version as expected_version: a "
        "conflict means that it changed meanwhile. To add a dated fact, brain_timeline_add is "
        "safer.",
        arguments(
            ("slug", "content"),
            slug=schemas.SLUG,
            content=schemas.CONTENT,
            expected_version=schemas.EXPECTED,
        ),
        documents.WRITTEN,
        pages.put,
        writes=True,
        replaces=True,
    ),
    Tool(
        "brain_list",
        "List pages",
        "List pages by slug, narrowed by wing, tag, type, date or front matter, without their "
        "text. To find pages by what they say, use brain_search or brain_query.",
        arguments(limit=schemas.ROWS, offset=schemas.SKIP, **FILTERS),
        documents.PAGES,
        pages.list_,
    ),
    Tool(
        "brain_timeline_add",
        "Add a dated entry to a page",
        "Write a dated entry into the timeline of an existing page, leaving the rest as it is. "
        "The same entry twice changes nothing.",
        arguments(
            ("slug", "text"),
            slug=schemas.SLUG,
            text=schemas.ENTRY,
            date=schemas.DATE,
            source=schemas.SOURCE,
            expected_version=schemas.EXPECTED,
        ),
        documents.WRITTEN,
        pages.timeline_add,
        writes=True,
    ),
    Tool(
        "brain_links",
        "Links of a page, both ways",
        "Where a page links to, and which pages link to it: what is connected to a person, a "
        "project or an idea.",
        arguments(("slug",), slug=schemas.SLUG, limit=schemas.ROWS),
        documents.LINKS,
        pages.links,
    ),
    Tool(
        "brain_stats",
        "What the brain holds",
        "The brain in numbers: pages, wings, rooms, tags, months, the newest pages, and how many "
        "passages still wait to be embedded. A good first call in an unknown brain.",
        arguments(),
        documents.STATS,
        pages.stats,
    ),
    Tool(
        "brain_explain",
        "Why a query gives what it gives",
        "What each stage made of a query, with its numbers. With why_not it says why a page you "
        "expected is missing, and what would bring it back.",
        arguments(
            ("query",),
            query=schemas.QUERY,
            why_not=schemas.WHY_NOT,
            limit=schemas.LIMIT,
            mode=schemas.MODE,
            rerank=schemas.RERANK,
            include_superseded=schemas.SUPERSEDED,
            no_decay=schemas.NO_DECAY,
            **FILTERS,
        ),
        documents.EXPLANATION,
        questions.explain,
    ),
    Tool(
        "memory_search",
        "Search the memory by words",
        "Find what is remembered by its words; the same as brain_search.",
        _SEARCH,
        documents.ANSWER,
        questions.search,
    ),
    Tool(
        "memory_recall",
        "Recall a page by name",
        "Recall what is known of a person, a thing or a project by its name: the page that has "
        "the name, or else the pages that a query for it finds.",
        arguments(
            ("name",), name=schemas.NAME, limit=schemas.CHARACTERS, offset=schemas.OFFSET
        ),
        documents.RECALLED,
        questions.recall,
    ),
    Tool(
        "memory_ask",
        "Text to answer a question from",
        "Ask the memory a question and get the text to answer from, with citations, under a "
        "token budget; the same as brain_query with depth auto.",
        _ASK,
        documents.ANSWER,
        questions.ask,
    ),
)  # fmt: skip
