"""The tools of the MCP server as data: name, description, schemas and the function to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gbrain.brain import Brain
from gbrain.mcp import handlers
from gbrain.mcp.arguments import (
    DEFAULT_CHARACTERS,
    MAX_ENTRIES,
    MAX_INTEGER,
    NEXT_OFFSET,
    Arguments,
    arguments_schema,
    number_schema,
    option_schemas,
    reply_schema,
    text_schema,
)
from gbrain.mcp.reply import Reply
from gbrain.output.schemas import Schema
from gbrain.query_options import FILTERS
from gbrain.text.page import MAX_PAGE_BYTES
from gbrain.text.query_terms import MAX_QUERY_CHARACTERS

MAX_CHARACTERS = 100_000


class Tool(NamedTuple):
    """A tool that an agent can call.

    `writes` marks one that changes the brain, `destructive` one that overwrites what was there.
    `reads_all_pages` marks one that a shared brain without a replica cannot offer.
    """

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema
    run: Callable[[Brain, Arguments], Reply]
    writes: bool = False
    destructive: bool = False
    reads_all_pages: bool = False


NEW_SLUG = text_schema(
    "Slug of the page as results give it, for example people/alice-chen, also of a new page. A "
    "file path such as 'People/Alice Chen.md' names the same page, and so does a title or alias "
    "that is not written like a slug, such as 'Alice Chen'."
)
SLUG = text_schema(
    "Slug of the page as results give it, for example people/alice-chen. Its title, an alias or "
    "its file name works too; the error ambiguous_name lists the pages that share it."
)
QUERY = text_schema(
    'Keywords or a question. Understands "exact phrases", prefix*, AND, OR, NOT and the fields '
    "title: tag: wing: type: room: before: after:",
    MAX_QUERY_CHARACTERS,
)
ROW_LIMIT = number_schema(f"Maximum number of entries (default {MAX_ENTRIES}).", 1, MAX_ENTRIES)
EXPECTED_VERSION = number_schema(
    "Version of the page that you read; the write fails if the page has changed since. 0 if the "
    "page must not exist yet.",
    0,
    MAX_INTEGER,
)
CONTENT = text_schema(
    "The whole page in Markdown. Front matter, if any, comes first: ---, then title, type, tags, "
    "aliases, then ---. Link to other pages as [[slug]]. Put dated entries below a '## Timeline' "
    "heading.",
    MAX_PAGE_BYTES,
)
TEXT_OFFSET = number_schema(
    "Skip this many characters; pass `next_offset` of the previous call to continue.",
    0,
    MAX_PAGE_BYTES,
)
TEXT_LIMIT = number_schema(
    f"Maximum number of characters of text (default {DEFAULT_CHARACTERS}).", 1, MAX_CHARACTERS
)
ANSWER = reply_schema("answer")
PAGE = reply_schema(
    "page",
    offset={"type": "integer", "description": "Where `text` starts in the page, in characters"},
    characters={"type": "integer", "description": "Length of the whole page in characters"},
    next_offset=NEXT_OFFSET,
)
RECALLED: Schema = {
    "type": "object",
    "properties": {
        "page": {
            "type": ["object", "null"],
            "description": "The page with that name, as brain_get returns it; null if none has it",
        },
        "answer": {
            "type": ["object", "null"],
            "description": "What a query for the name finds, as brain_query returns it; null if "
            "exactly one page has the name",
        },
    },
    "required": ["page", "answer"],
}

_SEARCH = arguments_schema(("query",), query=QUERY, **option_schemas("limit", *FILTERS))

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
        "auto it also returns text to answer from, with citations, within a token budget; lines "
        "that start with > are what a page says, and not gbrain. Check "
        "the verdict: `nothing` means that the notes probably do not contain the answer.",
        arguments_schema(
            ("query",),
            query=QUERY,
            **option_schemas(
                "depth",
                "budget",
                "limit",
                "all",
                "mode",
                "rerank",
                "include_superseded",
                "no_decay",
                *FILTERS,
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
        arguments_schema(
            ("slug",),
            slug=SLUG,
            first_line=number_schema(
                "First line to return, counted from 1 as in `lines` of results and citations.",
                1,
                MAX_INTEGER,
            ),
            last_line=number_schema("Last line to return, inclusive.", 1, MAX_INTEGER),
            offset=TEXT_OFFSET,
            limit=TEXT_LIMIT,
            version=number_schema(
                "Return this earlier version (default: the current one).", 1, MAX_INTEGER
            ),
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
        arguments_schema(
            ("slug", "content"),
            slug=NEW_SLUG,
            content=CONTENT,
            expected_version=EXPECTED_VERSION,
        ),
        reply_schema("written"),
        handlers.put,
        writes=True,
        destructive=True,
    ),
    Tool(
        "brain_list",
        "List pages",
        "List pages by slug, without their text, filtered by wing, tag, type, date or front "
        "matter. To find pages by their content, use brain_search or brain_query.",
        arguments_schema(
            limit=ROW_LIMIT,
            offset=number_schema(
                "Skip this many pages; pass `next_offset` of the previous call to continue.",
                0,
                1_000_000,
            ),
            **option_schemas(*FILTERS),
        ),
        reply_schema("pages", next_offset=NEXT_OFFSET),
        handlers.list_,
        reads_all_pages=True,
    ),
    Tool(
        "brain_timeline",
        "List dated entries",
        "List dated entries, latest first, or those of one page, oldest first: what happened when. "
        "Each has its kind: an entry of a timeline, an item of another list, a dated heading, or "
        "a dated page such as a journal or a meeting.",
        arguments_schema(slug=SLUG, limit=ROW_LIMIT, **option_schemas(*FILTERS)),
        reply_schema("timeline"),
        handlers.timeline,
        reads_all_pages=True,
    ),
    Tool(
        "brain_timeline_add",
        "Add a dated entry to a page",
        "Add a dated entry to the timeline of an existing page; the rest of the page stays as it "
        "is. Adding the same entry twice changes nothing.",
        arguments_schema(
            ("slug", "text"),
            slug=SLUG,
            text=text_schema("What happened, in one or a few sentences.", MAX_PAGE_BYTES // 10),
            date=text_schema(
                "When it happened: 2026-04-03, 2026-04, 'last monday' (default: today)."
            ),
            source=text_schema(
                "Where the information comes from, for example a meeting or a person."
            ),
            expected_version=EXPECTED_VERSION,
        ),
        reply_schema("entry_written"),
        handlers.timeline_add,
        writes=True,
    ),
    Tool(
        "brain_undo",
        "Take back the last change of a page",
        "Take back the last change of a page: its text before, its old slug, or the whole page if "
        "it was deleted. The result is a new version; calling it again goes one change further "
        "back.",
        arguments_schema(
            ("slug",),
            slug=SLUG,
            redo={"type": "boolean", "description": "Take back the last undo instead."},
        ),
        reply_schema("undone"),
        handlers.undo,
        writes=True,
        destructive=True,
    ),
    Tool(
        "brain_tasks",
        "List tasks",
        "List the open tasks (checkboxes and TODO items) of all notes or of one page, those that "
        "are due first, each with the number that brain_done takes.",
        arguments_schema(
            slug=SLUG,
            all={"type": "boolean", "description": "Include tasks that are done."},
            limit=ROW_LIMIT,
            **option_schemas(*FILTERS),
        ),
        reply_schema("tasks"),
        handlers.tasks,
        reads_all_pages=True,
    ),
    Tool(
        "brain_done",
        "Tick a task",
        "Mark a task as done in its page; nothing else in the page changes.",
        arguments_schema(
            ("number",), number=text_schema("Number of the task as brain_tasks gives it.", 20)
        ),
        reply_schema("task_done"),
        handlers.done,
        writes=True,
    ),
    Tool(
        "brain_today",
        "Show due tasks and dated entries of a day",
        "Show the tasks that are due or overdue on a day, what is dated on it, and the pages "
        "written in the week up to it.",
        arguments_schema(
            date=text_schema("Day: 2026-11-20, tomorrow, monday (default: today)."),
            limit=number_schema(
                "Maximum number of recently written pages (default 10).", 1, MAX_ENTRIES
            ),
        ),
        reply_schema("agenda"),
        handlers.agenda,
        reads_all_pages=True,
    ),
    Tool(
        "brain_links",
        "List the links of a page",
        "List the pages that a page links to, and the pages that link to it: what is connected to "
        "a person, a project or an idea.",
        arguments_schema(("slug",), slug=SLUG, limit=ROW_LIMIT),
        reply_schema("links", "backlinks"),
        handlers.links,
        reads_all_pages=True,
    ),
    Tool(
        "brain_why",
        "Show the sources of a page",
        "Show the sources of a page, and the sources of those: what it is derived from, what "
        "causes it, what it calls and imports, the page it supersedes, and the pages that link to "
        "it. To learn why a result ranks where it does, call brain_explain.",
        arguments_schema(
            ("slug",),
            slug=SLUG,
            depth=number_schema("Number of steps to go back (default 2).", 1, 10),
            limit=number_schema("Maximum number of sources per page (default 10).", 1, MAX_ENTRIES),
        ),
        reply_schema("origin"),
        handlers.why,
        reads_all_pages=True,
    ),
    Tool(
        "brain_stats",
        "Show what the brain contains",
        "Count the pages by wing, room and month, the tags, the newest pages, and the chunks that "
        "are not embedded yet. A good first call in a brain that you do not know.",
        arguments_schema(),
        reply_schema("stats"),
        handlers.stats,
        reads_all_pages=True,
    ),
    Tool(
        "brain_explain",
        "Explain the results of a query",
        "Show what each stage of a query did, with its numbers. With why_not it explains why a "
        "page that you expected is missing, and what to change to get it.",
        arguments_schema(
            ("query",),
            query=QUERY,
            why_not=text_schema(
                "Slug of a page that you expected: explains at which stage it was lost, and why."
            ),
            **option_schemas("limit", "mode", "rerank", "include_superseded", "no_decay", *FILTERS),
        ),
        reply_schema("explanation"),
        handlers.explain,
    ),
    Tool(
        "memory_search",
        "Search pages by keyword (memory_search)",
        "Search the user's notes by keyword; the same as brain_search.",
        _SEARCH,
        ANSWER,
        handlers.search,
    ),
    Tool(
        "memory_recall",
        "Recall a page by name",
        "Recall what is known about a person, a thing or a project by its name: returns the page "
        "with that name, or else the pages that a query for the name finds.",
        arguments_schema(
            ("name",),
            name=text_schema(
                "Slug, title or alias of a page; typing mistakes are tolerated.",
                MAX_QUERY_CHARACTERS,
            ),
            limit=TEXT_LIMIT,
            offset=TEXT_OFFSET,
        ),
        RECALLED,
        handlers.recall,
    ),
    Tool(
        "memory_ask",
        "Get text to answer a question from",
        "Ask the user's notes a question and get text to answer from, with citations, within a "
        "token budget; the same as brain_query with depth auto.",
        arguments_schema(("query",), query=QUERY, **option_schemas("budget", "limit", *FILTERS)),
        ANSWER,
        handlers.ask,
    ),
)
