"""Changes that could make answers worse, measured before and after they are made."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import NamedTuple

from gbrain.brain import Brain, timestamp
from gbrain.errors import NotFound
from gbrain.evaluate.question_mining import mine_questions
from gbrain.evaluate.selftest import (
    TOLERANCE,
    Baseline,
    SelftestReport,
    ask_questions,
    brain_state,
    build_report,
    load_baseline,
    run_selftest,
    save_baseline,
)
from gbrain.store import models
from gbrain.store.vectors import VectorSpace, has_vectors
from gbrain.types import Progress, no_progress

# Questions of each kind: half as many as a self-test asks, since they are asked twice.
QUESTIONS_PER_KIND = 50


def measure_change(
    brain: Brain,
    change: Callable[[], object],
    *,
    most: int = QUESTIONS_PER_KIND,
    tolerance: float = TOLERANCE,
    progress: Progress = no_progress,
) -> SelftestReport | None:
    """Measures, calls `change`, measures again; None if there is nothing to ask.

    `report.worse` says that the change made answers worse; taking it back is the caller's.
    """
    with brain.database.read_transaction() as connection:
        questions = mine_questions(connection, most)
    if not questions:
        change()
        return None
    total = 2 * len(questions)
    before = ask_questions(brain, questions, lambda done, _: progress(done, total))
    baseline = Baseline(timestamp(), brain_state(brain), before)
    change()
    began = perf_counter()
    after = ask_questions(brain, questions, lambda done, _: progress(len(questions) + done, total))
    seconds = perf_counter() - began
    return build_report(after, brain_state(brain), baseline, tolerance=tolerance, seconds=seconds)


class ModelSwitch(NamedTuple):
    """What became of a change of model.

    `report` compares both models where the new one had all its vectors; else `kept` says that the
    old one's answers are the baseline now, to compare with once it has.
    """

    model: models.ModelRow
    used: bool
    report: SelftestReport | None = None
    kept: bool = False


def switch_model(
    brain: Brain,
    name: str,
    *,
    anyway: bool = False,
    most: int = QUESTIONS_PER_KIND,
    progress: Progress = no_progress,
) -> ModelSwitch:
    """Makes `name` the active model, unless answers get worse by it and not `anyway`."""
    old = brain.active_model()
    with brain.database.read_transaction() as connection:
        new = models.require_model(connection, name)
        had_vectors = has_vectors(connection, old.space)
        complete = _is_complete(connection, new.space)
    if new.id == old.id or not had_vectors:
        return ModelSwitch(brain.use_model(name), used=True)
    if not complete:
        kept = _keep_answers(brain, most, progress)
        return ModelSwitch(brain.use_model(name), used=True, kept=kept)
    used = False
    try:
        report = measure_change(brain, lambda: brain.use_model(name), most=most, progress=progress)
        used = anyway or report is None or not report.worse
    finally:
        # Also when it was interrupted: a model that was only tried must not stay.
        if not used:
            brain.use_model(old.name)
    return ModelSwitch(new, used, report)


def _is_complete(connection: sqlite3.Connection, space: VectorSpace) -> bool:
    """Whether every passage has its vector."""
    missing = connection.execute(
        "SELECT 1 FROM chunks WHERE NOT EXISTS "
        f"(SELECT 1 FROM {space.vectors} AS v WHERE v.model_id = ? AND v.hash = chunks.hash) "
        "LIMIT 1",
        (space.model_id,),
    )
    return missing.fetchone() is None


def _keep_answers(brain: Brain, most: int, progress: Progress) -> bool:
    """Makes how the brain answers now the baseline; False if there is nothing to ask."""
    known = load_baseline(brain)
    with suppress(NotFound):
        save_baseline(brain, run_selftest(brain, most=most, baseline=known, progress=progress))
        return True
    return False
