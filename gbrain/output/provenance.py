"""Render what led to a page, and pairs of similar pages, as JSON, lines and screens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gbrain.messages import one_line, printable
from gbrain.output.diff import changed_ranges
from gbrain.output.json import Document
from gbrain.store.duplicates import DuplicatePair, DuplicateResult
from gbrain.store.pages import StoredPage
from gbrain.store.provenance import Cause, Origin

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree


_STATE_NOTES = {
    "repeated": "elsewhere in this tree",
    "missing": "no such page",
    "page": None,
    "outside": None,
}


def origin_document(origin: Origin) -> Document:
    """Return the page and its causes, nested, as JSON."""
    return {
        "slug": origin.cause.name,
        "title": origin.cause.title,
        "causes": [_cause_document(cause) for cause in origin.causes],
        "more": origin.more,
    }


def _cause_document(origin: Origin) -> Document:
    cause = origin.cause
    known = cause.state in ("page", "repeated")
    return {
        "kind": cause.kind,
        "slug": cause.name if known else None,
        "name": cause.name,
        "title": cause.title,
        "line": cause.line,
        "state": cause.state,
        "causes": [_cause_document(each) for each in origin.causes],
        "more": origin.more,
    }


def origin_lines(origin: Origin) -> list[str]:
    """Return the tree as lines, indented by two spaces for each step back."""
    return [_join_fields(origin.cause.name, origin.cause.title), *_lines_below(origin, "  ")]


def _lines_below(origin: Origin, indent: str) -> Iterator[str]:
    for each in origin.causes:
        yield f"{indent}{each.cause.kind}  {_join_fields(*_describe_cause(each.cause))}"
        yield from _lines_below(each, indent + "  ")
    if origin.more:
        yield f"{indent}and {origin.more} more"


def _describe_cause(cause: Cause) -> tuple[str | None, ...]:
    where = f"line {cause.line}" if cause.line is not None else None
    state = _STATE_NOTES[cause.state]
    return cause.name, cause.title, where, f"({state})" if state else None


def _join_fields(*parts: str | None) -> str:
    return "  ".join(one_line(part) for part in parts if part)


def show_origin(origin: Origin, *, pager: bool = True) -> None:
    """Print the tree on the terminal."""
    from rich.text import Text
    from rich.tree import Tree

    from gbrain.output.screen import console, open_pager

    top = origin.cause
    root = Tree(Text.assemble((one_line(top.title), "bold"), "  ", (top.name, "cyan")))
    _add_causes(root, origin)
    with open_pager(terminal := console(), wanted=pager):
        terminal.print(root)


def _add_causes(tree: Tree, origin: Origin) -> None:
    from rich.text import Text

    for each in origin.causes:
        _add_causes(tree.add(_label(each.cause)), each)
    if origin.more:
        tree.add(Text(f"and {origin.more} more", style="dim"))


def _label(cause: Cause) -> Text:
    from rich.text import Text

    name, title, where, state = (one_line(part) if part else "" for part in _describe_cause(cause))
    known = cause.state in ("page", "repeated")
    parts = [(cause.kind, "dim"), (name, "cyan" if known else ""), (title, ""), (where, "dim")]
    return Text("  ").join(Text(*part) for part in [*parts, (state, "yellow")] if part[0])


# --- pairs of similar pages, for dedupe ------------------------------------------------------

_CONTEXT_WORDS = 8
_MAX_SHOWN_WORDS = 120


class WordRun(NamedTuple):
    """Consecutive words of one page; `own` if the other page does not have them."""

    words: str
    own: bool


def duplicates_document(result: DuplicateResult, marked: Sequence[tuple[str, str]]) -> Document:
    """Return all pairs, most similar first; `marked` pairs were just marked as superseded."""
    done = set(marked)
    return {
        "pages": result.pages,
        "without_vectors": result.without_vectors,
        "pairs": [
            {
                "older": _page_document(pair.older),
                "newer": _page_document(pair.newer),
                "cosine": round(pair.cosine, 4),
                "words": round(pair.words, 4),
                "reason": pair.reason,
                "marked": (pair.older.slug, pair.newer.slug) in done,
            }
            for pair in result.pairs
        ],
    }


def _page_document(page: StoredPage) -> Document:
    return {
        "slug": page.slug,
        "title": page.title,
        "date": page.date,
        "updated_at": page.updated_at,
        "bytes": page.size,
    }


def pair_rows(pairs: Sequence[DuplicatePair]) -> list[tuple[object, ...]]:
    """Return a row for each pair: cosine, share of words, older slug, newer slug, reason."""
    return [
        (f"{pair.cosine:.3f}", f"{pair.words:.2f}", pair.older.slug, pair.newer.slug, pair.reason)
        for pair in pairs
    ]


def compare_words(old: str, new: str) -> tuple[list[WordRun], list[WordRun]]:
    """Return both texts as runs of words; shared runs are shortened around the differences."""
    before, after = old.split(), new.split()
    left: list[WordRun] = []
    right: list[WordRun] = []
    done = 0
    for a, c, b, d in changed_ranges(before, after):
        same = WordRun(_shorten_shared(before[done:a], head=done > 0, tail=True), False)
        left += [same, WordRun(" ".join(before[a:c]), True)]
        right += [same, WordRun(" ".join(after[b:d]), True)]
        done = c
    rest = WordRun(_shorten_shared(before[done:], head=done > 0, tail=False), False)
    return _limit_words([*left, rest]), _limit_words([*right, rest])


def _shorten_shared(words: Sequence[str], *, head: bool, tail: bool) -> str:
    """Join shared words; keep the first if a difference is before (`head`), the last if after."""
    if not (head or tail):
        head = True
    kept = _CONTEXT_WORDS * (head + tail)
    if len(words) <= kept + 2:
        return " ".join(words)
    first, last = words[: _CONTEXT_WORDS * head], words[len(words) - _CONTEXT_WORDS * tail :]
    return " ".join([*first, "…", *last])


def _limit_words(runs: Sequence[WordRun]) -> list[WordRun]:
    """Return the first runs, at most 120 words in total."""
    kept: list[WordRun] = []
    left = _MAX_SHOWN_WORDS
    for run in runs:
        words = run.words.split()
        if len(words) > left:
            return [*kept, WordRun(" ".join([*words[:left], "…"]), run.own)]
        left -= len(words)
        if words:
            kept.append(run)
    return kept


def show_pair(number: int, total: int, pair: DuplicatePair, old: str, new: str) -> None:
    """Print a pair in two columns, the older page on the left, with differences highlighted."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from gbrain.output.screen import console

    left, right = compare_words(old, new)
    table = Table(box=box.SIMPLE_HEAD, expand=True, pad_edge=False, header_style="")
    for page, age in ((pair.older, "older"), (pair.newer, "newer")):
        table.add_column(Text("\n").join(_header_lines(page, age)), ratio=1, overflow="fold")
    if any(run.own for run in left + right):
        table.add_row(_highlighted_text(left, "red"), _highlighted_text(right, "green"))
    else:
        table.add_row(*[Text("Both pages have the same words.", style="dim")] * 2)
    screen = console()
    summary = f"{number} of {total}  cosine {pair.cosine:.3f}, {pair.words:.0%} of the words shared"
    screen.print(Text(summary, style="dim"))
    screen.print(table)


def _header_lines(page: StoredPage, age: str) -> Iterator[Text]:
    from rich.text import Text

    yield Text(one_line(page.title), style="bold")
    yield Text.assemble(
        (page.slug, "cyan"), (f"  {page.date or page.updated_at[:10]}, {age}", "dim")
    )


def _highlighted_text(runs: Sequence[WordRun], style: str) -> Text:
    from rich.text import Text

    shown = [Text(printable(run.words), style=style if run.own else "") for run in runs]
    return Text(" ").join(shown)
