"""The functions behind the tools: ask the brain a question, read and write its pages."""

from __future__ import annotations

from typing import Any

from gbrain.brain import Brain, today
from gbrain.errors import BadPage, NotFound
from gbrain.mcp.arguments import DEFAULT_CHARACTERS, MAX_ENTRIES, MAX_TOKENS, Arguments
from gbrain.mcp.reply import Reply, replace_commands, select_range, truncate_document
from gbrain.messages import one_line, tab_separated
from gbrain.output.answer_text import answer_text
from gbrain.output.json import (
    answer_document,
    duplicate_document,
    page_document,
    pages_document,
    undone_document,
    written_document,
)
from gbrain.query_options import parse_scope, setting_overrides
from gbrain.store.page_writer import WriteResult
from gbrain.types import Answer

_SHOWN_CANDIDATES = 3


# --- questions -------------------------------------------------------------------------------


def search(brain: Brain, arguments: Arguments) -> Reply:
    """Return pages that match by keyword, best first."""
    scope = parse_scope(arguments, today())
    return _reply(brain.search(arguments["query"], scope=scope, limit=_limit(brain, arguments)))


def query(brain: Brain, arguments: Arguments) -> Reply:
    """Return pages that answer a question, best first; with depth auto, text from them too."""
    budget = arguments.get("budget") or min(brain.settings.default_token_budget, MAX_TOKENS)
    answer = brain.query(
        arguments["query"],
        depth=arguments.get("depth"),
        budget=budget,
        all_hits=bool(arguments.get("all")),
        **_query_options(brain, arguments),
    )
    return _reply(answer)


def ask(brain: Brain, arguments: Arguments) -> Reply:
    """Return what `query` returns with depth auto."""
    return query(brain, {**arguments, "depth": "auto"})


def explain(brain: Brain, arguments: Arguments) -> Reply:
    """Return what each stage of a query did, and why the page `why_not` is missing, if asked."""
    from gbrain.output.explain_document import explanation_document

    options = _query_options(brain, arguments)
    answer, work = brain.query_with_trace(arguments["query"], **options)
    missing = arguments.get("why_not")
    lost = brain.explain_missing(missing, answer, work, **options) if missing else None
    lines = []
    if lost:
        remedy = replace_commands(lost.remedy or "")
        lines.append(f"{lost.slug}: {lost.stage}. {lost.reason} {remedy}")
    for lane, found in work.lanes.by_name.items():
        first = ", ".join(candidate.slug for candidate in found.pages[:_SHOWN_CANDIDATES])
        lines.append(f"Lane {lane}, {len(found.pages)} pages: {first}")
    text = "\n".join(one_line(line) for line in lines)
    return Reply(
        truncate_document(explanation_document(answer, work, lost)),
        f"{text}\n\n{_text(answer)}".strip(),
    )


def recall(brain: Brain, arguments: Arguments) -> Reply:
    """Return the page with a slug or another name; else what a query for the name finds."""
    text_range = {name: arguments[name] for name in ("limit", "offset") if name in arguments}
    try:
        page = get(brain, {"slug": arguments["name"], **text_range})
    except (NotFound, BadPage):
        answer = brain.query(arguments["name"], limit=_limit(brain, {}))
        found = _reply(answer)
        if not answer.short_circuit:
            return Reply({"page": None, "answer": found.document}, found.text)
        page = get(brain, {"slug": answer.hits[0].slug, **text_range})
        return Reply({"page": page.document, "answer": found.document}, page.text)
    return Reply({"page": page.document, "answer": None}, page.text)


def _query_options(brain: Brain, arguments: Arguments) -> dict[str, Any]:
    return {
        "scope": parse_scope(arguments, today()),
        "limit": _limit(brain, arguments),
        "mode": arguments.get("mode"),
        "changes": setting_overrides(arguments),
    }


def _limit(brain: Brain, arguments: Arguments) -> int:
    return arguments.get("limit") or min(brain.settings.default_limit, MAX_ENTRIES)


def _reply(answer: Answer) -> Reply:
    return Reply(truncate_document(answer_document(answer), keep=("context",)), _text(answer))


