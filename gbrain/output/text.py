"""Values as plain text: what a pipe gets, stable and without colour."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gbrain.messages import counted
from gbrain.store.chunks import MARK_OFF, MARK_ON
from gbrain.types import Answer, ContextChunk, Hit

_NEAREST = 3

CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"


def printable(text: str) -> str:
    """`text` without control characters: what comes from a page must not drive the terminal."""
    return text if text.isprintable() else re.sub(CONTROL, "\ufffd", text)


def unbroken(text: str) -> str:
    """`text` in one line, as it is otherwise: a name in a message begins no line of its own."""
    return printable(text).replace("\n", " ")


def one_line(text: object) -> str:
    return printable(" ".join(str(text).split()))


def columns(rows: Iterable[Sequence[object]]) -> str:
    """Rows with tabs between the cells; an absent one is empty."""
    lines = ["\t".join("" if cell is None else one_line(cell) for cell in row) for row in rows]
    return "\n".join(lines)


def answer_text(answer: Answer) -> str:
    """Hits, one paragraph each; with depth auto the context instead."""
    if answer.context is not None:
        return context_text(answer.context)
    return "\n".join(_hit_text(hit) for hit in answer.hits)


def read_as(answer: Answer) -> str | None:
    """Which words found the pages, if they are not those of the question."""
    return f"Read as: {one_line(answer.read_as)}" if answer.hits and answer.read_as else None


def left_out(answer: Answer, *, named: bool = False) -> str | None:
    """How many pages another replaces were left out, if any; and which, if they are `named`."""
    if not answer.superseded:
        return None
    slugs = f" ({', '.join(map(one_line, answer.superseded))})" if named else ""
    pages = counted(len(answer.superseded), "superseded page")
    return f"{pages} left out{slugs}; --include-superseded shows them."


def unanswered(answer: Answer) -> str | None:
    """That the hits do not answer the question, if so; of no hits there is nothing to say."""
    if not answer.hits or answer.verdict.grade != "nothing":
        return None
    nearest = ", ".join(one_line(hit.title) for hit in answer.hits[:_NEAREST])
    return f"Nothing here answers this well; nearest: {nearest}."


def _hit_text(hit: Hit) -> str:
    about = ", ".join(part for part in (hit.wing, hit.date) if part)
    snippet = hit.snippet.replace(MARK_ON, "**").replace(MARK_OFF, "**")
    lines = [unbroken(f"{hit.rank}. {hit.slug}  {one_line(hit.title)} ({about})")]
    if snippet:
        lines.append(f"   {one_line(snippet)}")
    return "\n".join(lines)


def context_text(context: Sequence[ContextChunk]) -> str:
    """The pieces as Markdown, each with a citation that `verify` reads back."""
    from gbrain.text.citations import Citation

    blocks = []
    for piece in context:
        where = " > ".join(piece.heading_path)
        source = Citation(piece.slug, piece.lines, piece.hash)
        about = ", ".join(part for part in (where, piece.date) if part)
        head = f"## {one_line(piece.title)}" + (f" ({one_line(about)})" if about else "")
        blocks.append(f"{head}\n\n{_page_text(piece.text)}\n\n{unbroken(str(source))}")
    return "\n\n".join(blocks)


def _page_text(text: str) -> str:
    return "\n".join(printable(line) for line in text.strip("\n").splitlines())
