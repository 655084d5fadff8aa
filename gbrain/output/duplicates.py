"""Pages that say nearly the same, as a document and side by side on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gbrain.output.diff import changed_ranges
from gbrain.output.json import Document
from gbrain.output.plain_text import one_line, printable
from gbrain.store.duplicates import DuplicatePair, DuplicateResult
from gbrain.store.pages import StoredPage

if TYPE_CHECKING:
    from rich.text import Text

_CONTEXT = 8
_MOST_WORDS = 120


class WordRun(NamedTuple):
    """Words of one page; `own` where the other page does not have them."""

    words: str
    own: bool


def compared_document(compared: DuplicateResult, marked: Sequence[tuple[str, str]]) -> Document:
    """All pairs, the nearest first, and what was marked."""
    done = set(marked)
    return {
        "pages": compared.pages,
        "without_vectors": compared.without_vectors,
        "pairs": [
            {
                "older": _page(pair.older),
                "newer": _page(pair.newer),
                "cosine": round(pair.cosine, 4),
                "words": round(pair.words, 4),
                "reason": pair.reason,
                "marked": (pair.older.slug, pair.newer.slug) in done,
            }
            for pair in compared.pairs
        ],
    }


def _page(page: StoredPage) -> Document:
    return {
        "slug": page.slug,
        "title": page.title,
        "date": page.date,
        "updated_at": page.updated_at,
        "bytes": page.size,
    }


def pair_rows(pairs: Sequence[DuplicatePair]) -> list[tuple[object, ...]]:
    """Each pair as a row: cosine, share of words, the older page, the newer one, why."""
    return [
        (f"{pair.cosine:.3f}", f"{pair.words:.2f}", pair.older.slug, pair.newer.slug, pair.reason)
        for pair in pairs
    ]


def compare_words(old: str, new: str) -> tuple[list[WordRun], list[WordRun]]:
    """Both texts as pieces: what they share cut short around what only one of them has."""
    before, after = old.split(), new.split()
    left: list[WordRun] = []
    right: list[WordRun] = []
    done = 0
    for a, c, b, d in changed_ranges(before, after):
        same = WordRun(_cut(before[done:a], head=done > 0, tail=True), False)
        left += [same, WordRun(" ".join(before[a:c]), True)]
        right += [same, WordRun(" ".join(after[b:d]), True)]
        done = c
    rest = WordRun(_cut(before[done:], head=done > 0, tail=False), False)
    return _short([*left, rest]), _short([*right, rest])


def _cut(words: Sequence[str], *, head: bool, tail: bool) -> str:
    """Words shared by both sides: only those beside a difference, which is before or after them."""
    if not (head or tail):
        head = True
    kept = _CONTEXT * (head + tail)
    if len(words) <= kept + 2:
        return " ".join(words)
    first, last = words[: _CONTEXT * head], words[len(words) - _CONTEXT * tail :]
    return " ".join([*first, "…", *last])


def _short(pieces: Sequence[WordRun]) -> list[WordRun]:
    """The first pieces, as many as fit beside each other on a screen."""
    kept: list[WordRun] = []
    left = _MOST_WORDS
    for piece in pieces:
        words = piece.words.split()
        if len(words) > left:
            return [*kept, WordRun(" ".join([*words[:left], "…"]), piece.own)]
        left -= len(words)
        if words:
            kept.append(piece)
    return kept


def show_pair(number: int, total: int, pair: DuplicatePair, old: str, new: str) -> None:
    """A pair in two columns, the older page on the left, with what differs highlighted."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from gbrain.output.screen import console

    left, right = compare_words(old, new)
    table = Table(box=box.SIMPLE_HEAD, expand=True, pad_edge=False, header_style="")
    for page, age in ((pair.older, "older"), (pair.newer, "newer")):
        table.add_column(Text("\n").join(_head(page, age)), ratio=1, overflow="fold")
    if any(piece.own for piece in left + right):
        table.add_row(_body(left, "red"), _body(right, "green"))
    else:
        table.add_row(*[Text("The same words.", style="dim")] * 2)
    screen = console()
    near = f"{number} of {total}  cosine {pair.cosine:.3f}, {pair.words:.0%} of the words shared"
    screen.print(Text(near, style="dim"))
    screen.print(table)


def _head(page: StoredPage, age: str) -> Iterator[Text]:
    from rich.text import Text

    yield Text(one_line(page.title), style="bold")
    yield Text.assemble(
        (page.slug, "cyan"), (f"  {page.date or page.updated_at[:10]}, {age}", "dim")
    )


def _body(pieces: Sequence[WordRun], style: str) -> Text:
    from rich.text import Text

    shown = [Text(printable(piece.words), style=style if piece.own else "") for piece in pieces]
    return Text(" ").join(shown)
