"""The HTTP routes as data: method, path, parameters, document and the function to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gbrain.brain import Brain
from gbrain.mcp.arguments import (
    MAX_INTEGER,
    Arguments,
    arguments_schema,
    number_schema,
    text_schema,
)
from gbrain.output.json import Document
from gbrain.output.schemas import Schema
from gbrain.query_options import FILTERS, QUERY_OPTIONS, QueryOption
from gbrain.server import browser, handlers
from gbrain.text.page import MAX_PAGE_BYTES
from gbrain.text.query_terms import MAX_QUERY_CHARACTERS

MAX_ROWS = 1000
MAX_OFFSET = 10_000_000
_MAX_LIST_ENTRIES = 100


class ApiRoute(NamedTuple):
    """A route below /api.

    `document` names the JSON Schema of the answer. Arguments come from the path, then from the
    query string, or from the body if `in_body` names them; `schema` describes all of them. With
    `compares_vectors` it waits for the embedding of pages just written.
    """

    method: str
    path: str
    summary: str
    document: str
    schema: Schema
    run: Callable[[Brain, Arguments], Document]
    in_body: tuple[str, ...] = ()
    writes: bool = False
    compares_vectors: bool = False

    @property
    def in_path(self) -> tuple[str, ...]:
        """Return the arguments that are part of the path."""
        parts = (part for part in self.path.split("/") if part.startswith("{"))
        return tuple(part.strip("{}").partition(":")[0] for part in parts)

    @property
    def in_query(self) -> tuple[str, ...]:
        """Return the arguments of the query string."""
        taken = {*self.in_path, *self.in_body}
        return tuple(name for name in self.schema["properties"] if name not in taken)


def _options(*names: str) -> dict[str, Schema]:
    """Return the schemas of query options; their names and limits are those of batch lines."""
    return {name: _option(QUERY_OPTIONS[name]) for name in names}


def _option(option: QueryOption) -> Schema:
    about = option.help.replace(" (10; 5 on a terminal)", " (default 10)")
    match option.kind:
        case "text":
            return text_schema(about)
        case "texts" | "pairs":
            return {
                "type": "array",
                "items": text_schema(option.metavar or ""),
                "maxItems": _MAX_LIST_ENTRIES,
                "description": about,
            }
        case "flag":
            return {"type": "boolean", "description": about}
        case "number":
            return number_schema(about, 1, option.maximum)
        case "choice":
            return {"type": "string", "enum": list(option.choices), "description": about}


SLUG = text_schema("Slug, title or alias of a page.")
NEW_SLUG = text_schema("Slug of the page, such as people/alice-chen.")
TEXT = text_schema("Text to find.", MAX_QUERY_CHARACTERS)
EXPECTED = number_schema("Fail unless the page is at this version.", 0, MAX_INTEGER)
VERSION = number_schema("Version of the page.", 1, MAX_INTEGER)
SOURCE = text_schema("Where the information comes from.")
ENTRY = text_schema("Text of the entry.", MAX_PAGE_BYTES // 10)
ALL_TASKS: Schema = {"type": "boolean", "description": "Include tasks that are done."}


def _rows(what: str, default: int = handlers.DEFAULT_ROWS, most: int = MAX_ROWS) -> Schema:
    return number_schema(f"Maximum number of {what} (default {default}).", 1, most)


_FILTERS = _options(*FILTERS)

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "GET",
        "/api/search",
        "Find pages by keyword.",
        "answer",
        arguments_schema(
            ("q",), q=TEXT, **_options("limit", "all", "include_superseded"), **_FILTERS
        ),
        handlers.search,
    ),
    ApiRoute(
        "POST",
        "/api/query",
        "Find pages by keyword and by meaning.",
        "answer",
        arguments_schema(("query",), query=TEXT, **_options(*QUERY_OPTIONS)),
        handlers.query,
        in_body=("query", *QUERY_OPTIONS),
        compares_vectors=True,
    ),
    ApiRoute(
        "GET",
        "/api/explain",
        "Show how a query was answered, stage by stage.",
        "explanation",
        arguments_schema(
            ("q",),
            q=TEXT,
            why_not=text_schema("Slug of a page that you expected among the results."),
            **_options(
                "limit", "mode", "merge", "profile", "rerank", "boost", "no_decay",
                "include_superseded",
            ),
            **_FILTERS,
        ),
        handlers.explain,
        compares_vectors=True,
    ),
    ApiRoute(
        "GET",
        "/api/pages",
        "List pages by slug, without their text.",
        "pages",
        arguments_schema(
            limit=_rows("pages"),
            offset=number_schema("Skip this many pages (default 0).", 0, MAX_OFFSET),
            **_FILTERS,
        ),
        handlers.list_,
    ),
    ApiRoute(
        "GET",
        "/api/pages/{slug:path}",
        "Read a page, or an earlier version of it.",
        "page",
        arguments_schema(("slug",), slug=SLUG, version=VERSION),
        handlers.get,
    ),
    ApiRoute(
        "PUT",
        "/api/pages/{slug:path}",
        "Create a page, or overwrite its whole text.",
        "written",
        arguments_schema(
            ("slug", "content"),
            slug=NEW_SLUG,
            content=text_schema("The whole page in Markdown.", MAX_PAGE_BYTES),
            expected_version=EXPECTED,
        ),
        handlers.put,
        in_body=("content", "expected_version"),
        writes=True,
    ),
    ApiRoute(
        "DELETE",
        "/api/pages/{slug:path}",
        "Delete a page; its text stays in its history.",
        "deleted",
        arguments_schema(("slug",), slug=SLUG, expected_version=EXPECTED),
        handlers.delete,
        writes=True,
    ),
    ApiRoute(
        "GET",
        "/api/rendered/{slug:path}",
        "Show the text of a page as HTML, with links as the page in the browser uses them.",
        "rendered",
        arguments_schema(("slug",), slug=SLUG),
        browser.rendered,
    ),
    ApiRoute(
        "GET",
        "/api/history/{slug:path}",
        "List the versions of a page, oldest first.",
        "history",
        arguments_schema(("slug",), slug=SLUG),
        handlers.history,
    ),
    ApiRoute(
        "GET",
        "/api/diff/{slug:path}",
        "Show what changed between two versions of a page.",
        "difference_of_versions",
        arguments_schema(
            ("slug",),
            slug=SLUG,
            **{
                "from": number_schema(
                    "Old version (default: the one before `to`).", 1, MAX_INTEGER
                ),
                "to": number_schema("New version (default: the latest).", 1, MAX_INTEGER),
            },
        ),
        handlers.diff,
    ),
    ApiRoute(
        "GET",
        "/api/links/{slug:path}",
        "List the links of a page and the pages they lead to.",
        "links",
        arguments_schema(("slug",), slug=SLUG),
        handlers.links,
    ),
    ApiRoute(
        "GET",
        "/api/backlinks/{slug:path}",
        "List the links on other pages that lead to this page.",
        "backlinks",
        arguments_schema(("slug",), slug=SLUG),
        handlers.backlinks,
    ),
    ApiRoute(
        "GET",
        "/api/graph",
        "List the pages and links of the whole brain.",
        "graph",
        arguments_schema(limit=_rows("pages", 200, 5000)),
        handlers.graph,
    ),
    ApiRoute(
        "GET",
        "/api/graph/{slug:path}",
        "List the pages and links around a page.",
        "graph",
        arguments_schema(
            ("slug",),
            slug=SLUG,
            depth=number_schema("How many links away from the page (default 1).", 1, 20),
            limit=_rows("pages", 200, 5000),
        ),
        handlers.graph,
    ),
    ApiRoute(
        "GET",
        "/api/timeline",
        "List dated entries of one page (oldest first) or of all pages (latest first).",
        "timeline",
        arguments_schema(slug=SLUG, limit=_rows("entries"), **_FILTERS),
        handlers.timeline,
    ),
    ApiRoute(
        "POST",
        "/api/timeline/{slug:path}",
        "Add a dated entry to the timeline of a page.",
        "entry_written",
        arguments_schema(
            ("slug", "text"),
            slug=SLUG,
            text=ENTRY,
            date=text_schema("Date: 2026-04-03, 2026-04, 'last monday' (default: today)."),
            source=SOURCE,
            expected_version=EXPECTED,
        ),
        handlers.timeline_add,
        in_body=("text", "date", "source", "expected_version"),
        writes=True,
    ),
    ApiRoute(
        "GET",
        "/api/tags",
        "List all tags, the most used first.",
        "tags",
        arguments_schema(),
        handlers.tags,
    ),
    ApiRoute(
        "GET",
        "/api/tasks",
        "List the open tasks of a page or of all pages, those that are due first.",
        "tasks",
        arguments_schema(slug=SLUG, all=ALL_TASKS, limit=_rows("tasks"), **_FILTERS),
        handlers.tasks,
    ),
    ApiRoute(
        "POST",
        "/api/tasks/{number}/done",
        "Tick a task in its page.",
        "tasks_done",
        arguments_schema(
            ("number",), number=text_schema("Number of the task as /api/tasks gives it.", 20)
        ),
        handlers.done,
        writes=True,
    ),
    ApiRoute(
        "GET",
        "/api/today",
        "Show what a day brings: due tasks, dated entries, new notes.",
        "agenda",
        arguments_schema(
            date=text_schema("Day: 2026-11-20, tomorrow, monday (default: today)."),
            limit=_rows("pages written", 10),
        ),
        handlers.agenda,
    ),
    ApiRoute(
        "GET",
        "/api/stats",
        "Count pages, chunks, tags and jobs.",
        "stats",
        arguments_schema(),
        handlers.stats,
    ),
    ApiRoute(
        "POST",
        "/api/capture",
        "Add a note with today's date to the inbox or a page.",
        "entry_written",
        arguments_schema(
            ("text",),
            text=ENTRY,
            to=text_schema("Page (default: the setting capture_page)."),
            source=SOURCE,
        ),
        handlers.capture,
        in_body=("text", "to", "source"),
        writes=True,
    ),
)  # fmt: skip

# Its answer is an image instead of a document.
ATTACHMENT = ApiRoute(
    "GET",
    "/api/attachments/{slug:path}",
    "Show an image that a page shows, from the folder of the page.",
    "",
    arguments_schema(
        ("slug", "path"), slug=SLUG, path=text_schema("The image as the page names it.")
    ),
    lambda brain, arguments: {},
)
