"""Measure how much of the relevant text an assembled context contains, by token budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gbrain.evaluate.configurations import Configuration
from gbrain.evaluate.dataset_cache import DatasetBrain
from gbrain.evaluate.datasets import Dataset, DatasetQuestion
from gbrain.types import Progress, no_progress

DEFAULT_BUDGETS = (250, 500, 1000, 2000, 4000)


class ContextRecall(NamedTuple):
    """Per question id, the share of its evidence in the context of each token budget."""

    configuration: Configuration
    budgets: tuple[int, ...]
    by_question: Mapping[str, tuple[float, ...]]

    @property
    def means(self) -> tuple[float, ...]:
        """The mean share per budget."""
        columns = zip(*self.by_question.values(), strict=True)
        return tuple(math.fsum(column) / len(self.by_question) for column in columns)


def relevant_texts(evidence: Dataset) -> dict[str, tuple[str, ...]]:
    """Return the relevant texts by question id, each on one line; empty ones are left out."""
    texts = {document.slug: _one_line(document.text) for document in evidence.documents}
    by_question = {
        question: tuple(texts[slug] for slug in grades if texts.get(slug))
        for question, grades in evidence.relevant.items()
    }
    return {question: found for question, found in by_question.items() if found}


def measure_context_recall(
    brain: DatasetBrain,
    questions: Sequence[DatasetQuestion],
    evidence: Mapping[str, Sequence[str]],
    configurations: Sequence[Configuration],
    budgets: Sequence[int],
    progress: Progress = no_progress,
) -> list[ContextRecall]:
    """Return the shares under each configuration; questions without evidence are left out."""
    usable = [question for question in questions if evidence.get(question.id)]
    shares: dict[str, dict[str, tuple[float, ...]]] = {c.name: {} for c in configurations}
    for number, question in enumerate(usable, 1):
        texts = evidence[question.id]
        for configuration in configurations:
            shares[configuration.name][question.id] = tuple(
                share_contained(texts, _context(brain, question, configuration, budget))
                for budget in budgets
            )
        progress(number, len(usable))
    return [ContextRecall(c, tuple(budgets), shares[c.name]) for c in configurations]


def share_contained(texts: Sequence[str], context: str) -> float:
    """Return the share of `texts`, at least one, that `context` contains word for word."""
    return sum(text in context for text in texts) / len(texts)


def _context(
    brain: DatasetBrain, question: DatasetQuestion, configuration: Configuration, budget: int
) -> str:
    answer = brain.query(
        question.text,
        scope=question.scope,
        depth="auto",
        budget=budget,
        changes=configuration.values,
    )
    return " ".join(_one_line(chunk.text) for chunk in answer.context or ())


def _one_line(text: str) -> str:
    return " ".join(text.split())
