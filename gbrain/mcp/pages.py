"""The tools about pages: get, put, list, links, timeline, stats."""

from __future__ import annotations

from gbrain.brain import Brain
from gbrain.mcp.arguments import Arguments, day_of, today
from gbrain.mcp.reply import Reply
from gbrain.mcp.schemas import MOST, USUAL_CHARACTERS
from gbrain.mcp.truncate import part_of, shortened
from gbrain.output.documents import listed_document, near_document, page_document
from gbrain.output.json import Document
from gbrain.output.plain_text import tab_separated
from gbrain.query_options import parse_scope
from gbrain.store.page_writer import Written


def get(brain: Brain, arguments: Arguments) -> Reply:
    """A page with as much of its text as was asked for; counts as an opening of it."""
    version = arguments.get("version")
    page, front_matter, text = brain.page(arguments["slug"], version)
    if version is None:
        brain.record_open(page.id)
    part = part_of(
        text,
        arguments.get("offset", 0),
        arguments.get("limit", USUAL_CHARACTERS),
        arguments.get("first_line"),
        arguments.get("last_line"),
    )
    document = page_document(page, front_matter, part.text)
    place = {name: getattr(part, name) for name in ("offset", "characters", "next_offset")}
    return Reply(shortened({**document, **place}, whole=("text",)), part.text + part.note)


def put(brain: Brain, arguments: Arguments) -> Reply:
    written = brain.put(
        arguments["slug"],
        arguments["content"].encode(),
        expected_version=arguments.get("expected_version"),
    )
    twin = None if written.outcome == "unchanged" else brain.near_duplicate(written.slug)
    said = f" It says nearly the same as {twin.slug}." if twin else ""
    return Reply(
        {**_written(written), "nearly_the_same": near_document(twin)}, _said(written) + said
    )


def timeline_add(brain: Brain, arguments: Arguments) -> Reply:
    date = arguments.get("date")
    day = day_of(date).text if date else today().isoformat()
    written = brain.add_to_timeline(
        arguments["slug"],
        arguments["text"],
        date=day,
        source=arguments.get("source"),
        expected_version=arguments.get("expected_version"),
    )
    return Reply({**_written(written), "date": day}, _said(written))


def _written(written: Written) -> Document:
    return {"slug": written.slug, "version": written.version, "outcome": written.outcome}


def _said(written: Written) -> str:
    return f"{written.slug}: {written.outcome}, version {written.version}."


def list_(brain: Brain, arguments: Arguments) -> Reply:
    start, count = arguments.get("offset", 0), arguments.get("limit", MOST)
    found, total = brain.list(parse_scope(arguments, today()), start + count)
    pages = found[start:]
    stop = start + len(pages)
    document = {
        "pages": [listed_document(page) for page in pages],
        "total": total,
        "next_offset": stop if pages and stop < total else None,
    }
    rows = tab_separated((p.slug, p.title[:MOST], f"{p.wing}/{p.room}", p.date) for p in pages)
    return Reply(shortened(document), f"{rows}\n{len(pages)} of {total} pages.".lstrip())


def links(brain: Brain, arguments: Arguments) -> Reply:
    page = brain.get(arguments["slug"])
    away, back = brain.links(page.slug), brain.backlinks(page.slug)
    most = arguments.get("limit", MOST)
    document = {
        "slug": page.slug,
        "links": [link._asdict() for link in away[:most]],
        "backlinks": [link._asdict() for link in back[:most]],
    }
    cut = [
        f"{name}: {most} of {len(all_)} entries"
        for name, all_ in (("links", away), ("backlinks", back))
        if len(all_) > most
    ]
    rows = [("to", link.slug or f"{link.target} (no such page)") for link in away[:most]]
    rows += [("from", link.slug) for link in back[:most]]
    text = tab_separated(dict.fromkeys(rows)) or "No links."
    return Reply(
        {**shortened(document), "truncated": cut} if cut else shortened(document),
        "\n".join([text, *cut]),
    )


def stats(brain: Brain, arguments: Arguments) -> Reply:
    from gbrain.output.stats import stats_document

    counted = brain.stats()
    wings = ", ".join(f"{wing.name} {wing.pages}" for wing in counted.wings[:MOST])
    waiting = f" {counted.jobs} passages wait to be embedded." if counted.jobs else ""
    text = f"{counted.pages} pages ({wings}), {counted.chunks} passages.{waiting}"
    return Reply(shortened(stats_document(brain.path, counted)), text)
