"""The tools that ask the brain: search, query, explain, recall."""

from __future__ import annotations

from typing import Any, cast

from gbrain.brain import Brain
from gbrain.errors import BadPage, NotFound
from gbrain.mcp.arguments import Arguments, today
from gbrain.mcp.pages import get
from gbrain.mcp.reply import Reply, for_agents
from gbrain.mcp.schemas import MOST, MOST_TOKENS
from gbrain.mcp.truncate import shortened
from gbrain.output.answer_text import answer_text
from gbrain.output.json import answer_document
from gbrain.output.plain_text import one_line
from gbrain.query_options import parse_scope, setting_overrides
from gbrain.types import Answer, Mode


def search(brain: Brain, arguments: Arguments) -> Reply:
    return _reply(brain.search(arguments["query"], **_narrowed(brain, arguments)))


def query(brain: Brain, arguments: Arguments) -> Reply:
    depth = arguments.get("depth")
    budget = arguments.get("budget") or min(brain.settings.default_token_budget, MOST_TOKENS)
    answer = brain.query(arguments["query"], depth=depth, budget=budget, **_asked(brain, arguments))
    return _reply(answer)


def ask(brain: Brain, arguments: Arguments) -> Reply:
    return query(brain, {**arguments, "depth": "auto"})


def explain(brain: Brain, arguments: Arguments) -> Reply:
    from gbrain.explanation.lost import why_not
    from gbrain.output.explain_document import explanation_document

    options = _asked(brain, arguments)
    answer, work = brain.query_with_trace(arguments["query"], **options)
    missing = arguments.get("why_not")
    lost = why_not(brain, answer, work, missing, **options) if missing else None
    lines = []
    if lost:
        lines.append(f"{lost.slug}: {lost.stage}. {lost.reason} {for_agents(lost.remedy or '')}")
    for lane, found in work.lanes.by_name.items():
        first = ", ".join(candidate.slug for candidate in found.pages[:3])
        lines.append(f"Lane {lane}, {len(found.pages)} pages: {first}")
    text = "\n".join(one_line(line) for line in lines)
    return Reply(
        shortened(explanation_document(answer, work, lost)), f"{text}\n\n{_text(answer)}".strip()
    )


def recall(brain: Brain, arguments: Arguments) -> Reply:
    """The page of that slug; else the one that the query names, or what the query finds."""
    part = {name: arguments[name] for name in ("limit", "offset") if name in arguments}
    try:
        page = get(brain, {"slug": arguments["name"], **part})
    except (NotFound, BadPage):
        answer = brain.query(arguments["name"], limit=_limit(brain, {}))
        found = _reply(answer)
        if not answer.short_circuit:
            return Reply({"page": None, "answer": found.document}, found.text)
        page = get(brain, {"slug": answer.hits[0].slug, **part})
        return Reply({"page": page.document, "answer": found.document}, page.text)
    return Reply({"page": page.document, "answer": None}, page.text)


def _asked(brain: Brain, arguments: Arguments) -> dict[str, Any]:
    mode = cast("Mode | None", arguments.get("mode"))
    return {**_narrowed(brain, arguments), "mode": mode, "changes": setting_overrides(arguments)}


def _narrowed(brain: Brain, arguments: Arguments) -> dict[str, Any]:
    return {"scope": parse_scope(arguments, today()), "limit": _limit(brain, arguments)}


def _limit(brain: Brain, arguments: Arguments) -> int:
    return arguments.get("limit") or min(brain.settings.default_limit, MOST)


def _reply(answer: Answer) -> Reply:
    return Reply(shortened(answer_document(answer), whole=("context",)), _text(answer))


def _text(answer: Answer) -> str:
    verdict = f"Verdict: {answer.verdict.grade}."
    found = answer_text(answer) or "Nothing found."
    return "\n\n".join(part for part in (answer.notice, found, verdict) if part)
