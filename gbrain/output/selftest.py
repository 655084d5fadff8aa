"""Format a self-test report as JSON, as rows for a pipe and for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gbrain.evaluate.metrics import Scores
from gbrain.evaluate.selftest import KindComparison, RankChange, SelftestReport, SelftestState
from gbrain.messages import counted, one_line, tab_separated
from gbrain.output import screen
from gbrain.output.json import Document
from gbrain.output.plots import bar

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

MAX_LOST_SHOWN = 10

_ALL = "all"
_MAX_BAR_WIDTH = 16
# The width of the table without its bars.
_TABLE_WIDTH = 60
_MEASURES = ("ndcg_at_10", "recall_at_5", "recall_at_10", "mrr_at_10", "answered")
_KIND_NAMES = {
    "title": "first sentence",
    "heading": "heading",
    "timeline": "timeline date",
    "link": "link text",
    "typo": "typo",
    "paraphrase": "paraphrase",
    "rare": "rare word",
    "month": "page and month",
    "unanswerable": "missing word",
    "fresh": "new note",
    _ALL: "all",
}


def report_document(report: SelftestReport, *, kept: bool) -> Document:
    """Return the report as a JSON document; `kept` says that it was saved as the baseline."""
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
            "difference": round(change.comparison.difference, 6),
            "p_value": round(change.comparison.p_value, 6),
            "wins": change.comparison.wins,
            "losses": change.comparison.losses,
            "ties": change.comparison.ties,
            "worse": change.worse,
        }
        if change
        else None,
    }


def _moved_document(moved: RankChange) -> Document:
    question = moved.result.question
    return {
        "id": question.id,
        "kind": question.kind,
        "text": question.text,
        "expected": question.slug,
        "rank_before": moved.before,
        "rank": moved.result.rank,
        "came": moved.result.first,
    }


def report_text(report: SelftestReport) -> str:
    """Return tab-separated rows: first the `lost` questions, then one row for each `kind`.

    lost: kind, question, expected page, its rank before and now, the page that came first.
    kind: questions, nDCG@10, R@5, R@10, answered; difference and p-value if compared; `worse`.
    """
    rows: list[Sequence[object]] = []
    for moved in report.lost:
        question = moved.result.question
        ranks = (moved.before, moved.result.rank)
        rows.append(
            ("lost", question.kind, question.text, question.slug, *ranks, moved.result.first)
        )
    changes = {change.kind: change for change in report.changes}
    for kind, count, means in report.by_kind():
        figures = [f"{getattr(means, name):.4f}" for name in _MEASURES if name != "mrr_at_10"]
        change = changes.get(kind)
        since = (
            (f"{change.comparison.difference:+.4f}", f"{change.comparison.p_value:.4f}")
            if change
            else (None, None)
        )
        worse = "worse" if change and change.worse else None
        rows.append(("kind", kind or _ALL, count, *figures, *since, worse))
    return tab_separated(rows)


def show_report(report: SelftestReport, *, every: bool) -> None:
    """Print what got worse, the questions whose page lost rank, then a table of all kinds."""
    from rich.text import Text

    terminal = screen.console()
    if report.worse and report.baseline:
        when = _format_time(report.baseline.made_at)
        terminal.print(Text(f"Results got worse since {when}", style="bold red"))
        terminal.print(_worse_table([change for change in report.changes if change.worse]))
    shown = report.lost if every else report.lost[:MAX_LOST_SHOWN]
    if shown:
        title = "Ranked lower than before" if report.worse else "Ranked lower (may be chance)"
        terminal.print(Text(f"\n{title}" if report.worse else title, style="bold"))
        for moved in shown:
            _show_moved(moved)
        if len(shown) < len(report.lost):
            left = len(report.lost) - len(shown)
            terminal.print(Text(f"  {left} more; --verbose shows all of them.", style="dim"))
    terminal.print(_table(report, min(_MAX_BAR_WIDTH, terminal.width - _TABLE_WIDTH)))


def _worse_table(changes: Sequence[KindComparison]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for change in changes:
        comparison = change.comparison
        table.add_row(
            Text(f"✗ {_KIND_NAMES[change.kind or _ALL]}", style="red"),
            f"nDCG@10 {change.before:.3f} → {change.now:.3f}",
            Text(f"{comparison.losses} lost, {comparison.wins} gained", style="dim"),
            Text(f"p {comparison.p_value:.4f}", style="dim"),
        )
    return table


def _show_moved(moved: RankChange) -> None:
    from rich.text import Text

    terminal = screen.console()
    question = moved.result.question
    ranks = f"{_rank(moved.before)} → {_rank(moved.result.rank)}"
    terminal.print(Text.assemble((f"{ranks:>10}  ", "red"), one_line(question.text)))
    first = moved.result.first
    instead = "" if first == question.slug else f"  first: {one_line(first or 'no results')}"
    terminal.print(Text.assemble((" " * 12 + one_line(question.slug), "cyan"), (instead, "dim")))


def _rank(rank: int | None) -> str:
    return f"{rank}." if rank else "none"


def _table(report: SelftestReport, bar_width: int) -> Table:
    from rich.text import Text

    table = screen.narrow_table()
    table.add_column("Asked for by", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("nDCG@10", no_wrap=True)
    for head in ("R@5", "R@10", "Answered"):
        table.add_column(head, justify="right", no_wrap=True)
    if report.changes:
        table.add_column("Since", justify="right", no_wrap=True)
    changes = {change.kind: change for change in report.changes}
    for kind, count, means in report.by_kind():
        length = bar(means.ndcg_at_10, 1, bar_width)
        cells = [
            Text(_KIND_NAMES[kind or _ALL], style="bold" if kind is None else ""),
            Text(f"{count}", style="dim"),
            Text.assemble(f"{means.ndcg_at_10:.3f} ", (length, "cyan")),
            *(
                Text(f"{value:.3f}")
                for value in (means.recall_at_5, means.recall_at_10, means.answered)
            ),
        ]
        if report.changes:
            cells.append(_difference_text(changes.get(kind)))
        if kind is None:
            table.add_section()
        table.add_row(*cells)
    return table


def _difference_text(change: KindComparison | None) -> Text:
    from rich.text import Text

    if change is None:
        return Text("new", style="dim")
    difference = change.comparison.difference
    style = "bold red" if change.worse else "green" if difference > 0.0005 else "dim"
    return Text(f"{difference:+.3f}", style=style)


def report_summary(report: SelftestReport, *, kept: bool) -> str:
    """Return the outcome in a few lines: comparison, what changed, and the next step."""
    baseline = report.baseline
    lines = [f"{counted(len(report.results), 'question')} in {report.seconds:.0f} s."]
    if baseline and report.changes:
        overall = report.changes[0].comparison
        count = overall.wins + overall.losses + overall.ties
        verdict = "results got worse" if report.worse else "results did not get worse"
        lines[0] += (
            f" Compared {count} with the run of {_format_time(baseline.made_at)}: {verdict}."
        )
    elif baseline:
        lines.append(
            "None of the saved questions is still valid; gbrain selftest --keep saves new ones."
        )
    different = list(_differences(baseline.state, report.state)) if baseline else []
    if different:
        lines.append(f"Changed since then: {'; '.join(different)}.")
    if report.dropped:
        lines.append(
            f"{counted(report.dropped, 'question')} left out: pages changed or were deleted."
        )
    if kept:
        lines.append("Saved: later runs are compared with this one.")
    elif report.worse:
        lines.append(
            "If you intended this change: gbrain selftest --keep compares later runs with this one."
        )
    return "\n".join(lines)


def _format_time(made_at: str) -> str:
    return made_at[:16].replace("T", " ")


def _differences(before: SelftestState, now: SelftestState) -> Iterator[str]:
    """Yield what results depend on and what changed, as text."""
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
