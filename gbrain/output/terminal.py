"""Answers for a person at a terminal, with Rich."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from gbrain.output.screen import console
from gbrain.output.text import one_line, printable
from gbrain.store.passages import MARK_OFF, MARK_ON
from gbrain.types import Answer, Hit


def show_answer(answer: Answer, *, debug: bool = False) -> None:
    """Hits to be scanned: title, slug, wing and date, then the stretch that matched."""
    screen = console()
    if not answer.hits:
        screen.print("Nothing found. Fewer or other words may help.", style="dim")
    for hit in answer.hits:
        screen.print(_hit(hit))
    if debug:
        for stage in answer.trace.stages:
            detail = ", ".join(f"{name} {value}" for name, value in stage.detail.items())
            screen.print(Text(f"{stage.name:14} {stage.ms:8.2f} ms  {detail}", style="dim"))
    pages = "page" if len(answer.hits) == 1 else "pages"
    how = f", by {answer.short_circuit}" if answer.short_circuit else f", {answer.mode}"
    screen.print(f"{len(answer.hits)} {pages} in {answer.took_ms:.0f} ms{how}", style="dim")


def _hit(hit: Hit) -> RenderableType:
    names = hit.chunk.heading_path if hit.chunk else ()
    headings = " › ".join(names[1:] if names[:1] == (hit.title,) else names)
    about = " · ".join(one_line(part) for part in (hit.wing, hit.date, headings) if part)
    place = Text.assemble((hit.slug, "cyan"), ("  " + about, "dim"), overflow="fold")
    parts: list[RenderableType] = [
        Text.assemble((f"{hit.rank:>2} ", "dim"), (one_line(hit.title), "bold")),
        Padding(place, (0, 0, 0, 3)),
    ]
    if hit.snippet:
        parts.append(Padding(marked(hit.snippet), (0, 0, 1, 3)))
    return Group(*parts)


def marked(snippet: str) -> Text:
    """A snippet with its matched words highlighted."""
    text = Text()
    for number, part in enumerate(snippet.replace(MARK_OFF, MARK_ON).split(MARK_ON)):
        text.append(printable(part.replace("\n", " ")), style="bold yellow" if number % 2 else "")
    return text


def show_page(text: str) -> None:
    """A page as a reader sees it."""
    console().print(Markdown(printable(text.replace("\r\n", "\n"))))
