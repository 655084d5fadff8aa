"""An evaluation as one value: what was asked, what was found, and how configurations compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gbrain.evaluate.context_recall import Shares
from gbrain.evaluate.datasets import LabelledSet
from gbrain.evaluate.metrics import Comparison, compare
from gbrain.evaluate.runs import Run
from gbrain.evaluate.worst_queries import Loss, lost_most


class Evaluation(NamedTuple):
    """Runs with the baseline first; the others' comparisons with it by name.

    `brain` is the file that was asked. `losses` by name only if they were wanted: without others
    the baseline's own. `contexts` has an entry for each run, or none at all.
    """

    labelled: LabelledSet
    brain: str
    runs: Sequence[Run]
    comparisons: Mapping[str, Comparison]
    losses: Mapping[str, Sequence[Loss]] | None
    contexts: Sequence[Shares]
    notes: Sequence[str]


def gather(
    labelled: LabelledSet,
    brain: str,
    runs: Sequence[Run],
    contexts: Sequence[Shares],
    losses: int | None,
    seed: int,
) -> Evaluation:
    """The evaluation of at least one run, with up to `losses` losses of each."""
    baseline, *others = runs
    comparisons = {
        run.configuration.name: compare(_qualities(run), _qualities(baseline), seed)
        for run in others
    }
    lost = None
    if losses:
        against = baseline if others else None
        lost = {
            run.configuration.name: lost_most(run, against, labelled.relevant, losses)
            for run in others or runs
        }
    notes = [*labelled.notes, *filter(None, map(_fell_back, runs))]
    return Evaluation(labelled, brain, runs, comparisons, lost, contexts, notes)


def _qualities(run: Run) -> list[float]:
    return [asked.scores.ndcg_at_10 for asked in run.asked]


def _fell_back(run: Run) -> str:
    count = sum(asked.fell_back for asked in run.asked)
    return f"{run.configuration.name}: {count} answered by keywords alone." if count else ""
