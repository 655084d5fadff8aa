"""Print answers and pages on a terminal with Rich."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from gbrain.messages import counted, one_line, printable
from gbrain.output.answer_text import (
    LANE_NAMES,
    hidden_hits_notice,
    how_found,
    named_page_notice,
    phrase_reason,
    poor_answer_notice,
    read_as_notice,
    stage_lines,
    superseded_notice,
    without_citations,
    without_title,
)
from gbrain.output.screen import console, isolate_rtl, open_pager
from gbrain.output.terminal_markdown import TerminalMarkdown
from gbrain.text.snippet import MARK_OFF, MARK_ON, shorten
from gbrain.types import Answer, Budget, Candidate, ContextChunk, Hit

Files = Mapping[str, Path]

_NO_FILES: Files = {}

# Longer lines are hard to read on any screen.
_MAX_WIDTH = 110
_MIN_WIDTH_FOR_REASONS = 70
_INDENT = 3
_WIKILINK = r"!?\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]"
# Drawn as one character: a line must not break inside "[ ]".
_CHECKBOX = r"(?<!\S)\[([ xX])\](?= )"
_MAX_SNIPPET_LINES = 2
# Wrapped lines are seldom full.
_FILLED_SHARE = 0.9
# On a lower screen, five hits do not fit with a blank line between them.
_MIN_HEIGHT_FOR_SPACING = 30
_MATCH = "bold red"

_MEASURES = {"vector": "cosine ", "associative": "cosine "}

_STOPPED = {
    "budget": "the budget was full",
    "relevance": "the rest was not relevant enough",
    "coverage": "nothing new would be added",
    "exhausted": "nothing was left",
    "verdict": "the closest text was shown",
}


def show_answer(
    answer: Answer,
    hits: Sequence[Hit] | None = None,
    *,
    verbose: bool = False,
    debug: bool = False,
    files: Files = _NO_FILES,
    pager: bool = True,
    footer: str | None = "",
) -> None:
    """Print the assembled context, or the hits, then notices and a summary line.

    `hits` are those to list (default: all). `files` are the pages' files by slug, for links to
    them. `footer` ends the summary; with None the summary is left out.
    """
    screen = console()
    hits = answer.hits if hits is None else hits
    with open_pager(screen, wanted=pager):
        if answer.context is not None and answer.budget is not None:
            _show_context(screen, answer.context, answer.budget, files)
        else:
            for hit in hits:
                screen.print(Constrain(_hit(hit, screen, verbose, files), _MAX_WIDTH))
        if debug:
            for line in stage_lines(answer):
                screen.print(Text(line, style="dim"))
        for line in closing_notices(answer, verbose=verbose):
            screen.print(Text(line))
        if footer is not None:
            for line in _summary(answer, hits, footer, screen.width):
                screen.print(Text(line, style="dim"))


# --- hits ------------------------------------------------------------------------------------


def _hit(hit: Hit, screen: Console, verbose: bool, files: Files) -> RenderableType:
    width = min(screen.width, _MAX_WIDTH)
    about = [hit.wing, hit.date]
    if hit.chunk and not verbose:
        about.append(_headings(hit.title, hit.chunk.heading_path))
    place = Text.assemble(
        (one_line(hit.slug), "cyan"),
        ("  " + " · ".join(one_line(part) for part in about if part), "dim"),
        overflow="fold",
    )
    style = file_link_style("bold", files.get(hit.slug))
    title = isolate_rtl(Text(one_line(hit.title), style=style, overflow="fold"))
    reasons = Text("" if verbose else " · ".join(rank_reasons(hit)), style="dim")
    # Long reasons must not squeeze the title.
    beside = width >= _MIN_WIDTH_FOR_REASONS and reasons.cell_len <= width // 2
    head = Table.grid(expand=beside)
    head.add_column(width=_INDENT, no_wrap=True)
    head.add_column(ratio=1 if beside else None, overflow="fold")
    head.add_column(justify="right", no_wrap=True)
    head.add_row(
        Text(f"{hit.rank:>2} ", style="dim"), title, Text("  ") + reasons if beside else ""
    )
    lines: list[RenderableType] = [place]
    lines += [Text(line, style="dim") for line in _details(hit, files)] if verbose else []
    if hit.snippet:
        snippet = re.sub(_CHECKBOX, _draw_checkbox, re.sub(_WIKILINK, _link_name, hit.snippet))
        lines.append(highlight_matches(snippet if verbose else _fit(snippet, width)))
    if not beside and reasons:
        lines.append(reasons)
    spacing = 1 if screen.height >= _MIN_HEIGHT_FOR_SPACING else 0
    return Group(head, Padding(Group(*lines), (0, 0, spacing, _INDENT)))


def _link_name(match: re.Match[str]) -> str:
    """Return the label of a wikilink, else the name of its page without folders.

    Marks of what is left out are kept, as each belongs to another one.
    """
    start, stop = match.span(2 if match[2] else 1)
    if not match[2]:
        start += match[1].rfind("/") + 1
    text = match.string
    before, after = text[match.start() : start], text[stop : match.end()]
    return f"{_marks(before)}{text[start:stop]}{_marks(after)}"


def _marks(text: str) -> str:
    return "".join(re.findall(f"[{MARK_ON}{MARK_OFF}]", text))


def _draw_checkbox(match: re.Match[str]) -> str:
    return "☐" if match[1] == " " else "☑"


def _fit(snippet: str, width: int) -> str:
    """Return the part of a snippet that fills two lines of a hit."""
    cells = (width - _INDENT) * _MAX_SNIPPET_LINES * _FILLED_SHARE
    # East Asian characters take two cells.
    return shorten(snippet, int(cells * len(snippet) / max(cell_len(snippet), 1)))


def rank_reasons(hit: Hit) -> Iterator[str]:
    """Yield why a page has its rank: its rank in each lane, and its boosts."""
    for lane, candidate in _by_lane(hit):
        yield "by its name" if lane == "sms" else f"{LANE_NAMES[lane]} #{candidate.rank}"
    if hit.weak:
        yield "weak"
    yield from _boosts(hit)


def _boosts(hit: Hit) -> Iterator[str]:
    for name, factor in hit.boosts.items():
        if factor != 1:
            yield f"{one_line(name)} ×{factor:.3g}"


def _details(hit: Hit, files: Files) -> Iterator[str]:
    scores = [
        f"{LANE_NAMES[lane]} #{found.rank} ({_MEASURES.get(lane, '')}{found.score:.4g})"
        for lane, found in _by_lane(hit)
    ]
    yield " · ".join([f"score {hit.score:.4g}", *scores, *_boosts(hit)])
    kinds = [f"room {hit.room}", f"type {hit.type}" if hit.type else ""]
    if hit.chunk:
        first, last = hit.chunk.lines
        kinds.append(f"line {first}" if first == last else f"lines {first} to {last}")
        kinds.append(_headings(hit.title, hit.chunk.heading_path))
    yield " · ".join(one_line(kind) for kind in kinds if kind)
    if hit.slug in files:
        yield one_line(files[hit.slug])


def _by_lane(hit: Hit) -> list[tuple[str, Candidate]]:
    """Return the lanes that found a page, the usual ones first."""
    order = list(LANE_NAMES)
    return sorted(hit.lanes.items(), key=lambda item: order.index(item[0]))


def _headings(title: str, path: tuple[str, ...]) -> str:
    return " › ".join(path[1:] if path[:1] == (title,) else path)


def file_link_style(style: str, file: Path | None) -> Style:
    """Return a style that links to the file, on terminals that support links."""
    look = Style.parse(style)
    return look + Style(link=file.as_uri()) if file else look


def highlight_matches(snippet: str) -> Text:
    """Return a snippet with matched words highlighted."""
    text = Text(overflow="fold")
    for number, part in enumerate(snippet.replace(MARK_OFF, MARK_ON).split(MARK_ON)):
        text.append(printable(part.replace("\n", " ")), style=_MATCH if number % 2 else "")
    return isolate_rtl(text)


# --- how it was answered ---------------------------------------------------------------------


def closing_notices(answer: Answer, *, verbose: bool = False) -> Iterator[str]:
    """Yield notices: how the query was read, a poor verdict, and what was left out."""
    if words := read_as_notice(answer):
        yield words
    if not answer.hits:
        further = "; gbrain query also searches by meaning" if answer.mode == "bm25" else ""
        yield f"Nothing found. Try fewer or other words{further}."
    elif poor := poor_answer_notice(answer, why=not verbose):
        yield poor
    if verbose and answer.hits:
        verdict = answer.verdict
        reasons = "; ".join(map(phrase_reason, verdict.reasons))
        yield f"Verdict {verdict.grade}, confidence {verdict.confidence:.2f}: {reasons}."
    if less := superseded_notice(answer, named=verbose):
        yield less
    if named := named_page_notice(answer):
        yield named


def _summary(answer: Answer, listed: Sequence[Hit], footer: str, width: int) -> list[str]:
    """Return how many pages were found and what can be done next, in lines that fit if possible."""
    lines = [f"{counted(len(answer.hits), 'page')} in {answer.took_ms:.0f} ms, {how_found(answer)}"]
    for hint in filter(None, (hidden_hits_notice(answer, listed), footer)):
        longer = f"{lines[-1]}; {hint}"
        lines = [*lines[:-1], longer] if cell_len(longer) <= width else [*lines, hint]
    return lines


# --- context and pages -----------------------------------------------------------------------


def _show_context(
    screen: Console, context: tuple[ContextChunk, ...], budget: Budget, files: Files
) -> None:
    from gbrain.text.citations import Citation

    shown, markdown = None, TerminalMarkdown(whole=False)
    for chunk in context:
        text, headings = without_title(chunk)
        about = (chunk.date, " › ".join(headings), chunk.role, f"{chunk.tokens} tokens")
        said = " · ".join(one_line(fact) for fact in about if fact)
        facts = Text(without_citations(said), style="dim")
        if chunk.slug != shown:
            shown = chunk.slug
            link = file_link_style("bold", files.get(chunk.slug))
            title = without_citations(one_line(chunk.title))
            facts = Text.assemble((title, link), "  ", facts)
        # On one line: what wraps would begin like a line of ours.
        screen.print(facts, no_wrap=True, overflow="ellipsis")
        text = printable(text.replace("\r\n", "\n")).strip("\n")
        source = Text(str(Citation(chunk.slug, chunk.lines, chunk.hash)), style="cyan dim")
        # Only what a page says is indented, so that it cannot look like a title or a citation.
        screen.print(Constrain(Padding(markdown.render(text), (0, 0, 0, _INDENT)), _MAX_WIDTH))
        screen.print(source)
        screen.print()
    dropped = f", {counted(len(budget.dropped), 'chunk')} left out" if budget.dropped else ""
    screen.print(
        Text(f"{budget.used} of {budget.limit} tokens, until {_STOPPED[budget.stopped]}{dropped}")
    )


def show_page(text: str, *, pager: bool = True) -> None:
    """Print a page with its Markdown rendered."""
    from gbrain.text.frontmatter import split_front_matter

    front, body = split_front_matter(text)
    about = [line for line in front.raw.splitlines() if line.rstrip() not in ("---", "...")]
    screen = console()
    with open_pager(screen, wanted=pager):
        for line in about:
            screen.print(Text(printable(line.lstrip("\ufeff")), style="dim"))
        screen.print(
            TerminalMarkdown(whole=True).render(printable(body.replace("\r\n", "\n"))), crop=False
        )
