"""The tools of the MCP server as data: name, description, schemas and the function to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gbrain.brain import Brain
from gbrain.mcp import handlers
from gbrain.mcp.arguments import (
    ANSWER,
    CONTENT,
    ENTRY_DATE,
    ENTRY_SOURCE,
    ENTRY_TEXT,
    ENTRY_WRITTEN,
    EXPECTED_VERSION,
    EXPLANATION,
    FIRST_LINE,
    LAST_LINE,
    LINKS,
    NAME,
    ORIGIN,
    PAGE,
    PAGE_OFFSET,
    PAGES,
    QUERY,
    RECALLED,
    ROW_LIMIT,
    SLUG,
    STATS,
    TEXT_LIMIT,
    TEXT_OFFSET,
    TIMELINE,
    VERSION,
    WHY_DEPTH,
    WHY_LIMIT,
    WHY_NOT,
    WRITTEN,
    Arguments,
    Schema,
    arguments,
    query_options,
)
from gbrain.mcp.reply import Reply
from gbrain.query_options import FILTERS


class Tool(NamedTuple):
    """A tool that an agent can call.

    `writes` marks one that changes the brain, `destructive` one that overwrites what was there.
    """

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema
    run: Callable[[Brain, Arguments], Reply]
    writes: bool = False
    destructive: bool = False


_SEARCH = arguments(("query",), query=QUERY, **query_options("limit", *FILTERS))

TOOLS: tuple[Tool, ...] = (
    Tool(
        "brain_search",
        "Search pages by keyword",
        "Search the user's notes by keyword. Fast and exact: use it for names, terms and phrases "
        "that occur in the text. Returns pages with snippets, best first. For a question in your "
        "own words, call brain_query.",
        _SEARCH,
        ANSWER,
        handlers.search,
    ),
    Tool(
        "brain_query",
        "Find the pages that answer a question",
        "Find the pages that answer a question, by keyword and by vector similarity. With depth "
        "auto it also returns text to answer from, with citations, within a token budget. Check "
        "the verdict: `nothing` means that the notes probably do not contain the answer.",
        arguments(
            ("query",),
            query=QUERY,
            **query_options(
                "depth", "budget", "limit", "all", "mode", "rerank", "include_superseded",
                "no_decay", *FILTERS,
            ),
        ),
        ANSWER,
        handlers.query,
    ),
    Tool(
        "brain_get",
        "Read a page",
        "Read a page by its slug: text, front matter, tags and version. A long page needs several "
        "calls: pass next_offset as offset, or ask for the lines that a result points to.",
        arguments(
            ("slug",),
            slug=SLUG,
            first_line=FIRST_LINE,
            last_line=LAST_LINE,
            offset=TEXT_OFFSET,
            limit=TEXT_LIMIT,
            version=VERSION,
        ),
        PAGE,
        handlers.get,
    ),
    Tool(
        "brain_put",
        "Write a page",
        "Create a page, or overwrite the whole text of one; the previous text stays available as "
        "an earlier version. To change a page, read all of it with brain_get first and pass its "
        "version as expected_version: the error version_conflict means that the page has changed "
        "since. To add a dated fact, prefer brain_timeline_add.",
        arguments(
            ("slug", "content"),
            slug=SLUG,
            content=CONTENT,
            expected_version=EXPECTED_VERSION,
        ),
        WRITTEN,
        handlers.put,
        writes=True,
        destructive=True,
    ),
    Tool(
        "brain_list",
        "List pages",
        "List pages by slug, without their text, filtered by wing, tag, type, date or front "
        "matter. To find pages by their content, use brain_search or brain_query.",
        arguments(
            limit=ROW_LIMIT, offset=PAGE_OFFSET, **query_options(*FILTERS)
        ),
        PAGES,
        handlers.list_,
    ),
    Tool(
        "brain_timeline",
        "List what is dated",
        "List dated entries, latest first, or those of one page, oldest first: what happened when. "
        "Each has its kind: an entry of a timeline, an item of another list, a dated heading, or "
        "a dated page such as a journal or a meeting.",
        arguments(slug=SLUG, limit=ROW_LIMIT, **query_options(*FILTERS)),
        TIMELINE,
        handlers.timeline,
    ),
    Tool(
        "brain_timeline_add",
        "Add a dated entry to a page",
        "Add a dated entry to the timeline of an existing page; the rest of the page stays as it "
        "is. Adding the same entry twice changes nothing.",
        arguments(
            ("slug", "text"),
            slug=SLUG,
            text=ENTRY_TEXT,
            date=ENTRY_DATE,
            source=ENTRY_SOURCE,
            expected_version=EXPECTED_VERSION,
        ),
        ENTRY_WRITTEN,
        handlers.timeline_add,
        writes=True,
    ),
    Tool(
        "brain_links",
        "List the links of a page",
        "List the pages that a page links to, and the pages that link to it: what is connected to "
        "a person, a project or an idea.",
        arguments(("slug",), slug=SLUG, limit=ROW_LIMIT),
        LINKS,
        handlers.links,
    ),
    Tool(
        "brain_why",
        "Show what led to a page",
        "Show what led to a page, step by step back: what it is derived from, what causes it, its "
        "sources, what it calls and imports, the page it supersedes, and the pages that link to "
        "it. For the reason why a result ranks where it does, call brain_explain.",
        arguments(
            ("slug",), slug=SLUG, depth=WHY_DEPTH, limit=WHY_LIMIT
        ),
        ORIGIN,
        handlers.why,
    ),
    Tool(
        "brain_stats",
        "Show what the brain contains",
        "Count the pages by wing, room and month, the tags, the newest pages, and the chunks that "
        "are not embedded yet. A good first call in a brain that you do not know.",
        arguments(),
        STATS,
        handlers.stats,
    ),
    Tool(
        "brain_explain",
        "Explain the results of a query",
        "Show what each stage of a query did, with its numbers. With why_not it explains why a "
        "page that you expected is missing, and what to change to get it.",
        arguments(
            ("query",),
            query=QUERY,
            why_not=WHY_NOT,
            **query_options(
                "limit", "mode", "rerank", "include_superseded", "no_decay", *FILTERS
            ),
        ),
        EXPLANATION,
        handlers.explain,
    ),
    Tool(
        "memory_search",
        "Search the memory by keyword",
        "Search what is remembered by keyword; the same as brain_search.",
        _SEARCH,
        ANSWER,
        handlers.search,
    ),
    Tool(
        "memory_recall",
        "Recall a page by name",
        "Recall what is known about a person, a thing or a project by its name: returns the page "
        "with that name, or else the pages that a query for the name finds.",
        arguments(
            ("name",), name=NAME, limit=TEXT_LIMIT, offset=TEXT_OFFSET
        ),
        RECALLED,
        handlers.recall,
    ),
    Tool(
        "memory_ask",
        "Get text to answer a question from",
        "Ask the memory a question and get text to answer from, with citations, within a token "
        "budget; the same as brain_query with depth auto.",
        arguments(
            ("query",), query=QUERY, **query_options("budget", "limit", *FILTERS)
        ),
        ANSWER,
        handlers.ask,
    ),
)  # fmt: skip
