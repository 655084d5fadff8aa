"""Switch the embedding model only after measuring that results do not get worse."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import NamedTuple

from gbrain.brain import Brain, timestamp
from gbrain.errors import NotFound
from gbrain.evaluate.question_mining import RANKED_KINDS, mine_questions
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
from gbrain.store.vectors import has_all_vectors, has_vectors
from gbrain.types import Progress, no_progress

# Half of a self-test's questions, because they are asked twice.
QUESTIONS_PER_KIND = 50


def measure_change(
    brain: Brain,
    change: Callable[[], object],
    *,
    limit: int = QUESTIONS_PER_KIND,
    tolerance: float = TOLERANCE,
    progress: Progress = no_progress,
) -> SelftestReport | None:
    """Run a self-test before and after calling `change`; return None if there are no questions.

    `report.worse` says that results got worse; undoing the change is up to the caller.
    """
    with brain.database.read_transaction() as connection:
        questions = mine_questions(connection, limit, RANKED_KINDS)
    if not questions:
        change()
        return None
    total = 2 * len(questions)
    before = ask_questions(brain, questions, lambda done, _: progress(done, total))
    baseline = Baseline(timestamp(), brain_state(brain), before)
    change()
    started = perf_counter()
    after = ask_questions(brain, questions, lambda done, _: progress(len(questions) + done, total))
    seconds = perf_counter() - started
    return build_report(after, brain_state(brain), baseline, tolerance=tolerance, seconds=seconds)


class ModelSwitch(NamedTuple):
    """The outcome of a switch to `model`.

    `report` compares both models if the new one has all its vectors. Otherwise the model is `next`:
    it becomes active when all chunks are embedded, and `baseline_saved` says that the old model's
    results are the baseline for a later self-test.
    """

    model: models.ModelRow
    used: bool
    next: bool = False
    report: SelftestReport | None = None
    baseline_saved: bool = False


def switch_model(
    brain: Brain,
    name: str,
    *,
    force: bool = False,
    limit: int = QUESTIONS_PER_KIND,
    progress: Progress = no_progress,
) -> ModelSwitch:
    """Make `name` the active model, unless results get worse and `force` is not set.

    A model that lacks vectors becomes the next one: `Brain.embed` makes it active when it has them.
    """
    old, new = brain.active_model(), brain.model(name)
    with brain.database.read_transaction() as connection:
        measurable = has_all_vectors(connection, new.space) and has_vectors(connection, old.space)
        known = new.id != old.id and has_vectors(connection, old.space)
    if not measurable or not known:
        saved = known and _save_current_results(brain, limit, progress)
        return start_switch(brain, name)._replace(baseline_saved=saved)
    used = False
    try:
        report = measure_change(
            brain, lambda: brain.use_model(name, trial=True), limit=limit, progress=progress
        )
        used = force or report is None or not report.worse
    finally:
        # Also after an interrupt: a model that was only measured must not stay active.
        brain.use_model(old.name, trial=True)
    if used:
        brain.use_model(name)
    return ModelSwitch(new, used, report=report)


def start_switch(brain: Brain, name: str) -> ModelSwitch:
    """Make `name` the active model, or the next one if the old one has vectors that it lacks."""
    old, new = brain.active_model(), brain.model(name)
    with brain.database.read_transaction() as connection:
        had_vectors = has_vectors(connection, old.space)
        complete = has_all_vectors(connection, new.space)
    if new.id == old.id or complete or not had_vectors:
        return ModelSwitch(brain.use_model(name), used=True)
    return ModelSwitch(brain.start_switch(name), used=False, next=True)


def _save_current_results(brain: Brain, limit: int, progress: Progress) -> bool:
    """Make the brain's current results the baseline; return False if there are no questions."""
    known = load_baseline(brain)
    with suppress(NotFound):
        save_baseline(brain, run_selftest(brain, limit=limit, baseline=known, progress=progress))
        return True
    return False
