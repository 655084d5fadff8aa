"""Format evaluations as JSON, as CSV, as rows for a pipe and for a terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gbrain.evaluate.evaluation import Evaluation, ExpectedPage, QueryLoss
from gbrain.evaluate.metrics import Comparison
from gbrain.messages import one_line, tab_separated
from gbrain.output import screen
from gbrain.output.json import Document
from gbrain.output.plots import Point

# Each measure's name in the table and in documents.
MEASURES = (
    ("nDCG@10", "ndcg_at_10"),
    ("R@5", "recall_at_5"),
    ("R@10", "recall_at_10"),
    ("R@100", "recall_at_100"),
    ("MRR@10", "mrr_at_10"),
    ("Hit@5", "success_at_5"),
    ("Answered", "answered"),
)
LATENCIES = (("p50 ms", "p50_ms"), ("p95 ms", "p95_ms"))


def evaluation_document(evaluation: Evaluation) -> Document:
    """Return the evaluation as a JSON document."""
    dataset = evaluation.dataset
    return {
        "set": {
            "folder": str(dataset.folder),
            "qrels": str(dataset.qrels),
            "pages": len(dataset.documents),
            "questions": len(evaluation.runs[0].results),
            "brain": evaluation.brain,
            "notes": list(evaluation.notes),
        },
        "baseline": evaluation.runs[0].configuration.name,
        "configurations": [
            _run_document(evaluation, number) for number in range(len(evaluation.runs))
        ],
    }


def _run_document(evaluation: Evaluation, number: int) -> Document:
    run = evaluation.runs[number]
    name, means = run.configuration.name, run.means
    comparison = evaluation.comparisons.get(name)
    shares = evaluation.contexts[number] if evaluation.contexts else None
    losses = None if evaluation.losses is None else evaluation.losses.get(name)
    return {
        "name": name,
        "settings": dict(run.configuration.values),
        **{key: round(getattr(means, key), 6) for _, key in MEASURES},
        "p50_ms": _round_or_none(run.p50_ms, 3),
        "p95_ms": _round_or_none(run.p95_ms, 3),
        "timed_questions": len(run.times_ms),
        "against_baseline": None
        if comparison is None
        else {
            "difference": round(comparison.difference, 6),
            "p_value": round(comparison.p_value, 6),
            "wins": comparison.wins,
            "losses": comparison.losses,
            "ties": comparison.ties,
        },
        "context": None
        if shares is None
        else [
            {"budget": budget, "evidence": round(mean, 6), "tokens": round(tokens, 1)}
            for budget, mean, tokens in zip(
                shares.budgets, shares.means, shares.mean_tokens, strict=True
            )
        ],
        "losses": None if losses is None else [_loss_document(loss) for loss in losses],
    }


def _loss_document(loss: QueryLoss) -> Document:
    return {
        "id": loss.question.id,
        "text": loss.question.text,
        "ndcg_at_10": round(loss.score, 6),
        "baseline_ndcg_at_10": round(loss.baseline_score, 6),
        "expected": [expected._asdict() for expected in loss.expected],
        "instead": list(loss.instead),
    }


def _round_or_none(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def questions_csv(evaluation: Evaluation) -> str:
    """Return CSV with a header and a row for each configuration and question."""
    budgets = evaluation.contexts[0].budgets if evaluation.contexts else ()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["configuration", "id", "text", *(key for _, key in MEASURES), "ms", "ranking"]
        + [f"context_{budget}" for budget in budgets]
        + [f"context_{budget}_tokens" for budget in budgets]
    )
    for number, run in enumerate(evaluation.runs):
        shares = evaluation.contexts[number].by_question if evaluation.contexts else {}
        tokens = evaluation.contexts[number].tokens if evaluation.contexts else {}
        for result in run.results:
            figures = [f"{getattr(result.scores, key):.6g}" for _, key in MEASURES]
            writer.writerow(
                [run.configuration.name, result.question.id, result.question.text, *figures]
                + ["" if result.ms is None else f"{result.ms:.3f}", " ".join(result.ranking)]
                + [f"{share:.6g}" for share in shares.get(result.question.id, ())]
                + [str(used) for used in tokens.get(result.question.id, ())]
            )
    return text.getvalue()


def latency_points(evaluation: Evaluation) -> list[Point]:
    """Return quality and latency of each configuration that was timed."""
    return [
        Point(run.configuration.name, run.p50_ms, run.means.ndcg_at_10)
        for run in evaluation.runs
        if run.p50_ms
    ]


def evaluation_text(evaluation: Evaluation) -> str:
    """Return a header and a row for each configuration, tab-separated, then the losses."""
    compared = ("Difference", "p", "Won", "Lost", "Tied") if evaluation.comparisons else ()
    budgets = evaluation.contexts[0].budgets if evaluation.contexts else ()
    header = ["Configuration", *(name for name, _ in (*MEASURES, *LATENCIES)), *compared]
    header += [f"{name}@{budget}" for budget in budgets for name in ("Evidence", "Tokens")]
    rows: list[list[object]] = [[*header]]
    for number, run in enumerate(evaluation.runs):
        name = run.configuration.name
        row: list[object] = [name, *(f"{getattr(run.means, key):.4f}" for _, key in MEASURES)]
        row += [_format_ms(run.p50_ms), _format_ms(run.p95_ms)]
        comparison = evaluation.comparisons.get(name)
        row += _comparison_cells(comparison) if comparison else [None] * len(compared)
        if evaluation.contexts:
            recall = evaluation.contexts[number]
            for mean, tokens in zip(recall.means, recall.mean_tokens, strict=True):
                row += [f"{mean:.4f}", f"{tokens:.0f}"]
        rows.append(row)
    blocks = [tab_separated(rows)]
    if evaluation.losses is not None:
        blocks += [
            tab_separated((name, *_loss_cells(loss)) for loss in losses)
            for name, losses in evaluation.losses.items()
            if losses
        ]
    return "\n\n".join(blocks)


def _comparison_cells(comparison: Comparison) -> list[object]:
    return [
        f"{comparison.difference:+.4f}",
        f"{comparison.p_value:.4f}",
        comparison.wins,
        comparison.losses,
        comparison.ties,
    ]


def _format_ms(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}"


def _loss_cells(loss: QueryLoss) -> tuple[str, ...]:
    return (
        loss.question.id,
        loss.question.text,
        f"{loss.baseline_score:.4f}",
        f"{loss.score:.4f}",
        " ".join(expected.slug for expected in loss.expected),
        " ".join(loss.instead),
    )


# Differences with a smaller p-value are shown in colour.
_SIGNIFICANCE_LEVEL = 0.05
_MAX_EXPECTED_SHOWN = 3

Figures = Sequence[Sequence[float | None]]


def show_evaluation(evaluation: Evaluation) -> None:
    """Print the metrics, the comparison with the baseline, context recall and the losses."""
    terminal = screen.console()
    names = [run.configuration.name for run in evaluation.runs]
    qualities = [[getattr(run.means, key) for _, key in MEASURES] for run in evaluation.runs]
    latencies = [[run.p50_ms, run.p95_ms] for run in evaluation.runs]
    figures = _columns([name for name, _ in MEASURES], qualities)
    figures += _columns([name for name, _ in LATENCIES], latencies, digits=1, lowest=True)
    terminal.print(_table(names, figures))
    if evaluation.comparisons:
        baseline = one_line(names[0])
        terminal.print(Text(f"Compared with {baseline}, question by question", style="dim"))
        terminal.print(_comparisons(evaluation))
    if evaluation.contexts:
        budgets = [str(budget) for budget in evaluation.contexts[0].budgets]
        shares = _columns(budgets, [shares.means for shares in evaluation.contexts])
        title = "Share of the evidence in the context, by token budget"
        terminal.print(Text(title, style="dim"))
        terminal.print(_table(names, shares))
        used = [recall.mean_tokens for recall in evaluation.contexts]
        terminal.print(Text("Tokens of the context, by token budget", style="dim"))
        terminal.print(_table(names, _columns(budgets, used, digits=0, lowest=True)))
    for name, losses in (evaluation.losses or {}).items():
        if not losses:
            terminal.print(Text(f"{one_line(name)}: no losses.", style="dim"))
            continue
        terminal.print(Text(f"Largest losses of {one_line(name)}", style="bold"))
        for loss in losses:
            _show_loss(loss, compared=bool(evaluation.comparisons))


def _columns(
    heads: Sequence[str], rows: Figures, *, digits: int = 3, lowest: bool = False
) -> list[tuple[str, list[Text]]]:
    """Return (header, cells) of each column; the best cells are bold unless all are equal."""
    columns = []
    for head, column in zip(heads, zip(*rows, strict=True), strict=True):
        texts = ["" if value is None else _format_number(value, digits) for value in column]
        known = [(value, text) for value, text in zip(column, texts, strict=True) if text]
        best = (min if lowest else max)(known)[1] if known else ""
        differ = len(set(texts)) > 1
        cells = [
            Text(text, style="bold green" if differ and text == best else "") for text in texts
        ]
        columns.append((head, cells))
    return columns


def _format_number(value: float, digits: int) -> str:
    """Format a number; a share loses the zero before its point to save space."""
    text = f"{value:.{digits}f}"
    return text[1:] if digits == 3 and text.startswith("0.") else text


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
        significant = one.p_value < _SIGNIFICANCE_LEVEL
        style = ("green" if one.difference > 0 else "red") if significant else ""
        sign = "-" if one.difference < 0 else "+"
        differences.append(Text(sign + _format_number(abs(one.difference), 3), style=style))
    columns = [
        ("nDCG@10", differences),
        ("p", [Text(f"{one.p_value:.4f}") for one in compared]),
        ("Won", [Text(f"{one.wins}") for one in compared]),
        ("Lost", [Text(f"{one.losses}") for one in compared]),
        ("Tied", [Text(f"{one.ties}") for one in compared]),
    ]
    return _table(names, columns)


def _show_loss(loss: QueryLoss, *, compared: bool) -> None:
    terminal = screen.console()
    before = f"{loss.baseline_score:.2f} → " if compared else ""
    terminal.print(
        Text.assemble(
            (f"  {before}{loss.score:.2f}  ", "red"),
            one_line(loss.question.text),
            (f"  {one_line(loss.question.id)}", "dim"),
        )
    )
    shown = [
        _describe_expected(expected, compared) for expected in loss.expected[:_MAX_EXPECTED_SHOWN]
    ]
    if len(loss.expected) > _MAX_EXPECTED_SHOWN:
        shown.append(f"{len(loss.expected) - _MAX_EXPECTED_SHOWN} more")
    lines = [("expected", ", ".join(shown)), ("got", ", ".join(loss.instead) or "nothing")]
    for name, text in lines:
        terminal.print(Padding(Text.assemble((f"{name:9}", "dim"), one_line(text)), (0, 0, 0, 4)))


def _describe_expected(expected: ExpectedPage, compared: bool) -> str:
    rank = f"rank {expected.rank}" if expected.rank else "not shown"
    before = f", was {expected.baseline_rank or 'not shown'}" if compared else ""
    return f"{expected.slug} ({rank}{before})"
