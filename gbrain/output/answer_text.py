"""Format answers as plain text for a pipe, and the notices printed with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from gbrain.messages import counted, did_you_mean, one_line, printable, without_newlines
from gbrain.text.snippet import MARK_OFF, MARK_ON
from gbrain.trace import SCORES, Detail, Stage
from gbrain.types import Answer, ContextChunk, Hit

_MAX_CLOSEST_PAGES = 3

# What a screen calls the lanes, in the order in which it lists them.
LANE_NAMES = {
    "sms": "name", "fts": "keyword", "vector": "vector", "graph": "graph",
    "associative": "associative", "rerank": "reranker",
}  # fmt: skip
# What a screen calls the keys of a stage's trace, where JSON has an older name.
_DETAIL_NAMES = {"passages": "chunks"}
# The trace detail of the retry ladder, which gbrain explain prints as a separate section.
RUNGS = "rungs"
_MODE_NAMES = {
    "bm25": "by keyword", "semantic": "by vector", "hybrid": "by keyword and vector",
}  # fmt: skip
_HEADING_LINE = re.compile(r"\s*#{1,6}[ \t]([^\n]*)(?:\n|\Z)")


def answer_text(answer: Answer) -> str:
    """Return the hits, one paragraph each, or the context if one was assembled."""
    if answer.context is not None:
        notice = poor_answer_notice(answer) if answer.verdict.grade == "nothing" else None
        named = without_citations(notice) if notice else None
        return "\n\n".join(filter(None, (named, context_text(answer.context))))
    return "\n".join(_hit_text(hit) for hit in answer.hits)


def list_hits(answer: Answer, *, weak: bool, limit: int | None = None) -> tuple[Hit, ...]:
    """Return the hits to list, at most `limit`; weak ones only if `weak` is set."""
    return tuple(hit for hit in answer.hits if weak or not hit.weak)[:limit]


def hidden_hits_notice(answer: Answer, listed: Sequence[Hit]) -> str | None:
    """Return how many hits are not listed and the option that lists them; None if all are."""
    if answer.context is not None or len(listed) == len(answer.hits):
        return None
    hidden = [hit for hit in answer.hits if hit not in listed]
    kind = "weaker hit" if all(hit.weak for hit in hidden) else "more hit"
    return f"--all lists {counted(len(hidden), kind)}"


def how_found(answer: Answer) -> str:
    """Return how the hits were found, for a summary line."""
    if answer.short_circuit:
        return f"by {answer.short_circuit}"
    return _MODE_NAMES.get(answer.mode, answer.mode)


def named_page_notice(answer: Answer) -> str | None:
    """Return that only the page that the query names was looked up, if that is so."""
    if not answer.short_circuit or len(answer.hits) > 1 or answer.mode == "bm25":
        return None
    about = "nearly the" if answer.short_circuit == "near" else "the"
    kind = "title" if answer.short_circuit == "near" else answer.short_circuit
    return f"The query is {about} {kind} of this page; --all lists others too."


def read_as_notice(answer: Answer) -> str | None:
    """Return the words that were searched for, or the question that may be meant, if another."""
    if answer.did_you_mean:
        return did_you_mean((one_line(answer.did_you_mean),))
    return f"Read as: {one_line(answer.read_as)}" if answer.hits and answer.read_as else None


def superseded_notice(answer: Answer, *, named: bool = False) -> str | None:
    """Return how many superseded pages were left out, if any; with `named`, their slugs too."""
    if not answer.superseded:
        return None
    slugs = f" ({', '.join(map(one_line, answer.superseded))})" if named else ""
    pages = counted(len(answer.superseded), "superseded page")
    return f"{pages} left out{slugs}; --include-superseded shows them."


def poor_answer_notice(answer: Answer, *, why: bool = True) -> str | None:
    """Return a notice if there are hits but the grade is not strong; with `why`, its reason.

    The reason names the words that the best page does not mention, or whom it speaks of instead.
    """
    if not answer.hits or answer.verdict.grade == "strong":
        return None
    reasons = [phrase_reason(reason) for reason in answer.verdict.reasons[: int(why)]]
    if answer.verdict.grade == "partial":
        return f"This may be only part of the answer{': ' + reasons[0] if reasons else ''}."
    closest = ", ".join(one_line(hit.title) for hit in answer.hits[:_MAX_CLOSEST_PAGES])
    verdict = answer.verdict
    named = verdict.missing or verdict.about or len(verdict.reasons) == 1
    reason = reasons[0] if reasons and named else ""
    missing = f" {reason[:1].upper()}{reason[1:]}." if reason else ""
    return f"No page answers this well. Closest: {closest}.{missing}"


def phrase_reason(reason: str) -> str:
    """Return a reason of the verdict with its subject, on one line."""
    return one_line("the best page " + reason[3:] if reason.startswith("it ") else reason)


def _hit_text(hit: Hit) -> str:
    about = ", ".join(fact for fact in (hit.wing, hit.date, "weak" if hit.weak else "") if fact)
    snippet = hit.snippet.replace(MARK_ON, "**").replace(MARK_OFF, "**")
    lines = [without_newlines(f"{hit.rank}. {hit.slug}  {one_line(hit.title)} ({about})")]
    if snippet:
        lines.append(f"   {one_line(snippet)}")
    return "\n".join(lines)


def hit_line(hit: Hit) -> str:
    """Return a hit as one line: slug, title, wing/room, date, line and snippet, between tabs."""
    line = str(hit.chunk.lines[0]) if hit.chunk else ""
    snippet = hit.snippet.replace(MARK_ON, "").replace(MARK_OFF, "")
    fields = (hit.slug, hit.title, f"{hit.wing}/{hit.room}", hit.date or "", line, snippet)
    return "\t".join(one_line(field) for field in fields)


def context_text(context: Sequence[ContextChunk]) -> str:
    """Return the chunks as Markdown, each with a citation that `verify` accepts.

    A page's title is printed once, above its first chunk, and so is each heading. What a page says
    is quoted, line by line: no text of a page can look like a title or citation of another one, or
    open code or a comment that hides them.
    """
    from gbrain.text.citations import Citation

    blocks = []
    for slug, chunks in groupby(context, key=lambda chunk: chunk.slug):
        for number, chunk in enumerate(chunks):
            if number == 0:
                blocks.append(f"## {without_citations(one_line(chunk.title))}")
            text, headings = without_title(chunk)
            about = ", ".join(fact for fact in (" > ".join(headings), chunk.date) if fact)
            if about:
                blocks.append(f"({without_citations(one_line(about))})")
            citation = Citation(slug, chunk.lines, chunk.hash)
            blocks += [quote_text(text), without_newlines(str(citation))]
    return "\n\n".join(filter(None, blocks))


def quote_text(text: str) -> str:
    """Return a page's text with `> ` before every line, without control characters."""
    lines = map(printable, text.strip("\n").splitlines())
    return "\n".join(f"> {line}" if line else ">" for line in lines)


