"""The tools that read and write pages: get, put, list, links, why, timeline, stats."""

from __future__ import annotations

from gbrain.brain import Brain, today
from gbrain.mcp.arguments import Arguments
from gbrain.mcp.reply import Reply, select_range, truncate_document
from gbrain.mcp.schemas import DEFAULT_CHARACTERS, MAX_ENTRIES
from gbrain.output.documents import duplicate_document, page_document, page_row_document
from gbrain.output.json import Document
from gbrain.output.plain_text import tab_separated
from gbrain.query_options import parse_scope
from gbrain.store.page_writer import WriteResult

_MAX_TITLE_CHARACTERS = 100


def get(brain: Brain, arguments: Arguments) -> Reply:
    """Return a page with the requested range of its text; an agent that reads opens nothing."""
    version = arguments.get("version")
    page, front_matter, text = brain.page(arguments["slug"], version)
    selected = select_range(
        text,
        arguments.get("offset", 0),
        arguments.get("limit", DEFAULT_CHARACTERS),
        arguments.get("first_line"),
        arguments.get("last_line"),
    )
    document = {
        **page_document(page, front_matter, selected.text),
        "offset": selected.offset,
        "characters": selected.characters,
        "next_offset": selected.next_offset,
    }
    return Reply(truncate_document(document, keep=("text",)), selected.text + selected.note)


def put(brain: Brain, arguments: Arguments) -> Reply:
    """Write a page; the reply names another page that says nearly the same, if there is one."""
    written = brain.put(
        arguments["slug"],
        arguments["content"].encode(),
        expected_version=arguments.get("expected_version"),
    )
    twin = None if written.outcome == "unchanged" else brain.near_duplicate(written.slug)
    warning = f" It says nearly the same as {twin.slug}." if twin else ""
    document = {**_written_document(written), "nearly_the_same": duplicate_document(twin)}
    return Reply(document, _written_text(written) + warning)


def timeline_add(brain: Brain, arguments: Arguments) -> Reply:
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
    return Reply({**_written_document(written), "date": day}, _written_text(written))


def _written_document(written: WriteResult) -> Document:
    return {"slug": written.slug, "version": written.version, "outcome": written.outcome}


def _written_text(written: WriteResult) -> str:
    return f"{written.slug}: {written.outcome}, version {written.version}."


def list_(brain: Brain, arguments: Arguments) -> Reply:
    """Return pages by slug, without their text."""
    start, limit = arguments.get("offset", 0), arguments.get("limit", MAX_ENTRIES)
    found, total = brain.list(parse_scope(arguments, today()), start + limit)
    pages = found[start:]
    stop = start + len(pages)
    document = {
        "pages": [page_row_document(page) for page in pages],
        "total": total,
        "next_offset": stop if pages and stop < total else None,
    }
    rows = tab_separated(
        (page.slug, page.title[:_MAX_TITLE_CHARACTERS], f"{page.wing}/{page.room}", page.date)
        for page in pages
    )
    return Reply(truncate_document(document), f"{rows}\n{len(pages)} of {total} pages.".lstrip())


def timeline(brain: Brain, arguments: Arguments) -> Reply:
    """Return what is dated on a page or on all pages."""
    from gbrain.output.timeline import entry_document, entry_rows

    scope, limit = parse_scope(arguments, today()), arguments.get("limit", MAX_ENTRIES)
    entries, total = brain.timeline(arguments.get("slug"), scope=scope, limit=limit)
    document = {"entries": [entry_document(entry) for entry in entries], "total": total}
    text = f"{tab_separated(entry_rows(entries))}\n{len(entries)} of {total} entries.".lstrip()
    return Reply(truncate_document(document), text)


def links(brain: Brain, arguments: Arguments) -> Reply:
    """Return the links on a page and the links to it."""
    page = brain.get(arguments["slug"])
    outgoing, incoming = brain.links(page.slug), brain.backlinks(page.slug)
    limit = arguments.get("limit", MAX_ENTRIES)
    document = {
        "slug": page.slug,
        "links": [link._asdict() for link in outgoing[:limit]],
        "backlinks": [link._asdict() for link in incoming[:limit]],
    }
    notes = [
        f"{name}: {limit} of {count} entries"
        for name, count in (("links", len(outgoing)), ("backlinks", len(incoming)))
        if count > limit
    ]
    rows = [("to", link.slug or f"{link.target} (no such page)") for link in outgoing[:limit]]
    rows += [("from", link.slug) for link in incoming[:limit]]
    text = tab_separated(dict.fromkeys(rows)) or "No links."
    short = truncate_document(document)
    return Reply({**short, "truncated": notes} if notes else short, "\n".join([text, *notes]))


def why(brain: Brain, arguments: Arguments) -> Reply:
    """Return what led to a page, step by step."""
    from gbrain.output.provenance import origin_document, origin_lines

    origin = brain.provenance(
        arguments["slug"], depth=arguments.get("depth", 2), limit=arguments.get("limit", 10)
    )
    text = "\n".join(origin_lines(origin))
    if not origin.causes:
        text += "\nIt names no source, and no page links to it."
    return Reply(truncate_document(origin_document(origin)), text)


def stats(brain: Brain, arguments: Arguments) -> Reply:
    """Return counts of pages, wings, rooms, tags, chunks and jobs."""
    from gbrain.output.stats import stats_document

    counted = brain.stats()
    wings = ", ".join(f"{wing.name} {wing.pages}" for wing in counted.wings[:MAX_ENTRIES])
    waiting = f" {counted.jobs} chunks are not embedded yet." if counted.jobs else ""
    text = f"{counted.pages} pages ({wings}), {counted.chunks} chunks.{waiting}"
    return Reply(truncate_document(stats_document(brain.path, counted)), text)
