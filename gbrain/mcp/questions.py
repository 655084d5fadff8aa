"""The tools that ask the brain a question: search, query, explain, recall."""

from __future__ import annotations

from typing import Any

from gbrain.brain import Brain, today
from gbrain.errors import BadPage, NotFound
from gbrain.mcp.arguments import Arguments
from gbrain.mcp.pages import get
from gbrain.mcp.reply import Reply, replace_commands, truncate_document
from gbrain.mcp.schemas import MAX_ENTRIES, MAX_TOKENS
from gbrain.output.answer_text import answer_text
from gbrain.output.json import answer_document
from gbrain.output.plain_text import one_line
from gbrain.query_options import parse_scope, setting_overrides
from gbrain.types import Answer

_SHOWN_CANDIDATES = 3


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
    found = answer_text(answer) or "Nothing found."
    return "\n\n".join(part for part in (answer.notice, found, verdict) if part)