def _text(answer: Answer) -> str:
    verdict = f"Verdict: {answer.verdict.grade}."
    if answer.verdict.about:
        reason = answer.verdict.reasons[0]
        verdict += f" {reason[:1].upper()}{one_line(reason[1:])}."
    if answer.verdict.grade != "strong" and answer.verdict.missing:
        verdict += f" Not mentioned: {', '.join(answer.verdict.missing)}."
    found = answer_text(answer) or "Nothing found."
    return "\n\n".join(part for part in (answer.notice, found, verdict) if part)


# --- pages -----------------------------------------------------------------------------------

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
    document = written_document(written, nearly_the_same=duplicate_document(twin))
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
    return Reply(written_document(written, date=day), _written_text(written))


def undo(brain: Brain, arguments: Arguments) -> Reply:
    """Take back the last change of a page."""
    done = brain.undo(arguments["slug"], redo=bool(arguments.get("redo")))
    return Reply(undone_document(done), f"{done.slug}: {done.outcome}, version {done.version}.")


def _written_text(written: WriteResult) -> str:
    about_file = written.file and written.file.message
    text = f"{written.slug}: {written.outcome}, version {written.version}."
    return f"{text} {replace_commands(about_file)}" if about_file else text


def list_(brain: Brain, arguments: Arguments) -> Reply:
    """Return pages by slug, without their text."""
    start, limit = arguments.get("offset", 0), arguments.get("limit", MAX_ENTRIES)
    found, total = brain.list(parse_scope(arguments, today()), start + limit)
    pages = found[start:]
    stop = start + len(pages)
    more = stop if pages and stop < total else None
    document = {**pages_document(pages, total), "next_offset": more}
    rows = tab_separated(
        (page.slug, page.title[:_MAX_TITLE_CHARACTERS], f"{page.wing}/{page.room}", page.date)
        for page in pages
    )
    return Reply(truncate_document(document), f"{rows}\n{len(pages)} of {total} pages.".lstrip())


def timeline(brain: Brain, arguments: Arguments) -> Reply:
    """Return what is dated on a page or on all pages."""
    from gbrain.output.timeline import entry_rows, timeline_document

    scope, limit = parse_scope(arguments, today()), arguments.get("limit", MAX_ENTRIES)
    entries, total = brain.timeline(arguments.get("slug"), scope=scope, limit=limit)
    text = f"{tab_separated(entry_rows(entries))}\n{len(entries)} of {total} entries.".lstrip()
    return Reply(truncate_document(timeline_document(entries, total)), text)


def tasks(brain: Brain, arguments: Arguments) -> Reply:
    """Return the open tasks of a page or of all pages, those that are due first."""
    from gbrain.output.tasks import task_rows, tasks_document

    found = brain.tasks(
        arguments.get("slug"),
        scope=parse_scope(arguments, today()),
        done=bool(arguments.get("all")),
    )
    shown = found[: arguments.get("limit", MAX_ENTRIES)]
    text = f"{tab_separated(task_rows(shown, states=True))}\n{len(shown)} of {len(found)} tasks."
    return Reply(truncate_document(tasks_document(shown, len(found))), text.lstrip())


def done(brain: Brain, arguments: Arguments) -> Reply:
    """Tick a task in its page."""
    task, written = brain.finish_task(arguments["number"])
    document = written_document(written, number=arguments["number"], text=task.text)
    return Reply(document, f"{task.text}: done. {_written_text(written)}")


def agenda(brain: Brain, arguments: Arguments) -> Reply:
    """Return what is dated and due on a day, and what was written lately."""
    from datetime import date

    from gbrain.output.tasks import agenda_document, agenda_rows
    from gbrain.text.dates import parse_bound

    day = date.fromisoformat(parse_bound(arguments.get("date", "today"), today()).last)
    found = brain.agenda(day, limit=arguments.get("limit", 10))
    text = tab_separated(agenda_rows(found)) or f"Nothing on {found.day}."
    return Reply(truncate_document(agenda_document(found)), text)


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
