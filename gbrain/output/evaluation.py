"""Evaluations as a document, as rows for each question, and as plain lines."""

from __future__ import annotations

import csv
import io

from gbrain.evaluate.metrics import Comparison
from gbrain.evaluate.runs import Evaluation
from gbrain.evaluate.worst_queries import Loss
from gbrain.output.json import Document
from gbrain.output.plots import Point
from gbrain.output.text import columns

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
    labelled = evaluation.labelled
    return {
        "set": {
            "folder": str(labelled.folder),
            "qrels": str(labelled.qrels),
            "pages": len(labelled.documents),
            "questions": len(evaluation.runs[0].asked),
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
        "p50_ms": _rounded(run.p50_ms, 3),
        "p95_ms": _rounded(run.p95_ms, 3),
        "timed_questions": len(run.timed),
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
            {"budget": budget, "evidence": round(mean, 6)}
            for budget, mean in zip(shares.budgets, shares.means, strict=True)
        ],
        "losses": None if losses is None else [_loss_document(loss) for loss in losses],
    }


def _loss_document(loss: Loss) -> Document:
    return {
        "id": loss.question.id,
        "text": loss.question.text,
        "ndcg_at_10": round(loss.score, 6),
        "baseline_ndcg_at_10": round(loss.baseline_score, 6),
        "expected": [expected._asdict() for expected in loss.expected],
        "instead": list(loss.instead),
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def questions_csv(evaluation: Evaluation) -> str:
    """A row for each configuration and question, with a header."""
    budgets = evaluation.contexts[0].budgets if evaluation.contexts else ()
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(
        ["configuration", "id", "text", *(key for _, key in MEASURES), "ms", "ranking"]
        + [f"context_{budget}" for budget in budgets]
    )
    for number, run in enumerate(evaluation.runs):
        shares = evaluation.contexts[number].by_question if evaluation.contexts else {}
        for asked in run.asked:
            figures = [f"{getattr(asked.scores, key):.6g}" for _, key in MEASURES]
            writer.writerow(
                [run.configuration.name, asked.question.id, asked.question.text, *figures]
                + ["" if asked.ms is None else f"{asked.ms:.3f}", " ".join(asked.ranking)]
                + [f"{share:.6g}" for share in shares.get(asked.question.id, ())]
            )
    return written.getvalue()


def points(evaluation: Evaluation) -> list[Point]:
    """Quality against latency; a configuration that was not timed has no point."""
    return [
        Point(run.configuration.name, run.p50_ms, run.means.ndcg_at_10)
        for run in evaluation.runs
        if run.p50_ms
    ]


def evaluation_text(evaluation: Evaluation) -> str:
    """One line a configuration below a header, with tabs between the cells."""
    compared = ("Difference", "p", "Won", "Lost", "Tied") if evaluation.comparisons else ()
    budgets = evaluation.contexts[0].budgets if evaluation.contexts else ()
    header = ["Configuration", *(name for name, _ in (*MEASURES, *LATENCIES)), *compared]
    rows: list[list[object]] = [[*header, *(f"Evidence@{budget}" for budget in budgets)]]
    for number, run in enumerate(evaluation.runs):
        name = run.configuration.name
        row: list[object] = [name, *(f"{getattr(run.means, key):.4f}" for _, key in MEASURES)]
        row += [_written_ms(run.p50_ms), _written_ms(run.p95_ms)]
        comparison = evaluation.comparisons.get(name)
        row += _compared(comparison) if comparison else [None] * len(compared)
        if evaluation.contexts:
            row += [f"{mean:.4f}" for mean in evaluation.contexts[number].means]
        rows.append(row)
    blocks = [columns(rows)]
    if evaluation.losses is not None:
        blocks += [
            columns((name, *_loss_cells(loss)) for loss in losses)
            for name, losses in evaluation.losses.items()
            if losses
        ]
    return "\n\n".join(blocks)


def _compared(comparison: Comparison) -> list[object]:
    return [
        f"{comparison.difference:+.4f}",
        f"{comparison.p_value:.4f}",
        comparison.wins,
        comparison.losses,
        comparison.ties,
    ]


def _written_ms(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}"


def _loss_cells(loss: Loss) -> tuple[str, ...]:
    return (
        loss.question.id,
        loss.question.text,
        f"{loss.baseline_score:.4f}",
        f"{loss.score:.4f}",
        " ".join(expected.slug for expected in loss.expected),
        " ".join(loss.instead),
    )
