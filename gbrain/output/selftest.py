"""A self-test as a document, as plain rows, and for a person: what got worse first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gbrain.evaluate.metrics import Scores
from gbrain.evaluate.selftest import BrainState, KindComparison, RankChange, SelftestReport
from gbrain.output import screen
from gbrain.output.json import Document
from gbrain.output.plain_text import one_line, tab_separated
from gbrain.output.plots import bar

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

SHOWN = 10

_ALL = "all"
_BAR_WIDTH = 16
_MEASURES = ("ndcg_at_10", "recall_at_5", "recall_at_10", "mrr_at_10", "answered")
_NAMES = {
    "title": "its first sentences",
    "heading": "a heading",
    "timeline": "a date",
    "link": "words that link to it",
    "typo": "a misspelt word",
    "paraphrase": "other words",
    _ALL: "all",
}


def report_document(report: SelftestReport, *, kept: bool) -> Document:
    changes = {change.kind: change for change in report.changes}
    rows = [
        _row_document(kind or _ALL, count, means, changes.get(kind))
        for kind, count, means in report.by_kind()
    ]
    baseline = report.baseline
    return {
        "worse": report.worse,
        "kept": kept,
        "seconds": round(report.seconds, 2),
        "state": report.state._asdict(),
        "overall": rows[-1],
        "kinds": rows[:-1],
        "baseline": {
            "made_at": baseline.made_at,
            "state": baseline.state._asdict(),
            "dropped": report.dropped,
        }
        if baseline
        else None,
        "lost": [_moved_document(moved) for moved in report.lost],
        "gained": [_moved_document(moved) for moved in report.gained],
    }


def _row_document(kind: str, count: int, means: Scores, change: KindComparison | None) -> Document:
    return {
        "kind": kind,
        "questions": count,
        **{name: round(getattr(means, name), 6) for name in _MEASURES},
        "change": {
            "before": round(change.before, 6),
            "now": round(change.now, 6),
            "difference": round(change.compared.difference, 6),
            "p_value": round(change.compared.p_value, 6),
            "wins": change.compared.wins,
            "losses": change.compared.losses,
            "ties": change.compared.ties,
            "worse": change.worse,
        }
        if change
        else None,
    }


def _moved_document(moved: RankChange) -> Document:
    question = moved.asked.question
    return {
        "id": question.id,
        "kind": question.kind,
        "text": question.text,
        "expected": question.slug,
        "rank_before": moved.before,
        "rank": moved.asked.rank,
        "came": moved.asked.first,
    }


def report_text(report: SelftestReport) -> str:
    """Rows for a pipe: `lost` ones, then one of each kind.

    lost: kind, question, page expected, its place before and now, page that came first.
    kind: questions, nDCG@10, R@5, R@10, answered; difference and p-value if compared; `worse`.
    """
    rows: list[Sequence[object]] = []
    for moved in report.lost:
        question = moved.asked.question
        places = (moved.before, moved.asked.rank)
        rows.append(
            ("lost", question.kind, question.text, question.slug, *places, moved.asked.first)
        )
    changes = {change.kind: change for change in report.changes}
    for kind, count, means in report.by_kind():
        figures = [f"{getattr(means, name):.4f}" for name in _MEASURES if name != "mrr_at_10"]
        change = changes.get(kind)
        since = (
            (f"{change.compared.difference:+.4f}", f"{change.compared.p_value:.4f}")
            if change
            else (None, None)
        )
        worse = "worse" if change and change.worse else None
        rows.append(("kind", kind or _ALL, count, *figures, *since, worse))
    return tab_separated(rows)


def show_report(report: SelftestReport, *, every: bool) -> None:
    """What got worse, the questions lost, then a line with a bar for each kind."""
    from rich.text import Text

    terminal = screen.console()
    if report.worse and report.baseline:
        when = _when(report.baseline.made_at)
        terminal.print(Text(f"Answers got worse since {when}", style="bold red"))
        terminal.print(_worse_table([change for change in report.changes if change.worse]))
    shown = report.lost if every else report.lost[:SHOWN]
    if shown:
        title = "Questions lost" if report.worse else "Questions lost, no more than chance allows"
        terminal.print(Text(f"\n{title}" if report.worse else title, style="bold"))
        for moved in shown:
            _show_moved(moved)
        if len(shown) < len(report.lost):
            left = len(report.lost) - len(shown)
            terminal.print(Text(f"  {left} more; --verbose shows them all.", style="dim"))
    terminal.print(_table(report))


def _worse_table(changes: Sequence[KindComparison]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for change in changes:
        compared = change.compared
        table.add_row(
            Text(f"✗ {_NAMES[change.kind or _ALL]}", style="red"),
            f"nDCG@10 {change.before:.3f} → {change.now:.3f}",
            Text(f"{compared.losses} lost, {compared.wins} gained", style="dim"),
            Text(f"p {compared.p_value:.4f}", style="dim"),
        )
    return table


def _show_moved(moved: RankChange) -> None:
    from rich.text import Text

    terminal = screen.console()
    question = moved.asked.question
    places = f"{_place(moved.before)} → {_place(moved.asked.rank)}"
    terminal.print(Text.assemble((f"{places:>10}  ", "red"), one_line(question.text)))
    came = moved.asked.first
    instead = "nothing" if came is None else one_line(came)
    instead = f"  first came {instead}" if came != question.slug else ""
    terminal.print(Text.assemble((" " * 12 + one_line(question.slug), "cyan"), (instead, "dim")))


def _place(rank: int | None) -> str:
    return f"{rank}." if rank else "gone"


def _table(report: SelftestReport) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Asked by", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("nDCG@10", no_wrap=True)
    for head in ("R@5", "R@10", "Answered"):
        table.add_column(head, justify="right", no_wrap=True)
    if report.changes:
        table.add_column("Since", justify="right", no_wrap=True)
    changes = {change.kind: change for change in report.changes}
    for kind, count, means in report.by_kind():
        length = bar(means.ndcg_at_10, 1, _BAR_WIDTH)
        cells = [
            Text(_NAMES[kind or _ALL], style="bold" if kind is None else ""),
            Text(f"{count}", style="dim"),
            Text.assemble(f"{means.ndcg_at_10:.3f} ", (length, "cyan")),
            *(
                Text(f"{value:.3f}")
                for value in (means.recall_at_5, means.recall_at_10, means.answered)
            ),
        ]
        if report.changes:
            cells.append(_since(changes.get(kind)))
        if kind is None:
            table.add_section()
        table.add_row(*cells)
    return table


def _since(change: KindComparison | None) -> Text:
    from rich.text import Text

    if change is None:
        return Text("new", style="dim")
    difference = change.compared.difference
    style = "bold red" if change.worse else "green" if difference > 0.0005 else "dim"
    return Text(f"{difference:+.3f}", style=style)


def report_summary(report: SelftestReport, *, kept: bool) -> str:
    """The run in a few lines, for the end of the screen."""
    baseline = report.baseline
    told = [f"{_questions(len(report.asked))} in {report.seconds:.0f} s."]
    if baseline and report.changes:
        same = report.changes[0].compared
        count = same.wins + same.losses + same.ties
        verdict = "answers got worse" if report.worse else "nothing got worse"
        told[0] += f" On {count} of them compared with {_when(baseline.made_at)}: {verdict}."
    elif baseline:
        told.append("None of the questions kept is fair any more: run gbrain selftest --keep.")
    different = list(_differences(baseline.state, report.state)) if baseline else []
    if different:
        told.append(f"Different since: {'; '.join(different)}.")
    if report.dropped:
        told.append(f"{_questions(report.dropped)} left out: pages went or changed.")
    if kept:
        told.append("Kept: later runs are compared with this one.")
    elif report.worse:
        told.append("If this is how it should be: gbrain selftest --keep.")
    return "\n".join(told)


def _questions(count: int) -> str:
    return f"{count} {'question' if count == 1 else 'questions'}"


def _when(made_at: str) -> str:
    return made_at[:16].replace("T", " ")


def _differences(before: BrainState, now: BrainState) -> Iterator[str]:
    """What answers depend on and has changed, in words."""
    if before.model != now.model:
        yield f"model {before.model or 'none'} → {now.model or 'none'}"
    if before.program != now.program:
        yield f"gbrain {before.program} → {now.program}"
    if before.pages != now.pages:
        yield f"{before.pages} → {now.pages} pages"
    for name in sorted(before.settings.keys() | now.settings.keys()):
        then, today = before.settings.get(name), now.settings.get(name)
        if then != today:
            yield f"{name} {then or 'default'} → {today or 'default'}"