def without_citations(line: str) -> str:
    """Return a line of ours that names titles or headings, with no citation in these."""
    return line.replace("#L", "# L")


def without_title(chunk: ContextChunk) -> tuple[str, tuple[str, ...]]:
    """Return a chunk's text without the page's title, and the headings above that text."""
    text, headings = chunk.text, [name for name in chunk.heading_path if name != chunk.title]
    first = _HEADING_LINE.match(text)
    if first and _heading_name(first) == chunk.title:
        text = text[first.end() :]
        first = _HEADING_LINE.match(text)
    if first and _heading_name(first) in headings:
        headings = headings[: headings.index(_heading_name(first))]
    return text, tuple(headings)


def _heading_name(line: re.Match[str]) -> str:
    """Return the name in a heading line, without the number signs that may close it."""
    return line[1].rstrip().rstrip("#").strip()


def stage_name(stage: Stage) -> str:
    """Return the name of a stage for a screen; JSON keeps the older names of lanes."""
    return LANE_NAMES.get(stage.name, stage.name)


def stage_detail(stage: Stage, *, rungs: bool = True) -> str:
    """Return what a stage did, without scores; `rungs` includes those of the retry ladder."""
    hidden = (SCORES,) if rungs else (SCORES, RUNGS)
    return ", ".join(
        f"{_DETAIL_NAMES.get(name, name)} {'; '.join(detail_list(value))}"
        for name, value in stage.detail.items()
        if value not in (None, []) and name not in hidden
    )


def detail_list(value: Detail) -> list[str]:
    """Return a value of a stage's trace as a list of texts."""
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def stage_lines(answer: Answer) -> Iterator[str]:
    """Yield what each stage of the query did, the scores of its first pages, and the total time."""
    for stage in answer.trace.stages:
        yield f"{stage_name(stage):14} {stage.ms:8.2f} ms  {stage_detail(stage)}"
        scores = stage.detail.get(SCORES)
        for page in scores if isinstance(scores, list) else ():
            if isinstance(page, dict):
                yield f"{page['score']:>25.6f}  {page['slug']}"
    yield f"{'total':14} {answer.took_ms:8.2f} ms"
