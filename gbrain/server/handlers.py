"""The functions behind the HTTP routes: each returns the document that a command prints."""

from __future__ import annotations

from gbrain.ask import answer_query, option_by_setting, query_arguments
from gbrain.brain import Brain, today
from gbrain.errors import NotFound, UsageError
from gbrain.mcp.arguments import Arguments
from gbrain.output.json import (
    Document,
    answer_document,
    backlinks_document,
    deleted_document,
    duplicate_document,
    history_document,
    links_document,
    page_document,
    pages_document,
    tags_document,
    written_document,
)
from gbrain.query_options import parse_scope

DEFAULT_ROWS = 100


# --- questions -------------------------------------------------------------------------------


def search(brain: Brain, arguments: Arguments) -> Document:
    """Find pages by keyword."""
    return answer_document(answer_query(brain, arguments["q"], {**arguments, "mode": "bm25"}))


def query(brain: Brain, arguments: Arguments) -> Document:
    """Find pages by keyword and by meaning."""
    return answer_document(answer_query(brain, arguments["query"], arguments))


def explain(brain: Brain, arguments: Arguments) -> Document:
    """Show how a query was answered, stage by stage."""
    from gbrain.output.explain_document import explanation_document

    options = query_arguments(arguments)
    answer, work = brain.query_with_trace(arguments["q"], **options)
    missing, lost = arguments.get("why_not"), None
    if missing:
        sources = option_by_setting(arguments)
        lost = brain.explain_missing(missing, answer, work, given=sources, **options)
    return explanation_document(answer, work, lost)


# --- pages -----------------------------------------------------------------------------------


def list_(brain: Brain, arguments: Arguments) -> Document:
    """List pages by slug, without their text."""
    start, limit = arguments.get("offset", 0), arguments.get("limit", DEFAULT_ROWS)
    found, total = brain.list(parse_scope(arguments, today()), start + limit)
    return pages_document(found[start:], total)


def get(brain: Brain, arguments: Arguments) -> Document:
    """Read a page, or an earlier version of it."""
    return page_document(*brain.page(arguments["slug"], arguments.get("version")))


def put(brain: Brain, arguments: Arguments) -> Document:
    """Create a page, or overwrite its whole text."""
    written = brain.put(
        arguments["slug"],
        arguments["content"].encode(),
        expected_version=arguments.get("expected_version"),
    )
    twin = None if written.outcome == "unchanged" else brain.near_duplicate(written.slug)
    return written_document(written, nearly_the_same=duplicate_document(twin))


def delete(brain: Brain, arguments: Arguments) -> Document:
    """Delete a page; its text stays in its history."""
    expected = arguments.get("expected_version")
    return deleted_document(brain.delete(arguments["slug"], expected_version=expected))


def history(brain: Brain, arguments: Arguments) -> Document:
    """List the versions of a page, oldest first."""
    slug = brain.resolve(arguments["slug"], past=True)
    return history_document(slug, brain.history(slug))


def diff(brain: Brain, arguments: Arguments) -> Document:
    """Show what changed between two versions of a page."""
    from gbrain.output.diff import difference_document

    slug = brain.resolve(arguments["slug"], past=True)
    known = brain.history(slug)
    last = arguments.get("to", known[-1].version)
    before = max((v.version for v in known if v.version < last), default=None)
    first = arguments.get("from", before)
    old = brain.text(slug, first) if first is not None else ""
    return difference_document(slug, (first, old), (last, brain.text(slug, last)), known)


def capture(brain: Brain, arguments: Arguments) -> Document:
    """Add a note with today's date to the inbox or a page."""
    text = arguments["text"]
    if not text.strip():
        raise UsageError("There is no text to capture", hint="Give text.")
    written = brain.capture(text, name=arguments.get("to"), source=arguments.get("source"))
    return written_document(written, date=today().isoformat())


# --- structure -------------------------------------------------------------------------------


def links(brain: Brain, arguments: Arguments) -> Document:
    """List the links of a page and the pages they lead to."""
    slug = brain.get(arguments["slug"]).slug
    return links_document(slug, brain.links(slug))


def backlinks(brain: Brain, arguments: Arguments) -> Document:
    """List the links on other pages that lead to this page."""
    slug = brain.get(arguments["slug"]).slug
    return backlinks_document(slug, brain.backlinks(slug))


def graph(brain: Brain, arguments: Arguments) -> Document:
    """List the pages and links around a page, or of the whole brain."""
    from gbrain.output.graph import graph_document

    name = arguments.get("slug")
    root = brain.get(name).slug if name is not None else None
    found = brain.graph(root, depth=arguments.get("depth", 1), limit=arguments.get("limit", 200))
    return graph_document(found, root)


def tags(brain: Brain, arguments: Arguments) -> Document:
    """List all tags, the most used first."""
    return tags_document(brain.tags())


def timeline(brain: Brain, arguments: Arguments) -> Document:
    """List dated entries of one page (oldest first) or of all pages (latest first)."""
    from gbrain.output.timeline import timeline_document

    scope, limit = parse_scope(arguments, today()), arguments.get("limit", DEFAULT_ROWS)
    return timeline_document(*brain.timeline(arguments.get("slug"), scope=scope, limit=limit))


def timeline_add(brain: Brain, arguments: Arguments) -> Document:
    """Add a dated entry to the timeline of a page."""
    from gbrain.text.dates import parse_bound

    date = arguments.get("date")
    day = parse_bound(date, today()).text if date else today().isoformat()
    written = brain.add_to_timeline(
        arguments["slug"],
        arguments["text"],
        date=day,
        source=arguments.get("source"),
        expected_version=arguments.get("expected_version"),
    )
    return written_document(written, date=day)


def tasks(brain: Brain, arguments: Arguments) -> Document:
    """List the tasks of a page or of all pages, those that are due first."""
    from gbrain.output.tasks import tasks_document

    scope, every = parse_scope(arguments, today()), bool(arguments.get("all"))
    found = brain.tasks(arguments.get("slug"), scope=scope, done=every)
    return tasks_document(found[: arguments.get("limit", DEFAULT_ROWS)], len(found))


def done(brain: Brain, arguments: Arguments) -> Document:
    """Tick a task in its page."""
    number = arguments["number"]
    if not (number.isascii() and number.isdecimal()):
        raise NotFound(f"There is no task {number!r}", hint="gbrain tasks lists the tasks.")
    task, written = brain.finish_task(number)
    return {"done": [written_document(written, number=number, text=task.text)]}


def agenda(brain: Brain, arguments: Arguments) -> Document:
    """Show what a day brings: due tasks, dated entries, new notes."""
    from datetime import date

    from gbrain.output.tasks import agenda_document
    from gbrain.text.dates import parse_bound

    period = parse_bound(arguments.get("date", "today"), today())
    if period.first != period.last:
        raise UsageError("date is not a day", hint="For example 2026-11-20, or monday.")
    day = date.fromisoformat(period.last)
    return agenda_document(brain.agenda(day, limit=arguments.get("limit", 10)))


def stats(brain: Brain, arguments: Arguments) -> Document:
    """Count pages, chunks, tags and jobs."""
    from gbrain.output.stats import stats_document

    return stats_document(brain.path, brain.stats())
