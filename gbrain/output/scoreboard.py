"""Evaluations for a person at a terminal: tables with the best figure of each column in bold."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gbrain.evaluate.runs import Evaluation
from gbrain.evaluate.worst_queries import Expected, Loss
from gbrain.output import screen
from gbrain.output.evaluation import LATENCIES, MEASURES
from gbrain.output.text import one_line

# A difference that chance gives less often than this is shown as one.
_SURE = 0.05
_EXPECTED_SHOWN = 3

Figures = Sequence[Sequence[float | None]]


def show_evaluation(evaluation: Evaluation) -> None:
    """The figures, the comparison with the baseline, the evidence in contexts, and the losses."""
    terminal = screen.console()
    names = [run.configuration.name for run in evaluation.runs]
    qualities = [[getattr(run.means, key) for _, key in MEASURES] for run in evaluation.runs]
    latencies = [[run.p50_ms, run.p95_ms] for run in evaluation.runs]
    figures = _columns([name for name, _ in MEASURES], qualities)
    figures += _columns([name for name, _ in LATENCIES], latencies, digits=1, lowest=True)
    terminal.print(_table(names, figures))
    if evaluation.comparisons:
        baseline = one_line(names[0])
        terminal.print(Text(f"Against {baseline}, question by question", style="dim"))
        terminal.print(_comparisons(evaluation))
    if evaluation.contexts:
        budgets = [str(budget) for budget in evaluation.contexts[0].budgets]
        shares = _columns(budgets, [shares.means for shares in evaluation.contexts])
        title = "Share of the evidence inside the context, by the context's tokens"
        terminal.print(Text(title, style="dim"))
        terminal.print(_table(names, shares))
    for name, losses in (evaluation.losses or {}).items():
        if not losses:
            terminal.print(Text(f"{one_line(name)} lost nothing.", style="dim"))
            continue
        terminal.print(Text(f"Lost most by {one_line(name)}", style="bold"))
        for loss in losses:
            _show_loss(loss, compared=bool(evaluation.comparisons))


def _columns(
    heads: Sequence[str], rows: Figures, *, digits: int = 3, lowest: bool = False
) -> list[tuple[str, list[Text]]]:
    """Each head with its cells; the best cells of a column are bold, if not all are as good."""
    made = []
    for head, column in zip(heads, zip(*rows, strict=True), strict=True):
        written = ["" if value is None else _short(value, digits) for value in column]
        known = [(value, text) for value, text in zip(column, written, strict=True) if text]
        best = (min if lowest else max)(known)[1] if known else ""
        told = len(set(written)) > 1
        cells = [
            Text(text, style="bold green" if told and text == best else "") for text in written
        ]
        made.append((head, cells))
    return made


def _short(value: float, digits: int) -> str:
    """A share without the zero before its point, which only takes room."""
    written = f"{value:.{digits}f}"
    return written[1:] if digits == 3 and written.startswith("0.") else written


def _table(names: Sequence[str], columns: list[tuple[str, list[Text]]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", overflow="fold", style="cyan")
    for head, _ in columns:
        table.add_column(head, justify="right", no_wrap=True)
    for number, name in enumerate(names):
        table.add_row(Text(one_line(name)), *(cells[number] for _, cells in columns))
    return table


def _comparisons(evaluation: Evaluation) -> Table:
    names = list(evaluation.comparisons)
    compared = list(evaluation.comparisons.values())
    differences = []
    for one in compared:
        sure = one.p_value < _SURE
        style = ("green" if one.difference > 0 else "red") if sure else ""
        sign = "-" if one.difference < 0 else "+"
        differences.append(Text(sign + _short(abs(one.difference), 3), style=style))
    columns = [
        ("nDCG@10", differences),
        ("p", [Text(f"{one.p_value:.4f}") for one in compared]),
        ("Won", [Text(f"{one.wins}") for one in compared]),
        ("Lost", [Text(f"{one.losses}") for one in compared]),
        ("Tied", [Text(f"{one.ties}") for one in compared]),
    ]
    return _table(names, columns)


def _show_loss(loss: Loss, *, compared: bool) -> None:
    terminal = screen.console()
    before = f"{loss.baseline_score:.2f} → " if compared else ""
    terminal.print(
        Text.assemble(
            (f"  {before}{loss.score:.2f}  ", "red"),
            one_line(loss.question.text),
            (f"  {one_line(loss.question.id)}", "dim"),
        )
    )
    shown = [_expected(expected, compared) for expected in loss.expected[:_EXPECTED_SHOWN]]
    if len(loss.expected) > _EXPECTED_SHOWN:
        shown.append(f"{len(loss.expected) - _EXPECTED_SHOWN} more")
    lines = [("expected", ", ".join(shown)), ("came", ", ".join(loss.instead) or "nothing")]
    for name, text in lines:
        terminal.print(Padding(Text.assemble((f"{name:9}", "dim"), one_line(text)), (0, 0, 0, 4)))


def _expected(expected: Expected, compared: bool) -> str:
    rank = f"rank {expected.rank}" if expected.rank else "not shown"
    before = f", was {expected.baseline_rank or 'not shown'}" if compared else ""
    return f"{expected.slug} ({rank}{before})"
